"""Transfer (`--from`): a folder of a trained model in, the encoder that a new run starts from out.

The new run takes over the encoder's weights, its tokenizer with the vocabulary, and the settings
that the weights were made with.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from unspool.config import Config
from unspool.errors import ConfigError, Option, RunError
from unspool.io.files import AGAIN, read_regular
from unspool.nn.pretrained import is_pretrained, read_pretrained
from unspool.nn.transformer import TransformerDecoder
from unspool.tasks import TASKS, Task
from unspool.tasks.abilities import GivesVectors, StartsWhole
from unspool.tasks.embedding import EMBEDDING
from unspool.text.subwords import read_pretrained_tokenizer
from unspool.text.tokenizers import PretrainedTokenizer, Tokenizer
from unspool.training.folder import RunFolder
from unspool.training.hub import fetch, is_hub_name

ENCODER = "encoder."  # what the names of an encoder's tensors begin with, in every task
CONTEXTUAL = "contextual.elmo."  # what they become where contextual vectors are read
ARCHITECTURE = (
    "network",
    "cell",
    "bidirectional",
    "layers",
    "hidden",
    "filters",
    "widths",
    "embedding",
    "options",
    "heads",
    "feed_forward",
    "activation",
    "norm",
    "epsilon",
    "embedding_norm",
    "positions",
    "context",
    "self_attention",
    "attention_window",
)


@dataclass(frozen=True, kw_only=True)
class Start:
    """Run to start from (`--from`).

    path       of the folder, whole; of a model of the hub its name with the commit
    model      the name of its model
    fixed      settings that belong to the weights: the new run has them, or none of the weights
    defaults   settings that suit such a start, which the caller may change
    tokenizer  that its tokens are made with; None where the new run makes one of its own
    tensors    of its encoder, by name, or of the whole model where a task fine-tunes all of it
    sha256     of the file that holds them
    causal     its Transformer sees only the tokens before each, and fits no other kind
    tasks      that can start from it; none named: any whose model has tensors of these names
    """

    path: Path
    model: str
    fixed: Mapping[str, Any]
    defaults: Mapping[str, Any] = field(default_factory=dict)
    tokenizer: Tokenizer | None
    tensors: Mapping[str, Tensor]
    sha256: str
    causal: bool = False
    tasks: tuple[str, ...] = ()

    def record(self) -> dict[str, str]:
        """For config.json."""
        return {"path": str(self.path), "sha256": self.sha256}


def open_start(path: str | Path) -> Start:
    """The model in a folder, as something to start from: of a run, or one that others trained,
    perhaps on the hub."""
    if is_hub_name(path):
        model = fetch(path)
        return replace(start_from_pretrained(model.folder), path=Path(model.name))
    folder = RunFolder.open(path)
    if folder.config_file.exists() and is_pretrained(folder.path):
        return start_from_pretrained(folder.path)
    return start_from_run(folder)


def start_from_pretrained(folder: Path) -> Start:
    """BERT and its kin for tasks that are not causal, GPT-2 for those that are."""
    model = read_pretrained(folder)
    options = model.options
    assert options.length is not None
    causal = isinstance(model.transformer, TransformerDecoder)
    fixed = {
        "model.network": "transformer",
        "model.layers": options.layers,
        "model.hidden": options.width,
        "model.heads": options.heads,
        "model.feed_forward": options.hidden,
        "model.activation": options.activation,
        "model.norm": options.norm,
        "model.epsilon": options.epsilon,
        "model.embedding_norm": options.embedding_norm,
        "model.positions": options.positions,
        "model.context": options.length,
        "model.tied": causal,
        "model.self_attention": "full",
        "model.word_dropout": 0.0,  # its tokenizer's <unk> is another
        "tokenizer.kind": PretrainedTokenizer.kind,
        "tokenizer.lowercase": False,
        "tokenizer.normalize": "none",
    }
    # After Devlin et al. (2018), A.3. Attention weights are not dropped: torch has no fused kernel
    # for that on a CPU.
    defaults = {
        "model.dropout": options.dropout,
        "model.attention_dropout": 0.0,
        "train.epochs": 3,
        "train.lr": 5e-5,
        "train.schedule": "linear",
        "train.warmup": 0.1,
        "train.weight_decay": 0.01,
        "train.beta2": 0.999,
    }
    if causal:
        defaults |= {"train.batch": 8, "train.bptt": min(256, options.length)}
    else:
        defaults |= {"data.max_length": min(256, options.length), "model.pooling": "mean"}
    parts: dict[str, nn.Module] = {
        EMBEDDING: model.embedding,
        ENCODER + "network": model.transformer,
    }
    if model.segments is not None:
        parts[ENCODER + "segments"] = model.segments
    if causal and model.output is not None:
        parts["output"] = model.output
    return Start(
        path=folder.resolve(),
        model="transformer",
        fixed=fixed,
        defaults=defaults,
        tokenizer=read_pretrained_tokenizer(folder, kind=model.kind, size=model.embedding.vocab),
        tensors={
            f"{part}.{name}": tensor
            for part, module in parts.items()
            for name, tensor in module.state_dict().items()
        },
        sha256=_hash_of(sorted(folder.glob("model*.safetensors"))),
        causal=causal,
        tasks=tuple(
            name
            for name, kind in TASKS.items()
            if kind.transfer.fine_tunes and kind.transfer.causal == causal
        ),
    )


def start_from_run(folder: RunFolder) -> Start:
    task = folder.load_task()
    tensors = folder.read_weights().tensors
    if isinstance(task, GivesVectors):
        return Start(
            path=folder.path.resolve(),
            model=task.config.model_name,
            fixed={"embedding.contextual": task.config.model},
            tokenizer=None,
            tensors={
                CONTEXTUAL + name.removeprefix(ENCODER): tensor
                for name, tensor in tensors.items()
                if name.startswith(ENCODER)
            },
            sha256=_hash_of([folder.weights]),
            tasks=tuple(name for name, kind in TASKS.items() if kind.transfer.reads_contextual),
        )
    if isinstance(task, StartsWhole):
        whole = task.whole_start()
        return Start(
            path=folder.path.resolve(),
            model=task.config.model_name,
            fixed=_architecture(task.config) | whole.fixed | _written(task.config, whole.tokenizer),
            tokenizer=whole.tokenizer,
            tensors=tensors,
            sha256=_hash_of([folder.weights]),
            tasks=(task.name,),
        )
    encoder = {name: tensor for name, tensor in tensors.items() if name.startswith(ENCODER)}
    if not encoder or not task.reads_tokens:
        raise ConfigError(
            "has no encoder that another model could start from",
            where=folder.path,
            got=f"{task.name}, {task.config.model_name}",
            remedy=("give a run of ", Option(task="pretrain"), ", or of the same task and model"),
        )
    return Start(
        path=folder.path.resolve(),
        model=task.config.model_name,
        fixed=_fixed(task.config, task.tokenizer),
        tokenizer=task.tokenizer,
        tensors=encoder,
        sha256=_hash_of([folder.weights]),
        causal=is_causal(task.config),
        tasks=(task.name,) if is_causal(task.config) else (),
    )


def is_causal(config: Config) -> bool:
    """Return whether a Transformer sees only the tokens before each, as a language model's does."""
    return TASKS[config.task].transfer.causal and config.model.network == "transformer"


