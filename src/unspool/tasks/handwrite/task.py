"""handwrite: points of a pen in, where it goes next; or a text in, and the pen that writes it.

moves (B, T, 3) -> recurrent layers, or a Transformer (B, T, H) -> mixture density of the next move,
and the pen.
With texts, a window over their characters is read along (`nn/text_window.py`), as of Graves (2013).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from unspool.config import Config, DataConfig, ModelConfig, declare
from unspool.data.corpus import Fields
from unspool.data.fields.field import Field
from unspool.data.fields.strokes import StrokesSource
from unspool.data.fields.text import TextField
from unspool.data.fields.vectors import VectorField
from unspool.data.part import Batch, Part
from unspool.data.plan import Plan
from unspool.data.read import Table
from unspool.data.read.recording import Recording
from unspool.data.read.strokes import Strokes
from unspool.errors import ConfigError, DataError, Option
from unspool.nn.cells import steady
from unspool.nn.encoder import Encoder
from unspool.nn.models.handwriting import Bigram, Drawings, Handwriting, OneGaussian, PenModel
from unspool.nn.taps import record
from unspool.nn.text_window import WindowedRecurrent, WindowText
from unspool.tasks.encoder import build_encoder, check_model, checked_options, recurrent_models
from unspool.tasks.handwrite.answer import HandwriteReport, Handwritten, PenView, Writing
from unspool.tasks.handwrite.baselines import fit_baseline
from unspool.tasks.input_layers import InputOptions, input_layer
from unspool.tasks.inputs.strokes import preparation
from unspool.tasks.inputs.strokes_plan import (
    FIT,
    about,
    find_label,
    find_strokes,
    find_text,
    no_strokes,
    of_layout,
    with_text,
)
from unspool.tasks.linear import Fitting
from unspool.tasks.metrics import Metric
from unspool.tasks.reading import Reading
from unspool.tasks.roles import Roles
from unspool.tasks.task import RowInfo, Step, Task, Transfer, as_array, walk
from unspool.text.tokenizers import Tokenizer
from unspool.text.vocab import END_ID, SENTENCE_SPECIALS, UNK_ID

GAUSSIAN: dict[str, Any] = {"model.network": "constant"}
BIGRAM: dict[str, Any] = {"model.network": "bigram"}
TRANSFORMER: dict[str, Any] = {
    "model.network": "transformer",
    "model.layers": 4,
    "model.hidden": 128,
    "model.positions": "rotary",
    "train.lr": 1e-3,
    "train.warmup": 0.1,
}
BASELINES = ("constant", "bigram")


def plan_handwriting(
    task: str, table: Table, data: DataConfig, *, named: bool, outputs: bool
) -> Plan | None:
    """Strokes, and the texts that they are, where there are any; unless the task is named, no
    labels."""
    drawn = find_strokes(table, data)
    if drawn is None:
        if not named:
            return None
        raise no_strokes(table)
    text = find_text(table, data, drawn) if data.conditional in (None, True) else None
    if data.conditional and text is None and outputs:
        raise DataError(
            "holds no texts beside its strokes",
            where=table.name,
            remedy=("name their column with ", Option("text"), ", or leave out conditional"),
        )
    if text is None and not named and find_label(table, data, drawn, "label") is not None:
        return None
    settings = {"data.input": "strokes", "data.conditional": text is not None}
    if text is None:
        summary = f"{about(table, drawn)} -> {task}"
        columns, convert = {"strokes": drawn.column}, of_layout(drawn.layout)
    else:
        summary = f"{about(table, drawn)}, the text in {text.name!r} -> {task}"
        columns, convert = {"strokes": drawn.column, "text": text}, with_text(drawn.layout)
    fit = FIT if text is None else FIT - 1  # they may also be read: see `transcribe`
    return Plan(task, table, columns, fit, summary, convert, settings)


class Handwrite(Task):
    name = "handwrite"
    roles = Roles(plan=plan_handwriting, typed=True, default_input="strokes")
    metric = Metric("nll", higher_is_better=False)
    settings = declare(
        data="text conditional",
        tokenizer="lowercase vocab min_count normalize",
        model="mixture text_window",
        train="baseline",
    )
    default_model = "lstm"
    rows = RowInfo("drawings")
    answer_view = PenView
    answer = Handwritten
    items = (Recording, np.ndarray, list)
    options = Writing
    prompt = "file"
    transfer = Transfer(causal=True)
    defaults: ClassVar[Mapping[str, Any]] = {
        "data.input": "strokes",
        "model.hidden": 200,
        "model.layers": 2,
        "model.embedding": 0,
        "model.dropout": 0.1,
        "train.epochs": 30,
        "train.patience": 5,
        "train.lr": 2e-3,
    }

    def __init__(self, config: Config, fields: Fields) -> None:
        super().__init__(config, fields)
        option = ' --text "some words"' if self.conditional else ""
        self.usage = f"unspool generate {{run}}{option} --out drawing.svg"

    @property
    def strokes(self) -> VectorField:
        field = self.fields["strokes"]
        assert isinstance(field, VectorField)
        return field

    @property
    def conditional(self) -> bool:
        return "text" in self.fields

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the texts that it writes."""
        field: Any = self.fields["text"]
        return field.fitted

    @classmethod
    def make_fields(cls, config: Config) -> dict[str, Field]:
        data = config.data
        fields: dict[str, Field] = {
            "strokes": VectorField(
                "strokes", StrokesSource(preparation(data)), max_length=data.max_length
            )
        }
        if data.conditional:
            fields["text"] = TextField(
                "text",
                config.tokenizer,
                auto="char",
                specials=SENTENCE_SPECIALS,
                marks=(False, True),  # the window has to see the end
            )
        return fields

    @classmethod
    def models(cls) -> dict[str, dict[str, Any]]:
        presets = {"transformer": TRANSFORMER, "gaussian": GAUSSIAN, "bigram": BIGRAM}
        return {**recurrent_models(), **presets}

    @classmethod
    def check_config(cls, config: Config) -> None:
        model = config.model
        if model.network in BASELINES:
            return
        check_model(model)
        if model.bidirectional:
            raise ConfigError(
                "a model of handwriting may not read in both directions: the backward states have"
                " already seen the point that is to be predicted",
                got=config.model_name,
                remedy=("use ", Option(model=model.cell)),
            )
        if model.network == "transformer" and config.data.conditional:
            raise ConfigError(
                "a Transformer writes without texts: the window over a text moves with the state of"
                " a recurrent network",
                got=config.model_name,
                remedy="use a model such as lstm, or set conditional=false",
            )

    def build(self) -> PenModel:
        model = self.config.model
        if model.network == "constant":
            return OneGaussian()
        if model.network == "bigram":
            return Bigram()
        encoder = (
            windowed_encoder(model, self.strokes, len(self.tokenizer))
            if self.conditional
            else build_encoder(model, self.strokes, causal=True)
        )
        return Handwriting(encoder, components=model.mixture, dropout=model.dropout)

    @classmethod
    def baselines(cls, config: Config) -> list[Config]:
        data = config.data.model_copy(update={"conditional": False})
        return [
            config.model_copy(
                update={
                    "model_name": name,
                    "data": data,
                    "model": ModelConfig(network=preset["model.network"]),
                }
            )
            for name, preset in (("bigram", BIGRAM), ("gaussian", GAUSSIAN))
        ]

    @property
    def at_once(self) -> bool:
        return self.config.model.network in BASELINES

    def fit_model(self, parts: Mapping[str, Part]) -> Fitting:
        return fit_baseline(self, parts)

    def example_inputs(self) -> tuple[Any, ...]:
        ids = torch.full((1, 2), UNK_ID)
        text = WindowText(ids, torch.tensor([2])) if self.conditional else None
        return (Drawings(torch.zeros(1, 3, 3), torch.tensor([3]), text),)

    def drawings(self, batch: Batch) -> Drawings:
        values, lengths = batch["strokes"].inputs
        if not self.conditional:
            return Drawings(values, lengths)
        text = batch["text"]
        return Drawings(values, lengths, WindowText(text.ids, text.lengths))

    def loss(self, model: nn.Module, batch: Batch, carry: Any) -> Step:
        drawings = self.drawings(batch)
        losses = model(drawings)
        count = int((drawings.lengths - 1).sum())
        loss = (losses.move + losses.pen).sum() / max(1, count)
        return Step(loss, targets=count, tokens=int(drawings.lengths.sum()), carry=None)

    def validate(self, model: nn.Module, part: Part) -> dict[str, float]:
        return self.evaluate(model, part).metrics

    def evaluate(
        self, model: nn.Module, part: Part, options: Writing | None = None
    ) -> HandwriteReport:
        moves, pens, points = (np.zeros(len(part)) for _ in range(3))
        with torch.inference_mode():
            for batch in walk(self.batches(part, training=False), model):
                drawings = self.drawings(batch)
                losses = model(drawings)
                moves[batch.rows] = as_array(losses.move.double().sum(1))
                pens[batch.rows] = as_array(losses.pen.double().sum(1))
                points[batch.rows] = drawings.lengths.numpy() - 1
        return HandwriteReport(moves, pens, points)

    def predict(
        self, model: nn.Module, items: Iterable[Any], options: Writing | None = None
    ) -> Iterator[Handwritten]:
        """Each drawing and what the model adds to it; an empty one begins with the pen down."""
        chosen = options or Writing()
        for number, item in enumerate(items, 1):
            strokes = self.strokes.recording(item, f"item {number}")
            assert isinstance(strokes, Strokes)
            yield self.write(model, strokes, chosen, f"item {number}")

    def text_ids(self, text: str, where: str) -> WindowText:
        """A text as the window reads it; characters that training had none of are refused."""
        if not self.conditional:
            raise ConfigError(
                "the model was trained without texts, so it cannot write a given one",
                got=text,
                remedy="leave out the text, or train on a table with a column of texts",
            )
        ids = [int(i) for i in self.tokenizer.encode(text)] if text.strip() else []
        if not ids:
            raise DataError(
                "there is no text to write",
                where=where,
                remedy=("give one with ", Option(text="some words"), ", as in Writing(text=...)"),
            )
        if UNK_ID in ids:
            known = {token for token in self.tokenizer.vocab.tokens if len(token) == 1}
            raise DataError(
                "the text has characters that the model has never seen written",
                where=where,
                got="".join(dict.fromkeys(c for c in text if c not in known)) or text,
                remedy=f"write with {''.join(sorted(known))}",
            )
        return WindowText(torch.tensor([[*ids, END_ID]]), torch.tensor([len(ids) + 1]))

    @torch.inference_mode()
    def write(
        self, model: Any, strokes: Strokes, options: Writing, where: str = "the drawing"
    ) -> Handwritten:
        """A drawing that goes on, or a text that is written."""
        assert isinstance(model, PenModel)
        words = options.text or (strokes.text if self.conditional else "")
        text = self.text_ids(words, where) if self.conditional or words else None
        opening = np.zeros((1, 3), np.float32)  # the pen is set down
        if len(strokes):
            self.strokes.refuse(strokes, where)
            opening = strokes.values
        watched = record(model, "*.window.window") if text is not None else nullcontext(None)
        with steady(model), watched as trace:
            written, ended = self._points(model, opening, text, options)
        whole = np.concatenate([opening, self.strokes.scaler.unscaled(written)])
        whole[-1, 2] = 1
        done = self.strokes.source.preparation
        drawing = replace(strokes, values=whole, text=words, prepared=done)
        weights = None
        if trace is not None and (path := next(iter(trace), None)) is not None:
            weights = torch.cat(trace.passes(path), 1)[0].numpy()
        return Handwritten(drawing, words, len(strokes), options.seed, ended, weights)

    def _points(
        self, model: PenModel, opening: np.ndarray, text: WindowText | None, options: Writing
    ) -> tuple[np.ndarray, bool]:
        """(T, 3) points after the given ones, and whether the drawing has ended: the pen is lifted,
        and the model ends it; of a text, it would rather end it than not, and the window has passed
        it. Else it is `length` long."""
        scaler = self.strokes.scaler
        scaled = (opening - scaler.mean) / scaler.std
        generator = torch.Generator().manual_seed(options.seed)
        state, written = model.start(text), list[Tensor]()
        for row in torch.from_numpy(scaled.astype(np.float32)):
            pen, state = model.step(row[None], state)
        ended = False
        while len(written) < options.length and not ended:
            u = torch.rand(1, 5, generator=generator).clamp(1e-6, 1 - 1e-6)
            move = pen.sample(u, temperature=options.temperature, bias=options.bias)
            written.append(torch.cat([move.xy, move.up[:, None]], -1).float())
            likely = bool(pen.end > 0)  # a last letter may have strokes to come
            pen, state = model.step(written[-1], state)
            done = bool(move.end) if text is None else likely and model.finished(state)
            ended = bool(move.up) and done
        points = torch.cat(written).numpy() if written else np.zeros((0, 3), np.float32)
        return points, ended

    def example(self, words: list[str]) -> list[Any]:
        """A zigzag as long as the words."""
        heights = [float(len(word)) for word in words]
        return [[[float(i), height * (i % 2)] for i, height in enumerate(heights)]]

    def reading(self, model: nn.Module, item: Any) -> Reading:
        if self.at_once:
            raise ConfigError(
                f"a {self.config.model_name} has no steps to look at",
                remedy=("look at a network, such as ", Option(model="lstm")),
            )
        return super().reading(model, item)


def windowed_encoder(model: ModelConfig, field: VectorField, vocabulary: int) -> Encoder:
    """The encoder of strokes that reads a text along."""
    options = InputOptions(model.embedding, 0.1, 1.0, model.dropout, 0.0)
    inputs = input_layer(field, options)
    network = WindowedRecurrent(
        model.cell,
        inputs.size,
        model.hidden,
        vocabulary=vocabulary,
        components=model.text_window,
        layers=model.layers,
        dropout=model.dropout,
        options=checked_options(model),
    )
    return Encoder(inputs, network)
