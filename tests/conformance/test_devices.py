"""A model on another device: all that it computes with is there, or is a count and on the CPU.

torch's `meta` device stands for a GPU. Its tensors have shapes and no values, so what asks one of
them for its values raises; and every operation is watched for a tensor that was left behind.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
import torch
from every_model import CASES, USUAL, batches, make
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from unspool.data.part import moved

META = torch.device("meta")
# Evaluations that are a search, which values decide step by step
SEARCHED = [
    case
    for case in CASES
    if case.task in ("translate", "summarize", "caption")
    or dict(case.settings).get("answer") == "write"
    or dict(case.settings).get("objective") in ("attention", "hybrid")
]
# The cells are the same in an evaluation; what is around them differs from task to task.
EVALUATED = [
    case
    for case in CASES
    if case not in SEARCHED and (case in USUAL or case.settings or case.from_elmo)
]
MOVES = (torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default)


class OneDevice(TorchDispatchMode):
    """An operation takes tensors of one device; a number may come from the CPU, as on a GPU."""

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None) -> Any:
        leaves = tree_leaves((args, kwargs))
        devices = {x.device for x in leaves if isinstance(x, Tensor) and x.dim()}
        assert operation in MOVES or len(devices) <= 1, f"{operation} of {devices}"
        if operation.overloadpacket is torch.ops.aten._ctc_loss_backward and META in devices:
            return torch.empty_like(args[1])  # torch has no such kernel there
        return operation(*args, **(kwargs or {}))


def test_what_was_left_behind_is_found() -> None:
    with OneDevice(), pytest.raises(AssertionError, match=r"aten\.mm"):
        torch.ones(2, 2, device=META) @ torch.ones(2, 2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("devices")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_loss_and_gradient_elsewhere(case, folder) -> None:
    task, model, part = make(case, folder)
    away = deepcopy(model).to(META).train()
    carry = None
    for batch in batches(task, part)[:2]:
        here = task.loss(model, batch, None)
        with OneDevice():
            step = task.loss(away, moved(batch, META), carry)
            step.loss.backward()
        assert step.loss.device == META
        assert (step.targets, step.tokens) == (here.targets, here.tokens)
        carry = step.carry
        if carry is None:  # the next batch is on its own
            break
    learning = [p for p in away.parameters() if p.requires_grad]
    assert all(p.grad is not None and p.grad.device == META for p in learning)


class Fetched(OneDevice):
    """What is copied to the CPU is all ones: an evaluation needs the values of its results."""

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None) -> Any:
        aten, kwargs = torch.ops.aten, kwargs or {}
        if args and isinstance(args[0], Tensor) and args[0].device == META:
            fetched = kwargs.get("device") == torch.device("cpu")
            if fetched and operation.overloadpacket in (aten._to_copy, aten.to):
                return torch.ones(args[0].shape, dtype=kwargs.get("dtype") or args[0].dtype)
        return super().__torch_dispatch__(operation, types, args, kwargs)


@pytest.mark.parametrize("case", EVALUATED, ids=str)
def test_evaluation_elsewhere(case, folder) -> None:
    task, model, part = make(case, folder)
    here = task.evaluate(model, part)
    with Fetched():
        report = task.evaluate(deepcopy(model).to(META).eval(), part)
    assert report.metrics.keys() == here.metrics.keys()
    assert report.scores.shape == here.scores.shape
