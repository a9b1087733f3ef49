"""Figures of forecasts against definitions written out, sklearn's, and naive forecasts by hand."""

import math

import numpy as np
import pytest
from sklearn.metrics import mean_absolute_error, mean_pinball_loss, mean_squared_error

from unspool.tasks.forecast import conformal, naive
from unspool.tasks.forecast import metrics as forecast_metrics
from unspool.tasks.forecast import season as seasons
from unspool.tasks.forecast.smoothing import Smoothing, fit_smoothing


@pytest.fixture
def some():
    rng = np.random.default_rng(0)
    return rng.normal(10, 4, (20, 7)), rng.normal(10, 4, (20, 7))


def test_errors_are_sklearns(some) -> None:
    y, forecast = some
    for i in range(len(y)):
        one = y[i : i + 1], forecast[i : i + 1]
        assert forecast_metrics.mse(*one)[0] == pytest.approx(mean_squared_error(y[i], forecast[i]))
        assert forecast_metrics.mae(*one)[0] == pytest.approx(
            mean_absolute_error(y[i], forecast[i])
        )
        for level in (0.025, 0.5, 0.9):
            expected = mean_pinball_loss(y[i], forecast[i], alpha=level)
            assert forecast_metrics.pinball(*one, level)[0] == pytest.approx(expected)


def test_smape_and_mase_by_their_definitions(some) -> None:
    y, forecast = some
    for i in range(len(y)):
        terms = [abs(a - f) / ((abs(a) + abs(f)) / 2) for a, f in zip(y[i], forecast[i])]
        expected = 100 * sum(terms) / len(terms)
        assert forecast_metrics.smape(y[i : i + 1], forecast[i : i + 1])[0] == pytest.approx(
            expected
        )
    past, m = np.random.default_rng(1).normal(size=50), 6
    naive_errors = [abs(past[t] - past[t - m]) for t in range(m, 50)]
    scale = forecast_metrics.seasonal_error(past, m)
    assert scale == pytest.approx(sum(naive_errors) / (50 - m))
    found = forecast_metrics.mase(y[:1], forecast[:1], np.array([scale]))
    assert found[0] == pytest.approx(np.abs(y[0] - forecast[0]).mean() / scale)


def test_smape_of_nothing_is_nothing() -> None:
    assert forecast_metrics.smape(np.zeros((1, 3)), np.zeros((1, 3)))[0] == 0


@pytest.mark.parametrize("past", [[5.0], [], [2.0, 2.0, 2.0]])
def test_a_past_that_cannot_scale(past) -> None:
    assert math.isnan(forecast_metrics.seasonal_error(np.array(past), 1))


def test_owa_of_naive2_is_one() -> None:
    own = {"smape": 12.0, "mase": 1.5}
    assert forecast_metrics.owa(own, own) == 1
    assert forecast_metrics.owa({"smape": 6.0, "mase": 1.5}, own) == pytest.approx(0.75)


def test_coverage_counts_the_borders() -> None:
    y = np.array([[1.0, 2.0, 3.0, 4.0]])
    found = forecast_metrics.covered(y, np.array([[1.0, 0, 3.5, 0]]), np.array([[2.0, 2, 4, 3]]))
    assert found[0] == 0.5


def continued(forecast, past, horizon, season=1) -> np.ndarray:
    return forecast(past, np.array([0]), np.array([len(past)]), horizon, season)[0]


def test_naive_forecasts() -> None:
    past = np.array([1.0, 3.0, 5.0, 2.0, 4.0, 6.0])
    assert continued(naive.naive, past, 2).tolist() == [6, 6]
    assert continued(naive.seasonal_naive, past, 5, 3).tolist() == [2, 4, 6, 2, 4]
    assert continued(naive.seasonal_naive, past, 2, 99).tolist() == [6, 6]
    assert continued(naive.drift, past, 2).tolist() == [7, 8]
    assert continued(naive.drift, np.array([3.0]), 2).tolist() == [3, 3]


@pytest.mark.parametrize("forecast", [*naive.NAIVE.values(), naive.naive2, naive.theta])
def test_naive_forecasts_of_many_origins_see_nothing_behind_them(forecast) -> None:
    series = np.random.default_rng(1).uniform(1, 2, 60) + np.resize([0.0, 1.0, 2.0, 5.0], 60)
    origins = np.array([1, 3, 17, 17, 40, 59])
    alone = [continued(forecast, series[:t], 6, 4) for t in origins]
    begin = np.zeros_like(origins)
    assert np.array_equal(forecast(series, begin, origins, 6, 4), np.stack(alone))
    two = np.r_[series[:9], series]  # the same after another series
    assert np.array_equal(forecast(two, begin + 9, origins + 9, 6, 4), np.stack(alone))


