"""Which two columns of a file are pairs, what is read and what is to be written.

The user's settings decide; otherwise known names (`source` and `target`, two languages), otherwise
that there are just two columns. Without --task translate only names make a file one of pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from unspool.config import DataConfig
from unspool.data.infer import guess_format
from unspool.data.read.columns import (
    find_column,
    known_pair,
    plain,
)
from unspool.data.read.files import TextFile
from unspool.data.rows import Layout, json_field, json_rows
from unspool.data.tables import SAMPLE, only_a_header, sample_table
from unspool.errors import DataError

REMEDY = "name them with --source and --target, or give two files as a.en,a.de"


class Pairs(NamedTuple):
    """How both sides are laid out, and the line that says so."""

    source: Layout
    target: Layout
    says: str


def infer_pairs(
    files: Sequence[TextFile], name: str, data: DataConfig, task: str | None
) -> Pairs | None:
    """The pairs of a file; None where it holds something else, and nobody has said `translate`."""
    asked = bool(data.source or data.target)
    sure = task == "translate" or (task is None and asked)
    if not sure and (task is not None or data.text or data.label):
        return None
    if Path(name).is_dir():
        if sure:
            raise DataError("a folder holds no pairs", where=name, remedy=REMEDY)
        return None
    file = files[0]
    format = data.format if data.format != "auto" else _format(file, data, sure=sure)
    if format == "jsonl":
        return _from_fields(file, data, sure=sure)
    if format in ("csv", "tsv"):
        return _from_columns(file, format, data, sure=sure)
    if sure:
        raise DataError(
            "holds no pairs: translate needs two columns or two files", where=name, remedy=REMEDY
        )
    return None


def _format(file: TextFile, data: DataConfig, *, sure: bool) -> str:
    found = guess_format(file, data, None, labelled=True)
    if sure and found not in ("csv", "tsv", "jsonl"):
        lines = file.head(SAMPLE)
        return "tsv" if lines and all("\t" in line for line in lines) else found
    return found


def _from_columns(file: TextFile, format: str, data: DataConfig, *, sure: bool) -> Pairs | None:
    delimiter, quoted, rows = sample_table(file, format)
    width, where = len(rows[0]), f"{file.name}:1"
    first = [cell.strip() for cell in rows[0]]
    named = known_pair(first)
    header = data.header
    if header is None:
        asked = [name for name in (data.source, data.target) if name]
        header = named is not None or any(
            plain(name) in map(plain, first) or not name.isdigit() for name in asked
        )
    if not sure and (named is None or not header):
        return None
    names = first if header else [str(i + 1) for i in range(width)]
    if header and len(rows) == 1:
        raise only_a_header(file)
    chosen = {
        option: find_column(asked, names, option=option, where=where)
        for option, asked in {"--source": data.source, "--target": data.target}.items()
        if asked is not None
    }
    source, target = _fill(chosen, named if header else None, width, where)
    layout = Layout(format, source, None, delimiter, quoted, header, width)
    shown = [repr(name) if header else name for name in names]
    says = f"{file.name}: {format.upper()}{'' if header else ' without a header'}"
    says += f", pairs of columns {shown[source]} and {shown[target]} -> translate"
    return Pairs(layout, replace(layout, text=target), says)


def _fill(
    chosen: dict[str, int], named: tuple[int, int] | None, width: int, where: str
) -> tuple[int, int]:
    """Source and target column, where at most some were asked for."""
    usual = named or ((0, 1) if width == 2 else None)
    source, target = chosen.get("--source"), chosen.get("--target")
    if source is None or target is None:
        if usual is None:
            raise DataError(
                f"there are {width} columns, and which are the pairs is not said"
                if width > 1
                else "there is one column, and pairs need two",
                where=where,
                remedy=REMEDY,
            )
        if source is None:
            source = usual[0] if usual[0] != target else usual[1]
        if target is None:
            target = usual[1] if usual[1] != source else usual[0]
    if source == target:
        raise DataError(
            "the source and the target are the same column",
            where=where,
            remedy="name two different columns with --source and --target",
        )
    return source, target


def _from_fields(file: TextFile, data: DataConfig, *, sure: bool) -> Pairs | None:
    line, first = next(islice(json_rows(file), 1), (1, {}))
    where = f"{file.name}:{line}"
    named = known_pair(list(first))
    if not sure and named is None:
        return None
    names = list(first) if named is not None else [n for n in first if isinstance(first[n], str)]
    chosen = {}
    for option, asked in {"--source": data.source, "--target": data.target}.items():
        if asked is not None:
            json_field(first, asked, where)
            if asked not in names:
                names.append(asked)
            chosen[option] = names.index(asked)
    source, target = (names[i] for i in _fill(chosen, named, len(names), where))
    says = f"{file.name}: JSON lines, pairs of fields {source!r} and {target!r} -> translate"
    return Pairs(Layout("jsonl", source), Layout("jsonl", target), says)
