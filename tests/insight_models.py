"""Small models of every task with fresh weights, and texts that they can read."""

from __future__ import annotations

import torch

from small_tasks import make_task
from unspool.api.settings import make_config
from unspool.nn.cells import CELLS
from unspool.tasks import build_model
from unspool.tasks.reading import Reading
from unspool.tasks.task import Task
from unspool.text.tokenizers import CharTokenizer, WordTokenizer
from unspool.text.vocab import MASK_SPECIALS, SENTENCE_SPECIALS, Vocab

WINDOW = {"self_attention": "window", "attention_window": 2}
SMALL = {
    "hidden": 8, "filters": 4, "layers": 2, "heads": 2, "dropout": 0.0, "embedding": 6,
    "max_length": 32, "bptt": 16,
}  # fmt: skip
WORDS = [chr(ord("a") + i) for i in range(10)]
TEXT = "a b c d e f"

MODELS: dict[str, tuple[str, str, dict]] = {
    **{f"classify-{cell}": ("classify", f"bi{cell}", {}) for cell in CELLS},
    "classify-attention": ("classify", "lstm", {"pooling": "attention"}),
    "classify-one-hot": ("classify", "gru", {"embedding": 0, "layers": 1}),
    "classify-cnn": ("classify", "cnn", {}),
    "classify-transformer": ("classify", "transformer", {}),
    "classify-cls": ("classify", "transformer", {"pooling": "cls", "positions": "learned"}),
    "classify-window": (
        "classify",
        "transformer",
        WINDOW,
    ),
    "classify-linear": ("classify", "transformer", {"self_attention": "linear"}),
    "classify-multilabel": ("classify", "bigru", {"multilabel": True}),
    "regress-bigru": ("regress", "bigru", {}),
    "regress-cnn": ("regress", "cnn", {}),
    "tag-bilstm": ("tag", "bilstm", {}),
    "tag-lstm": ("tag", "lstm", {"characters": "lstm", "output": "softmax"}),
    "tag-cnn": ("tag", "cnn", {"characters": "none"}),
    "tag-transformer": ("tag", "transformer", {}),
    "generate-gru": ("generate", "gru", {}),
    "generate-peephole": ("generate", "peephole", {}),
    "generate-transformer": ("generate", "transformer", {}),
    "generate-rotary": ("generate", "transformer", {"positions": "rotary"}),
    "pretrain-transformer": ("pretrain", "transformer", {}),
    "translate-seq2seq": ("translate", "seq2seq", {"reverse_source": True}),
    "translate-bahdanau": ("translate", "bahdanau", {}),
    "translate-luong": ("translate", "luong", {}),
    "translate-transformer": ("translate", "transformer", {}),
    "elmo": ("elmo", "elmo", {}),
}


def make(
    name: str, labels: tuple[str, ...] = ("x", "y", "z"), **more: object
) -> tuple[Task, torch.nn.Module]:
    kind, model, settings = MODELS[name]
    torch.manual_seed(1)
    config = make_config(kind, model, settings={**SMALL, **settings, **more})
    specials = MASK_SPECIALS if kind == "pretrain" else SENTENCE_SPECIALS
    tokenizer = WordTokenizer(Vocab.of(WORDS, specials=specials))
    tags = ["B-x", "E-x", "I-x", "O", "S-x"]
    task = make_task(
        config,
        tokenizer,
        tags if kind == "tag" else labels,
        target=WordTokenizer(Vocab.of("ABCDE", specials=specials)),
        characters=CharTokenizer(Vocab.of(WORDS)),
    )
    return task, build_model(task).eval()


def read(task: Task, model: torch.nn.Module, text: object) -> Reading:
    return task.reading(model, text)
