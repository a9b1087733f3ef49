"""Series on public data: every network of `classify`, and a plain torch LSTM beside it.

    python bench/series.py motions            smart watch, 6 channels x 100 steps, 40 / 40
    python bench/series.py vowels             Japanese vowels, 12 channels, 7 to 29 steps, 270 / 370
    python bench/series.py pendigits          8 points of a pen, 7,494 / 3,498
    python bench/series.py gestures           16 points of a finger, a fifth of 5,296 as test
    python bench/series.py activity           UCI HAR, 3 axes, windows of 128 steps, by subject
    python bench/series.py activity --models bilstm torch --seeds 5

Test parts are read once, after training; the epoch is chosen on a held-out tenth of the training
part, of `activity` on subjects of their own. `torch` is a plain nn.LSTM of the same size, trained
the same way: the same rows, batches of the same size, AdamW with the same rates, the same choice of
the epoch. Without ../shared/data (or $UNSPOOL_DATA) it says so and ends.
"""

from __future__ import annotations

import argparse
import gzip
import platform
import re
import sys
import tempfile
import time
from pathlib import Path
from statistics import mean, stdev
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

import unspool
from rows import DATA, size
from unspool.tasks.metrics import bootstrap_mean
from unspool.tasks.task import encode_plan

MODELS = ("bilstm", "bigru", "lstm", "cnn", "transformer", "linear", "torch")
TESTED = {25, 26, 27, 28, 29, 30}  # subjects of the activities
WINDOW, STRIDE = 128, 64
SETTINGS: dict[str, dict[str, Any]] = {
    "motions": {},
    "vowels": {},
    "pendigits": {"channels": 2, "epochs": 15, "batch": 64},
    "gestures": {"channels": 2, "epochs": 15, "batch": 64},
    "activity": {"group": "subject", "epochs": 6, "batch": 64, "hidden": 64},
}


class Result(NamedTuple):
    """right (N,): 1 for each row whose answer is right."""

    right: np.ndarray
    seconds: float
    parameters: int


def files(name: str, folder: Path) -> tuple[Path, Path]:
    """The data to train and to test on."""
    if name == "motions":
        home = DATA / "activity/basic_motions"
        return home / "BasicMotions_TRAIN.ts", home / "BasicMotions_TEST.ts"
    if name == "vowels":
        home = DATA / "speech/japanese_vowels"
        return home / "JapaneseVowels_TRAIN.ts", home / "JapaneseVowels_TEST.ts"
    if name == "pendigits":
        home = DATA / "handwriting/pendigits"
        return home / "pendigits.tra", home / "pendigits.tes"
    return gestures(folder) if name == "gestures" else activity(folder)


def gestures(folder: Path) -> tuple[Path, Path]:
    """A seeded fifth of the rows as test."""
    with gzip.open(DATA / "activity/finger_gestures/point_history.csv.gz", "rt") as file:
        rows = file.read().splitlines()
    order = np.random.default_rng(1).permutation(len(rows))
    cut = len(rows) // 5
    for name, some in (("test", order[:cut]), ("train", order[cut:])):
        (folder / f"{name}.csv").write_text("".join(f"{rows[i]}\n" for i in sorted(some)))
    return folder / "train.csv", folder / "test.csv"


def activity(folder: Path) -> tuple[Path, Path]:
    """Windows with their subjects; those of some subjects as test."""
    found: dict[str, list[Any]] = {"train": [], "test": []}
    for path in sorted((DATA / "activity/uci_har_acc/Train").glob("*/*.csv")):
        subject = int(re.sub(r"\D", "", path.stem))
        x = np.loadtxt(path, delimiter=",", skiprows=1, dtype=np.float32)
        for start in range(0, len(x) - WINDOW + 1, STRIDE):
            row = (x[start : start + WINDOW], path.parent.name, subject)
            found["test" if subject in TESTED else "train"].append(row)
    for name, rows in found.items():
        x, label, subject = (np.array(each) for each in zip(*rows))
        np.savez(folder / f"{name}.npz", x=x, label=label, subject=subject)
    return folder / "train.npz", folder / "test.npz"


