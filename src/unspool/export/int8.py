"""Weights of an exported graph as 8-bit integers, and what that costs on data with known answers.

    W ≈ s · Q,   Q in -64 … 63, s of each matrix;   activations are quantised as they come

Ranges have 7 bits, so that sums of products are exact on every processor.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unspool.data.plan import Plan
from unspool.errors import ConfigError, Option
from unspool.export.items import shown_item
from unspool.export.standalone import Model
from unspool.io.files import write_atomic
from unspool.tasks.abilities import Exports

MEASURED = ("label", "numbers", "tags")  # kinds of answers
BLOCK = 256  # rows that are predicted at once


class Quantised(NamedTuple):
    """A measure of the answers before and after, over `rows`, and the share that are the same."""

    measure: str
    before: float
    after: float
    same: float
    rows: int
    size: int

    def line(self) -> str:
        return (
            f"int8: {self.size / 1e6:.1f} MB; {self.measure} {self.before:.4f} before,"
            f" {self.after:.4f} after, on {self.rows:,} rows; {100 * self.same:.2f} % of the"
            " answers are the same"
        )


def refuse_int8(task: Any) -> None:
    """Raise an error about a model whose loss is not measured."""
    kind = task.export_answer()["kind"] if isinstance(task, Exports) else "text"
    if kind not in MEASURED:
        raise ConfigError(
            "integers are for models that answer with one label, numbers or tags",
            got=f"task {task.name}",
            remedy=("leave out ", Option("int8")),
        )


def quantise(folder: Path, plan: Plan) -> Quantised:
    """Replace the graph in a folder by one of integers; measured on the rows of a plan."""
    graph = folder / "model.onnx"
    rows = [row.values for row in plan.rows() if None not in row.values]
    items = [shown_item(values[0]) for values in rows]
    before = list(answers(folder, items))
    made = folder / "int8.onnx"
    with quiet_log():
        from onnxruntime.quantization import QuantType, quantize_dynamic

        quantize_dynamic(graph, made, weight_type=QuantType.QInt8, reduce_range=True)
    made.replace(graph)
    renew_checks(folder)
    after = list(answers(folder, items))
    truth = [values[1:] for values in rows]
    measure = "error" if "numbers" in before[0] else "accuracy"
    return Quantised(
        measure,
        score(before, truth),
        score(after, truth),
        float(np.mean([same(one, other) for one, other in zip(before, after)])),
        len(rows),
        graph.stat().st_size,
    )


@contextmanager
def quiet_log() -> Iterator[None]:
    """Without the advice that onnxruntime gives about graphs in general."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(before)


def renew_checks(folder: Path) -> None:
    """Store what the graph makes of the values in check.json now."""
    path, model = folder / "check.json", Model(folder)
    checks = json.loads(path.read_text(encoding="utf-8"))
    for each in checks:
        each["outputs"] = {name: x[0].tolist() for name, x in model.run([each["item"]]).items()}
    write_atomic(path, json.dumps(checks, ensure_ascii=False, indent=1) + "\n")


def answers(folder: Path, items: list[Any]) -> Iterator[dict[str, Any]]:
    model = Model(folder)
    for start in range(0, len(items), BLOCK):
        yield from model.answers(items[start : start + BLOCK])


def score(predicted: Sequence[dict[str, Any]], truth: Sequence[tuple[Any, ...]]) -> float:
    """The accuracy of labels or tags, or the root mean square error of numbers."""
    if "numbers" in predicted[0]:
        squares = [
            (one - float(other)) ** 2
            for answer, values in zip(predicted, truth)
            for one, other in zip(answer["numbers"].values(), values)
        ]
        return math.sqrt(float(np.mean(squares)))
    if "tags" in predicted[0]:
        tags = [values[0] for values in truth]
        written = [answer["tags"] for answer in predicted]
        return float(
            np.mean([one == other for row in zip(written, tags) for one, other in zip(*row)])
        )
    return float(np.mean([str(a["label"]) == str(v[0]) for a, v in zip(predicted, truth)]))


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    if "numbers" in one:
        pairs = zip(one["numbers"].values(), other["numbers"].values())
        return all(math.isclose(a, b, rel_tol=1e-2, abs_tol=1e-2) for a, b in pairs)
    key = "tags" if "tags" in one else "label"
    return bool(one.get(key) == other.get(key))
