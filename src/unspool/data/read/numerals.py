"""Numbers as tables write them: `1.234,5` and `$1,234.5` in, `1234.5` out.

A column is rewritten where all its cells are numbers of one style, and one of them has a comma, or
all have the same sign of a currency, or of per cent. A
comma between digits is that of decimals where something else stands between the cells, and parts
thousands where commas do: `10,128` alone does not tell.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from unspool.data.read.columns import plain
from unspool.data.values import is_missing

Decimal = Literal["auto", "point", "comma"]
POINT = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?|[+-]?\d+(\.\d+)?(e[+-]?\d+)?", re.IGNORECASE)
COMMA = re.compile(r"[+-]?\d{1,3}(\.\d{3})+(,\d+)?|[+-]?\d+(,\d+)?(e[+-]?\d+)?", re.IGNORECASE)
# Columns in which commas stand between the numbers of classes
LISTS = ("label", "labels", "class", "classes", "category", "categories", "tags", "topics", "ids")


UNITS = "$€£¥%"


class Numerals(NamedTuple):
    """The mark before decimals, the one that parts thousands (empty: none does), and a sign
    before or behind each number."""

    decimal: str
    thousands: str
    unit: str = ""

    def plain(self, cell: str) -> str:
        cell = without_unit(cell, self.unit)
        return cell.replace(self.thousands, "").replace(self.decimal, ".")


def without_unit(cell: str, unit: str) -> str:
    return cell.replace(unit, "", 1).strip() if unit else cell


def find_unit(cells: Sequence[str]) -> str:
    """The sign before or behind every number; empty where there is none."""
    found = {cell[0] if cell[0] in UNITS else cell[-1] for cell in cells if cell}
    return next(iter(found)) if len(found) == 1 and found <= set(UNITS) else ""


def find_numerals(
    name: str, cells: Sequence[str], delimiter: str, decimal: Decimal
) -> Numerals | None:
    """None where the cells can be read as they are, or are no numbers."""
    given = [cell for cell in cells if not is_missing(cell) and cell != "?"]
    unit = find_unit(given)
    given = [without_unit(cell, unit) for cell in given]
    commas = any("," in cell for cell in given)
    if not (commas or unit) or (decimal == "auto" and plain(name) in LISTS):
        return None
    if not commas:
        return Numerals(".", "", unit) if all(map(POINT.fullmatch, given)) else None
    point, comma = (all(map(style.fullmatch, given)) for style in (POINT, COMMA))
    if decimal == "comma" or (decimal == "auto" and comma and delimiter != ","):
        return Numerals(",", ".", unit) if comma else None
    return Numerals(".", ",", unit) if point else None
