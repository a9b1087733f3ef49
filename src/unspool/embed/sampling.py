"""Which occurrences are read, which noise words sampled: counts in, tables for the kernel out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


def keep_probabilities(counts: np.ndarray, threshold: float) -> np.ndarray:
    """(V,) float32: how likely an occurrence of each word is read.

        min(1, √(t / f) + t / f)   for a word of the share f of the text,

    which is what Mikolov's program computes; his paper (2013b, section 2.3) has √(t / f).
    """
    if threshold == 0:
        return np.ones(len(counts), np.float32)
    ratio = threshold * counts.sum() / counts
    return np.minimum(1.0, np.sqrt(ratio) + ratio).astype(np.float32)


class AliasTable(NamedTuple):
    """A distribution over V words, sampled with two look-ups (Walker 1977; Vose 1991): choose
    i evenly, then it is i with probability share[i], otherwise alias[i]."""

    share: np.ndarray  # (V,) float32
    alias: np.ndarray  # (V,) int32


def alias_table(weights: np.ndarray) -> AliasTable:
    """The table of a distribution in proportion to `weights` (V,)."""
    scaled = (weights * (len(weights) / weights.sum())).tolist()
    share = np.ones(len(scaled), np.float32)
    alias = np.arange(len(scaled), dtype=np.int32)
    poor = [i for i, weight in enumerate(scaled) if weight < 1]
    rich = [i for i, weight in enumerate(scaled) if weight >= 1]
    while poor and rich:
        small, large = poor.pop(), rich[-1]
        share[small], alias[small] = scaled[small], large
        scaled[large] -= 1 - scaled[small]
        if scaled[large] < 1:
            poor.append(rich.pop())
    return AliasTable(share, alias)
