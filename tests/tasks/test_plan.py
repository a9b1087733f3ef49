"""Every format, plain and compressed, is read alike; a line says what was inferred."""

import gzip
import io
import json
import os
import sys
import threading
from pathlib import Path

import pytest

import unspool
from unspool.config import DataConfig
from unspool.data.plan import Plan
from unspool.data.read import open_table
from unspool.errors import DataError
from unspool.tasks import TASKS
from unspool.tasks.planner import Request, choose_plan, open_inputs, open_plan, plan_task

ROWS = [("a fine, warm film", "pos"), ('dull "plot"\nand cast', "neg"), ("so so", "pos")] * 4


def plan(path: Path, *, task: str | None = None, **data) -> Plan:
    return open_plan(path, DataConfig(**data), task)


def rows(found: Plan) -> list[tuple]:
    return [row.values for row in found.rows()]


def text(found: Plan) -> str:
    return "".join(values[0] for values in rows(found))


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
    found = plan(path)
    assert found.task == "classify"
    assert rows(found) == expected
    assert rows(found) == expected  # as often as needed
    assert "\n" not in found.summary


@pytest.mark.parametrize("name", FORMATS)
def test_standard_input(monkeypatch, name: str) -> None:
    content, expected = FORMATS[name]
    if name in ("semicolons.csv", "headerless.csv"):
        pytest.skip("without a name, only a header tells a table")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
    found = open_plan("-", DataConfig())
    assert rows(found) == expected
    assert found.summary.startswith("standard input: ")


def test_named_pipe(tmp_path) -> None:
    content, expected = FORMATS["spaces.txt"]
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_text(content))
    writer.start()
    found = plan(tmp_path / "pipe")
    writer.join()
    assert rows(found) == rows(found) == expected


def test_summary(tmp_path) -> None:
    (tmp_path / "reviews.csv").write_text("id,review,sentiment\n1,good,pos\n2,bad,neg\n")
    found = plan(tmp_path / "reviews.csv")
    assert found.summary.endswith(
        "reviews.csv: CSV, text in column 'review', label in 'sentiment' -> classify"
    )
    (tmp_path / "poem.txt").write_text("Shall I compare thee\nto a summer's day?\n")
    assert plan(tmp_path / "poem.txt").summary.endswith("poem.txt: one long text -> generate")


def test_lines_where_rows_start(tmp_path) -> None:
    (tmp_path / "a.csv").write_text('text,label\n"two\nlines",x\n\none,y\n"",x\n')
    assert list(plan(tmp_path / "a.csv").rows()) == [
        (("two\nlines", "x"), 2, 0),
        (("one", "y"), 5, 0),
        (("", "x"), 6, 0),
    ]


def test_only_line_ends_separate_lines(tmp_path) -> None:
    odd = "one\x85two\u2028three\x0bfour"
    (tmp_path / "a.txt").write_bytes(f"x {odd}\nx b\ny c\ny d\n".encode())
    assert rows(plan(tmp_path / "a.txt"))[0] == (odd, "x")


def test_latin_1_with_next_line_byte(tmp_path) -> None:
    (tmp_path / "a.txt").write_bytes(b"0 caf\xe9 \x85 more\n1 b\n0 c\n1 d\n")
    found = rows(plan(tmp_path / "a.txt", encoding="latin-1"))
    assert found[0] == ("café \x85 more", "0")
    assert len(found) == 4


def test_long_fields(tmp_path) -> None:
    long = "word " * 100_000
    (tmp_path / "a.csv").write_text(f"text,label\n{long},x\nb,y\n")
    assert len(rows(plan(tmp_path / "a.csv"))[0][0]) == len(long.strip())


