"""A trained model: load a run folder, then evaluate, predict, generate, look inside."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from torch import nn

from unspool.config import Config
from unspool.config.resolve import reading_changed
from unspool.data.parts import split_plans
from unspool.data.store.columns import Progress
from unspool.errors import ConfigError, DataError
from unspool.insight.gradients import GradientFlow
from unspool.insight.learnt import flow_of_run
from unspool.insight.saliency import Saliency, explain
from unspool.insight.summary import Summary, summary_of
from unspool.insight.trace import Trace, trace
from unspool.tasks import Answers, Report, Task
from unspool.tasks.elmo import WordsInContext
from unspool.tasks.generate import Generation
from unspool.tasks.opening import open_plan
from unspool.training.checkpoint import Counters
from unspool.training.folder import RunFolder

if TYPE_CHECKING:  # the page is loaded when it is asked for
    from unspool.page.look import Look
    from unspool.page.subject import Subject

T = TypeVar("T")


class Run:
    """One run folder with its model, ready to use."""

    def __init__(self, folder: RunFolder, task: Task, model: nn.Module) -> None:
        self.folder, self.task, self.model = folder, task, model.eval()
        # Only of a run that this process has trained:
        self.report: Report | None = None  # on the held-out part
        self.report_part: str | None = None
        self.counters: Counters | None = None

    @property
    def config(self) -> Config:
        return self.task.config

    @property
    def path(self) -> Path:
        return self.folder.path

    def metrics(self) -> list[dict[str, Any]]:
        """The training log, one record a line of metrics.jsonl."""
        with open(self.folder.metrics, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def evaluate(
        self,
        data: str | Path,
        options: Any = None,
        *,
        note: Callable[[str], None] | None = None,
        progress: Progress | None = None,
        **reading: Any,
    ) -> Report:
        """Score the model on a file.

        options  as of `predict`: how the answers that are scored are made, as `Decoding(beam=8)`
        reading  overrides how the file is read: text=, label=, ...
        """
        self._check(options)
        config = reading_changed(self.config, reading)
        plan = open_plan(data, config.data, self.task.name)
        parts, parts_note = split_plans(plan, config.data, training=False)
        plan = parts.get("test", plan)
        if note is not None:
            note(plan.summary)
            if parts_note is not None:
                note(parts_note + ("; the rows of test are scored" if "test" in parts else ""))
        part, notes = self.task.encode(plan, progress)
        if note is not None:
            for line in notes:
                note(line)
        try:
            return self.task.evaluate(self.model, part, options)
        except DataError as error:  # such as a text of one token
            raise DataError(str(error), where=plan.table.path) from None

    def predict(self, items: str | Iterable[Any], options: Any = None) -> Answers:
        """What the model answers to each item: the label of a text, its words and spans with their
        tags, its translation, its continuation, or what fits at its <mask>s.

        items    a text, or several; for a tagger each may also be a list of words
        options  how the answers are made, of the class that the task names: for translations
                 `Decoding(beam=8, nbest=3)`; None: the defaults
        """
        return Answers(self.stream(items, options))

    def stream(self, items: str | Iterable[Any], options: Any = None) -> Iterator[Any]:
        """Like `predict`, one answer at a time, for input of any length."""
        self._check(options)
        return self._call(self.task.predict, as_list(items), options)

    def generate(
        self,
        prompt: str = "",
        *,
        length: int = 200,
        temperature: float = 0.8,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 1,
    ) -> str:
        """The prompt and `length` tokens that a language model continues it with."""
        options = Generation(
            length=length, temperature=temperature, top_k=top_k, top_p=top_p, seed=seed
        )
        return "".join(self.pieces(prompt, options))

    def pieces(self, prompt: str = "", options: Generation | None = None) -> Iterator[str]:
        """`generate`, piece by piece as the text grows."""
        return self._call(self.task.generate, prompt, options)

    def vectors(self, texts: str | Iterable[str]) -> list[WordsInContext]:
        """Of an elmo run: the words of each text with their contextual vectors."""
        return list(self._call(self.task.vectors, as_list(texts)))

    def _call(self, method: Callable[..., Iterator[T]], *arguments: Any) -> Iterator[T]:
        """What a method of the task gives; where it cannot, the error names the run."""
        try:
            return method(self.model, *arguments)
        except ConfigError as error:
            raise ConfigError(str(error), where=self.path) from None

    def _check(self, options: Any) -> None:
        """Options are those of the task."""
        kind = self.task.options
        if options is not None and (kind is None or not isinstance(options, kind)):
            raise ConfigError(
                f"a {self.task.name} model takes "
                + ("no options" if kind is None else f"options of the class {kind.__name__}"),
                where=self.path,
                got=type(options).__name__,
                remedy="leave them out",
            )

    def trace(self, text: str | Sequence[str], *, top: int = 5) -> Trace:
        """One run on a text with everything inside recorded, and the `top` answers at each step;
        to be tagged, a text may also be a list of words."""
        return trace(self.task, self.model, text, top=top)

    def explain(
        self,
        text: str | Sequence[str],
        *,
        step: int | None = None,
        answer: str | None = None,
        method: str = "integrated",
    ) -> Saliency:
        """What each token contributes to an answer, and what would be without it: see
        `unspool.insight.saliency.explain`."""
        reading = self.task.reading(self.model, text)
        return explain(reading, step=step, answer=answer, method=method)

    def gradients(
        self,
        text: str | Sequence[str] | None = None,
        *,
        distance: int = 200,
        seed: int = 1,
        what_if: bool = False,
    ) -> GradientFlow:
        """Of a recurrent model: how far back its first layer learns, compared with untrained cells
        of the same size, or with itself and one thing changed (`what_if`), reading the text, or
        random tokens over `distance` steps."""
        reading = None if text is None else self.task.reading(self.model, text)
        return flow_of_run(
            self.task, self.model, reading, distance=distance, seed=seed, what_if=what_if
        )

    def look(self, text: str | None = None, view: str | None = None) -> Look:
        """The page of what the model does with a text: shown in a notebook, `.save(path)` writes it
        as one file, `.serve()` opens it in the browser.

        text   None: an example
        view   unrolled, attention, saliency, gradients, ngrams, positions, neighbours or training;
               None: all that this model has
        """
        from unspool.page.look import Look

        return Look(self.subject(), text, view)

    def subject(self) -> Subject:
        """What its page shows."""
        from unspool.page.subject import subject_of

        return subject_of(self.folder, self.task, self.model)

    def summary(self) -> Summary:
        return summary_of(self.task, self.model)

    def __repr__(self) -> str:
        return f"<Run {self.path}: {self.task.name}, {self.config.model_name}>"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}\n{escape(repr(self.summary()))}</pre>"


def as_list(items: str | Iterable[Any]) -> Iterable[Any]:
    return [items] if isinstance(items, str) else items


def load(path: str | Path) -> Run:
    """The model of a run folder. Nothing in the folder is executed."""
    folder = RunFolder(Path(path))
    return Run(folder, *folder.load_model())
