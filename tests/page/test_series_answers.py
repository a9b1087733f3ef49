"""The answers of the page about series: what is drawn, attention, forecasts and their reasons."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from asking import asked
from page_runs import SERIES

from unspool.api.run import load
from unspool.data.read.recording import Recording, recording_from_json, recording_to_json
from unspool.errors import ConfigError, DataError
from unspool.insight.trace import trace_reading
from unspool.page import series as module
from unspool.page.subject import open_subject
from unspool.page.views import VIEWS, views_of


@pytest.mark.parametrize("name", SERIES)
def test_views_get_their_answers(server_of, name) -> None:
    server = server_of(name)
    for view in views_of(server.subject):
        for question, given in VIEWS[view].wants(server.subject, "1"):
            assert asked(server, question, **given), (view, question)


def test_which_views_there_are(server_of) -> None:
    of = {name: views_of(server_of(name).subject) for name in SERIES}
    assert of["moves"] == of["labelled"] == ["unrolled", "saliency", "gradients", "training"]
    assert of["attends"] == ["attention", "saliency", "positions", "training"]
    assert of["next"] == ["ahead", "unrolled", "gradients", "training"]


def test_examples_are_kept(run_of) -> None:
    stored = json.loads((run_of("moves") / "examples.json").read_text())
    assert {own["truth"] for own in stored} == {"up", "down"}
    first = stored[0]["text"]
    assert np.array(first["values"], dtype=float).shape == (len(first["times"]), 2)
    assert first["channels"] == ["x", "y"]
    labelled = json.loads((run_of("labelled") / "examples.json").read_text())
    assert all(len(own["steps"]) == len(own["text"]["values"]) for own in labelled)
    ahead = json.loads((run_of("next") / "examples.json").read_text())
    assert len(ahead) == 5
    assert all(np.array(own["steps"]).shape == (6, 1) for own in ahead)
    assert all(len(own["text"]["values"]) == 48 for own in ahead)


def test_an_example_was_not_learnt_from(run_of, loads) -> None:
    """What came after the past of an example stands there in the file, behind the training part."""
    rows = [line.split(",") for line in loads.read_text().splitlines()[1:]]
    values = np.array([row[1:] for row in rows], dtype=float)
    example = open_subject(run_of("next")).examples[0]
    past = np.array(json.loads(example.text)["values"])
    origin = next(i for i in range(48, len(values)) if np.allclose(values[i - 48 : i], past))
    np.testing.assert_allclose(values[origin : origin + 6, :1], example.steps)
    assert origin >= 0.75 * len(values)


def test_what_is_drawn(server_of) -> None:
    server = server_of("labelled")
    found = asked(server, "input", text=1)
    example = server.subject.examples[0]
    values = np.array(json.loads(example.text)["values"], dtype=float)
    np.testing.assert_allclose(np.array(found["values"], dtype=float).T, values, rtol=1e-5)
    assert (found["shown_as"], found["channels"]) == ("curves", ["x", "y"])
    assert found["steps"][:3] == ["0", "0.1", "0.2"]
    assert [band["name"] for band in found["bands"]] == ["data", "model"]
    assert found["bands"][0]["labels"] == list(example.steps)
    said = asked(server, "answer", text=1)
    assert said["answer"].startswith(f"{found['bands'][1]['labels'][0]} 0 to ")


def test_contributions_add_up(server_of) -> None:
    found = asked(server_of("moves"), "saliency", text=1)
    parts = np.array([own["values"] for own in found["channels"]])
    np.testing.assert_allclose(parts.sum(0), found["values"], atol=1e-9)
    assert found["start"] + sum(found["values"]) == pytest.approx(found["end"], abs=2e-3)
    assert {"x", "y"} <= {own["name"] for own in found["channels"]}


def test_a_constant_channel_contributes_nothing(server_of) -> None:
    """At its mean from the beginning to the end, it has no path to go."""
    server = server_of("moves")
    field = server.subject.task.input_field
    values = [[float(np.sin(t)), float(field.scaler.mean[1])] for t in range(20)]
    found = asked(server, "saliency", text=json.dumps({"values": values}))
    largest = {own["name"]: np.abs(own["values"]).max() for own in found["channels"]}
    assert largest["x"] > 1000 * largest.get("y", 0)


def test_weights_of_a_long_series(server_of, monkeypatch) -> None:
    """Rows still add up to 1, and a cell is the mean of sums of the weights that it stands for."""
    server = server_of("attends")
    reading = server.subject.read("1")
    exact = trace_reading(reading, server.subject.task, server.subject.trained)
    weights = exact.find("self_attention")[0].values
    monkeypatch.setattr(module, "CELLS", 8)
    server.kept.cache_clear()
    found = asked(server, "weights", text=1)
    server.kept.cache_clear()
    each, edges = found["each"], found["edges"]
    assert each == -(-len(exact.tokens) // 8)
    pooled = np.array(found["kinds"][0]["layers"][0]["heads"])
    np.testing.assert_allclose(pooled.sum(-1), 1, atol=1e-3)
    cell = weights[0, edges[1] : edges[2], edges[2] : edges[3]].sum(1).mean()
    assert pooled[0, 1, 2] == pytest.approx(cell, abs=1e-4)


def test_a_forecast_is_that_of_predict(server_of, run_of) -> None:
    server, run = server_of("next"), load(run_of("next"))
    found = asked(server, "ahead", text=1)
    item = server.subject.item("1")
    (answer,) = run.predict([item])
    np.testing.assert_allclose(found["center"], answer.center[:, 0], rtol=1e-5)
    np.testing.assert_allclose(found["low"], answer.low[:, 0], rtol=1e-5)
    assert found["steps"][-6:] == answer.steps
    assert found["came"] == [step[0] for step in server.subject.examples[0].steps]
    narrow = asked(server, "ahead", text=1, coverage=0.5)
    widths = [np.mean(np.subtract(own["high"], own["low"])) for own in (narrow, found)]
    assert 0 < widths[0] < widths[1]


@pytest.mark.parametrize("name", ["next", "own"])
def test_reasons_of_a_step_ahead(server_of, name) -> None:
    server = server_of(name)
    center = asked(server, "ahead", text=1)["center"]
    for step in (1, 6):
        found = asked(server, "reasons", text=1, step=step)
        assert found["end"] == pytest.approx(center[step - 1], rel=1e-4)
        assert found["start"] + sum(found["values"]) == pytest.approx(found["end"], abs=0.01)
        assert found["first"] + len(found["values"]) == 48


def test_steps_of_patches_and_of_own_values(server_of) -> None:
    found = asked(server_of("next"), "steps", text=1)
    assert found["spans"] == [[24 + 4 * i, 28 + 4 * i] for i in range(6)]
    found = asked(server_of("own"), "steps", text=1)
    assert found["spans"] == [[24 + i, 25 + i] for i in range(24 + 5)]
    states = asked(server_of("own"), "states", text=1, step=5)
    assert len(states["states"][0]["norms"]) == 24 + 5
    assert states["states"][0]["norms"][0] > 0


def test_a_long_series_has_all_steps(server_of) -> None:
    values = np.sin(np.arange(2500))[:, None].repeat(2, 1).round(3).tolist()
    found = asked(server_of("moves"), "steps", text=json.dumps({"values": values}))
    assert len(found["tokens"]) == 2048
    assert len(found["units"]) == 8
    assert asked(server_of("moves"), "input", text=json.dumps(values))["read"] == 2048


def test_a_model_of_windows_reads_the_first(movements, tmp_path: Path) -> None:
    from unspool.api.train import train

    for scaling in ("channel", "series", "window"):
        run = train(movements, model="gru", label="move", window=16, scaling=scaling, epochs=1,
                    hidden=8, embedding=8, out=tmp_path / scaling)  # fmt: skip
        item = run.subject().item("1")
        reading = run.task.reading(run.model, item)
        assert (len(reading.input.tokens), reading.input.full_length) == (16, len(item))
        if scaling != "series":
            (alone,) = run.predict([item[:16]])
            note = reading.answer.summary(reading.run()[0].detach()).note
            one = "window 1 of 3, of which a prediction is the mean"
            assert note == f"probability {alone.probability:.4f}; {one}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no series was given. Choose a file with columns"),
        ("77", "there is no such example; got '77'. Choose from 1 to 5"),
        ("[[1, 2]", "the series cannot be read: not JSON at line 1"),
        ('["a", "b"]', "the series: is not an array of numbers"),
        ("[[1, 2, 3]]", r"was trained on 2 channels \(x, y\), and this series has 3"),
        ("[]", "there is nothing to look at"),
        ("{}", "no series: it has no values"),
        ('{"values": [[1, 2]], "times": [1, 2]}', "has 1 steps, and other times than these"),
        ('{"values": [[1, 2], [3, 4]], "times": [2, 1]}', "step 2 is not later than the one"),
        ('{"values": [[1, 2]], "channels": ["x"]}', "has 1 names of channels, and values of 2"),
        ("[[1e39, 2]]", "step 1 of channel 1 is infinite, or too large"),
        (json.dumps([[0, 0]] * 100_001), "series of up to 200,000 numbers; got '200,002'"),
    ],
)  # fmt: skip
def test_bad_series(server_of, text, message) -> None:
    with pytest.raises(DataError, match=message):
        asked(server_of("moves"), "answer", text=text)


def test_bad_questions(server_of) -> None:
    with pytest.raises(ConfigError, match="the model reads texts, of which nothing is drawn"):
        asked(server_of("bilstm"), "input", text="a")
    for question in ("ahead", "reasons"):
        with pytest.raises(ConfigError, match="the model continues no series"):
            asked(server_of("moves"), question, text="1")
    with pytest.raises(ConfigError, match="step is a whole number from 1 to 6"):
        asked(server_of("next"), "reasons", text="1", step=7)
    with pytest.raises(ConfigError, match=r"unknown coverage; got '0\.7'"):
        asked(server_of("next"), "ahead", text="1", coverage=0.7)


def test_recordings_as_json() -> None:
    own = Recording(np.array([[1.5, np.nan], [2, 3]], np.float32), ("a", "b"),
                    np.array([0.5, 7.0]), name="r")  # fmt: skip
    again = recording_from_json(json.loads(json.dumps(recording_to_json(own))), "x")
    np.testing.assert_array_equal(again.values, own.values)
    np.testing.assert_array_equal(again.times, own.times)
    assert (again.channels, again.name, again.dated) == (own.channels, own.name, False)


def test_a_given_series_is_the_first_example(run_of) -> None:
    run = load(run_of("moves"))
    look = run.look(np.zeros((9, 2)))
    assert look.text == "1"
    assert len(look.subject.item("1")) == 9
    with pytest.raises(DataError, match="was trained on 2 channels"):
        run.look(np.zeros((9, 3)))
