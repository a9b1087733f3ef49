"""`unspool export RUN --to onnx`: a trained run in, a folder with verified graphs out.

    model.onnx                the whole model, with batch size and length left open; or
    start.onnx, step.onnx     of one that writes token by token
    model.json                how inputs are made of texts or series, and what outputs mean
    predict.py                both in numpy and onnxruntime alone
    check.json                values and what the model makes of them: `python predict.py --check`
    README.md                 inputs, outputs, and how to run it

A graph that does not answer as the model does, at sizes that nothing was fitted to, is not written.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from unspool.data.fields.field import Portable
from unspool.errors import ConfigError
from unspool.export.emit import Axes, Emitted, Named, emit, leaves, rebuilt
from unspool.export.folder import new_folder, refuse_full
from unspool.export.graph import OPSET
from unspool.export.int8 import Quantised
from unspool.export.items import shown_item
from unspool.io.files import write_atomic
from unspool.tasks.abilities import Exports, ExportsSteps

SIZES = ((1, 1), (1, 2), (3, 7), (2, 1), (5, 33), (1, 120))  # batch, steps
# The axes of an input by its name in a batch; None: of a size that is fixed.
AXES: dict[str, tuple[str | None, ...]] = {
    "ids": ("batch", "steps"),
    "counts": ("batch", "steps"),
    "values": ("batch", "steps", None),
    "features": ("batch", None),
    "y": ("batch", None),
    "observed": ("batch", None),
    "extra": ("batch", None, None),
    "known": ("batch", None, None),
    "lengths": ("batch",),
    "firsts": ("batch",),
    "spellings": ("words", "characters"),
    "sizes": ("words",),
    "which": ("batch", "steps"),
}


class Exported(NamedTuple):
    """A folder with graphs, and how far their outputs were from those of the model."""

    folder: Path
    files: tuple[str, ...]
    size: int
    parameters: int
    error: float
    checks: int
    int8: Quantised | None = None

    def lines(self) -> list[str]:
        return [
            f"{self.folder}: {', '.join(self.files)}, {self.size / 1e6:.1f} MB, opset {OPSET}",
            f"verified in onnxruntime on {self.checks} batches of other sizes: outputs differ by"
            f" {self.error:.1e} at most",
            *([] if self.int8 is None else [self.int8.line()]),
            f"next: python {self.folder / 'predict.py'} --help",
        ]

    def to_json(self) -> dict[str, Any]:
        int8 = None if self.int8 is None else self.int8._asdict()
        return {**self._asdict(), "folder": str(self.folder), "opset": OPSET, "int8": int8}


class Graphs(NamedTuple):
    """Verified graphs by name, what model.json holds, and values with their outputs."""

    graphs: Mapping[str, Emitted]
    manifest: dict[str, Any]
    checks: list[dict[str, Any]]

    @property
    def error(self) -> float:
        return max(each.error for each in self.graphs.values())

    def write(self, folder: Path) -> int:
        """The graphs, model.json and check.json; returns the size of the graphs."""
        for name, each in self.graphs.items():
            write_atomic(folder / f"{name}.onnx", each.data)
        write_atomic(folder / "model.json", as_json(self.manifest))
        write_atomic(folder / "check.json", as_json(self.checks))
        return sum(len(each.data) for each in self.graphs.values())


def export_onnx(task: Any, model: nn.Module, folder: Path, *, source: str) -> Exported:
    """Write the graphs of a run into a new folder; `source` is the name of the run."""
    refuse_full(folder)
    made = graphs_of(task, model.eval(), source)
    with new_folder(folder) as partial:
        size = made.write(partial)
        shutil.copyfile(Path(__file__).with_name("standalone.py"), partial / "predict.py")
        write_atomic(partial / "README.md", readme(made.graphs, made.manifest))
    return Exported(
        folder,
        tuple(f"{name}.onnx" for name in made.graphs),
        size,
        sum(p.numel() for p in model.parameters()),
        made.error,
        len(SIZES),
    )


def graphs_of(task: Any, model: nn.Module, source: str) -> Graphs:
    refuse_others(task)
    reads = task.input_field.portable()
    writes = isinstance(task, ExportsSteps)
    graphs = step_graphs(task, model) if writes else {"model": whole_graph(task, model)}
    manifest = {
        "task": task.name,
        "model": task.config.model_name,
        "source": source,
        "opset": OPSET,
        "sha256": {name: hashlib.sha256(each.data).hexdigest() for name, each in graphs.items()},
        "input": reads,
        "output": task.export_answer(),
    }
    if writes:
        manifest["steps"] = step_manifest(task, model, graphs)
    return Graphs(graphs, manifest, checks_of(task, model))


def refuse_others(task: Any) -> None:
    """Raise a ConfigError where a model has no graph."""
    field = task.input_field
    if not isinstance(task, Exports | ExportsSteps) or not isinstance(field, Portable):
        kind = getattr(field, "kind", "")
        raise ConfigError(
            "this model cannot be exported to ONNX yet",
            got=f"task {task.name}, input {kind}",
            remedy="see what can be in docs/export.md",
        )


def named(batch: Any, values: Any, suffix: str = "") -> Any:
    """The inputs of a batch as tuples of (name, tensor); those of the members of an ensemble are
    numbered."""
    if hasattr(batch, "members"):
        return tuple(named(m, m.inputs, f"_{n}") for n, m in enumerate(batch.members, 1))
    names = {id(getattr(batch, name)): name for name in batch._fields}
    return tuple(None if x is None else Input(names[id(x)] + suffix, x) for x in values)


class Input:
    """A tensor of a batch under its name."""

    def __init__(self, name: str, value: Tensor) -> None:
        self.name, self.value = name, value


def flat(batch: Any) -> dict[str, Tensor]:
    return {each.name: each.value for each in leaves(named(batch, batch.inputs))}


def filled(batch: Any, values: Named) -> tuple[Any, ...]:
    """The inputs of a batch with other values, by their names."""
    tree = named(batch, batch.inputs)
    return rebuilt(tree, iter([values[each.name] for each in leaves(tree)]))


def axes_of(name: str, value: Tensor) -> Axes:
    stem, _, number = name.partition("_")
    return [
        size if axis is None else axis + (f"_{number}" if number and axis != "batch" else "")
        for axis, size in zip(AXES[stem], value.shape)
    ]


def whole_graph(task: Any, model: nn.Module) -> Emitted:
    """From the inputs of a batch to the parts of its answers."""
    batches = example_batches(task)

    def compute(values: Named) -> Named:
        return task.export_outputs(model, filled(batches[0], values))

    return emit(compute, [flat(batch) for batch in batches], axes_of, task=task.name)


def step_graphs(task: Any, model: nn.Module) -> dict[str, Emitted]:
    """The start, from the inputs of a batch to a state, where there is something to read; and a
    step, from a token, or all tokens so far, and a state to scores and the parts of the state that
    change."""
    steps, graphs = task.export_steps(model), dict[str, Emitted]()
    batches = example_batches(task)
    with torch.no_grad():
        states = [task.export_start(model, batch.inputs) for batch in batches]
    sizes: list[Sequence[int | None]] = [[None, *x.shape[1:]] for x in leaves(states[0])]
    if task.reads_source:

        def start(values: Named) -> Named:
            return state_named(task.export_start(model, filled(batches[0], values)))

        graphs["start"] = emit(start, [flat(batch) for batch in batches], axes_of, task=task.name)
        sizes = list(graphs["start"].fixed.values())
    answer = task.export_answer()
    longest = answer.get("context") or answer.get("most") or max(SIZES)[1]
    rng = np.random.default_rng(2)
    examples = []
    for (batch, length), state in zip(SIZES, states):
        shape = (batch, min(length, longest)) if steps.by_prefix else (batch,)
        ids = torch.from_numpy(rng.integers(0, task.written_vocabulary, shape))
        examples.append({"ids": ids, **state_named(state)})

    def step(values: Named) -> Named:
        state = rebuilt(states[0], iter([values[name] for name in values if name != "ids"]))
        scores, after = steps.export_step(values["ids"], state)
        before = {id(value) for value in values.values()}
        changed = {n: x for n, x in state_named(after).items() if id(x) not in before}
        return {"scores": scores.float(), **{f"next_{name}": x for name, x in changed.items()}}

    def axes(name: str, value: Tensor) -> Axes:
        if name == "ids":
            return ("batch", "steps")[: value.dim()]
        fixed = sizes[int(name.partition("_")[2])]
        names = ("batch", "source", "more", "more")
        return [n if size is None else size for n, size in zip(names, fixed)]

    graphs["step"] = emit(step, examples, axes, task=task.name)
    return graphs


def state_named(state: Any) -> Named:
    return {f"state_{i}": leaf for i, leaf in enumerate(leaves(state))}


def step_manifest(task: Any, model: nn.Module, graphs: Mapping[str, Emitted]) -> dict[str, Any]:
    """How the graph of a step is fed."""
    ports = [port for port in graphs["step"].graph.inputs if port.name != "ids"]
    return {
        "by_prefix": bool(task.export_steps(model).by_prefix),
        "state": [port.name for port in ports],
        # Without a start a state begins with zeros of these sizes, for each row.
        "zeros": {} if "start" in graphs else {p.name: list(p.axes[1:]) for p in ports},
    }


def example_batches(task: Any) -> list[Any]:
    """Batches of random values, of sizes that have nothing to do with the training data."""
    rng, field = np.random.default_rng(0), task.input_field
    batches = []
    for batch, steps in SIZES:
        lengths = [steps, *rng.integers(1, steps + 1, batch - 1).tolist()]
        batches.append(field.portable_batch([field.portable_item(n, rng) for n in lengths]))
    return batches


def checks_of(task: Any, model: nn.Module) -> list[dict[str, Any]]:
    """Values, and what the model makes of them."""
    rng, field = np.random.default_rng(1), task.input_field
    checks = []
    for steps in (1, 3, 12, 40):
        item = field.portable_item(steps, rng)
        shown = shown_item(item)
        if isinstance(task, ExportsSteps):
            checks.append({"item": shown, "text": task.export_text(model, item)})
            continue
        with torch.inference_mode():
            outputs = task.export_outputs(model, field.portable_batch([item]).inputs)
        values = {name: x[0].tolist() for name, x in outputs.items()}
        checks.append({"item": shown, "outputs": values})
    return checks


def readme(graphs: Mapping[str, Emitted], manifest: Mapping[str, Any]) -> str:
    rows = [
        f"| `{name}.onnx` | {kind} | `{port.name}` | {str(port.dtype).removeprefix('torch.')}"
        f" | ({', '.join(map(str, port.axes))}) |"
        for name, each in graphs.items()
        for kind, ports in (("input", each.graph.inputs), ("output", each.graph.outputs))
        for port in ports
    ]
    packages = "numpy onnxruntime" + " tokenizers" * needs_tokenizers(manifest)
    return "\n".join(
        [
            f"# {manifest['source']}: {manifest['task']} by {manifest['model']}, as ONNX",
            "",
            f"    pip install {packages}",
            "    python predict.py -h",
            "",
            f"The graphs (opset {OPSET}) hold for any batch size and any length:",
            "",
            "| | | name | type | shape |",
            "|---|---|---|---|---|",
            *rows,
            "",
            "`model.json` says how inputs are made of what people give, and what outputs mean;"
            " `predict.py` does both, and may be copied.",
            "",
        ]
    )


def needs_tokenizers(manifest: Mapping[str, Any]) -> bool:
    reads = manifest["input"]
    parts = [*reads.get("members", [reads]), manifest["output"]]
    return any("model" in part.get("tokenizer", {}) for part in parts)


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1) + "\n"
