"""Numbers as tables write them: `1.234,5` and `1,234.5` in, `1234.5` out.

A column is rewritten where all its cells are numbers of one style, and one of them has a comma. A
comma between digits is that of decimals where something else stands between the cells, and parts
thousands where commas do: `10,128` alone does not tell.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from unspool.data.read.columns import is_missing, plain

Decimal = Literal["auto", "point", "comma"]
POINT = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?|[+-]?\d+(\.\d+)?(e[+-]?\d+)?", re.IGNORECASE)
COMMA = re.compile(r"[+-]?\d{1,3}(\.\d{3})+(,\d+)?|[+-]?\d+(,\d+)?(e[+-]?\d+)?", re.IGNORECASE)
# Columns in which commas stand between the numbers of classes
LISTS = ("label", "labels", "class", "classes", "category", "categories", "tags", "topics", "ids")


class Numerals(NamedTuple):
    """The mark before decimals, and the one that parts thousands."""

    decimal: str
    thousands: str

    def plain(self, cell: str) -> str:
        return cell.replace(self.thousands, "").replace(self.decimal, ".")


def find_numerals(
    name: str, cells: Sequence[str], delimiter: str, decimal: Decimal
) -> Numerals | None:
    """None where the cells can be read as they are, or are no numbers."""
    given = [cell for cell in cells if not is_missing(cell) and cell != "?"]
    if not any("," in cell for cell in given) or (decimal == "auto" and plain(name) in LISTS):
        return None
    point, comma = (all(map(style.fullmatch, given)) for style in (POINT, COMMA))
    if decimal == "comma" or (decimal == "auto" and comma and delimiter != ","):
        return Numerals(",", ".") if comma else None
    return Numerals(".", ",") if point else None
