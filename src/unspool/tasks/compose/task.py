"""compose: music in, and what follows it, as frames or as events.

frames (B, T, 88) -> recurrent layers or causal Transformer (B, T, H) -> 88 keys of the next frame
events (B, T)     -> the same                                        -> logits of the next event
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from unspool.config import Config, DataConfig, declare
from unspool.data.corpus import Fields
from unspool.data.fields.field import Field
from unspool.data.part import Batch, Part
from unspool.data.plan import Plan
from unspool.data.read import Shape, Table
from unspool.data.read.media import MUSIC
from unspool.data.read.music import LOWEST, Midi
from unspool.data.read.recording import Recording
from unspool.errors import ConfigError, DataError, Option, Setting
from unspool.nn.cells import steady
from unspool.nn.models.causal import CausalModel, TransformerCausal
from unspool.tasks.compose.answer import Composed, ComposeReport, Composing
from unspool.tasks.compose.forms import FORMS, MusicForm, kept
from unspool.tasks.encoder import check_context, check_model, recurrent_models
from unspool.tasks.generate import TRANSFORMER
from unspool.tasks.inputs.media_files import Located
from unspool.tasks.inputs.media_plan import FIT, described, media_column
from unspool.tasks.metrics import Metric
from unspool.tasks.roles import Roles
from unspool.tasks.task import Batches, RowInfo, Step, Task, Transfer, as_array, row_batches, walk


def plan_music(
    task: str, table: Table, data: DataConfig, *, named: bool, outputs: bool
) -> Plan | None:
    """Music, whatever stands beside it."""
    files = media_column(table, data, MUSIC)
    if files is None:
        if not named:
            return None
        raise DataError(
            "no music was found",
            where=table.name,
            remedy="name a MIDI file (.mid), a folder of them, a .json file of lists of pitches"
            " or a .mat file of piano rolls",
        )
    form = data.music
    if form == "auto":
        form = "frames" if table.shape == Shape.SERIES else "events"
    located = Located(table, files, MUSIC)
    other = "events" if form == "frames" else "frames"
    about = f"{described(table, files, MUSIC)}{located.remark}"
    summary = f"{about} as {form} ({Setting(music=other)} for {other})"
    settings = {"data.input": "music", "data.music": form}
    return Plan(
        task,
        located.table,
        {"music": located.column},
        FIT - 1,  # where there are labels, these may be learnt
        f"{summary} -> {task}",
        located.convert(None),
        settings,
    )


class Compose(Task):
    name = "compose"
    roles = Roles(plan=plan_music, medium=MUSIC, default_input="music")
    metric = Metric("nll", higher_is_better=False)
    settings = declare(data="music", model="tied embedding_std transpose", train="bptt")
    unread: ClassVar = {"any": declare(data="series window stride")}
    default_model = "lstm"
    rows = RowInfo("pieces")
    answer = Composed
    items = (Recording, Midi, Path, np.ndarray, list, dict, str)
    options = Composing
    prompt = "file"
    transfer = Transfer(causal=True)
    defaults: ClassVar[Mapping[str, Any]] = {
        "data.input": "music",
        "model.hidden": 256,
        "model.embedding": 128,
        "model.dropout": 0.3,
        "train.epochs": 60,
        "train.patience": 8,
        "train.batch": 16,
        "train.bptt": 256,
        "train.lr": 2e-3,
    }

    def __init__(self, config: Config, fields: Fields) -> None:
        super().__init__(config, fields)
        self.usage = "unspool generate {run} --length 64 --out piece.mid"
        self.input_view, self.answer_view = self.form.input_view, self.form.answer_view

    @property
    def form(self) -> MusicForm:
        return form_of(self.config.data)

    @classmethod
    def make_fields(cls, config: Config) -> dict[str, Field]:
        return {"music": form_of(config.data).field(config)}

    @classmethod
    def models(cls) -> dict[str, dict[str, Any]]:
        return {**recurrent_models(), "transformer": {**TRANSFORMER, "model.tied": False}}

    @classmethod
    def check_config(cls, config: Config) -> None:
        model = config.model
        check_model(model)
        if model.bidirectional:
            raise ConfigError(
                "a model of music may not read in both directions: the backward states have already"
                " heard what is to be predicted",
                got=config.model_name,
                remedy=("use ", Option(model=model.cell)),
            )
        if model.network == "transformer":
            check_context(config, "train.bptt", config.train.bptt)
        if model.tied and (form_of(config.data).name == "frames" or not model.embedding):
            raise ConfigError(
                "model.tied needs an embedding of events to share",
                got=f"data.music={config.data.music}, model.embedding={model.embedding}",
                remedy="leave it out",
            )

    def build(self) -> CausalModel:
        return self.form.build(self.config, self.input_field)

    def example_inputs(self) -> tuple[Tensor, ...]:
        return (self.form.example(self.input_field),)

    def batches(self, part: Part, *, training: bool) -> Batches:
        """In training, long pieces in stretches of `bptt` steps, each from an empty state."""
        if training:
            part = self.form.windows(part, self.input, self.config.train.bptt)
        return row_batches(self.config, part, training=training, least=16)

    def loss(self, model: nn.Module, batch: Batch, carry: Any) -> Step:
        assert isinstance(model, CausalModel)
        values, lengths = batch[self.input].inputs[:2]
        if model.training and self.config.model.transpose:
            values = self.transposed(values)
        losses = self._losses(model, values, lengths)
        count = int((lengths - 1).sum())
        return Step(losses.sum() / max(1, count), count, int(lengths.sum()), carry=None)

    @property
    def music(self) -> Any:
        """Source of the frames, or field of the events."""
        return self.input_field if self.reads_tokens else self.input_field.source

    def transposed(self, values: Tensor) -> Tensor:
        """Each row by some semitones, as far as there are keys; a function of the step's seed."""
        music, most = self.music, self.config.model.transpose
        keys = music.keys(values).int()  # (B, 88)
        size = keys.shape[1]
        lowest, highest = keys.argmax(1), size - 1 - keys.flip(1).argmax(1)
        down = lowest.clamp(max=most)
        up = (size - 1 - highest).clamp(max=most)
        u = torch.rand(len(values), device=values.device)
        semitones = (u * (down + up + 1)).floor().long() - down
        return music.transposed(values, torch.where(keys.any(1), semitones, 0))

    def _losses(self, model: CausalModel, values: Tensor, lengths: Tensor) -> Tensor:
        """(B, T - 1) of each prediction, 0 at padding. Without a state a Transformer reads all at
        once; what is longer than its context it reads as it does in generation."""
        read, targets = values[:, :-1], values[:, 1:]
        if not read.shape[1]:
            return values.new_zeros(len(values), 0, dtype=torch.float32)
        long = isinstance(model, TransformerCausal) and read.shape[1] > model.length
        outputs, _ = model.read(read, model.start(len(values)) if long else None)
        keep = kept(lengths, values.shape[1], values.device)
        return self.form.losses(model, outputs, targets) * keep

    def validate(self, model: nn.Module, part: Part) -> dict[str, float]:
        return self.evaluate(model, part).metrics

    def evaluate(
        self, model: nn.Module, part: Part, options: Composing | None = None
    ) -> ComposeReport:
        assert isinstance(model, CausalModel)
        losses, steps, events = (np.zeros(len(part)) for _ in range(3))
        with torch.inference_mode():
            for batch in walk(self.batches(part, training=False), model):
                values, lengths = batch[self.input].inputs[:2]
                nats = self._losses(model, values, lengths)
                losses[batch.rows] = as_array(nats.double().sum(1))
                steps[batch.rows] = self.form.steps(values, lengths)
                events[batch.rows] = lengths.numpy() - 1
        return ComposeReport(losses, steps, events=events if self.reads_tokens else None)

    def predict(
        self, model: nn.Module, items: Iterable[Any], options: Composing | None = None
    ) -> Iterator[Composed]:
        """Each piece and what the model adds to it; None, "" and an empty list begin anew."""
        chosen = options or Composing()
        for number, item in enumerate(items, 1):
            yield self.continued(model, item, chosen, f"item {number}")

    @torch.inference_mode()
    def continued(self, model: nn.Module, item: Any, options: Composing, where: str) -> Composed:
        field = self.input_field
        empty = item is None or (isinstance(item, str | list) and not len(item))
        prompt = None if empty else self.piece(item, where)
        if prompt is not None and not len(prompt):
            prompt = None
        with steady(model):
            written = self.form.write(model, field, prompt, options)
        return Composed(
            written.piece, written.given, options.seed, written.ended, self.music.known.numbers
        )

    def piece(self, item: Any, where: str) -> Any:
        """The piece of an item, in either form."""
        field = self.input_field
        return field.form.piece(item, where) if self.reads_tokens else field.recording(item, where)

    def step_rows(self, piece: Any) -> np.ndarray:
        """(T,) of each step of the grid, which of the steps that the model reads it is; of events,
        the last one that is read before the step ends."""
        return self.form.step_rows(self.input_field, piece)

    def example(self, words: list[str]) -> Any:
        """A note a word, as high as the word is long."""
        chords = [[LOWEST + 36 + len(word) % 24] for word in words]
        return self.input_field.form.text(chords) if self.reads_tokens else chords


def form_of(data: DataConfig) -> MusicForm:
    return FORMS["frames" if data.music == "auto" else data.music]