class PlainLSTM(nn.Module):
    """The bilstm of unspool in plain torch; sequences of different lengths are packed."""

    def __init__(self, channels: int, classes: int, embedding: int, hidden: int, dropout: float):
        super().__init__()
        self.input = nn.Linear(channels, embedding)
        self.lstm = nn.LSTM(embedding, hidden, bidirectional=True, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(2 * hidden, classes)

    def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        x = self.dropout(self.input(x))
        if (lengths == x.shape[1]).all():
            out = self.lstm(x)[0]
        else:
            packed = nn.utils.rnn.pack_padded_sequence(
                x, lengths, batch_first=True, enforce_sorted=False
            )
            out, _ = nn.utils.rnn.pad_packed_sequence(
                self.lstm(packed)[0], batch_first=True, padding_value=-torch.inf
            )
        return self.output(self.dropout(out.amax(1)))


def plain_torch(run: unspool.api.run.Run, test: Path) -> tuple[np.ndarray, float]:
    """Whether each row of the test is answered rightly, and the seconds of training; the rows and
    settings are those of a run."""
    config, task = run.config, run.task
    train, valid = run.parts["train"], run.parts["valid"]
    tested, _ = encode_plan(task, unspool.tasks.planner.open_plan(test, config.data, task.name))
    torch.manual_seed(config.train.seed)
    model = PlainLSTM(
        task.input_field.size, len(task.labels), config.model.embedding, config.model.hidden,
        config.model.dropout,
    )  # fmt: skip
    settings = config.train
    optimizer = torch.optim.AdamW(model.parameters(), settings.lr, weight_decay=0.01)
    batches = task.batches(train, training=True)
    total = settings.epochs * batches.steps(0)

    def rate(step: int) -> float:
        warm = max(1, round(settings.warmup * total))
        if step < warm:
            return (step + 1) / warm
        return 0.5 * (1 + np.cos(np.pi * (step - warm) / max(1, total - warm)))

    def right(part: Any) -> tuple[np.ndarray, float]:
        """Of each row, and the loss."""
        found, losses = np.zeros(len(part), dtype=bool), []
        own = task.batches(part, training=False)
        with torch.inference_mode():
            for step in range(own.steps(0)):
                batch = own.batch(0, step)
                scores = model(*batch["series"].inputs)
                losses.append(float(F.cross_entropy(scores, batch["label"], reduction="sum")))
                found[batch.rows] = (scores.argmax(1) == batch["label"]).numpy()
        return found, sum(losses) / len(part)

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    best, weights, waited, started = (-1.0, 0.0), {}, 0, time.perf_counter()
    for epoch in range(settings.epochs):
        model.train()
        for step in range(batches.steps(epoch)):
            batch = batches.batch(epoch, step)
            optimizer.zero_grad()
            F.cross_entropy(model(*batch["series"].inputs), batch["label"]).backward()
            nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
            optimizer.step()
            schedule.step()
        model.eval()
        hits, loss = right(valid)
        score = (float(hits.mean()), -loss)
        waited = 0 if score > best else waited + 1
        if score > best:
            best, weights = score, {k: v.clone() for k, v in model.state_dict().items()}
        if waited >= settings.patience:
            break
    seconds = time.perf_counter() - started
    model.load_state_dict(weights)
    model.eval()
    return right(tested)[0], seconds


def processor() -> str:
    """As Linux names it."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def shown(models: dict[str, list[Result]]) -> list[str]:
    lines = [f"{'model':12} accuracy  {'95 % interval, or standard deviation of the seeds':50}"]
    for name, found in models.items():
        accuracies = [float(own.right.mean()) for own in found]
        if len(found) == 1:
            low, high = bootstrap_mean(found[0].right)
            sure = f"{low:.4f} to {high:.4f}"
        else:
            sure = f"± {stdev(accuracies):.4f} ({len(found)} seeds)"
        lines.append(
            f"{name:12} {mean(accuracies):.4f}    {sure:20} {found[0].parameters:>9,} parameters"
            f" {mean(own.seconds for own in found):7.0f} s a run"
        )
    return lines


def measure(given: argparse.Namespace, folder: Path, seed: int) -> dict[str, Result]:
    train, test = files(given.data, folder)
    settings = {**SETTINGS[given.data], "seed": seed}
    if given.epochs:
        settings["epochs"] = given.epochs
    bilstm, found = None, {}
    for name in given.models:
        ours, steps = (name, 0) if name != "torch" else ("bilstm", 1)  # of whose rows alone
        if name != "torch" or bilstm is None:
            run = unspool.train(
                train, task="classify", model=ours, out=folder / f"{name}-{seed}", quiet=True,
                baseline=False, max_steps=steps, **settings,
            )  # fmt: skip
        if name == "bilstm":
            bilstm = run
        if name == "torch":
            right, seconds = plain_torch(bilstm or run, test)
            found[name] = Result(right, seconds, size(bilstm or run))
        else:
            scores = run.evaluate(test).scores
            found[name] = Result(scores, run.counters.seconds, size(run))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", choices=SETTINGS)
    parser.add_argument("--models", nargs="+", default=MODELS, choices=MODELS)
    parser.add_argument("--seeds", type=int, default=1, help="runs of each model, seeds 1 to N")
    parser.add_argument("--epochs", type=int, help="other than usual")
    given = parser.parse_args()
    if not DATA.exists():
        sys.exit(f"there is no {DATA}: set $UNSPOOL_DATA")
    print(f"{given.data}; {processor()}")
    models: dict[str, list[Result]] = {name: [] for name in given.models}
    with tempfile.TemporaryDirectory() as scratch:
        for seed in range(1, given.seeds + 1):
            for name, found in measure(given, Path(scratch), seed).items():
                models[name].append(found)
            print("\n".join(shown(models)), flush=True)


if __name__ == "__main__":
    main()