def test_autocorrelation_is_its_definition() -> None:
    y = np.random.default_rng(2).normal(3, 1, 50)
    z = y - y.mean()
    expected = [np.sum(z[: 50 - k] * z[k:]) / np.sum(z**2) for k in range(8)]
    assert seasons.autocorrelation(y, 7) == pytest.approx(expected)


@pytest.mark.parametrize("season", [4, 7, 24])
def test_naive2_finds_a_multiplicative_season(season) -> None:
    rng = np.random.default_rng(season)
    indices = rng.uniform(0.5, 1.5, season)
    indices /= indices.mean()
    trend = 100 * np.ones(10 * season)
    past = trend * np.resize(indices, len(trend))
    assert seasons.is_seasonal(past, season)
    assert seasons.seasonal_indices(past, season) == pytest.approx(indices)
    expected = 100 * np.resize(indices, 2 * season)
    assert continued(naive.naive2, past, 2 * season, season) == pytest.approx(expected)
    shifted = past[: len(past) - 2]  # a past that ends within a season
    assert continued(naive.naive2, shifted, 2, season) == pytest.approx(past[-2:])


def test_naive2_without_a_season_is_naive() -> None:
    past = np.random.default_rng(0).uniform(1, 2, 100)
    assert continued(naive.naive2, past, 3, 1).tolist() == [past[-1]] * 3
    assert continued(naive.naive2, past[:20], 3, 12).tolist() == [past[19]] * 3
    assert continued(naive.naive2, np.full(60, 2.0), 3, 12).tolist() == [2, 2, 2]
    assert continued(naive.naive2, past - 1.5, 3, 12).tolist() == [past[-1] - 1.5] * 3


# Forecasts of Theta(season_length=m) of statsforecast 2.1.1, which also fits the first level.
THETA = [
    (60, 1, [57.1643, 57.2116, 57.2589, 57.3062, 57.3535, 57.4009]),
    (120, 1, [86.1821, 86.3322, 86.4822, 86.6322, 86.7822, 86.9322]),
    (200, 1, [55.0611, 55.0759, 55.0906, 55.1054, 55.1201, 55.1349]),
    (96, 12, [135.0184, 154.2472, 169.1226, 175.9638, 172.7372, 156.6035]),
    (144, 12, [90.0167, 104.1978, 113.1650, 118.8981, 114.1760, 102.5116]),
    (300, 24, [225.7363, 206.2493, 189.3386, 175.5545, 166.6198, 158.8713]),
]


def test_theta_as_statsforecast_has_it() -> None:
    rng = np.random.default_rng(0)
    for number, (steps, season, expected) in enumerate(THETA):
        t, walk = np.arange(steps), np.cumsum(rng.normal(0, 1, steps))
        y = 50 + 0.3 * t * (number % 2) + walk * (number != 1) + rng.normal(0, 2, steps)
        if season > 1:
            y = (y + 60) * (1 + 0.3 * np.sin(2 * np.pi * t / season))
        assert continued(naive.theta, y.round(2), 6, season) == pytest.approx(expected, rel=0.01)


# AutoETS(season_length=1, model="AZN") of statsforecast 2.1.1
ETS = [
    (30, "level", [45.6536, 45.6536, 45.6536, 45.6536, 45.6536, 45.6536]),
    (60, "trend", [67.8995, 68.2007, 68.5018, 68.8030, 69.1041, 69.4053]),
    (120, "level", [33.9209, 33.9209, 33.9209, 33.9209, 33.9209, 33.9209]),
    (200, "trend", [108.8689, 109.1553, 109.4417, 109.7281, 110.0145, 110.3009]),
    (100, "level", [48.0987, 48.0987, 48.0987, 48.0987, 48.0987, 48.0987]),
    (150, "trend", [291.0640, 293.6846, 296.3052, 298.9258, 301.5464, 304.1670]),
    (80, "trend", [9.8425, 8.6890, 7.5355, 6.3820, 5.2286, 4.0751]),
]


