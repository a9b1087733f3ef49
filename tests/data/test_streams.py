"""Windows of a stream: every one a function of its place, every token predicted once."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from unspool.data.fields.tokens import Tokens
from unspool.data.store.ragged import Ragged
from unspool.data.streams import StridedBatches, WindowBatches
from unspool.errors import DataError


def stream(size: int) -> Tokens:
    return Tokens(Ragged.of([np.arange(size)]))


def test_windows_depend_on_seed_epoch_and_step_alone() -> None:
    def starts(seed: int, epoch: int, step: int) -> list[int]:
        batches = WindowBatches(stream(1000), size=4, length=10, seed=seed)
        return batches.batch(epoch, step).ids[:, 0].tolist()

    assert starts(1, 2, 3) == starts(1, 2, 3)
    assert (
        len({tuple(starts(*place)) for place in [(1, 2, 3), (2, 2, 3), (1, 3, 3), (1, 2, 4)]}) == 4
    )


def test_windows_are_stretches_with_their_targets() -> None:
    batches = WindowBatches(stream(21), size=500, length=10, seed=1)
    batch = batches.batch(0, 0)
    assert batch.first
    assert batch.ids.shape == (500, 10)
    assert torch.equal(batch.targets, batch.ids + 1)
    assert torch.equal(batch.ids, batch.ids[:, :1] + torch.arange(10))
    assert set(batch.ids[:, 0].tolist()) == set(range(11))  # the first and the last possible one


def test_an_epoch_holds_the_stream_about_once() -> None:
    assert WindowBatches(stream(1001), size=5, length=10, seed=1).steps(0) == 20
    short = WindowBatches(stream(4), size=5, length=10, seed=1)
    assert short.steps(0) == 1
    assert short.batch(0, 0).ids.tolist() == [[0, 1, 2]] * 5


@pytest.mark.parametrize("size", [2, 3, 7, 8, 9, 12, 13, 16, 40, 41])
@pytest.mark.parametrize(("length", "context"), [(1, 0), (2, 1), (5, 2), (8, 4), (8, 0), (3, 2)])
def test_strided_windows_predict_every_token_once(size, length, context) -> None:
    batches = StridedBatches(stream(size), size=3, length=length, context=context)
    targets: list[int] = []
    for step in range(batches.steps(0)):
        batch = batches.batch(0, step)
        assert batch.ids.shape[1] <= length
        assert len(batch.ids) <= 3
        for row in batch.ids.tolist():
            new = row[batch.skip :]
            assert row[0] == 0 or len(row) - len(new) == context
            targets += [token + 1 for token in new]
    assert sorted(targets) == list(range(1, size))


def test_a_stream_of_one_token_is_refused() -> None:
    for make in (
        lambda: WindowBatches(stream(1), size=1, length=4, seed=1),
        lambda: StridedBatches(stream(1), size=1, length=4, context=2),
    ):
        with pytest.raises(DataError, match="1 tokens is too short to predict one from another"):
            make()
