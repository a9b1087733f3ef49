"""Long memory: which cell learns to carry information over which lag?

    python bench/memory.py                       every cell, task and lag; a table at the end
    python bench/memory.py --cells lstm --lags 50 --tasks adding

Adding problem (Hochreiter & Schmidhuber 1997): two numbers out of `lag` are marked, the first in
the first tenth of the sequence, the second in the second half; predict their sum. Guessing the mean
gives a squared error of 0.167; solved means below 0.01.

Copy memory: three symbols out of four, then `lag` blanks, then a signal; write the three symbols.
Solved means that 99 % of the symbols are right; chance is 25 %.

Same size, optimiser, batch and number of updates for every cell; a run ends early once it has
solved its task on fresh data. `lstm-chrono` is an LSTM whose forget bias starts at ln(lag), after
Tallec & Ollivier (2018). Every result is one line of a JSONL file, so a stopped table goes on.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unspool.nn import CELLS, Recurrent

HIDDEN, BATCH, RATE, CLIP, CHECK = 32, 32, 5e-3, 1.0, 100
SYMBOLS, KINDS = 3, 4
ENTRANTS = [*CELLS, "lstm-chrono"]


class Case(NamedTuple):
    task: str
    cell: str
    lag: int
    updates: int
    seed: int


class Reader(nn.Module):
    """A recurrent layer and a linear map at every step."""

    def __init__(self, entrant: str, lag: int, inputs: int, outputs: int) -> None:
        super().__init__()
        cell, _, chrono = entrant.partition("-")
        options = {"forget_bias": math.log(lag)} if chrono else None
        self.recurrent = Recurrent(cell, inputs, HIDDEN, options=options)
        self.output = nn.Linear(HIDDEN, outputs)

    def forward(self, x: Tensor) -> Tensor:
        return self.output(self.recurrent(x).outputs)


def adding(lag: int) -> tuple[Tensor, Tensor]:
    """x (B, T, 2): numbers and marks; y (B,)."""
    numbers, marks = torch.rand(BATCH, lag), torch.zeros(BATCH, lag)
    rows = torch.arange(BATCH)
    first = torch.randint(0, max(1, lag // 10), (BATCH,))
    second = torch.randint(lag // 2, lag, (BATCH,))
    marks[rows, first] = marks[rows, second] = 1
    return torch.stack([numbers, marks], -1), numbers[rows, first] + numbers[rows, second]


def copying(lag: int) -> tuple[Tensor, Tensor]:
    """x (B, 3 + lag + 3, 6) one-hot; y (B, 3): what to write in the last three steps."""
    symbols = torch.randint(0, KINDS, (BATCH, SYMBOLS))
    ids = torch.full((BATCH, 2 * SYMBOLS + lag), KINDS)  # blanks
    ids[:, :SYMBOLS] = symbols
    ids[:, SYMBOLS + lag] = KINDS + 1  # the signal
    return F.one_hot(ids, KINDS + 2).float(), symbols


def loss_and_score(task: str, model: Reader, lag: int) -> tuple[Tensor, float]:
    """The loss of a fresh batch and its score: squared error, or share of symbols right."""
    if task == "adding":
        x, y = adding(lag)
        loss = F.mse_loss(model(x)[:, -1, 0], y)
        return loss, loss.item()
    x, y = copying(lag)
    logits = model(x)[:, -SYMBOLS:]
    loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
    return loss, (logits.argmax(-1) == y).float().mean().item()


def solved(task: str, score: float) -> bool:
    return score < 0.01 if task == "adding" else score >= 0.99


def run(case: Case) -> dict[str, object]:
    torch.set_num_threads(1)
    torch.manual_seed(case.seed)
    outputs = 1 if case.task == "adding" else KINDS
    model = Reader(case.cell, case.lag, 2 if case.task == "adding" else KINDS + 2, outputs)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    started = time.perf_counter()
    recent: list[float] = []
    update, mean = 0, math.inf
    while update < case.updates:
        update += 1
        loss, score = loss_and_score(case.task, model, case.lag)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        recent = [*recent[-CHECK + 1 :], score]  # every batch is fresh, so this is test data
        mean = sum(recent) / len(recent)
        if len(recent) == CHECK and solved(case.task, mean):
            break
    return {
        **case._asdict(),
        "score": mean,
        "solved": solved(case.task, mean),
        "at": update,
        "seconds": round(time.perf_counter() - started, 1),
    }


def table(results: list[dict[str, object]], task: str) -> list[str]:
    lags = sorted({r["lag"] for r in results if r["task"] == task})
    lines = [
        f"| {task} | " + " | ".join(f"lag {lag}" for lag in lags) + " |",
        "|---|" + "---|" * len(lags),
    ]
    for cell in ENTRANTS:
        cells = []
        for lag in lags:
            found = [r for r in results if (r["task"], r["cell"], r["lag"]) == (task, cell, lag)]
            if not found:
                cells.append("–")
                continue
            r = found[-1]
            shown = f"{r['score']:.3f}" if task == "adding" else f"{r['score']:.1%}"
            cells.append(f"**{shown}** ({r['at']})" if r["solved"] else f"{shown}")
        lines.append(f"| {cell} | " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--cells", default=",".join(ENTRANTS))
    parser.add_argument("--tasks", default="adding,copy")
    parser.add_argument("--lags", default="50,100,200,400")
    parser.add_argument("--updates", type=int, default=1200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--file", type=Path, default=Path("runs/memory.jsonl"))
    options = parser.parse_args()
    options.file.parent.mkdir(parents=True, exist_ok=True)
    done = [json.loads(line) for line in options.file.open()] if options.file.exists() else []
    cases = [
        Case(task, cell, int(lag), options.updates, options.seed)
        for lag, task, cell in product(
            options.lags.split(","), options.tasks.split(","), options.cells.split(",")
        )
    ]
    fields = Case._fields
    known = {tuple(r[f] for f in fields) for r in done}
    todo = [case for case in cases if tuple(case) not in known]
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        for result in pool.map(run, todo):
            done.append(result)
            with options.file.open("a") as file:
                file.write(json.dumps(result) + "\n")
            print(json.dumps(result), flush=True)
    for task in options.tasks.split(","):
        print("\n" + "\n".join(table(done, task)))


if __name__ == "__main__":
    main()
