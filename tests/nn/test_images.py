"""Images as patches, what is done to them in training, and the convolutional input layer."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from unspool.nn.images import (
    Augmentation,
    ConvolutionalInput,
    ImageAugment,
    Patches,
    augmented,
)

B, C, H, W = 3, 3, 8, 12


def images(seed: int = 1) -> torch.Tensor:
    return torch.randn(B, C, H, W, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(("high", "wide"), [(2, 3), (4, 4), (1, W), (H, 1), (H, W), (1, 1)])
def test_patches_as_unfold_cuts_them(high: int, wide: int) -> None:
    x = images()
    patches = Patches(H, C, high, wide)
    found = patches.sequences(x)
    wanted = F.unfold(x, (high, wide), stride=(high, wide)).transpose(1, 2)  # (B, T, C·ph·pw)
    wanted = wanted.unflatten(2, (C, high * wide)).transpose(2, 3).flatten(2)
    assert torch.equal(found, wanted)
    assert torch.equal(patches.images(found), x)


def test_the_projection_of_patches_is_a_convolution() -> None:
    """A linear layer of patches is a convolution of that stride."""
    x = images()
    weight, bias = torch.randn(5, C, 4, 4), torch.randn(5)
    wanted = F.conv2d(x, weight, bias, stride=4).flatten(2).transpose(1, 2)
    flat = weight.permute(0, 2, 3, 1).flatten(1)  # ph, pw, C
    found = F.linear(Patches(H, C, 4, 4).sequences(x), flat, bias)
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


def whole() -> torch.Tensor:
    return torch.full((B,), W)


def test_every_image_is_mirrored() -> None:
    x = images()
    assert torch.equal(augmented(x, whole(), Augmentation(flip=1.0)), x.flip(3))
    assert torch.equal(augmented(x, whole(), Augmentation()), x)


def test_some_images_are_mirrored() -> None:
    torch.manual_seed(3)
    x = torch.randn(200, 1, 2, 4)
    found = augmented(x, torch.full((200,), 4), Augmentation(flip=0.3))
    same = (found == x).flatten(1).all(1)
    assert torch.equal(found[~same], x[~same].flip(3))
    assert 35 < int((~same).sum()) < 90


def test_a_crop_shifts_and_fills_with_the_mean() -> None:
    torch.manual_seed(0)
    x = images() + 100
    for seed in range(10):
        torch.manual_seed(seed)
        found = augmented(x, whole(), Augmentation(crop=0.25))
        for one, other in zip(found, x):
            shifts = [
                (dy, dx)
                for dy in range(-2, 3)
                for dx in range(-3, 4)
                if torch.equal(shifted(other, dy, dx), one)
            ]
            assert len(shifts) == 1


def shifted(x: torch.Tensor, dy: int, dx: int) -> torch.Tensor:
    """The reference: pad, then cut."""
    padded = F.pad(x, (W, W, H, H))
    return padded[:, H - dy : 2 * H - dy, W - dx : 2 * W - dx]


def test_jitter_is_affine_in_each_image() -> None:
    torch.manual_seed(5)
    x = images()[:, :1]
    found = augmented(x, whole(), Augmentation(jitter=0.5))
    for one, other in zip(found.flatten(1), x.flatten(1)):
        k = (one[1] - one[0]) / (other[1] - other[0])
        assert 0.5 <= k <= 1.5
        torch.testing.assert_close(one, k * other + (one[0] - k * other[0]), rtol=1e-3, atol=1e-4)


def test_jitter_keeps_what_is_grey_grey() -> None:
    x = images()[:, :1].expand(B, C, H, W)
    found = augmented(x, whole(), Augmentation(jitter=0.5))
    torch.testing.assert_close(found[:, 0], found[:, 2])


def test_padding_is_neither_mirrored_in_nor_coloured() -> None:
    widths = torch.tensor([W, 5, 1])
    x = images().masked_fill(torch.arange(W) >= widths[:, None, None, None], 0)
    found = augmented(x, widths, Augmentation(flip=1.0, jitter=0.3))
    assert not found[1, ..., 5:].any()
    assert not found[2, ..., 1:].any()
    mirrored = augmented(x, widths, Augmentation(flip=1.0))
    assert torch.equal(mirrored[1, ..., :5], x[1, ..., :5].flip(2))


def test_augmentation_is_for_training_alone_and_follows_the_seed() -> None:
    layer = ImageAugment(Patches(H, C, 2, 2), Augmentation(0.5, 0.2, 0.3))
    x = Patches(H, C, 2, 2).sequences(images())
    torch.manual_seed(1)
    first = layer(x)
    torch.manual_seed(1)
    assert torch.equal(layer(x), first)
    torch.manual_seed(2)
    assert not torch.equal(layer(x), first)
    layer.eval()
    assert layer(x) is x


@pytest.mark.parametrize("halvings", [1, 2, 3])
def test_a_column_does_not_depend_on_padding(halvings: int) -> None:
    torch.manual_seed(1)
    layer = ConvolutionalInput(H, 0, C, 8, halvings=halvings, by_columns=True).eval()
    widths = torch.tensor([12, 7, 1])
    columns = Patches(H, C, H, 1).sequences(images())
    columns[1, 7:], columns[2, 1:] = 99.0, float("inf")  # whatever stands there
    together = layer(columns, widths)
    steps = layer.steps(widths)
    assert together.shape[1] == int(steps[0]) == -(-12 // layer.stride)
    for i, width in enumerate(widths.tolist()):
        alone = layer(columns[i : i + 1, :width], torch.tensor([width]))
        assert alone.shape[1] == int(steps[i])
        torch.testing.assert_close(
            together[i : i + 1, : int(steps[i])], alone, rtol=1e-5, atol=1e-5
        )


def test_a_grid_row_by_row() -> None:
    torch.manual_seed(1)
    layer = ConvolutionalInput(H, W, C, 8, halvings=1).eval()
    columns = Patches(H, C, H, 1).sequences(images())
    found = layer(columns)
    assert found.shape == (B, 4 * 6, 8)
    assert layer.steps(torch.tensor([W, W, W])) is None
    changed = columns.clone()
    changed[:, 0, 0] += 1  # the upper left pixel reaches places near it alone
    far = (layer(changed) != found).any(2).any(0).unflatten(0, (4, 6))
    assert far[0, 0]
    assert not far[:, 5].any()
    torch.testing.assert_close(layer(columns[1:2]), found[1:2], rtol=1e-5, atol=1e-5)


def test_gradients_of_both_layers() -> None:
    torch.manual_seed(1)
    x = torch.randn(2, 6, 4, dtype=torch.double, requires_grad=True)
    for by_columns in (False, True):
        layer = ConvolutionalInput(4, 6, 1, 4, halvings=1, by_columns=by_columns).double()
        widths = torch.tensor([6, 3]) if by_columns else None
        assert torch.autograd.gradcheck(lambda v, own=layer, n=widths: own(v, n), (x,))
        layer(x, widths).sum().backward()
