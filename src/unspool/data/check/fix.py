"""A cleaned copy of a file: a plan and the rows that a check has marked in, a file and a log out.

Rows that need nothing are copied as they stand; only a row with a value to repair is written anew.
The log has a line for each row that was dropped or changed, with the row as it was.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple

from unspool.data.fields.examiner import Examiner, Flaw
from unspool.data.plan import Plan
from unspool.data.read import Column, Row, Table
from unspool.data.read.reader import Change
from unspool.errors import ConfigError, DataError, Option, choose

# Why a row may be dropped, in this order; what repairs values is the fields' to know.
DROPS = {
    "empty": "without a value of some field",
    "repeated": "the same as an earlier row in all fields",
    "contradiction": "the same as another row, but for what is to be predicted",
    "near": "nearly the same as an earlier row",
}
USUAL_DROPS = ("empty", "repeated")


def can_fix(plan: Plan) -> bool:
    return plan.table.reader.editable and len(plan.table.files) == 1


def hint(name: str, *, usual: bool, does: str) -> str:
    """How the copy gets a repair: `--fix OUT --repair usual,near drops them`."""
    repair = {} if usual else {"repair": f"usual,{name}"}
    return f"{Option(fix='OUT', **repair)} {does} them"


def drop_hint(name: str) -> str:
    return hint(name, usual=name in USUAL_DROPS, does="drops") if name in DROPS else ""


def correction_hint(name: str, flaw: Flaw) -> str:
    return hint(name, usual=flaw.usual, does="repairs") if flaw.repair else ""


class Repairs:
    """Requested repairs: drops and corrections by name, in the order in which they are tried.

    about   what each does, for people
    """

    def __init__(self, examiners: Mapping[str, Examiner], requested: str | None = None) -> None:
        flaws = {
            name: flaw for examiner in examiners.values() for name, flaw in examiner.FLAWS.items()
        }
        corrections = {name: flaw for name, flaw in flaws.items() if flaw.repair}
        self.about = {**DROPS, **{name: flaw.repair for name, flaw in corrections.items()}}
        usual = [*USUAL_DROPS, *(name for name, flaw in corrections.items() if flaw.usual)]
        chosen = set[str]()
        for name in (part.strip() for part in (requested or "usual").split(",")):
            known = {"usual": usual, "all": list(self.about)}.get(name)
            options = [*self.about, "usual", "all"]
            chosen.update(known or [choose("repair", name, options, where=Option("repair"))])
        self.drops = [name for name in DROPS if name in chosen]
        self.corrections = [name for name in corrections if name in chosen]


@dataclass
class Fixed:
    """Repairs made: `dropped` and `changed` count rows by the name of the repair."""

    path: Path
    log: Path
    about: Mapping[str, str]
    rows: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)

    def lines(self) -> list[str]:
        kept = self.rows - self.dropped.total()
        done = [f"{n:,} dropped: {name}, {self.about[name]}" for name, n in self.dropped.items()]
        done += [f"{n:,} changed: {name}, {self.about[name]}" for name, n in self.changed.items()]
        return [
            f"{self.path}: {kept:,} of {self.rows:,} rows, in UTF-8; every change is in {self.log}",
            *(f"    {each}" for each in done or ["nothing to repair"]),
        ]

    def to_json(self) -> dict[str, Any]:
        return {
            "path": str(self.path),
            "log": str(self.log),
            "rows": self.rows,
            "dropped": dict(self.dropped),
            "changed": dict(self.changed),
        }


def check_target(plan: Plan, out: Path) -> None:
    """Refuse what cannot be repaired, or would overwrite something, before any work."""
    table = plan.table
    if not can_fix(plan):
        raise DataError(
            (Option("fix"), f" cannot write {table.reader.title}"),
            where=table.name,
            remedy="it writes CSV, TSV, JSON lines, fastText, `label text` lines and plain lines",
        )
    targets = [out, log_path(out)]
    if partial_path(out).exists():  # of a process that was killed: the log may have its name
        targets.pop()
    for path in targets:
        if path.exists():
            raise ConfigError(
                "exists already, and nothing is overwritten",
                where=path,
                remedy=("name another file with ", Option("fix"), ", or remove it"),
            )
    if not out.parent.is_dir():
        raise ConfigError("there is no such folder", where=out.parent, remedy="make it first")
    suffix = bare_suffix(Path(table.files[0].name), (".gz", ".bz2", ".xz", ".zip"))
    new = bare_suffix(out)
    if suffix and suffix != new:
        raise ConfigError(
            "the copy has the format of the file",
            where=out,
            got=new or "a name without an ending",
            remedy=f"end the name in {suffix}, or {suffix}.gz",
        )


def bare_suffix(path: Path, compressed: Sequence[str] = (".gz",)) -> str:
    return Path(path.stem if path.suffix in compressed else path.name).suffix.lower()


def log_path(out: Path) -> Path:
    return out.with_name(f"{out.name}.log.jsonl")


def partial_path(out: Path) -> Path:
    return out.with_name(f".{out.name}.part")


def write_fixed(
    plan: Plan,
    out: Path,
    repairs: Repairs,
    marked: Mapping[str, Collection[int]],
    examiners: Mapping[str, Examiner],
) -> Fixed:
    """Copy the file of a plan, without some rows and with changed ones.

    marked   by repair: the lines where the rows to drop begin; "used": those of all rows that are
             not empty, where that is known
    """
    check_target(plan, out)
    used = set(marked["used"]) if "used" in marked else None
    reasons = {line: why for why in repairs.drops[::-1] for line in marked.get(why, ())}
    fixed = Fixed(out, log_path(out), repairs.about)
    cells = [
        ExaminedColumn(column, examiners[key])
        for key, several in plan.columns.items()
        if key in examiners
        for column in several.members
    ]
    with ExitStack() as files:
        copy, log = (files.enter_context(Partial(path)) for path in (fixed.path, fixed.log))
        head, blocks = blocks_of(plan.table, [cell.column for cell in cells])
        copy.write(head)
        for row, block in blocks:
            fixed.rows += 1
            where = {"line": row.line, "row": block.rstrip("\n")}
            why = reasons.get(row.line)
            if used is not None and row.line not in used and "empty" in repairs.drops:
                why = "empty"
            if why is not None:
                fixed.dropped[why] += 1
                write_json(log, {"action": "dropped", "why": why, **where})
                continue
            changes, done = corrected(row, cells, repairs.corrections)
            if done:
                block = plan.table.reader.rewrite(block, changes)
                fixed.changed.update(done)
                after = {"after": block.rstrip("\n")}
                write_json(log, {"action": "changed", "why": done, **where, **after})
            copy.write(block)
        for file in (copy, log):
            file.close()  # a disk that is full fails before either has its name
    return fixed


def write_json(file: IO[str], value: dict[str, Any]) -> None:
    file.write(json.dumps(value, ensure_ascii=False) + "\n")


class Partial:
    """A text file that gets its name when it is complete; gzip where the name says so."""

    def __init__(self, path: Path) -> None:
        self.path, self.part = path, partial_path(path)

    def __enter__(self) -> IO[str]:
        zipped = self.path.suffix == ".gz"
        opened: Any = gzip.open if zipped else open
        self.file: IO[str] = opened(
            self.part, "wt", encoding="utf-8", errors="backslashreplace", newline=""
        )
        return self.file

    def __exit__(self, kind: Any, *rest: object) -> None:
        try:
            self.file.close()
            if kind is None:
                self.part.rename(self.path)
        finally:
            self.part.unlink(missing_ok=True)


class Block(NamedTuple):
    """A row, and the lines of the file from where it starts to the next one."""

    row: Row
    lines: str


def blocks_of(table: Table, columns: Sequence[Column]) -> tuple[str, Iterator[Block]]:
    """Return the text before the first row, such as a header, and each row with its lines."""
    lines = enumerate(table.files[0].lines(), start=1)
    rows = table.rows(columns)
    first = next(rows)
    head = "".join(line for _, line in islice(lines, first.line - 1))

    def blocks() -> Iterator[Block]:
        row, (_, text) = first, next(lines)
        for following in rows:
            between = islice(lines, following.line - row.line - 1)
            yield Block(row, ended(text + "".join(line for _, line in between)))
            row, (_, text) = following, next(lines)
        yield Block(row, ended(text + "".join(line for _, line in lines)))

    return head, blocks()


def ended(lines: str) -> str:
    return lines if lines.endswith("\n") else lines + "\n"


class ExaminedColumn(NamedTuple):
    """A column of the file that a field reads, and what examines its values."""

    column: Column
    examiner: Examiner


def corrected(
    row: Row, cells: Sequence[ExaminedColumn], corrections: Sequence[str]
) -> tuple[list[Change], list[str]]:
    """The new values of a row, and which repairs made them."""
    changes: list[Change] = []
    done: dict[str, None] = {}
    for (column, examiner), value in zip(cells, row.values):
        after = value
        for name in corrections if isinstance(value, str) else ():
            before, after = after, examiner.correct(after, name)
            if after != before:
                done[name] = None
        if after != value:
            changes.append(Change(column, value, after))
    return changes, list(done)
