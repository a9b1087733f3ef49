"""Pictures of what a model does. In: what it gave. Out: a figure, for `pictures.save_picture`."""

from unspool.insight.plots.answers import (
    classes_figure,
    confusion_figure,
    learning_figure,
    reliability_figure,
    saliency_figure,
    scatter_figure,
)
from unspool.insight.plots.attention import (
    alignment_figure,
    heads_figure,
    matrix_figure,
    pooling_figure,
)
from unspool.insight.plots.graph import graph_figure
from unspool.insight.plots.ideas import IDEAS
from unspool.insight.plots.media import (
    attention_maps,
    caption_figure,
    features_figure,
    frames_figure,
    image_figure,
    ngram_figure,
    roll_figure,
)
from unspool.insight.plots.recurrence import gates_figure, gradient_figure, layers_of
from unspool.insight.plots.series import forecast_figure, series_figure
from unspool.insight.plots.sound import lattice_figure, spectrum_figure
from unspool.insight.plots.strokes import drawing_figure, window_figure

__all__ = [
    "IDEAS",
    "alignment_figure",
    "attention_maps",
    "caption_figure",
    "classes_figure",
    "confusion_figure",
    "drawing_figure",
    "features_figure",
    "forecast_figure",
    "frames_figure",
    "gates_figure",
    "gradient_figure",
    "graph_figure",
    "heads_figure",
    "image_figure",
    "lattice_figure",
    "layers_of",
    "learning_figure",
    "matrix_figure",
    "ngram_figure",
    "pooling_figure",
    "reliability_figure",
    "roll_figure",
    "saliency_figure",
    "scatter_figure",
    "series_figure",
    "spectrum_figure",
    "window_figure",
]
