"""Every format as columns of raw values, with the lines where rows start."""

from __future__ import annotations

import ast
import gzip
import json
import os
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from messy import CASES

from unspool.config import DataConfig
from unspool.data import read
from unspool.data.read import Table, excel, open_table
from unspool.errors import DataError


def table(path: Path | str, **data) -> Table:
    return open_table(str(path), DataConfig(**data))


def content(found: Table) -> list[tuple]:
    return [(*row.values, row.line) for row in found.rows(found.columns)]


def conllu_row(number: object, word: str, kind: str) -> str:
    return "\t".join([str(number), word, "_", kind, *["_"] * 6]) + "\n"


YEARS = ["Country", "Code", *map(str, range(1990, 1996))]
SENTENCES = "-DOCSTART- -X- O\n\nEU B-ORG\nleft O\n\nHe O\n"
# name: content, format, whether it has a header, names of the columns, rows with their lines
FORMATS = {
    "a.csv": ('id,review\n1,"two\nlines"\n\n2, b \n', "csv", True, ["id", "review"],
              [("1", "two\nlines", 2), ("2", "b", 5)]),
    "b.csv": ("1;x\n2;y\n", "csv", False, ["1", "2"], [("1", "x", 1), ("2", "y", 2)]),
    "years.csv": (",".join(YEARS) + "\nPeru,PER,3,1,4,1,5,9\n", "csv", True, YEARS,
                  [("Peru", "PER", "3", "1", "4", "1", "5", "9", 2)]),
    "numbered.csv": (",0,1,2,3,4\n0,5,6,7,8,9\n", "csv", True, ["", "0", "1", "2", "3", "4"],
                     [("0", "5", "6", "7", "8", "9", 2)]),
    "named-last.csv": ("0,1,2,3,4,x\n5,6,7,8,9,a\n", "csv", True, ["0", "1", "2", "3", "4", "x"],
                       [("5", "6", "7", "8", "9", "a", 2)]),
    "in-turn.csv": ("0,1,2,3,4\n1,2,3,4,5\n", "csv", False, ["1", "2", "3", "4", "5"],
                    [("0", "1", "2", "3", "4", 1), ("1", "2", "3", "4", "5", 2)]),
    "a.tsv": ('0\t"Alien" is\n1\tb\n', "tsv", False, ["1", "2"],
              [("0", '"Alien" is', 1), ("1", "b", 2)]),
    "a.jsonl": ('{"n": 1, "t": " a"}\n\n{"t": ["b"], "n": null}\n', "jsonl", True, ["n", "t"],
                [(1, " a", 1), (None, ["b"], 3)]),
    "plain.txt": ("one two\nthree\n", "text", False, ["text"], [("one two\nthree\n", 1)]),
    "labels.txt": ("x a b\ny c\n\nx d\ny e\n", "labelled", False, ["label", "text"],
                   [("x", "a b", 1), ("y", "c", 2), ("x", "d", 4), ("y", "e", 5)]),
    "a.conll": (SENTENCES, "conll", False, ["1", "2"],
                [(["EU", "left"], ["B-ORG", "O"], 3), (["He"], ["O"], 6)]),
    "b.txt": (SENTENCES, "conll", False, ["1", "2"],
              [(["EU", "left"], ["B-ORG", "O"], 3), (["He"], ["O"], 6)]),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("zipped", [False, True], ids=["plain", "gzip"])
def test_formats(tmp_path, name: str, zipped: bool) -> None:
    text, format, header, names, rows = FORMATS[name]
    path = tmp_path / (name + (".gz" if zipped else ""))
    path.write_bytes(gzip.compress(text.encode()) if zipped else text.encode())
    found = table(path)
    assert (found.format, found.header) == (format, header)
    assert [column.name for column in found.columns] == names
    assert [column.number for column in found.columns] == list(range(len(names)))
    assert content(found) == content(found) == rows
    if format != "text":
        assert [column.sample[0] for column in found.columns] == list(rows[0][:-1])
    for column in found.columns:
        assert [row.values for row in found.rows([column])] == [
            (row[column.number],) for row in rows
        ]


def test_universal_dependencies(tmp_path) -> None:
    text = "# text = x\n" + conllu_row("1-2", "im", "_") + conllu_row(1, "in", "ADP")
    (tmp_path / "a.txt").write_text(text + conllu_row(2, "dem", "DET"))
    found = table(tmp_path / "a.txt")
    assert found.format == "conllu"
    assert found.columns[3].name == "upos"
    assert content(found)[0][1:4] == (["in", "dem"], ["_", "_"], ["ADP", "DET"])
    assert found.token_line(0, 1) == 4
    assert found.where(4).endswith("a.txt:4")


def test_a_folder(tmp_path) -> None:
    (tmp_path / "Czech.txt").write_text("Abl\n\nAdsit\n")
    (tmp_path / "Greek.txt").write_text("Antonopoulos\n")
    found = table(tmp_path)
    assert found.summary == f"{tmp_path}: 2 files, one item a line"
    rows = [("Abl", "Czech", 1), ("Adsit", "Czech", 3), ("Antonopoulos", "Greek", 1)]
    assert content(found) == rows
    assert found.where(1, file=1) == f"{tmp_path}/Greek.txt:1"
    whole = found.reread("text")
    assert whole.summary == f"{tmp_path}: 2 files of text"
    assert "".join(row.values[0] for row in whole.rows(whole.columns)).startswith("Abl\n\nAdsit")
    assert [row.values[0] for row in found.reread("lines").rows(whole.columns)][1] == ""
    assert whole.sha256 == found.sha256


def test_a_folder_with_names_that_are_no_text(tmp_path) -> None:
    (tmp_path / "pos.txt").write_text("good\n")
    (tmp_path / "\udcff.txt").write_text("bad\n")
    with pytest.raises(DataError, match=r"\?\.txt: its name is not valid text.*Rename it"):
        table(tmp_path)


@pytest.mark.parametrize("asked", [",", " , ", ""])
def test_an_option_without_a_name(tmp_path, asked: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,label\na,x\n")
    with pytest.raises(DataError, match=r"--text names no column.*Choose from text, label"):
        table(path).several(asked, option="text")


def test_damaged_arrow_files(tmp_path) -> None:
    """Offsets that lead outside of the file, and bytes that are no text."""
    pa = pytest.importorskip("pyarrow")
    path, column = tmp_path / "a.arrow", pa.array(["good film", "bad film"])
    for damaged, reason in (
        (b"good\xff", "Invalid UTF8"),
        (b"\x09\x00\x00\x7f\x11\x00\x00\x00", "Offset invariant failure"),
    ):
        whole = pa.table({"text": column, "label": column})
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, whole.schema) as writer:
            writer.write_table(whole)
        found = b"good " if damaged.startswith(b"good") else b"\x09\0\0\0\x11\0\0\0"
        content = path.read_bytes()
        assert found in content
        path.write_bytes(content.replace(found, damaged, 1))
        with pytest.raises(DataError, match=rf"a\.arrow: cannot be read \(.*{reason}"):
            table(path)


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.xlsx"])
def test_what_other_libraries_read_may_be_compressed(tmp_path, name: str) -> None:
    pytest.importorskip("openpyxl" if name.endswith("xlsx") else "pyarrow")
    case = next(case for case in CASES if case.name == name)
    case.write(tmp_path / name)
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress((tmp_path / name).read_bytes()))
    assert content(table(packed)) == content(table(tmp_path / name))
    packed.write_bytes(packed.read_bytes()[:-20])
    with pytest.raises(DataError, match="the compressed file is damaged"):
        table(packed)


