"""Values of a field as exported programs take them: lists, numbers and strings."""

from __future__ import annotations

from typing import Any

import numpy as np

from unspool.data.read.recording import Recording


def shown_item(item: Any) -> Any:
    """A value as predict.py takes it."""
    if isinstance(item, Recording):
        values = item.values.tolist()
        return values if item.times is None else {"values": values, "times": item.times.tolist()}
    return item.tolist() if isinstance(item, np.ndarray) else item
