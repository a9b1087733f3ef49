"""What every recurrent cell must keep. A cell added to `CELLS` is tested here without a new line,
but for its parameter count; options worth testing on their own are added to `VARIANTS`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F

from rounding import rounding, same
from unspool import native
from unspool.nn import ACTIVATIONS, CELLS, Cell, Recurrent, RecurrentState, Tap, record, taps
from unspool.nn.cells.base import State, affine, weights
from unspool.nn.masks import keep_mask, zero_padding
from unspool.nn.taps import recorded

INPUTS, HIDDEN, BATCH, STEPS = 3, 4, 5, 6
LENGTHS = [6, 1, 4, 2, 6]
TERMS = 3 * HIDDEN + 1  # of a unit: both directions of the layer below, its own layer, the bias

VARIANTS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in CELLS),
    *(("elman", {"activation": name}) for name in ACTIVATIONS if name != "tanh"),
    *(("peephole", {"peepholes": gates}) for gates in ("", "i", "f", "o", "if", "fo")),
    ("peephole", {"matrix": "full"}),
    ("peephole", {"matrix": "full", "peepholes": "fo"}),
    ("lstm", {"forget_bias": 0.0}),
    ("gru", {"reset": "before"}),
    ("gru", {"update": "take"}),
    ("gru", {"reset": "before", "update": "take"}),
]

# m inputs, n units
FORMULAS = {
    "elman": lambda m, n: m * n + n**2 + n,
    "elman-activation=maxout": lambda m, n: 2 * (m * n + n**2 + n),
    "irnn": lambda m, n: m * n + n**2 + n,
    "lstm": lambda m, n: 4 * (m * n + n**2 + n),
    "peephole": lambda m, n: 4 * (m * n + n**2 + n) + 3 * n,
    "peephole-peepholes=": lambda m, n: 4 * (m * n + n**2 + n),
    "peephole-peepholes=i": lambda m, n: 4 * (m * n + n**2 + n) + n,
    "peephole-peepholes=f": lambda m, n: 4 * (m * n + n**2 + n) + n,
    "peephole-peepholes=o": lambda m, n: 4 * (m * n + n**2 + n) + n,
    "peephole-peepholes=if": lambda m, n: 4 * (m * n + n**2 + n) + 2 * n,
    "peephole-peepholes=fo": lambda m, n: 4 * (m * n + n**2 + n) + 2 * n,
    "peephole-matrix=full": lambda m, n: 4 * (m * n + n**2 + n) + 3 * n**2,
    "peephole-matrix=full-peepholes=fo": lambda m, n: 4 * (m * n + n**2 + n) + 2 * n**2,
    "coupled": lambda m, n: 3 * (m * n + n**2 + n),
    "gru": lambda m, n: 3 * (m * n + n**2 + n) + n,  # b_hn
    "gru-reset=before": lambda m, n: 3 * (m * n + n**2 + n),
    "gru-reset=before-update=take": lambda m, n: 3 * (m * n + n**2 + n),
    "mingru": lambda m, n: 2 * (m * n + n),
    "minlstm": lambda m, n: 3 * (m * n + n),
}


class Variant(NamedTuple):
    cell: str
    options: dict[str, Any]

    def __str__(self) -> str:
        return "-".join([self.cell, *(f"{k}={v}" for k, v in self.options.items())])

    def build(
        self, *, inputs: int = INPUTS, hidden: int = HIDDEN, layers: int = 2, **arguments: Any
    ) -> Recurrent:
        """A small model in both directions, with weights that leave no part of it idle."""
        torch.manual_seed(5)
        arguments = {"bidirectional": True, **arguments}
        model = Recurrent(
            self.cell, inputs, hidden, layers=layers, options=self.options, **arguments
        )
        for parameter in model.parameters():
            nn.init.normal_(parameter, std=0.5)
        return model

    def cell_alone(self) -> Cell:
        return CELLS[self.cell](INPUTS, HIDDEN, **self.options)


ALL = [Variant(cell, options) for cell, options in VARIANTS]
X = torch.zeros(1, 1, INPUTS)
FAST = [variant for variant in ALL if variant.cell_alone().sequence_unsupported_reason(X) is None]
all_variants = pytest.mark.parametrize("variant", ALL, ids=str)
fast_variants = pytest.mark.parametrize("variant", FAST, ids=str)


@pytest.fixture(params=["auto", "torch", "loop"])
def fast(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Every way to run a cell: the best there is, the best without native kernels, its step."""
    with native.switched_off() if request.param == "torch" else nullcontext():
        yield False if request.param == "loop" else "auto"


