"""The products in AMX tiles, whose instructions are imitated where the processor has none."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import unspool

CPP = Path(unspool.__file__).parent / "native" / "cpp"
CXX = shutil.which("g++")


@pytest.mark.skipif(
    CXX is None or sys.platform != "linux" or platform.machine() != "x86_64",
    reason="needs g++ on Linux and x86-64",
)
def test_tiles_agree_with_a_plain_product(tmp_path: Path) -> None:
    program = tmp_path / "tiles"
    flags = ["-std=c++20", "-O1", "-Wno-psabi", "-mamx-tile", "-mamx-bf16", f"-I{CPP}"]
    source = Path(__file__).parent / "tiles.cpp"
    built = subprocess.run(
        [str(CXX), *flags, str(source), "-o", str(program)], capture_output=True, text=True
    )
    if "unrecognized command-line option" in built.stderr:
        pytest.skip("this compiler knows no AMX")
    assert built.returncode == 0, built.stderr
    done = subprocess.run([program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "tiles agree" in done.stdout
