"""Video: a vector for each frame, which any network then reads over time.

In: frames as their pixels (B, T, W·H·C), column by column, with lengths (B,). Out: (B, T, E).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from unspool.nn import init
from unspool.nn.dropout import Dropout
from unspool.nn.images import Augmentation, ConvolutionalInput, Patches, augmented
from unspool.nn.inputs import Augment, InputLayer, VectorInput
from unspool.nn.packing import Packing

AT_ONCE = 1 << 21  # pixels of frames that are read at once where nothing is learnt


class ClipAugment(Augment):
    """Mirrors, shifts and recolours clips in training, all frames of one alike.

    patches   how frames are cut: into columns
    """

    def __init__(self, patches: Patches, options: Augmentation) -> None:
        super().__init__()
        self.patches, self.options = patches, options

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        if not self.training:
            return x
        B, T, size = x.shape
        high = self.patches.image_height * self.patches.colours
        images = self.patches.images(x.reshape(B * T, size // high, high))
        widths = torch.full((B * T,), images.shape[3], device=x.device)
        changed = augmented(images, widths, self.options, frames=T)
        return self.patches.sequences(changed).reshape(x.shape)

    def extra_repr(self) -> str:
        return ", ".join(f"{name} {value:g}" for name, value in self.options._asdict().items())


class FrameInput(InputLayer):
    """x_t = W relu([v_1; ...; v_G]) + b, where v_1, ..., v_G (K,) are what an image layer makes of
    frame t: the vectors of the grid of a CNN, or of patches. Where something is in a frame thus
    stays known. Padding is left out.

    image     (N, ·, ·) -> (N, G, K): reads columns (N, W, H·C), or patches
    grid      G
    width     W of a frame
    patches   how frames are cut for `image`; None: into columns
    """

    def __init__(
        self,
        image: ConvolutionalInput | VectorInput,
        grid: int,
        size: int,
        *,
        width: int,
        height: int,
        colours: int,
        patches: Patches | None = None,
        dropout: float = 0.0,
        augment: Augment | None = None,
    ) -> None:
        super().__init__()
        self.image, self.grid, self.size = image, grid, size
        self.width, self.height, self.colours = width, height, colours
        self.patches = patches
        self.augment = augment
        self.linear = nn.Linear(grid * image.size, size)
        self.dropout = Dropout(dropout)
        init.linear_(self.linear)

    def forward(self, values: Tensor, lengths: Tensor | None = None) -> Tensor:
        B, T, _ = values.shape
        if self.augment is not None:
            values = self.augment(values, lengths)
        packing = Packing.of(B, T, lengths, by_time=False, device=values.device)
        frames = packing.pack(values)  # (N, W·H·C)
        if torch.is_grad_enabled():
            x = self._vectors(frames)
        else:  # a film of any length, in bounded memory
            some = max(1, AT_ONCE // frames.shape[1])
            x = torch.cat([self._vectors(part) for part in frames.split(some)])
        return self.dropout(packing.unpack(x))

    def _vectors(self, frames: Tensor) -> Tensor:
        """(N, W·H·C) -> (N, E)"""
        columns = frames.unflatten(1, (self.width, self.height * self.colours))
        if self.patches is not None:
            images = Patches(self.height, self.colours, self.height, 1).images(columns)
            columns = self.patches.sequences(images)
        return self.linear(torch.relu(self.image(columns)).flatten(1))

    def describe(self) -> str:
        what = "residual CNN" if self.patches is None else "patches"
        return f"frames: {what}, grid of {self.grid} x {self.image.size} as {self.size}"
