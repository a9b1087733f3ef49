"""The native kernels against the loop over `Cell.step`, in values and in all gradients."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from typing import Any
from unittest.mock import patch

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

from rounding import same
from unspool import native
from unspool.native import operator
from unspool.nn import ACTIVATIONS, Recurrent, record
from unspool.nn.cells import steady
from unspool.nn.cells.base import steady_stepper

if native.INSTRUCTIONS is None:
    pytest.skip(native.ABOUT, allow_module_level=True)

KINDS: list[tuple[str, dict[str, Any]]] = [
    *(("elman", {"activation": name}) for name in ACTIVATIONS),
    ("irnn", {}),
    ("lstm", {}),
    ("peephole", {}),
    ("peephole", {"peepholes": "fo"}),
    ("peephole", {"matrix": "full"}),
    ("peephole", {"matrix": "full", "peepholes": "fo"}),
    ("coupled", {}),
    *(("gru", {"reset": r, "update": u}) for r in ("before", "after") for u in ("keep", "take")),
    ("mingru", {}),
    ("minlstm", {}),
]
kinds = pytest.mark.parametrize(
    ("cell", "options"), KINDS, ids=[f"{c}{''.join(o.values())}" for c, o in KINDS]
)


def has_kink(cell: str, options: dict[str, Any]) -> bool:
    return cell == "irnn" or options.get("activation") in ("relu", "leaky_relu", "maxout")


def model_of(
    cell: str, options: dict[str, Any], hidden: int, *, inputs: int = 5, **more: Any
) -> Recurrent:
    """Weights small enough that no state grows and that rounding is not amplified over time."""
    torch.manual_seed(hidden)
    model = Recurrent(cell, inputs, hidden, options=options, **more)
    for name, parameter in model.named_parameters():
        scale = 0.5 / hidden**0.5 if name.endswith("U") else 0.1 if ".P_" in name else 0.3
        nn.init.normal_(parameter, std=scale)
    return model


def results(model: Recurrent, x: Tensor, lengths: Tensor | None) -> dict[str, Tensor]:
    """Outputs, final states, and the gradients by everything that goes in."""
    torch.manual_seed(3)
    x = x.clone().requires_grad_(x.is_floating_point())
    start = tuple(
        tuple(tuple(torch.randn(s.shape).to(s).requires_grad_() for s in cell) for cell in layer)
        for layer in model.start(x.shape[0])
    )
    outputs, state = model(x, lengths, start)
    found = {"outputs": outputs}
    loss = outputs.sin().sum()
    for k, layer in enumerate(state):
        for d, cell in enumerate(layer):
            for i, s in enumerate(cell):
                found[f"final state {k}.{d}.{i}"] = s
                loss = loss + (s * (i + 2 + d)).cos().sum()
    model.zero_grad()
    loss.backward()
    found |= {f"gradient of {name}": p.grad for name, p in model.named_parameters()}
    starts = [s for layer in start for cell in layer for s in cell]
    found |= {f"gradient of start {i}": s.grad for i, s in enumerate(starts)}
    if x.is_floating_point():
        found["gradient of x"] = x.grad
    return found


def errors(found: dict[str, Tensor], wanted: dict[str, Tensor]) -> dict[str, float]:
    """The largest error of each result, relative to its largest value."""
    assert found.keys() == wanted.keys()
    return {
        name: (found[name].double() - w).abs().max().item() / max(1e-3, w.abs().max().item())
        for name, w in wanted.items()
    }


class RoundedLinear(torch.autograd.Function):
    """F.linear as the kernels compute it with `half`: factors, on the way back too, in bfloat16."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, W: Tensor) -> Tensor:
        x, W = x.bfloat16().double(), W.bfloat16().double()
        ctx.save_for_backward(x, W)
        return x @ W.t()

    @staticmethod
    def backward(ctx: Any, d: Tensor) -> tuple[Tensor, Tensor]:
        x, W = ctx.saved_tensors
        d = d.bfloat16().double()
        return d @ W, d.flatten(0, -2).t() @ x.flatten(0, -2)


