"""Skip-gram and CBOW with negative sampling in numpy, one centre word after the other.

What the kernel in `cpp/word2vec.cpp` does, to be read. With X (N, E) the vectors of a centre's
context, Y (M, E) those of the centre and of its samples, which all words of the context share
(Ji et al. 2016):

    S = X Yᵀ,   G = rate (L − σ(S)),   X += G Y,   Y += Gᵀ X,

with L 1 in the centre's column, else 0, and G 0 for a sample that is the centre itself. For CBOW, X
is one row, the mean of the context, and each word of the context gets the whole of its change, as
in Mikolov's program. (The gradient of a mean would be an Nth of it, a smaller learning rate.)

Random numbers are those of SplitMix64. They depend on the seed and the position in the corpus
alone, so that neither threads nor the order of pieces change them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from unspool.native.word2vec import Job

STRETCH = 10_000  # tokens of a piece that are read at once; windows end there
STEP = np.uint64(0x9E3779B97F4A7C15)


def train(job: Job, first: int, last: int) -> None:
    """Learn from the pieces `first` to `last`."""
    for piece in range(first, last):
        start, end = int(job.offsets[piece]), int(job.offsets[piece + 1])
        for at in range(start, end, STRETCH):
            _stretch(job, at, min(end, at + STRETCH))


def _stretch(job: Job, start: int, end: int) -> None:
    places = np.arange(start, end, dtype=np.uint64)
    words = job.words[job.ids[start:end]]
    state = mix(np.uint64(job.seed) + STEP * places)
    kept = (words >= 0) & (uniform(mix(state) >> np.uint64(32)) < job.keep[words])
    words, places, state = words[kept], places[kept], state[kept]
    reach = 1 + below(job.window, mix(state + STEP))
    samples = _samples(job, state)  # (words, negatives)
    rates = np.maximum(job.rate - job.slope * places.astype(np.float64), job.floor)
    for i, word in enumerate(words):
        left = words[max(0, i - reach[i]) : i]
        context = np.concatenate([left, words[i + 1 : i + 1 + reach[i]]])
        if len(context):
            _centre(job, word, context, samples[i], np.float32(rates[i]))


def _centre(
    job: Job, word: int, context: np.ndarray, samples: np.ndarray, rate: np.float32
) -> None:
    targets = np.concatenate([[word], samples])
    X, Y = job.inputs[context], job.outputs[targets]
    if job.cbow:
        X = X.mean(axis=0, keepdims=True)
    L = (np.arange(len(targets)) == 0).astype(np.float32)
    sigmoid = 0.5 + 0.5 * np.tanh(0.5 * (X @ Y.T))
    G = rate * (L - sigmoid)  # (N, M)
    G[:, 1:][:, samples == word] = 0
    # `at` adds again where a word comes twice.
    np.add.at(job.inputs, context, G @ Y)
    np.add.at(job.outputs, targets, G.T @ X)


def _samples(job: Job, state: np.ndarray) -> np.ndarray:
    """The noise words of each centre, (centres, negatives)."""
    numbers = np.arange(2, job.negatives + 2, dtype=np.uint64)
    random = mix(state[:, None] + STEP * numbers)
    drawn = below(len(job.keep), random)
    keep = uniform(random & np.uint64(0xFFFFFFFF)) < job.share[drawn]
    return np.where(keep, drawn, job.alias[drawn])


def mix(z: np.ndarray) -> np.ndarray:
    """The output function of SplitMix64 (Steele et al. 2014), on uint64."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def uniform(bits: np.ndarray) -> np.ndarray:
    """Numbers in [0, 1) from the upper 24 of 32 bits."""
    return (bits >> np.uint64(8)).astype(np.float32) * np.float32(2**-24)


def below(limit: int, random: np.ndarray) -> np.ndarray:
    """Whole numbers below `limit` from the upper 32 of 64 bits."""
    return (((random >> np.uint64(32)) * np.uint64(limit)) >> np.uint64(32)).astype(np.int64)
