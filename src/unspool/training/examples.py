"""examples.json of a run folder: some inputs to look at the run with.

In: a task and the parts of its corpus, at the beginning of a training. Out: `Example`s again.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from unspool.data.part import Part
from unspool.errors import RunError
from unspool.io.files import AGAIN, in_run, read_json, write_json
from unspool.tasks import Task
from unspool.tasks.examples import Example, choose_examples

FILE = "examples.json"


def write_examples(folder: Path, task: Task, parts: Mapping[str, Part]) -> None:
    """Of the validation part, which the weights have not learnt from; where there is none, of the
    training part."""
    part = parts.get("valid", parts["train"])
    if found := choose_examples(task, part):
        write_json(folder / FILE, [own._asdict() for own in found])


def read_examples(folder: Path) -> list[Example]:
    """None where a run has none."""
    path = folder / FILE
    if not in_run(path):
        return []
    stored = read_json(path)
    if not isinstance(stored, list) or not all(map(_is_example, stored)):
        raise RunError("damaged: no examples in it", where=path, remedy=AGAIN)
    return [Example(**own) for own in stored]


def _is_example(value: Any) -> bool:
    """{"text": ..., "truth": ...}"""
    return (
        isinstance(value, dict)
        and value.keys() == set(Example._fields)
        and all(isinstance(own, str) for own in value.values())
    )