def rounded_linear(x: Tensor, W: Tensor, b: Tensor | None = None) -> Tensor:
    product = RoundedLinear.apply(x, W)
    return product if b is None else product + b


def agree(model: Recurrent, x: Tensor, lengths: Tensor | None, *, half: bool = False) -> None:
    """The kernels in float32, or with products of bfloat16, against the loop in float64. Where
    terms cancel, the loop of the same precision is off as well, and then its error is the measure.
    """
    tolerance = 2e-2 if half else 1e-5
    model.fast = True
    with torch.autocast("cpu", torch.bfloat16, enabled=half):
        ours = results(model, x, lengths)
    model.fast = False
    exact = copy.deepcopy(model).double()
    wanted = results(exact, x.double() if x.is_floating_point() else x, lengths)
    found = errors(ours, wanted)
    if max(found.values()) < tolerance:
        return
    with torch.autocast("cpu", torch.bfloat16, enabled=half):
        loop = errors(results(model, x, lengths), wanted)
    for name, error in found.items():
        assert error < max(tolerance, 8 * loop[name]), f"{name}: {error:.1e}, {loop[name]:.1e}"


def agree_in_bfloat16(model: Recurrent, x: Tensor, lengths: Tensor | None) -> None:
    """The kernels with products of bfloat16 against the loop with the same rounding, on the whole.
    Where terms cancel or a unit is close to a kink, rounding itself moves the loop as far, and then
    that is the measure: one factor rounded earlier or later is enough. So the loop is also asked
    what it makes of inputs that differ by less than bfloat16 can hold."""
    model.fast = True
    with torch.autocast("cpu", torch.bfloat16):
        ours = results(model, x, lengths)
    model.fast = False
    exact = copy.deepcopy(model).double()
    unrounded = results(exact, x.double(), lengths)
    with patch.object(F, "linear", rounded_linear):
        wanted = results(exact, x.double(), lengths)
        nudged = [results(exact, x.double() * (1 + by), lengths) for by in (2**-10, -(2**-10))]
    found = distances(ours, wanted)
    others = [distances(other, wanted) for other in (unrounded, *nudged)]
    for name, error in found.items():
        moved = max(other[name] for other in others)
        assert error < max(2e-2, 2 * moved), f"{name}: {error:.1e}, {moved:.1e}"


def distances(found: dict[str, Tensor], wanted: dict[str, Tensor]) -> dict[str, float]:
    """How far each result is off as a vector, relative to its length, or to a hundredth of the
    longest one's: a gradient of one number can cancel to next to nothing."""
    least = max(w.norm() for w in wanted.values()).clamp(min=1e-1) / 100
    return {
        name: ((found[name].double() - w).norm() / torch.maximum(w.norm(), least)).item()
        for name, w in wanted.items()
    }


@kinds
@pytest.mark.parametrize("half", [False, True], ids=["fp32", "bf16"])
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_kernels_equal_the_loop(
    half: bool, cell: str, options: dict[str, Any], data: st.DataObject
) -> None:
    batch = data.draw(st.integers(1, 70), "B")
    # Scans go in blocks of 64 steps.
    steps = data.draw(st.one_of(st.integers(1, 12), st.integers(1, 80)), "T")
    hidden = data.draw(st.integers(1, 70), "H")
    both = data.draw(st.booleans(), "both directions")
    layers = data.draw(st.integers(1, 2), "layers")
    torch.manual_seed(steps)
    lengths = None
    if data.draw(st.booleans(), "ragged"):
        lengths = torch.randint(1, steps + 1, (batch,))
    inputs = data.draw(st.sampled_from([1, 5, 16, 33, 64]), "I")
    model = model_of(cell, options, hidden, inputs=inputs, layers=layers, bidirectional=both)
    x = torch.randn(batch, steps, inputs)
    if half:
        agree_in_bfloat16(model, x, lengths)
    if not half or not has_kink(cell, options):
        agree(model, x, lengths, half=half)


