"""Where there is a compiler there are kernels: the other tests here cannot all skip unseen."""

from __future__ import annotations

import os
import shutil

import pytest

from unspool import native
from unspool.native import word2vec


def test_a_compiler_means_kernels() -> None:
    if shutil.which("c++") is None:
        pytest.skip("no C++ compiler")
    if native.INSTRUCTIONS is None and os.environ.get("UNSPOOL_NATIVE"):
        pytest.skip(native.ABOUT)
    assert native.INSTRUCTIONS is not None, native.ABOUT
    assert word2vec.is_native()