def data(dtype: torch.dtype = torch.float) -> tuple[Tensor, Tensor]:
    torch.manual_seed(6)
    return torch.randn(BATCH, STEPS, INPUTS, dtype=dtype), torch.tensor(LENGTHS)


def flat(state: RecurrentState) -> list[Tensor]:
    return [tensor for layer in state for cell in layer for tensor in cell]


def random_state(model: Recurrent, batch: int = BATCH) -> RecurrentState:
    torch.manual_seed(7)
    zero = model.start(batch)
    return tuple(
        tuple(tuple(torch.randn_like(s) for s in cell) for cell in layer) for layer in zero
    )


def close(a: Tensor, b: Tensor) -> None:
    """Outputs or states of two layers."""
    same(a, b, TERMS, steps=2 * STEPS)


def close_gradient(a: Tensor, b: Tensor) -> None:
    """Gradients of two layers: also a sum over all tokens."""
    same(a, b, TERMS * BATCH * STEPS, steps=2 * STEPS)


def gradients(model: nn.Module, *extra: Tensor) -> dict[str, Tensor]:
    """Of the parameters by name and of `extra` by number."""
    found = {name: p.grad for name, p in model.named_parameters()}
    return found | {str(k): tensor.grad for k, tensor in enumerate(extra)}


@all_variants
def test_padding_does_not_change_an_answer(variant: Variant, fast: Any) -> None:
    model = variant.build(fast=fast)
    x, lengths = data()
    outputs, state = model(x, lengths)
    assert outputs.shape == (BATCH, STEPS, 2 * HIDDEN)

    for row, length in enumerate(LENGTHS):
        alone = model(x[row : row + 1, :length])
        close(alone.outputs[0], outputs[row, :length])
        assert not outputs[row, length:].any(), "outputs at padding are 0"
        for a, b in zip(flat(alone.state), flat(state)):
            close(a[0], b[row])

    # More padding, and padding that holds anything at all.
    wider = torch.cat([x, torch.full((BATCH, 3, INPUTS), float("nan"))], 1)
    for row, length in enumerate(LENGTHS):
        wider[row, length:] = float("nan") if row % 2 else 1e4
    wider.requires_grad_()
    padded = model(wider, lengths)
    close(padded.outputs[:, :STEPS], outputs)
    for a, b in zip(flat(padded.state), flat(state)):
        close(a, b)
    padded.outputs.sum().backward()
    assert all(g.isfinite().all() for g in gradients(model, wider).values())


@all_variants
def test_padding_does_not_change_a_gradient(variant: Variant) -> None:
    model = variant.build()
    x, lengths = data()
    model(x, lengths).outputs.square().sum().backward()
    together = gradients(model)
    model.zero_grad()
    for row, length in enumerate(LENGTHS):
        model(x[row : row + 1, :length]).outputs.square().sum().backward()
    for name, gradient in gradients(model).items():
        close_gradient(gradient, together[name])


@all_variants
def test_the_order_of_a_batch_does_not_matter(variant: Variant) -> None:
    model = variant.build()
    x, lengths = data()
    order = torch.tensor([3, 0, 4, 2, 1])
    outputs, state = model(x, lengths)
    again = model(x[order], lengths[order])
    close(again.outputs, outputs[order])
    for a, b in zip(flat(again.state), flat(state)):
        close(a, b[order])


@fast_variants
@pytest.mark.parametrize("ragged", [False, True], ids=["full", "ragged"])
def test_loop_equals_fast(variant: Variant, ragged: bool) -> None:
    found = []
    for fast in (True, False):
        model = variant.build(fast=fast).double()
        x, lengths = data(torch.double)
        x.requires_grad_()
        start = random_state(model)
        for tensor in flat(start):
            tensor.requires_grad_()
        outputs, state = model(x, lengths if ragged else None, start)
        loss = outputs.square().sum() + sum(s.sin().sum() for s in flat(state))
        loss.backward()
        found.append((outputs, *flat(state), *gradients(model, x, *flat(start)).values()))
    for a, b in zip(*found, strict=True):
        close_gradient(a, b)


