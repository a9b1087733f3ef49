"""Values that stand for gaps, such as -999: series in, notes about their channels out."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence

import numpy as np

from unspool.data.fields.series_values import blocks
from unspool.data.store.ragged import Ragged

CODE = re.compile(r"-?9{2,}(\.9+)?|-?999\.25|-32768|32767|65535")
LEAST = 3  # times that a value which is no usual code comes again


def sentinel_notes(series: Ragged, channels: Sequence[str]) -> list[str]:
    """Report values that come again and lie farther from the others than these from each other."""
    # (2, C) each: of the channels and of their negatives, so that the largest are found alike
    first, second = np.full((2, len(channels)), np.inf), np.full((2, len(channels)), np.inf)
    times = np.zeros((2, len(channels)), np.int64)
    for x in blocks(series):
        for side, y in enumerate((x, -x)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # a channel without a value
                low = np.nan_to_num(np.nanmin(y, 0), nan=np.inf)
                above = np.where(y > low, y, np.inf).min(0)
            least = np.minimum(first[side], low)
            times[side] = times[side] * (first[side] == least) + (y == least).sum(0)
            later = np.where(first[side] > least, first[side], second[side])
            second[side] = np.minimum(later, np.where(low > least, low, above))
            first[side] = least
    return list(described(first, second, times, channels))


def described(
    first: np.ndarray, second: np.ndarray, times: np.ndarray, channels: Sequence[str]
) -> Iterator[str]:
    for channel, name in enumerate(channels):
        for side, sign in enumerate((1, -1)):
            value, nearest = sign * first[side, channel], sign * second[side, channel]
            farthest = -sign * first[1 - side, channel]
            count, span = int(times[side, channel]), abs(farthest - nearest)
            shown = str(np.float32(value)).removesuffix(".0")
            enough = count >= (1 if CODE.fullmatch(shown) else LEAST) and value != 0
            if enough and 0 < span < abs(value - nearest) < np.inf:
                low, high = sorted((nearest, farthest))
                yield (
                    f"{name}: {shown} stands {count:,} time{'s' * (count > 1)} in train, and all"
                    f" other values lie between {low:g} and {high:g}; if it marks gaps, leave these"
                    " cells empty"
                )
