"""A vector for each frame: as the image layer makes it of each alone; padding; augmentation."""

from __future__ import annotations

import math

import torch

from unspool.nn.frames import CHUNK_PIXELS, ClipAugment, FrameInput
from unspool.nn.images import Augmentation, ConvolutionalInput, Patches
from unspool.nn.inputs import VectorInput

B, T, H, W, C, E = 3, 4, 8, 10, 3, 6


def layer(*, patches: bool = False, augment: ClipAugment | None = None) -> FrameInput:
    torch.manual_seed(1)
    cut = Patches(H, C, 2, 5) if patches else None
    image = VectorInput(2 * 5 * C, E) if patches else ConvolutionalInput(H, W, C, E, halvings=1)
    grid = (4, 2) if patches else (4, 5)
    return FrameInput(
        image, grid, E, width=W, height=H, colours=C, patches=cut, augment=augment
    ).eval()


def clips(seed: int = 1) -> torch.Tensor:
    return torch.randn(B, T, W * H * C, generator=torch.Generator().manual_seed(seed))


def spatial(v: torch.Tensor, kappa: torch.Tensor) -> torch.Tensor:
    """The reference, element by element: (20, K) on a grid of 4 x 5 -> (1, 3 K)"""
    largest, rows, columns = [], [], []
    for k in range(v.shape[1]):
        weights = [math.exp(float(kappa[k] * own)) for own in v[:, k]]
        places = [(-1 + 2 * i / 3, -1 + 2 * j / 4) for i in range(4) for j in range(5)]
        largest.append(float(v[:, k].max()))
        rows.append(sum(w * y for w, (y, _) in zip(weights, places)) / sum(weights))
        columns.append(sum(w * x for w, (_, x) in zip(weights, places)) / sum(weights))
    return torch.tensor([largest + rows + columns])


def test_what_is_seen_is_the_same_wherever_it_is() -> None:
    """Of a frame that is shifted by a step of the grid, away from its edges, only the positions
    change, by that step."""
    torch.manual_seed(3)
    image = ConvolutionalInput(32, 32, 1, E, halvings=1)
    own = FrameInput(image, (16, 16), 3 * E, width=32, height=32, colours=1).eval()
    with torch.no_grad():
        own.linear.weight.copy_(torch.eye(3 * E))
        own.linear.bias.zero_()
        own.kappa.fill_(1e4)  # all weight on the largest
    frame = torch.zeros(32, 32)  # (W, H)
    frame[14:17, 13:17] = torch.randn(3, 4)
    both = torch.stack([frame, frame.roll((2, 4), (0, 1))])  # to the right, and down
    with torch.no_grad():
        one, other = own(both.reshape(1, 2, -1))[0].unflatten(1, (3, E)).unbind()
    seen = one[0] > own_blank(own)  # elements whose largest value is where something is
    assert seen.any()
    torch.testing.assert_close(one[0], other[0])
    moved = (other - one)[1:, seen]
    torch.testing.assert_close(moved[0], torch.full_like(moved[0], 2 * 2 / 15))
    torch.testing.assert_close(moved[1], torch.full_like(moved[1], 1 * 2 / 15))


def own_blank(own: FrameInput) -> torch.Tensor:
    """The largest values of an empty frame."""
    return own(torch.zeros(1, 1, 32 * 32))[0, 0, :E]


def test_each_frame_by_itself() -> None:
    """The reference: the image layer on one frame (H, W, C) after the other."""
    x, lengths = clips(), torch.tensor([4, 1, 3])
    for patches in (False, True):
        own = layer(patches=patches)
        with torch.enable_grad():
            found = own(x, lengths)
        for b in range(B):
            for t in range(T):
                frame = x[b, t].reshape(W, H, C).permute(2, 1, 0)[None]  # (1, C, H, W)
                cut = Patches(H, C, 2, 5) if patches else Patches(H, C, H, 1)
                v = torch.relu(own.image(cut.sequences(frame)))
                seen = v.flatten(1) if patches else spatial(v[0].detach(), own.kappa.detach())
                wanted = own.linear(seen)[0] if t < lengths[b] else torch.zeros(E)
                torch.testing.assert_close(found[b, t], wanted, rtol=1e-4, atol=1e-5)
        with torch.no_grad():
            torch.testing.assert_close(own(x, lengths), found.detach())


def test_long_clips_are_read_in_parts() -> None:
    own = layer(patches=True)
    x = torch.randn(1, 2 * CHUNK_PIXELS // (W * H * C) + 1, W * H * C)
    with torch.no_grad():
        found = own(x)
        torch.testing.assert_close(found[:, -3:], own(x[:, -3:]), rtol=1e-4, atol=1e-5)


def test_all_frames_of_a_clip_are_changed_alike() -> None:
    augment = ClipAugment(Patches(H, C, H, 1), Augmentation(flip=0.5, crop=0.2, jitter=0.3))
    still = clips()[:, :1].expand(B, T, -1)
    torch.manual_seed(2)
    found = augment.train()(still)
    assert torch.equal(found, found[:, :1].expand_as(found))
    assert not torch.equal(found[0], still[0])
    mirrored = ClipAugment(Patches(H, C, H, 1), Augmentation(flip=1.0)).train()(clips())
    frames = clips().reshape(B, T, W, H, C)
    assert torch.equal(mirrored.reshape(B, T, W, H, C), frames.flip(2))
    assert torch.equal(augment.eval()(still), still)
