"""Map of documents: their counts or vectors in, (x, y) out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from unspool.insight.plots.style import COLOURS
from unspool.io.pictures import new_figure, save_picture
from unspool.tasks.document_vectors import unit_length
from unspool.topic_model.corpus import inverse_document_frequency, tf_idf
from unspool.topic_model.methods import Assigned
from unspool.topic_model.settings import TopicSettings
from unspool.vectors.picture import principal_plane

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from unspool.topic_model.result import Topics

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
LATENT = 50  # singular vectors
FEWEST = 10  # documents that t-SNE can map


class Points(NamedTuple):
    """Some documents, by their number, and the coordinates of each."""

    rows: list[int]
    at: np.ndarray  # (M, 2)


def map_documents(
    assigned: Assigned, counts: csr_matrix, vectors: np.ndarray | None, settings: TopicSettings
) -> Points:
    """At most `settings.mapped` documents that have a topic, chosen by the seed; by their vectors,
    or by latent semantic analysis: the largest singular vectors of their TF-IDF."""
    if settings.map == "none":
        return Points([], np.empty((0, 2)))
    rows = np.flatnonzero(assigned.topic >= 0)
    if len(rows) > settings.mapped:
        random = np.random.default_rng(settings.seed)
        rows = np.sort(random.choice(rows, settings.mapped, replace=False))
    x = latent(counts[rows], settings.seed) if vectors is None else vectors[rows]
    if settings.map == "pca" or len(rows) < FEWEST:
        at = principal_plane(x)
    else:
        from sklearn.manifold import TSNE

        # From the principal components, so that distant groups keep their sides of the map.
        start = principal_plane(x)
        start = start / max(float(start.std(0).max()), 1e-12) * 1e-4
        perplexity = min(30.0, (len(rows) - 1) / 3)
        model = TSNE(2, perplexity=perplexity, init=start, random_state=settings.seed)
        at = model.fit_transform(x.astype(np.float32))
    return Points(rows.tolist(), np.asarray(at, dtype=np.float64))


def latent(counts: csr_matrix, seed: int) -> np.ndarray:
    """(M, V) -> (M, LATENT), at length 1."""
    from sklearn.decomposition import TruncatedSVD

    size = min(LATENT, counts.shape[1] - 1, len(counts.indptr) - 2)
    x = tf_idf(counts, inverse_document_frequency(counts))
    if size < 2:
        return x.toarray()
    return unit_length(TruncatedSVD(size, random_state=seed).fit_transform(x))


def centres(topics: Topics) -> dict[int, list[float]]:
    """The middle of each topic's documents on the map: the median of their coordinates."""
    points: dict[int, list[Sequence[float]]] = {}
    for point in topics.points:
        points.setdefault(point.topic, []).append((point.x, point.y))
    return {k: np.median(xy, axis=0).tolist() for k, xy in points.items()}


def draw_map(topics: Topics, path: Path) -> None:
    """A picture: a dot a document, its colour and shape those of its topic, and the topics'
    names."""
    figure = new_figure(10, 7.5)
    axes = figure.subplots()
    for topic in topics.topics:
        dots = [(p.x, p.y) for p in topics.points if p.topic == topic.number]
        if dots:
            style = topic.number - 1
            axes.scatter(
                [x for x, _ in dots],
                [y for _, y in dots],
                s=12,
                alpha=0.65,
                linewidths=0,
                color=COLOURS[style % len(COLOURS)],
                marker=MARKERS[style // len(COLOURS) % len(MARKERS)],
                label=topic.name.replace("$", r"\$"),
            )
    for number, (x, y) in centres(topics).items():
        box = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": "0.6", "alpha": 0.85}
        axes.text(x, y, str(number), fontsize=9, ha="center", va="center", bbox=box)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[["top", "right", "left", "bottom"]].set_visible(False)
    axes.legend(
        loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=7.5, frameon=False, markerscale=1.5
    )
    save_picture(figure, path)
