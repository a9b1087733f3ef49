"""Series split in time: plans of reading in, a `Corpus` whose parts follow each other out.

The end of every series is held out: its last steps are the test part, those before the validation
part. A model may read across such a border, as one does who forecasts, but nothing is learnt from
what lies beyond it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from unspool.data.corpus import Corpus
from unspool.data.fields.history import HistoryField
from unspool.data.part import Part
from unspool.data.plan import Plan
from unspool.data.read.recording import Recording
from unspool.data.split import HoldOut, check_shares
from unspool.data.store.columns import Progress, Stored, store_columns
from unspool.data.store.ragged import Ragged
from unspool.data.store.vectors import VectorColumn
from unspool.data.windows import Stretches
from unspool.errors import DataError, Option, Setting


class Cuts(NamedTuple):
    """(N,) each: the end of what is trained on, and of what is validated on; the rest is for the
    test."""

    train: np.ndarray
    valid: np.ndarray


class HeldOut(NamedTuple):
    """The end of each series that is held out: steps, or where they are 0 a share."""

    shares: HoldOut
    valid_steps: int = 0
    test_steps: int = 0


def load_histories(
    plans: Mapping[str, Plan],
    field: HistoryField,
    held_out: HeldOut,
    *,
    progress: Progress | None = None,
) -> Corpus:
    """Read and split the data; a second time it comes from the cache."""
    check_shares(held_out.shares)
    stored = {
        part: store_columns(plan, {field.name: field}, progress) for part, plan in plans.items()
    }
    columns: dict[str, VectorColumn] = {
        part: values.columns[field.name] for part, values in stored.items()
    }
    where = plans["train"].table.name
    notes = field.settle(columns["train"], where=where)
    column = field.regular(columns["train"])
    rows, more = long_enough(field, column, stored["train"], plans["train"])
    cuts, short = cut(column.values.lengths[rows], field.horizon, held_out, where=where)
    notes += field.fit_steps(column, rows, cuts.train, where=where) + more
    if short:
        notes.append(
            f"{short:,} series are too short to hold their end out, and are only trained on"
        )
    lengths = column.values.lengths[rows]
    borders = {
        "train": (np.zeros_like(lengths), cuts.train),
        "valid": (cuts.train, cuts.valid),
        "test": (cuts.valid, lengths),
    }
    parts = {}
    for name, (first, end) in borders.items():
        if name != "train" and name in plans:
            continue
        held = np.flatnonzero(end > first)
        if len(held):
            values = field.stretches(
                column.values,
                column.times,
                rows[held],
                first[held],
                end[held],
                cuts.train[held],
                column.static,
            )
            parts[name] = part_of(field, values, stored["train"], plans["train"])
    for name in ("valid", "test"):
        if name in plans:
            field.refuse_column(columns[name], plans[name].table.name)
            values = field.values(columns[name])
            if (values.lengths < field.horizon).all():  # the future of the series of training
                parts[name] = future_part(field, plans[name], plans["train"])
                notes.append(f"{name}: the past of each series is that of train")
                continue
            parts[name] = part_of(field, values, stored[name], plans[name])
    parts = {name: parts[name] for name in ("train", "valid", "test") if name in parts}
    notes.insert(0, split_note(parts, plans))
    return Corpus({field.name: field}, parts, notes)


def part_of(field: HistoryField, values: Stretches, stored: Stored, plan: Plan) -> Part:
    """Stretches as a part: each knows the row of its series."""
    return Part(
        {field.name: field},
        {field.name: values},
        rows=values.series,
        lines=stored.lines[values.series],
        files=stored.files[values.series],
        plan=plan,
    )


def future_part(field: HistoryField, plan: Plan, past: Plan) -> Part:
    """The steps of a table as a part whose series begin in another one, by name."""
    pasts = {row.values[0].name: row.values[0] for row in past.rows()}
    futures = list(plan.rows())
    alone = next(iter(pasts.values())) if len(pasts) == len(futures) == 1 else None
    series = []
    for row in futures:
        future: Recording = row.values[0]
        where = plan.table.where(row.line, file=row.file)
        series.append(appended(alone or pasts.get(future.name), future, field, where, past))
    times = [one.times for one in series if one.times is not None]
    column = VectorColumn(
        Ragged.of([one.values for one in series]),
        Ragged.of(times) if len(times) == len(series) else None,
        list(series[0].channels),
        series[0].dated,
        [list(one.static) for one in series],
    )
    field.refuse_column(column, plan.table.name)
    column = field.regular(column)
    lengths = column.values.lengths
    first = lengths - np.maximum([len(row.values[0]) for row in futures], field.horizon)
    if field.resample and column.times is not None:
        begins = [row.values[0].times[0] for row in futures]
        first = np.array([np.searchsorted(column.times[i], t) for i, t in enumerate(begins)])
    every = np.arange(len(series))
    values = field.stretches(
        column.values, column.times, every, first, lengths, first, column.static
    )
    lines, files = (np.array([getattr(row, key) for row in futures]) for key in ("line", "file"))
    return part_of(field, values, Stored({}, lines, files, hit=False), plan)


def appended(
    past: Recording | None, future: Recording, field: HistoryField, where: str, table: Plan
) -> Recording:
    """A series with its past before it, and gaps behind it up to the horizon."""
    if past is None:
        raise DataError(
            f"{table.table.name} has no past of the series",
            where=where,
            got=future.name,
            remedy="name the file that has the steps before these",
        )
    timed = past.times is not None and future.times is not None
    if timed and len(future) and past.times[-1] >= future.times[0]:  # type: ignore[index]
        raise DataError(
            f"the series {future.name!r} begins before its past in {table.table.name} ends",
            where=where,
            remedy="give the steps after it alone",
        )
    gap = max(0, field.horizon - len(future))
    values = [past.values, future.values, np.full((gap, past.values.shape[1]), np.nan, np.float32)]
    times = None
    if timed:
        ahead = field.step.after(future.times[-1:], np.arange(1, gap + 1))  # type: ignore[index]
        times = np.concatenate([past.times, future.times, ahead])
    return replace(future, values=np.concatenate(values), times=times)


def long_enough(
    field: HistoryField, column: VectorColumn, stored: Stored, plan: Plan
) -> tuple[np.ndarray, list[str]]:
    """The series of which at least one value can be forecast, and a note about the others."""
    least = field.horizon + 1
    fits = (column.values.lengths >= least) & ~field.blank(column)
    if (column.values.lengths >= least).any() and not fits.any():
        raise DataError(
            f"no series has a value in any of {', '.join(field.channels[:8])}",
            where=plan.table.name,
            remedy=("name the columns of the values with ", Option("series")),
        )
    if not fits.any():
        longest = int(column.values.lengths.max()) if len(column) else 0
        raise DataError(
            f"the longest series has {longest:,} steps, and a horizon of {field.horizon} needs at"
            f" least {least:,}",
            where=plan.table.name,
            remedy=("give a smaller ", Option("horizon"), ", or longer series"),
        )
    if fits.all():
        return np.arange(len(column)), []
    first = stored.where(plan, int(np.argmin(fits)))
    note = f"{int((~fits).sum()):,} series of fewer than {least:,} steps left out, the first at"
    return np.flatnonzero(fits), [f"{note} {first}"]


def cut(lengths: np.ndarray, horizon: int, held_out: HeldOut, *, where: str) -> tuple[Cuts, int]:
    """Ends of the parts of series of such lengths, and how many are too short to be cut.

    What is held out is a horizon at least, and leaves a horizon and one step to train on.
    """
    sizes = {}
    for name in ("valid", "test"):
        steps, share = getattr(held_out, f"{name}_steps"), getattr(held_out.shares, name)
        held = np.full_like(lengths, steps) if steps else np.round(lengths * share).astype(np.int64)
        sizes[name] = np.maximum(held, horizon) if steps or share else np.zeros_like(lengths)
    short = lengths - sizes["valid"] - sizes["test"] < horizon + 1
    if short.all() and (sizes["valid"] + sizes["test"]).any():
        longest = int(lengths.max())
        raise DataError(
            f"the longest series has {longest:,} steps: with a horizon of {horizon} nothing is left"
            " to train on once its end is held out",
            where=where,
            remedy=(
                "give longer series, less ",
                Option("horizon"),
                ", or ",
                Setting(valid_share=0),
            ),
        )
    sizes = {name: np.where(short, 0, size) for name, size in sizes.items()}
    valid = lengths - sizes["test"]
    return Cuts(valid - sizes["valid"], valid), int(short.sum()) if any_held(sizes) else 0


def any_held(sizes: Mapping[str, np.ndarray]) -> bool:
    return any(bool(size.any()) for size in sizes.values())


def split_note(parts: Mapping[str, Part], plans: Mapping[str, Plan]) -> str:
    sizes = []
    for name, part in parts.items():
        values = next(iter(part.values.values()))
        steps = int(values.lengths.sum())
        file = f" (from {plans[name].table.name})" if name in plans and name != "train" else ""
        sizes.append(f"{name} {steps:,} values{file}")
    held = [name for name in parts if name not in plans]
    how = f"; {' and '.join(held)}: the last steps of each series" if held else ""
    return ", ".join(sizes) + how
