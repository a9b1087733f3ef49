"""epochs=0: as many as the data ask for."""

from __future__ import annotations

import json

import pytest

import unspool
from unspool.training.trainer import usual_epochs


@pytest.mark.parametrize(
    ("steps", "epochs"), [(10_000, 10), (150, 10), (149, 11), (45, 34), (30, 50), (1, 50), (0, 50)]
)
def test_few_data_are_read_more_often(steps, epochs) -> None:
    assert usual_epochs(steps, 1500) == epochs


@pytest.mark.parametrize(("given", "epochs", "validated"), [({}, 50, 10), ({"epochs": 12}, 12, 12)])
def test_short_epochs_are_validated_in_rounds(tmp_path, given, epochs, validated) -> None:
    run = unspool.train(
        ["a good film", "a bad film"] * 30, ["yes", "no"] * 30, model="gru", out=tmp_path / "run",
        patience=0, hidden=4, embedding=4, threads=1, baseline=False, quiet=True, **given,
    )  # fmt: skip
    assert run.counters is not None
    assert run.counters.finished == f"all {epochs} epochs done"
    log = [json.loads(line) for line in run.folder.metrics.read_text().splitlines()]
    assert [own["epoch"] for own in log if "best" in own] == [
        (i + 1) * epochs // validated for i in range(validated)
    ]
