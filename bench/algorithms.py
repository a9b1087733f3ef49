"""Can a model learn an algorithm from pairs? copy, reverse, sort, addition; exact matches.

    python bench/algorithms.py                       all tasks and models, one table
    python bench/algorithms.py --tasks copy,reverse --models seq2seq,luong
    python bench/algorithms.py --quick               a check of the script, in seconds
    python bench/algorithms.py --json

copy and reverse are trained on up to 10 different letters and tested on 1 to 10 and on 11 to 15:
the second asks for the rule and not for what was seen. A model that learns at which place a letter
stands has learnt nothing about the 11th; one that looks for the letter beside the one it has just
written has. So there the models with attention see what is near: an Elman cell, which forgets
soonest, trained for three epochs and not eight, in which it would learn places after all, or
attention to two letters on each side. To copy, Luong's encoder reads forwards only and Bahdanau's
backwards only; to reverse, Bahdanau's reads forwards only. These settings were settled on the long
words of seed 1.
sort orders up to 10 digits, addition adds two numbers of up to 4 digits; both are tested on
problems that training has not seen. The settings of addition for bahdanau and transformer were
settled on seed 1 too.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

LETTERS = "abcdefghijklmnopqrstuvwxyz"
MODELS = ("seq2seq", "bahdanau", "luong", "transformer")
RECURRENT = {
    "kind": "char", "joint": True, "hidden": 128, "embedding": 64, "dropout": 0.0, "batch": 64,
    "lr": 3e-3, "label_smoothing": 0.0, "patience": 0, "schedule": "cosine", "epochs": 8,
}  # fmt: skip
SETTINGS: dict[str, dict[str, Any]] = {
    "seq2seq": {**RECURRENT, "hidden": 192},
    "bahdanau": RECURRENT,
    "luong": RECURRENT,
    # Rotary: sinusoids of places that were never seen mean nothing to a Transformer.
    "transformer": {
        **RECURRENT, "layers": 2, "heads": 4, "feed_forward": 256, "positions": "rotary",
        "lr": 1e-3,
    },
}  # fmt: skip
NEAR: dict[str, dict[str, Any]] = {
    "bahdanau": {"cell": "elman", "epochs": 3},
    "luong": {"cell": "elman", "epochs": 3},
    "transformer": {"self_attention": "window", "window": 2},
}
# An encoder that reads backwards too can tell the first letter by its distance from the end, of
# which the 11th was never seen: Luong's reads forwards only. Bahdanau's comes from the end, so that
# each letter is read together with the one that follows it. It is still not reliable over seeds.
ONE_WAY: dict[str, dict[str, Any]] = {
    "bahdanau": {
        **NEAR["bahdanau"], "bidirectional": False, "reverse_source": True, "dropout": 0.3,
        "weight_decay": 0.1,
    },
    "luong": {
        **NEAR["luong"], "bidirectional": False, "tied": False, "embedding_std": 1.0,
        "weight_decay": 0.3,
    },
    "transformer": NEAR["transformer"],
}  # fmt: skip
# To reverse, the letter that comes next is the one that was read before.
BACKWARDS: dict[str, dict[str, Any]] = {
    **NEAR,
    "bahdanau": {
        **NEAR["bahdanau"], "bidirectional": False, "dropout": 0.2, "weight_decay": 0.3,
    },
}  # fmt: skip
# Which digits are added depends on where they stand: here places are what has to be learnt.
DIGITS: dict[str, dict[str, Any]] = {
    "seq2seq": {"epochs": 16},
    "bahdanau": {"epochs": 16, "tied": False, "embedding_std": 1.0},
    "luong": {"epochs": 16},
    "transformer": {"epochs": 16, "positions": "sinusoidal"},
}

Pair = tuple[str, str]
Problem = Callable[[random.Random, int], Pair]


def letters(rng: random.Random, length: int) -> str:
    return "".join(rng.sample(LETTERS, k=length))


def copy(rng: random.Random, length: int) -> Pair:
    text = letters(rng, length)
    return text, text


def reverse(rng: random.Random, length: int) -> Pair:
    text = letters(rng, length)
    return text, text[::-1]


def sort(rng: random.Random, length: int) -> Pair:
    digits = "".join(rng.choices("0123456789", k=length))
    return digits, "".join(sorted(digits))


def addition(rng: random.Random, length: int) -> Pair:
    a, b = (rng.randrange(10**length) for _ in range(2))
    return f"{a}+{b}", str(a + b)


class Task(NamedTuple):
    """A problem, the sizes it is trained on, the sizes of each test, what models need for it."""

    problem: Problem
    trained: range
    tests: dict[str, range]
    settings: Mapping[str, dict[str, Any]]


LENGTHS = {"1 to 10": range(1, 11), "11 to 15": range(11, 16)}
TASKS = {
    "copy": Task(copy, range(1, 11), LENGTHS, ONE_WAY),
    "reverse": Task(reverse, range(1, 11), LENGTHS, BACKWARDS),
    "sort": Task(sort, range(1, 11), {"1 to 10": range(1, 11)}, {}),
    "addition": Task(addition, range(1, 5), {"1 to 4": range(1, 5)}, DIGITS),
}


def problems(
    task: Task, sizes: range, count: int, rng: random.Random, *, without: set[Pair]
) -> list[Pair]:
    """Pairs of all sizes alike, as long as there are new ones."""
    found: dict[Pair, None] = {}
    for i in range(20 * count):
        pair = task.problem(rng, sizes[i % len(sizes)])
        if pair not in without:
            found[pair] = None
        if len(found) == count:
            break
    return list(found)


def write(path: Path, pairs: list[Pair]) -> Path:
    rows = "".join(f"{source}\t{target}\n" for source, target in pairs)
    path.write_text("source\ttarget\n" + rows)
    return path


def measure(
    name: str, model: str, *, pairs: int, tests: int, epochs: int | None, seed: int, threads: int
) -> dict[str, Any]:
    """Train one model on one task; its exact matches on each test, in percent."""
    import unspool

    task, rng = TASKS[name], random.Random(seed)
    settings = {**SETTINGS[model], **task.settings.get(model, {})}
    if epochs is not None:
        settings["epochs"] = epochs
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        os.environ["UNSPOOL_CACHE"] = str(folder / "cache")
        seen = problems(task, task.trained, pairs, rng, without=set())
        held = problems(task, task.trained, tests, rng, without=set(seen))
        run = unspool.train(
            write(folder / "train.tsv", seen),
            valid=write(folder / "valid.tsv", held),
            task="translate",
            model=model,
            out=folder / "run",
            seed=seed,
            threads=threads,
            precision="fp32",
            **settings,
        )
        exact = {}
        for part, sizes in task.tests.items():
            fresh = problems(task, sizes, tests, rng, without={*seen, *held})
            report = run.evaluate(write(folder / "test.tsv", fresh))
            exact[part] = round(100 * report.metrics["exact"], 1)
        return {
            "task": name,
            "model": model,
            "parameters": sum(p.numel() for p in run.model.parameters()),
            "exact": exact,
        }


def table(rows: list[dict[str, Any]]) -> str:
    lines = ["| task | test | " + " | ".join(MODELS) + " |", "|---" * (len(MODELS) + 2) + "|"]
    for name, task in TASKS.items():
        for part in task.tests:
            found = {row["model"]: row["exact"][part] for row in rows if row["task"] == name}
            if found:
                cells = [f"{found[m]:.1f}" if m in found else "" for m in MODELS]
                lines.append(f"| {name} | {part} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--tests", type=int, default=1000)
    parser.add_argument("--epochs", type=int, help="instead of each model's own")
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="tiny data, to see that it works")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.quick:
        options.pairs, options.tests, options.epochs = 300, 20, 1
    rows = []
    for name in options.tasks.split(","):
        for model in options.models.split(","):
            started = time.monotonic()
            row = measure(
                name,
                model,
                pairs=options.pairs,
                tests=options.tests,
                epochs=options.epochs,
                seed=options.seed,
                threads=options.threads,
            )
            rows.append({**row, "seconds": round(time.monotonic() - started)})
            if not options.json:
                print(json.dumps(rows[-1]), flush=True)
    print(json.dumps(rows, indent=1) if options.json else table(rows))


if __name__ == "__main__":
    main()
