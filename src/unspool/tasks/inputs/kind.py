"""Kind of input: how a table is read for it, its field, and its default settings.

A new kind is one file in this folder with one subclass, and one line in `INPUTS`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import torch

from unspool.config import Config, DataConfig
from unspool.data.fields.field import Field
from unspool.data.part import Part
from unspool.data.plan import Plan
from unspool.data.read import Table
from unspool.data.read.media import Medium
from unspool.data.store.ragged import Windows, cut_windows
from unspool.nn.models.ensemble import Kind, average
from unspool.tasks.reading import InputView
from unspool.tasks.reading_inputs import DocumentView


def windows_of(part: Part, field: str, data: DataConfig) -> Windows | None:
    """The windows that the rows of a part are read in; None: each as a whole."""
    if not data.window:
        return None
    return cut_windows(part[field].lengths, data.window, data.window_stride)


def merged(scores: np.ndarray, windows: Windows, kind: Kind) -> np.ndarray:
    """Average the scores (W, C) of windows to those of their recordings (N, C)."""
    cuts = np.flatnonzero(np.diff(windows.origin)) + 1
    parts = np.split(scores, cuts)
    means = [average(torch.from_numpy(part[:, None]), kind) for part in parts]  # (1, C) each
    return torch.cat(means).numpy()


def named_recordings(
    field: Any, items: Iterable[Any], *, most: int
) -> Iterator[tuple[list[str], list[Any]]]:
    """The names and the recordings of items as they come, as many as have `most` steps together."""
    names, recordings, size = list[str](), list[Any](), 0
    for number, item in enumerate(items, 1):
        names.append(field.form.shown(item))
        recordings.append(field.recording(item, f"item {number}"))
        size += len(recordings[-1])
        if size >= most:
            yield names, recordings
            names, recordings, size = [], [], 0
    if recordings:
        yield names, recordings


Settings = Mapping[str, Any]  # by name, with their sections or without
Target = Literal["label", "number", "tags", "text", "caption"]  # the field that is to be answered


class PlanRequest(NamedTuple):
    """The part of a task in the plan of an input; `named` and `outputs` as in `Request`."""

    task: str
    target: Target
    named: bool
    outputs: bool


class InputKind(ABC):
    """One kind of values that tasks read.

    name      the value of `data.input`
    rows      what its rows are called; None: as the task calls them
    settings  those that are read by some kinds alone
    medium    of files with such values; the planner finds these itself
    typed     whether only tables of JSON and the like can hold such values
    numeric   whether only tables with numbers can
    input_view    how `look` reads one input, unless the task has its own
    """

    name: ClassVar[str]
    rows: ClassVar[str | None] = None
    settings: ClassVar[frozenset[str]] = frozenset()
    medium: ClassVar[Medium | None] = None
    typed: ClassVar[bool] = False
    numeric: ClassVar[bool] = False
    input_view: ClassVar[type[InputView]] = DocumentView

    @abstractmethod
    def field(self, config: Config) -> Field:
        """Return the field of what is read, not fitted."""

    def holds(self, table: Table, data: DataConfig) -> bool:
        """Whether a table has such values, with or without anything to be learnt."""
        return False

    def plan(self, table: Table, data: DataConfig, request: PlanRequest) -> Plan | None:
        """Plan how a task reads the table; None where it has not the values that the task needs."""
        return None

    def recommended_settings(self, settings: Settings, plan: Plan | None) -> dict[str, Any]:
        """Return defaults; `settings` may leave out sections."""
        return {}

    def described(self, settings: Settings, plan: Plan | None) -> dict[str, Any]:
        """Return defaults of a task whose decoder describes what is read."""
        return self.recommended_settings(settings, plan)

    def check(self, config: Config) -> None:
        """Refuse settings that are for other kinds."""
        return
