"""Examples that a run keeps of a series: what stood before some steps, and what came then."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unspool.data.fields.history import HistoryField
from unspool.data.read.recording import Recording, numbers
from unspool.tasks.examples import KEPT, Example, plain


def spread_examples(field: HistoryField, own: Recording, first: int, end: int) -> list[Example]:
    """At steps spread from `first` to the last one that has a horizon before `end`."""
    origins = np.linspace(first, end - field.horizon, KEPT).round().astype(int)
    return [example_at(field, own, origin) for origin in np.unique(origins).tolist()]


def example_at(field: HistoryField, own: Recording, origin: int) -> Example:
    """Up to two windows before a step, and what came from it on."""
    first, ahead = max(0, origin - 2 * field.length), min(len(own), origin + field.horizon)
    values = own.values[first:ahead].copy()
    future = values[origin - first :, field.target_channels].copy()
    values[origin - first :] = np.nan
    if field.ahead:
        known = field.ahead_channels
        values[origin - first :, known] = own.values[origin:ahead, known]
    else:
        values = values[: origin - first]
    past = replace(own[first : first + len(values)], values=values)
    return Example(plain(field.to_json(past)), "", tuple(numbers(step) for step in future))
