"""The last steps of a series in, the next ones out: all at once, or one after the other.

In: `Window`s of up to L steps. Out: `Forecasts` of H steps, for each of them the P numbers of an
`Uncertain` (`nn/distributions.py`), in the units of the window: z = (y - center) / scale.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from unspool.nn import init
from unspool.nn.distributions import Uncertain
from unspool.nn.dropout import Dropout
from unspool.nn.encoder import Encoder
from unspool.nn.heads import NumberOutput
from unspool.nn.masks import at_last, keep_mask, zero_padding
from unspool.nn.pooling import POOLINGS
from unspool.nn.taps import Tap, overridable

FAR = 10.0  # scales of a window, which its future seldom leaves


class Window(NamedTuple):
    """The past of B series, and what is known of their future.

    y          (B, L) the values to be continued, 0 where there are none
    observed   (B, L) bool: where there are
    extra      (B, L, K') other values of the same steps, which are not known ahead
    known      (B, L + H, K) values that are known ahead: of the past, then of the steps ahead;
               row b has those of its steps at 0 .. lengths_b + H - 1
    lengths    (B,) steps of each past
    """

    y: Tensor
    observed: Tensor
    extra: Tensor
    known: Tensor
    lengths: Tensor


class Forecasts(NamedTuple):
    """outputs (B, H, P) in units of the window; value = center + scale · z, both (B, 1)."""

    outputs: Tensor
    center: Tensor
    scale: Tensor


def window_scale(window: Window, how: str) -> tuple[Tensor, Tensor]:
    """(B, 1) center and scale of each past: its "mean" or "last" value, with the root mean square
    of what was observed around it; or 0 and 1 for "none". A past that never moves has the scale of
    its value."""
    y, seen = window.y, window.observed
    if how == "none":
        return torch.zeros_like(y[:, :1]), torch.ones_like(y[:, :1])
    count = seen.sum(1, keepdim=True).clamp(min=1)
    if how == "mean":
        center = (y * seen).sum(1, keepdim=True) / count
    else:
        steps = torch.arange(1, y.shape[1] + 1, device=y.device)
        last = (steps * seen).argmax(1, keepdim=True)
        center = y.gather(1, last)
    spread = (((y - center) * seen).square().sum(1, keepdim=True) / count).sqrt()
    size = center.abs()
    flat = torch.where(size > 0, size, torch.ones_like(size))
    return center, torch.where(spread > 1e-6 * size, spread, flat)


def window_weights(z: Tensor, how: str) -> Tensor:
    """(B, 1) the weight in the loss of windows with targets z (B, H), scaled as in `window_scale`:
    1, or (`FAR` / max |z|)² where a target is beyond `FAR` scales.

    What follows a past that hardly moves may lie at any number of its scales. Squared errors of
    such a window are those in a unit in which it reaches `FAR`, so that it rules no others.
    """
    if how == "none":
        return torch.ones_like(z[:, :1])
    return (FAR / z.detach().abs().amax(1, keepdim=True).clamp(min=FAR)).square()


def uniform(paths: int, steps: int, seed: int) -> Tensor:
    """(1, paths, steps, 2) numbers in (0, 1) to sample by"""
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(1, paths, steps, 2, generator=generator).clamp(1e-7, 1 - 1e-7)


@overridable
def align_end(x: Tensor, lengths: Tensor) -> Tensor:
    """x (B, L) with its real steps moved to the end, zeros before them."""
    if bool((lengths == x.shape[1]).all()):
        return x
    steps = torch.arange(x.shape[1]) - (x.shape[1] - lengths.cpu())[:, None]  # (B, L)
    moved = x.gather(1, steps.clamp(min=0).to(x.device))
    return zero_padding(moved, (steps >= 0).to(x.device))


def patches(x: Tensor, lengths: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Every `size` steps as one: (B, L, C) -> (B, ⌈L / size⌉, size · C), and how many are real.

    The last patch of a sequence ends with its last step; the first may begin with zeros.
    """
    lengths = lengths.cpu()
    if size == 1:
        return x, lengths
    count = -(-x.shape[1] // size)
    missing = -lengths % size  # (B,) steps before the first
    steps = torch.arange(count * size) - missing[:, None]  # (B, count · size)
    real = (steps >= 0) & (steps < lengths[:, None])
    index = torch.where(real, steps, 0).to(x.device)[..., None].expand(-1, -1, x.shape[2])
    patched = zero_padding(x.gather(1, index), real.to(x.device))
    return patched.reshape(x.shape[0], count, size * x.shape[2]), (lengths + missing) // size


@overridable
def side_by_side(*parts: Tensor) -> Tensor:
    """Numbers (B, L), masks and vectors (B, L, K) of the same steps as vectors (B, L, C).

    By writing into one array: torch.cat takes several times as long where parts have one column.
    """
    wide = [part if part.dim() == 3 else part[..., None] for part in parts]
    joined = parts[0].new_empty(*parts[0].shape[:2], sum(part.shape[2] for part in wide))
    start = 0
    for part in wide:
        joined.narrow(-1, start, part.shape[2]).copy_(part)
        start += part.shape[2]
    return joined


class WindowInput(nn.Module):
    """x (B, L, C), all that is read of the past, as it is: where it can be watched and replaced."""

    def __init__(self) -> None:
        super().__init__()
        self.values = Tap()

    def forward(self, x: Tensor) -> Tensor:
        return self.values(x)


class WindowSum(nn.Module):
    """W z: each of H steps a weighted sum of the L of a window, zero before anything is learnt."""

    def __init__(self, length: int, horizon: int, *, bias: bool = False) -> None:
        super().__init__()
        self.linear = nn.Linear(length, horizon, bias=bias)
        for parameter in self.linear.parameters():
            nn.init.zeros_(parameter)

    def forward(self, z: Tensor, lengths: Tensor) -> Tensor:
        """(B, L) of which `lengths` (B,) are real -> (B, H)"""
        return self.linear(align_end(z, lengths))

    def describe(self) -> str:
        return f"weighted sum of {self.linear.in_features} steps"


class Forecaster(nn.Module):
    """Base class of forecasters.

    horizon    H
    uncertain  what the P outputs of a step stand for
    normalize  "mean", "last" or "none": see `window_scale`
    """

    def __init__(self, horizon: int, uncertain: Uncertain, normalize: str) -> None:
        super().__init__()
        self.horizon, self.uncertain, self.normalize = horizon, uncertain, normalize
        self.window = WindowInput()

    def forward(self, window: Window) -> Forecasts:
        center, scale = window_scale(window, self.normalize)
        z = torch.where(window.observed, (window.y - center) / scale, 0.0)
        return Forecasts(self.outputs(z, window), center, scale)

    def outputs(self, z: Tensor, window: Window) -> Tensor:
        """z (B, L) -> (B, H, P)"""
        raise NotImplementedError

    def sample(self, window: Window, paths: int, seed: int = 0) -> Tensor:
        """(B, paths, H) values of the series, each step sampled by itself: the distributions of
        the steps are known, not how they hang together. All windows share their random numbers, so
        that none depends on what else is in the batch."""
        forecast = self(window)
        u = uniform(paths, self.horizon, seed).to(window.y.device)
        outputs = forecast.outputs.float()[:, None].expand(-1, paths, -1, -1)  # (B, paths, H, P)
        z = self.uncertain.sample(outputs, u.expand(len(outputs), -1, -1, -1))
        return forecast.center[..., None] + forecast.scale[..., None] * z

    def loss(self, window: Window, future: Tensor, seen: Tensor) -> Tensor:
        """The mean over the steps ahead that were `seen` (B, H) of the loss of future (B, H)."""
        return self.forecast_and_loss(window, future, seen)[1]

    def forecast_and_loss(
        self, window: Window, future: Tensor, seen: Tensor
    ) -> tuple[Forecasts, Tensor]:
        """Both from one pass over the window, where the loss is that of the forecast."""
        forecast = self(window)
        z = (future - forecast.center) / forecast.scale
        return forecast, self.mean_loss(forecast.outputs, z, seen)

    def mean_loss(self, outputs: Tensor, z: Tensor, seen: Tensor) -> Tensor:
        z = torch.where(seen, z, 0.0)
        each = self.uncertain.loss(outputs.float(), z) * window_weights(z, self.normalize)
        return (each * seen).sum() / seen.sum().clamp(min=1)


class KnownSum(nn.Module):
    """V_h k_h: of each of H steps ahead a weighted sum of the K numbers that are known of it."""

    def __init__(self, known: int, horizon: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(horizon, known))

    def forward(self, known: Tensor) -> Tensor:
        """(B, H, K) -> (B, H)"""
        return (known * self.weight).sum(-1)

    def describe(self) -> str:
        return f"weighted sum of {self.weight.shape[1]} numbers that are known ahead"


class LinearForecaster(Forecaster):
    """Every step ahead a weighted sum of the window, and of what is known of that step:

    z_{t+h} = Σ_i W_{h,i} z_{t-L+i} + V_h known_{t+h} + b_h

    Zeng et al. (2023) showed how much this is to beat; the parts that their DLinear splits a window
    into are sums of it too, so the function is the same.
    """

    def __init__(
        self, length: int, horizon: int, uncertain: Uncertain, normalize: str, known: int = 0
    ) -> None:
        super().__init__(horizon, uncertain, normalize)
        self.sum = WindowSum(length, horizon, bias=True)
        self.ahead = KnownSum(known, horizon) if known else None

    def outputs(self, z: Tensor, window: Window) -> Tensor:
        z = self.window(z[..., None])[..., 0]
        outputs = self.sum(z, window.lengths)
        if self.ahead is not None:
            outputs = outputs + self.ahead(future_of(window, self.horizon))
        return outputs[..., None]


class DirectForecaster(Forecaster):
    """An encoder reads the window, and all steps ahead are given at once:

    c = pooling(encoder([z_t; observed_t; extra_t; known_t]))
    o_h = V_h c + W z + U relu(Q known_{t+h} + R c)

    The encoder reads `patch` steps as one (Nie et al. 2023): fewer steps, each with more to say.
    W z, a weighted sum of the window itself, is added to the first number of each step where there
    is a `skip`: the encoder learns what it cannot say. The last term is there where something is
    known ahead.
    """

    def __init__(
        self,
        encoder: Encoder,
        *,
        length: int,
        horizon: int,
        uncertain: Uncertain,
        normalize: str = "mean",
        known: int = 0,
        patch: int = 1,
        pooling: str = "last",
        skip: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(horizon, uncertain, normalize)
        self.encoder, self.patch = encoder, patch
        self.pooling = POOLINGS[pooling](encoder.size, bidirectional=encoder.bidirectional)
        self.dropout = Dropout(dropout)
        self.output = NumberOutput(encoder.size, horizon * uncertain.size)
        self.skip = WindowSum(length, horizon) if skip else None
        self.ahead = KnownAhead(known, encoder.size, uncertain.size) if known else None

    def outputs(self, z: Tensor, window: Window) -> Tensor:
        known = window.known[:, : z.shape[1]]
        x = self.window(side_by_side(z, window.observed, window.extra, known))
        encoded = self.encoder(*patches(x, window.lengths, self.patch))
        c = self.dropout(self.pooling(encoded.outputs, encoded.lengths))
        o = self.output(c).reshape(z.shape[0], self.horizon, self.uncertain.size)
        if self.ahead is not None:
            o = o + self.ahead(future_of(window, self.horizon), c)
        if self.skip is None:
            return o
        straight = self.skip(x[..., 0], window.lengths)
        return torch.cat([o[..., :1] + straight[..., None], o[..., 1:]], -1)


class KnownAhead(nn.Module):
    """U relu(Q k_h + R c): what is known of each step ahead, in the light of the past."""

    def __init__(self, known: int, size: int, outputs: int) -> None:
        super().__init__()
        self.Q = nn.Linear(known, size)
        self.R = nn.Linear(size, size, bias=False)
        self.U = nn.Linear(size, outputs)
        for linear in (self.Q, self.R, self.U):
            init.linear_(linear)

    def forward(self, known: Tensor, c: Tensor) -> Tensor:
        """(B, H, K), (B, D) -> (B, H, P)"""
        return self.U(torch.relu(self.Q(known) + self.R(c)[:, None]))

    def describe(self) -> str:
        return f"{self.Q.in_features} numbers that are known ahead"


def future_of(window: Window, horizon: int) -> Tensor:
    """(B, H, K) what is known of the steps ahead"""
    steps = window.lengths.cpu()[:, None] + torch.arange(horizon)  # (B, H)
    index = steps.to(window.known.device)[..., None].expand(-1, -1, window.known.shape[2])
    return window.known.gather(1, index)


class RecursiveForecaster(Forecaster):
    """A network that reads forwards gives the next value at every step:

    h_t = network([z_t; observed_t; known_{t+1}]),    o_{t+1} = V h_t

    In training it reads the true values (teacher forcing), afterwards its own: the best single
    value, or `paths` samples of every value, each continued by itself.
    """

    def __init__(
        self,
        encoder: Encoder,
        *,
        horizon: int,
        uncertain: Uncertain,
        normalize: str = "mean",
        dropout: float = 0.0,
    ) -> None:
        super().__init__(horizon, uncertain, normalize)
        self.encoder = encoder
        self.dropout = Dropout(dropout)
        self.output = NumberOutput(encoder.size, uncertain.size)

    def loss(self, window: Window, future: Tensor, seen: Tensor) -> Tensor:
        """The loss at every step but the first, those of the past included."""
        center, scale = window_scale(window, self.normalize)
        y = torch.cat([window.y, torch.zeros_like(future)], 1)
        observed = torch.cat([window.observed, torch.zeros_like(seen)], 1)
        steps = window.lengths.cpu()[:, None] + torch.arange(self.horizon)
        steps = steps.to(y.device)
        y = y.scatter(1, steps, future)  # (B, L + H): the past, then right after it the future
        observed = observed.scatter(1, steps, seen)
        z = torch.where(observed, (y - center) / scale, 0.0)
        h = self.read(z[:, :-1], observed[:, :-1], window.known[:, 1:], window)
        ends = window.lengths.cpu() + self.horizon - 1
        real = keep_mask(ends, z.shape[1] - 1, device=z.device)
        return self.mean_loss(self.output(self.dropout(h)), z[:, 1:], observed[:, 1:] & real)

    def forecast_and_loss(
        self, window: Window, future: Tensor, seen: Tensor
    ) -> tuple[Forecasts, Tensor]:
        return self(window), self.loss(window, future, seen)

    def read(self, z: Tensor, observed: Tensor, known: Tensor, window: Window) -> Tensor:
        x = side_by_side(z, observed, known)
        lengths = window.lengths.cpu() + self.horizon - 1
        return self.encoder(x, lengths).outputs

    def outputs(self, z: Tensor, window: Window) -> Tensor:
        """Every step from the best single values before it."""
        outputs, _ = self.unroll(z, window, lambda o, h: self.uncertain.center(o))
        return outputs

    def sample(self, window: Window, paths: int, seed: int = 0) -> Tensor:
        """(B, paths, H) values of the series, each path sampled step by step. All windows share
        their random numbers, so that none depends on what else is in the batch."""
        B, H = len(window.y), self.horizon
        u = uniform(paths, H, seed).expand(B, -1, -1, -1)
        u = u.flatten(0, 1).to(window.y.device)  # (B · paths, H, 2)
        rows = torch.arange(B).repeat_interleave(paths)
        many = Window(*(each[rows.to(each.device)] for each in window))
        center, scale = window_scale(many, self.normalize)
        z = torch.where(many.observed, (many.y - center) / scale, 0.0)
        _, values = self.unroll(z, many, lambda o, h: self.uncertain.sample(o, u[:, h]))
        return (center + scale * values).view(-1, paths, H)

    def unroll(
        self, z: Tensor, window: Window, choose: Callable[[Tensor, int], Tensor]
    ) -> tuple[Tensor, Tensor]:
        """(B, H, P) outputs and the values (B, H) that were chosen of them, each read next."""
        steps = z.shape[1]
        x = [z[..., None], window.observed[..., None].to(z.dtype), window.known[:, 1 : steps + 1]]
        encoded = self.encoder(self.window(torch.cat(x, -1)), window.lengths)
        state = encoded.state
        lengths = window.lengths.to(z.device)
        o = self.output(self.dropout(at_last(encoded.outputs, lengths))).float()  # (B, P)
        future = future_of(window, self.horizon)
        outputs, values = [o], [choose(o, 0)]
        ones = torch.ones_like(z[:, :1])
        for h in range(1, self.horizon):
            step = torch.cat([values[-1][:, None].to(z.dtype), ones, future[:, h]], -1)
            encoded = self.encoder(step[:, None], state=state)
            state = encoded.state
            o = self.output(self.dropout(encoded.outputs[:, 0])).float()
            outputs.append(o)
            values.append(choose(o, h))
        return torch.stack(outputs, 1), torch.stack(values, 1)
