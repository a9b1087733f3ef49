"""Series through tasks: what is learnt of the training rows alone, windows, groups, baselines."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import unspool
from unspool.api.settings import make_config, open_data
from unspool.data.fields.series_values import STATISTICS, channel_statistics, find_steps, resample
from unspool.data.fields.source import SeriesSource
from unspool.data.fields.vectors import VectorField
from unspool.data.part import Part
from unspool.data.store.ragged import Ragged, cut_windows
from unspool.errors import ConfigError, DataError
from unspool.tasks import TASKS

SMALL = {"hidden": 6, "embedding": 4, "epochs": 2, "threads": 1, "quiet": True}


def recordings(count: int = 24, seed: int = 0) -> tuple[list[np.ndarray], list[str]]:
    rng = np.random.default_rng(seed)
    found = [rng.normal(3 * (i % 2), 1, (rng.integers(5, 30), 2)) for i in range(count)]
    return [x.astype(np.float32) for x in found], [["low", "high"][i % 2] for i in range(count)]


def corpus(data, task: str = "classify", **settings):
    from unspool.data.read.memory import source_of

    plan = open_data(source_of(*data), task=task, settings=settings)
    config = make_config(task, settings={**plan.settings, **settings})
    return config, TASKS[task].load_corpus(config, {"train": plan})


def test_moments_are_those_of_the_training_rows_alone() -> None:
    x, y = recordings()
    x[3][2, 1] = np.nan
    _, found = corpus((x, y), valid_share=0.25)
    field = found.fields["series"]
    train = np.concatenate([x[row] for row in found.parts["train"].rows]).astype(np.float64)
    np.testing.assert_allclose(field.scaler.mean, np.nanmean(train, 0), rtol=1e-6)
    np.testing.assert_allclose(field.scaler.std, np.nanstd(train, 0), rtol=1e-6)
    held = found.parts["valid"].rows
    assert len(held)
    for row in held:
        x[row] = x[row] * 100
    _, again = corpus((x, y), valid_share=0.25)
    np.testing.assert_array_equal(again.fields["series"].scaler.mean, field.scaler.mean)


def test_a_gap_is_zero_and_said() -> None:
    x, y = recordings()
    x[3][2, 1] = np.nan
    _, found = corpus((x, y), valid_share=0.0)
    field, part = found.fields["series"], found.parts["train"]
    assert field.gappy == [1]
    assert field.inputs == ["1", "2", "2 observed"]
    row = field.vectors(part["series"], 3)
    assert row.shape == (len(x[3]), 3)
    assert row[2].tolist()[1:] == [0.0, 0.0]
    assert (np.delete(row[:, 2], 2) == 1).all()
    assert any("1 gaps in 1 channel of train" in note for note in found.notes)


@pytest.mark.parametrize("scaling", ["series", "window"])
def test_scaling_by_the_series_or_the_window(scaling) -> None:
    x, y = recordings()
    config, found = corpus((x, y), valid_share=0.0, scaling=scaling, window=4)
    task, part = TASKS["classify"](config, found.fields), found.parts["train"]
    windows = task.windowed(part)
    first = found.fields["series"].vectors(windows["series"], 1)  # steps 2 to 5 of the first
    by = x[0] if scaling == "series" else x[0][2:6]
    np.testing.assert_allclose(first, (x[0][2:6] - by.mean(0)) / by.std(0), atol=1e-4)


@pytest.mark.parametrize("size", [1, 3, 8])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_windows_cover_every_step(size, stride) -> None:
    if stride > size:
        return
    lengths = np.array([1, 3, 8, 9, 20])
    found = cut_windows(lengths, size, stride)
    for row, length in enumerate(lengths):
        own = found.origin == row
        firsts, sizes = found.first[own], found.lengths[own]
        covered = {t for a, n in zip(firsts, sizes) for t in range(a, a + n)}
        assert covered == set(range(length))
        assert (sizes == min(size, length)).all()
        assert (np.diff(firsts) <= stride).all()
        assert (np.diff(firsts) > 0).all()


def test_answers_of_windows_are_merged(tmp_path) -> None:
    x, y = recordings()
    run = unspool.train(x, y, out=tmp_path / "run", window=6, stride=4, calibrate=False, **SMALL)
    part = Part.of(run.task.fields, series=[x[0]])
    windows = cut_windows(np.array([len(x[0])]), 6, 4)
    pieces = [x[0][a : a + n] for a, n in zip(windows.first, windows.lengths)]
    config = run.config.model_copy(
        update={"data": run.config.data.model_copy(update={"window": 0, "stride": 0})}
    )
    whole = TASKS["classify"](config, run.task.fields)
    scores = whole.scores(run.model, Part.of(whole.fields, series=pieces), 2)
    mean = torch.from_numpy(scores).softmax(1).mean(0).numpy()
    np.testing.assert_allclose(
        np.exp(run.task.scores(run.model, part, 2)[0]), mean, rtol=1e-4, atol=1e-6
    )
    answer = run.predict([x[0]])[0]
    np.testing.assert_allclose(list(answer.probabilities.values()), mean, rtol=1e-3)
    reading = run.task.reading(run.model, x[0])
    with torch.inference_mode():
        shown = reading.answer.summary(reading.run()[0]).note
    assert f"window 1 of {len(windows.first)}, of which a prediction is the mean" in shown


def test_labels_of_steps_are_merged(tmp_path) -> None:
    x, _ = recordings()
    y = [[("up" if step[0] > 1.5 else "down") for step in own] for own in x]
    run = unspool.train(x, y, out=tmp_path / "run", window=6, stride=3, **SMALL)
    assert run.task.name == "tag"
    answer = run.predict([x[0]])[0]
    assert len(answer.labels) == len(x[0])
    total, count = np.zeros((len(x[0]), 2)), np.zeros((len(x[0]), 1))
    windows = cut_windows(np.array([len(x[0])]), 6, 3)
    for a, n in zip(windows.first, windows.lengths):
        values, lengths = run.task.input_field.collate(
            run.task.input_field.encode([x[0][a : a + n]]), np.array([0])
        )
        with torch.inference_mode():
            total[a : a + n] += run.model(values, lengths)[0].softmax(-1).numpy()
        count[a : a + n] += 1
    mean = total / count
    assert answer.labels == [run.task.labels[i] for i in mean.argmax(1)]
    np.testing.assert_allclose(answer.probabilities, mean.max(1), rtol=1e-4)
    assert sum(row[1] == "0" for row in answer.rows(1)) == 1


def test_no_subject_is_in_two_parts(tmp_path) -> None:
    x, y = recordings(36)
    for i, (own, label) in enumerate(zip(x, y)):
        (tmp_path / "all" / label).mkdir(parents=True, exist_ok=True)
        path = tmp_path / "all" / label / f"subject{i % 6}-{i}.csv"
        np.savetxt(path, own, delimiter=",", header="x,z", comments="")
    plan = open_data(tmp_path / "all", settings={})
    settings = {**plan.settings, "group": "name_1", "valid_share": 0.2, "test_share": 0.2}
    config = make_config("classify", settings=settings)
    found = TASKS["classify"].load_corpus(config, {"train": plan})
    names = np.array([row.values[0] for row in plan.table.rows([plan.table.column(
        "name_1", option="group")])])  # fmt: skip
    subjects = [set(names[part.rows]) for part in found.parts.values()]
    assert len(subjects) == 3
    assert sum(map(len, subjects)) == len(set.union(*subjects)) == 6


@pytest.mark.parametrize("data", ["list", "array", "lists", "dict", "steps"])
def test_series_in_memory(data, tmp_path) -> None:
    x, y = recordings()
    if data == "array":
        x = np.stack([own[:5] for own in x])
    given = {
        "list": (x, y),
        "array": (x, y),
        "lists": ([own.tolist() for own in x], y),
        "dict": ({"signal": list(x), "label": y}, None),
        "steps": (
            {
                "id": [f"r{i}" for i, own in enumerate(x) for _ in own],
                "u": [float(v) for own in x for v in own[:, 0]],
                "v": [float(v) for own in x for v in own[:, 1]],
                "label": [label for own, label in zip(x, y) for _ in own],
            },
            None,
        ),
    }[data]
    run = unspool.train(*given, out=tmp_path / "run", **SMALL)
    assert run.task.name == "classify"
    assert len(run.parts["train"]) + len(run.parts["valid"]) == 24
    loaded = unspool.load(run.path)
    items = list(x)[:4]
    again = [answer.to_json() for answer in loaded.predict(items)]
    assert [answer.to_json() for answer in run.predict(items)] == again
    if data == "array":
        assert [answer.to_json() for answer in run.predict(x[:4])] == again
    assert run.predict(items[0])[0].to_json() == again[0]
    assert "linear" in run.comparison.baselines


def test_features_are_those_of_numpy() -> None:
    x = np.random.default_rng(1).normal(size=(12, 2))
    found = channel_statistics(x)[:-1].reshape(2, len(STATISTICS))
    for k, own in enumerate(x.T):
        named = dict(zip(STATISTICS, found[k]))
        slope = np.polyfit(np.arange(12), own, 1)[0] * 12
        assert np.isclose(named["slope"], slope)
        assert np.isclose(named["sd"], own.std())
        assert np.isclose(named["25 %"], np.quantile(own, 0.25))
        assert np.isclose(named["mean change"], np.abs(np.diff(own)).mean())
    assert np.isfinite(channel_statistics(np.full((1, 2), np.nan))).all()


def test_irregular_steps_are_said_resampled_or_read() -> None:
    times = Ragged.of([np.array([0.0, 1, 2, 4, 5]), np.array([0.0, 1])])
    steps = find_steps(times)
    assert steps.median == 1
    assert steps.uneven == pytest.approx(0.2)
    assert "20.0 % differ" in steps.notes(True, "ignore")[0]
    np.testing.assert_allclose(steps.channel(times[0])[:, 0], [0, 0, 0, np.log(2), 0], atol=1e-6)
    raw = Ragged.of([np.array([[0.0], [1], [2], [8], [9]]), np.array([[3.0], [5]])])
    values, grid = resample(raw, times, 1.0)
    assert values[0][:, 0].tolist() == [0, 1, 2, 5, 8, 9]
    assert grid[0].tolist() == [0, 1, 2, 3, 4, 5]


def test_a_single_series_is_one_item() -> None:
    field = VectorField("series", SeriesSource())
    field.source.channels = ["a", "b"]
    one = np.zeros((4, 2))
    assert len(list(field.form.items(one))) == 1
    assert len(list(field.form.items(np.zeros((3, 4, 2))))) == 3
    assert len(list(field.form.items([one, one]))) == 2
    field.source.channels = ["a"]
    assert len(list(field.form.items(np.zeros(4)))) == 1
    assert len(list(field.form.items(np.zeros((3, 4))))) == 3
    with pytest.raises(DataError, match="is not a series"):
        field.form.items("some text")


def test_an_empty_item_is_refused(tmp_path) -> None:
    x, y = recordings()
    run = unspool.train(x, y, out=tmp_path / "run", **SMALL)
    with pytest.raises(DataError, match="item 2: the series is empty"):
        run.predict([x[0], np.zeros((0, 2))])
    with pytest.raises(DataError, match="was trained on 2 channels"):
        run.predict([np.zeros((5, 3))])
    with pytest.raises(ConfigError, match="no encoder that another"):
        unspool.train(x, y, start=run.path, out=tmp_path / "next", **SMALL)


def test_it_shows_itself(tmp_path) -> None:
    x, y = recordings()
    run = unspool.train(x, y, out=tmp_path / "run", **SMALL)
    assert "Vocabulary" not in (run.path / "README.md").read_text()
    assert "--file FILE" in (run.path / "README.md").read_text()
    assert run.trace(x[0]).tokens == [str(t) for t in range(len(x[0]))]
    assert len(run.explain(x[0]).tokens) == len(x[0])
    assert "linear 2 -> 4" in repr(run.summary())


def test_columns_without_names_are_found_again(tmp_path) -> None:
    """A number in the first row is no name of a column; a file to predict may lack the labels."""
    rng = np.random.default_rng(4)
    rows = [[*rng.integers(0, 20, 6).tolist(), "ab"[i % 2]] for i in range(40)]
    lines = [",".join(map(str, row)) for row in rows]
    (tmp_path / "train.data").write_text("\n".join(lines) + "\n")
    (tmp_path / "test.data").write_text("\n".join(["3,2,1,4,5,6,a", *lines[:9]]) + "\n")
    (tmp_path / "new.data").write_text("\n".join(line[:-2] for line in lines[:5]) + "\n")
    run = unspool.train(tmp_path / "train.data", channels=2, out=tmp_path / "run", **SMALL)
    assert run.evaluate(tmp_path / "test.data").count == 10
    from unspool.tasks.planner import open_inputs

    plan = open_inputs(tmp_path / "new.data", run.config.data, "classify")
    assert [row.values[0].values.shape for row in plan.rows()] == [(3, 2)] * 5