def test_exponential_smoothing_as_statsforecast_has_it() -> None:
    rng = np.random.default_rng(0)
    for number, (steps, kind, expected) in enumerate(ETS):
        t, walk = np.arange(steps), np.cumsum(rng.normal(0, 1, steps))
        y = (50 + 0.3 * t * (number % 2) + walk * (number != 1) + rng.normal(0, 2, steps)).round(2)
        if number >= 5:
            y = (y + np.cumsum(np.cumsum(rng.normal(0, 0.1, steps)))).round(2)
        assert continued(naive.ets, y, 6) == pytest.approx(expected, rel=2e-3)
        assert fit_smoothing(y).trend == (kind == "trend")


# AutoETS(season_length=m, model="AZA")
SEASONAL_ETS = [
    (96, 12, [49.866, 53.821, 54.402, 54.162, 54.234, 53.259]),
    (120, 12, [76.869, 80.884, 80.903, 80.403, 80.182, 80.368]),
    (240, 24, [61.631, 63.817, 64.683, 64.963, 65.819, 65.676]),
    (60, 4, [68.709, 73.487, 69.306, 53.472, 69.770, 74.548]),
]


def test_smoothing_of_seasons_is_near_that_of_statsforecast() -> None:
    """Which searches the first season too, and so may choose another trend."""
    rng = np.random.default_rng(3)
    for number, (steps, m, expected) in enumerate(SEASONAL_ETS):
        t = np.arange(steps)
        cycle = 10 * np.sin(2 * np.pi * t / m) + 3 * np.cos(4 * np.pi * t / m)
        walk = np.cumsum(rng.normal(0, 0.5, steps)) + (0.2 * t if number % 2 else 0)
        y = (50 + walk + cycle + rng.normal(0, 1, steps)).round(2)
        assert continued(naive.ets, y, 6, m) == pytest.approx(expected, rel=0.025)


@pytest.mark.parametrize(
    "model",
    [
        Smoothing(0.4, 0.1, 1.0, trend=True),
        Smoothing(0.4, 0.1, 0.9, trend=True),
        Smoothing(0.3, gamma=0.2, season=4),
        Smoothing(0.4, 0.1, 0.9, 0.3, trend=True, season=4),
        Smoothing(0.4, 0.1, 0.9, 0.3, trend=True, season=4, log=True),
    ],
    ids=str,
)
@pytest.mark.parametrize("whole", [True, False])
def test_errors_of_smoothing_are_those_of_its_equations(model, whole) -> None:
    y = np.random.default_rng(4).normal(5, 1, 41)
    fit = model.fit(y, whole=whole)
    level, slope = (*fit.start, 0.0)[:2]
    season = fit.season.tolist()
    for t, (value, error) in enumerate(zip(np.log(y) if model.log else y, fit.errors)):
        expected = level + model.phi * slope
        phase = t % model.season
        assert value - expected - season[phase] == pytest.approx(error)
        level, slope = expected + model.alpha * error, model.phi * slope + model.beta * error
        season[phase] += model.gamma * error
    ahead = [
        level + slope * sum(model.phi ** (i + 1) for i in range(h + 1))
        + season[(41 + h) % model.season]
        for h in range(6)
    ]  # fmt: skip
    assert fit.continued(6) == pytest.approx(np.exp(ahead) if model.log else ahead)
    if whole:  # no other first states have smaller errors
        assert fit.loss <= model.fit(y, whole=False).loss + 1e-9


def test_smoothing_of_seasons_and_of_few_values() -> None:
    t = np.arange(96)
    for y in (60 + 20 * np.sin(t * np.pi / 6), 20 * np.sin(t * np.pi / 6) + 0.1 * t - 3):
        expected = y[84:]  # a season of 12 steps
        for method in (naive.ets, naive.theta):
            found = continued(method, y[:84], 12, 12)
            assert np.abs(found - expected).max() < 1.5
    assert continued(naive.ets, np.array([4.0]), 2).tolist() == [4, 4]
    assert continued(naive.ets, np.full(30, 4.0), 2) == pytest.approx([4, 4])
    assert continued(naive.ets, 3.0 + 2.0 * t, 3) == pytest.approx([195, 197, 199], rel=1e-3)


def test_windows_of_a_series_share_the_parameters_of_smoothing() -> None:
    """The states are those of each window."""
    y = np.random.default_rng(1).normal(0, 1, 60).cumsum()
    both = naive.ets(y, np.zeros(2, int), np.array([50, 60]), 3)
    model = fit_smoothing(y[:50])
    for row, end in zip(both, (50, 60)):
        assert row == pytest.approx(model.fit(y[:end]).continued(3))


