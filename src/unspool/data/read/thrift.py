"""Thrift's compact protocol: bytes in, structures as dicts of the numbers of their fields out.

Parquet describes itself with it. pyarrow ends the process on some damaged descriptions of columns,
which are read here instead.
"""

from __future__ import annotations

from typing import Any

STOP, TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(13)
DEEPEST = 32  # structures within each other

Struct = dict[int, Any]


class ThriftReader:
    """Reads one value after the other; a ValueError where the bytes are no such value."""

    def __init__(self, data: bytes) -> None:
        self.data, self.position = data, 0

    def varint(self) -> int:
        data, at = self.data, self.position
        value = shift = 0
        while True:
            if at >= len(data) or shift > 63:
                raise ValueError("damaged description")
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                self.position = at
                return value
            shift += 7

    def integer(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def byte(self) -> int:
        if self.position >= len(self.data):
            raise ValueError("damaged description")
        self.position += 1
        return self.data[self.position - 1]

    def struct(self, depth: int = 0) -> Struct:
        if depth > DEEPEST:
            raise ValueError("damaged description")
        fields: Struct = {}
        number = 0
        while head := self.byte():
            kind, step = head & 0x0F, head >> 4
            number = number + step if step else self.integer()
            fields[number] = kind == TRUE if kind in (TRUE, FALSE) else self.value(kind, depth)
        return fields

    def value(self, kind: int, depth: int) -> Any:
        if kind in (I16, I32, I64):
            return self.integer()
        if kind == BINARY:
            return self.take(self.varint())
        if kind == STRUCT:
            return self.struct(depth + 1)
        if kind in (LIST, SET):
            head = self.byte()
            count = self.varint() if head >> 4 == 15 else head >> 4
            return [self.value(head & 0x0F, depth + 1) for _ in range(count)]
        if kind in (TRUE, FALSE, BYTE):
            return self.byte()
        if kind == DOUBLE:
            return self.take(8)
        if kind == MAP and not (count := self.varint()):
            return {}
        raise ValueError("damaged description")  # Parquet has no maps

    def take(self, size: int) -> bytes:
        start, self.position = self.position, self.position + size
        if self.position > len(self.data):
            raise ValueError("damaged description")
        return self.data[start : self.position]
