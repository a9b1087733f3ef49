"""How long does one request take, alone: a step of an LSTM, and the label of a text?

    python bench/latency.py [--quick] [--json FILE] [--threads N] [--rounds N] [--compile]

A step: one vector and the state in, the state out, for H inputs and H units. A text: 200 tokens
through an embedding (20,000 x 128), a bidirectional LSTM of 128 units, the maximum over time and a
linear layer. Ours, torch.nn eagerly (with --compile also through torch.compile) and onnxruntime,
whose graphs are written here by hand; all have the same weights, and their answers are compared
before anything is timed. onnxruntime gets as many threads as torch.

Contestants take turns, a block of calls each, with a pause before and some calls that do not count:
idle threads of the one before must have gone to sleep. Printed: microseconds a call, the median of
all and the best block's median; and how many times as fast as torch.nn that is.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import chain
from statistics import median
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from timing import installed, parser, set_up, write_json
from unspool.native.recurrence import Stepper
from unspool.nn import LSTM, Recurrent

Answer = Callable[[], Any]  # one call; returns what the others must agree with
WORDS, EMBEDDING, HIDDEN, LENGTH, CLASSES = 20_000, 128, 128, 200, 2
PAUSE, WARM, TOLERANCE = 0.02, 5, 1e-4


def copy_weights(cell: LSTM, module: nn.Module, suffix: str) -> None:
    """Ours into torch's, which has a second bias."""
    with torch.no_grad():
        for name, value in (
            ("weight_ih", cell.W),
            ("weight_hh", cell.U),
            ("bias_ih", cell.b),
            ("bias_hh", torch.zeros_like(cell.b)),
        ):
            getattr(module, name + suffix).copy_(value)


def onnx_weights(cells: tuple[LSTM, ...]) -> dict[str, np.ndarray]:
    """W, R and B of ONNX's LSTM, one plane a direction; its blocks are i, o, f, g."""

    def reordered(p: Tensor) -> Tensor:
        i, f, g, o = p.detach().chunk(4)
        return torch.cat([i, o, f, g])

    return {
        "W": torch.stack([reordered(cell.W) for cell in cells]).numpy(),  # (D, 4H, I)
        "R": torch.stack([reordered(cell.U) for cell in cells]).numpy(),  # (D, 4H, H)
        "B": torch.stack(  # (D, 8H)
            [torch.cat([reordered(cell.b), torch.zeros_like(cell.b)]) for cell in cells]
        ).numpy(),
    }


