"""A trained model: load a run folder, then evaluate, predict, generate, look inside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from torch import nn

from unspool.api.streaming import RunStream
from unspool.config import Config
from unspool.config.numbers import whole_number
from unspool.config.resolve import reading_changed
from unspool.data.part import Part
from unspool.data.plan import Plan, split_plans
from unspool.data.read.memory import columns_of, is_table, listed, source_of
from unspool.data.store.columns import Progress
from unspool.errors import ConfigError, DataError, Option, choose
from unspool.tasks import Answers, Report, Task
from unspool.tasks.abilities import (
    EncodesFutures,
    GeneratesText,
    GivesVectors,
    no_generation,
    no_vectors,
)
from unspool.tasks.document import looked_into
from unspool.tasks.planner import open_inputs, open_plan
from unspool.tasks.streaming import open_stream
from unspool.tasks.task import encode_plan, row_noun
from unspool.training.folder import RunFolder, path_of
from unspool.training.progress import default_note, read_log

if TYPE_CHECKING:  # what an answer does not need is loaded when it is asked for
    from unspool.export.onnx import Exported
    from unspool.export.transformers import ExportedFolder
    from unspool.export.web import ExportedPage
    from unspool.insight.gradients import GradientFlow
    from unspool.insight.linear import LinearExplanation
    from unspool.insight.saliency import Saliency
    from unspool.insight.summary import ModelSummary
    from unspool.insight.trace import Trace
    from unspool.page.subject import Subject
    from unspool.serve.look import LookPage
    from unspool.tasks.compose.answer import Composed
    from unspool.tasks.elmo import WordsInContext
    from unspool.tasks.generate import Generation
    from unspool.tasks.handwrite.answer import Handwritten
    from unspool.training.checkpoint import Counters
    from unspool.training.comparison import BaselineComparison
    from unspool.training.pack import Packed

T = TypeVar("T")


class Run:
    """One run folder with its model, ready to use."""

    def __init__(self, folder: RunFolder, task: Task, model: nn.Module) -> None:
        self.folder, self.task, self.model = folder, task, model.eval()
        self.counters: Counters | None = None  # of a run that this process has trained
        self.comparison: BaselineComparison | None = (
            None  # and its report beside those of simple models
        )
        self.parts: dict[str, Part] = {}  # of its data
        self._report: Report | None = None

    @property
    def report(self) -> Report | None:
        """On the held-out part, at the end of training; None where nothing was held out."""
        if self._report is None:
            self._report = self.folder.read_report()
        return self._report

    def keep(self, report: Report) -> None:
        """This is the report at the end of training."""
        self._report = report

    @property
    def report_part(self) -> str | None:
        """The part of the data that the report is on."""
        return self.report.part if self.report is not None else None

    @property
    def config(self) -> Config:
        return self.task.config

    @property
    def path(self) -> Path:
        return self.folder.path

    @property
    def data(self) -> dict[str, Any]:
        """Record of the training data: `files` with their hashes, the `summary` of how they were
        read, the number of `rows` of each part, and `notes` on what was left out."""
        record = self.folder.read_record()
        return {"files": record["data"], **record.get("corpus", {})}

    def metrics(self) -> list[dict[str, Any]]:
        """The training log, one record a line of metrics.jsonl."""
        return read_log(self.folder.metrics)

    def evaluate(
        self,
        data: Any,
        labels: Any = None,
        *,
        options: Any = None,
        history: Any = None,
        note: Callable[[str], None] | None = None,
        progress: Progress | None = None,
        **reading: Any,
    ) -> Report:
        """Score the model on a file, or on values in memory.

        data     as of `unspool.train`; `labels` are those of texts in memory
        history  of forecasts: the past of the series, where `data` has the steps after it alone
        options  as of `predict`: how the answers that are scored are made, as `Decoding(beam=8)`
        reading  overrides how the data are read: text=, label=, ...
        """
        self._check(options)
        config = reading_changed(self.config, reading)
        plan = open_plan(source_of(data, labels), config.data, self.task.name)
        parts, parts_note = split_plans(plan, config.data, training=False)
        plan = parts.get("test", plan)
        if note is not None:
            note(plan.summary)
            if parts_note is not None:
                note(parts_note + ("; the rows of test are scored" if "test" in parts else ""))
        if history is None:
            part, notes = encode_plan(self.task, plan, progress)
        elif isinstance(self.task, EncodesFutures):
            past = open_plan(source_of(history), config.data, self.task.name)
            part, notes = self.task.encode_future(plan, past)
        else:
            raise ConfigError(
                (Option("history"), " names the past of series that are forecast"),
                where=self.folder.path,
                got=self.task.name,
                remedy="leave it out",
            )
        if config.data.unseen == "error":
            part.refuse_unseen()
        notes = [*notes, *self._trained_on(plan, part)]
        if note is not None:
            for line in notes:
                note(line)
        try:
            report = self.task.evaluate(self.model, part, options)
            report.notes = tuple(notes)
            return report
        except DataError as error:  # such as a text of one token
            raise DataError(error.message, where=plan.table.path) from None

    def _trained_on(self, plan: Plan, part: Part) -> list[str]:
        """A line about data that the model knows from its training."""
        little = "say little about new data"
        data = self.folder.read_record()["data"]
        same = [use for use, file in data.items() if file["sha256"] == plan.table.sha256]
        very = f"{plan.table.name}: the {{}} on this very file"
        seen = self.folder.seen(part)
        if seen is None:
            return [f"{very.format('model was trained')}; the figures {little}"] * ("train" in same)
        count = f"{int(seen.sum()):,} of {len(part):,} {row_noun(type(self.task), self.config)}"
        if seen.any() and "train" in same:
            return [f"{very.format('model was trained')}, on {count} of it; the figures {little}"]
        if seen.any():
            first = part.where(int(np.argmax(seen)))
            return [
                f"{count} were in the training data, the first at {first}; the figures on these"
                f" {little}"
            ]
        chosen = "valid" in same and "train" not in same
        return [f"{very.format('weights were chosen')}; the figures {little}"] * chosen

    def predict(self, items: Any, options: Any = None, **reading: Any) -> Answers:
        """Answer of the model to each item: the label of a text, its words and spans with their
        tags, its translation, its continuation, or what fits at its <mask>s.

        items    a text, or several: a list, a Series, an array; for a tagger each may also be a
                 list of words; of series, arrays (steps, channels); or a data frame or a dict of
                 columns, of which each row is answered
        options  how the answers are made, of the class that the task names: for translations
                 `Decoding(beam=8, nbest=3)`; None: the defaults
        reading  overrides which column of a table is read: text=
        """
        return Answers(self.predict_lazily(items, options, **reading))

    @property
    def labels(self) -> list[Any]:
        """The labels, or tags, that the model answers with."""
        return self.task.labels

    def predict_proba(self, items: Any, **reading: Any) -> np.ndarray:
        """(N, C) the probability of each label for each item, in the order of `labels`."""
        answers = self.predict(items, **reading)
        if not all(hasattr(answer, "probabilities") for answer in answers):
            raise ConfigError(
                f"a model of {self.task.name} gives no probabilities of labels",
                where=self.path,
                remedy="use predict",
            )
        return np.array([list(a.probabilities.values()) for a in answers], dtype=np.float64)

    def encode(self, items: Any) -> np.ndarray:
        """(N, E) a vector of length 1 for each item: the mean of what the encoder makes of its
        steps.

        items   as of `predict`
        """
        from unspool.serve.vectors import input_vectors

        raw = self.task.input_field.form.items(items)
        listed_items = list(checked(as_list(items), self.task)) if raw is None else list(raw)
        return input_vectors(self.task, self.model, listed_items, self.path)

    def stream(self, options: Any = None) -> RunStream:
        """One sequence that is read as it comes: `push` takes a step or a chunk and gives the
        answer so far, the same as `predict` to the whole. For models that read forwards; others are
        refused with the reason.

        options   as of `predict`
        """
        self._check(options)
        stream = self._call(partial(open_stream, self.task), options)
        return RunStream(stream, self.config.data.date_format)

    def predict_lazily(self, items: Any, options: Any = None, **reading: Any) -> Iterator[Any]:
        """Like `predict`, one answer at a time, for input of any length."""
        self._check(options)
        config = reading_changed(self.config, reading)
        if reading and not is_table(items):
            raise ConfigError(
                f"{next(iter(reading))}= is about the columns of a table, and the items are none",
                where="predict",
                remedy="leave it out, or give a data frame or a dict of columns",
            )
        if is_table(items):
            plan = open_inputs(columns_of(items), config.data, self.task.name)
            items = (row.values[0] for row in plan.rows())
        checked_items = self.task.input_field.form.items(items)
        if checked_items is None:
            checked_items = checked(as_list(items), self.task)
        return lazily(self._call(self.task.predict, checked_items, options))

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
        from unspool.tasks.generate import Generation

        options = Generation(
            length=length, temperature=temperature, top_k=top_k, top_p=top_p, seed=seed
        )
        return "".join(self.pieces(prompt, options))

    def write(
        self,
        text: str | None = None,
        *,
        prompt: Any = (),
        length: int = 700,
        temperature: float = 1.0,
        bias: float = 0.0,
        seed: int = 1,
    ) -> Handwritten:
        """A drawing by a model of handwriting: the text, where it was trained with texts, or what
        continues the strokes of a prompt. It shows itself in a notebook; `.svg()` and `.strokes`
        are its lines."""
        from unspool.tasks.handwrite.answer import Writing

        options = Writing(text=text, length=length, temperature=temperature, bias=bias, seed=seed)
        (answer,) = self.predict([prompt], options)
        return answer

    def compose(
        self,
        prompt: Any = None,
        *,
        length: int = 64,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 1,
    ) -> Composed:
        """A piece by a model of music: the prompt, a MIDI file or what else is music, and `length`
        steps that follow it. It shows itself in a notebook; `.midi()` are the bytes of a file,
        `.numbers` say how much of it is in key, moves in parallel fifths or stands still."""
        from unspool.tasks.compose.answer import Composing

        options = Composing(
            length=length, temperature=temperature, top_k=top_k, top_p=top_p, seed=seed
        )
        (answer,) = self.predict([prompt], options)
        return answer

    def pieces(self, prompt: str = "", options: Generation | None = None) -> Iterator[str]:
        """`generate`, piece by piece as the text grows."""
        if not isinstance(prompt, str):
            raise not_a_text(prompt, "prompt")
        refuse_surrogates(prompt, "prompt")
        if not isinstance(self.task, GeneratesText):
            raise no_generation(self.task, self.path)
        return lazily(self._call(self.task.generate, prompt, options))

    def vectors(self, texts: str | Iterable[str]) -> list[WordsInContext]:
        """The words of each text with their contextual vectors; for an elmo run."""
        if not isinstance(self.task, GivesVectors):
            raise no_vectors(self.task, self.path)
        return list(self._call(self.task.vectors, checked(as_list(texts), self.task)))

    def _call(self, method: Callable[..., T], *arguments: Any) -> T:
        """Call a method of the task; where it has none, the error names the run."""
        try:
            return method(self.model, *arguments)
        except ConfigError as error:
            raise ConfigError(error.message, where=self.path) from None

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

    def export(
        self,
        out: str | Path | None = None,
        *,
        to: str = "onnx",
        int8: Any = None,
        runtime: str | Path | None = None,
    ) -> Exported | ExportedFolder | ExportedPage:
        """Write the model as files that other programs run.

        out    a new folder, by default next to the run
        to     "onnx": a verified graph and a program of numpy and onnxruntime that predicts;
               "web": a page that runs it in a browser; "transformers": a folder that Hugging
               Face's library loads
        int8   data with their labels: weights become 8-bit integers, and what that costs is
               measured on these
        runtime  web: a folder with onnxruntime-web, whose files are copied
        """
        from unspool.export.int8 import quantise, refuse_int8

        choose("format", to, ["onnx", "web", "transformers"])
        home, name = self.folder.pack or self.path, self.folder.name
        folder = home.with_name(f"{name}-{to}") if out is None else Path(out)
        for option, value, only in (("int8", int8, "onnx"), ("runtime", runtime, "web")):
            if value is not None and to != only:
                raise ConfigError(
                    f"{option} is for {only}", got=f"to={to}", remedy=("leave out ", Option(option))
                )
        if to == "transformers":
            from unspool.export.transformers import export_transformers

            return export_transformers(self.task, self.model, folder, source=name)
        if to == "web":
            from unspool.export.web import export_web

            place = None if runtime is None else path_of(runtime, "runtime")
            return export_web(self.task, self.model, folder, source=name, runtime=place)
        from unspool.export.onnx import export_onnx

        plan = None
        if int8 is not None:
            refuse_int8(self.task)
            plan = open_plan(source_of(int8), self.config.data, self.task.name)
        exported = export_onnx(self.task, self.model, folder, source=name)
        return exported if plan is None else exported._replace(int8=quantise(folder, plan))

    def pack(self, out: str | Path) -> Packed:
        """Write the run as one file, `NAME.unspool`, that `load`, `predict` and `serve` read."""
        from unspool.training.pack import write_pack

        return write_pack(self.path, path_of(out, "out"))

    @property
    def inside(self) -> Run:
        """The run that `look` shows: of an ensemble its first network, or else its first model."""
        task, model = looked_into(self.task, self.model)
        return self if task is self.task else Run(self.folder, task, model)

    def trace(self, text: str | Sequence[str], *, top: int = 5) -> Trace:
        """One run on a text with everything inside recorded, and the `top` answers at each step;
        to be tagged, a text may also be a list of words."""
        from unspool.insight.trace import trace

        whole_number("top", top)
        run = self.inside
        return trace(run.task, run.model, one_text(text, run.task), top=top)

    def explain(
        self,
        text: str | Sequence[str],
        *,
        step: int | None = None,
        answer: str | None = None,
        method: str = "integrated",
    ) -> Saliency | LinearExplanation:
        """Contribution of each token to an answer, and the answer without it: see
        `unspool.insight.saliency.explain`; of a linear model, that of each feature."""
        from unspool.insight.linear import explain_linear
        from unspool.insight.saliency import explain
        from unspool.nn.models.linear import Linear

        run = self.inside
        if isinstance(run.model, Linear):
            return explain_linear(run.task, run.model, one_text(text, run.task), answer)
        if step is not None:
            whole_number("step", step)
        reading = run.task.reading(run.model, one_text(text, run.task))
        return explain(reading, step=step, answer=answer, method=method)

    def gradients(
        self,
        text: str | Sequence[str] | None = None,
        *,
        distance: int = 200,
        seed: int = 1,
        what_if: bool = False,
    ) -> GradientFlow:
        """How far back the first layer of a recurrent model learns, compared with untrained cells
        of the same size, or with itself and one thing changed (`what_if`), reading the text, or
        random tokens over `distance` steps."""
        from unspool.insight.learnt import flow_of_run

        whole_number("distance", distance), whole_number("seed", seed)
        item = None if text is None else one_text(text, self.task)
        reading = None if item is None else self.task.reading(self.model, item)
        return flow_of_run(
            self.task, self.model, reading, distance=distance, seed=seed, what_if=what_if
        )

    def look(self, text: Any = None, view: str | None = None) -> LookPage:
        """The page of what the model does with a text: shown in a notebook, `.save(path)` writes it
        as one file, `.serve()` opens it in the browser.

        text   of a model of series an array (steps, channels), of sound a file or (samples, rate);
               None: an example
        view   ahead (of a forecast), transcript, writing, unrolled, attention, saliency, gradients,
               ngrams, positions, neighbours or training; None: all that this model has
        """
        from unspool.serve.look import LookPage

        return LookPage(self.inside.subject(), text, view)

    def subject(self) -> Subject:
        """Subject of the run's page."""
        from unspool.page.subject import subject_of

        return subject_of(self.folder, self.task, self.model)

    def summary(self) -> ModelSummary:
        from unspool.insight.summary import summary_of

        return summary_of(self.task, self.model)

    def __repr__(self) -> str:
        note = "" if self.folder.weights_note() is None else ", not validated"
        model = f"{self.task.name}, {self.config.model_name}"
        return f"<Run {self.folder.pack or self.path}: {model}{note}>"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}\n{escape(repr(self.summary()))}</pre>"


