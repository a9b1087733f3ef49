"""End to end: an epoch of a BiLSTM classifier on IMDB, ours against a plain padded torch loop.

    python bench/epochs.py [--documents 5000] [--epochs 3]

Both read the same tokenised reviews (first 400 tokens, same vocabulary), with the same size of
model, batch, optimiser and number of threads, and take turns, epoch by epoch, in one process. The
plain loop is what a tutorial shows: shuffled batches padded to their longest review, nn.Embedding,
nn.LSTM, a masked maximum. Ours is what `unspool train` runs.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unspool.api.settings import make_config
from unspool.data.fields.tokens import Tokens
from unspool.data.part import Part
from unspool.data.store.ragged import Ragged
from unspool.tasks.classify import Classify
from unspool.tasks.planner import open_plan

DATA = Path(os.environ.get("UNSPOOL_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
SETTINGS = {
    "text": "4", "label": "1", "max_length": 400, "vocab": 20_000, "lowercase": True,
    "hidden": 128, "embedding": 128, "batch": 32, "dropout": 0.0, "valid_share": 0.2,
}  # fmt: skip


class Plain(nn.Module):
    """The tutorial's model."""

    def __init__(self, vocab: int, size: int, hidden: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab, size, padding_idx=0)
        self.lstm = nn.LSTM(size, hidden, batch_first=True, bidirectional=True)
        self.output = nn.Linear(2 * hidden, 2)

    def forward(self, ids: Tensor) -> Tensor:
        states, _ = self.lstm(self.embedding(ids))
        return self.output(states.masked_fill((ids == 0)[..., None], -1e9).amax(1))


def some(part: Part, count: int) -> Part:
    """Evenly spaced documents, in memory, so that reading costs neither side anything."""
    rows = np.linspace(0, len(part) - 1, min(count, len(part))).astype(int)  # sorted by label
    text = Tokens(Ragged.of([part["text"][int(row)] for row in rows]))
    return Part(part.fields, {"text": text, "label": part["label"].select(rows)})


def plain_epoch(model: nn.Module, optimizer: Any, part: Part, batch: int, epoch: int) -> None:
    order = np.random.default_rng(epoch).permutation(len(part))
    for start in range(0, len(order), batch):
        rows = order[start : start + batch]
        texts = [torch.from_numpy(part["text"][int(row)]) for row in rows]
        ids = nn.utils.rnn.pad_sequence(texts, batch_first=True)
        loss = F.cross_entropy(model(ids), torch.from_numpy(part["label"].ids[rows]))
        update(model, optimizer, loss)


def our_epoch(task: Classify, model: nn.Module, optimizer: Any, batches: Any, epoch: int) -> None:
    for step in range(batches.steps(epoch)):
        update(model, optimizer, task.loss(model, batches.batch(epoch, step), None).loss)


def update(model: nn.Module, optimizer: Any, loss: Tensor) -> None:
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=5000)
    parser.add_argument("--epochs", type=int, default=3)
    options = parser.parse_args()
    path = DATA / "sentiment/imdb/train.tsv.gz"
    if not path.exists():
        print(f"skipped: no development data at {DATA}", file=sys.stderr)
        return 0
    config = make_config("classify", "bilstm", settings=SETTINGS)
    plan = open_plan(path, config.data, task="classify")
    corpus = Classify.load_corpus(config, {"train": plan})
    task = Classify(config, corpus.fields)
    train, valid = some(corpus.parts["train"], options.documents), corpus.parts["valid"]
    tokens = int(train.lengths.sum())

    torch.manual_seed(1)
    ours = task.build()
    plain = Plain(len(task.tokenizer), 128, 128)
    batches = task.batches(train, training=True)
    adam = {
        model: torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True) for model in (ours, plain)
    }
    seconds: dict[str, list[float]] = {"unspool": [], "plain torch": []}
    for epoch in range(options.epochs):
        for name in seconds:
            started = time.perf_counter()
            if name == "unspool":
                our_epoch(task, ours.train(), adam[ours], batches, epoch)
            else:
                plain_epoch(plain.train(), adam[plain], train, config.train.batch, epoch)
            seconds[name].append(time.perf_counter() - started)
            print(f"epoch {epoch + 1}  {name:<12} {seconds[name][-1]:7.1f} s", file=sys.stderr)
    accuracy = task.evaluate(ours.eval(), valid).metrics["accuracy"]
    middle = {name: statistics.median(times) for name, times in seconds.items()}
    print(f"{len(train)} reviews, {tokens:,} tokens, {torch.get_num_threads()} threads")
    for name, time_ in middle.items():
        print(f"{name:<12} {time_:7.1f} s an epoch   {tokens / time_:9,.0f} tokens/s")
    print(
        f"ratio {middle['plain torch'] / middle['unspool']:.2f}; our accuracy on 5,000 held-out "
        f"reviews after {options.epochs} epochs {accuracy:.4f}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