def test_damaged_excel_files(tmp_path) -> None:
    """A sheet is parsed as it is read; the size that it gives itself is not believed."""
    pytest.importorskip("openpyxl")
    path = tmp_path / "a.xlsx"
    next(case for case in CASES if case.name == "a.xlsx").write(path)

    def rewritten(old: bytes, new: bytes) -> None:
        with zipfile.ZipFile(path) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
        sheet = "xl/worksheets/sheet1.xml"
        assert old in files[sheet]
        files[sheet] = files[sheet].replace(old, new, 1)
        with zipfile.ZipFile(path, "w") as archive:
            for name, own in files.items():
                archive.writestr(name, own)

    whole = content(table(path))
    rewritten(b'ref="A1:B49"', b'ref="A1:XFD49"')
    assert content(table(path)) == whole
    rewritten(b"</sheetData>", b"</sheet>")
    with pytest.raises(
        DataError, match=r"a\.xlsx: is not an Excel file that can be read \(mismatched"
    ):
        content(table(path))


def test_damaged_arrays(tmp_path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.zeros((4, 3)))
    path.write_bytes(path.read_bytes().replace(b"}", b"{", 1))
    with pytest.raises(DataError, match=r"a\.npy: is a NumPy file that is damaged, or none"):
        table(path)


