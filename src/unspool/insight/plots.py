"""Pictures of what a model does. In: what it gave. Out: a figure, for `pictures.save_picture`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unspool.insight.alignment import shown
from unspool.pictures import new_figure
from unspool.tasks.translation import Translation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CELL = 0.32  # inches a token


def alignment_figure(translation: Translation) -> Figure:
    """The alignment matrix (Bahdanau et al. 2015, figure 3): the source across, the translation
    downwards; the darker, the more a token looked there.
    """
    alignment = translation.alignment
    if alignment is None:
        raise ValueError("this translation has no alignment")
    read = [*map(shown, translation.source_tokens[:-1]), "(end)"]
    written = [*map(shown, translation.tokens)]
    longest = max(map(len, written), default=0)
    figure = new_figure(1.6 + 0.07 * longest + CELL * len(read), 1.4 + CELL * len(written))
    axes = figure.subplots()
    image = axes.imshow(alignment[: len(written)], cmap="Greys", vmin=0, vmax=1, aspect="equal")
    axes.set_xticks(range(len(read)), read, rotation=90)
    axes.set_yticks(range(len(written)), written)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_color("0.8")
    bar = figure.colorbar(image, ax=axes, shrink=0.6, ticks=[0, 0.5, 1])
    bar.set_label("weight")
    bar.outline.set_edgecolor("0.8")
    return figure
