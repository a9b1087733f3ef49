"""Forecasters: padding, teacher forcing = own values, scales, samples, a linear map."""

import math

import numpy as np
import pytest
import torch

from unspool.nn.distributions import UNCERTAIN, Gaussian, Point, Quantiles
from unspool.nn.encoder import Encoder
from unspool.nn.inputs import VectorInput
from unspool.nn.models.forecaster import (
    FAR,
    DirectForecaster,
    LinearForecaster,
    RecursiveForecaster,
    Window,
    align_end,
    future_of,
    patches,
    window_scale,
    window_weights,
)
from unspool.nn.recurrent import Recurrent

H, K = 5, 2


def windows(lengths, *, steps=None, extra=0, seed=0, gaps=False):
    rng = torch.Generator().manual_seed(seed)
    L, B = steps or max(lengths), len(lengths)
    real = torch.arange(L) < torch.tensor(lengths)[:, None]
    observed = real & (torch.rand(B, L, generator=rng) < (0.7 if gaps else 2.0))
    observed[:, 0] = True
    y = torch.randn(B, L, generator=rng) * 3 + 10
    known = torch.randn(B, L + H, K, generator=rng)
    return Window(
        torch.where(observed, y, 0.0),
        observed,
        torch.randn(B, L, extra, generator=rng),
        known,
        torch.tensor(lengths),
    )


def widened(window, more):
    """The same windows with steps of rubbish after them."""
    pad = torch.nn.functional.pad
    known = torch.full((len(window.y), window.known.shape[1] + more, K), 9.0)
    known[:, : window.known.shape[1]] = window.known
    return Window(
        pad(window.y, (0, more)),
        pad(window.observed, (0, more)),
        pad(window.extra, (0, 0, 0, more), value=7.0),
        known,
        window.lengths,
    )


def direct(output="gaussian", extra=1, patch=1):
    torch.manual_seed(0)
    encoder = Encoder(VectorInput(patch * (2 + extra + K), 6), Recurrent("gru", 6, 7))
    model = DirectForecaster(
        encoder, length=12, horizon=H, uncertain=UNCERTAIN[output](), known=K, patch=patch
    )
    if model.skip is not None:
        torch.nn.init.normal_(model.skip.linear.weight, std=0.1)
    return model.eval()


def recursive(output="gaussian"):
    torch.manual_seed(0)
    encoder = Encoder(VectorInput(2 + K, 6), Recurrent("lstm", 6, 7))
    return RecursiveForecaster(encoder, horizon=H, uncertain=UNCERTAIN[output]()).eval()


@pytest.mark.parametrize("how", ["mean", "last", "none"])
def test_scales_by_hand(how) -> None:
    window = windows([9, 4, 12], gaps=True)
    center, scale = window_scale(window, how)
    for b in range(3):
        seen = window.y[b][window.observed[b]].double().numpy()
        middle = {"mean": seen.mean(), "last": seen[-1], "none": 0.0}[how]
        spread = 1.0 if how == "none" else np.sqrt(np.mean((seen - middle) ** 2))
        assert center[b].item() == pytest.approx(middle, rel=1e-5)
        assert scale[b].item() == pytest.approx(spread or abs(middle), rel=1e-4)


def test_a_past_that_never_moves_has_the_scale_of_its_value() -> None:
    y = torch.tensor([[4.0, 4.0], [0.0, 0.0]])
    ones = torch.ones(2, 2, dtype=torch.bool)
    window = Window(y, ones, torch.zeros(2, 2, 0), torch.zeros(2, 4, 0), torch.tensor([2, 2]))
    assert window_scale(window, "mean")[1].flatten().tolist() == [4, 1]


def test_align_end() -> None:
    x = torch.tensor([[1.0, 2, 3, 4], [5, 6, 9, 9]])
    found = align_end(x, torch.tensor([4, 2]))
    assert found.tolist() == [[1, 2, 3, 4], [0, 0, 5, 6]]


