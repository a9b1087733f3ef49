"""Products of integers, for each instruction set, against plain integer arithmetic."""

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
AVX2 = ["-mavx2", "-mfma"]
AVX512 = ["-mavx512f", "-mavx512dq", "-mavx512vl", "-mfma"]
SETS = {
    "baseline": ([], []),
    "avx2": (AVX2, ["avx2", "fma"]),
    "avx_vnni, imitated": ([*AVX2, "-DIMITATE_AVX_VNNI"], ["avx2", "fma"]),
    "avx_vnni": ([*AVX2, "-mavxvnni"], ["avx2", "fma", "avx_vnni"]),
    "avx512": (AVX512, ["avx512dq", "avx512vl"]),
    "avx512_vnni": ([*AVX512, "-mavx512bw", "-mavx512vnni"], ["avx512bw", "avx512_vnni"]),
}


def processor_flags() -> set[str]:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return set(next(line for line in lines if line.startswith("flags")).split())


@pytest.mark.skipif(
    CXX is None or sys.platform != "linux" or platform.machine() != "x86_64",
    reason="needs g++ on Linux and x86-64",
)
@pytest.mark.parametrize("name", SETS)
def test_products_are_exact(name: str, tmp_path: Path) -> None:
    options, needed = SETS[name]
    if not processor_flags().issuperset(needed):
        pytest.skip(f"this processor has no {name}")
    program = tmp_path / "products"
    flags = ["-std=c++20", "-O1", "-Wno-psabi", "-ffp-contract=fast", f"-I{CPP}", *options]
    source = Path(__file__).parent / "products.cpp"
    built = subprocess.run(
        [str(CXX), *flags, str(source), "-o", str(program)], capture_output=True, text=True
    )
    assert built.returncode == 0, built.stderr
    done = subprocess.run([program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "products agree" in done.stdout
