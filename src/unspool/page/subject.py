"""What a page shows, and what is asked of it.

A run folder in, a `Subject` out: its task, model, log and an example. The parameters that stand in
an address in, a `Query` out: every parameter of an answer, those left out at their default; one
that is unknown or no number is a ConfigError.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from torch import nn

from unspool.errors import ConfigError, RunError, UserError, choose
from unspool.insight.ngrams import NgramTable
from unspool.tasks import Task
from unspool.tasks.examples import Example
from unspool.tasks.opening import open_plan
from unspool.tasks.reading import Reading
from unspool.training.examples import read_examples
from unspool.training.folder import RunFolder

LENGTH = 120  # characters of an example, at most
WORDS = 5


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
        """A text to begin with."""
        return self.examples[0].text if self.examples else ""

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

    def read(self, text: str) -> Reading:
        return self.task.reading(self.trained, text)


def subject_of(folder: RunFolder, task: Task, model: nn.Module) -> Subject:
    if not task.reads_tokens:
        raise ConfigError(
            "the page shows texts, and this model reads series",
            where=folder.path,
            remedy=f"look at a recording: unspool look {folder.path} FILE --pictures DIR",
        )
    examples = read_examples(folder.path)
    if not examples:  # of a run from before these were kept
        data = folder.read_record()["data"]["train"]
        examples = [Example(example_text(task, "-" if data.get("memory") else data["path"]))]
    return Subject(task, model, folder.path, folder.metrics, examples)


def open_subject(path: str | Path) -> Subject:
    """Of a run that is being trained and has no weights yet, its training alone."""
    folder = RunFolder(Path(path))
    if folder.weights.exists() or not folder.metrics.exists():
        return subject_of(folder, *folder.load_model())
    return Subject(folder.load_task(), None, folder.path, folder.metrics, [])


def example_text(task: Task, data: str) -> str:
    """The beginning of the first text of the training file; where that is gone, some words that the
    model knows."""
    text = " ".join(first_text(task, data)[: 4 * LENGTH].split())
    if len(text) > LENGTH:
        text = text[: LENGTH + 1].rpartition(" ")[0] or text[:LENGTH]
    return task.example(text.split() or known_words(task))


def first_text(task: Task, data: str) -> str:
    """Of the data; "" where they cannot be read (any more)."""
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
    def of(cls, name: str, given: Mapping[str, str], defaults: Mapping[str, str]) -> Query:
        """`given`, and the defaults for the rest."""
        for parameter in given:
            if not defaults:
                raise ConfigError(f"{name!r} takes no parameters", got=parameter)
            choose(f"parameter of {name!r}", parameter, defaults)
        return cls({**defaults, **given})  # in the order of the defaults

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
