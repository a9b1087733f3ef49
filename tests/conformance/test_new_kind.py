"""A kind of input from outside the package: two classes and one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unspool
from unspool.config import Config, DataConfig
from unspool.data.fields.field import Field
from unspool.data.fields.source import VectorSource
from unspool.data.plan import Plan
from unspool.data.read import Table
from unspool.data.read.recording import Recording
from unspool.errors import ConfigError
from unspool.tasks.inputs import INPUTS
from unspool.tasks.inputs.kind import PlanRequest
from unspool.tasks.inputs.series import SeriesKind, vector_field

SIGNS = ".- "
LETTERS = {"a": ".-", "b": "-...", "c": "-.-.", "e": "."}
SMALL = {"threads": 1, "quiet": True, "valid_share": 0.25}


class MorseSource(VectorSource):
    """A text of dots, dashes and breaks, one vector for each."""

    kind = "morse"
    unit = "signs"

    def recording(self, raw: Any, where: str) -> Recording:
        if isinstance(raw, Recording):
            return raw
        x = np.eye(len(SIGNS), dtype=np.float32)[[SIGNS.index(sign) for sign in raw]]
        return Recording(x, ("dot", "dash", "break"), name=raw)

    def items(self, values: Any) -> list[str]:
        return [values] if isinstance(values, str) else list(values)


class MorseKind(SeriesKind):
    name = "morse"
    rows = "messages"
    numeric = False

    def field(self, config: Config) -> Field:
        return vector_field(MorseSource(), config)

    def holds(self, table: Table, data: DataConfig) -> bool:
        return any(column.name == "morse" for column in table.columns)

    def plan(self, table: Table, data: DataConfig, request: PlanRequest) -> Plan | None:
        if not self.holds(table, data) or request.target != "label":
            return None
        columns = {"morse": table.column("morse", option="series")}
        if request.outputs:
            columns["label"] = table.column(data.label or "label", option="label")
        summary = f"{table.summary}, Morse code -> {request.task}"
        return Plan(request.task, table, columns, 5, summary, settings={"data.input": self.name})


@pytest.fixture
def messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Words in Morse code, with the letter that they begin with; and the kind, for one test."""
    monkeypatch.setitem(INPUTS, "morse", MorseKind())
    rng = np.random.default_rng(1)
    rows = ["morse,label"]
    for i in range(80):
        first = "abce"[i % 4]
        rest = rng.choice(list(LETTERS), rng.integers(0, 4))
        rows.append(f"{' '.join(LETTERS[letter] for letter in (first, *rest))},{first}")
    path = tmp_path / "messages.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.mark.parametrize(
    ("model", "options"),
    [("gru", {"epochs": 20, "hidden": 16, "lr": 0.02}), ("cnn", {"epochs": 2}), ("linear", {})],
)
def test_it_is_classified(messages: Path, model: str, options: dict[str, Any]) -> None:
    folder = messages.parent / model
    run = unspool.train(messages, out=folder, model=model, **options, **SMALL)
    assert run.config.data.input == "morse"
    if model == "gru":
        assert run.report.metrics["accuracy"] > 0.8
    loaded = unspool.load(folder)
    texts = ["-... .", ".- -.-. ."]
    assert [str(a) for a in loaded.predict(texts)] == [str(a) for a in run.predict(texts)]


def test_one_that_nobody_has_registered(messages: Path) -> None:
    INPUTS.pop("morse")
    with pytest.raises(ConfigError, match=r"unknown input; got .morse.. Choose from auto, text"):
        unspool.train(messages, input="morse", **SMALL)
