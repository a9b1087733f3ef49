"""The answer `training` of the page: how a run learnt, or is learning.

In: metrics.jsonl. Out: its records, thinned where they are many, and whether it still grows.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from unspool.page.query import Query
from unspool.page.subject import Subject

RECORDS = 2000  # at most
SILENCE = 60.0  # seconds without a new record after which a run is not thought to be running


def training(subject: Subject, query: Query) -> dict[str, Any]:
    records = read_log(subject.log)
    return {
        "metric": f"valid_{subject.task.metric}",
        "higher_is_better": subject.task.higher_is_better,
        "log": thinned(records, RECORDS),
        "records": len(records),
        "running": is_running(subject.path, subject.log),
    }


def read_log(path: Path) -> list[dict[str, Any]]:
    """The records of a log; its last line may be half written, and the file not yet there."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines[:-1]]


def thinned(records: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """All validations, and of the other records every n-th, so that there are at most `most`."""
    rare = [r for r in records if "loss" not in r]
    often = [r for r in records if "loss" in r]
    room = max(1, most - len(rare))
    every = -(-len(often) // room) or 1
    kept = {id(r) for r in [*rare[-most:], *often[::-1][::every]]}
    return [r for r in records if id(r) in kept]


def is_running(path: Path, log: Path) -> bool:
    """Whether the log is younger than the card, which a run writes at its end, and still grows."""
    if not log.exists():
        return False
    changed, card = log.stat().st_mtime, path / "README.md"
    finished = card.exists() and card.stat().st_mtime >= changed
    return not finished and time.time() - changed < SILENCE
