"""Every format, plain and compressed, is read alike; what was inferred is said in one line."""

import gzip
import io
import json
import os
import sys
import threading
from pathlib import Path

import pytest

from unspool.config import DataConfig
from unspool.data.readers import Example, Source, open_source

ROWS = [("a fine, warm film", "pos"), ('dull "plot"\nand cast', "neg"), ("so so", "pos")] * 4


def source(path: Path, *, task: str | None = None, labelled: bool = True, **data) -> Source:
    return open_source(str(path), DataConfig(**data), task=task, labelled=labelled)


def pairs(found: Source) -> list[tuple[str, str | None]]:
    return [(example.text, example.label) for example in found]


def quote(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def table(delimiter: str, *, header: bool = True) -> str:
    body = "".join(f"{label}{delimiter}{quote(text)}\n" for text, label in ROWS)
    return (f"sentiment{delimiter}review\n" if header else "") + body


FLAT = [(" ".join(text.split()), label) for text, label in ROWS]
FORMATS = {
    "data.csv": (table(","), ROWS),
    "semicolons.csv": (table(";"), ROWS),
    "headerless.csv": (table(",", header=False), ROWS),
    "data.tsv": (table("\t"), ROWS),
    "data.jsonl": ("".join(json.dumps({"text": t, "label": y}) + "\n" for t, y in ROWS), ROWS),
    "spaces.txt": ("".join(f"{y} {t}\n" for t, y in FLAT), FLAT),
    "tabs.txt": ("".join(f"{y}\t{t}\n" for t, y in FLAT), FLAT),
}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("zipped", [False, True])
def test_labelled_formats(tmp_path, name: str, ending: str, mark: str, zipped: bool) -> None:
    content, expected = FORMATS[name]
    data = (mark + content.replace("\n", ending)).encode()
    path = tmp_path / (name + (".gz" if zipped else ""))
    path.write_bytes(gzip.compress(data) if zipped else data)
    found = source(path)
    assert found.task == "classify"
    assert pairs(found) == expected
    assert pairs(found) == expected  # as often as needed
    assert "\n" not in found.says


@pytest.mark.parametrize("name", FORMATS)
def test_standard_input(monkeypatch, name: str) -> None:
    content, expected = FORMATS[name]
    if name in ("semicolons.csv", "headerless.csv"):
        pytest.skip("without a name, only a header tells a table")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
    found = open_source("-", DataConfig(), task=None)
    assert pairs(found) == expected
    assert found.says.startswith("standard input: ")


def test_named_pipe(tmp_path) -> None:
    content, expected = FORMATS["spaces.txt"]
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_text(content))
    writer.start()
    found = source(tmp_path / "pipe")
    writer.join()
    assert pairs(found) == pairs(found) == expected


def test_says(tmp_path) -> None:
    (tmp_path / "reviews.csv").write_text("id,review,sentiment\n1,good,pos\n2,bad,neg\n")
    found = source(tmp_path / "reviews.csv")
    assert found.says.endswith(
        "reviews.csv: CSV, text in column 'review', label in 'sentiment' -> classify"
    )
    (tmp_path / "poem.txt").write_text("Shall I compare thee\nto a summer's day?\n")
    assert source(tmp_path / "poem.txt").says.endswith("poem.txt: one long text -> generate")


def test_lines_where_rows_start(tmp_path) -> None:
    (tmp_path / "a.csv").write_text('text,label\n"two\nlines",x\n\none,y\n"",x\n')
    assert list(source(tmp_path / "a.csv")) == [
        Example("two\nlines", "x", 2),
        Example("one", "y", 5),
        Example("", "x", 6),
    ]


def test_only_line_ends_separate_lines(tmp_path) -> None:
    odd = "one\x85two\u2028three\x0bfour"
    (tmp_path / "a.txt").write_bytes(f"x {odd}\nx b\ny c\ny d\n".encode())
    assert pairs(source(tmp_path / "a.txt"))[0] == (odd, "x")


def test_latin_1_with_next_line_byte(tmp_path) -> None:
    (tmp_path / "a.txt").write_bytes(b"0 caf\xe9 \x85 more\n1 b\n0 c\n1 d\n")
    found = pairs(source(tmp_path / "a.txt", encoding="latin-1"))
    assert found[0] == ("café \x85 more", "0")
    assert len(found) == 4


def test_long_fields(tmp_path) -> None:
    long = "word " * 100_000
    (tmp_path / "a.csv").write_text(f"text,label\n{long},x\nb,y\n")
    assert len(pairs(source(tmp_path / "a.csv"))[0][0]) == len(long.strip())


