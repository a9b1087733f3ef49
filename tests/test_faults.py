"""A few cases of every part of the attack in `bench/faults`; more: docs/reliability.md."""

import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).parents[1] / "bench" / "faults"


def test_a_short_attack_finds_nothing() -> None:
    done = subprocess.run(
        [sys.executable, BENCH, "--short", "--seed", "1"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
