"""`unspool export RUN --to onnx`: a trained run in, a folder with a verified graph out.

    model.onnx      the whole model, with batch size and length left open
    model.json      how its inputs are made of texts or series, and what its outputs mean
    predict.py      both in numpy and onnxruntime alone
    check.json      examples with their answers, which `python predict.py --check` compares
    README.md       inputs, outputs, and how to run it

A graph that does not answer as the model does, at sizes that nothing was fitted to, is not written.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from unspool.data.fields.field import Portable
from unspool.errors import ConfigError, Option
from unspool.export import layers as layers
from unspool.export.graph import OPSET, Graph, Port, Symbol
from unspool.io.files import write_atomic
from unspool.tasks.abilities import Exports

TOLERANCE = 1e-4
SIZES = ((1, 1), (1, 2), (3, 7), (2, 1), (5, 33), (1, 120))  # batch, steps
# The axes of an input by its name in a batch; None: of a size that is fixed.
AXES: dict[str, tuple[str | None, ...]] = {
    "ids": ("batch", "steps"),
    "counts": ("batch", "steps"),
    "values": ("batch", "steps", None),
    "features": ("batch", None),
    "lengths": ("batch",),
    "firsts": ("batch",),
    "spellings": ("words", "characters"),
    "sizes": ("words",),
    "which": ("batch", "steps"),
}
OUTPUT_AXES: dict[str, tuple[str | None, ...]] = {
    "probabilities": ("batch", None),
    "numbers": ("batch", None),
    "tags": ("batch", "steps"),
}


class Exported(NamedTuple):
    """A folder with a graph, and how far its outputs were from those of the model."""

    folder: Path
    size: int
    parameters: int
    error: float
    checks: int

    def lines(self) -> list[str]:
        return [
            f"{self.folder}: model.onnx, {self.size / 1e6:.1f} MB, opset {OPSET}",
            f"verified in onnxruntime on {self.checks} batches of other sizes: outputs differ by"
            f" {self.error:.1e} at most",
            f"next: python {self.folder / 'predict.py'} --help",
        ]

    def to_json(self) -> dict[str, Any]:
        return {**self._asdict(), "folder": str(self.folder), "opset": OPSET}


def export_onnx(task: Any, model: nn.Module, folder: Path, *, source: str) -> Exported:
    """Write the graph of a run into a new folder; `source` is the name of the run."""
    refuse_others(task)
    if folder.exists() and any(folder.iterdir()):
        raise ConfigError(
            "the folder is not empty", where=folder, remedy=("name another with ", Option("out"))
        )
    reads = task.input_field.portable()
    examples = example_batches(task)
    graph = emit(task, model.eval(), examples[0])
    proto = graph.model({"unspool": task.name})
    data = proto.SerializeToString()
    error = verify(task, model, data, examples)
    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(folder / "model.onnx", data)
    manifest = {
        "task": task.name,
        "model": task.config.model_name,
        "source": source,
        "opset": OPSET,
        "sha256": hashlib.sha256(data).hexdigest(),
        "input": reads,
        "output": task.export_answer(),
    }
    write_atomic(folder / "model.json", as_json(manifest))
    shutil.copyfile(Path(__file__).with_name("standalone.py"), folder / "predict.py")
    write_atomic(folder / "check.json", as_json(checks_of(task, model)))
    write_atomic(folder / "README.md", readme(graph, manifest))
    count = sum(p.numel() for p in model.parameters())
    return Exported(folder, len(data), count, error, len(examples))


def refuse_others(task: Any) -> None:
    """Raise a ConfigError where a model has no graph."""
    field = task.input_field
    if not isinstance(task, Exports) or not isinstance(field, Portable):
        kind = getattr(field, "kind", "")
        raise ConfigError(
            "this model cannot be exported to ONNX yet",
            got=f"task {task.name}, input {kind}",
            remedy="see what can be in docs/export.md",
        )


def flat(names: Any, values: Any, suffix: str = "") -> Iterator[tuple[str, torch.Tensor]]:
    """The inputs of a batch by name; those of the members of an ensemble are numbered."""
    if hasattr(names, "members"):
        for number, member in enumerate(names.members, 1):
            yield from flat(member, member.inputs, f"_{number}")
        return
    by_address = {id(getattr(names, name)): name for name in names._fields}
    for value in values:
        if value is not None:
            yield by_address[id(value)] + suffix, value


def emit(task: Any, model: nn.Module, batch: Any) -> Graph:
    """The graph of a model; the batch has the types of its inputs, and the sizes that are fixed."""
    graph, made = Graph(), {}
    for name, value in flat(batch, batch.inputs):
        axes = AXES[name.split("_")[0]]
        sizes = [
            size
            if axis is None
            else f"{axis}{name[len(name.split('_')[0]) :]}" * (axis != "batch") or "batch"
            for axis, size in zip(axes, value.shape)
        ]
        made[id(value)] = graph.input(Port(name, value.dtype, tuple(sizes)))
    with torch.no_grad():
        outputs = task.export_outputs(model, symbols(batch.inputs, made))
    for name, value in outputs.items():
        assert isinstance(value, Symbol)
        sizes = [
            size if axis is None and size is not None else axis or "size"
            for axis, size in zip(OUTPUT_AXES[name], value.sizes)
        ]
        graph.output(value, name, sizes)
    return graph


def symbols(values: Any, made: Mapping[int, Symbol]) -> Any:
    if isinstance(values, tuple):
        return tuple(symbols(value, made) for value in values)
    return made.get(id(values))


def example_batches(task: Any) -> list[Any]:
    """Batches of random values, of sizes that have nothing to do with the training data."""
    rng, field = np.random.default_rng(0), task.input_field
    batches = []
    for batch, steps in SIZES:
        lengths = [steps, *rng.integers(1, steps + 1, batch - 1).tolist()]
        batches.append(field.portable_batch([field.portable_item(n, rng) for n in lengths]))
    return batches


def verify(task: Any, model: nn.Module, data: bytes, batches: list[Any]) -> float:
    """The largest difference from the model's outputs; a ConfigError where it is too large."""
    import onnxruntime

    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    wanted = {port.name for port in session.get_inputs()}
    worst = 0.0
    for batch in batches:
        feeds = {name: value.numpy() for name, value in flat(batch, batch.inputs) if name in wanted}
        with torch.inference_mode():
            expected = task.export_outputs(model, batch.inputs)
        for name, value in zip(expected, session.run(list(expected), feeds)):
            reference = expected[name].numpy()
            scale = max(1.0, float(np.abs(reference).max(initial=0)))
            error = float(np.abs(value - reference).max(initial=0)) / scale
            same = reference.shape == value.shape and np.isfinite(value).all()
            if not same or not error <= TOLERANCE:
                raise ConfigError(
                    f"the graph does not answer as the model does: {name} differ by {error:.2g} of"
                    f" {scale:.3g} for inputs of shape {tuple(next(iter(feeds.values())).shape)}",
                    remedy="report it with the run; nothing was written",
                )
            worst = max(worst, error)
    return worst


