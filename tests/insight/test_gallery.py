"""Pictures of models: what stands in them, and which of them a model gets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_hex

from insight_models import TEXT, make, read
from unspool.insight.gallery import input_pictures, per_class, run_pictures, training_pictures
from unspool.insight.gradients import gradient_flow
from unspool.insight.ngrams import Feature, Ngram, NgramTable
from unspool.insight.plots import (
    IDEAS,
    classes_figure,
    confusion_figure,
    gates_figure,
    gradient_figure,
    graph_figure,
    heads_figure,
    layers_of,
    learning_figure,
    ngram_figure,
    saliency_figure,
)
from unspool.insight.saliency import explain
from unspool.insight.summary import summary_of
from unspool.insight.trace import trace
from unspool.io.pictures import save_picture

RECORDS = [
    {"step": 10, "loss": 0.7},
    {"step": 20, "valid_accuracy": 0.5, "best": True},
    {"step": 30, "loss": 0.3},
    {"step": 40, "valid_accuracy": 0.9, "best": True},
    {"step": 60, "valid_accuracy": 0.8, "best": False},
]


def words(axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


@pytest.mark.parametrize(
    ("name", "pictures"),
    [
        ("classify-attention", ["gates-encoder-1-forwards", "gates-encoder-2-forwards", "pooling"]),
        ("classify-cnn", ["features"]),
        ("classify-transformer", ["self-attention"]),
        ("generate-transformer", ["causal-attention"]),
        ("translate-bahdanau", [f"gates-encoder-{k}-{way}" for k in (1, 2)
                                for way in ("forwards", "backwards")]
         + ["gates-decoder-1-forwards", "gates-decoder-2-forwards", "alignment"]),
        ("translate-transformer", ["self-attention", "causal-attention", "cross-attention"]),
    ],
)  # fmt: skip
def test_a_model_gets_the_pictures_that_fit(name, pictures) -> None:
    assert [name for name, _ in input_pictures(trace(*make(name), TEXT))] == pictures


def test_gates_are_the_traces() -> None:
    found = trace(*make("classify-lstm"), TEXT)
    layers = layers_of(found)
    assert len(layers) == 4
    figure = gates_figure(found, layers[0])
    panels = [axes for axes in figure.axes if axes.images]
    shown = [axes.get_ylabel().replace("\n", " ") for axes in panels]
    assert shown[:2] == ["input gate", "forget gate"]
    (array,) = [a for a in layers[0] if a.kind == "forget_gate"]
    drawn = np.sort(np.asarray(panels[1].images[0].get_array()), axis=0)
    np.testing.assert_allclose(drawn, np.sort(array.values.T, axis=0))
    assert [label.get_text() for label in panels[-1].get_xticklabels()] == TEXT.split()


def test_heads_are_the_traces() -> None:
    found = trace(*make("classify-transformer"), TEXT)
    panels = [axes for axes in heads_figure(found, "self_attention").axes if axes.images]
    assert len(panels) == 4
    np.testing.assert_allclose(panels[3].images[0].get_array(), found.arrays[1].values[1])
    with pytest.raises(ValueError, match="has no cross_attention"):
        heads_figure(found, "cross_attention")


def test_saliency_shows_every_token() -> None:
    found = explain(read(*make("classify-lstm"), "a b $ c"))
    axes = saliency_figure(found).axes[0]
    assert words(axes) == ["a", "b", r"‹\$›", "c"]
    assert found.answer in axes.get_title(loc="left")


def test_learning_curves_side_by_side() -> None:
    figure = learning_figure({"one": RECORDS, "two": RECORDS[1:2]}, metric="accuracy")
    left, right = figure.axes
    assert [line.get_label() for line in left.lines] == ["one", "two"]
    assert right.lines[0].get_ydata().tolist() == [0.5, 0.9, 0.8]
    assert right.lines[1].get_ydata().tolist() == [0.9]  # the ring around the best
    (alone,) = learning_figure({"one": RECORDS[1:2]}, metric="accuracy").axes
    assert alone.get_ylabel() == "validation accuracy"


def test_classes() -> None:
    scores = {
        "no": {"precision": 0.5, "recall": 0.25, "f1": 1 / 3, "support": 1200},
        "yes": {"precision": 1.0, "recall": 0.5, "f1": 2 / 3, "support": 4},
    }
    assert per_class({"types": scores, "accuracy": 1.0}) == ("type", scores)
    assert per_class({"labels": ["no", "yes"]}) == ("", {})
    axes = classes_figure(scores).axes[0]
    drawn = {dots.get_label(): dots.get_offsets().tolist() for dots in axes.collections}
    assert drawn["recall"] == [[0.25, 0], [0.5, 1]]
    assert drawn["F1"] == [[pytest.approx(1 / 3), 0], [pytest.approx(2 / 3), 1]]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["no", "yes"]
    assert {"1,200", "4", "count"} <= {text.get_text() for text in axes.texts}
    assert axes.get_ylim()[0] > axes.get_ylim()[1], "the first class is on top"


@pytest.mark.parametrize(("count", "drawn"), [(99, []), (100, ["classes", "learning"])])
def test_pictures_of_a_training_of_a_tagger(count, drawn) -> None:
    score = {"precision": 1.0, "recall": 1.0, "f1": 1.0, "support": 3}
    report = {"task": "tag", "sentences": count, "types": {"LOC": score}}
    log = [{"step": i, "valid_f1": 0.5} for i in (1, 2)]
    assert [name for name, _ in training_pictures(report, log, "f1")] == drawn


def test_confusion() -> None:
    axes = confusion_figure(np.array([[3, 1], [0, 0]]), ["no", "yes"]).axes[0]
    assert words(axes) == ["3", "1", "0", "0"]
    np.testing.assert_allclose(axes.images[0].get_array(), [[0.75, 0.25], [0, 0]])


def test_gradients_on_a_logarithmic_scale() -> None:
    flow = gradient_flow(["elman", "irnn"], distance=12, inputs=4, hidden=4)
    axes = gradient_figure(flow).axes[0]
    assert axes.get_yscale() == "log"
    assert [text.get_text().split(":")[0] for text in axes.get_legend().texts] == ["elman", "irnn"]


@pytest.mark.parametrize(
    "name",
    ["tag-bilstm", "classify-cnn", "translate-bahdanau", "generate-gru", "translate-transformer"],
)
def test_the_graph_names_every_parameter(name) -> None:
    summary = summary_of(*make(name))
    axes = graph_figure(summary).axes[0]
    shown = " ".join([*words(axes), axes.get_title(loc="left")])
    for layer in summary.layers:
        if layer.parameters:
            assert f"{layer.parameters:,}" in shown
    assert f"{summary.parameters:,} parameters" in shown


@pytest.mark.parametrize(("name", "arrows"), [("bahdanau", 4), ("transformer", 4), ("seq2seq", 0)])
def test_the_graph_shows_whether_a_decoder_looks_back(name, arrows) -> None:
    axes = graph_figure(summary_of(*make(f"translate-{name}"))).axes[0]
    colours = [
        to_hex(a.arrow_patch.get_edgecolor()) for a in axes.texts if hasattr(a, "arrow_patch")
    ]
    assert colours.count("#009e73") == arrows
    assert any("attention" in text for text in words(axes)) == bool(arrows)
    assert "$y_{0}$" in words(axes)  # what is read at the first step was not written


def test_ngrams() -> None:
    table = NgramTable(
        [
            Feature(0, 2, "pos", 1.0, 1.0, [Ngram("so good", 2.0, 3), Ngram("good film", 1.0, 1)]),
            Feature(1, 2, "neg", 1.0, 0.5, [Ngram("so bad", 1.5, 2)]),
        ]
    )
    figure = ngram_figure(table, filters=1)
    assert [axes.get_title() for axes in figure.axes] == ["for neg: filter 1", "for pos: filter 0"]
    names = [label.get_text() for label in figure.axes[1].get_yticklabels()]
    assert names == ["so good", "good film"]


def test_pictures_of_a_run() -> None:
    summary = summary_of(*make("classify-lstm"))
    confusion = {"confusion": {"labels": ["x", "y"], "rows_true": [[1, 0], [0, 1]]}}
    logs = {"run": RECORDS}
    names = [n for n, _ in run_pictures(summary, logs, metric="accuracy", evaluation=confusion)]
    assert names == ["graph", "learning", "confusion"]
    assert [n for n, _ in run_pictures(summary, {"run": []}, metric="accuracy")] == ["graph"]


@pytest.mark.parametrize("name", [name for name in IDEAS if name != "gradients"])
def test_ideas_can_be_drawn(name, tmp_path: Path) -> None:
    figure = IDEAS[name]()
    save_picture(figure, tmp_path / "idea.svg")
    assert (tmp_path / "idea.svg").stat().st_size > 1000


def test_positions_are_the_encoding() -> None:
    image = IDEAS["positions"]().axes[0].images[0].get_array()
    assert image.shape == (512, 2048)
    np.testing.assert_allclose(image[0, :5], np.sin(np.arange(5)), atol=1e-6)
    np.testing.assert_allclose(image[256, :5], np.cos(np.arange(5)), atol=1e-6)
