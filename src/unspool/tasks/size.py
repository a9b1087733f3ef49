"""Memory of a model, before any of it is allocated: a task in, bytes or an error out."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

from unspool.config import Config
from unspool.config.numbers import refuse_too_large

if TYPE_CHECKING:
    from unspool.tasks.task import Task

LONGEST_DOCUMENT = 16_384  # tokens
ACTIVATION = 100  # bytes of a unit at each step in training; measured with a BiLSTM: 107
SMALL = 1 << 28  # bytes that are not worth a second look
# Of each weight in training: its gradient, and what the optimiser remembers.
COPIES = {"adamw": 4, "sgd": 3}


def longest_document(config: Config) -> int:
    """Tokens of a document that are read. Its length alone decides what a batch of it takes, so it
    has a bound where the settings give none: a batch, and no fewer than LONGEST_DOCUMENT."""
    return config.data.max_length or max(config.train.batch_tokens, LONGEST_DOCUMENT)


def refuse_long_row(
    config: Config, length: int, where: Callable[[], str], *, training: bool
) -> None:
    """A ConfigError where one row of so many steps takes more than fits into memory."""
    model = config.model
    units = model.layers * max(model.hidden, model.embedding) * (1 + model.bidirectional)
    size = length * units * (ACTIVATION if training else ACTIVATION // 4)
    if size > SMALL:
        refuse_too_large(
            f"a row of {length:,} steps, which is read at once,",
            size,
            where=where(),
            remedy="set max_length, or cut it into several rows",
        )


def rough_bytes(config: Config, vocabulary: int) -> int:
    """No fewer than the weights of the model take; cheap, and far too many for most."""
    model = config.model
    sizes, kernel = [model.hidden, model.embedding, model.dense], 1
    if model.network == "transformer":
        sizes.append(model.feed_forward or 4 * model.hidden)
    characters = config.task == "elmo"
    if characters or model.network == "cnn":
        sizes.append(model.filters * len(model.widths))
        kernel = max(model.widths)
    if characters or model.characters != "none":
        sizes += [model.character_embedding, model.character_hidden, model.projection]
    width = max(sizes)
    layers = (model.layers + model.highways + 2) * 16 * kernel * width * width
    return 4 * (layers + 8 * (vocabulary + model.context + config.data.max_length) * width)


def weight_bytes(task: Task) -> float:
    """Bytes of the weights: built on torch's `meta` device, where tensors have shapes alone.
    Infinite where they are more than can be counted."""
    try:
        with torch.random.fork_rng(devices=[]), torch.device("meta"):
            model = task.build()
        return float(sum(p.numel() * p.element_size() for p in model.parameters()))
    except (MemoryError, OverflowError):
        return math.inf
    except (RuntimeError, TypeError) as error:
        if any(word in str(error).lower() for word in ("overflow", "memory", "too large", "int")):
            return math.inf
        return 0.0  # cannot be built there: the real one will show


def may_be_large(config: Config, vocabulary: int, *, training: bool) -> bool:
    """Whether a model is worth counting its weights; cheap."""
    return rough_bytes(config, vocabulary) * _copies(config, training) >= SMALL


def refuse_large_model(task: Task, *, training: bool) -> None:
    """A ConfigError where the weights, in training with all that belongs to them, are more than
    fits into memory."""
    config, copies = task.config, _copies(task.config, training)
    if not may_be_large(config, largest_vocabulary(task), training=training):
        return
    size = weight_bytes(task) * copies
    count = f"{size / copies / 4:,.0f} weights" if math.isfinite(size) else "so many weights"
    with_rest = ", their gradients and what the optimiser remembers," if training else ""
    refuse_too_large(
        f"a model of {count}{with_rest}",
        size,
        where=f"model.hidden={config.model.hidden}",
        remedy="set a smaller hidden, embedding, layers, context or vocab",
    )


def _copies(config: Config, training: bool) -> int:
    return COPIES[config.train.optimizer] if training else 1


def largest_vocabulary(task: Task) -> int:
    return max((field.vocabulary for field in task.fields.values() if field.sized), default=0)
