"""The programs in `examples/` that predict on a cluster give the answers of `run.predict`, on a
cluster of this machine alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pytest

from unspool.api.run import load

EXAMPLES = Path(__file__).parents[2] / "examples"


def run_example(name: str, *words: str | Path) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "RAY_DISABLE_IMPORT_WARNING": "1",
                   "RAY_USAGE_STATS_ENABLED": "0", "SPARK_LOCAL_IP": "127.0.0.1",
                   "PYSPARK_PYTHON": sys.executable}  # fmt: skip
    ended = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *map(str, words)],
        capture_output=True, text=True, env=environment, timeout=300,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-3000:]


@pytest.fixture
def table(reviews, tmp_path) -> Path:
    frame = pd.read_csv(reviews)[["text"]]
    frame.insert(0, "id", range(len(frame)))
    frame.to_parquet(tmp_path / "new.parquet")
    return tmp_path / "new.parquet"


def check(out: Path, classifier: Path, table: Path) -> None:
    answered = pd.read_parquet(out).sort_values("id")
    expected = load(classifier).predict(pd.read_parquet(table)["text"])
    assert len(answered) == len(expected)
    assert answered["label"].tolist() == [answer.label for answer in expected]
    p = [answer.probability for answer in expected]
    assert answered["probability"].astype(float).tolist() == pytest.approx(p, abs=1e-5)


@pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed")
def test_ray(classifier, table, tmp_path) -> None:
    run_example("ray_predict.py", classifier, table, tmp_path / "out", "--batch", "50")
    check(tmp_path / "out", classifier, table)


@pytest.mark.skipif(
    find_spec("pyspark") is None or shutil.which("java") is None, reason="no pyspark, or no java"
)
def test_spark(classifier, table, tmp_path) -> None:
    pack = tmp_path / "model.unspool"
    load(classifier).pack(pack)
    run_example("spark_predict.py", pack, table, tmp_path / "out")
    check(tmp_path / "out", classifier, table)
