"""Layers as graphs, run by onnxruntime, against themselves in torch: any batch, any length."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from torch import Tensor, nn

from unspool.export import layers as _layers  # noqa: F401  # what makes nodes of layers
from unspool.export.graph import Graph, Port, Unsupported
from unspool.nn import CELLS, Cell, Recurrent
from unspool.nn.convolution import ConvolutionStack
from unspool.nn.crf import CRF, Allowed
from unspool.nn.pooling import POOLINGS
from unspool.nn.transformer import TransformerEncoder
from unspool.nn.transformer_blocks import TransformerOptions

WIDTH = 6
SIZES = [(1, 1), (1, 2), (3, 7), (2, 1), (4, 40)]


class Leaky(Cell):
    """A cell that names no operator of ONNX."""

    def __init__(self, inputs: int, hidden: int, *, alpha: float = 0.3) -> None:
        super().__init__(inputs, hidden)
        self.W, self.U = nn.Linear(inputs, hidden), nn.Linear(hidden, hidden, bias=False)
        self.alpha = alpha

    def project(self, x: Tensor) -> Tensor:
        return self.W(x)

    def step(self, u: Tensor, state: Any) -> tuple[Tensor, Any]:
        (h,) = state
        h = (1 - self.alpha) * h + self.alpha * torch.tanh(u + self.U(h))
        return h, (h,)


def compared(compute: Callable[..., Any], dtype: torch.dtype = torch.float32) -> float:
    """The largest difference between a graph of `compute(x, lengths)` and torch, over all sizes."""
    graph = Graph()
    axes: tuple[int | str, ...] = ("B", "T", WIDTH) if dtype.is_floating_point else ("B", "T")
    x, lengths = graph.input(Port("x", dtype, axes)), graph.input(Port("n", torch.int64, ("B",)))
    y = compute(x, lengths)
    graph.output(y, "y", [f"axis{i}" for i in range(y.dim())])
    session = onnxruntime.InferenceSession(graph.model({}).SerializeToString())
    worst = 0.0
    torch.manual_seed(1)
    for batch, steps in SIZES:
        size = (batch, steps, WIDTH)[: len(axes)]
        values = torch.randn(size) if dtype.is_floating_point else torch.randint(0, WIDTH, size)
        n = torch.randint(1, steps + 1, (batch,))
        n[0] = steps
        with torch.no_grad():
            expected = compute(values, n).numpy()
        feeds = {"x": values.numpy(), "n": n.numpy()}
        wanted = {port.name for port in session.get_inputs()}
        (result,) = session.run(None, {name: feeds[name] for name in wanted})
        assert result.shape == expected.shape
        worst = max(worst, float(np.abs(result - expected).max() / max(1, np.abs(expected).max())))
    return worst


def randomised(module: nn.Module, std: float = 0.3) -> nn.Module:
    torch.manual_seed(2)
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=std)
    return module.eval()


OPTIONS: dict[str, list[dict[str, Any]]] = {
    "elman": [{"activation": name} for name in ("tanh", "sigmoid", "relu", "elu", "maxout")],
    "gru": [{"reset": r, "update": u} for r in ("before", "after") for u in ("keep", "take")],
    "peephole": [{}, {"matrix": "full"}, {"peepholes": "f"}],
}
CASES = [
    *((cell, options) for cell in CELLS for options in OPTIONS.get(cell, [{}])),
    (Leaky, {"alpha": 0.2}),
]


@pytest.mark.parametrize(("layers", "both"), [(1, False), (2, True)])
@pytest.mark.parametrize(("cell", "options"), CASES)
def test_cell(cell: Any, options: dict[str, Any], layers: int, both: bool) -> None:
    model = Recurrent(cell, WIDTH, 8, layers=layers, bidirectional=both, options=options)
    randomised(model, 0.2)
    assert compared(lambda x, n: model(x, n).outputs) < 1e-5


def test_one_hot_ids() -> None:
    model = randomised(Recurrent("lstm", WIDTH, 8, bidirectional=True))
    assert compared(lambda x, n: model(x, n).outputs, torch.int64) < 1e-5


@pytest.mark.parametrize("ids", [False, True])
def test_convolution(ids: bool) -> None:
    model = randomised(ConvolutionStack(WIDTH, 5, layers=2, widths=(2, 3, 4)))
    dtype = torch.int64 if ids else torch.float32
    assert compared(lambda x, n: model(x, n).outputs, dtype) < 1e-5


@pytest.mark.parametrize("name", [name for name in POOLINGS if name != "cls"])
def test_pooling(name: str) -> None:
    pooling = randomised(POOLINGS[name](WIDTH, bidirectional=name == "last"))
    assert compared(lambda x, n: pooling(x, n)) < 1e-5


TRANSFORMERS: list[dict[str, Any]] = [
    {"positions": "sinusoidal"},
    {"positions": "learned", "length": 50, "norm": "post"},
    {"positions": "rotary", "kind": "linear", "activation": "gelu"},
    {"positions": "none", "kind": "window", "window": 3, "activation": "swiglu"},
]


@pytest.mark.parametrize("options", TRANSFORMERS)
def test_transformer(options: dict[str, Any]) -> None:
    model = TransformerEncoder(TransformerOptions(width=WIDTH, layers=2, heads=3, **options))
    randomised(model)
    assert compared(lambda x, n: model(x, n).outputs) < 1e-5


def test_a_text_without_steps_gives_zeros() -> None:
    model = randomised(Recurrent("gru", WIDTH, 4, bidirectional=True))
    graph = Graph()
    x = graph.input(Port("x", torch.float32, ("B", "T", WIDTH)))
    n = graph.input(Port("n", torch.int64, ("B",)))
    graph.output(model(x, n).outputs, "y", ["B", "T", 8])
    session = onnxruntime.InferenceSession(graph.model({}).SerializeToString())
    feeds = {"x": np.ones((2, 3, WIDTH), np.float32), "n": np.array([0, 3])}
    (y,) = session.run(None, feeds)
    assert not y[0].any()
    assert y[1].any()


@pytest.mark.parametrize("restricted", [False, True])
def test_viterbi_finds_the_best_of_all_tags(restricted: bool) -> None:
    tags = 3
    rng = np.random.default_rng(0)
    allowed = None
    if restricted:
        transitions = torch.ones(tags, tags).bool()
        transitions[0, 2] = False
        allowed = Allowed(transitions, torch.tensor([True, False, True]), torch.ones(tags).bool())
    crf = CRF(tags, allowed)
    randomised(crf, 1.0)
    graph = Graph()
    x = graph.input(Port("x", torch.float32, ("B", "T", tags)))
    n = graph.input(Port("n", torch.int64, ("B",)))
    graph.output(crf.best(x, n), "y", ["B", "T"])
    session = onnxruntime.InferenceSession(graph.model({}).SerializeToString())
    A, a, b = (scores.detach().numpy() for scores in crf.chain())
    for steps in (1, 2, 5):
        scores = rng.normal(size=(4, steps, tags)).astype(np.float32)
        lengths = np.array([steps, *rng.integers(1, steps + 1, 3)])
        (best,) = session.run(None, {"x": scores, "n": lengths})
        for row, length, result in zip(scores, lengths, best):
            sequences = list(itertools.product(range(tags), repeat=int(length)))

            def score(y: tuple[int, ...], row: np.ndarray = row) -> float:
                inside = sum(A[i, j] for i, j in itertools.pairwise(y))
                return a[y[0]] + b[y[-1]] + inside + sum(row[t, tag] for t, tag in enumerate(y))

            assert tuple(result[:length]) == max(sequences, key=score)
            assert not result[length:].any()


class Odd(Leaky):
    def step(self, u: Tensor, state: Any) -> tuple[Tensor, Any]:
        return torch.fft.fft(u).real, state


class Greedy(Leaky):
    def step(self, u: Tensor, state: Any) -> tuple[Tensor, Any]:
        return (u, state) if float(u.sum()) > 0 else (-u, state)


@pytest.mark.parametrize(
    ("cell", "got"), [(Odd, r"got 'fft_fft\(\)'"), (Greedy, "got .a value that is known only when")]
)
def test_what_has_no_form_is_named(cell: type[Cell], got: str) -> None:
    model = Recurrent(cell, WIDTH, 4)
    with pytest.raises(Unsupported, match=f"this model cannot be exported; {got}"):
        compared(lambda x, n: model(x, n).outputs)
