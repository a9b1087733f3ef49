"""Tasks with a vocabulary and labels that a test names, without any data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unspool.config import Config
from unspool.tasks import TASKS
from unspool.tasks.task import Task
from unspool.text.tokenizers import CharTokenizer, Tokenizer


def make_task(
    config: Config,
    tokenizer: Tokenizer,
    labels: Sequence[str] = (),
    *,
    target: Tokenizer | None = None,
    characters: CharTokenizer | None = None,
) -> Task:
    """The task of a config; what it reads has the tokenizer, what it writes the labels."""
    fields = TASKS[config.task].make_fields(config)
    for i, field in enumerate(fields.values()):
        made: Any = field
        if hasattr(field, "tokenizer"):
            made.tokenizer = tokenizer if i == 0 else target or tokenizer
        if hasattr(field, "spelling") and made.reads_characters:
            made.spelling = characters
        if field.is_target and hasattr(field, "names"):
            made.names = list(labels)
    return TASKS[config.task](config, fields)