def test_columns_by_name_and_number(tmp_path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("Id,Title,Body,Kind\n1,t1,b1,x\n2,t2,b2,y\n")
    assert pairs(source(path, text="Title", label="Kind")) == [("t1", "x"), ("t2", "y")]
    assert pairs(source(path, text="title", label="4")) == [("t1", "x"), ("t2", "y")]
    path.write_text("0,3,7,some text\n1,9,8,more text\n")
    assert pairs(source(path, text="4", label="1")) == [("some text", "0"), ("more text", "1")]


def test_header_by_its_label(tmp_path) -> None:
    rows = "".join(f"{'ham' if i % 3 else 'spam'},message {i}\n" for i in range(30))
    (tmp_path / "named.csv").write_text("v1,v2\n" + rows)
    assert "label in 'v1'" in source(tmp_path / "named.csv").says
    (tmp_path / "bare.csv").write_text(rows)
    assert "without a header" in source(tmp_path / "bare.csv").says
    assert len(pairs(source(tmp_path / "bare.csv"))) == 30
    assert len(pairs(source(tmp_path / "bare.csv", header=True))) == 29


def test_label_of_a_sorted_file(tmp_path) -> None:
    rows = [f"{i // 1500}\t{i % 7}\t{i}\ta longer text number {i}\n" for i in range(3000)]
    (tmp_path / "a.tsv").write_text("".join(rows))
    assert "text in column 4, label in column 1" in source(tmp_path / "a.tsv").says


def test_quotes_in_tsv(tmp_path) -> None:
    raw = '0\t"Alien" is a film\n1\t"Aliens\n0\tnone\n1\t"all of it"\n'
    (tmp_path / "raw.tsv").write_text(raw)
    assert pairs(source(tmp_path / "raw.tsv"))[:2] == [('"Alien" is a film', "0"), ('"Aliens', "1")]
    (tmp_path / "quoted.tsv").write_text('text\tlabel\n"a\tb ""c"""\tx\nd\ty\n')
    assert pairs(source(tmp_path / "quoted.tsv")) == [('a\tb "c"', "x"), ("d", "y")]


def test_jsonl_labels_and_columns(tmp_path) -> None:
    path = tmp_path / "a.jsonl"
    rows = [{"stars": 5, "body": "fine"}, {"stars": True, "body": "half \ud800"}]
    path.write_text("\n".join(map(json.dumps, rows)))
    assert pairs(source(path)) == [("fine", "5"), ("half ?", "true")]
    assert source(path, task="generate").says.endswith("text in field 'body' -> generate")


def test_unlabelled_table_is_for_generate(tmp_path) -> None:
    (tmp_path / "a.csv").write_text("text\none\ntwo\nthree\n")
    found = source(tmp_path / "a.csv")
    assert found.task == "generate"
    assert pairs(found) == [("one", None), ("two", None), ("three", None)]


def test_given_task_wins(tmp_path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("x one\ny two\nx three\ny four\n")
    assert source(path).task == "classify"
    whole = source(path, task="generate")
    assert "".join(example.text for example in whole) == path.read_text()
    assert not whole.labelled


def test_for_prediction_no_label_is_needed(tmp_path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("x one\ny two\n\nx three\n")
    found = source(path, task="classify", labelled=False, label="sentiment", text="review")
    assert pairs(found) == [("x one", None), ("y two", None), ("", None), ("x three", None)]
    (tmp_path / "b.csv").write_text("id,review\n1,good\n2,bad\n")
    found = source(tmp_path / "b.csv", task="classify", labelled=False, label="y", text="review")
    assert pairs(found) == [("good", None), ("bad", None)]


def test_folder_of_labels(tmp_path) -> None:
    (tmp_path / "Czech.txt").write_text("Abl\n\nAdsit\n")
    (tmp_path / "Greek.txt.gz").write_bytes(gzip.compress(b"Antonopoulos\n"))
    (tmp_path / "README.md").write_text("not data")
    found = source(tmp_path)
    assert pairs(found) == [("Abl", "Czech"), ("Adsit", "Czech"), ("Antonopoulos", "Greek")]
    assert found.where(3, "Czech").endswith("Czech.txt:3")
    assert "".join(e.text for e in source(tmp_path, task="generate")).startswith("Abl\n")


def test_pieces_of_a_stream_join_to_the_whole(tmp_path) -> None:
    for text in ("word " * 9000, "x" * 40_000, "line\n" * 9000 + "end", "a\r\nb\rc"):
        (tmp_path / "a.txt").write_text(text, newline="")
        found = [example.text for example in source(tmp_path / "a.txt", task="generate")]
        assert "".join(found) == text.replace("\r\n", "\n").replace("\r", "\n")
        assert max(map(len, found)) <= 1 << 14


def test_report_ends_at_one(tmp_path) -> None:
    data = "".join(f"some words {i}\n" for i in range(200_000)).encode()
    for name, content in (("a.txt", data), ("a.txt.gz", gzip.compress(data))):
        (tmp_path / name).write_bytes(content)
        shares: list[float] = []
        for _ in source(tmp_path / name, task="generate").read(shares.append):
            pass
        assert shares == sorted(shares)
        assert shares[-1] == 1
        assert len(shares) > 2


def test_hash_follows_the_content(tmp_path) -> None:
    for name, text in (("a.txt", "one"), ("b.txt", "one"), ("c.txt", "two")):
        (tmp_path / name).write_text(text)
    a, b, c = (source(tmp_path / name).sha256 for name in ("a.txt", "b.txt", "c.txt"))
    assert a == b != c


def test_labels_before_a_tab_may_hold_spaces(tmp_path) -> None:
    rows = "World News\ta b\nSport\tc\n" * 12
    (tmp_path / "a.txt").write_text(rows)
    assert pairs(source(tmp_path / "a.txt"))[:2] == [("a b", "World News"), ("c", "Sport")]
    (tmp_path / "b.txt").write_text(rows + "Sport d\n")
    assert pairs(source(tmp_path / "b.txt"))[-1] == ("d", "Sport")


def test_a_long_line_is_looked_at_in_part(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("unspool.data.read.files.BLOCK", 64)
    text = "word " * 1000
    (tmp_path / "a.txt").write_text(text)
    found = source(tmp_path / "a.txt")
    assert found.task == "generate"
    assert "".join(example.text for example in found) == text


def test_many_blank_lines_come_first(tmp_path) -> None:
    (tmp_path / "a.txt").write_text("\n" * 3000 + "text")
    assert source(tmp_path / "a.txt").task == "generate"
