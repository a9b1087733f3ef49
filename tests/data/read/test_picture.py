"""Files of images: every kind that Pillow writes, as Pillow reads it; broken ones; and tables."""

from __future__ import annotations

import io
import struct
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageOps

from pictures import shape, write_folders, write_table
from unspool.config import DataConfig
from unspool.data.read import open_table
from unspool.data.read.picture import Picture, as_picture
from unspool.errors import DataError

RNG = np.random.default_rng(3)
COLOURED = RNG.integers(0, 256, (9, 13, 3)).astype(np.uint8)
GREY = RNG.integers(0, 256, (9, 13)).astype(np.uint8)


def saved(image: Image.Image, path: Path, **options: Any) -> Picture:
    image.save(path, **options)
    return Picture(path, path.name)


def png_header(width: int, height: int) -> bytes:
    """A PNG file that says its size, and has no pixels."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = [(b"IHDR", head), (b"IDAT", zlib.compress(b"")), (b"IEND", b"")]
    chunks = (
        struct.pack(">I", len(own)) + name + own + struct.pack(">I", zlib.crc32(name + own))
        for name, own in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


@pytest.mark.parametrize("ending", ["png", "jpg", "gif", "webp", "bmp"])
@pytest.mark.parametrize("colours", ["L", "RGB"])
def test_as_pillow_reads_it(ending: str, colours: str, tmp_path: Path) -> None:
    image = Image.fromarray(GREY if colours == "L" else COLOURED)
    picture = saved(image, tmp_path / f"x.{ending}")
    header, pixels = picture.decode()
    assert picture.header() == header
    assert (header.height, header.width) == (9, 13)
    with Image.open(tmp_path / f"x.{ending}") as opened:
        wanted = np.asarray(opened.convert("L" if header.colours == 1 else "RGB"))
    assert pixels.dtype == np.uint8
    assert np.array_equal(pixels.squeeze(), wanted)


@pytest.mark.parametrize(
    ("mode", "ending"),
    [("1", "png"), ("P", "png"), ("P", "gif"), ("CMYK", "jpg"), ("YCbCr", "jpg")],
)
def test_other_modes_as_pillow_converts_them(mode: str, ending: str, tmp_path: Path) -> None:
    picture = saved(Image.fromarray(COLOURED).convert(mode), tmp_path / f"x.{ending}")
    with Image.open(tmp_path / f"x.{ending}") as opened:
        grey = opened.mode in ("1", "L")
        wanted = np.asarray(opened.convert("L" if grey else "RGB"))
    assert np.array_equal(picture.decode().pixels.squeeze(), wanted)


@pytest.mark.parametrize("mode", ["RGBA", "LA"])
def test_what_is_transparent_is_white(mode: str, tmp_path: Path) -> None:
    alpha = np.zeros((9, 13), np.uint8)
    alpha[:, :6] = 255
    image = Image.fromarray(GREY).convert(mode)
    image.putalpha(Image.fromarray(alpha))
    header, pixels = saved(image, tmp_path / "x.png").decode()
    assert header.clear
    assert (pixels[:, 6:] == 255).all()
    assert np.array_equal(pixels[:, :6, 0], GREY[:, :6])
    given = as_picture(np.asarray(image), "item").decode()
    assert np.array_equal(given.pixels, pixels)


def test_a_transparent_colour_of_a_palette(tmp_path: Path) -> None:
    image = Image.new("P", (4, 4), 1)
    image.putpalette([10, 20, 30, 200, 100, 50])
    image.putpixel((0, 0), 0)
    for ending in ("png", "gif"):
        pixels = saved(image, tmp_path / f"x.{ending}", transparency=1).decode().pixels
        assert pixels[0, 0].tolist() == [10, 20, 30]
        assert pixels[1, 1].tolist() == [255, 255, 255]


def test_16_bits_are_kept(tmp_path: Path) -> None:
    deep = RNG.integers(0, 65536, (9, 13)).astype(np.uint16)
    header, pixels = saved(Image.fromarray(deep), tmp_path / "x.png").decode()
    assert header.colours == 1
    assert pixels.dtype == np.float32
    np.testing.assert_allclose(pixels[..., 0], deep / 257, rtol=1e-6)
    np.testing.assert_allclose(as_picture(deep, "item").decode().pixels, pixels)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_turned_as_exif_says(orientation: int, tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    picture = saved(Image.fromarray(COLOURED), tmp_path / "x.png", exif=exif)
    header, pixels = picture.decode()
    with Image.open(tmp_path / "x.png") as opened:
        wanted = np.asarray(ImageOps.exif_transpose(opened))
    assert np.array_equal(pixels, wanted)
    assert (header.height, header.width) == wanted.shape[:2]
    assert header.turned == (orientation != 1)


def test_the_first_frame_of_an_animation(tmp_path: Path) -> None:
    frames = [Image.fromarray(shape(i)) for i in range(3)]
    picture = saved(frames[0], tmp_path / "x.gif", save_all=True, append_images=frames[1:])
    header, pixels = picture.decode()
    assert header.frames == 3
    assert np.array_equal(pixels[..., 0], shape(0))


def test_images_of_pillow_and_arrays() -> None:
    image = Image.fromarray(COLOURED)
    assert np.array_equal(as_picture(image, "item").decode().pixels, COLOURED)
    assert np.array_equal(as_picture(image.convert("P"), "item").decode().pixels,
                          np.asarray(image.convert("P").convert("RGB")))  # fmt: skip
    assert np.array_equal(as_picture(GREY.tolist(), "item").decode().pixels[..., 0], GREY)
    assert as_picture(GREY > 100, "item").decode().pixels.max() == 255


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "x.png: the file is empty"),
        (
            b"hello, I am a text",
            "x.png: is not an image that can be read: PNG, JPEG, GIF, WebP or BMP",
        ),
        (
            png_header(20_000, 20_000),
            "x.png: would take 3,815 MB of memory (20,000 x 20,000 pixels), more than the 512 MB",
        ),
        (png_header(9_000, 9_000), "read_memory=1024"),
        (png_header(8, 8), "x.png: cannot be decoded"),
    ],
)
def test_a_broken_file(content: bytes, says: str, tmp_path: Path) -> None:
    (tmp_path / "x.png").write_bytes(content)
    with pytest.raises(DataError) as error:
        Picture(tmp_path / "x.png", "x.png").decode()
    assert says in str(error.value)


@pytest.mark.parametrize("ending", ["png", "jpg", "gif", "webp"])
def test_a_truncated_file(ending: str, tmp_path: Path) -> None:
    file = io.BytesIO()
    Image.fromarray(RNG.integers(0, 256, (64, 64, 3)).astype(np.uint8)).save(
        file, {"jpg": "JPEG"}.get(ending, ending)
    )
    path = tmp_path / f"x.{ending}"
    path.write_bytes(file.getvalue()[: len(file.getvalue()) // 2])
    with pytest.raises(DataError, match=f"x.{ending}: cannot be decoded"):
        Picture(path, path.name).decode()


def test_what_is_no_image() -> None:
    with pytest.raises(DataError, match="a dict is not an image"):
        as_picture({}, "item")
    with pytest.raises(DataError, match=r"is not an image; got 'an array of shape \(2, 3, 7\)'"):
        as_picture(np.zeros((2, 3, 7)), "item")
    with pytest.raises(DataError, match="has no pixels"):
        as_picture(np.zeros((0, 3)), "item")
    with pytest.raises(DataError, match="pixels that are not finite"):
        as_picture(np.full((3, 3), np.nan), "item")


def test_without_pillow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Image.fromarray(GREY).save(tmp_path / "x.png")
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(DataError, match=r"x.png: images need the package Pillow\. Install it"):
        Picture(tmp_path / "x.png", "x.png").header()


def test_a_folder_by_label(tmp_path: Path) -> None:
    table = open_table(str(write_folders(tmp_path / "x", 6)), DataConfig())
    found = {column.name: column.sample for column in table.columns}
    assert table.format == "image"
    assert "6 files, images" in table.summary
    assert found["folder"] == ["bar", "bar", "dot", "dot", "line", "line"]
    assert found["image"][0].name.endswith("bar/0.png")


def test_a_table_in_a_folder_is_read_in_its_place(tmp_path: Path) -> None:
    table = open_table(str(write_table(tmp_path / "x", 6)), DataConfig())
    assert table.format == "csv"
    assert [column.name for column in table.columns] == ["file", "label"]


def test_a_picture_beside_other_data_is_left_alone(tmp_path: Path) -> None:
    for i in range(4):
        (tmp_path / f"{i}.csv").write_text("x,y\n" + "".join(f"{j},{i}\n" for j in range(9)))
    Image.fromarray(GREY).save(tmp_path / "plot.png")
    assert open_table(str(tmp_path), DataConfig()).format == "csv"


@pytest.mark.parametrize("ending", ["npz", "npy"])
@pytest.mark.parametrize("colours", [(), (3,)])
def test_arrays_are_read_image_by_image(ending: str, colours: tuple[int, ...], tmp_path) -> None:
    x = RNG.integers(0, 256, (5, 4, 6, *colours)).astype(np.uint8)
    path = tmp_path / f"x.{ending}"
    if ending == "npz":
        np.savez_compressed(path, images=x, label=np.array(list("ababa")), other=np.zeros((5, 2)))
    else:
        np.save(path, x)
    table = open_table(str(path), DataConfig())
    assert table.format == "pixels"
    rows = list(table.rows(table.columns))
    assert [row.values[0].name for row in rows] == [f"{path}:{i}" for i in range(1, 6)]
    for row, wanted in zip(rows, x):
        assert np.array_equal(row.values[0].pixels, wanted)
    if ending == "npz":
        assert [row.values[1] for row in rows] == list("ababa")


def test_floats_are_series_unless_images_are_asked_for(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", x=RNG.random((5, 4, 6)))
    table = open_table(str(tmp_path / "x.npz"), DataConfig())
    assert table.format == "npy"
    assert "images: --set input=image" in table.summary
    assert open_table(str(tmp_path / "x.npz"), DataConfig(input="image")).format == "pixels"


def test_pixels_that_are_too_large_for_32_bits(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.full((2, 4, 4), 1e300))
    table = open_table(str(tmp_path / "a.npz"), DataConfig(input="image"))
    picture = next(table.rows(table.columns)).values[0]
    with pytest.raises(DataError, match=r"a\.npz:1: has pixels .* too large for 32 bits"):
        picture.decode()


def test_arrays_of_another_shape(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez(path, x=np.zeros((5, 4)), y=np.zeros(5))
    with pytest.raises(DataError, match=r"holds no array of images; got 'x float64 \(5, 4\)"):
        open_table(str(path), DataConfig(input="image"))
    np.savez(path, x=np.zeros((5, 4, 4, 7)))
    with pytest.raises(DataError, match="holds no array of images"):
        open_table(str(path), DataConfig(input="image"))
    np.savez(path, x=np.zeros((0, 4, 4), np.uint8))
    with pytest.raises(DataError, match="images have no pixels"):
        open_table(str(path), DataConfig())
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(DataError, match="a NumPy file that is damaged, or none"):
        open_table(str(path), DataConfig(input="image"))


@pytest.mark.parametrize("format", ["PNG", "JPEG", "GIF", "WEBP", "BMP"])
def test_damage_is_a_data_error_or_none(format: str, tmp_path: Path) -> None:
    """Bytes that are changed, left out or repeated; what can still be decoded has pixels."""
    file = io.BytesIO()
    Image.fromarray(COLOURED).save(file, format)
    content, rng = file.getvalue(), np.random.default_rng(5)
    path = tmp_path / "x.png"
    for _ in range(60):
        damaged = bytearray(content)
        for at in rng.integers(0, len(content), rng.integers(1, 6)).tolist():
            if rng.random() < 0.2:
                del damaged[at : at + int(rng.integers(1, 50))]
            elif rng.random() < 0.1:
                damaged[at:at] = damaged[: int(rng.integers(1, 50))]
            elif at < len(damaged):
                damaged[at] = int(rng.integers(0, 256))
        path.write_bytes(bytes(damaged))
        try:
            header, pixels = Picture(path, "x.png").decode()
        except DataError:
            continue
        assert pixels.shape == (header.height, header.width, header.colours)
