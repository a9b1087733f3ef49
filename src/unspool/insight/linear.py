"""Contributions of features to an answer of a linear model.

In: a task, its linear model and an item. Out: each feature of the item with what it adds to the
score of an answer,

    F = b + Σ_f x_f W_f

Of labels, F is the score of the answer less the mean score of all labels; of two labels, the log
odds of the answer. Of a number, F is that number.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch

from unspool.data.part import Part
from unspool.errors import choose
from unspool.nn.models.linear import Linear
from unspool.nn.taps import record
from unspool.tasks.task import as_array, walk

LINES = 20


class LinearExplanation(NamedTuple):
    """Features of one item, largest contribution first.

    values   (F,) what each feature adds to the score of the answer
    bias     the score without any feature
    """

    answer: str
    answered: str
    names: list[str]
    values: np.ndarray
    bias: float

    @property
    def score(self) -> float:
        return self.bias + float(self.values.sum())

    def to_json(self) -> dict[str, Any]:
        return {
            "answer": self.answer,
            "features": dict(zip(self.names, self.values.tolist())),
            "bias": self.bias,
            "score": self.score,
        }

    def lines(self) -> list[str]:
        shown = list(zip(self.names, self.values.tolist()))[:LINES]
        rest = len(self.names) - len(shown)
        sums = [("bias", self.bias), (f"sum, for {self.answer!r}", self.score)]
        if rest:
            sums.insert(0, (f"{rest:,} others", float(self.values[LINES:].sum())))
        width = max(len(name) for name, _ in [*shown, *sums, ("feature", 0)])
        largest = max((abs(value) for _, value in shown), default=1.0) or 1.0
        lines = [self.answered, f"{'feature':<{width}}  {'for it':>9}"]
        for name, value in shown:
            bar = ("+" if value > 0 else "-") * round(12 * abs(value) / largest)
            lines.append(f"{name:<{width}}  {value:9.4f}  {bar}".rstrip())
        return [*lines, *(f"{name:<{width}}  {value:9.4f}" for name, value in sums)]


def explain_linear(
    task: Any, model: Any, item: Any, answer: str | None = None
) -> LinearExplanation:
    """Explain an answer to an item; None: the one that the model gives."""
    part = Part.of(task.fields, **{task.input: [item]})
    (batch,) = walk(task.batches(part, training=False), model)
    inputs = batch[task.input].inputs
    assert isinstance(model, Linear)
    with torch.inference_mode(), record(model, "contributions") as trace:
        scores = as_array(model(*inputs).double())
    contributions = as_array(trace["contributions"][0].double())  # (F, K)
    bias = as_array(model.b.double())
    if model.pair:
        contributions, bias = (np.concatenate([-x, x], -1) for x in (contributions, bias))
    elif task.metric.higher_is_better and len(task.outputs) > 1:
        contributions = contributions - contributions.mean(-1, keepdims=True)
        bias = bias - bias.mean()
    k = int(scores[0].argmax())
    if answer is not None:
        k = task.outputs.index(choose("answer", answer, task.outputs))
    values, names = contributions[:, k], task.features.names_of(inputs)
    order = np.argsort(-np.abs(values), kind="stable")
    order = order[values[order] != 0]
    result = task.answered(task.input_field.form.shown(item), scores)
    return LinearExplanation(
        task.outputs[k], str(result), [names[i] for i in order], values[order], float(bias[k])
    )
