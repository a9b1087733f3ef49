"""Images as sequences of patches: what changes them in training, and a convolutional input layer.

In: x (B, T, ph·pw·C), patches of ph x pw pixels row by row (rows of an image are patches of 1 x W,
columns those of H x 1), with lengths (B,) where widths differ. Out: the same, or the vectors of a
convolutional network at each place of its grid.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor, nn

from unspool.nn import init
from unspool.nn.dropout import Dropout
from unspool.nn.inputs import Augment, InputLayer
from unspool.nn.masks import keep_mask


class Patches(NamedTuple):
    """Patch grid of an image with a height and C colours."""

    image_height: int
    colours: int
    height: int
    width: int

    def images(self, x: Tensor) -> Tensor:
        """(B, T, ph·pw·C) -> (B, C, H, W)"""
        rows = self.image_height // self.height
        x = x.reshape(x.shape[0], rows, -1, self.height, self.width, self.colours)
        return x.permute(0, 5, 1, 3, 2, 4).flatten(4).flatten(2, 3)

    def sequences(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, T, ph·pw·C)"""
        x = images.unflatten(3, (-1, self.width)).unflatten(2, (-1, self.height))
        return x.permute(0, 2, 4, 3, 5, 1).flatten(3).flatten(1, 2)


class Augmentation(NamedTuple):
    """Augmentation of training images.

    flip     share of them that are mirrored left to right
    crop     by which share of its sides an image is shifted at most; what is then missing is 0
    jitter   x -> k (m x + (1 - m) grey) + b, with b up to so many standard deviations, and k and m,
             contrast and saturation, up to so much from 1
    """

    flip: float = 0.0
    crop: float = 0.0
    jitter: float = 0.0


class ImageAugment(Augment):
    """Mirrors, shifts and recolours images in training, each by itself.

    together   patches that stand one after the other in a step
    """

    def __init__(self, patches: Patches, options: Augmentation, *, together: int = 1) -> None:
        super().__init__()
        self.patches, self.options, self.together = patches, options, together

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        if not self.training:
            return x
        images = self.patches.images(x.unflatten(2, (self.together, -1)).flatten(1, 2))
        widths = torch.full((len(x),), images.shape[3])
        if lengths is not None:
            widths = self.together * lengths
        changed = augmented(images, widths.to(x.device), self.options)
        return self.patches.sequences(changed).reshape(x.shape)

    def extra_repr(self) -> str:
        return ", ".join(f"{name} {value:g}" for name, value in self.options._asdict().items())


def augmented(x: Tensor, widths: Tensor, options: Augmentation, *, frames: int = 1) -> Tensor:
    """(B, C, H, W), of which the first `widths` (B,) columns are real -> the same; `frames` that
    follow each other are changed alike"""
    B, C, H, W = x.shape
    device, clips = x.device, B // frames
    flip = torch.rand(clips, 1, device=device)
    shift = 2 * torch.rand(2, clips, 1, device=device) - 1
    colour = 2 * torch.rand(3, clips, 1, 1, 1, device=device) - 1
    if frames > 1:
        flip = flip.repeat_interleave(frames, 0)
        shift, colour = (each.repeat_interleave(frames, 1) for each in (shift, colour))
    brightness, contrast, saturation = colour
    columns, rows = torch.arange(W, device=device)[None], torch.arange(H, device=device)[None]
    real = columns < widths[:, None]  # (B, W)
    if options.jitter:
        if C > 1:
            grey = x.mean(1, keepdim=True)
            x = grey + (1 + options.jitter * saturation) * (x - grey)
        x = (1 + options.jitter * contrast) * x + options.jitter * brightness
    if options.flip or options.crop:
        across = columns - (options.crop * shift[0] * widths[:, None]).round().long()
        down = rows - (options.crop * shift[1] * H).round().long()
        real = real & (across >= 0) & (across < widths[:, None])
        mirrored = torch.where(flip < options.flip, widths[:, None] - 1 - across, across)
        x = x.gather(3, mirrored.clamp(0, W - 1)[:, None, None].expand(B, C, H, W))
        x = x.gather(2, down.clamp(0, H - 1)[:, None, :, None].expand(B, C, H, W))
        x = x.masked_fill(~((down >= 0) & (down < H))[:, None, :, None], 0)
    return x.masked_fill(~real[:, None, None], 0)


