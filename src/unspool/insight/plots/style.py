"""Style of all figures: colours that everyone can distinguish, labels, heat maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unspool.text.vocab import END

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe & Ito (2008): distinct for every kind of colour vision, and in print.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)), (0, (6, 4)))
SHARES = "cividis"  # of values from 0 to 1
WEIGHTS = "Blues"  # of values that are mostly near 0
SIGNED = "RdBu_r"  # of values around 0
TOKENS = 60  # shown in a picture at most
CELL = 0.32  # inches a token


def shown(token: str) -> str:
    return token.strip() or "␣"


def label(token: str) -> str:
    """A token as the label of an axis; the dollar would begin a formula."""
    return "(end)" if token == END else shown(token).replace("$", r"\$")


def labels(tokens: Sequence[str]) -> list[str]:
    return [label(token) for token in tokens]


def heat(
    axes: Axes,
    values: np.ndarray,
    *,
    signed: bool = False,
    most: float = 1.0,
    colours: str = SHARES,
) -> Any:
    """A matrix as colours: from 0 to `most`, or around 0 as far as its values go."""
    low = 0.0
    if signed:
        most = float(np.abs(values).max()) or 1.0
        low, colours = -most, SIGNED
    image = axes.imshow(
        values, cmap=colours, vmin=low, vmax=most, aspect="auto", interpolation="nearest"
    )
    quiet(axes)
    return image


def quiet(axes: Axes) -> None:
    """No marks, and a frame that stays behind what it frames."""
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_color("0.8")


def plain(axes: Axes) -> None:
    """Two axes and light lines, for curves."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(visible=True, color="0.9", linewidth=0.8)
    axes.set_axisbelow(True)