def checks_of(task: Any, model: nn.Module) -> list[dict[str, Any]]:
    """Items and the outputs of the model, for `predict.py --check`."""
    rng, field = np.random.default_rng(1), task.input_field
    checks = []
    for steps in (1, 3, 12, 40):
        item = field.portable_item(steps, rng)
        with torch.inference_mode():
            outputs = task.export_outputs(model, field.portable_batch([item]).inputs)
        shown = item.tolist() if isinstance(item, np.ndarray) else item
        values = {name: x[0].tolist() for name, x in outputs.items()}
        checks.append({"item": shown, "outputs": values})
    return checks


def readme(graph: Graph, manifest: Mapping[str, Any]) -> str:
    used = [*(("input", port) for port in graph.inputs), *(("output", p) for p in graph.outputs)]
    rows = [
        f"| {kind} | `{port.name}` | {str(port.dtype).removeprefix('torch.')}"
        f" | ({', '.join(map(str, port.axes))}) |"
        for kind, port in used
    ]
    return "\n".join(
        [
            f"# {manifest['source']}: {manifest['task']} by {manifest['model']}, as ONNX",
            "",
            "    pip install numpy onnxruntime"
            + (" tokenizers" if needs_tokenizers(manifest["input"]) else ""),
            "    python predict.py --check            # compare with check.json",
            "    python predict.py --help             # values to predict, or a file of them",
            "",
            f"`model.onnx` (opset {OPSET}) holds for any batch size and any length:",
            "",
            "| | name | type | shape |",
            "|---|---|---|---|",
            *rows,
            "",
            "`model.json` says how inputs are made of what people give, and what outputs mean;"
            " `predict.py` does both, and may be copied.",
            "",
        ]
    )


def needs_tokenizers(reads: Mapping[str, Any]) -> bool:
    members = reads.get("members", [reads])
    return any("model" in member.get("tokenizer", {}) for member in members)


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1) + "\n"
