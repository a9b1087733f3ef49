"""Picture: one image as a file has it, or as it is in memory; its header first, then its pixels.

Files are decoded by Pillow (extra `image`). Pixels come out upright, on white where they are
transparent, as (H, W, 1) grey or (H, W, 3) red, green and blue from 0 to 255: uint8, or float32
where a file or an array has more than 8 bits.
"""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unspool.data.read.budget import Allowance, size_of
from unspool.data.read.files import unreadable
from unspool.errors import DataError
from unspool.io.files import open_regular

ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp")
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")
PIXEL_BYTES = 10  # in memory while an image is decoded
GREY = ("1", "L", "LA", "La", "I", "F")  # and all that begin with I;16
TURNED = (5, 6, 7, 8)  # orientations of EXIF whose sides change places
ORIENTATION = 0x0112


class Header(NamedTuple):
    """Header of an image, known before it is decoded.

    height, width   as it is seen: turned as EXIF says
    colours         1: grey, 3: red, green and blue
    mode            as Pillow calls it: RGB, CMYK, I;16, ...; of an array its type
    turned          whether EXIF says that it does not stand upright
    clear           whether parts may be transparent
    frames          of an animation, of which the first is read
    """

    height: int
    width: int
    colours: int
    mode: str
    turned: bool = False
    clear: bool = False
    frames: int = 1


class Decoded(NamedTuple):
    """`pixels` (H, W, 1) or (H, W, 3), uint8 or float32, from 0 to 255."""

    header: Header
    pixels: np.ndarray


@dataclass(frozen=True, eq=False)
class Picture:
    """A file, pixels (H, W) or (H, W, C) in memory, or the bytes of a file there."""

    path: Path | None = None
    name: str = ""
    pixels: np.ndarray | None = None
    encoded: bytes | None = None

    def __str__(self) -> str:
        return self.name or "image"

    @property
    def nbytes(self) -> int:
        held = len(self.encoded) if self.encoded is not None else 0
        return held if self.pixels is None else self.pixels.nbytes

    @property
    def size(self) -> int:
        """Bytes as it is stored."""
        return size_of(self.path) if self.path is not None else self.nbytes

    def header(self) -> Header:
        if self.pixels is not None:
            height, width, colours = with_colours(self.pixels).shape
            clear, colours = colours in (2, 4), 1 if colours < 3 else 3
            return Header(height, width, colours, str(self.pixels.dtype), clear=clear)
        with self.opened() as image:
            return header_of(image)

    def decode(self) -> Decoded:
        if self.pixels is not None:
            with np.errstate(over="ignore", invalid="ignore"):
                pixels = on_white(with_colours(self.pixels))
            refuse_infinite(pixels, self.name)
            return Decoded(self.header(), pixels)
        with self.opened() as image:
            header = header_of(image)
            try:
                return Decoded(header, pixels_of(image, header))
            except (MemoryError, KeyboardInterrupt):
                raise
            except Exception as error:  # decoders raise whatever their parsers do
                raise undecoded(self.name, error) from None

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """A `PIL.Image.Image` whose header has been read."""
        Image = pillow(self.name)
        file: Any
        if self.encoded is not None:
            file = io.BytesIO(self.encoded)
        else:
            assert self.path is not None
            try:
                file = open_regular(self.path)
            except (OSError, ValueError) as error:
                raise unreadable(self.path, self.name, error) from None
        allowed = Allowance(self.name, self.size)
        with file, allowed.spending(), warnings.catch_warnings():
            # Its warnings are about sizes that are refused here, and damage that raises later.
            warnings.simplefilter("ignore")
            try:
                image = Image.open(file, formats=FORMATS)
            except Image.UnidentifiedImageError:
                raise no_image(self.name, file) from None
            except Exception as error:  # as above
                raise undecoded(self.name, error) from None
            with image:
                hold_pixels(allowed, image.width, image.height)
                yield image


def pillow(name: str) -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise DataError(
            "images need the package Pillow",
            where=name,
            remedy="install it: pip install 'unspool[image]'",
        ) from None
    Image.MAX_IMAGE_PIXELS = None  # sizes are checked here
    return Image


def header_of(image: Any) -> Header:
    try:
        orientation = image.getexif().get(ORIENTATION, 1)
    except Exception:  # EXIF that cannot be parsed turns nothing
        orientation = 1
    height, width = image.height, image.width
    if orientation in TURNED:
        height, width = width, height
    grey = image.mode in GREY or image.mode.startswith("I;16") or has_grey_palette(image)
    clear = image.mode in ("LA", "La", "PA", "RGBA", "RGBa") or "transparency" in image.info
    try:
        frames = getattr(image, "n_frames", 1)  # of which some formats read the whole file
    except Exception:  # the first one may be whole
        frames = 1
    turned = orientation in range(2, 9)
    return Header(height, width, 1 if grey else 3, image.mode, turned, clear, frames)


