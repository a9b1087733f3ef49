"""Gradients through time, against what autograd gives for the whole graph at once."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import torch

from insight_models import TEXT, make
from rounding import rounding
from unspool.errors import ConfigError
from unspool.insight.gradients import (
    flow,
    fresh,
    gradient_flow,
    jacobians,
    run,
    singular_values,
    what_ifs,
)
from unspool.insight.learnt import flow_of_run, state_gradients
from unspool.nn.cells import CELLS

X = torch.randn(7, 4, generator=torch.Generator().manual_seed(3))


@pytest.mark.parametrize("name", CELLS)
def test_the_norms_are_autograds(name) -> None:
    """∂L/∂s_t, with s_t a leaf from which the rest of the sequence is run."""
    cell = fresh(name, 4, 5).double()
    found = flow(cell, X, seed=2)
    v = torch.randn(5, generator=torch.Generator().manual_seed(2)).double()
    u, states = run(cell, X)
    for distance in range(len(X)):
        t = len(X) - distance
        leaf = tuple(s.detach().clone().requires_grad_() for s in states[t])
        state = leaf
        for u_t in u[t:]:
            _, state = cell.step(u_t, state)
        (state[0] @ (v / v.norm())).sum().backward()
        grads = [torch.zeros_like(s) if s.grad is None else s.grad for s in leaf]
        assert found.norms[distance] == pytest.approx(float(torch.cat(grads, -1).norm()))
        for part, grad in zip(cell.state_names, grads):
            assert found.parts[part][distance] == pytest.approx(float(grad.norm()), abs=1e-12)


@pytest.mark.parametrize("name", ["elman", "lstm", "gru", "minlstm"])
def test_the_product_of_jacobians_is_autograds(name) -> None:
    cell = fresh(name, 4, 3).double()
    u, states = run(cell, X)
    n = 3 * len(cell.state_names)

    def rest(s: torch.Tensor) -> torch.Tensor:
        state = tuple(s[None].split(3, -1))
        for u_t in u[3:]:
            _, state = cell.step(u_t, state)
        return torch.cat(state, -1)[0]

    whole = torch.autograd.functional.jacobian(rest, torch.cat(states[3], -1)[0])
    found = jacobians(cell, X, distances=[0, 4])
    np.testing.assert_allclose(found[0], np.ones(n))
    np.testing.assert_allclose(found[1], torch.linalg.svdvals(whole), rtol=1e-9, atol=1e-15)


def test_elman_vanishes_or_explodes_and_others_last() -> None:
    small = gradient_flow(["elman", "irnn", "lstm", "gru"], distance=200)
    verdicts = {own.name: own.verdict for own in small.flows}
    assert verdicts["elman"] == verdicts["gru"] == "vanishes"
    assert verdicts["irnn"] == "lasts"
    assert all(len(own.norms) == 201 for own in small.flows)
    assert gradient_flow(["elman"], scale=2.0).flows[0].verdict == "explodes"
    opened = gradient_flow(["lstm"], options={"lstm": {"forget_bias": 5.3}}).flows[0]
    assert opened.verdict == "lasts"
    assert opened.reach == 200
    assert any("vanishes" in line for line in small.lines())


def test_no_gradient_grows_faster_than_the_largest_singular_value() -> None:
    cell = fresh("elman", 4, 8, scale=1.5)
    (largest,) = singular_values(cell)
    near = rounding(8, steps=2, size=1.5)
    assert largest == pytest.approx(1.5, abs=near)  # orthogonal, times 1.5
    norms = flow(cell, X).norms
    assert (norms <= largest ** np.arange(len(norms)) + 1e-9).all()
    assert (jacobians(cell, X)[:, 0] <= largest ** np.arange(len(X)) + 1e-9).all()


def test_clipped() -> None:
    cell = fresh("irnn", 4, 8, scale=2.0)
    free, held = flow(cell, X.abs()), flow(cell, X.abs(), clip=1.5)
    assert free.norms.max() > 1.5
    assert held.norms.max() <= 1.5 + 1e-9


def test_what_ifs_change_one_thing() -> None:
    cell = fresh("elman", 4, 8)
    changes = what_ifs(cell)
    assert torch.equal(changes["U doubled"].U, 2 * cell.U)
    assert torch.equal(changes["U = identity"].U, torch.eye(8))
    assert torch.equal(changes["relu"].U, cell.U)
    assert all(torch.equal(other.W, cell.W) for other in changes.values())
    gates = {"gates keep all", "gates keep nothing"}
    assert set(what_ifs(fresh("lstm", 4, 8))) == {"U doubled", "U = identity", *gates}
    assert what_ifs(fresh("mingru", 4, 8)) == {}


@pytest.mark.parametrize(
    ("name", "options"),
    [("lstm", {}), ("peephole", {}), ("coupled", {}), ("gru", {}), ("gru", {"update": "take"})],
)
def test_gates_that_keep_all_let_a_gradient_last(name, options) -> None:
    cells = what_ifs(fresh(name, 4, 8, options=options))
    kept, lost = (
        flow(cells[way], X).parts[cells[way].state_names[-1]]
        for way in ("gates keep all", "gates keep nothing")
    )
    # The first step goes from h into the memory; along that there is nothing in the way.
    assert kept[-1] == pytest.approx(kept[1], rel=0.3)
    assert lost[-1] < 0.05 * kept[-1]


def test_what_if_of_a_run() -> None:
    task, model = make("classify-lstm")
    found = flow_of_run(task, model, distance=20, what_if=True)
    assert [own.name for own in found.flows] == [
        "lstm, this run", "U doubled", "U = identity", "gates keep all", "gates keep nothing",
        "clipped at 1",
    ]  # fmt: skip
    assert found.flows[-1].norms.max() <= 1 + 1e-9


@pytest.mark.parametrize("name", ["classify-lstm", "translate-seq2seq"])
def test_the_gradient_of_an_answer_at_every_state(name) -> None:
    task, model = make(name)
    reading = task.reading(model, TEXT)
    found = state_gradients(reading, model, 0, 3 if "translate" in name else 1)
    assert len(found) == (4 if name == "classify-lstm" else 2)
    for own in found:
        assert own.norms.shape == (len(reading.input.tokens),)
        assert own.norms.max() > 0


@pytest.mark.parametrize("name", ["classify-gru", "classify-one-hot", "tag-bilstm", "generate-gru"])
def test_a_run_beside_fresh_cells(name) -> None:
    task, model = make(name)
    for reading in (None, task.reading(model, TEXT)):
        found = flow_of_run(task, model, reading, distance=9).flows
        assert len(found[0].norms) == (10 if reading is None else 6)
        assert found[0].name.endswith("this run")
        assert {own.name for own in found} >= {"elman, fresh", "irnn, fresh", "lstm, fresh"}


@pytest.mark.parametrize("name", ["classify-cnn", "generate-transformer", "elmo"])
def test_without_recurrence_there_is_nothing_to_flow_through(name) -> None:
    with pytest.raises(ConfigError, match="of a recurrent model"):
        flow_of_run(*make(name))


def test_python_of_the_page() -> None:
    page = Path(__file__).parents[2] / "docs" / "look.md"
    (code,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
    exec(code, {"print": lambda *_: None})


def test_distance() -> None:
    with pytest.raises(ConfigError, match="1 step or more; got 0"):
        gradient_flow(distance=0)
