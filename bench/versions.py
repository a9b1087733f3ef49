"""Is a version of unspool slower than another? The same work in both, taking turns.

    python bench/versions.py BEFORE AFTER [--rounds 3] [--only predict]

BEFORE and AFTER are Python interpreters of two environments with unspool installed, such as
../old/.venv/bin/python and .venv/bin/python. Measured are an epoch of IMDB (BiLSTM, 5,000 reviews)
and of Multi30k (Transformer, 6,000 pairs), `predict` of one text and of 25,000, the start of
`unspool --help` and of `unspool predict`, and a whole `unspool train` of 1,000 rows with a cache
that is empty. Only what both versions offer is called, through the public interface; the training
speed is what the log of the run says of each step, without the first epoch and without validations.
"""

from __future__ import annotations

import gzip
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from timing import DATA, parser

TRAIN = """
import json, statistics, sys, unspool
data, task, model, out, count = sys.argv[1:6]
run = unspool.train(data, task=task, model=model, out=out, epochs=2, patience=0, precision="fp32",
                    valid_share=0.02, log_steps=1, **json.loads(sys.argv[6]))
found = [line["tokens_per_second"] for line in run.metrics() if "tokens_per_second" in line]
print(1e6 / statistics.harmonic_mean(found[len(found) // 2:]))
"""
PREDICT = """
import sys, time, unspool
run = unspool.load(sys.argv[1])
texts = [line.rstrip("\\n") for line in open(sys.argv[2], encoding="utf-8")]
text = " ".join(texts[0].split()[:100])
run.predict([text])
start = time.perf_counter()
for _ in range(50):
    run.predict([text])
one = (time.perf_counter() - start) / 50
start = time.perf_counter()
run.predict(texts)
print(one, time.perf_counter() - start)
"""


def call(python: str, code: str, *words: object) -> list[float]:
    done = subprocess.run(
        [python, "-c", code, *map(str, words)], capture_output=True, text=True, check=True
    )
    return [float(word) for word in done.stdout.split()[-2:]]


def seconds(command: list[str], **environment: str) -> float:
    start = time.perf_counter()
    subprocess.run(command, capture_output=True, check=True, env={**os.environ, **environment})
    return time.perf_counter() - start


def prepare(folder: Path) -> None:
    """5,000 and 1,000 reviews with their labels, all 25,000 texts, and 6,000 pairs."""
    with gzip.open(DATA / "sentiment/imdb/train.tsv.gz", "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    some = rows[1::5] if len(rows) > 25_000 else rows[::5]
    for name, part in (("reviews", some), ("small", some[::5])):
        lines = ["label\ttext\n", *(f"{row[0]}\t{row[3]}\n" for row in part)]
        (folder / f"{name}.tsv").write_text("".join(lines), encoding="utf-8")
    (folder / "texts.txt").write_text(
        "".join(f"{row[3]}\n" for row in rows[-25_000:]), encoding="utf-8"
    )
    for side in ("en", "de"):
        with gzip.open(DATA / f"mt/multi30k/train.{side}.gz", "rt", encoding="utf-8") as file:
            lines = [next(file) for _ in range(6000)]
        (folder / f"pairs.{side}").write_text("".join(lines), encoding="utf-8")


def main() -> None:
    made = parser(__doc__, rounds=3)
    made.add_argument("before")
    made.add_argument("after")
    made.add_argument("--only", default="", help="what has this in its name")
    options = made.parse_args()
    if not DATA.exists():
        print(f"skipped: needs the data sets of {DATA}")
        return
    found: dict[str, dict[str, list[float]]] = {}

    def note(what: str, version: str, value: float) -> None:
        found.setdefault(what, {}).setdefault(version, []).append(value)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        versions = {"before": options.before, "after": options.after}
        imdb = '{"max_length": 200, "hidden": 128, "embedding": 128, "vocab": 20000}'
        pairs = '{"vocab": 8000}'
        for turn in range(options.rounds):
            for version, python in versions.items():
                unspool = [python, "-m", "unspool"]
                run = folder / f"imdb-{version}"
                if options.only in "imdb epoch predict" and (
                    turn == 0 or options.only != "predict"
                ):
                    out = folder / f"imdb-{version}-{turn}"
                    words = (folder / "reviews.tsv", "classify", "bilstm", out, 0, imdb)
                    note("imdb epoch, us a token", version, call(python, TRAIN, *words)[-1])
                    if turn == 0:
                        out.rename(run)
                if options.only in "translation epoch":
                    out = folder / f"pairs-{version}-{turn}"
                    both = f"{folder / 'pairs.en'},{folder / 'pairs.de'}"
                    words = (both, "translate", "transformer", out, 0, pairs)
                    note("translation epoch, us a token", version, call(python, TRAIN, *words)[-1])
                if options.only in "predict":
                    one, many = call(python, PREDICT, run, folder / "texts.txt")
                    note("predict one text, s", version, one)
                    note("predict 25,000 texts, s", version, many)
                if options.only in "train 1,000 rows":
                    out, cache = folder / f"small-{version}-{turn}", folder / f"cache-{version}"
                    command = [*unspool, "train", str(folder / "small.tsv"), "--out", str(out)]
                    command += ["--set", "epochs=1"]
                    note("train 1,000 rows, s", version, seconds(command, UNSPOOL_CACHE=str(cache)))
                    shutil.rmtree(cache)
                if options.only in "start":
                    note("start of --help, s", version, seconds([*unspool, "--help"]))
                    command = [*unspool, "predict", str(run), "a fine film"]
                    if run.exists():
                        note("start of predict, s", version, seconds(command))
    print(f"{'':32} {'before':>10} {'after':>10}  before / after (medians)")
    for what, both in found.items():
        before, after = (statistics.median(both[version]) for version in versions)
        print(f"{what:32} {before:10.4f} {after:10.4f}  {before / after:.2f}")


if __name__ == "__main__":
    main()
