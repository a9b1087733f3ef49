"""Log probabilities of CTC for recordings of any length: long ones are read in chunks by a model
that carries its state, by others in windows that overlap."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from unspool.data.part import Part
from unspool.data.store.ragged import Windows
from unspool.nn.models.transcriber import Transcriber
from unspool.tasks.task import device_of, walk

if TYPE_CHECKING:
    from unspool.tasks.task import Task

WINDOW = 6000  # frames that are read at once, where no window is set: a minute
MARGIN = 8  # of a window, one in so many at each side is read, but not believed


class Overlapping(NamedTuple):
    """Windows, and (W, 2) which of the steps of each are believed: from, up to before."""

    windows: Windows
    kept: np.ndarray

    def of(self, row: int) -> Overlapping:
        """The windows of one recording, as those of recording 0."""
        rows = self.windows.origin == row
        windows = Windows(*(column[rows] for column in self.windows))
        return Overlapping(windows._replace(origin=windows.origin * 0), self.kept[rows])


def overlapping(lengths: np.ndarray, window: int, patch: int) -> Overlapping:
    """Each recording in windows whose margins overlap; each step is believed in one window."""
    size = (window or WINDOW) // patch * patch
    margin = size // MARGIN // patch * patch
    origin, first, sizes, kept = [], [], [], []
    for row, length in enumerate(lengths.tolist()):
        start = 0
        while True:
            stop = min(length, start + size)
            last = stop == length
            origin.append(row)
            first.append(start)
            sizes.append(stop - start)
            low = margin // patch if start else 0
            high = -(-(stop - start) // patch) if last else (stop - start - margin) // patch
            kept.append((low, high))
            if last:
                break
            start = stop - 2 * margin
    return Overlapping(
        Windows(*(np.array(column, dtype=np.int64) for column in (origin, first, sizes))),
        np.array(kept, dtype=np.int64).reshape(-1, 2),
    )


class CtcScores(NamedTuple):
    """Some rows of a part, with their log probabilities (B, T', V) and steps (B,), on the CPU."""

    rows: np.ndarray
    log_p: Tensor
    steps: Tensor


def ctc_log_p(task: Task, model: Transcriber, part: Part) -> Iterator[CtcScores]:
    """Log probabilities of all rows. A row that is longer than a window comes alone: in chunks of
    a model that can carry its state, else in several windows."""
    cuts = overlapping(part[task.input].lengths, task.config.data.window, model.stride)
    whole = np.flatnonzero(np.bincount(cuts.windows.origin, minlength=len(part)) == 1)
    if len(whole):
        short = part if len(whole) == len(part) else part.select(whole)
        for batch in walk(task.batches(short, training=False), model):
            x = batch[task.input]
            log_p = model.log_p(model.encode(*x.inputs)).cpu()
            yield CtcScores(whole[batch.rows], log_p, model.steps(x.lengths))
    carries = not task.config.data.window and model.streaming_unsupported_reason() is None
    for row in np.setdiff1d(np.arange(len(part)), whole):
        one = part.select(np.array([row]))
        if carries:
            in_one = in_chunks(task, model, one)
        else:
            in_one = in_windows(task, model, one, cuts.of(int(row)))
        joined = torch.cat(in_one)[None]
        yield CtcScores(np.array([row]), joined, torch.tensor([joined.shape[1]]))


def in_chunks(task: Task, model: Transcriber, part: Part) -> list[Tensor]:
    """log p (t, V) of the one row of a part, chunk after chunk: the state is carried."""
    size, parts, carried = WINDOW // model.stride * model.stride, [], None
    values = part.collate(np.array([0]))[task.input].values.to(device_of(model))
    for chunk in values.split(max(model.stride, size), 1):
        log_p, carried = model.extend(carried, chunk, torch.tensor([chunk.shape[1]]))
        parts.append(log_p[0].cpu())
    return parts


def in_windows(task: Task, model: Transcriber, part: Part, cuts: Overlapping) -> list[Tensor]:
    """log p (t, V) of the one row of a part, window after window, without their margins."""
    parts: list[Any] = [None] * len(cuts.kept)
    windowed = part.in_windows(cuts.windows)
    for batch in walk(task.batches(windowed, training=False), model):
        log_p = model.log_p(model.encode(*batch[task.input].inputs)).cpu()
        for i, at in enumerate(batch.rows.tolist()):
            first, stop = cuts.kept[at].tolist()
            parts[at] = log_p[i, first:stop].clone()
    return parts
