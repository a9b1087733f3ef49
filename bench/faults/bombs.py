"""Bombs: small files that decode to very much, or cost very much, in every format.

Each family is a function that writes one into a folder, of a size in steps from 0 to 1; it returns
the path and the options of the commands that read it.
"""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import lzma
import os
import pickle
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from part import Part
from supervise import Case, apart

Bomb = tuple[Path, list[str]]
Family = Callable[[Path, float], Bomb]
FAMILIES: dict[str, Family] = {}
MEGABYTE = 1 << 20
STEPS = 4  # sizes of a family
SMALL = ["-s", "max_steps=2", "-s", "epochs=1", "-s", "threads=1"]
COMMANDS = ("check", "train")


class Bombs(Part):
    """Small files that decode to very much."""

    name = "bombs"
    short = 0  # tests/data/read/test_bombs.py has the worst of each family
    patience = 20.0

    def case(self, case: Case) -> None:
        names = list(FAMILIES)
        name, step = names[case.number % len(names)], case.number // len(names)
        size = (step % STEPS + 1) / STEPS
        path, options = apart(lambda: FAMILIES[name](case.folder, size))  # its memory is not ours
        command = COMMANDS[(step + case.number) % 2]
        words = ["-o", "out", *SMALL] if command == "train" else []
        ended = case.run(command, path, *words, *options)
        case.check(ended.code in (0, 2), f"{name}: exit code {ended.code}")
        named = str(path) in ended.error or str(case.folder) in ended.error
        case.check(ended.code != 2 or named, f"{name}: no name of a file in {ended.error!r}")


def family(make: Family) -> Family:
    FAMILIES[make.__name__] = make
    return make


def put(folder: Path, name: str, content: bytes, *options: str) -> Bomb:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path, list(options)


