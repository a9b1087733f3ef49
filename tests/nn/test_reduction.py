"""Fewer steps: against the formula, torch's own layers, one by one and in chunks."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from unspool.nn.inputs import Masks, SpecAugment, warped
from unspool.nn.reduction import Reduction, StackedFrames, StridedConvolutions, prime_factors

LENGTHS = torch.tensor([13, 1, 12, 7, 4])


def values() -> Tensor:
    return torch.randn(5, 13, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def reductions(factor: int) -> list[Reduction]:
    torch.manual_seed(0)
    return [StackedFrames(factor), StridedConvolutions(3, 6, factor).double()]


@pytest.mark.parametrize("factor", [1, 2, 3, 4, 6, 12])
def test_alone_in_a_batch_and_padded(factor: int) -> None:
    """Whatever stands in the padding, in values and in gradients."""
    for reduction in reductions(factor):
        x = values().requires_grad_()
        noise = torch.where(torch.arange(13)[None, :, None] < LENGTHS[:, None, None], x, 1e9)
        together, steps = reduction(noise, LENGTHS)
        assert steps.tolist() == [-(-n // factor) for n in LENGTHS.tolist()]
        for row, (n, made) in enumerate(zip(LENGTHS.tolist(), steps.tolist())):
            alone, (own,) = reduction(x[row : row + 1, :n], LENGTHS[row : row + 1])
            size = reduction.size if isinstance(reduction, StridedConvolutions) else 3 * factor
            assert alone.shape == (1, own, size) == (1, made, size)
            assert torch.allclose(together[row, :made], alone[0], atol=1e-12)
            assert not together[row, made:].any()
            grads = [
                torch.autograd.grad(found.square().sum(), x, retain_graph=True)[0][row, :n]
                for found in (together[row], alone)
            ]
            assert torch.allclose(*grads, atol=1e-12)


@pytest.mark.parametrize("factor", [2, 3, 4, 6])
def test_convolutions_as_torch_has_them(factor: int) -> None:
    """With zeros on both sides, 2 s - 1 wide, a stride of s."""
    reduction = StridedConvolutions(3, 6, factor).double()
    x = values()[:1]
    wanted = x.transpose(1, 2)
    for layer in reduction.layers:
        assert isinstance(layer, nn.Conv1d)
        s = layer.stride[0]
        wanted = torch.conv1d(wanted, layer.weight, layer.bias, stride=s, padding=s - 1).relu()
    found, _ = reduction(x, torch.tensor([13]))
    assert torch.allclose(found, wanted.transpose(1, 2), atol=1e-12)


def test_one_layer_by_hand() -> None:
    reduction = StridedConvolutions(3, 6, 3).double()
    (layer,) = reduction.layers
    x, W, b = values()[0].numpy(), layer.weight.detach().numpy(), layer.bias.detach().numpy()
    found, _ = reduction(values()[:1], torch.tensor([13]))
    for j in range(5):
        total = b.copy()
        for k in range(-2, 3):
            if 0 <= 3 * j + k < 13:
                total += W[:, :, k + 2] @ x[3 * j + k]
        assert np.allclose(found[0, j].detach().numpy(), np.maximum(total, 0))


@pytest.mark.parametrize("factor", [1, 2, 3, 4, 6])
def test_chunks_are_the_whole(factor: int) -> None:
    for reduction in reductions(factor):
        whole, _ = reduction(values()[:1], torch.tensor([13]))
        for size in (1, 2, 5):
            carried, found = None, []
            for chunk in values()[:1].split(size * factor, 1):
                new, carried = reduction.extend(carried, chunk, torch.tensor([chunk.shape[1]]))
                found.append(new)
            assert torch.allclose(torch.cat(found, 1), whole, atol=1e-12)


def test_gradients_by_differences() -> None:
    reduction = StridedConvolutions(2, 3, 4).double()
    x = torch.randn(2, 7, 2, dtype=torch.float64, requires_grad=True)
    lengths = torch.tensor([7, 5])
    own = [*reduction.parameters()]
    for layer in reduction.layers:
        nn.init.normal_(layer.bias)  # no unit at the corner of its relu
    assert torch.autograd.gradcheck(lambda x, *_: reduction(x, lengths).x, (x, *own))


def test_parts_are_hidden_before_the_convolutions() -> None:
    reduction = StridedConvolutions(3, 6, 2, augment=SpecAugment(3, Masks(times=1, time=1.0)))
    x = torch.ones(1, 40, 3)
    torch.manual_seed(1)
    hidden = reduction(x, torch.tensor([40])).x
    reduction.eval()
    assert not torch.equal(hidden, reduction(x, torch.tensor([40])).x)


def test_prime_factors() -> None:
    assert [prime_factors(n) for n in (1, 2, 9, 12, 35)] == [[], [2], [3, 3], [2, 2, 3], [5, 7]]


def test_bands_are_moved_along_their_axis() -> None:
    """Against numpy's interpolation; frames that are read as one are moved alike."""
    x = torch.randn(3, 4, 2 * 7)
    factors = torch.tensor([0.8, 1.0, 1.3])
    found = warped(x, 7, factors)
    for b, factor in enumerate(factors.tolist()):
        for t in range(4):
            for half in (slice(0, 7), slice(7, 14)):
                expected = np.interp(np.arange(7) * factor, np.arange(7), x[b, t, half].numpy())
                assert found[b, t, half].numpy() == pytest.approx(expected, abs=1e-5)
    assert torch.equal(warped(x[..., :1], 1, factors), x[..., :1])
    augment = SpecAugment(7, Masks(warp=0.2)).eval()
    assert augment(x) is x
    assert not torch.equal(augment.train()(x), x)
