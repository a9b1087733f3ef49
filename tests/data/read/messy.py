"""Files as people have them: what each holds, how it is to be read, or why it is refused."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TEXTS = [
    "a fine film with a warm heart",
    "what a bore , I left early",
    "the best two hours of the year",
    "dull , slow and far too long",
    "funny and sad at once",
    "nobody needs this sequel",
]
LABELS = ["pos", "neg"] * 3
ROWS = [(text, label) for _ in range(8) for text, label in zip(TEXTS, LABELS)]
WORDS = [
    "abandon", "beside", "candle", "dinner", "engine", "forest", "garden", "harbor", "island",
    "jacket", "kitten", "ladder", "mirror", "needle", "orange", "pepper", "quartz", "ribbon",
    "silver", "tunnel", "unfold", "velvet", "winter", "yellow",
]  # fmt: skip


@dataclass
class Messy:
    """One file.

    write     what makes the file, or files, at a path
    task      that it is read for; None where it is refused
    rows      the values of the first rows, in the order of the fields
    count     of all rows
    says      what the printed line, or the refusal, has to say (a regular expression)
    settings  of the data section
    asked     the task that the user names
    """

    name: str
    write: Callable[[Path], Any]
    task: str | None = None
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    count: int | None = None
    says: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    asked: str | None = None


def text(content: str, encoding: str = "utf-8") -> Callable[[Path], Any]:
    return lambda path: path.write_bytes(content.encode(encoding))


def raw(content: bytes) -> Callable[[Path], Any]:
    return lambda path: path.write_bytes(content)


def table(header: str | None, sign: str = ",", rows: list[tuple[Any, ...]] = ROWS) -> str:
    """A table; fields that hold the sign are quoted."""

    def cell(value: Any) -> str:
        shown = str(value)
        return '"' + shown.replace('"', '""') + '"' if sign in shown or '"' in shown else shown

    lines = [] if header is None else [header]
    lines += [sign.join(cell(value) for value in row) for row in rows]
    return "\n".join(lines) + "\n"


def json_lines(*names: str, rows: list[tuple[Any, ...]] = ROWS) -> str:
    return "".join(json.dumps(dict(zip(names, row))) + "\n" for row in rows)


def records(*names: str) -> list[dict[str, Any]]:
    return [dict(zip(names, row)) for row in ROWS]


def zipped(files: dict[str, str | bytes]) -> Callable[[Path], Any]:
    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in files.items():
                archive.writestr(name, content)

    return write


def folder(files: dict[str, str]) -> Callable[[Path], Any]:
    def write(path: Path) -> None:
        for name, content in files.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_text(content, encoding="utf-8")

    return write


def parquet(path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"review": [t for t, _ in ROWS], "stars": [1, 2] * 24}), path)


def arrow(path: Path) -> None:
    import pyarrow as pa

    content = pa.table({"text": [t for t, _ in ROWS], "label": [label for _, label in ROWS]})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, content.schema) as writer:
        writer.write_table(content)


def excel(*sheets: tuple[str, list[tuple[Any, ...]]]) -> Callable[[Path], Any]:
    def write(path: Path) -> None:
        import openpyxl

        book = openpyxl.Workbook()
        book.remove(book.active)
        for name, rows in sheets:
            sheet = book.create_sheet(name)
            for row in rows:
                sheet.append(row)
        book.save(path)

    return write


def numbered(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [(i, *row) for i, row in enumerate(rows)]


FIRST = ROWS[:2]
SWAPPED = [(label, text) for text, label in ROWS]
PLAIN = table("text,label")
CASES = [
    # Tables: delimiters, headers, quotes, names
    Messy("usual.csv", text(PLAIN), "classify", FIRST, 48, "'text', label in 'label'"),
    Messy("semicolon.csv", text(table("text;label", ";")), "classify", FIRST, 48),
    Messy("bar.csv", text(table("text|label", "|")), "classify", FIRST, 48),
    Messy("tab.csv", text(table("text\tlabel", "\t")), "classify", FIRST, 48),
    Messy("usual.tsv", text(table("text\tlabel", "\t")), "classify", FIRST, 48),
    Messy("usual.tab", text(table("text\tlabel", "\t")), "classify", FIRST, 48),
    Messy("table.txt", text(PLAIN), "classify", FIRST, 48, "CSV"),
    Messy("no-ending", text(PLAIN), "classify", FIRST, 48, "CSV"),
    Messy("windows.csv", raw(PLAIN.replace("\n", "\r\n").encode()), "classify", FIRST, 48),
    Messy("old-mac.csv", raw(PLAIN.replace("\n", "\r").encode()), "classify", FIRST, 48),
    Messy("blank-lines.csv", text(PLAIN.replace("\n", "\n\n")), "classify", FIRST, 48),
    Messy("no-last-newline.csv", text(PLAIN.rstrip()), "classify", FIRST, 48),
    Messy("other-names.csv", text(table("Review Text,Verdict")), "classify", FIRST, 48,
          "'Review Text', label in 'Verdict'"),
    Messy("headerless.csv", text(table(None)), "classify", FIRST, 48, "without a header"),
    Messy("label-first.csv", text(table(None, rows=SWAPPED)), "classify", FIRST, 48,
          "text in column 2, label in column 1"),
    Messy("index.csv", text(table(",text,label", rows=numbered(ROWS))), "classify", FIRST, 48),
    Messy("id-column.csv", text(table("id,review_text,outcome", rows=numbered(ROWS))), "classify",
          FIRST, 48, "'review_text', label in 'outcome'"),
    Messy("many-columns.csv", text(table("id,date,user,comment,stars", rows=[
          (i, f"2020-01-{i % 28 + 1:02d}", f"u{i % 9}", t, i % 5 + 1)
          for i, (t, _) in enumerate(ROWS)])), "classify", [(TEXTS[0], "1"), (TEXTS[1], "2")], 48,
          "'comment', label in 'stars'"),
    Messy("foreign-names.csv", text(table("texte,avis")), "classify", FIRST, 48),
    Messy("quoted-newline.csv", text('text,label\n"two\nlines, one row",pos\nthree,neg\n'),
          "classify", [("two\nlines, one row", "pos"), ("three", "neg")], 2),
    Messy("stray-quotes.tsv", text(table("text\tlabel", "\t", rows=[]) +
          'the "best" film\tpos\n"Alien" is back\tneg\n'), "classify",
          [('the "best" film', "pos"), ('"Alien" is back', "neg")], 2),
    Messy("spaces.csv", text("text , label\n a film , pos\n a bore , neg\n"), "classify",
          [("a film", "pos"), ("a bore", "neg")], 2),
    Messy("upper-case.csv", text(table("TEXT,LABEL")), "classify", FIRST, 48),
    Messy("sorted.csv", text(table("text,label", rows=sorted(ROWS, key=lambda row: row[1]))),
          "classify", [(TEXTS[1], "neg")], 48),
    Messy("integers.csv", text(table("text,label", rows=[(t, i % 2) for i, (t, _) in
          enumerate(ROWS)])), "classify", [(TEXTS[0], "0")], 48),
    Messy("booleans.jsonl", text(json_lines("text", "spam", rows=[(t, y == "pos") for t, y in
          ROWS])), "classify", [(TEXTS[0], "true")], 48, "'spam'"),
    Messy("two-texts.csv", text(table("title,body,label", rows=[(t[:5], t, y) for t, y in ROWS])),
          "classify", [("a fin a fine film with a warm heart", "pos")], 48, "columns title, body",
          {"text": "title,body"}),
    Messy("split.csv", text(table("text,label,split", rows=[(*row, "train") for row in ROWS])),
          "classify", FIRST, 48, "label in 'label'"),
    Messy("ratings.csv", text(table("review,rating", rows=[(t, f"{i * 0.37:.2f}") for i, (t, _) in
          enumerate(ROWS)])), "regress", [(TEXTS[0], "0.00")], 48, "--task classify"),
    Messy("genres.csv", text(table("plot,genres", rows=[(t, g) for t, g in zip(TEXTS * 8, [
          "drama, comedy", "comedy", "drama", "action, comedy", "action", "drama, action"] * 8)])),
          "classify", [(TEXTS[0], ["drama", "comedy"])], 48, "--no-multilabel"),
    Messy("flags.csv", text(table("text,toxic,insult,threat", rows=[(t, i % 2, i % 3 % 2, int(
          i % 5 == 0)) for i, (t, _) in enumerate(ROWS)])), "classify",
          [(TEXTS[0], ["threat"]), (TEXTS[1], ["toxic", "insult"])], 48, "toxic, insult, threat"),
    Messy("surnames.csv", text(table("text,author", rows=[(t, "Smith, John" if i % 2 else
          "Doe, Jane") for i, (t, _) in enumerate(ROWS)])), "classify",
          [(TEXTS[0], "Doe, Jane")], 48),
    Messy("missing-labels.csv", text(table("text,label", rows=[*ROWS, ("no label", ""),
          ("nor here", "NaN")])), "classify", FIRST, 50),
    # Encodings
    Messy("bom.csv", raw(b"\xef\xbb\xbf" + PLAIN.encode()), "classify", FIRST, 48),
    Messy("utf-16.csv", text(PLAIN, "utf-16"), "classify", FIRST, 48, "in UTF-16"),
    Messy("utf-16-le.csv", text(PLAIN, "utf-16-le"), "classify", FIRST, 48, "in UTF-16-LE"),
    Messy("utf-16-be.csv", text(PLAIN, "utf-16-be"), "classify", FIRST, 48, "in UTF-16-BE"),
    Messy("utf-32.csv", text(PLAIN, "utf-32"), "classify", FIRST, 48, "in UTF-32"),
    Messy("latin-1.csv", text(table("text,label", rows=[*ROWS, ("un café", "pos")]), "latin-1"),
          says="not valid utf-8.*--encoding cp1252"),
    Messy("russian.csv", text(table("text,label", rows=[("очень хороший фильм о войне", "pos"),
          ("скучное и долгое кино", "neg")] * 9), "cp1251"), says="--encoding cp1251"),
    Messy("koi8.csv", text(table("text,label", rows=[("очень хороший фильм о войне", "pos"),
          ("скучное и долгое кино", "neg")] * 9), "koi8-r"), says="--encoding koi8-r"),
    Messy("chinese.csv", text(table("text,label", rows=[("这部电影非常好看，我很喜欢", "pos"),
          ("太无聊了，我睡着了", "neg")] * 9), "gb18030"), says="--encoding gb"),
    Messy("japanese.csv", text(table("text,label", rows=[("とても面白い映画でした", "pos"),
          ("退屈でした。もう見ません", "neg")] * 9), "shift_jis"),
          says="--encoding shift_jis"),
    Messy("named-encoding.csv", text(table("text,label", rows=[("un café", "pos"), ("bof", "neg")]),
          "latin-1"), "classify", [("un café", "pos")], 2, "", {"encoding": "latin-1"}),
    Messy("nul.csv", raw(PLAIN.encode() + b"a\0b,pos\n"), says="holds a NUL"),
    # Compressed
    Messy("a.csv.gz", raw(gzip.compress(PLAIN.encode())), "classify", FIRST, 48),
    Messy("a.csv.bz2", raw(bz2.compress(PLAIN.encode())), "classify", FIRST, 48),
    Messy("a.csv.xz", raw(lzma.compress(PLAIN.encode())), "classify", FIRST, 48),
    Messy("a.zip", zipped({"a.csv": PLAIN}), "classify", FIRST, 48, "CSV"),
    Messy("mac.zip", zipped({"a.csv": PLAIN, "__MACOSX/._a.csv": "x"}), "classify", FIRST, 48),
    Messy("two.zip", zipped({"a.csv": PLAIN, "b.csv": PLAIN}), says="zip archive of 2 files"),
    Messy("gzip-inside.csv", raw(gzip.compress(PLAIN.encode())), "classify", FIRST, 48),
    Messy("cut.csv.gz", raw(gzip.compress(PLAIN.encode())[:-30]), says="damaged or ends too early"),
    Messy("renamed.csv.gz", text(PLAIN), says=r"is called \.gz but"),
    # Typed tables
    Messy("a.parquet", parquet, "classify", [(TEXTS[0], "1"), (TEXTS[1], "2")], 48, "Parquet"),
    Messy("a.arrow", arrow, "classify", FIRST, 48, "Arrow"),
    Messy("a.feather", arrow, "classify", FIRST, 48, "Arrow"),
    Messy("cut.parquet", raw(b"PAR1" + b"x" * 50), says="cannot be read"),
    Messy("a.xlsx", excel(("data", [("text", "label"), *ROWS])), "classify", FIRST, 48, "Excel"),
    Messy("empty-rows.xlsx", excel(("data", [("text", "label", None), (None, None), *ROWS])),
          "classify", FIRST, 48),
    Messy("sheets.xlsx", excel(("data", [("text", "label"), *ROWS]), ("notes", [("x",)])),
          "classify", FIRST, 48, "sheet 'data' of 2"),
    Messy("other-sheet.xlsx", excel(("notes", [("x",)]), ("data", [("text", "label"), *ROWS])),
          "classify", FIRST, 48, "sheet 'data'", {"sheet": "data"}),
    Messy("no-sheet.xlsx", excel(("data", [("text", "label"), *ROWS])), says="no sheet 'dta'",
          settings={"sheet": "dta"}),
    Messy("broken.xlsx", zipped({"[Content_Types].xml": "<x/>", "xl/workbook.xml": "<x/>"}),
          says="not an Excel file that can be read"),
    # JSON
    Messy("a.jsonl", text(json_lines("text", "label")), "classify", FIRST, 48, "JSON lines"),
    Messy("a.ndjson", text(json_lines("text", "label")), "classify", FIRST, 48),
    Messy("lines.json", text(json_lines("text", "label")), "classify", FIRST, 48, "JSON lines"),
    Messy("array.json", text(json.dumps(records("text", "label"))), "classify", FIRST, 48, "JSON"),
    Messy("pretty.json", text(json.dumps(records("text", "label"), indent=2)), "classify", FIRST,
          48),
    Messy("wrapped.json", text(json.dumps({"version": 1, "data": records("text", "label")})),
          "classify", FIRST, 48),
    Messy("array.txt", text(json.dumps(records("text", "label"), indent=1)), "classify", FIRST, 48),
    Messy("nested.jsonl", text("".join(json.dumps({"meta": {"id": i}, "review": {"text": t,
          "label": y}}) + "\n" for i, (t, y) in enumerate(ROWS))), "classify", FIRST, 48,
          "'review.text', label in 'review.label'",
          {"text": "review.text", "label": "review.label"}),
    Messy("some-lack.jsonl", text('{"text": "a"}\n' + json_lines("text", "label")), "classify",
          [("a", ""), FIRST[0]], 49),
    Messy("null-label.jsonl", text('{"text": "a", "label": null}\n' + json_lines("text", "label")),
          "classify", [("a", ""), FIRST[0]], 49),
    Messy("broken.json", text('[{"text": "a", "label": "x"},\n {"text": \n]'),
          says=r"broken\.json:[23]: not valid JSON"),
    # Lines
    Messy("labelled.txt", text(table(None, " ", rows=[]) + "".join(f"{y} {t}\n" for t, y in ROWS)),
          "classify", FIRST, 48, "label text"),
    Messy("fasttext.txt", text("".join(f"__label__{y} {t}\n" for t, y in ROWS)), "classify", FIRST,
          48, "fastText"),
    Messy("fasttext-several.txt", text("".join(f"__label__{y} __label__x {t}\n" for t, y in ROWS)),
          "classify", [(TEXTS[0], ["pos", "x"])], 48),
    Messy("novel.txt", text("It was a dark night.\nNobody spoke.\n\nThen it rained.\n"),
          "generate", [("It was a dark night.\nNobody spoke.\n\nThen it rained.\n",)], 1),
    # Folders
    Messy("by-name", folder({"pos.txt": "good\nfine\n", "neg.txt": "bad\n"}), "classify",
          [("bad", "neg"), ("good", "pos")], 3, "label = file name"),
    Messy("by-folder", folder({"pos/1.txt": "good\nfine\n", "pos/2.txt": "great", "neg/1.txt":
          "bad\n"}), "classify", [("bad", "neg"), ("good\nfine", "pos")], 3, "label = folder"),
    Messy("other-files", folder({"pos/1.txt": "good", "pos/2.pdf": "x", "neg/1.txt": "bad",
          "neg/3.docx": "x", "README.md": "x", ".git/a": "x"}), "classify", [("bad", "neg"),
          ("good", "pos")], 2, r"2 other files not read \(3.docx, 2.pdf\)"),
    Messy("imdb", folder({"pos/0_9.txt": "good", "neg/0_3.txt": "bad", "unsup/0_0.txt": "what"}),
          "classify", [("bad", "neg"), ("good", "pos")], 2, "1 unlabelled files left out"),
    Messy("imdb-whole", folder({f"{part}/{y}/1.txt": "x" for part in ("train", "test") for y in
          ("pos", "neg")}), "classify", [("x", "neg"), ("x", "pos")], 4,
          "parts train, test by name"),
    Messy("nested", folder({f"{part}/{y}/1.txt": "x" for part in ("one", "two") for y in
          ("pos", "neg")}), says="folders of folders.*--test"),
    Messy("parts", folder({"train.txt": "pos good\nneg bad\n" * 2, "test.txt": "pos fine\n" * 2}),
          "classify", [("good", "pos"), ("bad", "neg")], 6, "parts train, test by name"),
    Messy("csv-folder", folder({"a.csv": PLAIN, "b.csv": PLAIN}), says=r"but 2 \.csv files"),
    # Pairs
    Messy("languages.tsv", text(table("en\tde", "\t", rows=[("a dog", "ein Hund"),
          ("a cat", "eine Katze")] * 9)), "translate", [("a dog", "ein Hund")], 18),
    Messy("word-phones.tsv", text(table("word\tphones", "\t", rows=[(w, " ".join(w.upper())) for w
          in WORDS])), "translate", [("abandon", "A B A N D O N")], 24, "by characters"),
    Messy("phones.tsv", text(table(None, "\t", rows=[(w, " ".join(w.upper())) for w in WORDS])),
          "translate", [("abandon", "A B A N D O N")], 24, "without a header.*by characters"),
    Messy("asked-pairs.tsv", text(table("word\tphones", "\t", rows=[(w, " ".join(w.upper())) for w
          in WORDS])), "translate", [("abandon", "A B A N D O N")], 24, asked="translate"),
    # What is no text
    *(
        Messy(name, raw(start + b"\0" * 300), says=f"is an? {what}")
        for name, start, what in (
            ("a.pdf", b"%PDF-1.7", "PDF"), ("png.txt", b"\x89PNG\r\n", "PNG image"),
            ("jpg.csv", b"\xff\xd8\xff", "JPEG image"), ("a.7z", b"7z\xbc\xaf\x27\x1c", "7-Zip"),
            ("a.rar", b"Rar!\x1a\x07\0", "RAR"), ("a.xls", b"\xd0\xcf\x11\xe0", "old Office"),
            ("a.db", b"SQLite format 3\0", "SQLite"), ("a.npy", b"\x93NUMPY", "NumPy"),
            ("a.pkl", b"\x80\x04\x95", "pickle"), ("a.h5", b"\x89HDF\r\n", "HDF5"),
            ("a.csv.zst", b"\x28\xb5\x2f\xfd", "Zstandard"), ("avi.csv", b"RIFF", "RIFF"),
            ("a.rds", b"X\n\0\0\0\3", "R data file"), ("a.heic", b"\0\0\0\x18ftypheic", "HEIC"),
            ("a.tiff", b"II*\0", "TIFF"),
        )
    ),
    Messy("parquet.csv", raw(b"PAR1"), says="a Parquet file.*--format parquet",
          settings={"format": "csv"}),
    Messy("arrow.txt", raw(b"ARROW1\0\0"), says=r"cannot be read \("),
    Messy("gzip.rds", raw(gzip.compress(b"X\n\0\0\0\3" + b"\0" * 300)), says="is an R data file"),
    Messy("tar.csv", raw(b"a.csv" + b"\0" * 252 + b"ustar\0" + b"\0" * 300), says="a tar archive"),
    Messy("latin-zip.csv", zipped({"a": PLAIN, "b": PLAIN}), says="zip archive",
          settings={"encoding": "latin-1"}),
    Messy("document.docx", zipped({"[Content_Types].xml": "<x/>", "word/document.xml": "<x/>"}),
          says="an Office document"),
    Messy("sheet.ods", zipped({"mimetype": "x", "content.xml": "<x/>"}), says="OpenDocument"),
    # Tables that are wrong
    Messy("empty.csv", raw(b""), says="is empty"),
    Messy("header-only.csv", text("text,label\n"), says="a header and no rows"),
    Messy("ragged.csv", text(PLAIN + "one, two,pos\n"), says=":50: expected 2 columns, found 3"),
    Messy("open-quote.csv", text(PLAIN + '"never closed,pos\n'), says=":50: a quote is opened"),
    Messy("misspelt.csv", text(PLAIN), says="Did you mean --text text", settings={"text": "txet"}),
    Messy("twice.csv", text(PLAIN), says="named twice", settings={"text": "text,text"}),
]  # fmt: skip
