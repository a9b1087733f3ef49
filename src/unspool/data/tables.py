"""The first rows of a table, and how its fields are told apart: a file in, a `TableSample` out."""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

from unspool.data.read.files import TextFile
from unspool.data.rows import table_rows
from unspool.errors import DataError

SAMPLE = 1000  # rows looked at


class TableSample(NamedTuple):
    """The first rows of a table, all as wide as its first; how its fields are told apart."""

    delimiter: str
    quoted: bool
    rows: list[list[str]]


def sample_table(file: TextFile, format: str) -> TableSample:
    delimiter, quoted = dialect(file, format)
    read = table_rows(file, delimiter=delimiter, quoted=quoted)
    rows = [row for _, row in islice(read, SAMPLE + 1)]
    if not rows:
        refuse_empty(file)
        raise DataError("the table has no rows", where=file.name, remedy="name a file with rows")
    # The reader tells of rows of another width.
    return TableSample(delimiter, quoted, [row for row in rows if len(row) == len(rows[0])])


def only_a_header(file: TextFile) -> DataError:
    return DataError(
        "the table has a header and no rows",
        where=file.name,
        remedy="add rows, or set header=false if the first row is data",
    )


def refuse_empty(file: TextFile) -> None:
    if not any(block.strip() for block in file.blocks()):
        raise DataError("the file is empty", where=file.name, remedy="name a file that holds text")


def dialect(file: TextFile, format: str) -> tuple[str, bool]:
    """(delimiter, whether fields may be quoted).

    Comma-separated files quote. Tab-separated ones do if their quotes read well that way; otherwise
    a quotation mark is just a character of the text.
    """
    if format == "csv":
        first = next((line for line in file.lines() if line.strip()), "")
        return next((mark for mark in ",;\t|" if mark in first), ","), True
    opened = any('\t"' in line or line.startswith('"') for line in islice(file.lines(), SAMPLE))
    return "\t", opened and _reads_quoted(file)


def _reads_quoted(file: TextFile) -> bool:
    """Whether the first rows, read with quotes, have no stray quote and all the same width."""
    try:
        rows = islice(table_rows(file, delimiter="\t", quoted=True), SAMPLE)
        return len({len(row) for _, row in rows}) == 1
    except DataError:
        return False