def test_theta_of_a_line_and_of_few_values() -> None:
    line = 3.0 + 2.0 * np.arange(40)
    assert np.diff(continued(naive.theta, line, 5)) == pytest.approx([1.0] * 4)  # half of the slope
    assert continued(naive.theta, line[:2], 3).tolist() == [5, 5, 5]
    assert continued(naive.theta, np.full(9, 4.0), 2) == pytest.approx([4, 4])


def test_indices_by_brute_force() -> None:
    """The classical decomposition with a loop over every centred moving average."""
    rng = np.random.default_rng(3)
    m = 6
    past = rng.uniform(1, 2, 40)
    ratios: dict[int, list[float]] = {phase: [] for phase in range(m)}
    for t in range(m // 2, len(past) - m // 2):
        own = past[t - m // 2 : t + m // 2 + 1].copy()
        own[[0, -1]] /= 2
        ratios[t % m].append(past[t] / (own.sum() / m))
    means = np.array([np.mean(ratios[phase]) for phase in range(m)])
    assert seasons.seasonal_indices(past, m) == pytest.approx(means / means.mean())


@pytest.mark.parametrize("coverage", [0.8, 0.95])
def test_conformal_intervals_cover(coverage) -> None:
    """The mean over many calibrations of the coverage of fresh values: at least as promised, and
    at most 1 / (n + 1) more, whatever the distribution."""
    rng = np.random.default_rng(0)
    n, found = 99, []
    for _ in range(1000):
        y = rng.standard_t(2, (n + 20, 3)) * np.array([1.0, 5.0, 0.1])
        flat = np.zeros((n, 3))
        q = conformal.margins(conformal.scores(y[:n], flat, flat, np.ones((n, 1))), coverage)
        zero = np.zeros((20, 3))
        low, high = conformal.widened(zero, zero, q, np.ones((20, 1)))
        found.append(forecast_metrics.covered(y[n:], low, high).mean())
    error = np.std(found) / math.sqrt(len(found))
    assert coverage - 4 * error <= np.mean(found) <= coverage + 1 / (n + 1) + 4 * error


def test_too_few_forecasts_promise_nothing() -> None:
    assert np.isinf(conformal.margins(np.zeros((0, 2)), 0.95)).all()
    assert np.isfinite(conformal.margins(np.zeros((19, 2)), 0.95)).all()


def test_an_interval_never_turns_inside_out() -> None:
    low, high = conformal.widened(
        np.array([[0.0]]), np.array([[1.0]]), np.array([-3.0]), np.array([[1.0]])
    )
    assert low == high == 0.5


def test_few_scores_promise_what_the_largest_can() -> None:
    """That of 10 holds for the next with 10 / 11, over many draws of ten and one."""
    rng = np.random.default_rng(5)
    draws = rng.exponential(size=(20_000, 11))
    held = [own[10] <= conformal.margins(own[:10, None], 0.95)[0] for own in draws]
    assert np.mean(held) == pytest.approx(10 / 11, abs=0.01)
    assert [conformal.needed(level) for level in conformal.COVERAGES] == [1, 4, 9, 19]


def test_missing_truths_have_no_score() -> None:
    y = np.array([[1.0, np.nan], [3.0, 2.0], [2.0, np.nan]])
    found = conformal.scores(y, np.zeros((3, 2)), np.zeros((3, 2)), np.ones((3, 1)))
    assert conformal.margins(found, 0.5).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("known", [0, 3])
def test_ridge_regression_is_that_of_the_whole_matrix(known) -> None:
    """Of windows and what is known of each step, in batches, against one solution a step."""
    from unspool.tasks.forecast.linear import Sums

    rng = np.random.default_rng(3)
    z, f, y = (rng.normal(size=size) for size in ((50, 7), (50, 4, known), (50, 4)))
    w = rng.uniform(size=(50, 1))  # of each window
    sums = Sums(7, 4, known)
    for rows in (slice(0, 20), slice(20, 50)):
        sums.add(z[rows], f[rows], y[rows], w[rows])
    W, V = sums.solve(0.1)
    unit = (w * z**2).sum() / 7
    other = (w[..., None] * f**2).sum() / max(1, 4 * known)
    for h in range(4):
        x = np.concatenate([z, np.ones((50, 1)), f[:, h]], 1)
        penalty = np.diag([*[0.1 * unit] * 7, 1e-9 * unit, *[0.1 * other] * known])
        expected = np.linalg.solve(x.T @ (w * x) + penalty, x.T @ (w[:, 0] * y[:, h]))
        assert np.r_[W[:, h], V[h]] == pytest.approx(expected)
