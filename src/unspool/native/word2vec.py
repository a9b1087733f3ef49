"""word2vec on a part of a corpus: a `Job` in, its vectors changed in place.

`train` uses the C++ kernel on all threads where there is one, otherwise the readable reference in
numpy (`word2vec_reference.py`), which is slow. In one thread both make the same changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from unspool import native
from unspool.native import word2vec_reference

try:
    _word2vec: Any = import_module("unspool.native._word2vec")
except ImportError:  # installed without a compiler
    _word2vec = None

PADDING = 16  # the size of vectors in memory is a multiple of it


@dataclass(frozen=True, kw_only=True)
class Job:
    """One epoch. V words, vectors of E elements.

    ids       (T,) unsigned: the corpus, as raw ids
    offsets   (P + 1,) int64: where its pieces begin; a window never leaves its piece
    words     (raw ids,) int32: raw id -> word, -1 for one that is left out
    keep      (V,) float32: probability that an occurrence of a word is read
    share     (V,) float32, and alias (V,) int32: the noise distribution as an alias table
    inputs    (V, E) float32: vectors of the words that are read
    outputs   (V, E) float32: vectors of the words that are predicted
    window    words on each side at most; the number is sampled from 1 to `window` for each centre
    cbow      predict the centre from the mean of its context; otherwise (skip-gram) from each word
    rate, slope, floor   the learning rate at token t is max(rate − slope · t, floor)
    """

    ids: np.ndarray
    offsets: np.ndarray
    words: np.ndarray
    keep: np.ndarray
    share: np.ndarray
    alias: np.ndarray
    inputs: np.ndarray
    outputs: np.ndarray
    window: int
    negatives: int
    cbow: bool
    seed: int
    rate: float
    slope: float
    floor: float


def is_native() -> bool:
    return _word2vec is not None and native.INSTRUCTIONS is not None


def train(job: Job, first: int, last: int, *, threads: int) -> None:
    """Learn from the pieces `first` to `last` of the corpus."""
    if not is_native():
        word2vec_reference.train(job, first, last)
        return
    vocab, size = job.inputs.shape
    if size % PADDING:
        raise ValueError(f"the kernel takes sizes that are multiples of {PADDING}, not {size}")
    if job.ids.dtype not in (np.uint8, np.uint16, np.uint32):
        raise TypeError(f"the kernel takes ids without a sign, not {job.ids.dtype}")
    _word2vec.train(
        native.INSTRUCTIONS,
        *(_address(job.ids, job.ids.dtype), job.ids.itemsize),
        *(_address(job.offsets, np.int64), first, last, _address(job.words, np.int32), vocab),
        *(_address(job.keep, np.float32), _address(job.share, np.float32)),
        *(_address(job.alias, np.int32), size),
        *(_address(job.inputs, np.float32), _address(job.outputs, np.float32)),
        *(job.window, job.negatives, job.cbow, job.seed, job.rate, job.slope, job.floor, threads),
    )


def _address(array: np.ndarray, dtype: Any) -> int:
    if array.dtype != dtype or not array.flags.c_contiguous:
        raise TypeError(f"the kernel takes a contiguous array of {dtype}, not of {array.dtype}")
    return array.ctypes.data