def gz(piece: bytes, size: float, before: bytes = b"", after: bytes = b"") -> bytes:
    """A gzip file of members: about `size` megabytes of a piece again and again."""
    piece = piece * max(1, MEGABYTE // len(piece))
    ends = gzip.compress(before), gzip.compress(after)
    return ends[0] + gzip.compress(piece) * round(size) + ends[1]


def archive(files: dict[str, tuple[bytes, bytes, float, bytes]]) -> bytes:
    """A zip file: {name: (before, a piece, megabytes of it, after)}, deflated piecewise."""
    whole, central = io.BytesIO(), b""
    for name, (before, piece, megabytes, after) in files.items():
        piece = piece * max(1, MEGABYTE // len(piece)) if megabytes else b""
        at, crc, size, data = whole.tell(), 0, 0, b""
        for part, times in ((before, 1), (piece, round(megabytes)), (after, 1)):
            deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
            data += (deflate.compress(part) + deflate.flush(zlib.Z_FULL_FLUSH)) * times
            size += len(part) * times
            for _ in range(times):
                crc = zlib.crc32(part, crc)
        data += zlib.compressobj(9, zlib.DEFLATED, -15).flush()
        common = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 33, crc, len(data), size, len(name), 0)
        whole.write(b"PK\3\4" + common + name.encode() + data)
        central += b"PK\1\2" + struct.pack("<H", 20) + common
        central += struct.pack("<HHHII", 0, 0, 0, 0, at) + name.encode()
    count, start = len(files), whole.tell()
    end = struct.pack("<HHHHIIH", 0, 0, count, count, len(central), start, 0)
    return whole.getvalue() + central + b"PK\5\6" + end


# Text


@family
def line_in_gz(folder: Path, size: float) -> Bomb:
    return put(folder, "x.txt.gz", gz(b"a", 3000 * size))


@family
def words_in_gz(folder: Path, size: float) -> Bomb:
    return put(folder, "x.txt.gz", gz(b"a b ", 1000 * size))


@family
def long_cells(folder: Path, size: float) -> Bomb:
    rows = b"".join(b"a b " * round(8e6 * size**2) + b"," + label + b"\n" for label in (b"p", b"n"))
    return put(folder, "x.csv.gz", gzip.compress(b"text,label\n" + rows * 6))


@family
def texts_in_folders(folder: Path, size: float) -> Bomb:
    for i in range(6):
        put(folder, f"x/{'ab'[i % 2]}/{i}.txt.gz", gz(b"a b ", 1000 * size))
    return folder / "x", []


@family
def texts_of_a_table(folder: Path, size: float) -> Bomb:
    for i in range(6):
        put(folder, f"x/texts/t{i}.txt.gz", gz(b"a b ", 1000 * size))
    rows = "".join(f"t{i},{'ab'[i % 2]}\n" for i in range(6))
    put(folder, "x/metadata.csv", f"id,label\n{rows}".encode())
    return folder / "x", []


@family
def rows_in_gz(folder: Path, size: float) -> Bomb:
    return put(folder, "x.csv.gz", gz(b"good,pos\nbad,neg\n", 600 * size, b"text,label\n"))


@family
def lines_in_bz2(folder: Path, size: float) -> Bomb:
    return put(folder, "x.txt.bz2", bz2.compress(b"a\n" * MEGABYTE) * round(1000 * size))


@family
def lines_in_xz(folder: Path, size: float) -> Bomb:
    return put(folder, "x.txt.xz", lzma.compress(b"ab cd\n" * MEGABYTE) * round(300 * size))


@family
def table_in_zip(folder: Path, size: float) -> Bomb:
    files = {"x.csv": (b"text,label\n", b"good,pos\nbad,neg\n", 800 * size, b"")}
    return put(folder, "x.csv.zip", archive(files))


@family
def open_quote(folder: Path, size: float) -> Bomb:
    return put(folder, "x.csv.gz", gz(b"a,b\n", 800 * size, b'text,label\n"'))


@family
def wide_row(folder: Path, size: float) -> Bomb:
    return put(folder, "x.csv", b"a," * round(3e6 * size) + b"b\n" + b"1,2\n" * 9)


@family
def blank_lines(folder: Path, size: float) -> Bomb:
    return put(folder, "x.csv.gz", gz(b"\n", 800 * size, b"text,label\n"))


@family
def tokens_in_gz(folder: Path, size: float) -> Bomb:
    return put(folder, "x.conll.gz", gz(b"Anna B-PER\n", 600 * size))


@family
def labels_in_gz(folder: Path, size: float) -> Bomb:
    content = "".join(f"__label__{i} " for i in range(round(1e5 * size))) + "good film\n"
    return put(folder, "x.txt", content.encode() * 2)


@family
def header_of_vectors(folder: Path, size: float) -> Bomb:
    head = f"{round(1e12 * size)} 100000\n".encode()
    path, _ = put(folder, "v.vec", head + b"good 1 2 3\n")
    table, _ = put(folder, "x.csv", b"text,label\n" + b"good,pos\nbad,neg\n" * 20)
    return table, ["-s", f"embedding.from={path}"]


# JSON


@family
def deep_objects(folder: Path, size: float) -> Bomb:
    row = b'{"a":' * round(5000 * size) + b"1" + b"}" * round(5000 * size)
    return put(folder, "x.jsonl", (row + b"\n") * 9)


@family
def shallow_objects(folder: Path, size: float) -> Bomb:
    row = b'{"a":' * round(990 * size) + b"1" + b"}" * round(990 * size)
    return put(folder, "x.jsonl", (row + b"\n") * 9)


@family
def deep_lists(folder: Path, size: float) -> Bomb:
    row = b"[" * round(3000 * size) + b"]" * round(3000 * size)
    return put(folder, "x.json", b"[" + b",".join([b'{"text":' + row + b"}"] * 5) + b"]")


@family
def escaped_quotes(folder: Path, size: float) -> Bomb:
    return put(folder, "x.json", b'{"a' + b'\\"' * round(3e6 * size) + b'": 1}')


@family
def spaces_in_json(folder: Path, size: float) -> Bomb:
    return put(folder, "x.json", b'{"a"' + b" " * round(8e6 * size) + b': ["x"]}')


@family
def lists_in_json(folder: Path, size: float) -> Bomb:
    return put(folder, "x.json.gz", gz(b"[],", 400 * size, b'[{"text": "a", "x": [', b"0]}]"))


@family
def objects_in_a_line(folder: Path, size: float) -> Bomb:
    return put(folder, "x.jsonl.gz", gz(b"{},", 400 * size, b'{"text": "a", "x": [', b"0]}\n"))


@family
def squad(folder: Path, size: float) -> Bomb:
    start = b'{"data": [{"paragraphs": [{"context": "a b", "qas": ['
    question = b'{"question": "a", "answers": [{"text": "a", "answer_start": 0}], "id": "1"},'
    content = gz(question, 600 * size, start, question[:-1] + b"]}]}]}")
    return put(folder, "x.json.gz", content)


@family
def captions(folder: Path, size: float) -> Bomb:
    start = b'{"images": [{"id": 1, "file_name": "a.jpg"}], "annotations": ['
    caption = b'{"image_id": 1, "caption": "a"},'
    return put(folder, "x.json.gz", gz(caption, 600 * size, start, caption[:-1] + b"]}"))


@family
def chorales(folder: Path, size: float) -> Bomb:
    return put(folder, "x.json.gz", gz(b"[],", 400 * size, b'{"train": [[[60],', b"[60]]]}"))


# Arrays


def array(shape: tuple[int, ...], kind: str = "<f4") -> bytes:
    """The header of a .npy file."""
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text.encode()


def arrays(**members: tuple[tuple[int, ...], str]) -> bytes:
    """A .npz file of zeros."""
    files = {}
    for name, (shape, kind) in members.items():
        size = int(kind[2:])
        for n in shape:
            size *= n
        parts = size // MEGABYTE
        rest = b"\0" * (size - parts * MEGABYTE)
        files[f"{name}.npy"] = (array(shape, kind), b"\0", parts, rest)
    return archive(files)


@family
def series_without_steps(folder: Path, size: float) -> Bomb:
    return put(folder, "x.npy", array((round(1e9 * size), 0, 3)))


@family
def series_of_zeros(folder: Path, size: float) -> Bomb:
    n = round(4000 * size)
    return put(folder, "x.npz", arrays(x=((n, 1000, 200), "<f4"), y=((n,), "<i8")))


@family
def bits_of_series(folder: Path, size: float) -> Bomb:
    return put(folder, "x.npz", arrays(x=((round(1e6 * size), 10, 100), "<i1")))


@family
def many_members(folder: Path, size: float) -> Bomb:
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as file:
        for i in range(round(30_000 * size)):
            file.writestr(f"{i}.npy", array((2,)) + b"\0" * 8)
    return put(folder, "x.npz", zipped.getvalue())


@family
def no_lengths(folder: Path, size: float) -> Bomb:
    n = round(5e6 * size)
    return put(folder, "x.npz", arrays(x=((0, 3), "<f4"), lengths=((n,), "<i8")))


@family
def long_letters(folder: Path, size: float) -> Bomb:
    return put(folder, "x.npz", arrays(x=((3, 4, 2), "<f4"), y=((3,), f"<U{round(1e8 * size)}")))


@family
def bytes_in_npz(folder: Path, size: float) -> Bomb:
    content = {"x.npy": (array((3, 4, 2)) + b"\0" * 96, b"", 0.0, b"")}
    return put(folder, "x.npz", archive({**content, "y": (b"", b"\0", 3000 * size, b"")}))


@family
def images_of_zeros(folder: Path, size: float) -> Bomb:
    content = arrays(image=((round(60 * size) + 1, 4000, 4000), "|u1"))
    return put(folder, "x.npz", content, "-s", "input=image")


@family
def images_without_pixels(folder: Path, size: float) -> Bomb:
    return put(folder, "x.npy", array((round(1e9 * size), 0, 3), "|u1"), "-s", "input=image")


@family
def huge_image(folder: Path, size: float) -> Bomb:
    side = round(30_000 * size)
    return put(folder, "x.npz", arrays(image=((1, side, side), "|u1")), "-s", "input=image")


@family
def long_clip(folder: Path, size: float) -> Bomb:
    content = arrays(video=((2, round(20_000 * size), 100, 200, 3), "|u1"))
    return put(folder, "x.npz", content, "-s", "input=video")


@family
def idx(folder: Path, size: float) -> Bomb:
    head = b"\0\0\x08\3" + struct.pack(">III", round(4e9 * size), 0 if size < 0.5 else 1, 1)
    put(folder, "x-labels-idx1-ubyte", b"\0\0\x08\1" + struct.pack(">I", round(4e9 * size)))
    return put(folder, "x-images-idx3-ubyte", head + b"\0" * 9)


def pickled(instructions: bytes) -> bytes:
    """A .npz file with an array of objects."""
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("train.npy", array((3,), "|O") + instructions)
    return zipped.getvalue()


@family
def nested_tuples(folder: Path, size: float) -> Bomb:
    """A tuple of two of the one before, again and again: a dtype of 2^n letters."""
    nest = b"(tq\0" + b"h\0h\0\x86q\0" * round(60 * size)
    content = b"\x80\2cnumpy\ndtype\n" + nest + b"h\0K\0K\1\x87R."
    return put(folder, "x.npz", pickled(content))


@family
def nested_lists(folder: Path, size: float) -> Bomb:
    value: Any = [[[60]]]
    for _ in range(round(60 * size)):
        value = [value, value]
    import numpy as np

    objects = np.empty(2, object)
    objects[0], objects[1] = value, value
    return put(folder, "x.npz", pickled(pickle.dumps(objects, 2)))


@family
def same_array(folder: Path, size: float) -> Bomb:
    import numpy as np

    drawing = np.ones((200_000, 3), np.int16)
    objects = np.empty(round(300_000 * size), object)
    objects[:] = [drawing] * len(objects)
    return put(folder, "x.npz", pickled(pickle.dumps(objects, 2)))


@family
def marks(folder: Path, size: float) -> Bomb:
    return put(folder, "x.npz", pickled(b"\x80\2" + b"(" * round(3e7 * size) + b"."))


def matlab(megabytes: float, piece: bytes = b"\0" * 8) -> bytes:
    head = b"MATLAB 5.0 MAT-file".ljust(124) + b"\0\1IM"
    size = round(megabytes) * MEGABYTE
    inner = struct.pack("<IIII", 14, size + 56, 6, 8) + struct.pack("<II", 6, 0)
    inner += struct.pack("<IIII", 5, 8, size // 88 // 8, 88)
    inner += struct.pack("<HHI", 1, 9, 0x61) + struct.pack("<II", 9, size)
    deflate = zlib.compressobj()
    data = deflate.compress(inner)
    for _ in range(round(megabytes)):
        data += deflate.compress(piece * (MEGABYTE // len(piece)))
    data += deflate.flush()
    return head + struct.pack("<II", 15, len(data)) + data


@family
def matlab_zeros(folder: Path, size: float) -> Bomb:
    return put(folder, "x.mat", matlab(900 * size))


@family
def matlab_cells(folder: Path, size: float) -> Bomb:
    import numpy as np
    from scipy.io import savemat

    cells = np.empty((1, round(100_000 * size)), object)
    cells[:] = [[np.zeros((0, 88))] * cells.size]
    file = io.BytesIO()
    savemat(file, {"traindata": cells}, do_compression=True)
    return put(folder, "x.mat", file.getvalue())


# Tables in binary formats


def workbook(sheet: tuple[bytes, bytes, float, bytes], **more: Any) -> bytes:
    """An .xlsx file with a sheet, and other members in place of the usual ones."""
    kinds = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    names = "http://schemas.openxmlformats.org"
    relations = f"{names}/officeDocument/2006/relationships"
    inner = f'<Relationships xmlns="{names}/package/2006/relationships">'
    files = {
        "[Content_Types].xml": f'<Types xmlns="{names}/package/2006/content-types">'
        f'<Override PartName="/xl/workbook.xml" ContentType="{kinds}.sheet.main+xml"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{kinds}.worksheet+xml"/>'
        f'<Override PartName="/xl/sharedStrings.xml" ContentType="{kinds}.sharedStrings+xml"/>'
        "</Types>",
        "_rels/.rels": f'{inner}<Relationship Id="r1" Type="{relations}/officeDocument"'
        ' Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{names}/spreadsheetml/2006/main"'
        f' xmlns:r="{relations}"><sheets><sheet name="a" sheetId="1" r:id="r1"/></sheets>'
        "</workbook>",
        "xl/_rels/workbook.xml.rels": f'{inner}<Relationship Id="r1" Type="{relations}/worksheet"'
        f' Target="worksheets/sheet1.xml"/><Relationship Id="r2" Type="{relations}/sharedStrings"'
        ' Target="sharedStrings.xml"/></Relationships>',
    }
    start = f'<worksheet xmlns="{names}/spreadsheetml/2006/main"><sheetData>'.encode()
    before, piece, size, after = sheet
    members: dict[str, Any] = {n: (text.encode(), b"", 0.0, b"") for n, text in files.items()}
    end = after + b"</sheetData></worksheet>"
    members["xl/worksheets/sheet1.xml"] = (start + before, piece, size, end)
    members["xl/sharedStrings.xml"] = (
        f'<sst xmlns="{names}/spreadsheetml/2006/main"><si><t>a</t></si>'.encode(),
        *more.get("strings", (b"", 0.0)),
        b"</sst>",
    )
    for name in more.get("without", ()):
        del members[name]
    return archive(members)


def cells(row: int, *values: str, column: str = "") -> bytes:
    inner = "".join(
        f'<c r="{column or chr(65 + i)}{row}" t="inlineStr"><is><t>{value}</t></is></c>'
        for i, value in enumerate(values)
    )
    return f'<row r="{row}">{inner}</row>'.encode()


SHEET = cells(1, "text", "label") + b"".join(cells(i, "good", "pos") for i in range(2, 30))


@family
def row_number(folder: Path, size: float) -> Bomb:
    last = cells(round(1e9 * size), "a", "b")
    return put(folder, "x.xlsx", workbook((SHEET, b"", 0.0, last)))


@family
def far_columns(folder: Path, size: float) -> Bomb:
    rows = b"".join(
        cells(i, "a", column="XFD" if size < 0.9 else "ZZZ") for i in range(30, round(5e4 * size))
    )
    return put(folder, "x.xlsx", workbook((SHEET, b"", 0.0, rows)))


@family
def many_rows(folder: Path, size: float) -> Bomb:
    row = b'<row><c t="inlineStr"><is><t>a</t></is></c></row>'
    return put(folder, "x.xlsx", workbook((SHEET, row, 500 * size, b"")))


@family
def shared_strings(folder: Path, size: float) -> Bomb:
    strings = b"<si><t>ab</t></si>", 500 * size
    return put(folder, "x.xlsx", workbook((SHEET, b"", 0.0, b""), strings=strings))


@family
def long_cell(folder: Path, size: float) -> Bomb:
    start, end = b'<row r="40"><c t="inlineStr"><is><t>', b"</t></is></c></row>"
    return put(folder, "x.xlsx", workbook((SHEET + start, b"a", 500 * size, end)))


@family
def no_sheet(folder: Path, size: float) -> Bomb:
    without = ["xl/worksheets/sheet1.xml", "xl/_rels/workbook.xml.rels"][: 1 + (size > 0.5)]
    return put(folder, "x.xlsx", workbook((SHEET, b"", 0.0, b""), without=without))


def parquet(folder: Path, table: Any, name: str = "x.parquet", **options: Any) -> Bomb:
    import pyarrow.parquet

    pyarrow.parquet.write_table(table, folder / name, compression="zstd", **options)
    return folder / name, []


@family
def parquet_dictionary(folder: Path, size: float) -> Bomb:
    import pyarrow as pa

    text = pa.array(["a b " * round(3e6 * size), "c"]).dictionary_encode().dictionary
    table = {"text": pa.DictionaryArray.from_arrays(pa.array([0, 1] * 10_000, pa.int32()), text)}
    return parquet(folder, pa.table(table), store_schema=size > 0.5)


@family
def parquet_list(folder: Path, size: float) -> Bomb:
    import pyarrow as pa

    steps = pa.array([[0.0] * round(3e6 * size)] * 5)
    return parquet(folder, pa.table({"x": steps, "label": list("aabba")}))


@family
def parquet_rows(folder: Path, size: float) -> Bomb:
    import numpy as np
    import pyarrow as pa

    n = round(1e8 * size)
    return parquet(folder, pa.table({"a": np.zeros(n, np.int8), "b": np.zeros(n, np.int8)}))


@family
def parquet_dates(folder: Path, size: float) -> Bomb:
    import pyarrow as pa

    dates = pa.array([round(1e18 * size), 1] * 30, pa.timestamp("ms"))
    return parquet(folder, pa.table({"text": ["a", "b"] * 30, "date": dates}))


@family
def arrow_text(folder: Path, size: float) -> Bomb:
    import pyarrow as pa
    import pyarrow.feather

    text = pa.array(["a b " * round(1.5e8 * size)])
    pyarrow.feather.write_feather(
        pa.table({"text": text}), folder / "x.feather", compression="zstd"
    )
    return folder / "x.feather", []


# Series, drawings, music


@family
def ts_colons(folder: Path, size: float) -> Bomb:
    head = b"@problemName x\n@timeStamps true\n@classLabel true a\n@data\n"
    return put(folder, "x.ts", head + b":" * round(1e6 * size) + b"a\n")


@family
def ts_commas(folder: Path, size: float) -> Bomb:
    head = b"@problemName x\n@timeStamps true\n@classLabel true a\n@data\n("
    return put(folder, "x.ts", head + b"1,(" * round(1e6 * size) + b":a\n")


@family
def ts_gaps(folder: Path, size: float) -> Bomb:
    head = b"@problemName x\n@timeStamps false\n@classLabel true a\n@data\n"
    n = round(1e5 * size)
    return put(folder, "x.ts", head + b"1," * n + b"1" + b":1" * n + b":a\n")


@family
def segments(folder: Path, size: float) -> Bomb:
    n = round(3000 * size)
    strokes = b".PEN_DOWN\n1 2\n3 4\n.PEN_UP\n" * n
    names = b"".join(b'.SEGMENT DIGIT 0-%d ? "%d"\n' % (2 * n - 1, i % 9) for i in range(n))
    return put(folder, "x.unp", b".COORD X Y\n" + strokes + names)


@family
def segment_parts(folder: Path, size: float) -> Bomb:
    parts = b",".join([b"0-1"] * round(5e5 * size))
    stroke = b".PEN_DOWN\n1 2\n3 4\n.PEN_UP\n"
    return put(folder, "x.unp", b".COORD X Y\n" + stroke + b".SEGMENT DIGIT " + parts + b' ? "1"\n')


def ink(before: bytes, piece: bytes = b"", megabytes: float = 0, after: bytes = b"") -> bytes:
    start = b'<ink xmlns="http://www.w3.org/2003/InkML"><annotation type="truth">a</annotation>'
    return gz(piece or b" ", megabytes, start + before, after + b"</ink>")


@family
def ink_spaces(folder: Path, size: float) -> Bomb:
    content = ink(b"<trace>1" + b" " * round(2e6 * size) + b"x, 2 3</trace>")
    return put(folder, "x.inkml", gzip.decompress(content))


@family
def ink_points(folder: Path, size: float) -> Bomb:
    content = ink(b"<trace>", b"0 0,", 500 * size, b"1 1</trace>")
    return put(folder, "x.inkml.gz", content)


@family
def ink_traces(folder: Path, size: float) -> Bomb:
    return put(folder, "x.inkml.gz", ink(b"", b"<trace>1 2</trace>", 500 * size))


@family
def long_note(folder: Path, size: float) -> Bomb:
    """A note of up to 2^28 ticks, of which 1 is a beat."""
    ticks = round(((1 << 28) - 1) * size**6)
    groups = [ticks >> shift & 0x7F | (0x80 if shift else 0) for shift in (21, 14, 7, 0)]
    track = b"\0\x90\x3c\x40" + bytes(groups) + b"\x80\x3c\0\0\xff\x2f\0"
    head = b"MThd" + struct.pack(">IHHH", 6, 0, 1, 1)
    return put(folder, "x.mid", head + b"MTrk" + struct.pack(">I", len(track)) + track)


@family
def many_notes(folder: Path, size: float) -> Bomb:
    track = b"\0\x90\x3c\x40" + b"\1\x3c\0\1\x3c\x40" * round(5e5 * size) + b"\0\xff\x2f\0"
    head = b"MThd" + struct.pack(">IHHH", 6, 0, 1, 96)
    return put(folder, "x.mid", head + b"MTrk" + struct.pack(">I", len(track)) + track)


# Sound and images


def wav(rate: int, samples: int, channels: int = 1) -> bytes:
    form = struct.pack("<HHIIHH", 1, channels, rate, rate * channels, channels, 8)
    data = bytes(range(128, 160)) * (samples * channels // 32 + 1)
    chunks = b"fmt " + struct.pack("<I", 16) + form + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks


def spoken(folder: Path, content: bytes, *options: str, name: str = "x.wav") -> Bomb:
    for label in "ab":
        put(folder, f"x/{label}/{name}", content)
        put(folder, f"x/{label}/x2{Path(name).suffix}", content)
    return folder / "x", list(options)


@family
def odd_rates(folder: Path, size: float) -> Bomb:
    return spoken(folder, wav(round(999_983 * size), 20_000), "-s", "rate=15991")


@family
def low_rate(folder: Path, size: float) -> Bomb:
    return spoken(folder, wav(round(1000 / (10 * size)), 300_000), "-s", "rate=1000000")


@family
def many_channels(folder: Path, size: float) -> Bomb:
    return spoken(folder, wav(8000, 20, round(65_535 * size)))


@family
def silence(folder: Path, size: float) -> Bomb:
    import numpy as np
    import soundfile

    file = io.BytesIO()
    soundfile.write(file, np.zeros(round(1e8 * size), np.int16), 16_000, format="FLAC")
    return spoken(folder, file.getvalue(), name="x.flac")


def png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    deflate, data = zlib.compressobj(), b""
    row = b"\0" * (1 + 4 * width)
    for _ in range(height):
        data += deflate.compress(row)
    data += deflate.flush()
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def shown(folder: Path, content: bytes, name: str, *options: str) -> Bomb:
    for label in "ab":
        for i in range(3):
            put(folder, f"x/{label}/{Path(name).stem}{i}{Path(name).suffix}", content)
    return folder / "x", list(options)


@family
def png_of_zeros(folder: Path, size: float) -> Bomb:
    side = round(12_000 * size)
    return shown(folder, png(side, side), "x.png")


def gif(side: int, frames: int) -> bytes:
    """A frame of one colour is a few bytes of LZW for each 4,000 pixels."""
    from PIL import Image

    file = io.BytesIO()
    Image.new("P", (side, side)).save(file, "GIF")
    content = file.getvalue()
    at = content.index(b"\x2c")
    return content[:at] + content[at:-1] * frames + b";"


@family
def large_gif(folder: Path, size: float) -> Bomb:
    return shown(folder, gif(round(8000 * size), 2), "x.gif")


@family
def long_gif(folder: Path, size: float) -> Bomb:
    return shown(folder, gif(8, round(60_000 * size)), "x.gif", "-s", "input=video")


@family
def long_large_gif(folder: Path, size: float) -> Bomb:
    return shown(folder, gif(round(4000 * size), 30), "x.gif", "-s", "input=video")


@family
def many_large_images(folder: Path, size: float) -> Bomb:
    content = gif(round(6000 * size), 1)
    for i in range(60):
        put(folder, f"x/{'ab'[i % 2]}/x{i}.gif", content)
    return folder / "x", []


@family
def png_in_cells(folder: Path, size: float) -> Bomb:
    side = round(12_000 * size)
    cell = base64.b64encode(png(side, side)).decode()
    rows = "".join(f"{cell},{'ab'[i % 2]}\n" for i in range(6))
    return put(folder, "x.csv", f"image,label\n{rows}".encode())


# Pipes and devices


def pipe(name: str, content: bytes, others: str = "") -> None:
    """A family: a folder with a pipe, or a link to a device, among files of its kind."""

    def make(folder: Path, size: float) -> Bomb:
        path = folder / "x" / name
        for other in "bc":
            put(folder, f"x/{others or name.replace('a.', f'{other}.')}", content)
        if size < 0.6:
            os.mkfifo(path)
        else:
            path.symlink_to("/dev/zero")
        return folder / "x", []

    FAMILIES[f"pipe_{name}"] = make


pipe("a.txt", b"good\nbad\n")
pipe("a.txt.gz", gzip.compress(b"good\nbad\n"))
pipe("a.wav", wav(8000, 900))
pipe("a.mid", b"")
pipe("a.csv", b"t,x\n1,2\n2,3\n")
pipe("a.png", b"")
pipe("1.trans.txt", wav(8000, 900), "1-1.wav")
pipe("a.npy", array((3, 2)) + b"\0" * 24)
pipe("a.inkml", b"")
pipe("a.gif", b"")


@family
def devices(folder: Path, size: float) -> Bomb:
    names = ["zero", "random", "full", "urandom"]
    return Path("/dev") / names[round(size * STEPS) - 1], []


# Markup and the formats of archives


@family
def html_spans(folder: Path, size: float) -> Bomb:
    cell = b"<td colspan=1000 rowspan=1000>a" * 16
    rows = b"<tr>" + cell + b"</tr>" + b"<tr><td>b</tr>" * round(2e5 * size)
    return put(folder, "x.html", b"<table>" + rows + b"</table>")


@family
def html_tables(folder: Path, size: float) -> Bomb:
    return put(folder, "x.html.gz", gz(b"<table><tr><td>", 300 * size, b"<html>"))


@family
def html_many_tables(folder: Path, size: float) -> Bomb:
    table = b"<table><tr><td>a<tr><td>b</table>"
    return put(folder, "x.html.gz", gz(table, 300 * size, b"<html>"))


@family
def html_entities(folder: Path, size: float) -> Bomb:
    return put(folder, "x.html.gz", gz(b"&amp;", 300 * size, b"<table><tr><td>"))


@family
def unclosed_tags(folder: Path, size: float) -> Bomb:
    content = gz(b"<i>a<teiHeader>", 300 * size, b"<?xml version='1.0'?><TEI>")
    return put(folder, "x.xml.gz", content, "-s", "data.format=markup")


@family
def markup_without_tags(folder: Path, size: float) -> Bomb:
    content = gz(b"a", 3000 * size, b"<?xml version='1.0'?><TEI>")
    return put(folder, "x.xml.gz", content, "-s", "data.format=markup")


@family
def arff_attributes(folder: Path, size: float) -> Bomb:
    names = b"@attribute a numeric\n" * round(1e6 * size)
    return put(folder, "x.arff.gz", gzip.compress(b"@relation x\n" + names + b"@data\n1,2\n"))


@family
def arff_quotes(folder: Path, size: float) -> Bomb:
    head = b"@relation x\n@attribute a string\n@attribute b string\n@data\n"
    return put(folder, "x.arff", head + b"'\\'" * round(1e6 * size) + b"\n")


@family
def tsf_dates(folder: Path, size: float) -> Bomb:
    head = b"@relation x\n@attribute start_timestamp date\n@frequency 9999_yearly\n@data\n"
    row = b"9999-01-01 00-00-00:" + b"1," * round(1e6 * size) + b"1\n"
    return put(folder, "x.tsf", head + row, "-s", "horizon=2")


@family
def tsf_attributes(folder: Path, size: float) -> Bomb:
    names = b"@attribute a string\n" * round(1e6 * size)
    return put(folder, "x.tsf.gz", gzip.compress(b"@relation x\n" + names + b"@data\n1:2,3\n"))


@family
def messages(folder: Path, size: float) -> Bomb:
    return put(folder, "x.txt.gz", gz(b"01/02/2021, 10:00 - Ann: a\n", 600 * size))


@family
def long_message(folder: Path, size: float) -> Bomb:
    start = b"01/02/2021, 10:00 - Ann: a\n" * 300
    return put(folder, "x.txt.gz", gz(b"a\n", 600 * size, start))


@family
def json_frame(folder: Path, size: float) -> Bomb:
    return put(folder, "x.json.gz", gz(b'"a",', 300 * size, b'{"a": ["x"], "b": [', b'"a"]}'))
