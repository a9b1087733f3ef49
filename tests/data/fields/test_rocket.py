"""MiniRocket's features against NumPy's convolutions, and aeon's where it is installed."""

from __future__ import annotations

import json

import numpy as np
import pytest

from unspool.data.fields.rocket import KERNELS, MOST, WEIGHTS, Dilation, MiniRocket, dilations
from unspool.data.fields.series_values import Moments, Series
from unspool.data.fields.source import SeriesSource
from unspool.data.store.ragged import Ragged


def series(rows: list[np.ndarray]) -> Series:
    channels = rows[0].shape[1]
    moments = Moments(np.zeros(channels), np.ones(channels))
    return Series(
        Ragged.of([row.astype(np.float32) for row in rows]), None, moments, SeriesSource()
    )


def random_rows(lengths: list[int], channels: int, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(steps, channels)).cumsum(0) for steps in lengths]


@pytest.mark.parametrize("size", [1, 3, 20])
@pytest.mark.parametrize("channels", [1, 4])
def test_convolutions_equal_numpy(size, channels) -> None:
    rng = np.random.default_rng(size)
    x = rng.normal(size=(50, channels))
    mask = rng.random((KERNELS, channels)) < 0.5
    y = Dilation(size, mask, np.zeros((KERNELS, 1))).convolve(x)
    for k in range(KERNELS):
        spread = np.zeros(8 * size + 1)
        spread[::size] = WEIGHTS[k]
        padded = np.pad(x[:, mask[k]], ((4 * size, 4 * size), (0, 0)))
        expected = sum(np.correlate(channel, spread, "valid") for channel in padded.T)
        np.testing.assert_allclose(y[k], expected if mask[k].any() else 0, atol=1e-4)


def test_features_are_shares_of_exceeded_thresholds() -> None:
    rows = random_rows([40, 60, 9, 3, 1], 2)
    rocket = MiniRocket()
    rocket.fit(series(rows))
    assert len(rocket.names) == MOST * KERNELS == len(set(rocket.names))
    for x in rows:
        features = rocket.transform(x.astype(np.float32))
        assert features.shape == (len(rocket.names),)
        start = 0
        for number, dilation in enumerate(rocket.dilations):
            y = dilation.convolve(x)
            for k in range(KERNELS):
                inner = (number + k) % 2 == 1
                steps = y[k, dilation.inner(len(x))] if inner else y[k]
                for threshold in dilation.thresholds[k]:
                    assert features[start] == pytest.approx((steps > threshold).mean(), abs=1e-12)
                    start += 1


def test_gaps_are_read_as_the_mean() -> None:
    rows = random_rows([30, 30], 1)
    rocket = MiniRocket()
    rocket.fit(series(rows))
    x = rows[0].astype(np.float32)
    x[5:8] = np.nan
    filled = np.where(np.isnan(x), 0, x)
    np.testing.assert_array_equal(rocket.transform(x), rocket.transform(filled))


def test_many_rows_have_fewer_features() -> None:
    rocket = MiniRocket()
    rocket.fit(series(random_rows([12] * 6_000, 1)))
    assert len(rocket.names) * 6_000 <= 12_000_000
    assert len(rocket.names) % KERNELS == 0


@pytest.mark.parametrize("steps", [1, 2, 9, 24, 150, 10_000])
@pytest.mark.parametrize("per_kernel", [3, 32, MOST])
def test_dilations_span_the_series(steps, per_kernel) -> None:
    sizes, counts = zip(*dilations(steps, per_kernel))
    assert sum(counts) == per_kernel
    assert min(counts) >= 1
    assert sizes[0] == 1
    assert list(sizes) == sorted(set(sizes))
    assert sizes[-1] == 1 or 8 * sizes[-1] <= steps


def test_saved_and_loaded() -> None:
    rows = random_rows([30, 20], 3)
    rocket, loaded = MiniRocket(), MiniRocket()
    rocket.fit(series(rows))
    stored = json.loads(json.dumps(rocket.to_json()))
    loaded.load_json(stored, 3)
    np.testing.assert_array_equal(rocket.transform(rows[0]), loaded.transform(rows[0]))
    for damage in (
        {"width": 2}, {"dilations": [{**stored["dilations"][0], "size": 0}]},
        {"dilations": [{**stored["dilations"][0], "thresholds": [[float("nan")]] * KERNELS}]},
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"another number of channels|not a dilation"):
            MiniRocket().load_json({**stored, **damage}, 3)


def test_features_equal_those_of_aeon() -> None:
    """With aeon's dilations and thresholds the features are aeon's."""
    collection = pytest.importorskip("aeon.transformations.collection.convolution_based")
    x = np.stack([row.T for row in random_rows([150] * 20, 1)]).astype(np.float32)
    peer = collection.MiniRocket(random_state=0)
    expected = np.asarray(peer.fit_transform(x))
    _, _, sizes, counts, biases = peer.parameters
    assert dilations(150, MOST) == list(zip(sizes.tolist(), counts.tolist()))
    rocket, used = MiniRocket(), 0
    for size, count in zip(sizes, counts):
        thresholds = biases[used : used + KERNELS * count].reshape(KERNELS, count)
        rocket.dilations.append(Dilation(int(size), np.ones((KERNELS, 1), bool), thresholds))
        used += KERNELS * count
    actual = np.stack([rocket.transform(row.T) for row in x])
    # A sum in another order may lie on the other side of a threshold at single steps.
    assert (np.abs(actual - expected) < 1e-6).mean() > 0.999
    assert np.abs(actual - expected).max() < 3 / 100
