"""Reduced precision of predictions: bf16 or int8 products, where they cost little accuracy.

In: a loaded model, a file with answers, a bound. Out: the figures in both precisions, for the card.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from torch import nn

from unspool.data.plan import split_plans
from unspool.errors import ConfigError, Option
from unspool.tasks import Task
from unspool.tasks.planner import open_plan
from unspool.tasks.task import encode_plan
from unspool.training.machine import autocast


def reduced(precision: str, device: str) -> AbstractContextManager[Any]:
    """Compute predictions in this precision; int8 is an option of decoding."""
    return autocast("bf16" if precision == "bf16" else "fp32", device)


def with_precision_option(options: Any, precision: str) -> Any:
    """Options of a task with int8 products, if these are to be used."""
    return replace(options, int8=True) if precision == "int8" else options


def measure_precision(
    task: Task, model: nn.Module, precision: str, device: str, file: str, max_loss: float
) -> dict[str, Any]:
    """Score a file in fp32 and in `precision`; a ConfigError where the loss is above `max_loss`."""
    kind, metric = task.options, task.metric
    if precision == "int8" and "int8" not in getattr(kind, "__dataclass_fields__", {}):
        raise ConfigError(
            f"int8 is for models that decode with a Transformer; this is {task.name}",
            remedy=("use ", Option(precision="bf16")),
        )
    plan = open_plan(file, task.config.data, task.name)
    plan = split_plans(plan, task.config.data, training=False)[0].get("valid", plan)
    part, _ = encode_plan(task, plan)
    options = None if kind is None else kind()
    full = task.evaluate(model, part, options).metrics[metric.name]
    with reduced(precision, device):
        options = with_precision_option(options, precision)
        value = task.evaluate(model, part, options).metrics[metric.name]
    loss = full - value if metric.higher_is_better else value - full
    if not loss <= max_loss:
        raise ConfigError(
            f"{precision} changes {metric.name} from {full:.4f} to {value:.4f}, by more than"
            f" {max_loss:g}",
            where=file,
            remedy=("leave it out, or allow more with ", Option("max_loss")),
        )
    figures = {"metric": metric.name, "fp32": full, precision: value}
    return {**figures, "rows": len(part), "max_loss": max_loss}
