"""The word2vec kernel makes the changes of its reference, and both learn what they should."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rounding import rounding
from unspool import native
from unspool.embed.word2vec import alias_table, keep_probabilities
from unspool.native import word2vec, word2vec_reference
from unspool.native.word2vec import Job

needs_kernel = pytest.mark.skipif(not word2vec.is_native(), reason="no kernel here")


def make_job(
    *,
    size: int = 20,
    words: int = 50,
    tokens: int = 600,
    dtype: type = np.uint16,
    **options: object,
) -> Job:
    random = np.random.default_rng(3)
    ids = random.integers(0, words + 4, tokens).astype(dtype)  # four words have no vector
    offsets = np.unique(np.concatenate([[0, tokens], random.integers(0, tokens, 20)]))
    of_raw = np.arange(words + 4, dtype=np.int32)
    of_raw[:4], of_raw[4:] = -1, np.arange(words)
    counts = np.bincount(ids, minlength=words + 4)[4:] + 1
    table = alias_table(counts**0.75)
    padded = -(-size // word2vec.PADDING) * word2vec.PADDING
    matrices = [np.zeros((words, padded), np.float32) for _ in range(2)]
    for matrix in matrices:
        matrix[:, :size] = random.normal(size=(words, size), scale=0.3)
    job = Job(
        ids=ids,
        offsets=offsets.astype(np.int64),
        words=of_raw,
        keep=keep_probabilities(counts, 1e-2),
        share=table.share,
        alias=table.alias,
        inputs=matrices[0],
        outputs=matrices[1],
        window=5,
        negatives=5,
        cbow=False,
        seed=2**63 + 12345,
        rate=0.1,
        slope=0.1 / tokens,
        floor=0.02,
    )
    return replace(job, **options)  # type: ignore[arg-type]


def changes_rounding(job: Job) -> float:
    """A change is a sum of E terms; a word is changed as a centre, as context and as noise."""
    words, size = job.inputs.shape
    changes = len(job.ids) * (1 + job.window + job.negatives) // words
    return rounding(size, steps=changes)


def copied(job: Job) -> Job:
    return replace(job, inputs=job.inputs.copy(), outputs=job.outputs.copy())


@needs_kernel
@pytest.mark.parametrize("instructions", ["avx512", "avx2", "baseline"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"cbow": True},
        {"window": 1},
        {"window": 40, "negatives": 1},
        {"negatives": 23},
        {"negatives": 12, "cbow": True, "size": 16},
        {"size": 1},
        {"size": 100, "words": 5},  # a word often meets itself, as context and as noise
        {"dtype": np.uint8},
        {"dtype": np.uint32},
    ],
    ids=str,
)
def test_kernel_is_its_reference(options: dict, instructions: str, monkeypatch) -> None:
    monkeypatch.setattr(native, "INSTRUCTIONS", instructions)
    job = make_job(**options)
    other = copied(job)
    pieces = len(job.offsets) - 1
    word2vec.train(job, 0, pieces // 2, threads=1)
    word2vec.train(job, pieces // 2, pieces, threads=1)
    word2vec_reference.train(other, 0, pieces)
    for mine, theirs in ((job.inputs, other.inputs), (job.outputs, other.outputs)):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=changes_rounding(job))
    size = options.get("size", 20)
    assert not job.inputs[:, size:].any()  # the filling stays zero
    assert np.abs(job.inputs - make_job(**options).inputs).max() > 0.01


@needs_kernel
def test_long_pieces_are_cut_alike(monkeypatch) -> None:
    job = make_job(tokens=12_500, words=30)
    job = replace(job, offsets=np.array([0, 12_500]))
    other = copied(job)
    word2vec.train(job, 0, 1, threads=1)
    word2vec_reference.train(other, 0, 1)
    np.testing.assert_allclose(job.inputs, other.inputs, rtol=0, atol=changes_rounding(job))


def test_without_a_kernel_the_reference_runs(monkeypatch) -> None:
    monkeypatch.setattr(native, "INSTRUCTIONS", None)
    job = make_job(size=5, tokens=200)
    assert not word2vec.is_native()
    other = copied(job)
    word2vec.train(job, 0, 3, threads=2)
    word2vec_reference.train(other, 0, 3)
    assert (job.inputs == other.inputs).all()


@needs_kernel
def test_all_threads_together_read_each_piece_once() -> None:
    """Each piece has ten words of its own, so no two threads ever change the same input vector.

    They meet in the output vectors alone; with steps so small these hardly move.
    """
    pieces, words, length = 600, 10, 100
    plain = make_job(tokens=pieces * length, words=pieces * words)
    ids = 4 + np.arange(pieces * length) // length * words + np.arange(pieces * length) % words
    job = replace(
        plain, ids=ids.astype(np.uint16), offsets=np.arange(0, pieces * length + 1, length),
        rate=1e-4, slope=0.0, floor=1e-4,
    )  # fmt: skip
    together, alone = copied(job), copied(job)
    word2vec.train(together, 0, pieces, threads=2)
    word2vec.train(alone, 0, pieces, threads=1)
    change = np.abs(alone.inputs - job.inputs).max(axis=1)
    assert (change > 0).all()
    assert (np.abs(together.inputs - alone.inputs).max(axis=1) < 0.1 * change).all()


@needs_kernel
@pytest.mark.parametrize(
    "bad",
    [
        {"ids": np.zeros(4, np.int64)},
        {"words": np.zeros(4, np.int64)},
        {"inputs": np.zeros((50, 17), np.float32)},
        {"outputs": np.zeros((32, 50), np.float32).T},
    ],
    ids=lambda bad: next(iter(bad)),
)
def test_arrays_of_another_kind_are_refused(bad: dict) -> None:
    with pytest.raises((TypeError, ValueError), match="the kernel word2vec takes"):
        word2vec.train(replace(make_job(), **bad), 0, 1, threads=1)


def test_random_numbers_are_those_of_splitmix64() -> None:
    state = np.uint64(1234567) + word2vec_reference.STEP * np.arange(1, 4, dtype=np.uint64)
    known = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert word2vec_reference.mix(state).tolist() == known
