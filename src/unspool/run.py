"""A trained model in the hand: load a run folder, then evaluate, predict, generate, summarise."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from itertools import islice
from pathlib import Path
from typing import Any

from torch import nn

from unspool.config import Config
from unspool.data.corpus import DocumentPart, encode_part
from unspool.data.encode import Progress
from unspool.errors import ConfigError, DataError
from unspool.insight.gradients import GradientFlow
from unspool.insight.learnt import flow_of_run
from unspool.insight.ngrams import NgramTable, top_ngrams
from unspool.insight.readings import read
from unspool.insight.saliency import Saliency, explain
from unspool.insight.summary import Summary, summarise
from unspool.insight.trace import Trace, trace
from unspool.nn.cells import steady
from unspool.page.example import example_text
from unspool.page.look import Look
from unspool.page.subject import Subject
from unspool.predict.classifier import Prediction, classify
from unspool.predict.context import NearInContext, WordsInContext, in_context, near_in_context
from unspool.predict.filler import Filled, fill
from unspool.predict.tables import Predictions, TaggedTexts, Translations
from unspool.predict.tagger import TaggedText
from unspool.predict.tagger import tag as tag_texts
from unspool.predict.translator import translate
from unspool.resolving import changed
from unspool.search import Sampling, stream
from unspool.tasks import Classify, ElmoTask, Generate, Pretrain, Report, Tag, Task, Translate
from unspool.tasks.classify import Classifier
from unspool.tasks.decoding import Decoding
from unspool.tasks.elmo import ElmoModel
from unspool.tasks.opening import open_inputs, open_plan
from unspool.tasks.pretrain import MaskedModel
from unspool.tasks.translation import Translation
from unspool.training.checkpoint import Counters
from unspool.training.folder import RunFolder


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
        *,
        say: Callable[[str], None] | None = None,
        progress: Progress | None = None,
        decoding: Decoding | None = None,
        **reading: Any,
    ) -> Report:
        """Score the model on a file; `reading` overrides how it is read (text=, label=, ...).

        decoding   how translations are searched for: `Decoding(beam=8)`
        """
        config = changed(self.config, {f"data.{name}": value for name, value in reading.items()})
        plan = open_plan(data, config.data, self.task.name)
        if say is not None:
            say(plan.summary)
        part, notes = self.task.encode(plan, config.data, progress)
        if say is not None:
            for note in notes:
                say(note)
        try:
            if isinstance(self.task, Translate):
                return self.task.evaluate(self.model, part, decoding)
            return self.task.evaluate(self.model, part)
        except DataError as error:  # such as a text of one token
            raise DataError(str(error), where=plan.table.path) from None

    def predict(
        self, texts: str | Iterable[Any], decoding: Decoding | None = None
    ) -> Predictions | Translations | TaggedTexts | list[Filled]:
        """The label of each text, with the probability of every label; or its words and spans with
        their tags; or its translation; or what may stand at its <mask>s.

        texts      one or several; to be tagged, each may also be a list of words
        decoding   how translations are searched for: `Decoding(beam=8, nbest=3)`
        """
        if isinstance(self.task, Tag):
            return TaggedTexts(self.tagged(texts))
        if isinstance(self.task, Translate):
            return Translations(self.translations(texts, decoding))
        if isinstance(self.task, Pretrain):
            return list(self.fill(texts))
        return Predictions(self.stream(texts))

    def stream(self, texts: str | Iterable[str]) -> Iterator[Prediction]:
        """Like `predict`, one at a time, for input of any length."""
        if not isinstance(self.task, Classify):
            remedies = {"elmo": "use it with --from", "tag": "use tagged"}
            raise ConfigError(
                f"predict gives labels, and {self.path} is a {self.task.name} model",
                remedy=remedies.get(self.task.name, "use generate"),
            )
        return classify(self.task, self.model, [texts] if isinstance(texts, str) else texts)

    def tagged(self, texts: str | Iterable[str | Sequence[str]]) -> Iterator[TaggedText]:
        """The words and spans of each text with their tags, one text at a time; a text may also be
        a list of words."""
        if not isinstance(self.task, Tag):
            raise ConfigError(
                f"{self.path} is a {self.task.name} model, which gives no tags",
                remedy="train one with --task tag",
            )
        return tag_texts(self.task, self.model, [texts] if isinstance(texts, str) else texts)

    def fill(self, texts: str | Iterable[str], *, top: int = 5) -> Iterator[Filled]:
        """The likeliest tokens for each <mask> of a text, of a model that was pretrained."""
        if not isinstance(self.task, Pretrain) or not isinstance(self.model, MaskedModel):
            raise ConfigError(
                f"{self.path} is a {self.task.name} model, which fills in no <mask>",
                remedy="train one with --task pretrain",
            )
        return fill(self.task, self.model, [texts] if isinstance(texts, str) else texts, top=top)

    def translations(
        self, texts: str | Iterable[str], decoding: Decoding | None = None
    ) -> Iterator[Translation]:
        """The translation of each text, one at a time, for input of any length."""
        if not isinstance(self.task, Translate):
            raise ConfigError(
                f"{self.path} is a {self.task.name} model, which does not translate",
                remedy="train one with --task translate",
            )
        stream = [texts] if isinstance(texts, str) else texts
        return translate(self.task, self.model, stream, decoding or Decoding())

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
        """The prompt and `length` tokens that the model continues it with."""
        pieces = self.pieces(
            prompt, length=length, temperature=temperature, top_k=top_k, top_p=top_p, seed=seed
        )
        return "".join(pieces)

    def pieces(
        self,
        prompt: str,
        *,
        length: int,
        temperature: float,
        top_k: int,
        top_p: float,
        seed: int,
    ) -> Iterator[str]:
        """`generate`, piece by piece as the text grows."""
        if not isinstance(self.task, Generate):
            raise ConfigError(
                f"generate needs a language model, and {self.path} is a {self.task.name} model",
                remedy="train one with --task generate",
            )
        sampling = Sampling(
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            seed=seed,
            forbidden=tuple(self.task.tokenizer.special_ids()),
        )
        ids = [int(i) for i in self.task.tokenizer.encode(prompt or "\n")]
        shown = self.task.tokenizer.decode(ids) if prompt else ""
        yield shown
        start = 0 if prompt else len(ids)
        decoder: Any = self.model
        with steady(self.model):
            for token in islice(stream(decoder, ids, sampling), length):
                ids.append(token)
                text = self.task.tokenizer.decode(ids[start:])
                if not text.endswith("�"):  # half a character: wait for the rest of it
                    yield text[len(shown) :]
                    shown = text

    def vectors(self, texts: str | Iterable[str]) -> list[WordsInContext]:
        """Of an elmo run: the words of each text with their contextual vectors."""
        model, task = self._elmo()
        return list(in_context(task, model, [texts] if isinstance(texts, str) else texts))

    def near_in_context(
        self,
        texts: Sequence[str],
        word: str,
        data: str | Path,
        *,
        top: int = 10,
        layer: int | None = None,
        say: Callable[[str], None] | None = None,
        progress: Progress | None = None,
        **reading: Any,
    ) -> list[NearInContext]:
        """Of an elmo run: the words of a file nearest to `word` as it stands in each text."""
        model, task = self._elmo()
        config = changed(self.config, {f"data.{name}": value for name, value in reading.items()})
        plan = open_plan(data, config.data, task.name)
        if say is not None:
            say(plan.summary)
        part = encode_part(plan, task.tokenizer, None, config.data, progress)
        return near_in_context(task, model, texts, word, part, top=top, layer=layer)

    def _elmo(self) -> tuple[ElmoModel, ElmoTask]:
        if not isinstance(self.task, ElmoTask) or not isinstance(self.model, ElmoModel):
            raise ConfigError(
                f"contextual vectors come from an elmo model, and {self.path} is a"
                f" {self.task.name} model",
                remedy="make one with `unspool embed CORPUS --method elmo`",
            )
        return self.model, self.task

    def ngrams(
        self,
        data: str | Path,
        *,
        top: int = 5,
        filters: int = 5,
        say: Callable[[str], None] | None = None,
        progress: Progress | None = None,
        **reading: Any,
    ) -> NgramTable:
        """Of a cnn: the `top` n-grams of a file that each filter answers to, and the class it
        speaks for. Shown as text, the table has the `filters` strongest of each class."""
        if not isinstance(self.task, Classify):
            raise ConfigError(
                f"n-grams speak for a class, and {self.path} is a {self.task.name} model",
                remedy="train a classifier with --model cnn",
            )
        config = changed(self.config, {f"data.{name}": value for name, value in reading.items()})
        plan = open_plan(data, config.data)
        if plan.task != self.task.name:  # documents without labels
            plan = open_inputs(data, config.data, self.task.name)
        if say is not None:
            say(plan.summary)
        part = encode_part(plan, self.task.tokenizer, None, config.data, progress)
        assert isinstance(part, DocumentPart)
        assert isinstance(self.model, Classifier)
        return top_ngrams(self.task, self.model, part, top=top, shown=filters)

    def trace(self, text: str | Sequence[str], *, top: int = 5) -> Trace:
        """One run on a text with everything inside recorded, and the `top` answers of each place;
        to be tagged, a text may also be a list of words."""
        return trace(self.task, self.model, text, top=top)

    def explain(
        self,
        text: str | Sequence[str],
        *,
        place: int | None = None,
        answer: str | None = None,
        method: str = "integrated",
    ) -> Saliency:
        """What each token contributes to an answer, and what would be without it: see
        `unspool.insight.saliency.explain`."""
        reading = read(self.task, self.model, text)
        return explain(reading, place=place, answer=answer, method=method)

    def gradients(
        self,
        text: str | Sequence[str] | None = None,
        *,
        distance: int = 200,
        seed: int = 1,
        what_if: bool = False,
    ) -> GradientFlow:
        """Of a recurrent model: how far back its first layer learns, beside fresh cells of the same
        size, or beside itself with one thing different (`what_if`), reading the text, or random
        tokens over `distance` steps."""
        reading = None if text is None else read(self.task, self.model, text)
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
        return Look(self.subject(), text, view)

    def subject(self) -> Subject:
        """The run as its page sees it."""
        data = self.folder.read_record()["data"]["train"]["path"]
        example = example_text(self.task, data)
        return Subject(self.task, self.model, self.path, self.folder.metrics, example)

    def summary(self) -> Summary:
        return summary_of(self.task, self.model)

    def __repr__(self) -> str:
        return f"<Run {self.path}: {self.task.name}, {self.config.model_name}>"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}\n{escape(repr(self.summary()))}</pre>"


def load(path: str | Path) -> Run:
    """The model of a run folder. Nothing in the folder is executed."""
    folder = RunFolder(Path(path))
    task = folder.load_task()
    try:
        model = build_model(task)
    except ConfigError as error:  # such as a cell that this program does not have
        raise ConfigError(str(error), where=folder.config_file) from None
    folder.load_weights(model)
    return Run(folder, task, model)


def subject_of(path: str | Path) -> Subject:
    """What the page shows of a run folder: of one that is being trained and has no weights yet, its
    training alone."""
    folder = RunFolder(Path(path))
    if folder.weights.exists() or not folder.metrics.exists():
        return load(path).subject()
    return Subject(folder.load_task(), None, folder.path, folder.metrics, "")


def build_model(task: Task) -> nn.Module:
    """The task's model with fresh weights; one that is too large is a ConfigError."""
    try:
        return task.build()
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and not re.search("memory|overflow", str(error)):
            raise
        raise ConfigError(
            f"the model does not fit into memory with model.hidden={task.config.model.hidden}",
            remedy="set a smaller hidden, embedding, layers or vocab",
        ) from None


def summary_of(task: Task, model: nn.Module) -> Summary:
    """The layers of a task's model, by running one short row through it."""
    return summarise(model, task.example_inputs())
