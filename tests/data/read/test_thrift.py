"""Footers of Parquet files as pyarrow reads them; damaged ones never end the process."""

from __future__ import annotations

import subprocess
import sys
from io import BytesIO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unspool.data.read.arrow import (
    COLUMNS,
    DICTIONARY,
    META,
    ROWS,
    SIZE,
    VALUES,
    dictionary_size,
    row_groups,
)
from unspool.data.read.thrift import ThriftReader

TABLE = pa.table(
    {
        "text": [f"text {n % 7}" for n in range(500)],
        "number": list(range(500)),
        "real": [n / 7 for n in range(500)],
        "flag": [n % 3 == 0 for n in range(500)],
        "list": [[n] * (n % 4) for n in range(500)],
        "nested": [{"a": n, "b": [f"x{n}"]} for n in range(500)],
        "gaps": [None if n % 2 else n for n in range(500)],
    }
)
OPTIONS = [
    {},
    {"row_group_size": 33},
    {"compression": "zstd", "use_dictionary": False},
    {"write_statistics": False, "version": "1.0", "data_page_version": "2.0"},
    {"write_page_index": True, "store_schema": False},
]


def written(**options: object) -> bytes:
    content = BytesIO()
    pq.write_table(TABLE, content, **options)
    return content.getvalue()


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_row_groups_are_those_of_pyarrow(options) -> None:
    content = written(**options)
    metadata = pq.ParquetFile(BytesIO(content)).metadata
    groups = row_groups(BytesIO(content))
    assert [group[ROWS] for group in groups] == [
        metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)
    ]
    for i, group in enumerate(groups):
        theirs = [metadata.row_group(i).column(k) for k in range(metadata.num_columns)]
        ours = [chunk[META] for chunk in group[COLUMNS]]
        assert [c[VALUES] for c in ours] == [c.num_values for c in theirs]
        assert [c[SIZE] for c in ours] == [c.total_uncompressed_size for c in theirs]
        offsets = [c.dictionary_page_offset or None for c in theirs]
        assert [c.get(DICTIONARY) or None for c in ours] == offsets
    texts = groups[0][COLUMNS][0][META]
    size = dictionary_size(texts, BytesIO(content))
    rows = options.get("row_group_size", 500)
    expected = 0 if options.get("use_dictionary") is False else min(7, rows) * (4 + len("text 0"))
    assert size == expected


DAMAGE = """
import random, sys
from pathlib import Path
from unspool.config.resolve import resolve_data
from unspool.data.read import open_table
from unspool.errors import DataError

content, path, counts = Path(sys.argv[1]).read_bytes(), Path(sys.argv[2]), [0, 0]
footer = int.from_bytes(content[-8:-4], "little")
for seed in range(400):
    rng, damaged = random.Random(seed), bytearray(content)
    for _ in range(rng.randint(1, 3)):
        position = len(content) - 8 - rng.randint(1, footer)
        damaged[position] = rng.choice([0, 1, 0x7F, 0xFF, rng.randrange(256)])
    path.write_bytes(damaged)
    try:
        open_table(str(path), resolve_data([]))
        counts[0] += 1
    except DataError as error:
        assert "damaged.parquet" in str(error)
        counts[1] += 1
print(*counts)
"""


def test_damaged_footers_are_one_line(tmp_path) -> None:
    whole = tmp_path / "whole.parquet"
    whole.write_bytes(written())
    words = [sys.executable, "-c", DAMAGE, str(whole), str(tmp_path / "damaged.parquet")]
    ended = subprocess.run(words, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-2000:]
    read, refused = map(int, ended.stdout.split())
    assert read > 20
    assert refused > 20


@pytest.mark.parametrize(
    "data",
    [b"", b"\x15", b"\x15\xff", b"\x18\x7fabc", b"\x1c" * 50, b"\x19\xf5\xff\xff\xff\x7f",
     b"\x1b\x01", b"\x15" + b"\xff" * 12, b"\x1d", b"\x19\x50"],
)  # fmt: skip
def test_what_is_no_structure(data) -> None:
    with pytest.raises(ValueError, match="damaged description"):
        ThriftReader(data).struct()
