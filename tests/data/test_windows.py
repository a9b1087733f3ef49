"""Windows of series against slices made one by one; and calendars."""

from datetime import UTC, datetime

import numpy as np
import pytest

from unspool.data.calendar import TimeStep, calendar, cycles_of
from unspool.data.store.ragged import Ragged
from unspool.data.windows import Known, OriginBatches, Stretches

H, L = 3, 6


@pytest.fixture
def stretches():
    rng = np.random.default_rng(0)
    lengths = [20, 5, 11]
    series = [rng.normal(size=(n, 3)).astype(np.float32) for n in lengths]
    series[0][4, 0] = np.nan
    times = [1e6 + 3600.0 * np.arange(n) for n in lengths]
    values = Ragged.of(series)
    known = Known(
        values,
        times=Ragged.of(times),
        cycles=["day"],
        step=TimeStep(3600.0),
        channels=[2],
        mean=np.array([1.0]),
        std=np.array([2.0]),
    )
    return Stretches(
        values,
        known,
        series=np.array([0, 0, 1, 2]),
        channel=np.array([0, 1, 0, 1]),
        first=np.array([0, 12, 0, 4]),
        end=np.array([12, 20, 5, 11]),
        scale=np.ones(4),
        extra=[2],
        mean=np.array([0.5]),
        std=np.array([4.0]),
    )


def batches(stretches, **options):
    defaults = {"length": L, "horizon": H, "size": 4}
    return OriginBatches(stretches, **{**defaults, **options})


def walked(found):
    return [found.batch(0, step) for step in range(found.steps(0))]


def test_every_window_once_and_only_within_its_stretch(stretches) -> None:
    found = batches(stretches)
    seen = [(int(r), int(o)) for b in walked(found) for r, o in zip(b.rows, b.origins)]
    expected = [
        (row, origin)
        for row in range(4)
        for origin in range(1, 21)
        if stretches.first[row] <= origin and origin + H <= stretches.end[row]
    ]
    assert sorted(seen) == expected
    assert len(expected) == found.windows


def test_windows_are_slices(stretches) -> None:
    for batch in walked(batches(stretches)):
        for b, (row, origin) in enumerate(zip(batch.rows, batch.origins)):
            own = stretches.values[int(stretches.series[row])]
            start = max(0, origin - L)
            n = origin - start
            past = own[start:origin, stretches.channel[row]]
            assert batch.lengths[b] == n
            assert np.array_equal(np.nan_to_num(past), batch.y[b, :n])
            assert np.array_equal(~np.isnan(past), batch.observed[b, :n])
            assert not batch.observed[b, n:].any()
            assert not batch.y[b, n:].any()
            assert np.allclose((own[start:origin, 2:] - 0.5) / 4, batch.extra[b, :n], atol=1e-6)
            ahead = own[origin : origin + H, stretches.channel[row]]
            assert np.array_equal(np.nan_to_num(ahead), batch.future[b])
            assert np.array_equal(~np.isnan(ahead), batch.seen[b])
            steps = np.arange(start, origin + H)
            expected = calendar(1e6 + 3600.0 * steps, ["day"])
            assert np.allclose(batch.known[b, : n + H, :2], expected, atol=1e-5)
            ahead = np.full(n + H, 1.0)
            ahead[: len(own) - start] = own[start : origin + H, 2][: n + H]
            assert np.allclose(batch.known[b, : n + H, 2], (ahead - 1) / 2, atol=1e-6)
            assert not batch.known[b, n + H :].any()


def test_whole_windows_are_those_among_others(stretches) -> None:
    """A batch in which every window is whole is cut in another way."""
    rows, origins = np.array([0, 1, 3]), np.array([8, 17, 8])
    whole = stretches.windows(rows, origins, length=L, horizon=H)
    assert (whole.lengths == L).all()
    mixed = stretches.windows(np.r_[rows, 0], np.r_[origins, 2], length=L, horizon=H)
    assert int(mixed.lengths[-1]) < L
    for name, own, other in zip(whole._fields, whole, mixed):
        assert own.dtype == other.dtype, name
        assert np.array_equal(own, other[:3]), name


def test_the_future_of_a_whole_series_is_unseen_but_known(stretches) -> None:
    batch = stretches.windows(np.array([0]), np.array([20]), length=L, horizon=H)
    assert not batch.seen.any()
    expected = calendar(1e6 + 3600.0 * np.arange(14, 23), ["day"])
    assert np.allclose(batch.known[0, :, :2], expected, atol=1e-5)
    assert not batch.known[0, -H:, 2].any()


def test_nothing_known() -> None:
    values = Ragged.of([np.zeros((4, 1), np.float32)])
    assert Known(values).at(np.array([0]), np.arange(6)[None]).shape == (1, 6, 0)


def test_batches_are_functions_of_seed_and_epoch(stretches) -> None:
    one, other = batches(stretches, seed=3), batches(stretches, seed=3)
    other.batch(5, 0)
    assert np.array_equal(one.batch(1, 2).origins, other.batch(1, 2).origins)
    assert not all(
        np.array_equal(one.batch(1, step).origins, one.batch(2, step).origins) for step in range(3)
    )


def test_most_is_a_random_choice(stretches) -> None:
    found = batches(stretches, most=5)
    assert found.windows == 5
    assert [len(b.rows) for b in walked(found)] == [4, 1]
    pairs = {(int(r), int(o)) for e in range(40) for r, o in zip(*found.origins(found._chosen(e)))}
    assert len(pairs) == found.total


def test_stride_least_and_order(stretches) -> None:
    found = batches(stretches, stride=4, least=2, shuffle=False, size=100)
    (batch,) = walked(found)
    pairs = list(zip(batch.rows.tolist(), batch.origins.tolist()))
    assert pairs == [(0, 2), (0, 6), (1, 12), (1, 16), (2, 2), (3, 4), (3, 8)]


def test_stretches_that_are_too_short_have_no_windows(stretches) -> None:
    assert batches(stretches, horizon=50).total == 0
    assert batches(stretches, horizon=50).steps(0) == 0


def test_selected_rows(stretches) -> None:
    few = stretches.select(np.array([3]))
    assert len(few) == 1
    assert few.past(0, 6).tolist() == stretches.values[2][:6, 1].tolist()


def seconds(*when) -> float:
    return datetime(*when, tzinfo=UTC).timestamp()


def test_calendar_comes_round() -> None:
    times = np.array([seconds(2024, 1, 1, 6), seconds(2024, 1, 2, 6), seconds(2024, 1, 8, 6)])
    found = calendar(times, ["day", "week"])
    assert found.shape == (3, 4)
    assert np.allclose(found[:, :2], [[1, 0]] * 3, atol=1e-6)  # six o'clock: a quarter of a day
    assert np.allclose(found[0], found[2], atol=1e-6)
    monday = calendar(np.array([seconds(2024, 1, 1)]), ["week"])
    assert np.allclose(monday, [[0, 1]], atol=1e-6)
    assert calendar(times, []).shape == (3, 0)


def test_cycles_that_can_be_learnt() -> None:
    hour, day = 3600.0, 86_400.0
    assert cycles_of(hour, 20 * day) == ["day", "week"]
    assert cycles_of(hour, 800 * day) == ["day", "week", "year"]
    assert cycles_of(day, 800 * day) == ["week", "year"]
    assert cycles_of(30 * day, 3000 * day) == ["year"]
    assert cycles_of(hour, day) == []
