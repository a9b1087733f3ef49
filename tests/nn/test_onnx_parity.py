"""Every cell against ONNX's operators.

* RNN, LSTM and GRU operators through onnx.reference, float64 at 1e-10: it ignores sequence_lens and
  knows few activations.
* The same through onnxruntime, ragged and with every activation; these kernels are float32 only.
* What no operator computes (maxout, full peepholes, minlstm) as a Scan over elementary operators
  through onnxruntime, float64 at 1e-10, ragged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import onnxruntime
import pytest
import torch
from onnx import ModelProto, helper, numpy_helper, parser
from onnx.reference import ReferenceEvaluator
from torch import Tensor, nn

from rounding import rounding
from unspool.nn import CELLS, Cell, NetworkOutput, Recurrent
from unspool.nn.recurrent_paths import unroll

IN, H, B, T = 3, 5, 4, 6
RAGGED = [6, 2, 4, 1]
DIRECTIONS = ["forward", "reverse", "bidirectional"]


class Weights(NamedTuple):
    """One direction in ONNX's order of gates; the biases of input and state stand side by side."""

    W: Tensor
    R: Tensor
    B: Tensor
    P: Tensor | None = None


def blocks(p: Tensor, order: str, ours: str) -> Tensor:
    """The blocks of `p`, named by the letters of `ours`, in another order; capitals negate."""
    named = dict(zip(ours, p.chunk(len(ours))))
    return torch.cat([-named[g.lower()] if g.isupper() else named[g] for g in order])


def rnn(cell: Cell) -> Weights:
    return Weights(cell.W, cell.U, torch.cat([cell.b, torch.zeros_like(cell.b)]))


def lstm(cell: Cell) -> Weights:
    W, U, b = (blocks(p, "iofg", "ifgo") for p in (cell.W, cell.U, cell.b))
    return Weights(W, U, torch.cat([b, torch.zeros_like(b)]))


def peephole(cell: Cell) -> Weights:
    zero = torch.zeros(H).to(cell.b)
    P = [zero if p is None else p for p in (cell.P_i, cell.P_o, cell.P_f)]
    return lstm(cell)._replace(P=torch.cat(P))


def coupled(cell: Cell) -> Weights:
    # onnxruntime couples as f = 1 - i: its i has our f's weights negated. Its own block for f must
    # then not matter; it gets g's.
    W, U, b = (blocks(p, "Fogg", "fgo") for p in (cell.W, cell.U, cell.b))
    return Weights(W, U, torch.cat([b, torch.zeros_like(b)]))


def gru(cell: Cell) -> Weights:
    order = "zrn" if cell.update == "keep" else "Zrn"
    W, U, b = (blocks(p, order, "rzn") for p in (cell.W, cell.U, cell.b))
    b_h = torch.zeros_like(b)
    if cell.b_hn is not None:
        b_h = torch.cat([b_h[: 2 * H], cell.b_hn])
    return Weights(W, U, torch.cat([b, b_h]))


def mingru(cell: Cell) -> Weights:
    # A GRU without recurrent weights; 1 - z is its z; the reset gate has nothing to do.
    W, b = (torch.cat([-p.chunk(2)[0], p.chunk(2)[0] * 0, p.chunk(2)[1]]) for p in (cell.W, cell.b))
    return Weights(W, torch.zeros(3 * H, H).to(W), torch.cat([b, torch.zeros_like(b)]))


class Case(NamedTuple):
    cell: str
    options: dict[str, Any]
    operator: str
    weights: Callable[[Cell], Weights]
    attributes: dict[str, Any]
    reference: bool = True  # whether onnx.reference can run it


def elman(activation: str, reference: bool = False, **attributes: list[float]) -> Case:
    name = {"leaky_relu": "LeakyRelu"}.get(activation, activation.capitalize())
    options = {"activation": activation}
    return Case("elman", options, "RNN", rnn, {"activations": [name], **attributes}, reference)


CASES = {
    "elman-tanh": elman("tanh", reference=True),
    "elman-sigmoid": elman("sigmoid"),
    "elman-relu": elman("relu"),
    "elman-leaky_relu": elman("leaky_relu", activation_alpha=[0.1]),
    "elman-elu": elman("elu", activation_alpha=[1.0]),
    "irnn": Case("irnn", {}, "RNN", rnn, {"activations": ["Relu"]}, False),
    "lstm": Case("lstm", {}, "LSTM", lstm, {}),
    "peephole-ifo": Case("peephole", {}, "LSTM", peephole, {}),
    "peephole-f": Case("peephole", {"peepholes": "f"}, "LSTM", peephole, {}),
    "peephole-io": Case("peephole", {"peepholes": "io"}, "LSTM", peephole, {}),
    "coupled": Case("coupled", {}, "LSTM", coupled, {"input_forget": 1}, False),
    **{
        f"gru-{reset}-{update}": Case(
            "gru",
            {"reset": reset, "update": update},
            "GRU",
            gru,
            {"linear_before_reset": int(reset == "after")},
        )
        for reset in ("before", "after")
        for update in ("keep", "take")
    },
    "mingru": Case(
        "mingru",
        {},
        "GRU",
        mingru,
        {"activations": ["Sigmoid", "Affine"], "activation_alpha": [1.0], "activation_beta": [0.0]},
        False,
    ),
}


