"""Which column of a table are videos, and which their label, number, text or labels of frames.

Videos are files and folders (`media_plan.py`), or arrays: of `.npz` files, or in memory.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from unspool.config import DataConfig
from unspool.data.plan import Plan
from unspool.data.read import Column, Table
from unspool.data.read.clip import ENDINGS, Clip
from unspool.data.read.media import VIDEO
from unspool.tasks.inputs.kind import Asked
from unspool.tasks.inputs.media_plan import TABLES, media_column, plan_media


def video_column(table: Table, data: DataConfig) -> Column | None:
    """The column of the clips, or of the names of their files and folders."""
    asked = data.input == VIDEO.name
    if data.input != "auto" and not asked:
        return None
    if asked and data.series is not None:
        return media_column(table, data, VIDEO)
    if not table.files:
        kinds = (Clip, np.ndarray, list) if asked else (Clip,)
        for column in table.columns:
            given = [value for value in column.sample if value is not None]
            if given and all(isinstance(value, kinds) for value in given):
                return column
    found = media_column(table, data, VIDEO)
    if found is None and asked and table.shape in TABLES:
        home = Path(table.files[0].path).parent if table.files else Path()
        return next((own for own in table.columns if names_clips(own, home)), None)
    return found


def names_clips(column: Column, home: Path) -> bool:
    """Whether nearly all values are names of files that are clips, or of folders."""
    given = [value for value in column.sample if isinstance(value, str) and value]
    named = [v.lower().endswith(ENDINGS) or (home / v.strip()).is_dir() for v in given]
    return bool(given) and sum(named) > 0.9 * len(given)


def plan_videos(table: Table, data: DataConfig, asked: Asked) -> Plan | None:
    """None where the table holds no videos, or not what the task needs of them."""
    return plan_media(VIDEO, video_column(table, data), table, data, asked)
