"""Pictures as files: a matplotlib figure in, a PNG, SVG or PDF out.

matplotlib is imported when the first picture is drawn: nothing else waits for it.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from unspool.errors import DataError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg", ".pdf")


def check_picture(path: Path) -> Path:
    """`path`, if a picture can be written there. Called before the work that it would show."""
    if path.suffix.lower() not in SUFFIXES:
        raise DataError(
            "a picture cannot be written in this format",
            where=path,
            got=path.suffix or "a name without an ending",
            remedy="end the name in " + ", ".join(SUFFIXES),
        )
    if not path.parent.is_dir():
        raise DataError("there is no such folder", where=path.parent, remedy="make it first")
    return path


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def save_picture(figure: Figure, path: Path) -> None:
    """A character that the font does not have, such as a Chinese one, is a box."""
    from matplotlib import rc_context

    # Text in an SVG stays text; no date, so that the same picture is the same file.
    look = rc_context({"svg.fonttype": "none", "svg.hashsalt": "unspool"})
    with look, warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph .* missing from font", UserWarning)
        plain = {"Date": None} if path.suffix.lower() == ".svg" else None
        figure.savefig(path, dpi=150, metadata=plain)
