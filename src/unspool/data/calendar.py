"""What a date tells of a step: the time of day, the day of the week, the time of the year.

In: seconds since 1970 (T,). Out: (T, K), for each cycle the sine and cosine of where the step
stands in it, so that midnight is next to midnight.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

CYCLES = {"day": 86_400.0, "week": 7 * 86_400.0, "year": 365.2425 * 86_400.0}
MONDAY = 4 * 86_400.0  # 1970 began on a Thursday


def cycles_of(step: float, span: float) -> list[str]:
    """The cycles that steps of so many seconds can show and that came twice within the span."""
    return [name for name, long in CYCLES.items() if 2 * step <= long and 2 * long <= span]


def calendar(times: np.ndarray, cycles: Sequence[str]) -> np.ndarray:
    """(T,) -> (T, 2 · cycles) float32"""
    found = []
    for name in cycles:
        start = MONDAY if name == "week" else 0.0
        angle = 2 * np.pi * ((times - start) / CYCLES[name] % 1.0)
        found += [np.sin(angle), np.cos(angle)]
    if not found:
        return np.zeros((len(times), 0), np.float32)
    return np.stack(found, 1).astype(np.float32)
