"""Everything that training needs from the data: plans of reading in, a `Corpus` of split parts out.

store each column -> leave out blank rows -> split -> fit the fields to the training rows -> values
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from unspool.data.fields.field import Categorical, Field, Stratified, Undivided
from unspool.data.groups import find_groups, read_groups
from unspool.data.part import Part
from unspool.data.plan import Plan
from unspool.data.split import (
    HoldOut,
    check_shares,
    choose_rows,
    refuse_shared,
    split_rows,
    stream_cuts,
)
from unspool.data.store.columns import Progress, Stored, store_columns
from unspool.errors import DataError, Option, Setting

NOTED = 200_000  # rows, beyond which groups are not looked for

Fields = Mapping[str, Field]


@dataclass
class Corpus:
    """Parts "train", "valid" unless its share is 0, perhaps "test".

    notes    for the user: the sizes of the parts, what was left out and why
    cached   notes about files that were read before
    caution  what scores of rows that were held out cannot tell
    """

    fields: Fields
    parts: dict[str, Part]
    notes: list[str] = field(default_factory=list)
    cached: list[str] = field(default_factory=list)
    caution: str = ""


def fit_fields(
    fields: Fields, stored: Stored, rows: np.ndarray, where: str, progress: Progress
) -> list[str]:
    notes = []
    for name, each in fields.items():
        notes += each.fit(stored.columns[name], rows, where=where, progress=progress)
    return notes


def load_corpus(
    plans: Mapping[str, Plan],
    fields: Fields,
    hold_out: HoldOut,
    *,
    unit: str = "rows",
    fit: Callable[..., list[str]] = fit_fields,
    progress: Progress = None,
) -> Corpus:
    """Read, split and number the data; a second time it comes from the cache.

    plans      of the training file, and of others for "valid" and "test"; the parts that have no
               file are held out of the training file
    fields     not fitted, or fitted to another corpus before
    unit       what a row is called
    fit        fits the fields
    """
    check_shares(hold_out)
    plan = plans["train"]
    for name, each in fields.items():
        if name not in plan.columns:
            raise DataError(
                f"holds no {name}: it was read as {' and '.join(plan.columns)}",
                where=plan.table.name,
                remedy=("leave out ", Setting("input"), ", or name another file"),
            )
        each.look(plan.columns[name])
    stored = {name: store_columns(plan, fields, progress) for name, plan in plans.items()}
    for name, plan in plans.items():
        refuse_nothing(plan, fields, stored[name])
    streams = [each for each in fields.values() if isinstance(each, Undivided)]
    if streams:
        if hold_out.folds or hold_out.grouped:
            raise DataError(
                "one long text has no rows to make folds or groups of",
                where=plans["train"].table.name,
                remedy=("leave out ", Option("folds", "group")),
            )
        corpus = load_stream(plans, streams[0], stored, hold_out, progress)
    else:
        corpus = load_rows(plans, fields, stored, hold_out, unit, fit, progress)
    corpus.notes.insert(0, split_note(corpus, plans, hold_out, "tokens" if streams else unit))
    corpus.notes += shared_group_notes(corpus, plans, hold_out)
    corpus.cached += [
        f"{plan.table.name}: read before, comes from the cache"
        for name, plan in plans.items()
        if stored[name].hit
    ]
    return corpus


def load_rows(
    plans: Mapping[str, Plan],
    fields: Fields,
    stored: Mapping[str, Stored],
    hold_out: HoldOut,
    unit: str,
    fit: Callable[..., list[str]],
    progress: Progress,
) -> Corpus:
    usable, notes = {}, []
    for name, source in stored.items():
        usable[name], more = full_rows(fields, plans[name], source, unit)
        notes += more
    train, where = stored["train"], plans["train"].table.name
    for name, each in fields.items():
        each.survey(train.columns[name], usable["train"], where=where)
    strata = stratification(fields, train)[usable["train"]]
    labels = (train.columns[key] for key, each in fields.items() if isinstance(each, Stratified))
    names = getattr(next(labels, None), "names", ())
    groups = None
    if hold_out.grouped:
        members = read_groups(plans["train"], hold_out.group)[usable["train"]]
        for name, plan in plans.items():
            if name != "train":
                other = read_groups(plan, hold_out.group)
                refuse_shared(members, other, where=partial(stored[name].where, plan))
        groups = np.unique(members, return_inverse=True)[1].reshape(-1)
    split = split_rows(strata, groups, hold_out.of(len(strata)), where=where, names=names)
    chosen = choose_rows(split, usable)
    notes[:0] = fit(fields, train, chosen["train"].rows, where, progress)
    values = {
        name: {key: fields[key].values(column, progress) for key, column in source.columns.items()}
        for name, source in stored.items()
    }
    parts = {}
    for name, (home, rows) in chosen.items():
        if name == "train":
            rows, more = short_enough(fields, values[home], rows, plans[home], stored[home], unit)
            notes += more
        parts[name] = Part(
            fields,
            {key: columns.select(rows) for key, columns in values[home].items()},
            rows=rows,
            lines=stored[home].lines[rows],
            files=stored[home].files[rows],
            plan=plans[home],
            weights=weights_of(plans[home], rows) if name == "train" else None,
        )
        if name != "test":
            parts[name].refuse_unseen()
        for key, columns in parts[name].values.items():
            where_field = partial(parts[name].where, field=key)
            notes += [f"{name}: {note}" for note in fields[key].check(columns, where_field)]
    return Corpus(fields, parts, notes)


def weights_of(plan: Plan, rows: np.ndarray) -> np.ndarray | None:
    """Weights of rows, 1 in the mean."""
    return None if plan.weights is None else plan.weights[rows] / plan.weights[rows].mean()


def full_rows(
    fields: Fields, plan: Plan, stored: Stored, unit: str
) -> tuple[np.ndarray, list[str]]:
    """The rows of which no field is blank, and notes about the others."""
    full, notes = np.ones(len(stored), dtype=bool), []
    for name, each in fields.items():
        left = np.flatnonzero(full & each.blank(stored.columns[name]))
        if not len(left):
            continue
        first = stored.where(plan, int(left[0]))
        if each.missing == "error":
            raise DataError(
                f"the {name} is missing",
                where=first,
                remedy=("fill it in, or leave such rows out with ", Option(missing="drop")),
            )
        what = each.what_is_missing(stored.columns[name], left)
        notes.append(f"{len(left):,} {unit} with {what} left out, the first at {first}")
        full[left] = False
    return np.flatnonzero(full), notes


def stratification(fields: Fields, stored: Stored) -> np.ndarray:
    """(N,) the class of each row, of which every part gets its share; 0 where there are none."""
    for name, each in fields.items():
        if isinstance(each, Stratified):
            return each.strata(stored.columns[name])
    return np.zeros(len(stored), dtype=np.int64)


def short_enough(
    fields: Fields,
    values: Mapping[str, object],
    rows: np.ndarray,
    plan: Plan,
    stored: Stored,
    unit: str,
) -> tuple[np.ndarray, list[str]]:
    """The training rows of which no field is too long, and a note about the others."""
    fits = np.logical_and.reduce(
        [fields[name].fits(column)[rows] for name, column in values.items()]
    )
    if fits.all():
        return rows, []
    if not fits.any():
        raise DataError(
            f"no {unit} are left to train on: all are longer than max_length",
            where=plan.table.name,
            remedy="give a larger max_length (0: no limit)",
        )
    first = stored.where(plan, int(rows[np.argmin(fits)]))
    note = f"{int((~fits).sum()):,} {unit} longer than max_length left out of training"
    return rows[fits], [f"{note}, the first at {first}"]


def load_stream(
    plans: Mapping[str, Plan],
    stream: Any,
    stored: Mapping[str, Stored],
    hold_out: HoldOut,
    progress: Progress,
) -> Corpus:
    """One long sequence, of which the last shares are held out."""
    name, fields = stream.name, {stream.name: stream}
    columns = {part: source.columns[name] for part, source in stored.items()}
    train = columns["train"]
    cuts = stream_cuts(stream.steps(train), hold_out, where=plans["train"].table.name)
    notes = stream.fit_stream(train, cuts, progress)
    streams = stream.streams(train, cuts, progress)
    for part, column in columns.items():
        if part != "train":
            streams |= stream.streams(column, {part: (0, stream.steps(column))}, progress)
    parts: dict[str, Part] = {
        part: Part(fields, {name: streams[part]}, plan=plans.get(part, plans["train"]))
        for part in ("train", "valid", "test")
        if part in streams
    }
    return Corpus(fields, parts, notes)


def encode_table(plan: Plan, fields: Fields, progress: Progress = None) -> tuple[Part, list[str]]:
    """A whole table for fields that have been fitted, as for an evaluation: no row is left out but
    those without the answer or without any step to read.

    The notes are about what the model cannot read or write.
    """
    fields = {name: each for name, each in fields.items() if name in plan.columns}
    stored = store_columns(plan, fields, progress)
    refuse_nothing(plan, fields, stored)
    values: dict[str, Any] = {}
    for name, each in fields.items():
        column = stored.columns[name]
        if isinstance(each, Undivided):
            values |= each.streams(column, {name: (0, each.steps(column))}, progress)
        else:
            values[name] = each.values(column, progress)
    rows, notes = np.arange(len(next(iter(values.values())))), list[str]()
    required = {
        name: each
        for name, each in fields.items()
        if (each.is_target and not each.sized) or each.without_steps(stored.columns[name])
    }
    if required:
        rows, notes = full_rows(required, plan, stored, "rows")
        values = {name: column.select(rows) for name, column in values.items()}
    part = Part(
        fields, values, rows=rows, lines=stored.lines[rows], files=stored.files[rows], plan=plan
    )
    for name, column in values.items():
        where = partial(part.where, field=name)
        notes += [*fields[name].check(column, where), *fields[name].unknown(column, where)]
    return part, notes


def refuse_nothing(plan: Plan, fields: Fields, stored: Stored) -> None:
    for name, column in stored.columns.items():
        if fields[name].blank(column).all():
            what = fields[name].what_is_missing(column, np.arange(len(stored)))
            other = f", or name the column that holds the {name} with "
            choice = len(plan.table.columns) > len(plan.columns)
            raise DataError(
                f"all {len(stored):,} rows have {what}",
                where=plan.table.name,
                remedy=("fill it", *((other, fields[name].form.option(name)) if choice else ())),
            )


def shared_group_notes(corpus: Corpus, plans: Mapping[str, Plan], hold_out: HoldOut) -> list[str]:
    """A warning where rows that are held out share a speaker, a subject or the like with training:
    their score says little about new ones."""
    held_out = [name for name in corpus.parts if name not in plans]
    labelled = any(isinstance(each, Categorical) for each in corpus.fields.values())
    plan, rows = plans["train"], sum(map(len, corpus.parts.values()))
    others = len(plan.table.columns) > len(plan.columns)
    if not (hold_out.group == "auto" and held_out and labelled and others and rows <= NOTED):
        return []
    groups = find_groups(plan)
    if groups is None:
        return []
    option = Option(group=groups.column)
    corpus.caution = f"each {groups.shown} is in training too, so new ones may fare worse"
    return [
        f"{' and '.join(held_out)} share each {groups.shown} with train: {option} holds out new"
        " ones"
    ]


def split_note(corpus: Corpus, plans: Mapping[str, Plan], hold_out: HoldOut, unit: str) -> str:
    how = "seeded hold-out"
    if unit == "tokens":
        how = "the end of the text"
    elif hold_out.grouped:
        how += f", groups by column {hold_out.group!r}"
    elif any(isinstance(each, Categorical) for each in corpus.fields.values()):
        how += ", stratified by label"
    sizes = []
    for name, part in corpus.parts.items():
        how_part = how
        if hold_out.fold and name == hold_out.fold_part:
            how_part = f"fold {hold_out.fold} of {hold_out.folds}"
        size = int(part.lengths.sum()) if unit == "tokens" else len(part)
        sizes.append(f"{name} {size:,}" + ("" if name in plans else f" ({how_part})"))
    declared = next((each.only.column.name for each in plans.values() if each.only), None)
    by = "" if declared is None else f"; parts by column {declared!r}"
    return f"{unit}: " + ", ".join(sizes) + by
