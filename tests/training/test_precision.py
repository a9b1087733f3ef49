"""`train.precision=auto` is resolved once, recorded, and kept wherever the run is resumed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import unspool
from small_tasks import small_settings
from unspool import native
from unspool.config import Config
from unspool.errors import ConfigError
from unspool.training import machine, trainer

SMALL = {"hidden": 8, "embedding": 6, "threads": 1, "batch": 16, "epochs": 2, "patience": 0}


def pretend(monkeypatch: pytest.MonkeyPatch, has_bf16: bool) -> None:
    """A processor with, or without, instructions for products of bfloat16."""
    monkeypatch.setattr(machine, "has_bf16", lambda: has_bf16)


def recorded(run: Path) -> str:
    return json.loads((run / "config.json").read_text())["config"]["train"]["precision"]


@pytest.mark.parametrize(
    ("torch_has_it", "kernels", "expected"),
    [
        (True, "amx", "bf16"),
        (True, "avx512_bf16", "bf16"),
        (True, None, "bf16"),
        (True, "avx512", "fp32"),  # as UNSPOOL_NATIVE=avx512 asks for
        (True, "avx2", "fp32"),
        (False, "avx2", "fp32"),
        (False, "baseline", "fp32"),
        (False, None, "fp32"),
    ],
)
def test_auto_takes_bf16_only_where_all_multiply_it(
    torch_has_it: bool, kernels: str | None, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "multiplies_bf16", lambda: torch_has_it)
    monkeypatch.setattr(native, "INSTRUCTIONS", kernels)
    assert Config(task="classify").train.precision == "auto"
    assert machine.resolve_precision("auto") == expected
    assert [machine.resolve_precision(p) for p in ("fp32", "bf16")] == ["fp32", "bf16"]
    assert machine.with_precision(Config(task="classify")).train.precision == expected


@pytest.mark.parametrize("limit", ["AVX2", "avx512_core"])
def test_a_limit_on_onednn_counts(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", limit)
    native.multiplies_bf16.cache_clear()
    assert not native.multiplies_bf16()
    native.multiplies_bf16.cache_clear()


@pytest.mark.parametrize(
    ("has_bf16", "name", "line"),
    [
        (True, "bf16", "precision: bf16, which this processor multiplies in hardware"),
        (False, "fp32", "precision: fp32"),
    ],
)
def test_the_default_is_resolved_recorded_and_said(
    has_bf16: bool, name: str, line: str, reviews, tmp_path, monkeypatch
) -> None:
    pretend(monkeypatch, has_bf16)
    notes: list[str] = []
    run = unspool.train(reviews, out=tmp_path / "run", note=notes.append, max_steps=2, **SMALL)
    assert run.config.train.precision == recorded(run.path) == name
    assert notes.count(line) == 1
    assert f"| `train.precision` | `{name}` |" in (run.path / "README.md").read_text()


@pytest.mark.parametrize("began_with_bf16", [True, False])
def test_a_run_keeps_its_precision_on_another_machine(
    began_with_bf16: bool, reviews, tmp_path, monkeypatch
) -> None:
    pretend(monkeypatch, began_with_bf16)
    used: list[bool] = []
    real = trainer.Trainer._step

    def stopping(self):
        if len(used) == 9:
            raise InterruptedError
        return real(self)

    def watched(name: str, device: str):
        context = machine.autocast(name, device)
        used.append(context._enabled)
        return context

    monkeypatch.setattr(trainer, "autocast", watched)
    monkeypatch.setattr(trainer.Trainer, "_step", stopping)
    with pytest.raises(InterruptedError):
        unspool.train(reviews, out=tmp_path / "run", checkpoint_seconds=0, **SMALL)
    monkeypatch.setattr(trainer.Trainer, "_step", real)

    pretend(monkeypatch, not began_with_bf16)
    notes: list[str] = []
    run = unspool.train(out=tmp_path / "run", resume=True, note=notes.append, precision="auto")
    assert set(used) == {began_with_bf16}
    assert len(used) > 9
    assert run.config.train.precision == recorded(run.path)
    assert recorded(run.path) == ("bf16" if began_with_bf16 else "fp32")
    assert any("by ordinary instructions" in line for line in notes) == began_with_bf16

    other = "fp32" if began_with_bf16 else "bf16"
    with pytest.raises(ConfigError, match=r"has train.precision=.*a resumed run keeps"):
        unspool.train(out=tmp_path / "run", resume=True, precision=other)


@pytest.mark.parametrize("model", ["bilstm", "bicoupled", "gru", "peephole", "transformer", "cnn"])
@pytest.mark.parametrize("kernels", [True, False], ids=["native", "torch"])
def test_bf16_trains_on_every_processor(model, kernels, reviews, tmp_path, monkeypatch) -> None:
    if not kernels:
        monkeypatch.setattr(native, "INSTRUCTIONS", None)
    small = small_settings("classify", model, SMALL)
    run = unspool.train(
        reviews, model=model, out=tmp_path / "run", precision="bf16", max_steps=3, **small
    )
    assert all(p.isfinite().all() and p.dtype == torch.float32 for p in run.model.parameters())