def test_a_sheet_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openpyxl")
    path, parsed = tmp_path / "a.xlsx", []
    rows_of = excel.rows_of
    monkeypatch.setattr(excel, "rows_of", lambda *a: parsed.append(a) or rows_of(*a))
    next(case for case in CASES if case.name == "a.xlsx").write(path)
    table = open_table(str(path), DataConfig())
    first = list(table.rows(table.columns))
    assert list(open_table(str(path), DataConfig()).rows(table.columns)) == first
    assert len(parsed) == 1
    os.utime(path, ns=(1, 1))
    assert list(open_table(str(path), DataConfig()).rows(table.columns)) == first
    assert len(parsed) == 2, "a file that has changed is parsed again"


def test_an_array_with_the_header_of_python_2(tmp_path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.zeros((4, 3)))
    found = path.read_bytes()
    path.write_bytes(found.replace(b"(4, 3), }  ", b"(4L, 3L), }"))
    assert path.read_bytes() != found
    assert [values.shape for values in (row[0].values for row in content(table(path)))] == [
        (3, 1)
    ] * 4


def test_a_member_of_npz_that_is_no_array(tmp_path) -> None:
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", b"no array")
    with pytest.raises(DataError, match=r"a\.npz: is a NumPy file that is damaged, or none"):
        table(path)


def test_numbers_of_arrays_that_are_too_large_for_32_bits(tmp_path) -> None:
    np.save(tmp_path / "a.npy", np.full((4, 3), 1e300))
    with pytest.raises(DataError, match="is infinite, or too large for 32 bits"):
        content(table(tmp_path / "a.npy"))


