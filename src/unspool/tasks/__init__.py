"""The tasks by name. A new one is a file and a line here, or `TASKS["mine"] = Mine` elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module

from unspool.tasks.answer import Answer, Answers
from unspool.tasks.task import Batches, Report, Step, Task, build_model


class Tasks(MutableMapping[str, type[Task]]):
    """Tasks of this folder are imported on first use: a run of one does not wait for all."""

    def __init__(self, **modules: tuple[str, str]) -> None:
        """Module in this folder and class, by the name of the task."""
        self._tasks: dict[str, tuple[str, str] | type[Task]] = dict(modules)

    def __getitem__(self, name: str) -> type[Task]:
        task = self._tasks[name]
        if isinstance(task, tuple):
            module, class_name = task
            task = getattr(import_module(f"{__name__}.{module}"), class_name)
        return task

    def __setitem__(self, name: str, task: type[Task]) -> None:
        self._tasks[name] = task

    def __delitem__(self, name: str) -> None:
        del self._tasks[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tasks)

    def __len__(self) -> int:
        return len(self._tasks)

    def __contains__(self, name: object) -> bool:
        return name in self._tasks


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
