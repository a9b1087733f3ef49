"""The table of layers: paths, words, shapes, counts."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from insight_models import MODELS, make
from unspool.api.settings import summarise_settings
from unspool.insight.summary import shape_of, summarise, summary_of
from unspool.nn.cells import CELLS
from unspool.nn.encoder import Encoder
from unspool.nn.inputs import TokenInput
from unspool.nn.models.language_model import LanguageModel
from unspool.nn.recurrent import Recurrent


def counts(summary) -> list[int]:
    return [layer.parameters for layer in summary.layers]


def shapes(summary) -> list[str]:
    return [layer.shape for layer in summary.layers]


def of_classifier(model: str, *, classes: int = 2, **settings: object):
    return summarise_settings("classify", model, settings=settings, classes=classes)


def language_model(*, embedding: int, tied: bool = False, hidden: int = 3) -> LanguageModel:
    encoder = Encoder(TokenInput(4, embedding), Recurrent("elman", embedding or 4, hidden))
    return LanguageModel(encoder, vocab=4, tied=tied, dropout=0.0)


def test_hello_has_24_and_16_parameters() -> None:
    summary = summarise(language_model(embedding=0), (torch.tensor([[1, 0, 2]]),))
    assert [count for count in counts(summary) if count] == [24, 16]
    assert summary.parameters == summary.trainable == 40
    assert shapes(summary)[-1] == "(B, T, 4)"


def test_the_convolution_of_the_course() -> None:
    """Embedding 5000 x 16, 128 filters of width 5, max over time, dense 16, one sigmoid unit."""
    summary = of_classifier("cnn", vocab=5000, embedding=16, filters=128, widths="5", dense=16)
    assert [count for count in counts(summary) if count] == [80_000, 10_368, 2_064, 17]
    assert summary.parameters == 92_449
    assert shapes(summary) == ["(B, T, 16)", "(B, T, 128)", "(B, 128)", "(B, 16)", "(B, 2)"]


@pytest.mark.parametrize(("model", "recurrent", "total"), [
    ("lstm", 4 * (16 * 16 + 16 * 16 + 16), 82_129),
    ("bilstm", 2 * 4 * (16 * 16 + 16 * 16 + 16), 84_257),
])  # fmt: skip
def test_the_figures_of_the_course(model, recurrent, total) -> None:
    """Embedding 5000 x 16, LSTM of 16 units, one sigmoid unit."""
    summary = of_classifier(model, vocab=5000, embedding=16, hidden=16)
    width = 32 if model == "bilstm" else 16
    assert [count for count in counts(summary) if count] == [80_000, recurrent, width + 1]
    assert summary.parameters == total
    assert summary.layers[0].path == "encoder.input.embedding"
    assert "5000" in summary.layers[0].kind
    assert "lstm" in summary.layers[1].kind
    assert shapes(summary) == ["(B, T, 16)", f"(B, T, {width})", f"(B, {width})", "(B, 2)"]


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("pooling", ["max", "attention"])
def test_the_layers_add_up(cell, pooling) -> None:
    summary = of_classifier(
        f"bi{cell}", classes=5, vocab=50, embedding=6, hidden=7, layers=2, pooling=pooling
    )
    assert sum(counts(summary)) == summary.parameters
    assert shapes(summary)[-1] == "(B, 5)"
    assert cell in "".join(layer.kind for layer in summary.layers)


@pytest.mark.parametrize("hidden", [6, 9])
def test_tied_weights_are_counted_once(hidden) -> None:
    model = language_model(embedding=6, tied=True, hidden=hidden)
    summary = summarise(model, (torch.tensor([[1, 0, 2]]),))
    assert summary.parameters == sum(p.numel() for p in model.parameters())
    assert sum(counts(summary)) == summary.parameters
    assert counts(summary)[0] == 4 * 6
    assert counts(summary)[-1] == 4 + (0 if hidden == 6 else hidden * 6)


def test_frozen_parameters_are_not_trainable() -> None:
    model = language_model(embedding=6)
    model.encoder.input.embedding.weight.requires_grad_(False)
    summary = summarise(model, (torch.tensor([[1, 0, 2]]),))
    assert summary.parameters - summary.trainable == 24


def test_a_summary_leaves_the_model_as_it_was() -> None:
    model = language_model(embedding=6).train()
    before = {name: p.clone() for name, p in model.named_parameters()}
    summarise(model, (torch.tensor([[1, 0, 2]]),))
    assert model.training
    assert not any(module._forward_hooks for module in model.modules())
    assert all(torch.equal(before[name], p) for name, p in model.named_parameters())
    with pytest.raises(IndexError):
        summarise(model, (torch.tensor([[99]]),))
    assert model.training
    assert not any(module._forward_hooks for module in model.modules())


def test_lines_and_json() -> None:
    summary = of_classifier("gru", vocab=1000, embedding=8, hidden=8)
    lines = summary.lines()
    assert lines[0].split() == ["layer", "kind", "output", "parameters"]
    assert len({len(line) for line in lines[:-1]}) == 1
    assert lines[-1] == f"{summary.parameters:,} parameters, {summary.trainable:,} trainable"
    assert repr(summary) == "\n".join(lines)
    assert summary.to_json()["layers"][0]["parameters"] == 8000
    assert summary._repr_html_().startswith("<pre>")


def test_shape_of() -> None:
    assert shape_of(torch.zeros(2, 3, 4)) == "(B, T, 4)"
    assert shape_of((torch.zeros(2, 4), None)) == "(B, 4)"
    assert shape_of(nn.Identity()(torch.zeros(2, 3, dtype=torch.int64))) == "(B, T)"


@pytest.mark.parametrize("name", MODELS)
def test_no_layer_is_listed_twice(name) -> None:
    """What joins layers says what it adds to them."""
    summary = summary_of(*make(name))
    for joining in summary.layers:
        for inner in summary.layers:
            if inner.path.startswith(f"{joining.path}."):
                assert inner.kind not in joining.kind
