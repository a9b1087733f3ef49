"""What stands around the rows of a table that people export: titles above the header, more headings
below it, empty cells at the end of rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from unspool.data.read.columns import KNOWN_NAMES, plain

MOST_ABOVE = 20  # rows above a header
IMPORT_ID = '{"ImportId"'  # Qualtrics writes one below every name, behind the question

Cells = Sequence[str]


def used(row: Cells) -> int:
    """Cells up to the last that is not empty."""
    return max((i + 1 for i, cell in enumerate(row) if cell.strip()), default=0)


def table_width(first: Cells, rows: Sequence[Cells]) -> int:
    """Of the first row, without columns at its end that are empty in all rows."""
    return max([1, used(first), *(used(row) for row in rows if len(row) <= len(first))])


def fitted(row: list[str], width: int) -> list[str]:
    """A row without empty cells that go beyond the table; the others as they are."""
    return row[:width] if len(row) > width and used(row) <= width else row


def rows_above(rows: Sequence[Cells], is_header: Callable[[Sequence[Cells]], bool]) -> int:
    """How many of the first rows are titles, comments or headings of groups of columns: at least
    half of their cells are empty, and the row below them is the header."""
    if rows[0][0].strip().lower() == "sep=":  # by which Excel is told the delimiter
        return 1
    width = Counter(map(len, rows)).most_common(1)[0][0]
    if width < 2 or any(plain(cell) in KNOWN_NAMES for cell in rows[0]):
        return 0
    for count, row in enumerate(rows[: MOST_ABOVE + 1]):
        filled = sum(bool(cell.strip()) for cell in row)
        if filled > max(1, width // 2) and not row[0].lstrip().startswith("#"):
            same = [each for each in rows[count:] if len(each) == len(row)]
            return count if count and len(row) >= width and is_header(same) else 0
    return 0


def rows_below(rows: Sequence[Cells]) -> int:
    """How many rows below the header hold questions and identifiers of Qualtrics."""
    for count, row in enumerate(rows[1:3], start=1):
        filled = [cell for cell in row if cell.strip()]
        if filled and sum(cell.startswith(IMPORT_ID) for cell in filled) > len(filled) / 2:
            return count
    return 0


def told_apart(names: Sequence[str]) -> list[str]:
    """Names of which no two are the same: `text`, `text.2`. Empty ones stay."""
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(f"{name}.{seen[name]}" if name and seen[name] > 1 else name)
    return found
