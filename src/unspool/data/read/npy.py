"""The header of an array in NumPy's format."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.lib import format as npy


def read_header(content: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether the first index is the fastest, and type of a stream, which stands behind the
    header then. Of what is none it raises whatever NumPy's parsers do."""
    version = npy.read_magic(content)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    with warnings.catch_warnings():  # about headers of Python 2
        warnings.simplefilter("ignore")
        return read(content)
