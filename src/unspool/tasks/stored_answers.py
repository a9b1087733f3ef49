"""Answers that a run folder keeps: by them a server knows that a model still answers as it did.

In: a run folder with its task and model. Out: answers.json, or the result of comparing with it.
"""

from __future__ import annotations

import json
import math
from contextlib import suppress
from pathlib import Path
from typing import Any

from torch import nn

from unspool.errors import RunError, UserError
from unspool.io.files import AGAIN, in_run, read_json, write_json
from unspool.tasks.examples import read_examples
from unspool.tasks.task import Task

ANSWERS = "answers.json"  # of a run folder
KEPT = 3
LENGTH = 8  # steps of an answer that is written
TOLERANCE = 1e-2  # of scores: other processors, and their bf16


def write_answers(folder: Path, task: Task, model: nn.Module) -> None:
    """Store the answers to the first examples of a run that the model takes, if there are any."""
    if task.answer is None:
        return
    stored = []
    for example in read_examples(folder)[:KEPT]:
        with suppress(UserError):  # such as a text with characters that training had none of
            stored.append({"input": example.text, "answer": answer_to(task, model, example.text)})
    if stored:
        write_json(folder / ANSWERS, stored)


def check_answers(folder: Path, task: Task, model: nn.Module) -> str:
    """`passed`, or `none stored`; a RunError where the model answers otherwise."""
    path = folder / ANSWERS
    if task.answer is None or not in_run(path):
        return "none stored"
    stored = read_json(path)
    if not isinstance(stored, list) or not all(map(_is_stored, stored)):
        raise RunError("damaged: no answers in it", where=path, remedy=AGAIN)
    for number, each in enumerate(stored, 1):
        if not close(each["answer"], answer_to(task, model, each["input"])):
            raise RunError(
                f"the model does not answer example {number} as it did after training",
                where=path,
                remedy=AGAIN,
            )
    return "passed"


def answer_to(task: Task, model: nn.Module, text: str) -> Any:
    """The answer as JSON to an input as an example has it."""
    value = text if task.reads_tokens else json.loads(text)
    raw = task.input_field.form.from_json(value, "example")
    (answer,) = task.predict(model, [raw], certain(task.options))
    return json.loads(json.dumps(answer.to_json()))


def certain(kind: type | None) -> Any:
    """Options of a short answer that leaves nothing to chance."""
    names = getattr(kind, "__dataclass_fields__", {})
    if kind is None or "length" not in names:
        return None if kind is None else kind()
    return kind(length=LENGTH, temperature=0.0)


def close(one: Any, other: Any) -> bool:
    """Whether two values of JSON are the same, numbers nearly so."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(close(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(close, one, other))
    if isinstance(one, float) and isinstance(other, float | int):
        both_nan = math.isnan(one) and math.isnan(other)
        return both_nan or math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(one == other)


def _is_stored(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == {"input", "answer"}
        and isinstance(value["input"], str)
    )