def test_an_encoding_that_makes_no_characters(tmp_path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,label\n\\ud800,a\n")
    with pytest.raises(DataError, match=r"a\.csv: cannot be read as raw_unicode_escape"):
        open_table(str(path), DataConfig(encoding="raw_unicode_escape"))


def test_parallel_files(tmp_path) -> None:
    (tmp_path / "a.en").write_text("a dog\n\nx\n")
    (tmp_path / "a.de").write_text("ein Hund\ny\nz\n")
    found = table(f"{tmp_path}/a.en,{tmp_path}/a.de")
    assert found.summary == f"{tmp_path}/a.en, {tmp_path}/a.de: pairs of lines"
    assert content(found) == [("a dog", "ein Hund", 1), ("", "y", 2), ("x", "z", 3)]
    assert [row.values for row in found.rows(found.columns[1:])] == [("ein Hund",), ("y",), ("z",)]
    assert found.where(2, column=found.columns[1]) == f"{tmp_path}/a.de:2"
    (tmp_path / "a.de").write_text("ein Hund\n")
    with pytest.raises(DataError, match=r"a\.en:2: this line has no partner: .* has 3 lines .* 1"):
        content(found)


def test_summaries(tmp_path) -> None:
    for name, text, expected in (
        ("a.csv", "text,label\na,b\n", "CSV"),
        ("b.tsv", "1\t2\n3\t4\n", "TSV without a header"),
        ("c.jsonl", '{"a": 1}\n', "JSON lines"),
        ("d.txt", "a text\n", "one long text"),
        ("e.txt", "x a\ny b\n" * 9, "lines of `label text`"),
        ("f.conll", "a O\n", "CoNLL columns"),
    ):
        (tmp_path / name).write_text(text)
        assert table(tmp_path / name).summary == f"{tmp_path / name}: {expected}"


def test_columns_by_name_and_number(tmp_path) -> None:
    (tmp_path / "a.csv").write_text("Id,Body\n1,a\n2,b\n")
    found = table(tmp_path / "a.csv", header=True)
    for asked in ("Body", "body", "2"):
        assert found.column(asked, option="text").number == 1
    with pytest.raises(DataError, match=r"a\.csv:1: there is no column 3, only 2.*with --text"):
        found.column("3", option="text")
    with pytest.raises(
        DataError, match=r"no column .bdy. among Id, Body\. Did you mean --text Body"
    ):
        found.column("bdy", option="text")
    (tmp_path / "a.jsonl").write_text('\n{"text": "a"}\n')
    with pytest.raises(DataError, match=r"a\.jsonl:2: has no field 'txt'.*Did you mean 'text'"):
        table(tmp_path / "a.jsonl").column("txt", option="text")


def test_names_that_are_asked_for_make_a_header(tmp_path) -> None:
    (tmp_path / "a.tsv").write_text("p\tq\na\tb\nc\td\n")
    assert not table(tmp_path / "a.tsv").header
    assert table(tmp_path / "a.tsv", source="q").header
    assert table(tmp_path / "a.tsv").reread("tsv", header=True).header
    (tmp_path / "a.csv").write_text("en,de\na,b\nc,d\n")
    assert table(tmp_path / "a.csv").header


def test_other_formats_of_the_same_file(tmp_path) -> None:
    (tmp_path / "a.txt").write_text("x one\ny two\nx three\ny four\n")
    found = table(tmp_path / "a.txt")
    assert not found.certain
    assert content(found.reread("lines"))[1] == ("y two", 2)
    assert content(found.reread("text")) == [("x one\ny two\nx three\ny four\n", 1)]
    (tmp_path / "b.txt").write_text(SENTENCES)
    assert table(tmp_path / "b.txt").as_documents().format == "text"
    assert table(tmp_path / "b.txt", format="conll").as_documents().format == "conll"


def test_the_key_says_how_a_file_is_read(tmp_path) -> None:
    (tmp_path / "a.csv").write_text("text,label\na,x\n")
    found = table(tmp_path / "a.csv")
    keys = [found.key, found.reread("csv", header=False).key, found.reread("lines").key]
    assert len({json.dumps(key) for key in keys}) == 3
    (tmp_path / "b.csv").write_text("text,label\na,x\n")
    assert table(tmp_path / "b.csv").key == found.key


def test_a_report_of_what_is_read(tmp_path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("some words\n" * 200_000)
    shares: list[float] = []
    found = table(tmp_path)
    assert sum(1 for _ in found.rows(found.columns, shares.append)) == 400_000
    assert shares == sorted(shares)
    assert shares[-1] == 1


READ = sorted(Path(read.__file__).parent.glob("*.py"))
TASK_NAMES = re.compile(r"\b(classify|tag|generate|translate|pretrain|elmo)\b", re.IGNORECASE)


@pytest.mark.parametrize("path", READ, ids=lambda path: path.name)
def test_readers_know_no_task(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            assert not TASK_NAMES.fullmatch(node.id)
        if isinstance(node, (ast.ImportFrom, ast.Import)):
            names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
            assert not any("unspool.tasks" in name for name in names)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value != "tag":
            assert not TASK_NAMES.search(node.value), node.value  # "tag" is a name of columns
