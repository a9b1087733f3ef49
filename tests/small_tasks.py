"""Tasks with a vocabulary and labels that a test names, without any data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from unspool.api.settings import make_config
from unspool.config import Config, DataConfig, ModelConfig, TokenizerConfig
from unspool.data.corpus import Corpus
from unspool.data.fields.field import Field
from unspool.data.fields.label import LabelField, Labels
from unspool.data.fields.text import TextField
from unspool.data.fields.tokens import Tokens, number_words
from unspool.data.part import Part
from unspool.data.store.ragged import Ragged
from unspool.tasks import TASKS
from unspool.tasks.planner import open_plan
from unspool.tasks.settings import read_settings
from unspool.tasks.task import Task, encode_plan
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


def token_part(
    ids: Sequence[np.ndarray],
    words: Sequence[Sequence[str]] | None = None,
    *,
    labels: Sequence[int] | None = None,
) -> Part:
    """Texts of known ids, and where they are given words, as a part with a field "text"."""
    text = TextField("text", TokenizerConfig(kind="word"), spelled=words is not None)
    numbers, types = (None, []) if words is None else number_words(words)
    values: dict[str, Any] = {"text": Tokens(Ragged.of(ids), words=numbers, types=types)}
    fields: dict[str, Field] = {"text": text}
    if labels is not None:
        fields["label"] = LabelField("label")
        values["label"] = Labels(np.array(labels))
    return Part(fields, values)


class Loaded:
    """A corpus with short names for what tests look at."""

    def __init__(self, task: type[Task], config: Config, corpus: Corpus) -> None:
        self.config, self.corpus = config, corpus
        self.task = task(config, corpus.fields)
        self.fields, self.parts, self.notes = corpus.fields, corpus.parts, corpus.notes
        self.labels = self.task.labels

    @property
    def tokenizer(self) -> Tokenizer:
        return self.task.tokenizer

    def encode(self, path: object, **data: Any) -> tuple[Part, list[str]]:
        """Another file, for an evaluation."""
        settings = self.config.data.model_copy(update=data)
        return encode_plan(self.task, open_plan(str(path), settings, self.config.task))


def load_data(
    path: object,
    *,
    task: str | None = None,
    valid: object = None,
    test: object = None,
    seed: int = 1,
    data: dict[str, Any] | None = None,
    model: dict[str, Any] | None = None,
    progress: Any = None,
    **tokens: Any,
) -> Loaded:
    """A file, as training reads it with these settings of the sections data and tokenizer."""
    settings = DataConfig(**{"split_seed": seed, **(data or {})})
    plan = open_plan(str(path), settings, task)
    plans = {"train": plan}
    for name, other in (("valid", valid), ("test", test)):
        if other is not None:
            plans[name] = open_plan(str(other), settings, plan.task)
    config = Config(
        task=plan.task,
        data=settings,
        tokenizer=TokenizerConfig(**tokens),
        model=ModelConfig(**(model or {})),
    )
    kind = TASKS[plan.task]
    return Loaded(kind, config, kind.load_corpus(config, plans, progress=progress))


def read_by(config: Config, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Those of some settings, without their sections, that a run with this config reads."""
    names = {name.partition(".")[2] for name in read_settings(config)}
    return {name: value for name, value in settings.items() if name in names}


def small_settings(task: str, model: str, settings: Mapping[str, Any], **needed: Any) -> dict:
    """Those of some settings that a model of a task reads; its data need others."""
    return read_by(make_config(task, model, settings={**settings, **needed}), settings)
