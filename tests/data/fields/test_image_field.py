"""Images as a field: sizes, patches and colours against Pillow and torch; the store; notes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps
from torch.nn import functional as F

from pictures import shape as some_image
from unspool.data.fields.features import FeatureField
from unspool.data.fields.image import ImageSource
from unspool.data.fields.image_shape import ImageShape, patches, with_colours
from unspool.data.fields.pixels import colour_moments
from unspool.data.fields.series_values import Series
from unspool.data.fields.vectors import VectorField
from unspool.data.read import Column
from unspool.data.read.picture import Header
from unspool.errors import ConfigError, DataError, RunError

RNG = np.random.default_rng(4)
COLOURED = RNG.integers(0, 256, (30, 40, 3)).astype(np.uint8)


def stored(field: VectorField, raw: list[Any], folder: Path) -> Any:
    writer = field.writer(folder)
    writer.add(raw, lambda i: f"item {i + 1}")
    writer.close()
    return field.open(folder, {}, lambda row, step: "")


def made(shape: ImageShape, raw: list[Any], folder: Path, **options: Any) -> tuple[Any, Series]:
    field = VectorField("image", ImageSource(shape), **options)
    column = stored(field, raw, folder)
    field.fit(column, np.arange(len(raw)), where="here")
    return field, field.values(column)


@pytest.mark.parametrize(("high", "wide"), [(2, 3), (4, 4), (1, 12), (8, 1)])
def test_patches_as_torch_unfolds_them(high: int, wide: int) -> None:
    x = RNG.normal(size=(8, 12, 3))
    found = patches(x, high, wide)
    whole = torch.from_numpy(x).permute(2, 0, 1)[None]
    wanted = F.unfold(whole, (high, wide), stride=(high, wide))[0].T
    wanted = wanted.unflatten(1, (3, high * wide)).transpose(1, 2).flatten(1)
    np.testing.assert_array_equal(found, wanted.numpy())


@pytest.mark.parametrize("size", [(15, 20), (8, 8), (60, 50)])
def test_resized_as_pillow_does(size: tuple[int, int]) -> None:
    found = ImageShape(*size, 3).resized(COLOURED, "here")
    image = Image.fromarray(COLOURED).resize(size[::-1], Image.Resampling.BILINEAR)
    assert np.array_equal(found, np.asarray(image))


def test_cut_to_the_middle_as_pillow_does() -> None:
    found = ImageShape(10, 10, 3, resize="crop").resized(COLOURED, "here")
    wanted = ImageOps.fit(Image.fromarray(COLOURED), (10, 10), Image.Resampling.BILINEAR)
    assert np.abs(found.astype(int) - np.asarray(wanted)).max() <= 1


def test_grey_as_pillow_makes_it() -> None:
    wanted = np.asarray(Image.fromarray(COLOURED).convert("L"))
    assert np.array_equal(with_colours(COLOURED, 1)[..., 0], wanted)
    floats = with_colours(COLOURED.astype(np.float32), 1)[..., 0]
    assert np.abs(floats - wanted).max() <= 0.51


def test_lines_keep_their_proportions() -> None:
    found = ImageShape(15, 0, 3, "columns").resized(COLOURED, "here")
    assert found.shape == (15, 20, 3)
    assert ImageShape(15, 0, 1, "columns").resized(COLOURED[:, :1], "here").shape == (15, 1, 1)


def headers(*sizes: tuple[int, int], colours: int = 1) -> list[Header]:
    return [Header(high, wide, colours, "L") for high, wide in sizes]


@pytest.mark.parametrize(
    ("asked", "found", "wanted"),
    [
        (ImageShape(), headers((8, 8), (8, 8)), (8, 8, 1)),
        (ImageShape(), headers((8, 8), (8, 8), colours=3), (8, 8, 3)),
        (ImageShape(), headers((480, 640), (480, 640), (1, 1)), (48, 64, 1)),
        (ImageShape(height=24), headers((480, 640)), (24, 32, 1)),
        (ImageShape(width=32), headers((480, 640)), (24, 32, 1)),
        (ImageShape(20, 30, 3), headers((480, 640)), (20, 30, 3)),
        (ImageShape(reading="columns"), headers((100, 2000), (50, 30)), (64, 0, 1)),
        (ImageShape(reading="patches"), headers((28, 28)), (28, 28, 1)),
        (ImageShape(reading="patches"), headers((30, 43)), (32, 44, 1)),
        (ImageShape(reading="patches", patch=5), headers((28, 28)), (30, 30, 1)),
        (ImageShape(), headers((1, 1)), (2, 2, 1)),
    ],
)
def test_the_size_follows_from_the_images(
    asked: ImageShape, found: list[Header], wanted: tuple[int, int, int]
) -> None:
    settled = asked.settled(found)
    assert settled[:3] == wanted
    if settled.reading == "patches":
        assert settled.height % settled.patch == settled.width % settled.patch == 0


def test_a_size_that_is_no_multiple_of_the_patch() -> None:
    with pytest.raises(ConfigError, match=r"data.width must be a multiple of the 4 pixels"):
        ImageShape(8, 10, 1, "patches", 4).settled([])


@pytest.mark.parametrize(
    ("shape", "steps", "size"),
    [
        (ImageShape(6, 9, 1, "rows"), 6, 9),
        (ImageShape(6, 9, 1, "patches", 3), 6, 9),
        (ImageShape(6, 9, 3, "columns"), 9, 18),
        (ImageShape(6, 9, 3, "cnn"), 9, 18),
    ],
)
def test_what_a_model_reads(shape: ImageShape, steps: int, size: int, tmp_path: Path) -> None:
    shape = shape._replace(width=0) if shape.any_width else shape
    raw = [RNG.integers(0, 256, (6, 9, shape.colours)).astype(np.uint8) for _ in range(4)]
    field, values = made(shape, raw, tmp_path)
    assert values.lengths.tolist() == [steps] * 4
    assert field.size == size == len(field.inputs)
    batch = field.collate(values, np.arange(4))
    assert batch.values.shape == (4, steps, size)
    every = np.stack(raw).astype(np.float64)
    mean, std = every.mean((0, 1, 2)), every.std((0, 1, 2))
    wanted = (every - mean) / std
    high, wide = shape.patches
    for i in range(4):
        own = wanted[i].swapaxes(0, 1).reshape(9, -1) if shape.reading in ("columns", "cnn") else (
            patches(wanted[i], high, wide)
        )  # fmt: skip
        np.testing.assert_allclose(batch.values[i].numpy(), own, atol=1e-5)
    same = field.collate(field.encode(raw), np.arange(4))
    assert torch.equal(same.values, batch.values)


def test_colours_are_scaled_by_those_of_the_training_rows(tmp_path: Path) -> None:
    raw = [COLOURED + 0, COLOURED // 2, np.zeros_like(COLOURED)]
    field = VectorField("image", ImageSource(ImageShape(30, 40, 3)))
    column = stored(field, raw, tmp_path)
    field.fit(column, np.array([0, 1]), where="here")
    every = np.stack(raw[:2]).astype(np.float64)
    np.testing.assert_allclose(field.scaler.mean[:3], every.mean((0, 1, 2)))
    np.testing.assert_allclose(field.scaler.std[3:6], every.std((0, 1, 2)))


def test_each_image_by_itself(tmp_path: Path) -> None:
    shape = ImageShape(30, 40, 3, "rows")
    field, values = made(shape, [COLOURED, COLOURED // 3], tmp_path, scaling="series")
    for i in range(2):
        x = field.vectors(values, i).reshape(30, 40, 3)
        np.testing.assert_allclose(x.mean((0, 1)), 0, atol=1e-5)
        np.testing.assert_allclose(x.std((0, 1)), 1, atol=1e-5)


def test_bytes_until_an_image_has_more_bits(tmp_path: Path) -> None:
    raw: list[Any] = [some_image(i) for i in range(3)]
    field = VectorField("image", ImageSource(ImageShape(8, 8, 1)))
    (tmp_path / "a").mkdir()
    column = stored(field, raw, tmp_path / "a")
    assert column.values.values.dtype == np.uint8
    deep = (some_image(3).astype(np.uint16) * 257) + 5
    (tmp_path / "b").mkdir()
    wide = stored(field, [*raw, deep], tmp_path / "b")
    assert wide.values.values.dtype == np.float32
    assert np.array_equal(wide.values.values[:24], column.values.values)
    np.testing.assert_allclose(wide.values[3].T, deep / 257, rtol=1e-6)


def test_what_was_done_is_said(tmp_path: Path) -> None:
    clear = np.full((8, 8, 4), 200, np.uint8)
    clear[:4, :, 3] = 0
    raw: list[Any] = [some_image(0), some_image(1, 16), some_image(2, 16), clear]
    field = VectorField("image", ImageSource(ImageShape(8, 8, 1)))
    notes = field.fit(stored(field, raw, tmp_path), np.arange(4), where="here")
    assert notes[0] == "image: 4 in train, 8 x 8 (height x width), grey, read as 8 rows"
    assert notes[1].startswith("2 images resized (stretch) to 8 x 8: 2 of 16 x 16 (--set height=")
    assert notes[2] == "1 images with transparent parts are put on white"


def test_nothing_but_one_colour(tmp_path: Path) -> None:
    field = VectorField("image", ImageSource(ImageShape(8, 8, 1)))
    column = stored(field, [np.full((8, 8), 7, np.uint8)] * 3, tmp_path)
    with pytest.raises(DataError, match="of the same colour, so there is nothing to learn"):
        field.fit(column, np.arange(3), where="here")


def test_saved_and_loaded(tmp_path: Path) -> None:
    field, _ = made(ImageShape(6, 6, 1, "patches", 3), [some_image(i) for i in range(3)], tmp_path)
    field.save(tmp_path)
    loaded = VectorField("image", ImageSource(ImageShape()))
    loaded.load(tmp_path)
    assert loaded.source.shape == field.source.shape
    assert np.array_equal(loaded.scaler.mean, field.scaler.mean)
    (tmp_path / "hashes.json").unlink(missing_ok=True)
    (tmp_path / "image.json").write_text('{"height": 7, "width": 6, "colours": 1}')
    with pytest.raises(RunError, match="invalid image settings"):
        loaded.load(tmp_path)


def test_what_a_linear_model_reads(tmp_path: Path) -> None:
    raw = [some_image(i, 32) for i in range(5)]
    field = FeatureField(VectorField("image", ImageSource(ImageShape(32, 32, 1))))
    column = stored(field, raw, tmp_path)  # type: ignore[arg-type]
    field.fit(column, np.arange(5), where="here")
    assert len(field.names) == len(field) == 256
    means = np.stack([x.reshape(16, 2, 16, 2).mean((1, 3)).reshape(-1) for x in raw])
    found = field.values(column).x
    std = means.std(0)
    np.testing.assert_allclose(found, (means - means.mean(0)) / std, atol=1e-4)


@pytest.mark.parametrize(
    ("shape", "names"),
    [
        (ImageShape(4, 4, 1, "rows"), ["row 1", "row 2", "row 3", "row 4"]),
        (ImageShape(4, 4, 1, "patches", 2), ["1,1", "1,2", "2,1", "2,2"]),
        (ImageShape(4, 0, 1, "columns"), [f"column {i}" for i in range(1, 5)]),
        (ImageShape(4, 4, 1, "cnn"), ["1,1", "1,2", "2,1", "2,2"]),
        (ImageShape(4, 0, 1, "cnn_columns"), ["column 1", "column 3"]),
    ],
)
def test_what_steps_are_called(shape: ImageShape, names: list[str]) -> None:
    assert shape.names(4) == names
    shown = shape.names(4, shown=True)
    assert shape.shown(np.zeros((4, 4), np.float32)).shape[0] == len(shown)
    assert shown == names or shape.reading == "cnn_columns"


def test_one_image_or_several() -> None:
    field = VectorField("image", ImageSource(ImageShape(8, 8, 1)))
    many = np.zeros((5, 8, 8))
    assert len(list(field.form.items(many[0]))) == 1
    assert len(list(field.form.items(many))) == 5
    assert len(list(field.form.items(np.zeros((8, 8, 3))))) == 1
    assert len(list(field.form.items(np.zeros((5, 8, 8, 3))))) == 5
    assert len(list(field.form.items("x.png"))) == 1
    assert len(list(field.form.items(Image.fromarray(COLOURED)))) == 1
    assert field.form.named("x.PNG") is not None
    assert field.form.named("some text") is None


def test_moments_of_blocks_are_those_of_all() -> None:
    found = colour_moments([COLOURED[:10], COLOURED[10:]], 3)
    np.testing.assert_allclose(found.mean, COLOURED.reshape(-1, 3).mean(0))
    np.testing.assert_allclose(found.std, COLOURED.reshape(-1, 3).std(0))


def test_the_first_images_are_looked_at() -> None:
    field = VectorField("image", ImageSource(ImageShape(reading="patches")))
    field.look(Column("image", 0, [COLOURED] * 3))
    assert field.source.shape == ImageShape(32, 40, 3, "patches", 4)


@pytest.mark.parametrize(
    "shape",
    [
        ImageShape(6, 8, 1, "rows"),
        ImageShape(6, 8, 3, "patches", 2),
        ImageShape(6, 0, 1, "columns"),
        ImageShape(6, 7, 3, "cnn"),
    ],
)
def test_contributions_lie_where_their_pixels_do(shape: ImageShape) -> None:
    """The means of the pixels of each step, put back, are near to an image of large blocks."""
    width = shape.width or 9
    names = shape.names(width)
    found = shape.spread(np.arange(len(names), dtype=float), width)
    assert found.shape == (shape.height, width)
    whole = np.repeat(found[..., None], shape.colours, 2)
    read = shape.shown(shape.columns(whole))
    assert len(read) == len(names)
    np.testing.assert_allclose(read.mean(1), np.arange(len(names)))
