"""Subject of a page, and the queries to it.

A run folder in, a `Subject` out: its task, model, log and an example. The parameters that stand in
an address in, a `Query` out: every parameter of an answer, those left out at their default; one
that is unknown or no number is a ConfigError.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from torch import nn

from unspool.errors import ConfigError, DataError, RunError, UserError, choose
from unspool.insight.ngrams import NgramTable
from unspool.io.files import parse_json
from unspool.tasks import Task
from unspool.tasks.document import looked_into
from unspool.tasks.examples import Example, plain, read_examples
from unspool.tasks.planner import open_plan
from unspool.tasks.reading import Reading
from unspool.training.folder import RunFolder

LENGTH = 120  # characters of an example, at most
WORDS = 5
NUMBERS = 200_000  # of a series that is looked at


class Subject(NamedTuple):
    """A task with its trained model and the files of its run.

    model    None while a run is training and has no weights yet
    log      metrics.jsonl, which may still grow
    examples real inputs of the run, the first of which the page begins with
    table    of a cnn: the n-grams of a corpus, where one was given
    """

    task: Task
    model: nn.Module | None
    path: Path
    log: Path
    examples: list[Example]
    table: NgramTable | None = None

    @property
    def example(self) -> str:
        """First input of the page: a text, or the number of an example."""
        if not self.examples:
            return ""
        return self.examples[0].text if self.task.reads_tokens else "1"

    @property
    def trained(self) -> nn.Module:
        """The model; without one there is only the training to see."""
        if self.model is None:
            raise RunError(
                "the run has no trained weights yet",
                where=self.path,
                remedy="open the page again after its first epoch",
            )
        return self.model

    def known(self, text: str) -> Example | None:
        """The example that a question is about; one that is no text by its number, from 1."""
        if self.task.reads_tokens:
            return next((example for example in self.examples if example.text == text), None)
        number = int(text) if text.isascii() and text.isdecimal() and len(text) < 6 else 0
        return self.examples[number - 1] if 0 < number <= len(self.examples) else None

    def item(self, text: str) -> Any:
        """Input of a query as the task reads it: a text, or a value from JSON."""
        if self.task.reads_tokens:
            return text
        if not text.strip():
            display = self.task.input_field.form.display
            raise DataError(
                f"there is nothing to look at: no {display.medium} was given",
                remedy="choose a file, or drop one on the page"
                if display.pixels
                else "choose a file with columns of numbers, or paste some",
            )
        known = self.known(text)
        try:
            value = parse_json((text if known is None else known.text).encode())
        except ValueError as error:
            raise DataError(
                f"the series cannot be read: {error}", remedy="give lists of numbers"
            ) from None
        if isinstance(value, int | float | str | bool | None):
            raise DataError(
                "there is no such example",
                got=text[:80],
                remedy=f"choose from 1 to {len(self.examples)}" if self.examples else "give a file",
            )
        item = self.task.input_field.form.from_json(value, "the series")
        refuse_long(self.task.input_field, item)
        return item

    def read(self, text: str) -> Reading:
        return self.task.reading(self.trained, self.item(text))

    def input(self) -> dict[str, Any]:
        """Kind of input and how it is shown; for all but texts, the examples by name."""
        field, form = self.task.input_field, self.task.input_field.form
        if self.task.reads_tokens:
            return {"shown_as": "tokens", "unit": form.step_noun, "sides": list(form.sides)}
        return {
            "shown_as": form.display.form,
            "channels": field.channels,
            "pictured": form.display.pixels,
            "examples": [example_name(field, example) for example in self.examples],
        }

    def with_item(self, item: Any, truth: str = "") -> Subject:
        """The same with an input of which there is no text as its first example."""
        refuse_long(self.task.input_field, item)
        text = plain(self.task.input_field.form.to_json(item))
        return self._replace(examples=[Example(text, truth), *self.examples])


def refuse_long(field: Any, item: Any) -> None:
    size = field.recording(item, "the series").values.size
    if size > NUMBERS:
        raise DataError(
            f"a page shows series of up to {NUMBERS:,} numbers",
            got=f"{size:,}",
            remedy="give a shorter one",
        )


def subject_of(folder: RunFolder, task: Task, model: nn.Module) -> Subject:
    examples = read_examples(folder.path)
    if not examples and task.reads_tokens:  # of a run from before these were kept
        data = folder.read_record()["data"]["train"]
        examples = [Example(example_text(task, "-" if data.get("memory") else data["path"]))]
    return Subject(task, model, folder.path, folder.metrics, examples)


def example_name(field: Any, example: Example) -> str:
    """Name of an example that is not a text."""
    item = field.form.from_json(json.loads(example.text), "the example")
    name = item.name.rpartition("/")[2]  # of a file without its folder
    truth = example.truth or getattr(item, "text", "")
    return ", ".join(filter(None, [name, truth[: LENGTH // 2], field.source.extent(item)]))


def open_subject(path: str | Path) -> Subject:
    """A run that is still being trained, without weights: only its training can be shown."""
    folder = RunFolder.open(path)
    if folder.weights.exists() or not folder.metrics.exists():
        return subject_of(folder, *looked_into(*folder.load_model()))
    return Subject(folder.load_task(), None, folder.path, folder.metrics, [])


def example_text(task: Task, data: str) -> str:
    """The beginning of the first text of the training file; where that is gone, some words that the
    model knows."""
    text = " ".join(first_text(task, data)[: 4 * LENGTH].split())
    if len(text) > LENGTH:
        text = text[: LENGTH + 1].rpartition(" ")[0] or text[:LENGTH]
    return task.example(text.split() or known_words(task))


def first_text(task: Task, data: str) -> str:
    """The first text of the data; "" where they cannot be read (any more)."""
    if data == "-":
        return ""
    try:
        plan = open_plan(data, task.config.data, task.name)
        texts = (row.values[0] for row in plan.rows())
        texts = (text if isinstance(text, str) else " ".join(text) for text in texts)
        return next((text for text in texts if text.strip()), "")
    except (UserError, OSError):
        return ""


def known_words(task: Task) -> list[str]:
    """The first words of the vocabulary, which are the most frequent ones."""
    tokens = (token.strip() for token in task.tokenizer.vocab.tokens)
    return [token for token in tokens if re.fullmatch(r"\w+", token)][:WORDS] or ["a"]


class Query(dict[str, str]):
    """The parameters of one question, complete."""

    @classmethod
    def of(cls, name: str, parameters: Mapping[str, str], defaults: Mapping[str, str]) -> Query:
        """`given`, and the defaults for the rest."""
        for parameter in parameters:
            if not defaults:
                raise ConfigError(f"{name!r} takes no parameters", got=parameter)
            choose(f"parameter of {name!r}", parameter, defaults)
        return cls({**defaults, **parameters})  # in the order of the defaults

    def number(self, name: str, *, least: int = 0, most: int = 1_000_000) -> int:
        value = self[name]
        digits = value.lstrip("0") or value[:1]
        plain = value.isascii() and value.isdecimal() and len(digits) <= len(str(most))
        if not plain or not least <= int(digits) <= most:
            raise ConfigError(
                f"{name} is a whole number from {least} to {most}",
                got=value,
                remedy="give such a number",
            )
        return int(digits)

    def number_or_none(self, name: str, *, least: int = 0) -> int | None:
        return self.number(name, least=least) if self[name] else None
