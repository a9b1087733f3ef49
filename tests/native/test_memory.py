"""Large arrays come back, and never more of them are held than were in use at once."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from random import Random

import pytest
import torch

from unspool.native import arrays
from unspool.native.arrays import FITS, LARGE, Pool, empty
from unspool.nn import Recurrent


@pytest.fixture
def pool(monkeypatch) -> Pool:
    fresh = Pool()
    monkeypatch.setattr(arrays, "POOL", fresh)
    return fresh


def held(pool: Pool) -> int:
    return pool.in_use + sum(map(len, pool.free))


def test_a_freed_array_is_used_again(pool: Pool) -> None:
    a = empty(LARGE, 2, dtype=torch.bfloat16)
    assert a.shape == (LARGE, 2)
    assert a.dtype == torch.bfloat16
    address = a.data_ptr()
    a.fill_(3)
    view = a[5:]
    del a
    assert pool.free == []  # a part of it is still in use
    assert (view == 3).all()
    del view
    b = empty(LARGE - 7, dtype=torch.float32)
    assert b.data_ptr() == address
    assert held(pool) == 4 * LARGE


def test_small_arrays_are_torchs(pool: Pool) -> None:
    assert empty(3, 0, 5, dtype=torch.float32).shape == (3, 0, 5)
    assert empty(10, dtype=torch.float32).shape == (10,)
    assert pool.most == 0


def test_two_arrays_never_share_a_block(pool: Pool) -> None:
    arrays = [empty(LARGE, dtype=torch.float32) for _ in range(4)]
    spans = sorted((a.data_ptr(), a.data_ptr() + 4 * LARGE) for a in arrays)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))


def test_never_more_is_held_than_was_in_use_at_once(pool: Pool) -> None:
    for size in (1, 2, 4, 8, 16, 3, 5, 1):  # blocks that do not fit each other
        a = empty(size * LARGE, dtype=torch.uint8)
        assert held(pool) <= pool.most
        del a
    assert pool.most == 16 * LARGE
    assert pool.in_use == 0
    b = [empty(LARGE, dtype=torch.uint8) for _ in range(20)]
    assert held(pool) == pool.most == 20 * LARGE
    del b
    assert held(pool) == 20 * LARGE


def test_a_training_step_uses_the_blocks_of_the_one_before(pool: Pool) -> None:
    torch.manual_seed(1)
    model = Recurrent("lstm", 64, 64, bidirectional=True)
    x = torch.randn(64, 40, 64, requires_grad=True)
    gradients = []
    for _ in range(3):
        x.grad = None
        outputs = model(x).outputs
        outputs.square().sum().backward()
        assert x.grad is not None
        gradients.append(x.grad.clone())
        gone = weakref.ref(outputs)
        del outputs
        gc.collect()
        assert gone() is None
        x.grad = None
        if model.layers[0].forwards.native_unsupported_reason(x) is None:
            assert pool.in_use == 0
            assert len(pool.free) > 1
            held_before = {block.data_ptr() for block in pool.free}
            model(x)
            assert {block.data_ptr() for block in pool.free} <= held_before
    assert torch.equal(gradients[0], gradients[1])
    assert torch.equal(gradients[0], gradients[2])


def test_blocks_are_taken_and_given_back_by_several_threads(pool: Pool) -> None:
    def work(number: int) -> bool:
        random = Random(number)
        for turn in range(200):
            size = LARGE + random.randrange(LARGE)
            a = empty(size, dtype=torch.uint8)
            a[::4096] = turn % 251
            if a.shape != (size,) or not (a[::4096] == turn % 251).all():
                return False
        return True

    with ThreadPoolExecutor(4) as executor:
        assert all(executor.map(work, range(4)))
    gc.collect()
    assert pool.in_use == 0
    assert held(pool) <= pool.most <= 4 * 2 * FITS * 2 * LARGE  # the old and the new one of each