def lazily(answers: Iterator[T]) -> Iterator[T]:
    """The same; what goes wrong on the way is said as Python says it."""
    yield from answers


def as_list(items: Any) -> Iterable[Any]:
    """A text alone is one item; a Series or an array is a list, in which what is missing is
    empty."""
    if isinstance(items, str):
        return [items]
    if isinstance(items, bytes) or not isinstance(items, Iterable):
        raise not_a_text(items, "predict")
    if isinstance(items, list | tuple | Iterator):
        return items
    return ["" if item is None else item for item in listed(items)]


def checked(items: Iterable[Any], task: Task) -> Iterator[Any]:
    """The items, each of a kind that the task answers to."""
    for number, item in enumerate(items, start=1):
        if not isinstance(item, task.items):
            raise not_a_text(item, f"item {number}")
        words: Any = [item] if isinstance(item, str) else item
        for word in words:
            if not isinstance(word, str):
                raise not_a_text(word, f"item {number}")
            refuse_surrogates(word, f"item {number}")
        yield item


def one_text(item: Any, task: Task) -> Any:
    """The item, of a kind that the task answers to."""
    if task.input_field.form.items([item]) is not None:
        return item  # no text
    (text,) = checked([item], task)
    return text


def refuse_surrogates(text: str, where: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise DataError(
            "holds half of a surrogate pair, which is not a character",
            where=where,
            got=text.encode("utf-8", "backslashreplace").decode(),
            remedy='replace them with text.encode("utf-8", "replace").decode()',
        ) from None


def not_a_text(item: Any, where: str) -> DataError:
    return DataError(
        f"a {type(item).__name__} is not a text",
        where=where,
        got=item,
        remedy="decode it first: item.decode()" if isinstance(item, bytes) else "give strings",
    )


def load(path: str | Path, *, note: Callable[[str], None] | None = None) -> Run:
    """The model of a run folder, or of a pack of one. Nothing in it is executed.

    note   gets what is to be known about the weights; by default a terminal or a notebook
    """
    folder = RunFolder.open(path_of(path, "run"))
    run = Run(folder, *folder.load_model())
    for line in (folder.hashes_note(), folder.weights_note()):
        if line is not None:
            (note or default_note())(line)
    return run
