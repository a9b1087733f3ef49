"""Every cell against ONNX's operators, with the weights that `Cell.onnx` gives them.

* RNN, LSTM and GRU operators through onnx.reference, float64 at 1e-10: it ignores sequence_lens and
  knows few activations.
* The same through onnxruntime, ragged and with every activation; these kernels are float32 only.
* What no operator computes (maxout, full peepholes, minlstm) as a Scan over elementary operators
  through onnxruntime, float64 at 1e-10, ragged.
"""

from __future__ import annotations

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


class Case(NamedTuple):
    cell: str
    options: dict[str, Any]
    reference: bool = True  # whether onnx.reference can run its operator


CASES = {
    **{
        f"elman-{activation}": Case("elman", {"activation": activation}, activation == "tanh")
        for activation in ("tanh", "sigmoid", "relu", "leaky_relu", "elu")
    },
    "irnn": Case("irnn", {}, False),
    "lstm": Case("lstm", {}),
    "peephole-ifo": Case("peephole", {}),
    "peephole-f": Case("peephole", {"peepholes": "f"}),
    "peephole-io": Case("peephole", {"peepholes": "io"}),
    "coupled": Case("coupled", {}, False),
    **{
        f"gru-{reset}-{update}": Case("gru", {"reset": reset, "update": update})
        for reset in ("before", "after")
        for update in ("keep", "take")
    },
    "mingru": Case("mingru", {}, False),
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
def operator_model(problem: Problem, direction: str) -> tuple[ModelProto, dict]:
    """A model of one RNN, LSTM or GRU node, and its inputs."""
    forms = [form for cell in problem.cells if (form := cell.onnx()) is not None]
    first = forms[0]
    feeds = {
        "X": problem.x.transpose(0, 1),
        "W": torch.stack([form.W for form in forms]),
        "R": torch.stack([form.R for form in forms]),
        "B": torch.stack([form.B for form in forms]),
        "lens": problem.lengths,
        "h": problem.starts[0],
        "c": problem.starts[1] if len(problem.starts) > 1 else None,
        "P": torch.stack([form.P for form in forms if form.P is not None])
        if first.P is not None
        else None,
    }
    arrays = {name: t.contiguous().numpy() for name, t in feeds.items() if t is not None}
    if "lens" in arrays:
        arrays["lens"] = arrays["lens"].astype(np.int32)
    names = [name if name in arrays else "" for name in feeds]
    attributes = {  # one entry a direction
        key: value * len(forms) if isinstance(value, list) else value
        for key, value in first.attributes.items()
    }
    outputs = ["Y", "Y_h", "Y_c"][: 1 + len(problem.starts)]
    while not names[-1]:
        names.pop()
    node = helper.make_node(
        first.operator, names, outputs, hidden_size=H, direction=direction, **attributes
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
    model, arrays = operator_model(problem, direction)
    Y, *finals = ReferenceEvaluator(model).run(None, arrays)
    compare(problem, Y, finals, 1e-10)


@pytest.mark.parametrize("lengths", [None, RAGGED], ids=["full", "ragged"])
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("name", CASES)
def test_runtime_operator(name: str, direction: str, lengths: list[int] | None) -> None:
    case = CASES[name]
    problem = pose(case.cell, case.options, direction, lengths, torch.float)
    model, arrays = operator_model(problem, direction)
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
