"""Sound as vectors over time: samples in, log-mel or cepstral frames out, in constant memory.

samples at any rate -> resampled to r -> windows of w samples, each h after the one before
-> |FFT|² -> bands of the mel scale -> ln [-> cosine transform]
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

ZEROS = 24  # zero crossings of the sinc on each side
SHARE = 0.945  # of the lower Nyquist frequency that passes
BETA = 9.0  # of the Kaiser window: about 90 dB
FLOOR = 1e-10  # power of a band, at least
CHUNK_FRAMES = 4096  # computed together
TAP_BYTES, SAMPLE_BYTES = 160, 24  # in memory, of a filter while it is made and of its output

Features = Literal["logmel", "mfcc"]


class Framing(NamedTuple):
    """Settings that make frames of samples.

    rate          samples a second
    window, hop   milliseconds: of a frame, and from one to the next
    bands         of the mel scale, from 0 to half the rate
    features      "logmel": ln of the power in each band; "mfcc": its first `coefficients` cosines
    """

    rate: int
    window: float = 25.0
    hop: float = 10.0
    bands: int = 40
    features: Features = "logmel"
    coefficients: int = 13

    @property
    def window_samples(self) -> int:
        return max(2, round(self.rate * self.window / 1000))

    @property
    def hop_samples(self) -> int:
        return max(1, round(self.rate * self.hop / 1000))

    @property
    def seconds(self) -> float:
        """From one frame to the next."""
        return self.hop_samples / self.rate

    @property
    def names(self) -> list[str]:
        """Names of the elements of a frame: centres of bands, or numbers of coefficients."""
        if self.features == "mfcc":
            return [f"c{i}" for i in range(min(self.coefficients, self.bands))]
        edges = mel_edges(self.rate, self.bands)
        return [f"{edge:.0f} Hz" for edge in edges[1:-1]]


def mel_edges(rate: int, bands: int) -> np.ndarray:
    """(bands + 2,) frequencies at equal distances of m = 2595 log10(1 + f / 700), 0 to rate / 2."""
    most = 2595 * math.log10(1 + rate / 2 / 700)
    return 700 * (10 ** (np.linspace(0, most, bands + 2) / 2595) - 1)


@cache
def mel_filters(rate: int, size: int, bands: int) -> Tensor:
    """(size / 2 + 1, bands): triangles of height 1, each from the middle of the band before to that
    of the next; of a band so narrow that no frequency of the FFT lies in it, its nearest."""
    edges = mel_edges(rate, bands)
    f = np.arange(size // 2 + 1) * rate / size
    left, middle, right = edges[:-2], edges[1:-1], edges[2:]
    up = (f[:, None] - left) / (middle - left)
    down = (right - f[:, None]) / (right - middle)
    filters = np.maximum(0, np.minimum(up, down))
    for band in np.flatnonzero(filters.sum(0) == 0):
        filters[np.abs(f - middle[band]).argmin(), band] = 1.0
    return torch.from_numpy(filters.astype(np.float32))


@cache
def cosines(bands: int, coefficients: int) -> Tensor:
    """(bands, coefficients), the orthonormal cosine transform: c_k = s_k Σ_b x_b cos(π k (b + ½) /
    bands), s_0 = 1 / √bands, s_k = √(2 / bands)."""
    b, k = np.arange(bands)[:, None], np.arange(coefficients)
    matrix = np.cos(np.pi * k * (b + 0.5) / bands) * np.sqrt(2 / bands)
    matrix[:, 0] = 1 / math.sqrt(bands)
    return torch.from_numpy(matrix.astype(np.float32))


def spectrum(windows: Tensor, framing: Framing) -> Tensor:
    """Stretches of samples (n, w) to frames (n, F).

    P = |FFT(hann · x)|², padded with zeros to a power of 2; y_b = ln max(Σ_f M_fb P_f, 1e-10)
    """
    size = 1 << (framing.window_samples - 1).bit_length()
    padded = windows.new_zeros(len(windows), size)  # copied once: rfft(n=) would copy again
    hann = torch.hann_window(framing.window_samples)  # periodic
    torch.mul(windows, hann, out=padded[:, : framing.window_samples])
    transform = torch.fft.rfft(padded)
    power = transform.real.square().addcmul_(
        transform.imag, transform.imag
    )  # without the root of abs()
    bands = power @ mel_filters(framing.rate, size, framing.bands)
    log = bands.clamp_(min=FLOOR).log_()
    if framing.features == "logmel":
        return log
    return log @ cosines(framing.bands, min(framing.coefficients, framing.bands))


class Ratio(NamedTuple):
    """Resampling of `down` samples to `up`, with the filter of `upfirdn`.

    context   samples that are needed on each side, a multiple of `down`
    delay     samples that the filter gives before the first
    """

    up: int
    down: int
    filter: np.ndarray
    context: int
    delay: int


def resampling_size(rate: int, wanted: int, block: int) -> int:
    """Bytes in memory to resample blocks of samples, at most: the filter, and what comes out."""
    factor = math.gcd(rate, wanted)
    taps = 2 * ZEROS / SHARE * max(rate, wanted) / factor if rate != wanted else 0
    return int(TAP_BYTES * taps + SAMPLE_BYTES * block * wanted / rate)


@lru_cache(4)
def ratio_of(rate: int, wanted: int) -> Ratio:
    """y_n = Σ_k x_k g(n · down / up - k), g(t) = c sinc(c t) kaiser(t c / ZEROS),
    c = SHARE · min(1, up / down): what lies above the lower of both Nyquist frequencies is gone."""
    factor = math.gcd(rate, wanted)
    up, down = wanted // factor, rate // factor
    c = SHARE * min(1.0, up / down)
    half = math.ceil(ZEROS / c * up)
    half += -half % down  # so that the middle falls on a sample that is kept
    t = np.arange(-half, half + 1) / up
    inside = np.clip(1 - (t * c / ZEROS) ** 2, 0, None)
    window = np.i0(BETA * np.sqrt(inside)) / np.i0(BETA) * (np.abs(t * c) <= ZEROS)
    kernel = c * np.sinc(c * t) * window
    context = math.ceil(ZEROS / c) + 1
    return Ratio(up, down, kernel, context + -context % down, half // down)


def resampled(blocks: Iterator[np.ndarray], rate: int, wanted: int) -> Iterator[np.ndarray]:
    """The same sound at another rate, ⌈N · wanted / given⌉ samples."""
    resampler = Resampler(rate, wanted)
    state = resampler.start()
    for block in blocks:
        new, state = resampler.extend(state, block)
        yield new
    yield resampler.finish(state)


class Resampling(NamedTuple):
    """State between blocks of samples; immutable.

    rest          (n,) samples whose neighbours have not all come
    given, made   samples so far: those that came, and those that were made of them
    """

    rest: np.ndarray
    given: int = 0
    made: int = 0


class Resampler:
    """Samples at another rate as they come; cut into blocks in any way they are the same."""

    def __init__(self, rate: int, wanted: int) -> None:
        self.ratio = None if rate == wanted else ratio_of(rate, wanted)

    def start(self) -> Resampling:
        return Resampling(np.zeros(0 if self.ratio is None else self.ratio.context))

    def extend(self, state: Resampling, block: np.ndarray) -> tuple[np.ndarray, Resampling]:
        """Samples (n,) -> those that can be made by now, and the state after them"""
        if self.ratio is None:
            return block, state
        up, down, context = self.ratio.up, self.ratio.down, self.ratio.context
        rest = np.concatenate([state.rest, block])
        groups = max(0, (len(rest) - 2 * context) // down)
        new = self._part(self.ratio, rest, groups)
        return new, Resampling(
            rest[groups * down :], state.given + len(block), state.made + groups * up
        )

    def finish(self, state: Resampling) -> np.ndarray:
        """The last samples, with zeros behind what has come."""
        if self.ratio is None:
            return np.zeros(0, np.float32)
        up, down, context = self.ratio.up, self.ratio.down, self.ratio.context
        left = max(0, -(-state.given * up // down) - state.made)
        groups = -(-left // up)
        short = groups * down + 2 * context - len(state.rest)
        return self._part(self.ratio, np.pad(state.rest, (0, max(0, short))), groups)[:left]

    @staticmethod
    def _part(ratio: Ratio, x: np.ndarray, groups: int) -> np.ndarray:
        """`groups · up` samples of `groups · down` with their context on both sides"""
        if not groups:
            return np.zeros(0, np.float32)
        from scipy.signal import upfirdn

        whole = upfirdn(
            ratio.filter, x[: groups * ratio.down + 2 * ratio.context], ratio.up, ratio.down
        )
        skip = ratio.context // ratio.down * ratio.up + ratio.delay
        samples: np.ndarray = whole[skip : skip + groups * ratio.up]
        return samples.astype(np.float32)


def frames(blocks: Iterator[np.ndarray], rate: int, framing: Framing) -> np.ndarray:
    """Blocks of samples at the rate `given` to frames (T, F); none where every sample is 0."""
    maker, parts, silent = FrameMaker(rate, framing), list[np.ndarray](), True
    state = maker.start()
    for block in blocks:
        silent = silent and not block.any()
        new, state = maker.extend(state, block)
        parts.append(new)
    if silent:
        return np.zeros((0, len(framing.names)), np.float32)
    return np.concatenate([*parts, maker.finish(state)])


class FrameState(NamedTuple):
    """State between frames; immutable.

    resampling   of the samples that are not at the rate of the frames yet
    rest         (n,) samples of which no whole window has come
    skip         samples to come that are in no window, where the hop is longer than a window
    made         frames so far
    """

    resampling: Resampling
    rest: np.ndarray
    skip: int = 0
    made: int = 0


class FrameMaker:
    """Frames as samples come: T = 1 + ⌊(N - w) / h⌋ of N samples at the rate of the frames. What is
    shorter than a window is one frame, with zeros behind it; samples behind the last whole window
    are left out. Cut into blocks in any way the frames are the same.

    given   rate of the samples
    """

    def __init__(self, rate: int, framing: Framing) -> None:
        self.framing, self.resampler = framing, Resampler(rate, framing.rate)

    def start(self) -> FrameState:
        return FrameState(self.resampler.start(), np.zeros(0, np.float32))

    def extend(self, state: FrameState, block: np.ndarray) -> tuple[np.ndarray, FrameState]:
        """Samples (n,) -> the frames (t, F) that they complete, and the state after them"""
        new, resampling = self.resampler.extend(state.resampling, block)
        return self._frames(state._replace(resampling=resampling), new)

    def finish(self, state: FrameState) -> np.ndarray:
        """The frames (t, F) that were waiting for samples."""
        w = self.framing.window_samples
        last, state = self._frames(state, self.resampler.finish(state.resampling))
        if state.made or not len(state.rest):
            return last
        x = torch.from_numpy(np.pad(state.rest, (0, w - len(state.rest))))
        return spectrum(x[None], self.framing).numpy()

    def _frames(self, state: FrameState, new: np.ndarray) -> tuple[np.ndarray, FrameState]:
        w, h = self.framing.window_samples, self.framing.hop_samples
        rest = np.concatenate([state.rest, new[state.skip :]])
        skip = max(0, state.skip - len(new))
        count = max(0, 1 + (len(rest) - w) // h)
        parts = [np.zeros((0, len(self.framing.names)), np.float32)]
        for start in range(0, count, CHUNK_FRAMES):
            stop = min(count, start + CHUNK_FRAMES)
            x = torch.from_numpy(rest[start * h : (stop - 1) * h + w])
            parts.append(spectrum(x.unfold(0, w, h), self.framing).numpy())
        skip += max(0, count * h - len(rest))
        made = state.made + count
        return np.concatenate(parts), FrameState(state.resampling, rest[count * h :], skip, made)
