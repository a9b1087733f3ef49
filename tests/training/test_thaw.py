"""Which weights learn in which epoch, and at which rate."""

from __future__ import annotations

import pytest

from small_tasks import make_task
from unspool.api.settings import make_config
from unspool.config import TrainConfig
from unspool.tasks import build_model
from unspool.text.tokenizers import CharTokenizer
from unspool.text.vocab import Vocab
from unspool.training.optim import build_optimizer, depths, set_learning_rate, thaw


def classifier(model: str, **settings):
    config = make_config("classify", model, settings={"hidden": 8, "layers": 3, **settings})
    return build_model(make_task(config, CharTokenizer(Vocab.of("abc")), ["x", "y"]))


def test_depths_of_a_transformer() -> None:
    below = depths(classifier("transformer", positions="learned", max_length=5, pooling="cls"))
    assert below["output.linear.weight"] == 0
    assert below["encoder.network.norm.weight"] == 1
    assert below["encoder.network.layers.2.attention.W"] == 1
    assert below["encoder.network.layers.0.norm1.weight"] == 3
    assert below["encoder.input.embedding.weight"] == 4
    assert below["encoder.network.positions.P"] == 4
    assert below["encoder.cls.vector"] == 4
    assert set(below.values()) == {0, 1, 2, 3, 4}


def test_depths_of_recurrent_layers() -> None:
    below = depths(classifier("bigru", pooling="attention"))
    assert below["pooling.v.weight"] == 0
    assert {d for name, d in below.items() if "layers.2" in name} == {1}
    assert {d for name, d in below.items() if "layers.0" in name} == {3}
    assert below["encoder.input.embedding.weight"] == 4


@pytest.mark.parametrize(
    ("freeze", "epoch", "deepest"),
    [("none", 0, 4), ("encoder", 9, 0), ("gradual", 0, 0), ("gradual", 2, 2), ("gradual", 9, 4)],
)
def test_what_learns_when(freeze, epoch, deepest) -> None:
    model = classifier("transformer")
    thaw(model, TrainConfig(freeze=freeze), epoch)
    below = depths(model)
    learning = {below[name] for name, p in model.named_parameters() if p.requires_grad}
    fixed = {below[name] for name, p in model.named_parameters() if not p.requires_grad}
    assert learning == set(range(deepest + 1))
    assert fixed == set(range(deepest + 1, 5))


def test_lower_blocks_learn_more_slowly() -> None:
    model = classifier("transformer")
    train = TrainConfig(layer_decay=0.5, weight_decay=0.1)
    optimizer = build_optimizer(model, train)
    set_learning_rate(optimizer, 1.0)
    rates = {id(p): g["lr"] for g in optimizer.param_groups for p in g["params"]}
    below = depths(model)
    assert all(rates[id(p)] == 0.5 ** below[name] for name, p in model.named_parameters())
    assert len(rates) == len(below)
    decays = {id(p): g["weight_decay"] for g in optimizer.param_groups for p in g["params"]}
    assert all(decays[id(p)] == (0.1 if p.ndim > 1 else 0) for p in model.parameters())
    assert len(build_optimizer(model, TrainConfig()).param_groups) == 2
