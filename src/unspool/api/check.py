"""Look at data before training: a file and some settings in, a report out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from unspool.api.settings import make_config, open_data
from unspool.data import check as data_check
from unspool.data.check import CheckReport
from unspool.data.readers import open_source


def check(
    data: str | Path,
    *,
    valid: str | Path | None = None,
    test: str | Path | None = None,
    task: str | None = None,
    **settings: Any,
) -> CheckReport:
    """Look at the data before training: counts, lengths, labels, leaks, doubtful rows."""
    source = open_data(data, task=task, settings=settings)
    final = make_config(source.task, None, settings=settings)
    others = [
        open_source(str(path), final.data, task=source.task) if path is not None else None
        for path in (valid, test)
    ]
    return data_check.check(
        source, valid=others[0], test=others[1], data=final.data, tokenizer=final.tokenizer
    )