@kinds
@pytest.mark.parametrize("half", [False, True], ids=["fp32", "bf16"])
@pytest.mark.parametrize("hidden", [256, 272])
def test_large_layers(hidden: int, half: bool, cell: str, options: dict[str, Any]) -> None:
    """Sizes at which work is divided: many sequences (by sequence), few and wide (by unit)."""
    for batch in (30, 7):
        model = model_of(cell, options, hidden, inputs=hidden, bidirectional=hidden == 256)
        agree(model, torch.randn(batch, 9, hidden), torch.arange(batch) % 9 + 1, half=half)


@kinds
@pytest.mark.parametrize("half", [False, True], ids=["fp32", "bf16"])
def test_one_hot_integers(half: bool, cell: str, options: dict[str, Any]) -> None:
    torch.manual_seed(1)
    ids, lengths = torch.randint(0, 5, (4, 7)), torch.tensor([7, 1, 3, 6])
    model = model_of(cell, options, 20, bidirectional=True)
    if not half or not has_kink(cell, options):
        agree(model, ids, lengths, half=half)
        return
    vectors = F.one_hot(ids, 5).float()
    agree_in_bfloat16(model, vectors, lengths)
    model.fast = True
    with torch.autocast("cpu", torch.bfloat16):
        found, wanted = results(model, ids, lengths), results(model, vectors, lengths)
    assert max(distances(found, {name: wanted[name].double() for name in found}).values()) < 2e-2


@kinds
def test_rounding_is_all_that_bfloat16_changes(cell: str, options: dict[str, Any]) -> None:
    """With weights and inputs that bfloat16 holds exactly, one step from zero is exact."""
    model = model_of(cell, options, 24)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(parameter.bfloat16().float())
            if name.endswith("P_o") and parameter.dim() == 2:
                parameter.zero_()  # its product reads c_1, which bfloat16 does not hold
    x = torch.randn(7, 1, 5).bfloat16().float()
    exact = model(x).outputs
    with torch.autocast("cpu", torch.bfloat16):
        same(model(x).outputs, exact, 5 + 24)


def test_other_precisions_are_refused() -> None:
    model = model_of("lstm", {}, 16, fast=True)
    ((cell,),) = model.cells()
    reason = cell.native_unsupported_reason
    with torch.autocast("cpu", torch.float16):
        assert "no autocast to torch.float16" in (reason(torch.zeros(1, 5)) or "")
    assert "not torch.float64" in (reason(torch.zeros(1, 5).double()) or "")
    assert "not torch.bfloat16" in (reason(torch.zeros(1, 5).bfloat16()) or "")
    with torch.autocast("cpu", torch.bfloat16):
        assert reason(torch.zeros(1, 5).bfloat16()) is None


@kinds
@pytest.mark.parametrize("hidden", [24, 32, 320])
def test_a_single_step_is_the_same_as_in_a_sequence(
    cell: str, options: dict[str, Any], hidden: int
) -> None:
    """Few rows read the weights unpacked; state in, state out."""
    model = model_of(cell, options, hidden)
    x = torch.randn(2, 6, 5)
    with torch.inference_mode():
        whole = model(x)
        state = None
        for t in range(6):
            step, state = model(x[:, t : t + 1], state=state)
            same(step[:, 0], whole.outputs[:, t], 5 + hidden, steps=6)
        ((only,),) = model.cells()
        output, end = only(x[:, 0], only.start(2))
        same(output, whole.outputs[:, 0], 5 + hidden)
        assert end[0].shape == (2, hidden)
    for a, b in zip(state[0][0], whole.state[0][0]):
        same(a, b, 5 + hidden, steps=6)


