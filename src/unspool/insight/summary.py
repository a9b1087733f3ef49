"""A model as a table: its layers, the shapes that leave them, their parameters."""

from __future__ import annotations

from contextlib import nullcontext
from threading import get_ident
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from unspool.nn.network import Network
from unspool.nn.taps import record, taps
from unspool.tasks import Task


class SummaryLayer(NamedTuple):
    path: str
    kind: str
    shape: str  # of the output; B documents or lanes, T steps
    parameters: int


class ModelSummary(NamedTuple):
    """The layers in the order in which they run, and the total."""

    layers: list[SummaryLayer]
    parameters: int
    trainable: int

    def to_json(self) -> dict[str, Any]:
        return {
            "layers": [layer._asdict() for layer in self.layers],
            "parameters": self.parameters,
            "trainable": self.trainable,
        }

    def lines(self) -> list[str]:
        rows = [("layer", "kind", "output", "parameters")]
        rows += [(x.path, x.kind, x.shape, f"{x.parameters:,}") for x in self.layers]
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        lines = [
            "  ".join(
                cell.rjust(width) if i == 3 else cell.ljust(width)
                for i, (cell, width) in enumerate(zip(row, widths))
            )
            for row in rows
        ]
        lines.insert(1, "-" * len(lines[0]))
        return [*lines, lines[1], f"{self.parameters:,} parameters, {self.trainable:,} trainable"]

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return f"<pre>{self!r}</pre>"


def summarise(model: nn.Module, inputs: tuple[Any, ...]) -> ModelSummary:
    """Run `inputs` (one row of a few steps) through the model and note what leaves each layer.

    A layer is a module with a method `describe`, which names it in the words of the literature.
    """
    layers: list[SummaryLayer] = []
    handles = []
    counted: set[int] = set()
    thread = get_ident()  # another thread may run the model meanwhile

    def note(path: str, module: Any) -> None:
        def hook(_: nn.Module, __: Any, output: Any) -> None:
            if get_ident() != thread or any(layer.path == path for layer in layers):
                return
            fresh = [p for p in module.parameters() if id(p) not in counted]
            counted.update(id(p) for p in fresh)
            layers.append(
                SummaryLayer(
                    path, str(module.describe()), shape_of(output), sum(p.numel() for p in fresh)
                )
            )

        handles.append(module.register_forward_hook(hook))

    networks: list[str] = []  # what they describe includes their layers
    for path, module in model.named_modules():
        if hasattr(module, "describe") and not any(
            path.startswith(f"{n}.layers.") for n in networks
        ):
            note(path, module)
        if isinstance(module, Network):
            networks.append(path)
    was_training = model.training
    try:
        model.eval()
        # What is recorded runs module by module, so that no layer is passed by inside a kernel.
        tapped = record(model, "*") if taps(model) else nullcontext()
        with torch.inference_mode(), tapped:
            model(*inputs)
    finally:
        model.train(was_training)
        for handle in handles:
            handle.remove()
    parameters = list(model.parameters())
    return ModelSummary(
        layers,
        sum(p.numel() for p in parameters),
        sum(p.numel() for p in parameters if p.requires_grad),
    )


def summary_of(task: Task, model: nn.Module) -> ModelSummary:
    """The layers of a task's model, by running one short row through it."""
    return summarise(model, task.example_inputs())


def shape_of(output: Any) -> str:
    """(B, T, features) of a module's first tensor."""
    while not isinstance(output, Tensor):
        output = output[0]
    vectors = output.is_floating_point()  # ids have no features
    names = ["B", "T"][: output.ndim - vectors]
    return "(" + ", ".join([*names, *map(str, output.shape[len(names) :])]) + ")"