class Problem(NamedTuple):
    """A model of ours, its input and what it answers."""

    model: Recurrent
    cells: list[Cell]
    x: Tensor
    starts: list[Tensor]  # for each of the cell's state names (D, B, H)
    lengths: Tensor | None
    answer: NetworkOutput

    def outputs(self) -> np.ndarray:
        """As ONNX lays them out: (T, D, B, H)."""
        return self.answer.outputs.view(B, T, len(self.cells), H).permute(1, 2, 0, 3).numpy()

    def final(self, j: int) -> np.ndarray:
        """(D, B, H)"""
        return torch.stack([cell[j] for cell in self.answer.state[0]]).numpy()


@torch.no_grad()
def pose(
    cell: str,
    options: dict[str, Any],
    direction: str,
    lengths: list[int] | None,
    dtype: torch.dtype,
) -> Problem:
    torch.manual_seed(3)
    both = direction == "bidirectional"
    model = Recurrent(cell, IN, H, bidirectional=both, fast=False, options=options).to(dtype)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.6)
    cells = list(model.cells()[0])
    x = torch.randn(B, T, IN, dtype=dtype)
    starts = [torch.randn(len(cells), B, H, dtype=dtype) for _ in cells[0].state_names]
    sizes = None if lengths is None else torch.tensor(lengths)
    state = tuple(tuple(start[d] for start in starts) for d in range(len(cells)))
    if direction == "reverse":  # ONNX reads one way, from the end: our backward cell alone
        outputs, final = unroll(cells[0], x, sizes, state[0], backwards=True)
        answer = NetworkOutput(outputs, ((final,),))
    else:
        answer = model(x, sizes, (state,))
    return Problem(model, cells, x, starts, sizes, answer)


@torch.no_grad()
def operator_model(case: Case, problem: Problem, direction: str) -> tuple[ModelProto, dict]:
    """A model of one RNN, LSTM or GRU node, and its inputs."""
    weights = [case.weights(cell) for cell in problem.cells]
    feeds = {
        "X": problem.x.transpose(0, 1),
        "W": torch.stack([w.W for w in weights]),
        "R": torch.stack([w.R for w in weights]),
        "B": torch.stack([w.B for w in weights]),
        "lens": problem.lengths,
        "h": problem.starts[0],
        "c": problem.starts[1] if len(problem.starts) > 1 else None,
        "P": None if weights[0].P is None else torch.stack([w.P for w in weights]),
    }
    arrays = {name: t.contiguous().numpy() for name, t in feeds.items() if t is not None}
    if "lens" in arrays:
        arrays["lens"] = arrays["lens"].astype(np.int32)
    names = [name if name in arrays else "" for name in feeds]
    attributes = {  # one entry a direction
        key: value * len(weights) if isinstance(value, list) else value
        for key, value in case.attributes.items()
    }
    outputs = ["Y", "Y_h", "Y_c"][: 1 + len(problem.starts)]
    while not names[-1]:
        names.pop()
    node = helper.make_node(
        case.operator, names, outputs, hidden_size=H, direction=direction, **attributes
    )
    return finish([node], arrays, outputs), arrays


def finish(nodes: list, arrays: dict[str, np.ndarray], outputs: list[str]) -> ModelProto:
    kinds = {name: helper.np_dtype_to_tensor_dtype(a.dtype) for name, a in arrays.items()}
    graph = helper.make_graph(
        nodes,
        "parity",
        [helper.make_tensor_value_info(n, kinds[n], a.shape) for n, a in arrays.items()],
        [helper.make_tensor_value_info(name, kinds["X"], None) for name in outputs],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def run(model: ModelProto, arrays: dict[str, np.ndarray]) -> list[np.ndarray]:
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, arrays)


def compare(problem: Problem, Y: np.ndarray, finals: list[np.ndarray], tolerance: float) -> None:
    np.testing.assert_allclose(Y, problem.outputs(), rtol=0, atol=tolerance)
    for j, final in enumerate(finals):
        np.testing.assert_allclose(final, problem.final(j), rtol=0, atol=tolerance)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.reference])
def test_reference_operator(name: str, direction: str) -> None:
    case = CASES[name]
    problem = pose(case.cell, case.options, direction, None, torch.double)
    model, arrays = operator_model(case, problem, direction)
    Y, *finals = ReferenceEvaluator(model).run(None, arrays)
    compare(problem, Y, finals, 1e-10)