def has_grey_palette(image: Any) -> bool:
    """Whether an image has a palette, of greys alone."""
    palette = image.palette if image.mode == "P" else None
    if palette is None or palette.mode != "RGB" or palette.rawmode not in (None, "", "RGB"):
        return False
    colours = bytes(palette.palette)  # `getpalette` would decode the image
    return bool(colours) and colours[::3] == colours[1::3] == colours[2::3]


def pixels_of(image: Any, header: Header) -> np.ndarray:
    from PIL import Image, ImageOps

    if header.turned:
        image = ImageOps.exif_transpose(image)
    if image.mode.startswith("I") or image.mode == "F":
        values = np.asarray(image, dtype=np.float32)[..., None]
        return values if image.mode == "F" else values / np.float32(257)  # 16 bits: 65,535 is 255
    if header.clear:
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(white, image)
    image = image.convert("L" if header.colours == 1 else "RGB")
    pixels = np.asarray(image)
    return pixels[..., None] if pixels.ndim == 2 else pixels


def with_colours(x: np.ndarray) -> np.ndarray:
    """(H, W) or (H, W, C) -> (H, W, C)"""
    return x[..., None] if x.ndim == 2 else x


def on_white(x: np.ndarray) -> np.ndarray:
    """An array (H, W, C) without its alpha; uint8 stays so, 16 bits are from 0 to 255 then."""
    if x.dtype == np.uint16:
        x = x.astype(np.float32) / np.float32(257)
    elif x.dtype == bool:
        x = x.astype(np.uint8) * np.uint8(255)
    elif x.dtype != np.uint8:
        x = x.astype(np.float32)
    if x.shape[2] in (1, 3):
        return x
    alpha = x[..., -1:].astype(np.float32) / 255
    mixed = x[..., :-1] * alpha + 255 * (1 - alpha)
    return np.rint(mixed).astype(np.uint8) if x.dtype == np.uint8 else mixed


def as_picture(raw: Any, where: str) -> Picture:
    """A path, an array (H, W) or (H, W, C), an image of Pillow, or a `Picture`."""
    if isinstance(raw, Picture):
        return raw
    if isinstance(raw, str | os.PathLike):
        return Picture(Path(raw), str(raw))
    if is_pillow(raw):
        return Picture(None, where, pixels_of(raw, header_of(raw)))
    try:
        x = np.asarray(raw)
    except (TypeError, ValueError, RuntimeError):
        x = np.zeros(0)
    fits = x.ndim == 2 or (x.ndim == 3 and x.shape[2] in (1, 2, 3, 4))
    if x.dtype.kind not in "biuf" or not fits:
        raise DataError(
            f"a {type(raw).__name__} is not an image",
            where=where,
            got=f"an array of shape {x.shape}" if x.ndim else raw,
            remedy="give the path of a file, or an array (height, width) or (height, width,"
            " colours)",
        )
    if not x.size:
        raise DataError("has no pixels", where=where, got=f"shape {x.shape}", remedy="leave it out")
    refuse_infinite(x, where)
    return Picture(None, where, x)


def refuse_infinite(pixels: np.ndarray, where: str) -> None:
    if pixels.dtype.kind == "f" and not np.isfinite(pixels).all():
        raise DataError(
            "has pixels that are not finite numbers, or too large for 32 bits",
            where=where,
            remedy="correct or leave it out",
        )


def is_pillow(raw: Any) -> bool:
    """Whether it is an image of Pillow, which is not imported for that."""
    return any(kind.__module__ == "PIL.Image" for kind in type(raw).__mro__)


def hold_pixels(allowed: Allowance, width: int, height: int) -> None:
    allowed.fits(PIXEL_BYTES * width * height, f"{width:,} x {height:,} pixels")


def no_image(name: str, file: Any) -> DataError:
    file.seek(0)
    start = file.read(8)
    if not start:
        return DataError("the file is empty", where=name, remedy="save it again, or leave it out")
    return DataError(
        "is not an image that can be read: PNG, JPEG, GIF, WebP or BMP",
        where=name,
        got=f"it begins with {start!r}",
        remedy="save it as PNG, or leave it out",
    )


def undecoded(name: str, error: Exception) -> DataError:
    text = getattr(error, "strerror", None) or str(error)  # without the path and a number
    reason = text.partition("\n")[0].strip().rstrip(".") or type(error).__name__
    return DataError(
        f"cannot be decoded ({reason})", where=name, remedy="copy or save it again, or leave it out"
    )
