"""How well the words of a topic go together: normalised pointwise mutual information.

Of two words i and j, with p the share of windows of a text that hold a word, or both
(Bouma 2009; Röder et al. 2015, C_NPMI):

    NPMI(i, j) = log((p_ij + ε) / (p_i p_j)) / -log(p_ij + ε)        ε = 1e-12

It is 1 for words that only occur together, 0 for words that know nothing of each other, and below 0
for words that avoid each other. Windows are all stretches of `window` words of a document; a
shorter document is one window. The coherence of a topic is the mean over all pairs of its words,
that of a model the mean over its topics. It is measured on the documents that the topics come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from unspool.topic_model.corpus import Documents

EPSILON = 1e-12
BLOCK = 1 << 20  # tokens looked at together


class Windows(NamedTuple):
    """How many windows hold each of some words, and each two of them."""

    words: dict[str, int]
    together: np.ndarray  # (W, W), those of one word on the diagonal
    total: int

    def npmi(self, words: Sequence[str]) -> float:
        """The mean over all pairs; 0 where there is none."""
        ids = np.array([self.words[word] for word in words])
        i, j = np.tril_indices(len(ids), -1)
        if not len(i):
            return 0.0
        p = self.together / self.total
        alone, both = np.diag(p)[ids], p[ids[i], ids[j]] + EPSILON
        return float(np.mean(np.log(both / (alone[i] * alone[j])) / -np.log(both)))


def count_windows(documents: Documents, words: Sequence[str], window: int) -> Windows:
    """Over all documents; each word must occur."""
    from scipy.sparse import csr_matrix

    column = documents.column
    names = {word: i for i, word in enumerate(dict.fromkeys(words))}
    number = np.full(len(column.types), -1, np.int64)
    for raw, token in enumerate(column.types):
        number[raw] = names.get(token, -1)
    together = np.zeros((len(names), len(names)))
    starts = column.offsets[documents.rows]
    lengths = column.offsets[documents.rows + 1] - starts
    counts = np.maximum(1, lengths - window + 1)  # windows of each document
    cuts = np.searchsorted(np.cumsum(lengths), np.arange(BLOCK, lengths.sum() + BLOCK, BLOCK))
    for low, high in zip([0, *(cuts + 1)], [*(cuts + 1), len(starts)]):
        low, high = min(low, len(starts)), min(high, len(starts))
        if low == high:
            continue
        own = np.repeat(np.arange(low, high), lengths[low:high])
        first = np.cumsum(lengths[low:high]) - lengths[low:high]
        position = np.arange(len(own)) - np.repeat(first, lengths[low:high])
        ids = number[column.ids[np.repeat(starts[low:high], lengths[low:high]) + position]]
        known = ids >= 0
        own, position, ids = own[known], position[known], ids[known]
        # A word at position t is in the windows that begin at t - window + 1 to t.
        begin = np.maximum(0, position - window + 1)
        end = np.minimum(counts[own] - 1, position)
        before = np.cumsum(counts[low:high]) - counts[low:high]
        repeats = end - begin + 1
        shift = np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        rows = np.repeat(before[own - low] + begin, repeats) + shift
        shape = (int(counts[low:high].sum()), len(names))
        held = csr_matrix((np.ones(len(rows)), (rows, np.repeat(ids, repeats))), shape=shape)
        held.sum_duplicates()
        held.data[:] = 1
        together += (held.T @ held).toarray()
    return Windows(names, together, int(counts.sum()))


def coherence(documents: Documents, topics: Sequence[Sequence[str]], window: int) -> list[float]:
    """The NPMI of each topic's words."""
    windows = count_windows(documents, [word for topic in topics for word in topic], window)
    return [windows.npmi(topic) for topic in topics]
