"""What the filters of a convolution answer to: in one text, and in a corpus."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unspool.insight.ngrams import NgramTable
from unspool.insight.plots.style import COLOURS, TOKENS, WEIGHTS, heat, label, labels
from unspool.insight.trace import Trace
from unspool.io.pictures import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FILTERS = 24  # of a layer, those that answer most
CLASSES, EACH = 8, 12  # of n-grams: classes, and filters of each, that a picture has room for


def features_figure(trace: Trace) -> Figure:
    """The activations of the filters of the first layer at each token: those that answer most on
    this text, ordered by where they do so most."""
    array = trace.find("features")[0]
    values = array.values[:TOKENS]
    chosen = np.argsort(-values.max(0), kind="stable")[:FILTERS]
    chosen = chosen[np.argsort(values[:, chosen].argmax(0), kind="stable")]
    tokens = labels(trace.tokens[:TOKENS])
    figure = new_figure(1.9 + max(3.0, 0.26 * len(tokens)), 1.2 + 0.17 * len(chosen))
    axes = figure.subplots()
    image = heat(axes, values[:, chosen].T, most=float(values.max()) or 1.0, colours=WEIGHTS)
    axes.set_xticks(range(len(tokens)), tokens, rotation=90, fontsize=8)
    axes.set_yticks(range(len(chosen)), chosen.tolist(), fontsize=7)
    axes.set_xlabel("token in the middle of the n-gram", fontsize=8)
    axes.set_ylabel("filter")
    bar = figure.colorbar(image, ax=axes, pad=0.02)
    bar.set_label("activation")
    bar.outline.set_edgecolor("0.8")
    return figure


def ngram_figure(table: NgramTable, *, filters: int = 4, ngrams: int = 5) -> Figure:
    """For each class the filters that raise its score most, with the n-grams that activate them; of
    many classes those whose filters move most."""
    speaking = [feature for feature in table.features if feature.ngrams]
    classes = sorted(list(dict.fromkeys(feature.label for feature in speaking))[:CLASSES])
    filters, ngrams = min(filters, EACH), min(ngrams, EACH)
    chosen = [[f for f in speaking if f.label == name][:filters] for name in classes]
    filters = max(map(len, chosen), default=1)
    columns = max(1, len(classes))
    figure = new_figure(3.4 * columns, 0.4 + (0.5 + 0.19 * ngrams) * filters)
    grid = figure.subplots(filters, columns, squeeze=False)
    for axes in grid.flat:
        axes.axis("off")
    for column, (name, own) in enumerate(zip(classes, chosen)):
        for axes, feature in zip(grid[:, column], own):
            axes.axis("on")
            best = feature.ngrams[:ngrams]
            axes.barh(
                range(len(best)),
                [n.activation for n in best],
                color=COLOURS[column % len(COLOURS)],
            )
            axes.set_yticks(range(len(best)), [label(n.text) for n in best], fontsize=7)
            axes.invert_yaxis()
            axes.tick_params(axis="x", labelsize=7)
            axes.set_title(f"for {label(name)}: filter {feature.filter}", fontsize=8)
            axes.spines[["top", "right"]].set_visible(False)
    return figure