@kinds
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("hidden", [24, 32, 320])
def test_steps_with_weights_packed_once(
    hidden: int, threads: int, cell: str, options: dict[str, Any]
) -> None:
    model = model_of(cell, options, hidden, inputs=7, layers=2)
    x = torch.randn(2, 6, 7)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with torch.inference_mode():
            whole, state = model(x), None
            with steady(model):
                packed = [steady_stepper(c) for layer in model.cells() for c in layer]
                assert all((c is not None) == (hidden % 16 == 0) for c in packed)
                for t in range(6):
                    step, state = model(x[:, t : t + 1], state=state)
                    same(step[:, 0], whole.outputs[:, t], 2 * hidden, steps=2 * 6)
    finally:
        torch.set_num_threads(before)
    assert all(steady_stepper(c) is None for layer in model.cells() for c in layer)


def test_a_steady_cell_learns_and_is_tapped_as_ever() -> None:
    model = model_of("lstm", {}, 16)
    x = torch.randn(2, 1, 5)
    with steady(model):
        assert model(x).outputs.requires_grad
        with torch.inference_mode(), record(model, "*.forget_gate") as trace:
            model(x)
    assert len(trace) == 1


def test_steps_of_a_wrong_shape_are_refused() -> None:
    ((cell,),) = model_of("lstm", {}, 16).cells()
    h = torch.zeros(2, 16)
    with torch.inference_mode():
        for x, state, says in (
            (torch.zeros(2, 4), (h, h), r"x as .* \(N, I\) = \(2, 5\), not float32 \(2, 4\)"),
            (torch.zeros(2, 5), (h, h[:1]), r"c0 as .* \(2, 16\), not float32 \(1, 16\)"),
            (torch.zeros(2, 5), (h.double(), h), "h0 as contiguous float32"),
        ):
            with pytest.raises(TypeError, match=says):
                cell(x, state)


@kinds
def test_gradients_can_be_asked_for_twice(cell: str, options: dict[str, Any]) -> None:
    model = model_of(cell, options, 16)
    loss = model(torch.randn(3, 4, 5)).outputs.square().sum()
    first = torch.autograd.grad(loss, list(model.parameters()), retain_graph=True)
    second = torch.autograd.grad(loss, list(model.parameters()))
    for a, b in zip(first, second):
        torch.testing.assert_close(a, b, rtol=0, atol=0)


@pytest.mark.parametrize("half", [False, True], ids=["fp32", "bf16"])
@pytest.mark.parametrize("cell", ["lstm", "peephole", "gru", "mingru"])
def test_operator_is_well_behaved(cell: str, half: bool) -> None:
    """torch's own check of a custom operator: schema, fake tensors, autograd registration."""
    model = model_of(cell, {"matrix": "full"} if cell == "peephole" else {}, 32, inputs=32)
    ((only,),) = model.cells()
    weights = only.native()
    assert weights is not None
    empty = torch.empty(0)
    extra = empty if weights.extra is None else weights.extra
    U = empty if weights.U is None else weights.U
    h0 = torch.randn(3, 32, requires_grad=True)
    c0 = torch.randn(3, 32, requires_grad=True) if cell in ("lstm", "peephole") else empty
    offsets = torch.tensor([0, 3, 5, 6])  # by time for lstm and gru, by sequence for mingru
    arguments = (
        *(weights.kind, half, weights.update_new, [False], True, offsets),
        torch.randn(6, 32, requires_grad=True),
        *([weights.W], [weights.b], [U], [extra], [h0], [c0]),
    )
    tests = ("test_schema", "test_faketensor", "test_autograd_registration")
    torch.library.opcheck(operator.recurrence, arguments, test_utils=tests)


@pytest.mark.parametrize("function", ["sigmoid", "tanh"])
def test_functions_are_exact(function: str) -> None:
    """To one unit in the last place or two, and without leaning to one side: a lean of 1e-8 in a
    gate would be one of 1e-5 in a gradient after a thousand steps."""
    model = Recurrent("elman", 1, 1, options={"activation": function})
    for name, parameter in model.named_parameters():
        nn.init.constant_(parameter, float(name.endswith("W")))
    x = torch.linspace(-20, 20, 40_001)[torch.arange(40_001) != 20_000]
    with torch.no_grad():
        found = model(x[:, None, None]).outputs.flatten().double()
    exact = getattr(torch, function)(x.double())
    error = found / exact - 1
    assert error.abs().max() < 2.5e-7
    assert error.mean().abs() < 5e-9