class ResidualBlock(nn.Module):
    """x + W₂ * relu(norm(W₁ * relu(norm(x)))), with filters of 3 x 3 (He et al. 2016, "Identity
    mappings"). Each place is normalised by itself, over its channels, so that neither other images
    of a batch nor padding change it."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first, self.second = Activated(channels), Activated(channels)
        self.W1, self.W2 = (filters(channels, channels) for _ in range(2))

    def forward(self, x: Tensor, keep: Tensor | None) -> Tensor:
        h = self.W1(masked(self.first(x), keep))
        return masked(x + self.W2(masked(self.second(h), keep)), keep)


class Activated(nn.Module):
    """relu(norm(x)) of (B, C, H, W), over C."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(channels)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.norm(x.permute(0, 2, 3, 1))).permute(0, 3, 1, 2)


def filters(inputs: int, outputs: int, *, stride: int = 1) -> nn.Conv2d:
    """A convolution of 3 x 3 pixels; zeros around the image."""
    layer = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1)
    init.input_matrix_(layer.weight, blocks=1)
    nn.init.zeros_(layer.bias)  # type: ignore[arg-type]
    return layer


def masked(x: Tensor, keep: Tensor | None) -> Tensor:
    """(B, C, H, W) with zeros in columns that are padding; keep (B, W), None: all is real"""
    return x if keep is None else x.masked_fill(~keep[:, None, None], 0)


class ConvolutionalInput(InputLayer):
    """A small residual network over columns of pixels (B, W, H·C), in stages that halve both sides
    and have twice the channels, E at last: a grid (B, E, h, w), h = ⌈H / 2^halvings⌉.

    by_columns   False: each place of the grid is a step, row by row, (B, h·w, E); images have one
                 width. True: each column is one, a linear layer of its h vectors, (B, w, E), as in
                 Shi et al. (2015); widths may differ
    """

    def __init__(
        self,
        height: int,
        width: int,
        colours: int,
        size: int,
        *,
        halvings: int = 2,
        by_columns: bool = False,
        dropout: float = 0.0,
        augment: Augment | None = None,
    ) -> None:
        super().__init__()
        self.height, self.width, self.colours, self.size = height, width, colours, size
        self.by_columns = by_columns
        self.stride = 1 << halvings
        widths = [max(1, size >> (halvings - i)) for i in range(halvings)] + [size]
        self.augment = augment
        self.stem = filters(colours, widths[0])
        self.halving = nn.ModuleList(filters(a, b, stride=2) for a, b in pairwise(widths))
        self.blocks = nn.ModuleList(ResidualBlock(channels) for channels in widths[1:])
        self.last = Activated(size)
        rows = -(-height // self.stride)
        self.linear = nn.Linear(rows * size, size) if by_columns else None
        self.dropout = Dropout(dropout)
        if self.linear is not None:
            init.linear_(self.linear)

    def steps(self, lengths: Tensor | None) -> Tensor | None:
        """Images of one width have equally many steps, whatever padding came with them."""
        return -(-lengths // self.stride) if self.by_columns and lengths is not None else None

    def forward(self, values: Tensor, lengths: Tensor | None = None) -> Tensor:
        if not self.by_columns:
            values, lengths = values[:, : self.width], None
        if self.augment is not None:
            values = self.augment(values, lengths)
        x = Patches(self.height, self.colours, self.height, 1).images(values)  # (B, C, H, W)
        keep = self._keep(lengths, x)
        x = masked(self.stem(masked(x, keep)), keep)
        for halve, block in zip(self.halving, self.blocks):
            lengths = None if lengths is None else -(-lengths // 2)
            x = halve(x)
            keep = self._keep(lengths, x)
            x = block(masked(x, keep), keep)
        x = masked(self.last(x), keep)  # (B, E, h, w)
        if self.linear is None:
            return self.dropout(x.flatten(2).transpose(1, 2))
        return self.dropout(self.linear(x.permute(0, 3, 2, 1).flatten(2)))

    @staticmethod
    def _keep(lengths: Tensor | None, x: Tensor) -> Tensor | None:
        if lengths is None:
            return None
        return keep_mask(lengths, x.shape[3], device=x.device)

    def describe(self) -> str:
        what = "columns of its grid" if self.by_columns else "its grid"
        return f"residual CNN, {len(self.blocks)} blocks, {what} as {self.size}"
