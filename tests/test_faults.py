"""A few cases of every part of the attack in `bench/faults`; more: docs/reliability.md."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[1] / "bench" / "faults"
# Some parts a process: each has to import torch.
PARTS = ["inputs", "folders,forged,flips", "settings,kills,disks,races,server"]
ELSEWHERE = {"bombs"}  # tests/data/read/test_bombs.py


def test_every_part_is_tried() -> None:
    sources = [path.read_text(encoding="utf-8") for path in BENCH.glob("*.py")]
    names = re.findall(r'\((?:Part|Folders)\):.*?\n    name = "(\w+)"', "\n".join(sources), re.S)
    assert sorted({*names} - ELSEWHERE) == sorted(",".join(PARTS).split(","))


@pytest.mark.parametrize("parts", PARTS)
def test_a_short_attack_finds_nothing(parts: str, tmp_path_factory) -> None:
    runs = tmp_path_factory.getbasetemp() / "attacked-runs"
    done = subprocess.run(
        [sys.executable, BENCH, "--short", "--seed", "1", "--only", parts, "--runs", runs],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