@pytest.mark.parametrize("lengths", [None, RAGGED], ids=["full", "ragged"])
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("name", CASES)
def test_runtime_operator(name: str, direction: str, lengths: list[int] | None) -> None:
    case = CASES[name]
    problem = pose(case.cell, case.options, direction, lengths, torch.float)
    model, arrays = operator_model(case, problem, direction)
    Y, *finals = run(model, arrays)
    size = max(1.0, float(np.abs(problem.outputs()).max()))
    compare(problem, Y, finals, rounding(IN + H + 2, steps=T, size=size))


# What has no operator: one step in ONNX's text form. Parameters are read from outside.

SCANS = {
    "elman-maxout": (
        "elman",
        {"activation": "maxout"},
        """
        u = Gemm <transB = 1> (x, W, b)
        r = Gemm <transB = 1> (h, U)
        a = Add (u, r)
        a1, a2 = Split <axis = 1> (a)
        h_new = Max (a1, a2)
        """,
    ),
    "peephole-full": (
        "peephole",
        {"matrix": "full"},
        """
        u = Gemm <transB = 1> (x, W, b)
        r = Gemm <transB = 1> (h, U)
        a = Add (u, r)
        ai, af, ag, ao = Split <axis = 1> (a)
        pi = Gemm <transB = 1> (c, P_i, ai)
        i = Sigmoid (pi)
        pf = Gemm <transB = 1> (c, P_f, af)
        f = Sigmoid (pf)
        g = Tanh (ag)
        fc = Mul (f, c)
        ig = Mul (i, g)
        c_new = Add (fc, ig)
        po = Gemm <transB = 1> (c_new, P_o, ao)
        o = Sigmoid (po)
        tc = Tanh (c_new)
        h_new = Mul (o, tc)
        """,
    ),
    "minlstm": (
        "minlstm",
        {},
        """
        u = Gemm <transB = 1> (x, W, b)
        uf, ui, g = Split <axis = 1> (u)
        f = Sigmoid (uf)
        i = Sigmoid (ui)
        s = Add (f, i)
        f1 = Div (f, s)
        i1 = Div (i, s)
        fh = Mul (f1, h)
        ig = Mul (i1, g)
        h_new = Add (fh, ig)
        """,
    ),
}


def scan_model(
    body: str, names: tuple[str, ...], arrays: dict[str, np.ndarray], backwards: bool
) -> ModelProto:
    """A Scan of `body` over time, which keeps the state and gives 0 where `keep` is False."""
    step = parser.parse_graph(
        f"step ({', '.join(f'double[{B},{H}] {n}' for n in names)}, double[{B},{IN}] x,"
        f" bool[{B},1] keep) =>"
        f" ({', '.join(f'double[{B},{H}] {n}_next' for n in names)}, double[{B},{H}] y) {{"
        + body
        + "\n".join(f"{n}_next = Where (keep, {n}_new, {n})" for n in names)
        + "\ny = Where (keep, h_new, zero)\n}"
    )
    node = helper.make_node(
        "Scan",
        [*(f"{n}0" for n in names), "X", "keep"],
        [*(f"{n}_T" for n in names), "Y"],
        body=step,
        num_scan_inputs=2,
        scan_input_directions=[int(backwards)] * 2,
        scan_output_directions=[int(backwards)],
    )
    zero = numpy_helper.from_array(np.zeros((), dtype=np.float64))
    constant = helper.make_node("Constant", [], ["zero"], value=zero)
    return finish([constant, node], arrays, ["Y", *(f"{n}_T" for n in names)])


@pytest.mark.parametrize("lengths", [None, RAGGED], ids=["full", "ragged"])
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("name", SCANS)
def test_scan(name: str, direction: str, lengths: list[int] | None) -> None:
    cell_name, options, body = SCANS[name]
    problem = pose(cell_name, options, direction, lengths, torch.double)
    keep = torch.arange(T)[:, None] < (torch.tensor(lengths or [T] * B))  # (T, B)
    ways = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[direction]
    results = []
    for d, (cell, backwards) in enumerate(zip(problem.cells, ways)):
        arrays = {n: p.detach().numpy() for n, p in cell.named_parameters()}
        arrays |= {f"{n}0": start[d].numpy() for n, start in zip(cell.state_names, problem.starts)}
        arrays |= {
            "X": problem.x.transpose(0, 1).contiguous().numpy(),
            "keep": keep[..., None].numpy(),
        }
        results.append(run(scan_model(body, cell.state_names, arrays, backwards), arrays))
    Y, *finals = (np.stack(parts, 1 if k == 0 else 0) for k, parts in enumerate(zip(*results)))
    compare(problem, Y, finals, 1e-10)


def test_every_cell_is_compared() -> None:
    assert {case.cell for case in CASES.values()} | {scan[0] for scan in SCANS.values()} == set(
        CELLS
    )
