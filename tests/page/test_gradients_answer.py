"""The answers `gradients` and `states`: those of `insight`, by name and place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from insight_models import TEXT, make, read
from unspool.errors import ConfigError
from unspool.insight.learnt import flow_of_run, state_gradients
from unspool.page.answers import answer
from unspool.page.subject import Subject
from unspool.tasks.examples import Example


def subject(name: str) -> Subject:
    task, model = make(name)
    return Subject(task, model, Path("run"), Path("run/metrics.jsonl"), [Example(TEXT)])


@pytest.mark.parametrize("text", ["", TEXT])
def test_the_flows_are_those_of_the_run(text) -> None:
    of = subject("classify-lstm")
    found = answer(of, "gradients", {"text": text, "distance": "12"})["flows"]
    reading = of.read(text) if text else None
    flows = flow_of_run(of.task, of.trained, reading, distance=12).flows
    assert [f["name"] for f in found] == [f.name for f in flows]
    assert [f["verdict"] for f in found] == [f.verdict for f in flows]
    assert len(found[0]["norms"]) == (len(TEXT.split()) if text else 13)
    for mine, own in zip(found, flows):
        np.testing.assert_allclose(mine["norms"], own.norms, rtol=1e-3)


@pytest.mark.parametrize("name", ["classify-lstm", "tag-bilstm", "generate-gru", "translate-luong"])
def test_the_states_are_those_of_the_model(name) -> None:
    of = subject(name)
    found = answer(of, "states", {"text": TEXT, "step": "0"})
    reading = read(of.task, of.trained, TEXT)
    names = [reading.answer.name(i) for i in range(reading.run().shape[-1])]
    wanted = state_gradients(reading, of.trained, 0, names.index(found["answer"]))
    first = found["states"][0]
    assert (first["layer"], first["direction"]) == (1, "forwards")
    assert len(found["states"]) == len(wanted)
    for mine, own in zip(found["states"], wanted):
        np.testing.assert_allclose(mine["norms"], own.norms, rtol=1e-3)
        assert len(mine["norms"]) == len(found["tokens"])


def test_what_cannot_be_answered_is_refused() -> None:
    of = subject("classify-cnn")
    with pytest.raises(ConfigError, match="gradients through time are of a recurrent model"):
        answer(of, "gradients", {})
    with pytest.raises(ConfigError, match="gradients through time are of a recurrent model"):
        answer(of, "states", {"text": TEXT})
    with pytest.raises(ConfigError, match="distance is a whole number from 1 to 1000; got '0'"):
        answer(subject("classify-gru"), "gradients", {"distance": "0"})
    with pytest.raises(ConfigError, match="there is one step to ask about; got 'number 8'"):
        answer(subject("classify-gru"), "states", {"text": TEXT, "step": "7"})
