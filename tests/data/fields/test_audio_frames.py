"""Frames of sound against the formula and against libraries that nobody here wrote."""

from __future__ import annotations

import math

import numpy as np
import pytest

from unspool.data.fields.audio_frames import Framing, frames, mel_filters, resampled

RATES = [(8000, 16_000), (44_100, 16_000), (16_000, 8000), (11_025, 8000), (16_001, 16_000)]


def waves(rate: int, seconds: float = 0.5) -> np.ndarray:
    t = np.arange(int(rate * seconds)) / rate
    return sum(np.sin(2 * np.pi * f * t + f) for f in (100, 440, 1234, 2900)) / 4


def as_one(sound: np.ndarray, given: int, wanted: int, parts: int = 1) -> np.ndarray:
    blocks = iter(np.array_split(sound.astype(np.float32), parts))
    return np.concatenate(list(resampled(blocks, given, wanted)))


@pytest.mark.parametrize(("given", "wanted"), RATES)
def test_resampled_waves_are_the_waves_at_the_other_rate(given: int, wanted: int) -> None:
    found, true = as_one(waves(given), given, wanted), waves(wanted)
    assert len(found) == math.ceil(len(waves(given)) * wanted / given)
    inside = slice(wanted // 20, -wanted // 20)
    assert np.abs(found[: len(true)] - true)[inside].max() < 2e-5


@pytest.mark.parametrize(("given", "wanted"), RATES)
def test_blocks_change_nothing(given: int, wanted: int) -> None:
    noise = np.random.default_rng(0).normal(size=5000)
    whole = as_one(noise, given, wanted)
    for parts in (2, 7, 100):
        assert np.array_equal(as_one(noise, given, wanted, parts), whole)


def test_resampling_as_soxr_and_scipy_do() -> None:
    soxr = pytest.importorskip("soxr")
    from scipy.signal import butter, resample_poly, sosfiltfilt

    noise = np.random.default_rng(1).normal(size=16_000)
    low = sosfiltfilt(butter(8, 3000, fs=16_000, output="sos"), noise)  # both cut near 4 kHz
    found, inside = as_one(low, 16_000, 8000), slice(200, -200)
    best = soxr.resample(low, 16_000, 8000, quality="VHQ")
    assert np.abs(found - best)[inside].max() < 2e-3 * np.abs(best).max()
    assert np.abs(found - resample_poly(low, 1, 2))[inside].max() < 2e-2 * np.abs(best).max()


def test_what_is_too_high_is_gone() -> None:
    t = np.arange(16_000) / 16_000
    assert np.abs(as_one(np.sin(2 * np.pi * 5000 * t), 16_000, 8000)[100:-100]).max() < 1e-4


def logmel(sound: np.ndarray, framing: Framing, parts: int = 1) -> np.ndarray:
    blocks = iter(np.array_split(sound.astype(np.float32), parts))
    return frames(blocks, framing.rate, framing)


def test_log_mel_as_librosa_has_it() -> None:
    librosa = pytest.importorskip("librosa")
    sound = np.random.default_rng(2).normal(size=8000).astype(np.float32)
    framing = Framing(8000, 32.0, 10.0, 20)  # 256 samples: no zeros behind a window
    power = librosa.feature.melspectrogram(
        y=sound, sr=8000, n_fft=256, hop_length=80, window="hann", center=False, power=2.0,
        n_mels=20, fmin=0, fmax=4000, htk=True, norm=None,
    )  # fmt: skip
    found = logmel(sound, framing)
    assert found.shape == power.T.shape
    assert np.abs(found - np.log(power.T)).max() < 1e-3
    cepstra = librosa.feature.mfcc(S=np.log(power), n_mfcc=13, dct_type=2, norm="ortho").T
    own = logmel(sound, framing._replace(features="mfcc"))
    assert np.abs(own - cepstra).max() < 5e-3


def test_one_frame_by_hand() -> None:
    framing, sound = Framing(8000, 25.0, 10.0, 8), np.random.default_rng(3).normal(size=200)
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(200) / 200)
    power = np.abs(np.fft.rfft(sound * window, 256)) ** 2
    wanted = np.log(power @ mel_filters(8000, 256, 8).numpy())
    assert np.abs(logmel(sound, framing)[0] - wanted).max() < 1e-4


def test_lengths_blocks_and_silence() -> None:
    framing, noise = Framing(8000), np.random.default_rng(4).normal(size=4000)
    whole = logmel(noise, framing)
    assert whole.shape == (1 + (4000 - 200) // 80, 40)
    assert np.allclose(logmel(noise, framing, 9), whole, atol=1e-5)
    assert logmel(noise[:50], framing).shape == (1, 40)
    assert logmel(np.zeros(4000), framing).shape == (0, 40)
    assert np.isfinite(logmel(np.append(np.zeros(4000), 0.5), framing)).all()


def test_every_band_hears_something() -> None:
    for rate, size, bands in ((8000, 256, 80), (16_000, 512, 40), (16_000, 512, 128)):
        assert (mel_filters(rate, size, bands).sum(0) > 0).all()