def test_patches_end_with_the_last_step() -> None:
    x = torch.arange(1.0, 11).view(2, 5, 1)
    found, lengths = patches(x, torch.tensor([5, 2]), 2)
    assert found.tolist() == [[[0, 1], [2, 3], [4, 5]], [[6, 7], [0, 0], [0, 0]]]
    assert lengths.tolist() == [3, 1]


def patched(**options):
    return direct(patch=5, **options)


@pytest.mark.parametrize("make", [direct, patched, recursive])
def test_padding_and_batches_change_nothing(make) -> None:
    model = make()
    extra = 0 if make is recursive else 1
    window = windows([12, 5, 9], extra=extra, gaps=True)
    whole = model(window)
    for b in range(3):
        n = int(window.lengths[b])
        alone = Window(*(each[b : b + 1] for each in window[:3]), window.known[b : b + 1], None)
        alone = Window(
            alone.y[:, :n],
            alone.observed[:, :n],
            alone.extra[:, :n],
            alone.known[:, : n + H],
            window.lengths[b : b + 1],
        )
        if make is not recursive:  # the skip reads windows of one length
            more = 12 - n
            alone = widened(alone, more)
        found = model(alone)
        assert torch.allclose(found.outputs, whole.outputs[b : b + 1], atol=1e-5)
    if make is recursive:
        found = model(widened(window, 4))
        assert torch.allclose(found.outputs, whole.outputs, atol=1e-5)


@pytest.mark.parametrize("make", [direct, recursive])
def test_level_and_scale_of_a_series_carry_over(make) -> None:
    model = make()
    window = windows([12, 7], extra=1 if make is direct else 0)
    shifted = window._replace(y=torch.where(window.observed, window.y * 50 + 1000, 0.0))
    one, other = model(window), model(shifted)
    values = [own.center + own.scale * model.uncertain.center(own.outputs) for own in (one, other)]
    assert torch.allclose(values[0] * 50 + 1000, values[1], rtol=1e-4)


def test_teacher_forcing_of_own_values_is_the_unrolled_forecast() -> None:
    """Given what it would have said as the truth, training sees the same outputs."""
    model = recursive("point")
    window = windows([12, 6])
    forecast = model(window)
    future = forecast.center + forecast.scale * forecast.outputs[..., 0]
    seen = torch.zeros(2, H, dtype=torch.bool)
    for h in range(H):
        seen[:, h] = True
    past = window._replace(observed=window.observed)
    loss = model.loss(past, future, seen)
    own = model.loss(past, future, torch.zeros_like(seen))
    # All errors of the future are zero, so the mean over more steps is smaller by their number.
    steps = int((window.lengths - 1).sum())
    assert loss.item() * (steps + 2 * H) == pytest.approx(own.item() * steps, rel=1e-3)


def test_what_is_known_ahead_is_used_and_nothing_else_is() -> None:
    for model, extra in ((direct(), 1), (recursive(), 0)):
        window = windows([12, 6], extra=extra)
        known = window.known.clone()
        known[0, 12 + H - 1] += 1  # the last step ahead of the first window
        known[1, 6 + H :] += 1  # beyond all steps of the second
        found, before = model(window._replace(known=known)).outputs, model(window).outputs
        assert torch.allclose(found[0, : H - 1], before[0, : H - 1])
        assert not torch.allclose(found[0, -1], before[0, -1])
        assert torch.allclose(found[1], before[1])


def test_future_of() -> None:
    window = windows([3, 2], steps=4)
    found = future_of(window, H)
    assert torch.equal(found[0], window.known[0, 3 : 3 + H])
    assert torch.equal(found[1], window.known[1, 2 : 2 + H])


