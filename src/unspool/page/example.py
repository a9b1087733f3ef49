"""A text to begin with, for a page that was opened without one.

In: the task of a run and the file it was trained on. Out: the beginning of that file's first text;
where the file is gone, some words that the model knows.
"""

from __future__ import annotations

import re

from unspool.errors import UserError
from unspool.tasks import Task
from unspool.tasks.opening import open_plan

LENGTH = 120  # characters, at most
WORDS = 5


def example_text(task: Task, data: str) -> str:
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