@all_variants
def test_fast_fails_loudly_where_there_is_none(variant: Variant) -> None:
    x, _ = data()
    if variant in FAST or variant.cell_alone().native_unsupported_reason(X) is None:
        variant.build(fast=True)(x)
    else:
        with pytest.raises(ValueError, match=f"fast=True cannot run cell '{variant.cell}': .+"):
            variant.build(fast=True)(x)


@all_variants
def test_steps_equal_the_whole_sequence(variant: Variant) -> None:
    model = variant.build(layers=1, bidirectional=False)
    ((cell,),) = model.cells()
    x, _ = data()
    outputs, (((*final,),),) = model(x)
    state = cell.start(BATCH, x)
    for t in range(STEPS):
        output, state = cell(x[:, t], state)
        close(output, outputs[:, t])
    for a, b in zip(state, final):
        close(a, b)
    assert len(state) == len(cell.state_names)


@all_variants
def test_state_goes_in_and_comes_out(variant: Variant, fast: Any) -> None:
    model = variant.build(bidirectional=False, fast=fast)
    x, _ = data()
    whole = model(x, None, random_state(model))
    first = model(x[:, :2], None, random_state(model))
    second = model(x[:, 2:], None, first.state)
    close(torch.cat([first.outputs, second.outputs], 1), whole.outputs)
    for a, b in zip(flat(second.state), flat(whole.state)):
        close(a, b)


@all_variants
def test_nothing_is_kept_on_the_module(variant: Variant) -> None:
    model = variant.build()
    x, lengths = data()
    before = {path: set(vars(module)) for path, module in model.named_modules()}
    weights_before = {name: value.clone() for name, value in model.state_dict().items()}
    first = model(x, lengths).outputs
    with record(model):
        model(x)
    model(x, None, random_state(model))
    assert {path: set(vars(module)) for path, module in model.named_modules()} == before
    assert not recorded()
    assert all(torch.equal(v, weights_before[n]) for n, v in model.state_dict().items())
    assert torch.equal(model(x, lengths).outputs, first)


@all_variants
@pytest.mark.parametrize("ragged", [False, True], ids=["full", "ragged"])
def test_tapped_equals_untapped(variant: Variant, ragged: bool) -> None:
    model = variant.build()
    x, lengths = data()
    lengths = lengths if ragged else None
    plain = model(x, lengths)
    with record(model) as trace:
        tapped = model(x, lengths)
    close(tapped.outputs, plain.outputs)
    for a, b in zip(flat(tapped.state), flat(plain.state)):
        close(a, b)

    assert set(trace) == set(taps(model)), "every tap is passed"
    keep = keep_mask(torch.full((BATCH,), STEPS) if lengths is None else lengths, STEPS)
    for path, value in trace.items():
        assert value.shape == (BATCH, STEPS, HIDDEN), path
    for k in range(2):
        for way, rows in (("forwards", slice(0, HIDDEN)), ("backwards", slice(HIDDEN, None))):
            assert f"layers.{k}.{way}.hidden_state" in trace, "every cell taps its hidden state"
            if k == 1:  # in the order of time, both ways
                seen = trace[f"layers.1.{way}.hidden_state"]
                close(zero_padding(seen, keep), tapped.outputs[..., rows])


@all_variants
def test_taps_do_not_change_a_gradient(variant: Variant) -> None:
    model = variant.build()
    x, lengths = data()
    model(x, lengths).outputs.square().sum().backward()
    plain = gradients(model)
    model.zero_grad()
    with record(model):
        model(x, lengths).outputs.square().sum().backward()
    for name, gradient in gradients(model).items():
        close_gradient(gradient, plain[name])


@all_variants
def test_the_same_step_twice_gives_the_same_bits(variant: Variant, fast: Any) -> None:
    """What resuming a run to the bit stands on."""
    found = []
    for _ in range(2):
        model = variant.build(fast=fast)
        x, lengths = data()
        outputs, state = model(x, lengths)
        (outputs.square().sum() + sum(s.sum() for s in flat(state))).backward()
        found.append([outputs, *flat(state), *gradients(model).values()])
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


