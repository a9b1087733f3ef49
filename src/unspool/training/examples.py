"""examples.json of a run folder: some inputs to look at the run with.

In: a task and the parts of its corpus, at the beginning of a training. Out: `Example`s again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from unspool.data.part import Part
from unspool.errors import RunError
from unspool.io.files import AGAIN, in_run, read_json, write_json
from unspool.tasks import Task
from unspool.tasks.examples import Example, choose_examples, plain

FILE = "examples.json"


def write_examples(folder: Path, task: Task, parts: Mapping[str, Part]) -> None:
    """Save examples of the validation part, which the weights have not seen; without one, of the
    training part."""
    part = parts.get("valid", parts["train"])
    if found := choose_examples(task, part):
        write_json(folder / FILE, [_stored(own, as_json=not task.reads_tokens) for own in found])


def read_examples(folder: Path) -> list[Example]:
    """None where a run has none."""
    path = folder / FILE
    if not in_run(path):
        return []
    stored = read_json(path)
    if not isinstance(stored, list) or not all(map(_is_example, stored)):
        raise RunError("damaged: no examples in it", where=path, remedy=AGAIN)
    return [
        Example(plain(own["text"]), own["truth"], tuple(own.get("steps", ()))) for own in stored
    ]


def _stored(own: Example, *, as_json: bool) -> dict[str, Any]:
    """A series as its arrays, not as a text of them."""
    found = {"text": json.loads(own.text) if as_json else own.text, "truth": own.truth}
    return {**found, "steps": list(own.steps)} if own.steps else found


def _is_example(value: Any) -> bool:
    """{"text": "..." or {"values": ...}, "truth": "..."}, of some with "steps": [...]"""
    return (
        isinstance(value, dict)
        and {"text", "truth"} <= value.keys() <= set(Example._fields)
        and isinstance(value["text"], str | dict)
        and isinstance(value["truth"], str)
        and isinstance(value.get("steps", []), list)
    )
