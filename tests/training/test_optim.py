"""Schedules, groups, and an optimiser's memory that survives a file."""

import pytest
import torch
from torch import nn

from unspool.config import TrainConfig
from unspool.training.optim import (
    build_optimizer,
    clip_gradients,
    learning_rate,
    optimizer_tensors,
    restore_optimizer,
    set_learning_rate,
)


def test_warmup_rises_to_the_peak_and_decay_falls_to_zero() -> None:
    train = TrainConfig(lr=1.0, warmup=0.1, schedule="cosine")
    rates = [learning_rate(train, step, 100) for step in range(100)]
    assert rates[0] == pytest.approx(0.1)
    assert max(rates) == rates[9] == rates[10] == pytest.approx(1.0)
    assert rates[55] == pytest.approx(0.5)
    assert rates[-1] < 0.001
    assert sorted(rates[10:], reverse=True) == rates[10:]


@pytest.mark.parametrize(("schedule", "middle"), [("constant", 1.0), ("linear", 0.5)])
def test_other_schedules(schedule: str, middle: float) -> None:
    train = TrainConfig(lr=1.0, warmup=0.0, schedule=schedule)
    assert learning_rate(train, 50, 100) == pytest.approx(middle)


def test_no_rate_is_negative_beyond_the_plan() -> None:
    for schedule in ("constant", "linear", "cosine"):
        assert learning_rate(TrainConfig(schedule=schedule), 300, 100) >= 0


@pytest.mark.parametrize("most", [0.0, 0.5, 1e9])
def test_clipping_is_torchs(most: float) -> None:
    torch.manual_seed(1)
    ours, wanted = nn.Linear(3, 2), nn.Linear(3, 2)
    for mine, other in zip(ours.parameters(), wanted.parameters()):
        mine.grad = torch.randn_like(mine)
        other.grad = mine.grad.clone()
    frozen = nn.Sequential(ours, nn.Linear(2, 2))  # has no gradient
    norm = nn.utils.clip_grad_norm_(wanted.parameters(), most or torch.inf)
    torch.testing.assert_close(clip_gradients(frozen, most), norm)
    for mine, other in zip(ours.parameters(), wanted.parameters()):
        torch.testing.assert_close(mine.grad, other.grad)


def test_biases_do_not_decay() -> None:
    groups = build_optimizer(nn.Linear(3, 2), TrainConfig(weight_decay=0.1)).param_groups
    assert [(g["weight_decay"], [p.ndim for p in g["params"]]) for g in groups] == [
        (0.1, [2]),
        (0.0, [1]),
    ]


@pytest.mark.parametrize("name", ["adamw", "sgd"])
def test_restored_memory_continues_to_the_bit(name: str) -> None:
    train = TrainConfig(optimizer=name, momentum=0.9)

    def advance(model, optimizer, steps):
        for step in steps:
            torch.manual_seed(step)
            set_learning_rate(optimizer, 0.01)
            optimizer.zero_grad()
            model(torch.randn(4, 3)).square().sum().backward()
            optimizer.step()

    torch.manual_seed(0)
    one = nn.Linear(3, 2)
    first = build_optimizer(one, train)
    advance(one, first, range(5))
    other = nn.Linear(3, 2)
    other.load_state_dict(one.state_dict())
    second = build_optimizer(other, train)
    restore_optimizer(other, second, optimizer_tensors(one, first))
    advance(one, first, range(5, 9))
    advance(other, second, range(5, 9))
    assert torch.equal(one.weight, other.weight)
    assert torch.equal(one.bias, other.bias)