def _hash_of(files: list[Path]) -> str:
    sha = hashlib.sha256()
    for path in files:
        sha.update(read_regular(path, most=sys.maxsize))
    return sha.hexdigest()


def _fixed(config: Config, tokenizer: Tokenizer) -> dict[str, Any]:
    fixed = _architecture(config)
    learned = config.model.network == "transformer" and config.model.positions == "learned"
    if learned and not config.model.context:
        fixed["data.max_length"] = config.data.max_length
    return fixed | _written(config, tokenizer)


def _architecture(config: Config) -> dict[str, Any]:
    return {f"model.{name}": getattr(config.model, name) for name in ARCHITECTURE}


def _written(config: Config, tokenizer: Tokenizer) -> dict[str, Any]:
    """Settings that decide how texts become tokens."""
    return {
        "tokenizer.kind": tokenizer.kind,
        "tokenizer.lowercase": config.tokenizer.lowercase,
        "tokenizer.normalize": config.tokenizer.normalize,
        "tokenizer.split": config.tokenizer.split,
    }


def refuse_other_settings(config: Config, start: Start) -> None:
    """The weights fit the settings that they were made with, and no others."""
    if start.tasks and config.task not in start.tasks:
        raise ConfigError(
            f"a model of this kind can be fine-tuned for {' or '.join(start.tasks)}",
            where=start.path,
            got=f"task {config.task}",
            remedy=("use ", Option(task=start.tasks[0]), ", or another model to start from"),
        )
    for name, value in start.fixed.items():
        section, key = name.split(".", 1)
        now = getattr(getattr(config, section), key)
        if now != value:
            raise ConfigError(
                f"the model to start from has {name}={value}",
                where=start.path,
                got=now,
                remedy=("leave the setting out, or train from scratch without ", Option("start")),
            )


def take_over(task: Task, model: nn.Module, start: Start) -> str:
    """Put the encoder's weights into a new model; returns a line about what was taken."""
    state = model.state_dict()
    fits = start.causal == is_causal(task.config)
    taken = [name for name in state if fits and name in start.tensors]
    if not taken:
        raise ConfigError(
            (f"the weights fit no part of {task.name} with ", Option(model=task.config.model_name)),
            where=start.path,
            remedy=(
                "use ",
                Option(task="classify"),
                ", or train from scratch without ",
                Option("start"),
            ),
        )
    for name in taken:
        if state[name].shape != start.tensors[name].shape:
            raise RunError(
                f"tensor {name!r} should have shape {tuple(state[name].shape)}",
                where=start.path,
                got=tuple(start.tensors[name].shape),
                remedy=AGAIN,
            )
        with torch.no_grad():
            state[name].copy_(start.tensors[name])
    size = sum(state[name].numel() for name in taken)
    if start.tokenizer is None:
        learn = "which learn too" if task.config.embedding.tuned else "which are frozen"
        return f"from {start.path}: {size:,} weights for contextual vectors, {learn}"
    new = dict.fromkeys(_part(name) for name in state if name not in taken)
    return (
        f"from {start.path}: {size:,} weights of the encoder and a vocabulary of"
        f" {len(start.tokenizer):,}; new: {', '.join(new)}"
    )


def _part(name: str) -> str:
    """`encoder.cls` of encoder.cls.vector, `output` of output.linear.weight"""
    parts = name.split(".")
    return ".".join(parts[: 2 if parts[0] == "encoder" else 1])
