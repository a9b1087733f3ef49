"""The pictures that fit a model: which of `plots` there is something to draw for.

In: a trace, reasons, a run's log. Out: figures by the names of their files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unspool.data.read.recording import Recording
from unspool.insight.plots import (
    classes_figure,
    confusion_figure,
    drawing_figure,
    features_figure,
    forecast_figure,
    gates_figure,
    graph_figure,
    heads_figure,
    layers_of,
    learning_figure,
    matrix_figure,
    pooling_figure,
    reliability_figure,
    roll_figure,
    saliency_figure,
    scatter_figure,
    window_figure,
)
from unspool.insight.plots.overtime import (
    ahead_figure,
    attention_over_time,
    gates_over_time,
    pooling_over_time,
    saliency_over_time,
)
from unspool.insight.saliency import Saliency
from unspool.insight.summary import ModelSummary
from unspool.insight.trace import Trace
from unspool.tasks.compose.answer import Composed
from unspool.tasks.reading import Reading

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEADS = ("self_attention", "causal_attention", "cross_attention", "pair_attention")
CLASSES = 40  # that a picture can show
TABLES = ("classes", "labels", "types", "tags")  # of scores by name
COUNTS = ("examples", "sentences", "recordings", "windows")  # of what a report is on
EXAMPLES = 100  # fewer say little of calibration

Named = Iterator[tuple[str, "Figure"]]


def input_pictures(trace: Trace, saliency: Saliency | None = None) -> Named:
    """Pictures of a model reading one input."""
    if saliency is not None:
        yield "saliency", saliency_figure(saliency)
    for layer in layers_of(trace):
        first = layer[0]
        name = f"gates-{first.part}-{first.layer}-{first.direction}"
        yield name, gates_figure(trace, layer)
    for kind in HEADS:
        sides = sorted({array.part for array in trace.find(kind)})
        for part in sides:
            part_trace = trace._replace(arrays=[a for a in trace.find(kind) if a.part == part])
            suffix = f"-{part}" if len(sides) > 1 else ""
            yield f"{kind.replace('_', '-')}{suffix}", heads_figure(part_trace, kind)
    if alignments := trace.find("alignment"):
        yield (
            "alignment",
            matrix_figure(alignments[0].values, trace.tokens, trace.written, copied=trace.copied),
        )
    for window in trace.find("window"):
        yield "window", window_figure(window.values, trace.written)
    if trace.find("pooling"):
        yield "pooling", pooling_figure(trace)
    if trace.find("features"):
        yield "features", features_figure(trace)


def series_pictures(
    series: Recording, trace: Trace, reading: Reading, why: Saliency | None, ahead: Any = None
) -> Named:
    """Pictures of a model reading one series; `ahead`: its forecast."""
    spans, first = reading.input.network_spans, reading.input.first_step
    if ahead is not None:
        last = first + len(reading.input.tokens)
        yield "ahead", ahead_figure(series, ahead, why, first=first, last=last)
    elif why is not None:
        yield "saliency", saliency_over_time(series, why, reading.input.token_spans)
    begin = max(0, first)  # what lies before it is not read
    series = series[begin:]
    spans = [(start - begin, stop - begin) for start, stop in spans]
    for layer in layers_of(trace):
        name = f"gates-{layer[0].part}-{layer[0].layer}-{layer[0].direction}"
        written = layer[0].axes[0] == "written"
        yield name, gates_figure(trace, layer) if written else gates_over_time(series, layer, spans)
    for kind in HEADS:
        every = trace.find(kind)
        if encoder := [head for head in every if "written" not in head.axes]:
            yield kind.replace("_", "-"), attention_over_time(series, encoder, spans)
        if decoder := [head for head in every if "written" in head.axes]:
            suffix = "-written" if encoder else ""
            yield (
                f"{kind.replace('_', '-')}{suffix}",
                heads_figure(trace._replace(arrays=decoder), kind),
            )
    for window in trace.find("window"):
        yield "window", window_figure(window.values, trace.written)
    for array in trace.find("pooling"):
        yield "pooling", pooling_over_time(series, array, spans)
    if encoder := trace.find("features"):
        yield "features", gates_over_time(series, encoder, spans)


def run_pictures(
    summary: ModelSummary,
    logs: Mapping[str, Sequence[Mapping[str, Any]]],
    *,
    metric: str,
    evaluation: Mapping[str, Any] | None = None,
) -> Named:
    """Pictures of a run: its graph, its learning curves beside those of others, its evaluation."""
    yield "graph", graph_figure(summary)
    if any(f"valid_{metric}" in r or "loss" in r for log in logs.values() for r in log):
        yield "learning", learning_figure(logs, metric=metric)
    yield from report_pictures(evaluation or {})


def report_pictures(evaluation: Mapping[str, Any]) -> Named:
    """Confusion matrix, calibration, or predicted against true numbers."""
    yield from class_pictures(evaluation)
    if evaluation.get("calibration"):
        yield "reliability", reliability_figure(evaluation["calibration"])
    if evaluation.get("points"):
        yield "scatter", scatter_figure(evaluation["points"])
    yield from forecast_pictures(evaluation)


def class_pictures(evaluation: Mapping[str, Any]) -> Named:
    """Confusion matrix, and precision, recall and F1 of each class."""
    confusion, (_, scores) = evaluation.get("confusion"), per_class(evaluation)
    if confusion and len(confusion["labels"]) <= CLASSES:
        yield "confusion", confusion_figure(np.array(confusion["rows_true"]), confusion["labels"])
    if 0 < len(scores) <= CLASSES:
        yield "classes", classes_figure(scores)


def per_class(evaluation: Mapping[str, Any]) -> tuple[str, dict[str, dict[str, float]]]:
    """The table of a report with a row for each class, label, type or tag, and which of these."""
    for key in TABLES:
        table = evaluation.get(key)
        if isinstance(table, Mapping) and all("f1" in score for score in table.values()):
            return key.removesuffix("es" if key == "classes" else "s"), dict(table)
    return "", {}


def training_pictures(
    evaluation: Mapping[str, Any], log: Sequence[Mapping[str, Any]], metric: str
) -> Named:
    """Pictures of classes and learning curves of a training whose report is on enough examples."""
    if max(evaluation.get(count, 0) for count in COUNTS) < EXAMPLES:
        return
    yield from class_pictures(evaluation)
    if sum(f"valid_{metric}" in record for record in log) > 1:
        yield "learning", learning_figure({"": log}, metric=metric)


def forecast_pictures(evaluation: Mapping[str, Any]) -> Named:
    if evaluation.get("forecasts"):
        yield "forecasts", forecast_figure(evaluation["forecasts"], level=evaluation["level"])


def fitted_pictures(evaluation: Mapping[str, Any]) -> Named:
    """Pictures of what was fitted to the validation part, where it has enough examples."""
    calibration = evaluation.get("calibration")
    if calibration and calibration["temperature"] != 1 and evaluation["examples"] >= EXAMPLES:
        yield "reliability", reliability_figure(calibration)
    yield from forecast_pictures(evaluation)


def written_figure(answer: Any) -> Figure:
    """A picture of what a model has continued: a drawing, or a piece of music."""
    if isinstance(answer, Composed):
        return roll_figure(answer.piece, answer.given)
    return drawing_figure([answer.strokes])
