"""Real inputs to look at a run with: a few short rows of what was held out, with their truth.

In: a task and a part of its corpus. Out: `Example`s, which the run folder keeps.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from unspool.data.fields.stream import TextStream
from unspool.data.part import Part
from unspool.errors import RunError, UserError
from unspool.io.files import AGAIN, in_run, read_json, write_json
from unspool.tasks.abilities import ChoosesExamples
from unspool.text.vocab import UNK_ID

if TYPE_CHECKING:
    from unspool.tasks.task import Task

EXAMPLES = "examples.json"  # of a run folder
KEPT = 5
SEARCHED = 200  # rows, or tokens of a stream for each example
WORDS = (6, 18)  # of a good example
LONGEST = 80  # words; of a longer text its beginning is taken, whose truth nobody knows
STEPS = 300  # of a good example of a series, at most


class Example(NamedTuple):
    """An input, and what the data say of it.

    text    of a field whose values are no texts, JSON that its `from_json` reads
    truth   in words; "" where the data say nothing
    steps   of series: the label of each step, or what came next: lists of numbers, a step each
    """

    text: str
    truth: str = ""
    steps: tuple[Any, ...] = ()


def choose_examples(task: Task, part: Part) -> list[Example]:
    """The best first, of as many different truths as there are; none where the data cannot be read
    a second time."""
    if isinstance(task.input_field, TextStream):
        examples = _continued(task, part)
    else:
        try:
            examples = _rows(task, part)
        except (UserError, OSError):
            return []
    examples = list({example.text: example for example in examples}.values())
    ranked = sorted(examples, key=lambda example: _rank(task, example))
    fresh: dict[str, Example] = {}
    for example in ranked:
        fresh.setdefault(example.truth, example)
    rest = [example for example in ranked if example is not fresh[example.truth]]
    return [*fresh.values(), *rest][:KEPT]


def row_example(task: Task, raw: Mapping[str, Any]) -> Example:
    """A row to look at, from its raw values by field: the input, and the expected answer."""
    truth = [plain(raw[name], ", ") for name in raw if task.fields[name].is_target]
    return Example(plain(task.input_field.form.to_json(raw[task.input])), ", ".join(truth))


def examples_of(task: Task, part: Part, row: int, raw: Mapping[str, Any]) -> list[Example]:
    if isinstance(task, ChoosesExamples):
        return task.examples_of(part, row, raw)
    return [row_example(task, raw)]


def _rows(task: Task, part: Part) -> list[Example]:
    if part.plan is None:
        return []
    rows = np.argsort(part.rows, kind="stable")[:SEARCHED]
    names = [name for name in part.fields if name in part]
    examples = []
    for row, values in zip(rows.tolist(), part.raw(rows, names)):
        raw = dict(zip(names, values))
        if not task.reads_tokens:
            if not task.input_field.source.may_be_stored(raw[task.input]):
                continue
            some = examples_of(task, part, row, raw)
            examples += [example for example in some if 0 < stored_size(task, example).share <= 1]
            continue
        (example,) = examples_of(task, part, row, raw)
        words = example.text.split()
        if len(words) > LONGEST:
            example = Example(" ".join(words[: WORDS[1]]))
        if words:
            examples.append(example)
    return examples


def _continued(task: Task, part: Part) -> list[Example]:
    """Examples from a long text: beginnings of lines, whose truth is how they go on."""
    stream = part[task.input]
    size = min(int(stream.sizes[0]), SEARCHED * KEPT)
    _, *lines = task.tokenizer.decode(stream.slice(0, 0, size).tolist()).split("\n")
    examples = []
    for line in lines or [_]:
        words = line.split()[: WORDS[1]]
        if len(words) >= WORDS[0]:
            half = len(words) // 2
            examples.append(Example(" ".join(words[:half]), " ".join(words[half:])))
    return examples


def stored_size(task: Task, example: Example) -> Any:
    """The size of an example that is no text."""
    return task.input_field.source.stored_size(json.loads(example.text))


def _rank(task: Task, example: Example) -> tuple[int, ...]:
    """Smaller is better: neither short nor long, on one line, of known words."""
    if not task.reads_tokens:
        return (max(0, stored_size(task, example).steps - STEPS),)
    count = len(example.text.split())
    outside = max(WORDS[0] - count, count - WORDS[1], 0)
    unknown = int((task.tokenizer.encode(example.text) == UNK_ID).sum())
    return outside, example.text.count("\n"), unknown


def plain(value: Any, between: str = " ") -> str:
    """A raw value, perhaps a list, as a text; an object as JSON."""
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return between.join(map(str, value))
    return str(value)


def write_examples(folder: Path, task: Task, parts: Mapping[str, Part]) -> None:
    """Save examples of the validation part, which the weights have not seen; without one, of the
    training part."""
    part = parts.get("valid", parts["train"])
    if examples := choose_examples(task, part):
        as_json = not task.reads_tokens
        write_json(folder / EXAMPLES, [_stored(example, as_json=as_json) for example in examples])


def read_examples(folder: Path) -> list[Example]:
    """The examples of a run; an empty list where it has none."""
    path = folder / EXAMPLES
    if not in_run(path):
        return []
    stored = read_json(path)
    if not isinstance(stored, list) or not all(map(_is_example, stored)):
        raise RunError("damaged: no examples in it", where=path, remedy=AGAIN)
    return [
        Example(plain(row["text"]), row["truth"], tuple(row.get("steps", ()))) for row in stored
    ]


def _stored(example: Example, *, as_json: bool) -> dict[str, Any]:
    """A series as its arrays, not as a text of them."""
    text = json.loads(example.text) if as_json else example.text
    row = {"text": text, "truth": example.truth}
    return {**row, "steps": list(example.steps)} if example.steps else row


def _is_example(value: Any) -> bool:
    """{"text": "..." or {"values": ...}, "truth": "..."}, of some with "steps": [...]"""
    return (
        isinstance(value, dict)
        and {"text", "truth"} <= value.keys() <= set(Example._fields)
        and isinstance(value["text"], str | dict)
        and isinstance(value["truth"], str)
        and isinstance(value.get("steps", []), list)
    )
