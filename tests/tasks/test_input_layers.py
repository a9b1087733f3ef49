"""An encoder for any field: its class decides the input layer, and any network fits."""

from __future__ import annotations

import pytest
import torch

from unspool.api.settings import make_config
from unspool.config import ModelConfig, TokenizerConfig
from unspool.data.fields.field import Field
from unspool.data.fields.stream import TextStream
from unspool.nn.inputs import TokenInput, VectorInput
from unspool.tasks import TASKS
from unspool.tasks.encoder import build_encoder
from unspool.tasks.input_layers import INPUT_LAYERS, InputOptions, input_layer

B, T, C = 2, 5, 3
OPTIONS = InputOptions(size=4, std=0.1, scale=1.0, dropout=0.0, word_dropout=0.0)


class Series(Field):
    """Vectors over time."""

    channels = C


Series.__abstractmethods__ = frozenset()


def test_a_derived_field_has_the_input_layer_of_its_class() -> None:
    stream = TextStream("text", TokenizerConfig(kind="char"))
    stream.invent(vocab=9, classes=2)
    layer = input_layer(stream, OPTIONS)
    assert isinstance(layer, TokenInput)
    assert layer.embedding.vocab == 9


@pytest.mark.parametrize("network", ["recurrent", "cnn", "transformer"])
def test_a_new_field_needs_one_line(network: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def vectors(field: Series, options: InputOptions) -> VectorInput:
        return VectorInput(field.channels, options.size, dropout=options.dropout)

    monkeypatch.setitem(INPUT_LAYERS, Series, vectors)
    model = ModelConfig(network=network, hidden=8, heads=2, embedding=6, filters=4)
    encoder = build_encoder(model, Series("series"))
    encoded = encoder(torch.randn(B, T, C), torch.tensor([T, 2]))
    assert encoded.outputs.shape == (B, T, encoder.size)


def test_every_task_reads_a_field_that_has_an_input_layer() -> None:
    for name, task in TASKS.items():
        read = next(iter(task.make_fields(make_config(name)).values()))
        classes = type(getattr(read, "source", read)).__mro__
        assert any(kind in INPUT_LAYERS for kind in classes)


@pytest.mark.parametrize("model", ["transformer", "luong"])
def test_settings_of_the_input_layer_reach_every_model(model: str) -> None:
    config = make_config("translate", model, settings={"word_dropout": 0.2, "vocab": 300})
    built = TASKS["translate"].invented(config, classes=2).build()
    assert built.encoder.input.word_dropout.rate == 0.2
