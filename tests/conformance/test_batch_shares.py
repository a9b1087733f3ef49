"""The shares of a batch together have the loss and the gradient of the whole, for every model of
every task: what several processes, or several passes, compute is what one would."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from every_model import CASES, Made, make

from unspool.data.batching import WHOLE, Share
from unspool.nn.network import map_state
from unspool.tasks.task import fits_directly
from unspool.training.processes import shared_carry

SHARES = 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("every")


def gradient(made: Made, shares: list[Share]) -> tuple[float, int, dict[str, torch.Tensor], Any]:
    """Summed loss and gradient of the second batch of an epoch, after the state of the first."""
    task, model, part = made
    batches: Any = task.batches(part, training=True)
    state = task.loss(model, batches.batch(0, 0), None).carry
    step = min(1, batches.steps(0) - 1)
    loss, targets, carries = 0.0, 0, []
    for share in shares:
        result = task.loss(model, batches.batch(0, step, share), shared_carry(state, share))
        if share.counts(batches.rows(0, step)):
            (result.loss * result.targets).backward()
            loss += float(result.loss.detach()) * result.targets
            targets += result.targets
        carries.append(result.carry)
    found = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
    model.zero_grad(set_to_none=True)
    return loss, targets, found, carries


@pytest.mark.parametrize("case", CASES, ids=str)
def test_shares_are_the_whole(case, folder) -> None:
    made = make(case, folder)
    if fits_directly(made.task):
        pytest.skip("fitted at once, not by batches")
    loss, targets, wanted, _ = gradient(made, [WHOLE])
    found = gradient(made, [Share(i, SHARES) for i in range(SHARES)])
    assert found[1] == targets
    assert found[0] == pytest.approx(loss, rel=1e-5, abs=1e-4)
    assert found[2].keys() == wanted.keys()
    for name, tensor in wanted.items():
        scale = float(tensor.abs().max())
        torch.testing.assert_close(found[2][name], tensor, rtol=1e-4, atol=1e-5 * max(1.0, scale))


def test_rows_of_shares() -> None:
    rows = np.arange(7)
    assert [Share(i, 3).take(rows).tolist() for i in range(3)] == [[0, 3, 6], [1, 4], [2, 5]]
    assert Share(2, 3).take(rows[:2]).tolist() == [0]
    assert not Share(2, 3).counts(2)
    state = (((torch.arange(7.0),),),)
    assert map_state(shared_carry(state, Share(1, 3)), torch.Tensor.tolist) == ((([1.0, 4.0],),),)
