"""Batches are pure functions that cover the data."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from small_tasks import token_part
from unspool.data.batching import BucketBatches
from unspool.data.fields.tokens import Tokens
from unspool.data.part import Part
from unspool.data.store.ragged import Ragged
from unspool.data.streams import LaneBatches
from unspool.errors import DataError


def documents(lengths: list[int]) -> Part:
    """Documents of given lengths; document r holds r + 2 again and again."""
    ids = [np.full(length, row + 2) for row, length in enumerate(lengths)]
    return token_part(ids, labels=[row % 3 for row in range(len(lengths))])


def stream(size: int) -> Tokens:
    return Tokens(Ragged.of([np.arange(size)]))


LENGTHS = st.lists(st.integers(1, 60), min_size=1, max_size=300)


@given(LENGTHS, st.integers(1, 16), st.integers(1, 200), st.booleans(), st.integers(0, 3))
def test_every_row_once_within_the_budget(
    lengths: list[int], size: int, tokens: int, shuffle: bool, epoch: int
) -> None:
    batches = BucketBatches(documents(lengths), size=size, tokens=tokens, seed=1, shuffle=shuffle)
    rows = []
    for step in range(batches.steps(epoch)):
        batch = batches.batch(epoch, step)
        text = batch["text"]
        count, width = text.ids.shape
        assert count <= size
        assert count == 1 or count * width <= tokens
        assert width == text.lengths.max()
        for row, ids, length in zip(batch.rows, text.ids.numpy(), text.lengths):
            assert length == lengths[row]
            assert (ids[:length] == row + 2).all()
            assert (ids[length:] == 0).all()
        assert batch["label"].tolist() == (batch.rows % 3).tolist()
        rows += batch.rows.tolist()
    assert sorted(rows) == list(range(len(lengths)))


def test_a_batch_is_a_pure_function() -> None:
    part = documents(np.random.default_rng(0).integers(1, 50, size=500).tolist())
    walked, fresh = (BucketBatches(part, size=8, tokens=128, seed=3) for _ in range(2))
    expected = {(e, s): walked.batch(e, s).rows.tolist() for e in range(3) for s in (0, 5, 40)}
    for (epoch, step), rows in reversed(expected.items()):
        assert fresh.batch(epoch, step).rows.tolist() == rows
    assert expected[0, 5] != expected[1, 5]
    other = BucketBatches(part, size=8, tokens=128, seed=4)
    assert other.batch(0, 5).rows.tolist() != expected[0, 5]


def test_little_padding() -> None:
    part = documents(np.random.default_rng(0).integers(1, 200, size=5000).tolist())
    batches = BucketBatches(part, size=32, tokens=16384, seed=1)
    sizes = [batches.batch(0, step)["text"].ids.numel() for step in range(batches.steps(0))]
    assert part.lengths.sum() > 0.95 * sum(sizes)


def test_without_shuffling_every_epoch_is_the_same() -> None:
    batches = BucketBatches(documents([3, 1, 2]), size=2, tokens=10, seed=1, shuffle=False)
    assert [batches.batch(e, s).rows.tolist() for e in (0, 7) for s in (0, 1)] == [[0, 2], [1]] * 2


@given(st.integers(2, 500), st.integers(1, 9), st.integers(1, 40))
def test_lanes_join_to_the_stream(size: int, lanes: int, bptt: int) -> None:
    batches = LaneBatches(stream(size), lanes=lanes, bptt=bptt)
    steps = [batches.batch(0, step) for step in range(batches.steps(0))]
    ids = np.concatenate([step.ids.numpy() for step in steps], axis=1)
    targets = np.concatenate([step.targets.numpy() for step in steps], axis=1)
    covered = ids.size
    assert ids.reshape(-1).tolist() == list(range(covered))
    assert targets.reshape(-1).tolist() == list(range(1, covered + 1))
    assert size - 1 - covered < batches.lanes
    assert [step.first for step in steps] == [True] + [False] * (len(steps) - 1)
    assert all(step.ids.shape[1] <= bptt for step in steps)


def test_short_streams_get_fewer_lanes() -> None:
    hello = LaneBatches(stream(5), lanes=32, bptt=128)
    assert hello.lanes == hello.steps(0) == 1
    assert hello.batch(0, 0).ids.tolist() == [[0, 1, 2, 3]]
    assert LaneBatches(stream(1001), lanes=32, bptt=100).lanes == 10


def test_too_short_to_predict() -> None:
    with pytest.raises(DataError, match="a text of 1 tokens is too short"):
        LaneBatches(stream(1), lanes=1, bptt=1)
    with pytest.raises(IndexError):
        LaneBatches(stream(9), lanes=1, bptt=4).batch(0, 2)


@given(
    st.lists(st.sampled_from([0, 0, 0, 1, 3, -1]), min_size=1, max_size=60),
    st.integers(1, 9),
    st.integers(0, 5),
)
def test_oversampled_classes_are_equally_frequent(classes, size, epoch) -> None:
    own = np.array(classes)
    part = documents([1 + row % 7 for row in range(len(classes))])

    def rows() -> list[list[int]]:
        made = BucketBatches(part, size=size, tokens=50, seed=4, classes=own)
        return [made.batch(epoch, step).rows.tolist() for step in range(made.steps(epoch))]

    found = rows()
    assert found == rows()  # a function of the seed, the epoch and the step
    times = np.bincount(np.concatenate(found).astype(int), minlength=len(own))
    assert times.min() >= 1
    assert (times[own < 0] == 1).all()
    for which in set(classes) - {-1}:
        mine, most = times[own == which], np.bincount(own[own >= 0]).max()
        assert mine.sum() == most
        assert mine.max() - mine.min() <= 1


def test_oversampled_rows_differ_between_epochs() -> None:
    made = BucketBatches(
        documents([3] * 23), size=5, tokens=50, seed=4, classes=np.array([0] * 16 + [1] * 7)
    )
    times = [
        np.bincount(np.concatenate([made.batch(epoch, step).rows for step in range(made.steps(0))]))
        for epoch in range(2)
    ]
    assert (times[0] != times[1]).any()
