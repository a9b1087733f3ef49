"""A vector for each frame: as the image layer makes it of each alone; padding; augmentation."""

from __future__ import annotations

import torch

from unspool.nn.frames import AT_ONCE, ClipAugment, FrameInput
from unspool.nn.images import Augmentation, ConvolutionalInput, Patches
from unspool.nn.inputs import VectorInput

B, T, H, W, C, E = 3, 4, 8, 10, 3, 6


def layer(*, patches: bool = False, augment: ClipAugment | None = None) -> FrameInput:
    torch.manual_seed(1)
    cut = Patches(H, C, 2, 5) if patches else None
    image = VectorInput(2 * 5 * C, E) if patches else ConvolutionalInput(H, W, C, E, halvings=1)
    grid = 8 if patches else 20
    return FrameInput(
        image, grid, E, width=W, height=H, colours=C, patches=cut, augment=augment
    ).eval()


def clips(seed: int = 1) -> torch.Tensor:
    return torch.randn(B, T, W * H * C, generator=torch.Generator().manual_seed(seed))


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
                wanted = own.linear(v.flatten(1))[0] if t < lengths[b] else torch.zeros(E)
                torch.testing.assert_close(found[b, t], wanted, rtol=1e-4, atol=1e-5)
        with torch.no_grad():
            torch.testing.assert_close(own(x, lengths), found.detach())


def test_long_clips_are_read_in_parts() -> None:
    own = layer(patches=True)
    x = torch.randn(1, 2 * AT_ONCE // (W * H * C) + 1, W * H * C)
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
