"""Which column of a table are images, and which their label, number or text.

Images are files (`media_plan.py`), or arrays: of `.npz` files, or in memory.
"""

from __future__ import annotations

import numpy as np

from unspool.config import DataConfig
from unspool.data.plan import Plan
from unspool.data.read import Column, Table
from unspool.data.read.embedded import is_encoded, pixel_column
from unspool.data.read.media import IMAGE
from unspool.data.read.picture import Picture
from unspool.tasks.inputs.kind import Asked
from unspool.tasks.inputs.media_plan import TABLES, media_column, plan_media


def image_column(table: Table, data: DataConfig) -> Column | None:
    """The column of the images, or of the names of their files."""
    if data.input not in ("auto", IMAGE.name):
        return None
    if table.shape in TABLES and table.header and table.files:
        columns = table.columns
        if data.series is not None:
            columns = table.several(data.series, option="--series")
        for column in columns:
            given = [value for value in column.sample if value not in (None, "")]
            if given and all(map(is_encoded, given)):
                return column
        if (pixels := pixel_column(columns)) is not None:
            return pixels
    asked = data.input == IMAGE.name and data.series is not None
    if not table.files and not asked:
        for column in table.columns:
            given = [value for value in column.sample if value is not None]
            kinds = (Picture, np.ndarray, list) if data.input == IMAGE.name else (Picture,)
            if given and all(isinstance(value, kinds) for value in given):
                return column
    return media_column(table, data, IMAGE)


def plan_images(table: Table, data: DataConfig, asked: Asked) -> Plan | None:
    """None where the table holds no images, or not what the task needs of them."""
    return plan_media(IMAGE, image_column(table, data), table, data, asked)