def test_columns_by_name_and_number(tmp_path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("Id,Title,Body,Kind\n1,t1,b1,x\n2,t2,b2,y\n")
    assert rows(plan(path, text="Title", label="Kind")) == [("t1", "x"), ("t2", "y")]
    assert rows(plan(path, text="title", label="4")) == [("t1", "x"), ("t2", "y")]
    path.write_text("0,3,7,some text\n1,9,8,more text\n")
    assert rows(plan(path, text="4", label="1")) == [("some text", "0"), ("more text", "1")]


def test_header_by_its_label(tmp_path) -> None:
    lines = "".join(f"{'ham' if i % 3 else 'spam'},message {i}\n" for i in range(30))
    (tmp_path / "named.csv").write_text("v1,v2\n" + lines)
    assert "label in 'v1'" in plan(tmp_path / "named.csv").summary
    (tmp_path / "bare.csv").write_text(lines)
    assert "without a header" in plan(tmp_path / "bare.csv").summary
    assert len(rows(plan(tmp_path / "bare.csv"))) == 30
    assert len(rows(plan(tmp_path / "bare.csv", header=True))) == 29


def test_label_of_a_sorted_file(tmp_path) -> None:
    lines = [f"{i // 1500}\t{i % 7}\t{i}\ta longer text number {i}\n" for i in range(3000)]
    (tmp_path / "a.tsv").write_text("".join(lines))
    assert "text in column 4, label in column 1" in plan(tmp_path / "a.tsv").summary


def test_quotes_in_tsv(tmp_path) -> None:
    raw = '0\t"Alien" is a film\n1\t"Aliens\n0\tnone\n1\t"all of it"\n'
    (tmp_path / "raw.tsv").write_text(raw)
    assert rows(plan(tmp_path / "raw.tsv"))[:2] == [('"Alien" is a film', "0"), ('"Aliens', "1")]
    (tmp_path / "quoted.tsv").write_text('text\tlabel\n"a\tb ""c"""\tx\nd\ty\n')
    assert rows(plan(tmp_path / "quoted.tsv")) == [('a\tb "c"', "x"), ("d", "y")]


def test_jsonl_labels_and_columns(tmp_path) -> None:
    path = tmp_path / "a.jsonl"
    objects = [{"stars": 5, "body": "fine"}, {"stars": True, "body": "half \ud800"}]
    path.write_text("\n".join(map(json.dumps, objects)))
    assert rows(plan(path)) == [("fine", "5"), ("half ?", "true")]
    assert plan(path, task="generate").summary.endswith("text in field 'body' -> generate")


def test_unlabelled_table_is_for_generate(tmp_path) -> None:
    (tmp_path / "a.csv").write_text("text\none\ntwo\nthree\n")
    found = plan(tmp_path / "a.csv")
    assert found.task == "generate"
    assert rows(found) == [("one\n",), ("two\n",), ("three\n",)]


def test_given_task_wins(tmp_path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("x one\ny two\nx three\ny four\n")
    assert plan(path).task == "classify"
    whole = plan(path, task="generate")
    assert text(whole) == path.read_text()
    assert list(whole.columns) == ["text"]


def test_for_prediction_no_label_is_needed(tmp_path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("x one\ny two\n\nx three\n")
    settings = DataConfig(label="sentiment", text="review")
    found = open_inputs(path, settings, "classify")
    assert rows(found) == [("x one",), ("y two",), ("",), ("x three",)]
    path.write_text("x one\ny two\nx three\ny four\n")
    found = open_inputs(path, DataConfig(), "classify")
    assert 'one document a line (format="labelled" where each begins with a label)' in found.summary
    path.write_text("Urteil\tKommentar\nx\tone two\ny\tthree four\n")
    usual = DataConfig(columns={"text": ("Kommentar",), "label": ("Urteil",)})
    assert rows(open_inputs(path, usual, "classify")) == [("one two",), ("three four",)]
    (tmp_path / "b.csv").write_text("id,review\n1,good\n2,bad\n")
    found = open_inputs(tmp_path / "b.csv", settings, "classify")
    assert rows(found) == [("good",), ("bad",)]


def test_folder_of_labels(tmp_path) -> None:
    (tmp_path / "Czech.txt").write_text("Abl\n\nAdsit\n")
    (tmp_path / "Greek.txt.gz").write_bytes(gzip.compress(b"Antonopoulos\n"))
    (tmp_path / "README.md").write_text("not data")
    found = plan(tmp_path)
    assert rows(found) == [("Abl", "Czech"), ("Adsit", "Czech"), ("Antonopoulos", "Greek")]
    assert found.table.where(3).endswith("Czech.txt:3")
    assert text(plan(tmp_path, task="generate")).startswith("Abl\n")


def test_pieces_of_a_stream_join_to_the_whole(tmp_path) -> None:
    for text in ("word " * 9000, "x" * 40_000, "line\n" * 9000 + "end", "a\r\nb\rc"):
        (tmp_path / "a.txt").write_text(text, newline="")
        found = [values[0] for values in rows(plan(tmp_path / "a.txt", task="generate"))]
        assert "".join(found) == text.replace("\r\n", "\n").replace("\r", "\n")
        assert max(map(len, found)) <= 1 << 14


def test_report_ends_at_one(tmp_path) -> None:
    data = "".join(f"some words {i}\n" for i in range(200_000)).encode()
    for name, content in (("a.txt", data), ("a.txt.gz", gzip.compress(data))):
        (tmp_path / name).write_bytes(content)
        shares: list[float] = []
        for _ in plan(tmp_path / name, task="generate").rows(shares.append):
            pass
        assert shares == sorted(shares)
        assert shares[-1] == 1
        assert len(shares) > 2


def test_hash_follows_the_content(tmp_path) -> None:
    for name, text in (("a.txt", "one"), ("b.txt", "one"), ("c.txt", "two")):
        (tmp_path / name).write_text(text)
    a, b, c = (plan(tmp_path / name).table.sha256 for name in ("a.txt", "b.txt", "c.txt"))
    assert a == b != c


def test_labels_before_a_tab_may_hold_spaces(tmp_path) -> None:
    lines = "World News\ta b\nSport\tc\n" * 12
    (tmp_path / "a.txt").write_text(lines)
    assert rows(plan(tmp_path / "a.txt"))[:2] == [("a b", "World News"), ("c", "Sport")]
    (tmp_path / "b.txt").write_text(lines + "Sport d\n")
    assert rows(plan(tmp_path / "b.txt"))[-1] == ("d", "Sport")


def test_a_long_line_is_looked_at_in_part(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("unspool.data.read.files.BLOCK", 64)
    content = "word " * 1000
    (tmp_path / "a.txt").write_text(content)
    found = plan(tmp_path / "a.txt")
    assert found.task == "generate"
    assert text(found) == content


def test_many_blank_lines_come_first(tmp_path) -> None:
    (tmp_path / "a.txt").write_text("\n" * 3000 + "text")
    assert plan(tmp_path / "a.txt").task == "generate"


CHOSEN = {
    "words and tags before all": ("a.conll", "EU B-ORG\nleft O\n\nHe O\n", {}, "tag"),
    "fields of words and tags": ("a.jsonl", '{"tokens": ["a"], "tags": ["X"]}\n', {}, "tag"),
    "named pairs before labels": ("a.tsv", "source\ttarget\na\tx\nb\tx\n", {}, "translate"),
    "a label": ("a.csv", "text,label\na,x\nb,y\n", {}, "classify"),
    "no label": ("a.csv", "text\na\nb\n", {}, "generate"),
    "text and label are asked for": (
        "a.tsv", "source\ttarget\na\tx\nb\tx\n", {"text": "source", "label": "target"}, "classify",
    ),
    "pairs are asked for": ("a.csv", "text,label\na,x\n", {"source": "2"}, "translate"),
}  # fmt: skip


@pytest.mark.parametrize("case", CHOSEN)
def test_the_task_that_fits_best(tmp_path, case: str) -> None:
    name, content, data, task = CHOSEN[case]
    (tmp_path / name).write_text(content)
    settings = DataConfig(**data)
    table = open_table(str(tmp_path / name), settings)
    found = choose_plan(table, settings, None)
    assert found.task == task
    assert found.summary.startswith(table.summary)
    assert found.summary.endswith(f" -> {task}")


@pytest.mark.parametrize("task", ["pretrain", "elmo"])
def test_tasks_that_must_be_named(tmp_path, task: str) -> None:
    (tmp_path / "a.txt").write_text("x one\ny two\n\nx three\ny four\n")
    table = open_table(str(tmp_path / "a.txt"), DataConfig())
    assert plan_task(TASKS[task], Request(table, DataConfig())) is None
    found = plan(tmp_path / "a.txt", task=task)
    assert found.table.format == "lines"
    assert rows(found)[:3] == [("x one",), ("y two",), ("",)]


def test_a_document_for_a_named_task_may_look_like_sentences(tmp_path) -> None:
    (tmp_path / "a.txt").write_text("EU B-ORG\nleft O\n\nHe O\n")
    assert plan(tmp_path / "a.txt").task == "tag"
    assert text(plan(tmp_path / "a.txt", task="generate")) == "EU B-ORG\nleft O\n\nHe O\n"
    with pytest.raises(DataError, match="read as CoNLL columns, which holds no documents for cl"):
        plan(tmp_path / "a.txt", task="classify", format="conll")


def test_inputs_of_each_task(tmp_path) -> None:
    (tmp_path / "a.conll").write_text("EU B-ORG\nleft O\n\nHe O\n")
    found = open_inputs(tmp_path / "a.conll", DataConfig(label="9"), "tag")
    assert rows(found) == [(["EU", "left"],), (["He"],)]
    (tmp_path / "a.txt").write_text("He left.\n")
    assert rows(open_inputs(tmp_path / "a.txt", DataConfig(), "tag")) == [("He left.",)]
    (tmp_path / "a.jsonl").write_text('{"tokens": ["a", "b c"], "n": 1}\n')
    assert rows(open_inputs(tmp_path / "a.jsonl", DataConfig(), "tag")) == [(["a", "b_c"],)]
    (tmp_path / "a.tsv").write_text("a b c\tlonger than that\nd\tand this\n")
    found = open_inputs(tmp_path / "a.tsv", DataConfig(target="x"), "translate")
    assert list(found.columns) == ["source"]
    assert rows(found) == [("a b c",), ("d",)]


def test_conversions_are_part_of_the_key(tmp_path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "EU left", "spans": [], "tokens": ["EU"]}\n')
    texts = plan(tmp_path / "a.jsonl", task="generate")
    marked = plan(tmp_path / "a.jsonl", task="tag")
    assert texts.key["convert"] == "lines"
    assert marked.key["convert"] == "spans"
    assert rows(marked) == [(["EU", "left"], ["O", "O"])]


def test_planning_a_table_of_texts_runs_few_modules(reviews) -> None:
    source, modules = str(Path(unspool.__file__).parent) + "/", set[str]()

    def note(frame, event, _) -> None:
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(source):
            modules.add(path.removeprefix(source))

    open_plan(reviews, DataConfig())  # imports
    sys.setprofile(note)
    try:
        assert open_plan(reviews, DataConfig()).task == "classify"
    finally:
        sys.setprofile(None)
    assert len(modules) <= 20, "\n".join(sorted(modules))
