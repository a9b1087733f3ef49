"""Figures of attention: alignments, for a terminal too, and the heads of a Transformer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from unspool.insight.plots.style import CELL, TOKENS, WEIGHTS, heat, labels, quiet, shown
from unspool.insight.trace import Trace
from unspool.io.pictures import new_figure
from unspool.tasks.translate.answer import CopiedToken, Translation
from unspool.text.vocab import END

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMED = 24  # tokens that fit next to a head
SHADES = " ░▒▓█"
ENDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # of a colour scale
COPIED = 0.5  # probability from which on a token counts as copied
FREE = 4  # tokens that a row sees at least, if it has a choice


def alignment_figure(translation: Translation) -> Figure:
    """The alignment of a translation that was searched for with `Decoding(alignment=True)`."""
    if translation.alignment is None:
        raise ValueError("this translation has no alignment")
    return matrix_figure(
        translation.alignment,
        translation.source_tokens,
        translation.tokens,
        copied=translation.copied or (),
    )


def matrix_figure(
    weights: np.ndarray,
    read: Sequence[str],
    written: Sequence[str],
    *,
    copied: Sequence[CopiedToken] = (),
) -> Figure:
    """The alignment matrix (Bahdanau et al. 2015, figure 3): the source across, the translation
    downwards; the darker, the more a token looked there, with a ring where it was copied. Of long
    ones their beginnings.
    """
    across, down = labels(read[:TOKENS]), labels(written[:TOKENS])
    longest = max(map(len, down), default=0)
    figure = new_figure(1.6 + 0.07 * longest + CELL * len(across), 1.4 + CELL * len(down))
    axes = figure.subplots()
    image = axes.imshow(
        weights[: len(down), : len(across)], cmap="Greys", vmin=0, vmax=1, aspect="equal"
    )
    marks = [(at, t) for t, at in enumerate(map(copied_from, copied)) if at is not None]
    inside = [(at, t) for at, t in marks if at < len(across) and t < len(down)]
    if inside:
        x, y = zip(*inside)
        axes.scatter(x, y, 90, label="copied", facecolors="none", edgecolors="#D55E00")
        axes.legend(loc="upper left", bbox_to_anchor=(0, -0.02), frameon=False, fontsize=8)
    upright = all(len(token) <= 2 for token in across[:-1])  # characters, and perhaps (end)
    axes.set_xticks(range(len(across)), across, rotation=0 if upright else 90)
    axes.set_yticks(range(len(down)), down)
    axes.xaxis.tick_top()
    if len(read) > TOKENS:
        axes.set_xlabel(f"the first {TOKENS} of {len(read)} tokens", fontsize=8)
    quiet(axes)
    bar = figure.colorbar(image, ax=axes, shrink=0.6, ticks=[0, 0.5, 1])
    bar.set_label("weight")
    bar.outline.set_edgecolor("0.8")
    return figure


def heads_figure(trace: Trace, kind: str) -> Figure:
    """Every head of one kind of attention: layers downwards, heads across; in each, who looks
    (downwards) at whom (across)."""
    layers = trace.find(kind)
    if not layers:
        raise ValueError(f"this model has no {kind}")
    sides = {"read": trace.tokens, "written": trace.written}
    down, across = (labels(sides[axis][:TOKENS]) for axis in layers[0].axes[1:])
    heads = layers[0].values.shape[0]
    most = scale_end([array.values[:, :TOKENS, :TOKENS] for array in layers])
    named = max(len(down), len(across)) <= NAMED
    width = max(1.5, 0.17 * len(across)) if named else 2.2
    height = max(1.5, 0.17 * len(down)) if named else 2.2
    figure = new_figure(1.5 + width * heads, 0.9 + (height + 0.2) * len(layers))
    grid = figure.subplots(len(layers), heads, squeeze=False, sharex=True, sharey=True)
    for row, array in zip(grid, layers):
        for head, axes in enumerate(row):
            weights = array.values[head, :TOKENS, :TOKENS]
            image = heat(axes, weights, most=most, colours=WEIGHTS)
            if array.layer is not None:
                axes.set_title(f"layer {array.layer}, head {head + 1}", fontsize=8)
            if named:
                axes.set_xticks(range(len(across)), across, rotation=90, fontsize=7)
                axes.set_yticks(range(len(down)), down, fontsize=7)
    figure.supylabel("each of these", fontsize=8)
    figure.supxlabel("looks at these", fontsize=8)
    largest = max(float(array.values[:, :TOKENS, :TOKENS].max()) for array in layers)
    bar = figure.colorbar(image, ax=grid, shrink=0.6, extend="max" if largest > most else "neither")
    bar.set_label(f"weight of\n{kind.replace('_', ' ')}", fontsize=8)
    bar.outline.set_edgecolor("0.8")
    return figure


def scale_end(layers: Sequence[np.ndarray]) -> float:
    """End of the colour scale of all heads, as on the page: 1, or less where all weights are
    small. Rows that see next to nothing, the first of causal attention, do not count.

    layers   (heads, rows, columns) each
    """
    rows = np.concatenate([weights.reshape(-1, weights.shape[-1]) for weights in layers])
    free = rows[(rows > 0).sum(1) >= FREE]
    largest = float((free if len(free) else rows).max())
    return next((end for end in ENDS if largest <= end), 1.0)


def pooling_figure(trace: Trace) -> Figure:
    """The weights with which the states of a text become one vector (Yang et al. 2016)."""
    (array,) = trace.find("pooling")
    tokens = labels(trace.tokens[:TOKENS])
    figure = new_figure(1.4 + 0.28 * len(tokens), 2.2)
    axes = figure.subplots()
    axes.bar(range(len(tokens)), array.values[:TOKENS], color="#0072B2")
    axes.set_xticks(range(len(tokens)), tokens, rotation=90, fontsize=8)
    axes.set_ylabel("weight in the pooling")
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def alignment_lines(translation: Translation) -> list[str]:
    """An alignment as lines of characters: what was read across, what was written downwards.

    Tokens of one character stand side by side; others get the width of the longest token.
    """
    alignment = translation.alignment
    if alignment is None:
        return []
    read = ["·" if token == END else shown(token) for token in translation.source_tokens]
    written = [shown(token) for token in translation.tokens]
    width = max(map(len, read))
    margin = max(map(len, written), default=0)
    gap = " " if width > 1 else ""
    lines = [" " * (margin + 1) + gap.join(token.rjust(width) for token in read)]
    for token, weights in zip(written, alignment):
        shades = [SHADES[min(len(SHADES) - 1, int(len(SHADES) * float(w)))] for w in weights]
        cells = gap.join((shade * min(width, 2)).rjust(width) for shade in shades)
        lines.append(f"{token.rjust(margin)} {cells}".rstrip())
    for token, copied in zip(written, translation.copied or ()):
        at = copied_from(copied)
        if at is not None:
            lines.append(
                f"{token}: copied from {read[at]!r}, token {at + 1} (p_gen {copied.p_gen:.2f})"
            )
    return lines


def copied_from(token: CopiedToken) -> int | None:
    """The source token that a written one was copied from; None where it more probably was not."""
    return token.position if token.copied >= COPIED else None