def test_unseen_steps_have_no_part_in_the_loss() -> None:
    for model, extra in ((direct(), 1), (recursive(), 0)):
        window = windows([12, 6], extra=extra)
        future, seen = torch.randn(2, H), torch.rand(2, H) < 0.5
        seen[0, 0] = True
        rubbish = torch.where(seen, future, math.nan)
        assert torch.allclose(
            model.loss(window, future, seen), model.loss(window, rubbish, seen), atol=1e-6
        )


def test_a_flat_past_does_not_rule_the_loss() -> None:
    """Its future lies at thousands of its scales."""
    for model, extra in ((direct("point"), 1), (recursive("point"), 0), (direct("student"), 1)):
        window = windows([12, 6], extra=extra)
        future, seen = torch.full((2, H), 11.0), torch.ones(2, H, dtype=torch.bool)
        flat = window.y.clone()
        flat[1, :6] = 10 + 1e-4 * torch.randn(6, generator=torch.Generator().manual_seed(1))
        loss = model.loss(window._replace(y=flat), future, seen)
        assert loss < 2 * FAR**2
        weights = window_weights(torch.tensor([[1.0, -2 * FAR], [FAR, 0.0]]), "mean")
        assert weights.tolist() == [[0.25], [1.0]]
        assert window_weights(torch.full((1, 2), 1e6), "none").item() == 1


def test_every_parameter_learns() -> None:
    for model, extra in ((direct(), 1), (recursive("student"), 0), (direct("quantiles"), 1)):
        model.train()
        model.loss(
            windows([12, 6], extra=extra), torch.randn(2, H), torch.ones(2, H) > 0
        ).backward()
        for name, parameter in model.named_parameters():
            assert parameter.grad is not None, name
            assert parameter.grad.abs().sum() > 0, name


def test_samples_have_the_mean_of_the_first_step() -> None:
    model = recursive()
    window = windows([12])
    paths = model.sample(window, 4000)
    assert paths.shape == (1, 4000, H)
    forecast = model(window)
    mean, std = model.uncertain.split(forecast.outputs[:, 0])
    expected = (forecast.center + forecast.scale * mean[:, None]).item()
    error = (forecast.scale * std[:, None]).item() / math.sqrt(4000)
    assert paths[0, :, 0].mean().item() == pytest.approx(expected, abs=4 * error)


def test_samples_do_not_depend_on_the_batch() -> None:
    model, window = recursive("student"), windows([12, 5])
    both = model.sample(window, 50)
    for b in range(2):
        alone = Window(*(each[b : b + 1] for each in window))
        assert torch.allclose(model.sample(alone, 50), both[b : b + 1], atol=1e-4)


def test_a_linear_map_is_its_matrix() -> None:
    model = LinearForecaster(6, H, Point(), "last")
    torch.nn.init.normal_(model.sum.linear.weight)
    window = windows([6, 4])
    found = model(window)
    for b, n in enumerate((6, 4)):
        past = window.y[b, :n]
        z = (past - found.center[b]) / found.scale[b]
        assert torch.allclose(
            found.outputs[b, :, 0], model.sum.linear.weight[:, 6 - n :] @ z, atol=1e-5
        )


def test_a_linear_map_adds_what_is_known_of_each_step() -> None:
    model = LinearForecaster(6, H, Point(), "none", known=2)
    torch.nn.init.normal_(model.ahead.weight)
    window = windows([6, 4])
    window = window._replace(known=torch.randn(2, 6 + H, 2))
    found = model(window).outputs[..., 0]
    for b, n in enumerate((6, 4)):
        ahead = window.known[b, n : n + H]
        expected = torch.stack([model.ahead.weight[h] @ ahead[h] for h in range(H)])
        assert torch.allclose(found[b], expected, atol=1e-5)


def test_outputs_fit_what_they_stand_for() -> None:
    assert direct("quantiles")(windows([12], extra=1)).outputs.shape == (1, H, Quantiles().size)
    assert recursive()(windows([12])).outputs.shape == (1, H, Gaussian().size)
