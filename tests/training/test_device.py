"""`train.device` is resolved once, recorded, said, and refused where there is no such device."""

from __future__ import annotations

import json

import pytest
import torch

import unspool
from unspool.config import Config
from unspool.errors import ConfigError
from unspool.training import machine
from unspool.training.machine import autocast, precision_note
from unspool.training.optim import optimizer_tensors, restore_optimizer

SMALL = {"hidden": 8, "embedding": 6, "threads": 1, "batch": 16, "epochs": 1, "patience": 0}


def pretend(monkeypatch: pytest.MonkeyPatch, *here: str) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: "cuda" in here)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: "mps" in here)


@pytest.mark.parametrize(
    ("here", "expected"), [((), "cpu"), (("mps",), "cpu"), (("mps", "cuda"), "cuda")]
)
def test_auto_takes_cuda_where_it_is(here, expected, monkeypatch) -> None:
    pretend(monkeypatch, *here)
    assert machine.resolve_device("auto") == expected
    assert machine.resolve_device("cpu") == "cpu"
    assert machine.with_device(Config(task="x")).train.device == expected


def test_one_that_is_not_here_is_refused_but_not_to_go_on(monkeypatch) -> None:
    pretend(monkeypatch)
    config = Config(task="x", train={"device": "cuda"})
    with pytest.raises(ConfigError, match=r"not on this machine; got 'cuda'\. Set device=cpu"):
        machine.with_device(config)
    assert machine.with_device(config, resumed=True).train.device == "cpu"


def test_it_is_recorded_and_kept(reviews, tmp_path, monkeypatch) -> None:
    pretend(monkeypatch)
    unspool.train(reviews, out=tmp_path / "run", **SMALL)
    recorded = json.loads((tmp_path / "run" / "config.json").read_text())["config"]["train"]
    assert recorded["device"] == "cpu"
    unspool.train(out=tmp_path / "run", resume=True, device="auto")
    with pytest.raises(ConfigError, match=r"train\.device=cpu, and a resumed run keeps"):
        unspool.train(out=tmp_path / "run", resume=True, device="cuda")


def test_notes_and_autocast_know_the_device() -> None:
    assert precision_note("bf16", "cuda") == "device: cuda; precision: bf16"
    assert precision_note("fp32") == "precision: fp32"
    assert autocast("bf16", "cpu").device == "cpu"


def test_the_memory_of_an_optimiser_goes_to_where_the_model_is() -> None:
    def make(where: str) -> tuple[torch.nn.Module, torch.optim.Optimizer]:
        model = torch.nn.Linear(2, 2).to(where)
        return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    model, optimizer = make("cpu")
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    kept = optimizer_tensors(model, optimizer)
    model, optimizer = make("meta")
    restore_optimizer(model, optimizer, kept)
    memory = [state["momentum_buffer"].device.type for state in optimizer.state.values()]
    assert memory == ["meta", "meta"]
