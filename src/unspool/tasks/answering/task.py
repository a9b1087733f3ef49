"""answer: a question and where its answer is looked for.

In a context (`spans.py`) an answer is a stretch of it; about a story one of the answers of the
training data (`stories.py`), or written (`written.py`). What the table holds decides, `data.input`,
and `model.answer`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from unspool.config import Config, declare
from unspool.data.corpus import Corpus
from unspool.data.fields.field import Field
from unspool.data.plan import Plan
from unspool.tasks.answering.plan import CONTEXTS, QUESTIONS, plan_answers
from unspool.tasks.answering.spans import SpanAnswers
from unspool.tasks.answering.stories import WORDS, StoryAnswers
from unspool.tasks.answering.written import WrittenStoryAnswers
from unspool.tasks.roles import Roles
from unspool.tasks.task import Task


def about_story(settings: Mapping[str, Any]) -> bool:
    return settings.get("data.input", settings.get("input")) == "story"


def kind_of(config: Config) -> type[SpanAnswers | StoryAnswers | WrittenStoryAnswers]:
    if config.data.input != "story":
        return SpanAnswers
    return WrittenStoryAnswers if config.model.answer == "write" else StoryAnswers


class AnswerQuestions(SpanAnswers):
    """Makes the task of the one kind or the other."""

    settings = declare(
        data="text_pair label missing stride",
        model="pair reasoning answer hops memory encoder pooling dense attention input_feeding"
        " context_gate tied",
        train="label_smoothing class_weights oversample calibrate baseline",
    )
    unread: ClassVar = {
        "question": declare(
            model="attention input_feeding context_gate tied",
            train="label_smoothing class_weights oversample calibrate",
        ),
        "story": declare(data="text text_pair label stride", model="pair"),
    }
    roles = Roles(plan=plan_answers, columns=(QUESTIONS, CONTEXTS), default_input="question")

    def __new__(cls, config: Config, fields: Any) -> Any:
        return kind_of(config)(config, fields)

    @classmethod
    def make_fields(cls, config: Config) -> dict[str, Field]:
        return kind_of(config).make_fields(config)

    @classmethod
    def check_config(cls, config: Config) -> None:
        kind_of(config).check_config(config)

    @classmethod
    def load_corpus(cls, config: Config, plans: Mapping[str, Plan], **options: Any) -> Corpus:
        return kind_of(config).load_corpus(config, plans, **options)

    @classmethod
    def recommended_settings(
        cls, settings: Mapping[str, Any], plan: Plan | None = None
    ) -> dict[str, Any]:
        """Defaults that differ between stories and contexts."""
        if not about_story(settings):
            return {}
        words = settings.get("model.encoder", settings.get("encoder")) == "none"
        return {**StoryAnswers.defaults, **(WORDS if words else {})}

    @classmethod
    def usual_model(cls, settings: Mapping[str, Any]) -> str:
        return (StoryAnswers if about_story(settings) else SpanAnswers).default_model

    @classmethod
    def models(cls) -> dict[str, dict[str, Any]]:
        return {**SpanAnswers.models(), **StoryAnswers.models()}

    @classmethod
    def load(cls, config: Config, folder: Path) -> Task:  # type: ignore[override]
        return kind_of(config).load(config, folder)
