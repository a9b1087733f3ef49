"""The compiled step gives what the step gives. It is for GPUs; here it runs on the CPU, with the
compiler's front end alone."""

from __future__ import annotations

import pytest
import torch

from unspool.nn import CELLS, Recurrent, record, recurrent_paths

# The compiler's own.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("name", list(CELLS))
def test_compiled_step_is_the_step(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(1)
    model = Recurrent(name, 3, 4, bidirectional=True, fast=False)
    x, lengths = torch.randn(2, 5, 3), torch.tensor([5, 3])
    wanted = model(x, lengths).outputs
    wanted_gradients = torch.autograd.grad(wanted.sin().sum(), list(model.parameters()))

    monkeypatch.setattr(recurrent_paths, "BACKEND", "aot_eager")
    monkeypatch.setattr(recurrent_paths, "compiling_pays", lambda x: True)
    recurrent_paths.compiled.cache_clear()
    found = model(x, lengths).outputs
    gradients = torch.autograd.grad(found.sin().sum(), list(model.parameters()))
    assert recurrent_paths.compiled.cache_info().currsize == 1
    torch.testing.assert_close(found, wanted)
    for a, b in zip(gradients, wanted_gradients):
        torch.testing.assert_close(a, b)


def test_a_recorded_cell_is_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recurrent_paths, "compiling_pays", lambda x: True)
    model = Recurrent("lstm", 3, 4)
    ((cell,),) = model.cells()
    with record(model, "*.forget_gate"):
        assert recurrent_paths.compiled_step(cell, torch.zeros(1)) == cell.step
    assert recurrent_paths.compiled_step(cell, torch.zeros(1)) != cell.step