def session(
    nodes: list[Any],
    inputs: dict[str, np.ndarray],
    outputs: list[str],
    weights: dict[str, np.ndarray],
) -> Answer:
    """A call of onnxruntime with a graph of `nodes` on these inputs."""
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    kinds = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64}
    graph = helper.make_graph(
        nodes,
        "graph",
        [
            helper.make_tensor_value_info(name, kinds[str(value.dtype)], value.shape)
            for name, value in inputs.items()
        ],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    made = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return lambda: made.run(outputs, inputs)


def step_contestants(hidden: int, onnx: bool) -> dict[str, Answer]:
    ours = Recurrent("lstm", hidden, hidden).eval()
    ((cell,),) = ours.cells()
    x, h, c = torch.randn(3, 1, hidden)
    cell_of_torch, layer = nn.LSTMCell(hidden, hidden), nn.LSTM(hidden, hidden, batch_first=True)
    copy_weights(cell, cell_of_torch, "")
    copy_weights(cell, layer, "_l0")
    sequence, state, planes = x[None], (((h, c),),), (h[None], c[None])  # (1, 1, H)
    answers: dict[str, Answer] = {
        "torch.nn.LSTMCell": lambda: cell_of_torch(x, (h, c)),
        "torch.nn.LSTM, T = 1": lambda: layer(sequence, planes)[1],
        "unspool Recurrent": lambda: ours(sequence, None, state).state[0][0],
        "unspool cell": lambda: cell(x, (h, c))[1],
    }
    if (weights := cell.native()) is not None:
        packed = Stepper(weights, hidden, pack=True)  # as onnxruntime does
        answers["unspool, packed once"] = lambda: packed(x, (h, c))
    if onnx:
        from onnx import helper

        inputs = {"x": sequence.numpy(), "h": planes[0].numpy(), "c": planes[1].numpy()}
        node = helper.make_node(
            "LSTM", ["x", "W", "R", "B", "", "h", "c"], ["", "h_new", "c_new"], hidden_size=hidden
        )
        answers["onnxruntime"] = session([node], inputs, ["h_new", "c_new"], onnx_weights((cell,)))
    return answers


class Ours(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, EMBEDDING)
        self.encoder = Recurrent("lstm", EMBEDDING, HIDDEN, bidirectional=True)
        self.output = nn.Linear(2 * HIDDEN, CLASSES)

    def forward(self, ids: Tensor) -> Tensor:
        return self.output(self.encoder(self.embedding(ids)).outputs.amax(1))


class Plain(nn.Module):
    """The same with torch.nn alone, and the same weights."""

    def __init__(self, ours: Ours) -> None:
        super().__init__()
        self.embedding, self.output = ours.embedding, ours.output
        self.encoder = nn.LSTM(EMBEDDING, HIDDEN, batch_first=True, bidirectional=True)
        for cell, suffix in zip(ours.encoder.cells()[0], ("_l0", "_l0_reverse")):
            copy_weights(cell, self.encoder, suffix)

    def forward(self, ids: Tensor) -> Tensor:
        return self.output(self.encoder(self.embedding(ids))[0].amax(1))


def text_contestants(onnx: bool, compiled: bool) -> dict[str, Answer]:
    ours = Ours().eval()
    plain = Plain(ours).eval()
    ids = torch.randint(WORDS, (1, LENGTH))
    answers: dict[str, Answer] = {
        "torch.nn.LSTM": lambda: plain(ids),
        "unspool Recurrent": lambda: ours(ids),
    }
    if compiled:
        fast = torch.compile(plain)
        answers["torch.compile"] = lambda: fast(ids)
    if onnx:
        from onnx import helper

        make = helper.make_node
        nodes = [
            make("Gather", ["E", "ids"], ["x"]),  # (T, 1, E)
            make(
                "LSTM", ["x", "W", "R", "B"], ["y"], hidden_size=HIDDEN, direction="bidirectional"
            ),
            make("ReduceMax", ["y", "time"], ["top"], keepdims=0),  # (T, D, 1, H) -> (D, 1, H)
            make("Flatten", ["top"], ["flat"], axis=0),  # (1, D·H)
            make("Gemm", ["flat", "V", "d"], ["logits"], transB=1),
        ]
        weights = {
            **onnx_weights(ours.encoder.cells()[0]),
            "E": ours.embedding.weight.detach().numpy(),
            "V": ours.output.weight.detach().numpy(),
            "d": ours.output.bias.detach().numpy(),
            "time": np.array([0]),
        }
        answers["onnxruntime"] = session(nodes, {"ids": ids.T.numpy()}, ["logits"], weights)
    return answers


def check(answers: dict[str, Answer]) -> None:
    """All must give what the first gives."""
    given = {name: [np.asarray(part) for part in answer()] for name, answer in answers.items()}
    first = next(iter(given.values()))
    for name, parts in given.items():
        off = max(np.abs(a.ravel() - b.ravel()).max() for a, b in zip(first, parts))
        if not off < TOLERANCE:
            raise SystemExit(f"{name} gives something else: off by {off:.2g}")


def blocks(answers: dict[str, Answer], rounds: int, calls: int) -> dict[str, list[list[float]]]:
    """Microseconds of every call, [round][call]."""
    spent: dict[str, list[list[float]]] = {name: [] for name in answers}
    for _ in range(rounds):
        for name, answer in answers.items():
            time.sleep(PAUSE)
            times = []
            for _ in range(WARM + calls):
                start = time.perf_counter()
                answer()
                times.append(1e6 * (time.perf_counter() - start))
            spent[name].append(times[WARM:])
    return spent


def measure(
    title: str, answers: dict[str, Answer], rounds: int, calls: int
) -> list[dict[str, Any]]:
    with torch.inference_mode():
        check(answers)
        spent = blocks(answers, rounds, calls)
    middle = {name: median(chain(*times)) for name, times in spent.items()}
    best = {name: min(map(median, times)) for name, times in spent.items()}
    base = next(iter(answers))
    print(f"\n{title}\n{'':<22}{'us':>9}{'best':>9}{'x ' + base:>21}{'by best':>9}")
    rows = []
    for name in answers:
        ratio = middle[base] / middle[name]
        print(
            f"{name:<22}{middle[name]:>9.1f}{best[name]:>9.1f}{ratio:>21.2f}"
            f"{best[base] / best[name]:>9.2f}",
            flush=True,
        )
        rows.append(
            {"case": title, "name": name, "us": middle[name], "best_us": best[name], "ratio": ratio}
        )
    return rows


def main() -> None:
    arguments = parser(__doc__, rounds=15)
    arguments.add_argument("--compile", action="store_true", help="the text also by torch.compile")
    options = arguments.parse_args()
    if options.quick:
        options.rounds = 2
    machine = set_up(options)
    torch.manual_seed(1)
    onnx = installed("onnx", "onnxruntime")
    rounds, calls = options.rounds, 20 if options.quick else 200
    rows: list[dict[str, Any]] = []
    for hidden in (128, 256, 512):
        answers = step_contestants(hidden, onnx)
        rows += measure(f"one step, H {hidden}", answers, rounds, calls)
    answers = text_contestants(onnx, options.compile)
    rows += measure(f"one text of {LENGTH} tokens", answers, rounds, max(10, calls // 4))
    write_json(options.json, machine, rows)


if __name__ == "__main__":
    main()