def test_extreme_gates_of_minlstm() -> None:
    """f' = σ(f) / (σ(f) + σ(i)), where both are as good as nothing as well."""
    model = Recurrent("minlstm", 2, 1).requires_grad_(False)
    ((cell,),) = model.cells()
    cell.W.copy_(torch.tensor([[1.0, 0], [0, 1], [0, 0]]))  # f and i are the inputs, the rest is 1
    cell.b.copy_(torch.tensor([0.0, 0, 1]))
    values = [-300.0, -100, -90, -85, -80, -79, -10, 0, 10, 90, 300]
    x = torch.tensor([[f, i] for f in values for i in values])[:, None]
    found = model(x).outputs.double()
    model.fast = False
    exact = model.double()(x.double()).outputs
    rtol = 100 * torch.finfo(torch.float32).eps  # e^-100 of a rounded exponent
    torch.testing.assert_close(found, exact, rtol=rtol, atol=1e-7)


def test_nan_is_not_hidden() -> None:
    for cell, options in KINDS:
        model = model_of(cell, options, 16)
        x = torch.randn(2, 3, 5)
        x[1, 1] = float("nan")
        outputs = model(x).outputs
        assert outputs[0].isfinite().all()
        assert outputs[1, 1].isnan().all(), cell


def test_many_threads_agree_with_one() -> None:
    before = torch.get_num_threads()
    try:
        found = []
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)
            for matrix in ("diagonal", "full"):
                for hidden, batch in ((64, 80), (320, 5)):
                    model = model_of("peephole", {"matrix": matrix}, hidden, bidirectional=True)
                    found.append(results(model, torch.ones(batch, 20, 5), None))
        for one, other in ((case, case + 4 * more) for case in range(4) for more in (1, 2)):
            assert max(errors(found[one], found[other]).values()) < 1e-5
    finally:
        torch.set_num_threads(before)


def test_fewer_threads_than_asked_for() -> None:
    """Where OpenMP grants fewer threads, one does everything: none may wait for ever."""
    code = """
import torch
from unspool.nn import Recurrent
torch.manual_seed(1)
model, x = Recurrent("lstm", 320, 320, bidirectional=True), torch.randn(5, 6, 320)
for threads in (1, 8):
    torch.set_num_threads(threads)
    with torch.inference_mode():
        print(model(x).outputs.sum().item(), model(x[:1, :1]).outputs.sum().item())
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "OMP_THREAD_LIMIT": "1"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    one, many = ([float(word) for word in line.split()] for line in done.stdout.splitlines())
    assert one == pytest.approx(many, abs=1e-3)


@pytest.mark.parametrize("wanted", ["amx", "avx512_bf16", "avx512", "avx2", "baseline"])
def test_every_instruction_set(wanted: str) -> None:
    assert native._kernels is not None
    if wanted not in native._kernels.instruction_sets():
        pytest.skip(f"this processor has no {wanted}")
    before = native.INSTRUCTIONS
    native._kernels.use(wanted)
    try:
        for cell, options in KINDS:
            model = model_of(cell, options, 40, bidirectional=True)
            for half in (False, True):
                agree(model, torch.randn(13, 11, 5), torch.arange(13) % 11 + 1, half=half)
    finally:
        native._kernels.use(before)


@pytest.mark.parametrize(
    ("value", "answer"),
    [("0", "switched off by UNSPOOL_NATIVE=0"), ("baseline", "baseline"), ("mmx", "is not one of")],
)
def test_environment_decides(value: str, answer: str) -> None:
    code = "import unspool.native as n; print(n.INSTRUCTIONS, '|', n.ABOUT)"
    environment = {**os.environ, "UNSPOOL_NATIVE": value}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert answer in done.stdout
