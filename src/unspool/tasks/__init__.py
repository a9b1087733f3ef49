"""The tasks by name. A new one is a file in this folder and a line here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from unspool.tasks.answer import Answer, Answers
from unspool.tasks.task import Batches, Report, Step, Task, build_model


class Tasks(Mapping[str, type[Task]]):
    """Each is imported when it is first asked for: who runs one does not wait for all."""

    def __init__(self, **homes: tuple[str, str]) -> None:
        """The module in this folder and the class, by the name of the task."""
        self._homes = homes

    def __getitem__(self, name: str) -> type[Task]:
        module, kind = self._homes[name]
        found: type[Task] = getattr(import_module(f"{__name__}.{module}"), kind)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)

    def __contains__(self, name: object) -> bool:
        return name in self._homes


TASKS = Tasks(
    classify=("classify", "Classify"),
    regress=("regress", "Regress"),
    answer=("answering.task", "AnswerQuestions"),
    tag=("tag.task", "Tag"),
    generate=("generate", "Generate"),
    translate=("translate.task", "Translate"),
    summarize=("summarize.task", "Summarize"),
    transcribe=("transcribe.task", "Transcribe"),
    caption=("caption.task", "CaptionTask"),
    forecast=("forecast.task", "Forecast"),
    handwrite=("handwrite.task", "Handwrite"),
    compose=("compose.task", "Compose"),
    pretrain=("pretrain", "Pretrain"),
    elmo=("elmo", "ElmoTask"),
)

__all__ = ["TASKS", "Answer", "Answers", "Batches", "Report", "Step", "Task", "build_model"]