@all_variants
def test_save_equals_load(variant: Variant, tmp_path: Path) -> None:
    model = variant.build()
    save_file(model.state_dict(), tmp_path / "model.safetensors")
    torch.manual_seed(11)
    again = Recurrent(
        variant.cell, INPUTS, HIDDEN, layers=2, bidirectional=True, options=variant.options
    )
    again.load_state_dict(load_file(tmp_path / "model.safetensors"))
    x, lengths = data()
    assert torch.equal(model(x, lengths).outputs, again(x, lengths).outputs)


@all_variants
def test_a_gradient_reaches_every_parameter(variant: Variant) -> None:
    """From the start that a user gets, not from the random weights of these tests."""
    torch.manual_seed(8)
    model = Recurrent(
        variant.cell, INPUTS, HIDDEN, layers=2, bidirectional=True, options=variant.options
    )
    x, lengths = data()
    outputs, _ = model(x, lengths, random_state(model))
    outputs.square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.any(), name


@pytest.mark.parametrize(
    ("variant", "fast"),
    [*((variant, True) for variant in FAST), *((variant, False) for variant in ALL)],
    ids=str,
)
def test_gradcheck(variant: Variant, fast: bool) -> None:
    """Numerical derivatives by x, the initial state and every parameter, ragged, both ways."""
    model = variant.build(inputs=2, hidden=2, layers=1, fast=fast).double()
    names = [name for name, _ in model.named_parameters()]
    torch.manual_seed(9)
    x = torch.randn(2, 3, 2, dtype=torch.double)
    start = flat(random_state(model, 2))
    lengths = torch.tensor([3, 2])
    states = len(start) // 2

    def function(x: Tensor, *rest: Tensor) -> tuple[Tensor, ...]:
        given, parameters = rest[: 2 * states], rest[2 * states :]
        state = ((tuple(given[:states]), tuple(given[states:])),)
        result = functional_call(model, dict(zip(names, parameters)), (x, lengths, state))
        return (result.outputs, *flat(result.state))

    arguments = [x, *start, *model.parameters()]
    arguments = [a.detach().clone().requires_grad_() for a in arguments]
    assert torch.autograd.gradcheck(function, arguments, fast_mode=False)


@all_variants
def test_the_number_of_parameters(variant: Variant) -> None:
    formula = FORMULAS.get(str(variant), FORMULAS.get(variant.cell))
    assert formula is not None, f"write down the parameter count of {variant} in FORMULAS"
    for m, n in ((3, 4), (16, 16), (1, 7)):
        cell = CELLS[variant.cell](m, n, **variant.options)
        assert sum(p.numel() for p in cell.parameters()) == formula(m, n)


@all_variants
def test_integers_are_one_hot_vectors(variant: Variant) -> None:
    model = variant.build(inputs=7)
    torch.manual_seed(10)
    ids = torch.randint(7, (BATCH, STEPS))
    lengths = torch.tensor(LENGTHS)
    found = []
    for x in (ids, F.one_hot(ids, 7).float()):
        model.zero_grad()
        outputs = model(x, lengths).outputs
        outputs.square().sum().backward()
        found.append((outputs, *gradients(model).values()))
    for a, b in zip(*found):
        close_gradient(a, b)


@all_variants
def test_no_steps_are_refused(variant: Variant) -> None:
    model = variant.build()
    x, lengths = data()
    with pytest.raises(ValueError, match="lengths must lie between 1 and 6; got 0 to 6"):
        model(x, torch.where(lengths == 1, 0, lengths))
    with pytest.raises(ValueError, match="no time steps"):
        model(x[:, :0])


