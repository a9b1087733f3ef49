"""End to end: how long does it take to train a BiLSTM classifier on IMDB, ours against Keras?

    python bench/imdb.py [--quick] [--json FILE] [--threads N] [--rounds N] [--documents N]
                         [--epochs 2] [--batch 32] [--bucket 100]

Ours is one call of `unspool.train`, in fp32 and, where the processor multiplies bfloat16, once more
with precision=bf16; theirs is Keras 3 on JAX: Embedding with a mask, Bidirectional
LSTM, GlobalMaxPooling1D, Dense, and `fit`. Both read the same token ids (lower-cased words, 20,000
of them, the first 400 of a review) and have the same sizes, batch, epochs, AdamW with the same
rate, decay and clipping; neither drops units or validates. JAX compiles anew for every shape, so
Keras gets batches of similar length padded to a multiple of --bucket: four shapes; --bucket 400
pads all reviews to the full length, as its tutorials do.

Held out is test.tsv.gz where it lies beside train.tsv.gz, otherwise every fifth review. Each
contestant has a fresh process; with several rounds they alternate. Printed are the medians of: the
seconds of reading and tokenising, of training with all that it compiles, of the first and of the
last epoch; the accuracy on what was held out.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import torch

import unspool
from timing import DATA, installed, parser, set_up, write_json
from unspool import native
from unspool.api.settings import make_config
from unspool.tasks.classify import Classify
from unspool.tasks.planner import open_plan
from unspool.training.progress import Silent

REVIEWS = DATA / "sentiment/imdb"
KERAS = "keras on jax"
VOCABULARY, LENGTH, EMBEDDING, HIDDEN, RATE, DECAY, CLIP = 20_000, 400, 128, 128, 1e-3, 0.01, 1.0


class Plan(NamedTuple):
    """What a contestant has to do."""

    folder: str  # with train.tsv and test.tsv
    epochs: int
    batch: int
    bucket: int
    threads: int
    seed: int = 1  # of ours; Keras starts from other weights in each run

    def file(self, part: str) -> str:
        return str(Path(self.folder) / f"{part}.tsv")

    def settings(self) -> dict[str, Any]:
        return {
            "text": "4", "label": "1", "header": False, "valid_share": 0.0, "kind": "word",
            "lowercase": True, "vocab": VOCABULARY, "max_length": LENGTH, "embedding": EMBEDDING,
            "hidden": HIDDEN, "dropout": 0.0, "epochs": self.epochs, "batch": self.batch,
            "optimizer": "adamw", "lr": RATE, "weight_decay": DECAY, "clip": CLIP,
            "schedule": "constant", "warmup": 0.0, "threads": self.threads, "seed": self.seed,
        }  # fmt: skip


class Result(NamedTuple):
    reading: float  # seconds, of tokenising too
    training: float
    first_epoch: float
    last_epoch: float
    accuracy: float


class Clock(Silent):
    """Notes when the data are ready, when each epoch ends, and when all is saved."""

    times: list[float]

    def note(self, text: str) -> None:
        """The last that is said before training begins is which model will be trained."""
        self.ready = time.perf_counter()

    def start(self, total: int, counters: Any) -> None:
        self.times = [self.ready]

    def validated(self, counters: Any, metrics: dict[str, float], best: bool) -> None:
        self.times.append(time.perf_counter())

    def close(self) -> None:
        self.ended = time.perf_counter()


def ours(plan: Plan, precision: str = "fp32") -> Result:
    started = time.perf_counter()
    clock = Clock()
    run = unspool.train(
        plan.file("train"),
        task="classify",
        model="bilstm",
        test=plan.file("test"),
        out=Path(plan.folder) / "run",
        watcher=clock,
        note=clock.note,
        precision=precision,
        **plan.settings(),
    )
    assert run.report is not None
    return result(started, clock.times, clock.ended, run.report.metrics["accuracy"])


def result(started: float, times: list[float], ended: float, accuracy: float) -> Result:
    """`times`: when the data were ready, and when each epoch ended."""
    epochs = np.diff(times).tolist()
    return Result(times[0] - started, ended - times[0], epochs[0], epochs[-1], accuracy)


def keras(plan: Plan) -> Result:
    os.environ["KERAS_BACKEND"] = "jax"
    import keras
    from keras import layers

    warnings.filterwarnings("ignore", message=".*does not support masking")  # the pooling
    started = time.perf_counter()
    config = make_config("classify", "bilstm", settings=plan.settings())
    plans = {
        part: open_plan(plan.file(part), config.data, task="classify") for part in ("train", "test")
    }
    corpus = Classify.load_corpus(config, plans)
    task = Classify(config, corpus.fields)
    times = [time.perf_counter()]

    class Batches(keras.utils.PyDataset):
        """The training part, shuffled anew for every epoch."""

        def __init__(self) -> None:
            super().__init__()
            self.epoch = -1
            self.on_epoch_begin()

        def on_epoch_begin(self) -> None:
            self.epoch += 1
            self.batches = cut(corpus.parts["train"].lengths[:, 0], plan, self.epoch)

        def __len__(self) -> int:
            return len(self.batches)

        def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
            rows = self.batches[index]
            part = corpus.parts["train"]
            return padded(part, rows, plan), part["label"].ids[rows]

    model = keras.Sequential(
        [
            layers.Embedding(len(task.tokenizer), EMBEDDING, mask_zero=True),
            layers.Bidirectional(layers.LSTM(HIDDEN, return_sequences=True)),
            layers.GlobalMaxPooling1D(),
            layers.Dense(2),
        ]
    )
    optimizer = keras.optimizers.AdamW(RATE, weight_decay=DECAY, global_clipnorm=CLIP)
    optimizer.exclude_from_weight_decay(var_names=["bias"])
    model.compile(optimizer, keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    watch = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: times.append(time.perf_counter())
    )
    model.fit(Batches(), epochs=plan.epochs, shuffle=False, verbose=0, callbacks=[watch])
    ended = time.perf_counter()

    part = corpus.parts["test"]
    guesses = np.zeros(len(part), dtype=np.int64)
    for rows in cut(part.lengths[:, 0], plan, 0):
        guesses[rows] = model.predict_on_batch(padded(part, rows, plan)).argmax(1)
    return result(started, times, ended, float((guesses == part["label"].ids).mean()))


def cut(lengths: np.ndarray, plan: Plan, epoch: int) -> np.ndarray:
    """Rows of batches (N, B) of similar lengths; the last batch is filled up with other rows."""
    rng = np.random.default_rng(epoch)
    rows = rng.permutation(len(lengths))
    rows = rows[np.argsort(-lengths[rows] // plan.bucket, kind="stable")]  # longest first
    full = -(-len(rows) // plan.batch) * plan.batch
    return rng.permutation(np.resize(rows, full).reshape(-1, plan.batch))


def padded(part: Any, rows: np.ndarray, plan: Plan) -> np.ndarray:
    """Token ids (B, T), T a multiple of the bucket."""
    ids = part.collate(rows)["text"].ids.numpy().astype(np.int32)
    return np.pad(ids, [(0, 0), (0, -ids.shape[1] % plan.bucket)])


CONTESTANTS: dict[str, Callable[[Plan], Result]] = {"unspool": ours, KERAS: keras}
if native.multiplies_bf16():
    CONTESTANTS["unspool bf16"] = partial(ours, precision="bf16")


def elsewhere(name: str, plan: Plan) -> Result:
    """A contestant in a fresh process, with caches that are empty."""
    with tempfile.TemporaryDirectory() as scratch:
        for file in Path(plan.folder).iterdir():
            (Path(scratch) / file.name).symlink_to(file)
        command = [
            sys.executable,
            __file__,
            "--run",
            json.dumps([name, plan._replace(folder=scratch)]),
        ]
        environment = os.environ | {"UNSPOOL_CACHE": str(Path(scratch) / "cache")}
        done = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, check=True, env=environment
        )
    return Result(*json.loads(done.stdout.splitlines()[-1]))


def write_parts(folder: Path, documents: int) -> dict[str, int]:
    """train.tsv and test.tsv, evenly spaced rows of the data; says how many rows each has."""
    parts = {"train": list(lines(REVIEWS / "train.tsv.gz"))}
    if (REVIEWS / "test.tsv.gz").exists():
        parts["test"] = list(lines(REVIEWS / "test.tsv.gz"))
    else:
        print("no test.tsv.gz: every fifth review of train.tsv.gz is held out instead")
        parts["test"] = parts["train"][4::5]
        del parts["train"][4::5]
    counts = {}
    for name, rows in parts.items():
        counts[name] = min(documents or len(rows), len(rows))
        chosen = np.linspace(0, len(rows) - 1, counts[name]).astype(int)  # sorted by label
        (folder / f"{name}.tsv").write_bytes(b"".join(rows[i] for i in chosen))
    return counts


def lines(path: Path) -> Iterator[bytes]:
    with gzip.open(path) as file:
        yield from file


def compare(names: list[str], plan: Plan, rounds: int) -> list[dict[str, Any]]:
    results: dict[str, list[Result]] = {name: [] for name in names}
    for seed in range(1, rounds + 1):
        for name in names:
            results[name].append(elsewhere(name, plan._replace(seed=seed)))
    middle = {name: Result(*map(median, zip(*each))) for name, each in results.items()}
    titles = ("reading s", "training s", "best", "first epoch", "last epoch", "accuracy", "x keras")
    print(f"{'':<14}" + "".join(f"{title:>12}" for title in titles))
    rows = []
    for name, each in results.items():
        reading, training, first, last, accuracy = middle[name]
        ratio = middle[KERAS].training / training if KERAS in names else float("nan")
        best = min(one.training for one in each)
        print(
            f"{name:<14}{reading:>12.1f}{training:>12.1f}{best:>12.1f}{first:>12.1f}{last:>12.1f}"
            f"{accuracy:>12.4f}{ratio:>12.2f}"
        )
        rows.append({"name": name, "ratio": ratio, "runs": [one._asdict() for one in each]})
    return rows


def main() -> None:
    arguments = parser(__doc__, rounds=1)
    arguments.add_argument("--documents", type=int, default=0, help="of each part; 0: all")
    arguments.add_argument("--epochs", type=int, default=2)
    arguments.add_argument("--batch", type=int, default=32)
    arguments.add_argument("--bucket", type=int, default=100)
    arguments.add_argument("--run", type=json.loads, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.run:
        name, plan = options.run[0], Plan(*options.run[1])
        torch.set_num_threads(plan.threads)
        print(json.dumps(CONTESTANTS[name](plan)))
        return
    if not (REVIEWS / "train.tsv.gz").exists():
        print(f"skipped: no development data at {DATA}")
        return
    if options.quick:
        options.documents, options.epochs = options.documents or 200, 1
    machine = set_up(options)
    theirs = () if installed("jax", "keras") else (KERAS,)
    names = [name for name in CONTESTANTS if name not in theirs]
    with tempfile.TemporaryDirectory() as folder:
        counts = write_parts(Path(folder), options.documents)
        print(f"reviews: {counts}, epochs {options.epochs}, batch {options.batch}")
        plan = Plan(folder, options.epochs, options.batch, options.bucket, machine["threads"])
        rows = compare(names, plan, options.rounds)
    write_json(options.json, {**machine, **counts, "epochs": plan.epochs}, rows)


if __name__ == "__main__":
    main()
