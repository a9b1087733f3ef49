"""Vectors of words in their context, for the tasks that read with them.

In: the settings of the language models of an `elmo` run, and batches that carry the spelling of
their words. Out: the module that gives the vectors, which are extra features next to those of the
embedding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import nn

from unspool.config import Config, ModelConfig
from unspool.data.fields.spelling import BYTE_IDS, SpelledWords, collate_words
from unspool.data.fields.tokens import Tokens, number_words
from unspool.errors import ConfigError
from unspool.nn.elmo import Contextual, ElmoOptions
from unspool.tasks.encoder import checked_options
from unspool.text.tokenizers import Tokenizer


def elmo_options(model: ModelConfig) -> ElmoOptions:
    return ElmoOptions(
        symbols=BYTE_IDS,
        character=model.character_embedding,
        filters=model.filters,
        widths=model.widths,
        highways=model.highways,
        size=model.projection,
        hidden=model.hidden,
        layers=model.layers,
        cell=model.cell,
        cell_options=checked_options(model),
        dropout=model.dropout,
    )


def build_contextual(config: Config) -> Contextual | None:
    """The contextual vectors that a config asks for, None where it does not."""
    if config.embedding.contextual is None:
        return None
    return Contextual(
        elmo_options(config.embedding.contextual),
        tuned=config.embedding.tuned,
        dropout=config.model.dropout,
    )


def contextual_size(config: Config) -> int:
    model = config.embedding.contextual
    return 0 if model is None else 2 * model.projection


def refuse_other_tokens(config: Config, tokenizer: Tokenizer) -> None:
    """Contextual vectors are of words."""
    if config.embedding.contextual is not None and tokenizer.kind != "word":
        raise ConfigError(
            "contextual vectors are those of words",
            got=f"tokenizer.kind={tokenizer.kind}",
            remedy="set kind=word, or leave out --from",
        )


def example_words(count: int) -> SpelledWords:
    """A text of `count` words, for a summary."""
    words, types = number_words([["a"] * count])
    return collate_words(Tokens(words, types=types), np.array([0]))


def mix_report(model: nn.Module) -> dict[str, Any]:
    """How a model mixes the layers of its contextual vectors; nothing where it has none."""
    contextual = getattr(model, "contextual", None)
    if not isinstance(contextual, Contextual):
        return {}
    shares = [round(s, 4) for s in contextual.mix.shares().tolist()]
    return {"mix": {"layers": shares, "gamma": round(contextual.mix.gamma.item(), 4)}}
