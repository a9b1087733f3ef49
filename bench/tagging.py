"""Sentences a second of a BiLSTM-CRF, training and predicting, against plain torch and Flair.

    python bench/tagging.py            CoNLL-2003 where it is at hand, otherwise made-up sentences
    python bench/tagging.py --quick    small, to see that it runs

The first peer is what one writes with torch alone: nn.Embedding, nn.LSTM over packed sequences,
and pytorch-crf; with characters, another nn.LSTM over every word of the batch. The second, where it
is installed, is Flair's SequenceTagger (flair_peer.py). All have the same sizes, optimiser and
batches, in turns in one process. The tensors of the first are made beforehand; ours are made from
the data, as in training, and so are Flair's.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from flair_peer import FlairTagger
from timing import DATA, installed, parser, ratio, set_up, take_turns, write_json
from unspool.api.settings import make_config
from unspool.tasks import build_model
from unspool.tasks.planner import open_plan
from unspool.tasks.tag.task import Tag
from unspool.training.optim import build_optimizer

BATCH = 32
SETTINGS = {"batch": BATCH, "output": "crf", "dropout": 0.5, "word_dropout": 0.0}


class Plain(nn.Module):
    """The peer."""

    def __init__(self, words: int, characters: int, tags: int) -> None:
        import torchcrf

        super().__init__()
        self.words = nn.Embedding(words, 100, padding_idx=0)
        self.characters = nn.Embedding(characters, 30, padding_idx=0) if characters else None
        self.spell = nn.LSTM(30, 25, bidirectional=True, batch_first=True) if characters else None
        size = 150 if characters else 100
        self.lstm = nn.LSTM(size, 200, bidirectional=True, batch_first=True)
        self.dropout = nn.Dropout(0.5)
        self.scores = nn.Linear(400, tags)
        self.crf = torchcrf.CRF(tags, batch_first=True)

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        x = self.words(batch["ids"])
        if self.spell is not None and self.characters is not None:
            packed = pack_padded_sequence(
                self.characters(batch["characters"]), batch["sizes"], batch_first=True,
                enforce_sorted=False,
            )  # fmt: skip
            _, (h, _) = self.spell(packed)  # (2, B·T, 25)
            x = torch.cat([x, h.transpose(0, 1).reshape(*x.shape[:2], 50)], -1)
        packed = pack_padded_sequence(
            self.dropout(x), batch["lengths"], batch_first=True, enforce_sorted=False
        )
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        return self.scores(self.dropout(states))

    def loss(self, batch: dict[str, Tensor]) -> Tensor:
        return -self.crf(self(batch), batch["tags"], batch["keep"], reduction="token_mean")

    def decode(self, batch: dict[str, Tensor]) -> list[list[int]]:
        return self.crf.decode(self(batch), batch["keep"])


def for_the_peer(batch: Any) -> dict[str, Tensor]:
    """The same batch as the tensors of a plain program: characters of every word."""
    words = batch["words"]
    steps = words.ids.shape[1]
    plain = {
        "ids": words.ids,
        "lengths": words.lengths,
        "tags": batch["tags"],
        "keep": torch.arange(steps) < words.lengths[:, None],
    }
    if words.which is not None:
        plain["characters"] = words.spellings[words.which].flatten(0, 1)  # (B·T, L)
        plain["sizes"] = words.sizes[words.which].flatten()
    return plain


def made_up(folder: str) -> Path:
    """Sentences of the lengths and with the share of spans of a newspaper's."""
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdefghij", k=rng.randint(2, 10))) for _ in range(20_000)]
    path = Path(folder) / "made-up.conll"
    with open(path, "w", encoding="utf-8") as file:
        for _ in range(4000):
            for _ in range(min(60, max(2, round(rng.expovariate(1 / 14))))):
                tag = rng.choices(["O", "B-A", "B-B", "B-C", "B-D"], [20, 1, 1, 1, 1])[0]
                file.write(f"{rng.choice(words)} {tag}\n")
            file.write("\n")
    return path


def contest(data: Path, characters: str, batches: int) -> dict[str, dict[str, Callable[[], None]]]:
    """{"train" or "predict": {contestant: work}}"""
    settings = {**SETTINGS, "characters": characters}
    config = make_config("tag", "bilstm", settings=settings)
    corpus = Tag.load_corpus(config, {"train": open_plan(data, config.data)})
    task = Tag(config, corpus.fields)
    part: Any = corpus.parts["train"]
    model = build_model(task)
    known = 0 if task.spelling is None else len(task.spelling)
    peer = Plain(len(task.tokenizer), known, len(task.labels))
    rows = task.batches(part, training=True)
    plain = [for_the_peer(rows.batch(0, step)) for step in range(batches)]
    flair = None
    if installed("flair"):
        batched = (rows.batch(0, step) for step in range(batches))
        flair = FlairTagger(part, batched, characters != "none")
    models = [model, peer, *([flair.model] if flair else [])]
    optimizers = [build_optimizer(m, config.train) for m in models]

    def update(model: nn.Module, optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    def train_ours() -> None:
        model.train()
        for step in range(batches):
            update(model, optimizers[0], task.loss(model, rows.batch(0, step), None).loss)

    def train_peer() -> None:
        peer.train()
        for batch in plain:
            update(peer, optimizers[1], peer.loss(batch))

    def train_flair() -> None:
        assert flair is not None
        for loss in flair.losses():
            update(flair.model, optimizers[2], loss)

    def predict_ours() -> None:
        model.eval()
        with torch.inference_mode():
            for step in range(batches):
                x = rows.batch(0, step)[task.input]
                model.output.best(model(*x.inputs), x.lengths)  # type: ignore

    def predict_peer() -> None:
        peer.eval()
        with torch.inference_mode():
            for batch in plain:
                peer.decode(batch)

    works = {
        "train": {"unspool": train_ours, "torch": train_peer},
        "predict": {"unspool": predict_ours, "torch": predict_peer},
    }
    if flair is not None:
        works["train"]["flair"], works["predict"]["flair"] = train_flair, flair.predict
    return works


def main() -> int:
    made = parser(__doc__, rounds=5)
    made.add_argument("--batches", type=int, default=40, help="of 32 sentences, in a round")
    options = made.parse_args()
    machine = set_up(options)
    if not installed("torchcrf"):
        return 0
    batches, rounds = (3, 1) if options.quick else (options.batches, options.rounds)
    found = []
    with tempfile.TemporaryDirectory() as scratch:
        data = DATA / "ner/conll2003/eng.train"
        data = data if data.exists() else made_up(scratch)
        print(
            f"{data.name}, {batches} batches of {BATCH} sentences, medians of {rounds} rounds; in "
            "brackets how many times as fast unspool is"
        )
        for characters in ("none", "lstm"):
            for kind, contestants in contest(data, characters, batches).items():
                times = take_turns(contestants, rounds)
                speed = {
                    name: batches * BATCH / statistics.median(own) for name, own in times.items()
                }
                ratios = {name: ratio(own, times["unspool"]) for name, own in times.items()}
                print(
                    f"{kind:<8} characters {characters:<5} sentences/s "
                    + "  ".join(
                        f"{name} {value:6.0f} ({ratios[name]:.2f})" for name, value in speed.items()
                    )
                )
                found.append(
                    {"what": kind, "characters": characters, "speed": speed, "ratios": ratios}
                )
    write_json(options.json, machine, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
