"""What is shown of the gates of a recurrent layer under frames, or under a piano roll.

In: a recorded run. Out: an object for JSON, which `web/gates.js` draws.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unspool.insight.plots.recurrence import layers_of
from unspool.insight.trace import Recorded, Trace, rounded

UNITS = 24  # of a layer that are shown


def gates(trace: Trace | None, layer: int, rows: np.ndarray | None = None) -> dict[str, Any]:
    """Gates and states (units, steps) of the `layer`th of the layers that read the input, from 1,
    of the units that move most.

    rows   of what was recorded that are steps of what is shown; None: all
    """
    layers = [own for own in layers_of(trace) if own[0].axes[0] == "read"] if trace else []
    if not layers:
        return {"layers": [], "layer": 0, "units": [], "gates": []}
    number = min(layer, len(layers))
    own = layers[number - 1]
    rows = np.arange(len(own[0].values)) if rows is None else rows[rows < len(own[0].values)]
    moves = own[-1].values[rows].std(0)
    units = np.sort(np.argsort(-moves, kind="stable")[:UNITS])
    both = any(array.direction == "backwards" for array, *_ in layers)
    return {
        "layers": [called(array, both) for array, *_ in layers],
        "layer": number,
        "units": units.tolist(),
        "gates": [
            {
                "kind": array.kind.replace("_", " "),
                "values": rounded(array.values[rows][:, units].T),
            }
            for array in own
        ],
    }


def called(array: Recorded, both: bool) -> str:
    return f"layer {array.layer}, {array.direction}" if both else f"layer {array.layer}"
