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
    names = ("offsets", "words", "keep", "share", "alias", "inputs", "outputs")
    arrays = {name: getattr(job, name) for name in names}
    _word2vec.train(
        *(native.INSTRUCTIONS, job.ids, arrays, first, last, job.window, job.negatives),
        *(job.cbow, job.seed, job.rate, job.slope, job.floor, threads),
    )
