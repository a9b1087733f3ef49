"""Of every task: a run that stops midway and is resumed ends, to the bit, as one that did not."""

from __future__ import annotations

import json

import pytest
from every_model import (
    NEEDED,
    SMALL,
    USUAL,
    USUAL_SERIES,
    USUAL_STROKES,
    Case,
    write_data,
)

import unspool
from small_tasks import read_by
from unspool.training import trainer
from unspool.training.tensors import load_tensors
from unspool.training.trainer import CLOCK_FIELDS

SETTINGS = {
    **SMALL,
    "epochs": 2,
    "patience": 0,
    "threads": 1,
    "log_steps": 1,
    "checkpoint_seconds": 0,
    "dropout": 0.2,
    "valid_share": 0.2,
}


BALANCED = [
    Case("classify", "gru", (("oversample", True),)),
    Case("classify", "gru", (("class_weights", "balanced"),)),
]


class Stopped(Exception):
    pass


def outcome(path) -> tuple:
    """The best weights, the log but for its clock, and what was fitted to the validation part."""
    tensors, _ = load_tensors(path / "model.safetensors")
    log = [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]
    log = [{k: v for k, v in record.items() if k not in CLOCK_FIELDS} for record in log]
    fitted = path / "calibration.json"
    return (
        {name: tensor.tolist() for name, tensor in tensors.items()},
        log,
        fitted.read_text() if fitted.exists() else None,
    )


@pytest.mark.parametrize("case", [*USUAL, *USUAL_SERIES, *USUAL_STROKES, *BALANCED], ids=str)
def test_stopped_and_resumed(case, tmp_path, monkeypatch) -> None:
    data = write_data(case.config(), tmp_path / "data")
    needed = NEEDED.get(case.task, {})
    small = read_by(case.config(), {**SETTINGS, **needed})
    wanted = {"task": case.task, "model": case.model, **small, **dict(case.settings)}
    unspool.train(data, out=tmp_path / "whole", **wanted)
    real, steps = trainer.Trainer._step, []

    def step(self):
        if len(steps) == 3:
            raise Stopped
        steps.append(1)
        return real(self)

    with monkeypatch.context() as patched:
        patched.setattr(trainer.Trainer, "_step", step)
        with pytest.raises(Stopped):
            unspool.train(data, out=tmp_path / "run", **wanted)
    unspool.train(out=tmp_path / "run", resume=True)
    assert outcome(tmp_path / "run") == outcome(tmp_path / "whole")