@all_variants
@pytest.mark.parametrize("ragged", [False, True], ids=["full", "ragged"])
def test_autocast(variant: Variant, ragged: bool, fast: Any) -> None:
    model = variant.build(fast=fast)
    x, lengths = data()
    lengths = lengths if ragged else None
    plain = model(x, lengths)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = model(x, lengths)
        half = model(x, lengths, half.state)._replace(outputs=half.outputs)  # its state fits
        loss = half.outputs.square().mean()
    loss.backward()
    assert half.outputs.dtype == torch.float
    assert all(s.dtype == torch.float for s in flat(half.state))
    # The factors of each product are rounded, which is one relative error a sum.
    size = max(1.0, plain.outputs.abs().max().item())
    atol = rounding(1, steps=2 * STEPS, size=size, dtype=torch.bfloat16, results=1)
    torch.testing.assert_close(half.outputs, plain.outputs, rtol=0, atol=atol)
    assert all(g.isfinite().all() for g in gradients(model).values())


def test_the_gates_of_an_lstm_are_those_of_its_equations() -> None:
    model = Variant("lstm", {}).build(layers=1)
    x, lengths = data()
    with record(model) as trace:
        model(x, lengths)
    for way, cell in zip(("forwards", "backwards"), model.cells()[0]):
        W, U, b = (p.detach().chunk(4) for p in (cell.W, cell.U, cell.b))
        for row, length in enumerate(LENGTHS):
            h, c = torch.zeros(HIDDEN), torch.zeros(HIDDEN)
            times = range(length) if way == "forwards" else reversed(range(length))
            for t in times:
                a = [W[k] @ x[row, t] + U[k] @ h + b[k] for k in range(4)]
                i, f, g, o = a[0].sigmoid(), a[1].sigmoid(), a[2].tanh(), a[3].sigmoid()
                c = f * c + i * g
                h = o * c.tanh()
                seen = {
                    "input_gate": i,
                    "forget_gate": f,
                    "candidate": g,
                    "output_gate": o,
                    "cell_state": c,
                    "hidden_state": h,
                }
                for name, value in seen.items():
                    close(trace[f"layers.0.{way}.{name}"][row, t], value)


class Newcomer(Cell):
    """h_t = a ⊙ h_{t-1} + (1 - a) ⊙ tanh(W x_t + b): a leaky integrator with one rate a unit."""

    def __init__(self, inputs: int, hidden: int, *, rate: float = 0.5) -> None:
        super().__init__(inputs, hidden)
        self.W = weights(hidden, inputs)
        self.b = nn.Parameter(torch.zeros(hidden))
        self.a = nn.Parameter(torch.full((hidden,), rate))
        self.hidden_state = Tap()
        nn.init.xavier_uniform_(self.W)

    def project(self, x: Tensor) -> Tensor:
        return torch.tanh(affine(x, self.W, self.b))

    def step(self, u: Tensor, state: State) -> tuple[Tensor, State]:
        (h,) = state
        h = self.hidden_state(self.a * h + (1 - self.a) * u)
        return h, (h,)


def test_a_new_cell_of_twenty_lines(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Stacked, both ways, ragged, tapped, by class or by name: by everything above."""
    by_class = Recurrent(Newcomer, INPUTS, HIDDEN, layers=3, bidirectional=True)
    x, lengths = data()
    assert by_class(x, lengths).outputs.shape == (BATCH, STEPS, 2 * HIDDEN)

    monkeypatch.setitem(CELLS, "newcomer", Newcomer)
    monkeypatch.setitem(FORMULAS, "newcomer", lambda m, n: m * n + 2 * n)
    for options in ({}, {"rate": 0.9}):
        newcomer = Variant("newcomer", options)
        test_padding_does_not_change_an_answer(newcomer, "auto")
        test_padding_does_not_change_a_gradient(newcomer)
        test_the_order_of_a_batch_does_not_matter(newcomer)
        test_fast_fails_loudly_where_there_is_none(newcomer)
        test_steps_equal_the_whole_sequence(newcomer)
        test_state_goes_in_and_comes_out(newcomer, "auto")
        test_nothing_is_kept_on_the_module(newcomer)
        test_tapped_equals_untapped(newcomer, True)
        test_save_equals_load(newcomer, tmp_path)
        test_a_gradient_reaches_every_parameter(newcomer)
        test_gradcheck(newcomer, False)
        test_the_number_of_parameters(newcomer)
        test_integers_are_one_hot_vectors(newcomer)
        test_no_steps_are_refused(newcomer)
        test_autocast(newcomer, True, "auto")
