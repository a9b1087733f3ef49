"""Images inside the cells of a table: encoded, as bytes or in base64, or a column for each pixel.

{"bytes": b"\\x89PNG...", "path": "1.png"}, b"\\xff\\xd8...", "iVBORw0KGgo..."      encoded
pixel0, pixel1, ..., pixel783; 1x1, 1x2, ..., 28x28                             pixels
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from unspool.data.read.picture import Picture
from unspool.data.read.reader import Column, joined
from unspool.data.values import is_number
from unspool.errors import DataError

NUMBERED = re.compile(r"(?:pixel|pix|px)[ _]?(\d+)", re.IGNORECASE)
PLACED = re.compile(r"(\d+)x(\d+)")
FEWEST = 16  # pixels of an image


def encoded_picture(value: Any, where: str) -> Picture:
    if isinstance(value, dict):
        value = value.get("bytes")
    if isinstance(value, str):
        try:
            value = base64.b64decode(value.rpartition(",")[2].encode(), validate=True)
        except (ValueError, binascii.Error):
            value = None
    if not isinstance(value, bytes):
        raise DataError(
            "holds no image, as other rows do",
            where=where,
            remedy="correct it, or leave the row out",
        )
    return Picture(None, where, None, value)


def pixel_shape(columns: Sequence[Column]) -> tuple[int, ...]:
    """(height, width[, 3]) of images whose pixels are columns; () where names do not fit."""
    names = [column.name.strip() for column in columns]
    if len(names) < FEWEST:
        return ()
    placed = [PLACED.fullmatch(name) for name in names]
    if all(placed):
        places = [(int(match[1]), int(match[2])) for match in placed if match]
        (top, left), (bottom, right) = min(places), max(places)
        height, width = bottom - top + 1, right - left + 1
        square = places == [(top + i // width, left + i % width) for i in range(len(places))]
        return (height, width) if square and len(places) == height * width else ()
    numbers = [int(match[1]) for match in map(NUMBERED.fullmatch, names) if match]
    if len(numbers) < len(names) or numbers != list(range(numbers[0], numbers[0] + len(names))):
        return ()
    for colours in (1, 3):
        side = math.isqrt(len(names) // colours)
        if side * side * colours == len(names):
            return (side, side) if colours == 1 else (side, side, 3)
    return ()


def pixel_columns(columns: Sequence[Column]) -> list[Column]:
    every = [column for column in columns if NUMBERED.fullmatch(column.name.strip())]
    return every or [column for column in columns if PLACED.fullmatch(column.name.strip())]


def pixel_column(columns: Sequence[Column]) -> Column | None:
    pixels = pixel_columns(columns)
    if not pixel_shape(pixels):
        return None
    return joined(pixels)._replace(name=f"{pixels[0].name} to {pixels[-1].name}")


def picture_of_cells(values: Sequence[Any], shape: tuple[int, ...], where: str) -> Picture:
    try:
        x = np.array(values, dtype=np.float32)
    except (TypeError, ValueError):
        x = np.array([np.nan])
    if len(x) != math.prod(shape) or not np.isfinite(x).all():
        bad = next((value for value in values if not is_number(value)), "")
        raise DataError(
            "a pixel is not a number",
            where=where,
            got=bad,
            remedy="correct it, or leave the row out",
        )
    x = x.reshape(shape)
    whole = ((x >= 0) & (x <= 255) & (x == np.floor(x))).all()
    return Picture(None, where, x.astype(np.uint8) if whole else x)
