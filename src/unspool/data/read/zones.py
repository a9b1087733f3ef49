"""Time zones of dates with offsets: instants and their offsets in, a clock that goes on out.

An offset that changes names a zone where those of one set of rules alone fit all dates: the zones
of central Europe, say. Otherwise the last offset is kept.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo, available_timezones

import numpy as np

DAY, YEAR = 86_400, 365 * 86_400
CHECKED = 64  # dates that are compared with each zone, and those beside
CHANGES = 16  # changes of the offset
AHEAD = 3 * YEAR  # seconds in which zones that fit must agree
# Of zones that agree, one that is known.
USUAL = (
    "Europe/Berlin", "Europe/London", "Europe/Athens", "America/New_York", "America/Chicago",
    "America/Denver", "America/Los_Angeles", "Australia/Sydney",
)  # fmt: skip


class Clock(NamedTuple):
    """Times as a clock shows them, in seconds since 1970.

    zone   `+02:00`; with the name of its zone, `+02:00 Europe/Berlin`, where the offset changes;
           the name alone where the clock is put forward, as that of steps of days
    """

    times: np.ndarray
    zone: str


def clock_of(instants: np.ndarray, offsets: np.ndarray) -> Clock:
    """The clock of dates, by their seconds since 1970 and their offsets in seconds."""
    last = int(offsets[-1])
    fixed = Clock(instants + last, offset_name(last))
    changes = np.flatnonzero(np.diff(offsets))
    if not len(changes):
        return fixed
    edges = changes[:CHANGES]
    spread = np.linspace(0, len(instants) - 1, CHECKED).astype(np.int64)
    rows = np.unique(np.concatenate([spread, edges, edges + 1]))
    seen = tuple(zip(instants[rows].tolist(), offsets[rows].tolist()))
    zone = zone_name(seen, float(instants[-1]))
    if not zone:
        return fixed
    shown = instants + offsets
    steps = np.diff(shown)
    if (steps > 0).all() and not (steps % DAY).any():
        return Clock(shown, zone)
    return fixed._replace(zone=f"{fixed.zone} {zone}")


def offset_name(offset: int) -> str:
    """7200 as `+02:00`"""
    minutes = abs(offset) // 60
    return f"{'-' if offset < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}"


@lru_cache(maxsize=64)
def zone_name(seen: tuple[tuple[float, int], ...], last: float) -> str:
    """The zone that has these offsets at these instants; empty where none has, or where those that
    have them will differ."""
    fitting = []
    for name in sorted(available_timezones()):
        zone = named_zone(name) if "/" in name else None
        if zone and all(offset_at(zone, instant) == offset for instant, offset in seen):
            fitting.append(name)
    if len({changes_ahead(name, last) for name in fitting}) != 1:
        return ""
    return next((name for name in USUAL if name in fitting), fitting[0])


def changes_ahead(name: str, start: float) -> tuple[tuple[int, int], ...]:
    """(minute, offset) of each change in the time ahead."""
    zone = ZoneInfo(name)
    changes, first = [], int(start) // 60
    step = 10 * DAY // 60
    for minute in range(first, first + AHEAD // 60, step):
        low, high = minute, minute + step
        before, after = offset_at(zone, low * 60), offset_at(zone, high * 60)
        if before == after:
            continue
        while high - low > 1:
            middle = (low + high) // 2
            if offset_at(zone, middle * 60) == before:
                low = middle
            else:
                high = middle
        changes.append((high, after))
    return tuple(changes)


@lru_cache(maxsize=1024)
def named_zone(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):  # the last: there is no such zone
        return None


def offset_at(zone: ZoneInfo, instant: float) -> int:
    offset = datetime.fromtimestamp(instant, zone).utcoffset()
    assert offset is not None
    return int(offset.total_seconds())


def zoned_name(time: float, zone: str) -> str | None:
    """A time of a `Clock` as `2024-07-01 00:00:00+02:00`; None where its zone has no name."""
    offset, _, name = zone.rpartition(" ")
    known = named_zone(name) if "/" in name else None
    if known is None:
        return None
    shown = datetime.fromtimestamp(time, UTC)
    if not offset:
        return shown.replace(tzinfo=known).isoformat(" ")
    # The clock of a fixed offset shows the same instant.
    instant = shown.replace(tzinfo=datetime.fromisoformat(f"2000-01-01T00:00{offset}").tzinfo)
    return instant.astimezone(known).isoformat(" ")
