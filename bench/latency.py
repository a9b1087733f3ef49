"""How long does one request take, alone: a step of an LSTM, and the label of a text?

    python bench/latency.py [--quick] [--json FILE] [--threads N] [--rounds N] [--compile] [--text]

A step: one vector and the state in, the state out, for H inputs and H units; the graph of
onnxruntime is written here by hand. A text (--text: it alone): 200 tokens through an embedding
(20,000 x 128), a bidirectional LSTM of H units, the maximum over time and a linear layer, which
onnxruntime reads as `unspool export` writes it, also with integers of 8 bits (`--int8`). Torch runs
eagerly (with --compile also through torch.compile). All have the same weights, and their answers
are compared before anything is timed. onnxruntime gets as many threads as torch.

Contestants take turns, a block of calls each, with a pause before and some calls that do not count:
idle threads of the one before must have gone to sleep. Printed: microseconds a call, the median of
all and the best block's median; how many times as fast as torch.nn that is; and the CPU time of all
threads, the median block's.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from timing import installed, parser, set_up, write_json
from unspool.native.recurrence import Stepper
from unspool.nn import LSTM, Recurrent

Answer = Callable[[], Any]  # one call; returns what the others must agree with
WORDS, EMBEDDING, LENGTH, CLASSES = 20_000, 128, 200, 2
PAUSE, WARM, TOLERANCE, ROUNDED = 0.02, 5, 1e-4, 0.1
INT8 = "onnxruntime, int8"


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
    return runner(model.SerializeToString(), outputs, inputs)


def runner(data: bytes, outputs: list[str], inputs: dict[str, np.ndarray]) -> Answer:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    made = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
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
    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, EMBEDDING)
        self.encoder = Recurrent("lstm", EMBEDDING, hidden, bidirectional=True)
        self.output = nn.Linear(2 * hidden, CLASSES)

    def forward(self, ids: Tensor) -> Tensor:
        return self.output(self.encoder(self.embedding(ids)).outputs.amax(1))


class Plain(nn.Module):
    """The same with torch.nn alone, and the same weights."""

    def __init__(self, ours: Ours) -> None:
        super().__init__()
        self.embedding, self.output = ours.embedding, ours.output
        self.encoder = nn.LSTM(
            EMBEDDING, ours.output.in_features // 2, batch_first=True, bidirectional=True
        )
        for cell, suffix in zip(ours.encoder.cells()[0], ("_l0", "_l0_reverse")):
            copy_weights(cell, self.encoder, suffix)

    def forward(self, ids: Tensor) -> Tensor:
        return self.output(self.encoder(self.embedding(ids))[0].amax(1))


def text_contestants(hidden: int, onnx: bool, compiled: bool) -> dict[str, Answer]:
    ours = Ours(hidden).eval()
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
        from unspool.export.emit import emit

        examples = [{"ids": torch.randint(WORDS, (2, steps))} for steps in (3, 20)]
        data = emit(
            lambda values: {"logits": ours(values["ids"])},
            examples,
            lambda name, value: ("batch", "steps"),
            task="a text",
        ).data
        for name, graph in (("onnxruntime", data), (INT8, quantised(data))):
            answers[name] = runner(graph, ["logits"], {"ids": ids.numpy()})
    return answers


def quantised(data: bytes) -> bytes:
    """A graph with weights of 8 bits, as `unspool export --int8` makes it."""
    from unspool.export.int8 import quiet_log

    with quiet_log():
        from onnxruntime.quantization import QuantType, quantize_dynamic

    with quiet_log(), tempfile.TemporaryDirectory() as folder:
        graph, made = Path(folder, "model.onnx"), Path(folder, "int8.onnx")
        graph.write_bytes(data)
        quantize_dynamic(graph, made, weight_type=QuantType.QInt8, reduce_range=True)
        return made.read_bytes()


def check(answers: dict[str, Answer]) -> None:
    """All must give what the first gives."""
    given = {name: [np.asarray(part) for part in answer()] for name, answer in answers.items()}
    first = next(iter(given.values()))
    for name, parts in given.items():
        off = max(np.abs(a.ravel() - b.ravel()).max() for a, b in zip(first, parts))
        if not off < (ROUNDED if name == INT8 else TOLERANCE):
            raise SystemExit(f"{name} gives something else: off by {off:.2g}")


class Spent(NamedTuple):
    """Microseconds of every call, [round][call], and of CPU a call in each round."""

    wall: list[list[float]]
    cpu: list[float]


def blocks(answers: dict[str, Answer], rounds: int, calls: int) -> dict[str, Spent]:
    spent = {name: Spent([], []) for name in answers}
    for _ in range(rounds):
        for name, answer in answers.items():
            time.sleep(PAUSE)
            for _ in range(WARM):
                answer()
            times, began = [], time.process_time()
            for _ in range(calls):
                start = time.perf_counter()
                answer()
                times.append(1e6 * (time.perf_counter() - start))
            spent[name].wall.append(times)
            spent[name].cpu.append(1e6 * (time.process_time() - began) / calls)
    return spent


def measure(
    title: str, answers: dict[str, Answer], rounds: int, calls: int
) -> list[dict[str, Any]]:
    with torch.inference_mode():
        check(answers)
        spent = blocks(answers, rounds, calls)
    middle = {name: median(chain(*times.wall)) for name, times in spent.items()}
    best = {name: min(map(median, times.wall)) for name, times in spent.items()}
    cpu = {name: median(times.cpu) for name, times in spent.items()}
    base = next(iter(answers))
    print(f"\n{title}\n{'':<22}{'us':>9}{'best':>9}{'x ' + base:>21}{'by best':>9}{'CPU us':>10}")
    rows = []
    for name in answers:
        ratio = middle[base] / middle[name]
        print(
            f"{name:<22}{middle[name]:>9.1f}{best[name]:>9.1f}{ratio:>21.2f}"
            f"{best[base] / best[name]:>9.2f}{cpu[name]:>10.1f}",
            flush=True,
        )
        rows.append(
            {
                "case": title,
                "name": name,
                "us": middle[name],
                "best_us": best[name],
                "ratio": ratio,
                "cpu_us": cpu[name],
            }
        )
    return rows


def main() -> None:
    arguments = parser(__doc__, rounds=15)
    arguments.add_argument("--compile", action="store_true", help="the text also by torch.compile")
    arguments.add_argument("--text", action="store_true", help="the text alone")
    options = arguments.parse_args()
    if options.quick:
        options.rounds = 2
    machine = set_up(options)
    torch.manual_seed(1)
    onnx = installed("onnx", "onnxruntime")
    rounds, calls = options.rounds, 20 if options.quick else 200
    rows: list[dict[str, Any]] = []
    for hidden in () if options.text else (128, 256, 512):
        answers = step_contestants(hidden, onnx)
        rows += measure(f"one step, H {hidden}", answers, rounds, calls)
    for hidden in (64, 128, 256, 512):
        answers = text_contestants(hidden, onnx, options.compile)
        title = f"one text of {LENGTH} tokens, H {hidden}"
        rows += measure(title, answers, rounds, max(10, calls // 4))
    write_json(options.json, machine, rows)


if __name__ == "__main__":
    main()
