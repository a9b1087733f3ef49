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
from unspool.nn.taps import overridable

CHUNK_PIXELS = 1 << 21  # pixels of frames that are read at once where nothing is learnt


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
    """x_t (E,) of frame t, of which an image layer makes a grid of vectors v_ij (K,), after a relu.

    Of a CNN x_t = W [m; p; q] + b, where for each element k of its vectors

        m_k        = max_ij v_ijk                      whether something is in the frame
        α_ijk      = exp(κ_k v_ijk) / Σ_ab exp(κ_k v_abk)
        (p_k, q_k) = Σ_ij α_ijk (y_i, x_j)             where: its expected position, from -1 to 1

    the spatial softmax of Levine et al. (2016) with κ its inverse temperatures. So what is seen is
    the same wherever it is. Of patches, which see no more than themselves, x_t is W [v_11; v_12;
    ...] + b. Padding is left out.

    image     (N, ·, ·) -> (N, rows · columns, K): reads columns (N, W, H·C), or patches
    grid      rows and columns
    width     W of a frame
    patches   how frames are cut for `image`; None: into columns, for a CNN
    """

    position: Tensor

    def __init__(
        self,
        image: ConvolutionalInput | VectorInput,
        grid: tuple[int, int],
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
        rows, columns = grid
        self.linear = nn.Linear((3 if patches is None else rows * columns) * image.size, size)
        self.dropout = Dropout(dropout)
        init.linear_(self.linear)
        self.kappa = nn.Parameter(torch.ones(image.size)) if patches is None else None
        y, x = (torch.linspace(-1, 1, side) if side > 1 else torch.zeros(1) for side in grid)
        self.register_buffer("position", torch.cartesian_prod(y, x), persistent=False)  # (G, 2)

    @overridable
    def forward(self, values: Tensor, lengths: Tensor | None = None) -> Tensor:
        B, T, _ = values.shape
        if self.augment is not None:
            values = self.augment(values, lengths)
        packing = Packing.of(B, T, lengths, by_time=False, device=values.device)
        frames = packing.pack(values)  # (N, W·H·C)
        if torch.is_grad_enabled():
            x = self._vectors(frames)
        else:  # a film of any length, in bounded memory
            some = max(1, CHUNK_PIXELS // frames.shape[1])
            x = torch.cat([self._vectors(part) for part in frames.split(some)])
        return self.dropout(packing.unpack(x))

    def _vectors(self, frames: Tensor) -> Tensor:
        """(N, W·H·C) -> (N, E)"""
        columns = frames.unflatten(1, (self.width, self.height * self.colours))
        if self.patches is not None:
            images = Patches(self.height, self.colours, self.height, 1).images(columns)
            columns = self.patches.sequences(images)
        v = torch.relu(self.image(columns)).float()  # (N, G, K)
        if self.kappa is None:
            return self.linear(v.flatten(1))
        alpha = torch.softmax(self.kappa * v, 1)
        where = alpha.transpose(1, 2) @ self.position  # (N, K, 2)
        return self.linear(torch.cat([v.amax(1), where[..., 0], where[..., 1]], 1))

    def describe(self) -> str:
        what = "residual CNN" if self.patches is None else "patches"
        rows, columns = self.grid
        return f"frames: {what}, {rows} x {columns} positions of {self.image.size} as {self.size}"
