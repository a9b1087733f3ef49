"""How fast is training on batches of real lengths, padded, packed, or with lengths?

    python bench/ragged.py [--quick] [--json FILE] [--threads N] [--rounds N] [--only NAME,...]
                           [--sizes 128,256] [--batches 2]

Lengths are those of the IMDB reviews, in words, at most 400. Batches of 64 are drawn at random, or
"bucketed": cut from 6,400 reviews sorted by length. A training step is one forward and backward
pass, with the gradient of the input. Ours gets the lengths; torch.nn gets either the padded batch,
whose padding it reads like text (so that its backward direction is wrong), or a packed sequence.

Contestants take turns, each round over the same batches. Printed: real tokens a second, padding not
counted, by the median and by the best round, and how many times as fast as each of torch's two ways
with the same kind of layer that is.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from timing import DATA, best_ratio, parser, ratio, set_up, take_turns, write_json
from unspool.nn import Recurrent

REVIEWS = DATA / "sentiment/imdb/train.tsv.gz"
BATCH, LONGEST, POOL = 64, 400, 100


class Kind(NamedTuple):
    """A layer that both sides have."""

    cell: str
    module: Callable[..., nn.Module]
    bidirectional: bool


KINDS = {
    "lstm": Kind("lstm", nn.LSTM, False),
    "bilstm": Kind("lstm", nn.LSTM, True),
    "gru": Kind("gru", nn.GRU, False),
}


class Batch(NamedTuple):
    x: Tensor  # (B, T, H)
    lengths: Tensor  # (B,)


def word_counts() -> np.ndarray:
    with gzip.open(REVIEWS, "rt", encoding="utf-8") as file:
        return np.array([min(LONGEST, len(line.split("\t")[3].split())) for line in file])


def draw(counts: np.ndarray, way: str, hidden: int, batches: int, batch: int) -> list[Batch]:
    """Batches of random reviews; bucketed ones are spread evenly over short and long reviews."""
    rng = np.random.default_rng(1)
    if way == "bucketed":
        pool = np.sort(rng.choice(counts, POOL * batch, replace=False))
        starts = np.linspace(0, len(pool) - batch, batches + 2).astype(int)[1:-1]
        chosen = [pool[start : start + batch] for start in starts]
    else:
        chosen = [rng.choice(counts, batch, replace=False) for _ in range(batches)]
    return [
        Batch(
            torch.randn(batch, int(lengths.max()), hidden, requires_grad=True),
            torch.from_numpy(lengths),
        )
        for lengths in chosen
    ]


def with_lengths(model: nn.Module, batch: Batch) -> Tensor:
    return model(batch.x, batch.lengths).outputs


def padded(model: nn.Module, batch: Batch) -> Tensor:
    return model(batch.x)[0]


def packed(model: nn.Module, batch: Batch) -> Tensor:
    together = nn.utils.rnn.pack_padded_sequence(
        batch.x, batch.lengths, batch_first=True, enforce_sorted=False
    )
    return nn.utils.rnn.pad_packed_sequence(model(together)[0], batch_first=True)[0]


def train(
    model: nn.Module, forward: Callable[[nn.Module, Batch], Tensor], batches: list[Batch]
) -> None:
    for batch in batches:
        model.zero_grad()
        batch.x.grad = None
        forward(model, batch).sum().backward()


def contestants(kind: Kind, hidden: int, batches: list[Batch]) -> dict[str, Callable[[], None]]:
    both = kind.bidirectional
    theirs = kind.module(hidden, hidden, batch_first=True, bidirectional=both)
    ours = Recurrent(kind.cell, hidden, hidden, bidirectional=both)
    return {
        "unspool": partial(train, ours, with_lengths, batches),
        "torch padded": partial(train, theirs, padded, batches),
        "torch packed": partial(train, theirs, packed, batches),
    }


def measure(
    kinds: list[str], way: str, hidden: int, batches: list[Batch], rounds: int
) -> list[dict[str, Any]]:
    works = {
        (name, side): work
        for name in kinds
        for side, work in contestants(KINDS[name], hidden, batches).items()
    }
    seconds = take_turns(works, rounds)
    real = sum(int(batch.lengths.sum()) for batch in batches)
    read = sum(batch.x.shape[0] * batch.x.shape[1] for batch in batches)
    print(f"\nH {hidden}, {way} batches, {1 - real / read:.0%} padding")
    print(
        f"{'':<22}{'tokens/s':>10}{'best':>10}{'x padded':>10}{'by best':>9}"
        f"{'x packed':>10}{'by best':>9}"
    )
    rows = []
    for (name, side), times in seconds.items():
        bases = [seconds[name, "torch padded"], seconds[name, "torch packed"]]
        ratios = [f(base, times) for base in bases for f in (ratio, best_ratio)]
        print(
            f"{name:<8}{side:<14}{real / median(times):>10,.0f}{real / min(times):>10,.0f}"
            "{:>10.2f}{:>9.2f}{:>10.2f}{:>9.2f}".format(*ratios),
            flush=True,
        )
        rows.append(
            {
                "hidden": hidden,
                "batches": way,
                "layer": name,
                "side": side,
                "padding": 1 - real / read,
                "tokens_per_second": real / median(times),
                "x_padded": ratios[0],
                "x_packed": ratios[2],
                "seconds": times,
            }
        )
    return rows


def main() -> None:
    arguments = parser(__doc__, rounds=5)
    arguments.add_argument("--only", default=",".join(KINDS), help="layers, separated by commas")
    arguments.add_argument("--sizes", default="128,256", help="hidden units")
    arguments.add_argument("--batches", type=int, default=2, help="in a round")
    options = arguments.parse_args()
    if not REVIEWS.exists():
        print(f"skipped: no development data at {DATA}")
        return
    machine = set_up(options)
    counts = word_counts()
    print(f"{len(counts):,} reviews, median {int(np.median(counts))} words, at most {LONGEST}")
    batch, sizes = (4, "16") if options.quick else (BATCH, options.sizes)
    rows: list[dict[str, Any]] = []
    for hidden in map(int, sizes.split(",")):
        for way in ("random", "bucketed"):
            batches = draw(counts, way, hidden, options.batches, batch)
            rows += measure(options.only.split(","), way, hidden, batches, options.rounds)
    write_json(options.json, machine, rows)


if __name__ == "__main__":
    main()
