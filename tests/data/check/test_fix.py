"""Repaired copies: what is dropped, what is changed, what is left alone, and the log of it."""

import csv
import gzip
import json
from pathlib import Path

import pytest

import unspool
from unspool.data.check.fix import DROPS, USUAL_DROPS
from unspool.data.fields.text_examiner import TextExaminer
from unspool.errors import ConfigError, DataError

NAMES = [*DROPS, *(name for name, flaw in TextExaminer.FLAWS.items() if flaw.repair)]
LONG = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen {} and end"
# (id, text, label, extra), and what becomes of the row
ROWS = [
    (("1", "a fine film", "pos", "x,y"), None),
    (("2", "", "pos", "-"), "empty"),
    (("3", "A second\nline, \"quoted\"", "neg", 'say "so"'), None),
    (("4", "a fine film", "pos", "another column"), "repeated"),
    (("5", "cafÃ© noir", "pos", "Ã©"), "mojibake"),
    (("6", "both ways", "pos", ""), "contradiction"),
    (("7", "both ways", "neg", ""), "contradiction"),
    (("8", "bad\x08 key", "neg", ""), "control"),
    (("9", "one<br />two &amp; three", "neg", ""), "html"),
    (("10", LONG.format("fifteen"), "pos", ""), None),
    (("11", LONG.format("sixteen"), "pos", ""), "near"),
    (("12", "dash \x97 here", "pos", ""), "windows"),
]  # fmt: skip
ROWS += [((str(20 + i), f"filler {'abcdefghij'[i] * 30}", "np"[i % 2], ""), None)
         for i in range(10)]  # fmt: skip
MENDED = {"5": "café noir", "8": "bad key", "9": "one two & three", "12": "dash — here"}
HEAD = ["id", "text", "label", "extra"]


def write_csv(path: Path, delimiter: str = ",") -> Path:
    with open(path, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        table.writerows([HEAD, *(row for row, _ in ROWS)])
    return path


def write_jsonl(path: Path) -> Path:
    lines = [json.dumps({**dict(zip(HEAD, row)), "nested": {"a": [1]}}) for row, _ in ROWS]
    path.write_text("\n".join(lines), encoding="utf-8")  # the last line does not end
    return path


def read_csv(path: Path) -> list[list[str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def read_log(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def expected(repairs: list[str]) -> list[list[str]]:
    kept = []
    for row, fate in ROWS:
        if fate in DROPS and fate in repairs:
            continue
        text = MENDED[row[0]] if fate in repairs else row[1]
        kept.append([row[0], text, *row[2:]])
    return kept


USUAL = [*USUAL_DROPS, *(n for n, flaw in TextExaminer.FLAWS.items() if flaw.usual)]


@pytest.mark.parametrize("asked", [None, "all", *NAMES, "usual,html"])
def test_csv(tmp_path, asked) -> None:
    source = write_csv(tmp_path / "a.csv")
    before = source.read_bytes()
    report = unspool.check(source, fix=tmp_path / "b.csv", repair=asked, suspects=False)
    names = {None: USUAL, "all": NAMES, "usual,html": [*USUAL, "html"]}.get(asked, [asked])
    assert read_csv(tmp_path / "b.csv") == [HEAD, *expected(names)]
    assert source.read_bytes() == before
    log = read_log(tmp_path / "b.csv.log.jsonl")
    assert len(log) == sum(fate in names for _, fate in ROWS)
    for entry in log:
        whys = [entry["why"]] if isinstance(entry["why"], str) else entry["why"]
        assert set(whys) <= set(names)
        assert (entry["action"] == "dropped") == (whys[0] in DROPS)
        assert ("after" in entry) == (entry["action"] == "changed")
        row = next(csv.reader([entry["row"]]))
        assert {row[0]: fate for row, fate in ROWS}[row[0]] in whys
    assert report.fixed is not None
    assert report.fixed.rows == len(ROWS)
    assert sum(report.fixed.dropped.values()) + sum(report.fixed.changed.values()) == len(log)


def test_lines_of_the_log_are_those_of_the_file(tmp_path) -> None:
    source = write_csv(tmp_path / "a.csv")
    unspool.check(source, fix=tmp_path / "b.csv", suspects=False)
    lines = source.read_text(encoding="utf-8").split("\n")
    for entry in read_log(tmp_path / "b.csv.log.jsonl"):
        assert lines[entry["line"] - 1] == entry["row"].split("\n")[0]


def test_jsonl_keeps_all_fields(tmp_path) -> None:
    source = write_jsonl(tmp_path / "a.jsonl")
    unspool.check(source, fix=tmp_path / "b.jsonl", repair="all", suspects=False)
    found = read_log(tmp_path / "b.jsonl")
    assert [[row[name] for name in HEAD] for row in found] == expected(NAMES)
    assert all(row["nested"] == {"a": [1]} for row in found)


def test_tsv_without_quotes(tmp_path) -> None:
    rows = [(row[1].replace("\n", " "), row[2], '"') for row, _ in ROWS if row[0] != "2"]
    source = tmp_path / "a.tsv"
    source.write_text("text\tlabel\tmark\n" + "".join("\t".join(row) + "\n" for row in rows))
    unspool.check(source, fix=tmp_path / "b.tsv", suspects=False)
    found = [line.split("\t") for line in (tmp_path / "b.tsv").read_text().split("\n")[1:-1]]
    assert ["café noir", "pos", '"'] in found
    assert all(len(row) == 3 for row in found)


def test_labelled_lines(tmp_path) -> None:
    source = tmp_path / "a.txt"
    texts = [f"word{i} other{i}" for i in range(20)]
    lines = [f"{i % 2} {text}" for i, text in enumerate([*texts, "cafÃ© au lait", texts[0]])]
    source.write_text("\n".join(lines), encoding="utf-8")
    unspool.check(source, format="labelled", fix=tmp_path / "b.txt", suspects=False)
    kept = [*lines[:20], "0 café au lait", lines[21]]  # the last one has another label
    assert (tmp_path / "b.txt").read_text(encoding="utf-8").splitlines() == kept


def test_gzip_and_another_encoding(tmp_path) -> None:
    source = tmp_path / "a.csv.gz"
    rows = "".join(f"caf\xe9 {i},{'xy'[i % 2]}\n" for i in range(20))
    source.write_bytes(gzip.compress(f"text,label\n{rows}".encode("latin-1")))
    unspool.check(source, encoding="latin-1", fix=tmp_path / "b.csv.gz", suspects=False)
    assert gzip.decompress((tmp_path / "b.csv.gz").read_bytes()).decode() == f"text,label\n{rows}"


def test_a_file_without_flaws_is_copied(tmp_path) -> None:
    source = tmp_path / "a.csv"
    rows = "".join(f'  "text {"abcdefghijklmnopqrst"[i] * 20}" ,{"xy"[i % 2]}\n' for i in range(20))
    source.write_text(f"\n\ntext,label\n{rows}\n\n")
    report = unspool.check(source, fix=tmp_path / "b.csv", suspects=False)
    assert (tmp_path / "b.csv").read_text() == source.read_text()
    assert "nothing to repair" in str(report)
    assert (tmp_path / "b.csv.log.jsonl").read_text() == ""


def test_refused(tmp_path) -> None:
    source = write_csv(tmp_path / "a.csv")
    with pytest.raises(ConfigError, match="exists already, and nothing is overwritten"):
        unspool.check(source, fix=source)
    (tmp_path / "b.csv.log.jsonl").touch()
    with pytest.raises(ConfigError, match="exists already"):
        unspool.check(source, fix=tmp_path / "b.csv")
    with pytest.raises(ConfigError, match=r"the copy has the format of the file.*End.*\.csv"):
        unspool.check(source, fix=tmp_path / "c.jsonl")
    with pytest.raises(ConfigError, match="there is no such folder"):
        unspool.check(source, fix=tmp_path / "no" / "c.csv")
    with pytest.raises(ConfigError, match=r"repair=: unknown repair; got 'htm'.*'html'"):
        unspool.check(source, fix=tmp_path / "c.csv", repair="usual,htm", suspects=False)
    assert not (tmp_path / "c.csv").exists()
    (tmp_path / "x.txt").write_text("".join(f"item{i}\n" for i in range(20)))
    (tmp_path / "y.txt").write_text("".join(f"thing{i}\n" for i in range(20)))
    with pytest.raises(DataError, match="cannot write"):
        unspool.check(tmp_path, fix=tmp_path / "c.txt")


@pytest.mark.parametrize("name", ["b.csv", "b.csv.gz"])
def test_a_full_disk_leaves_nothing_in_the_way(tmp_path, name) -> None:
    resource = pytest.importorskip("resource")
    source = write_csv(tmp_path / "a.csv")
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, usual[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            unspool.check(source, fix=tmp_path / name, repair="all", suspects=False)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert list(tmp_path.iterdir()) == [source]
    unspool.check(source, fix=tmp_path / name, repair="all", suspects=False)
    assert (tmp_path / name).exists()


def test_parts_by_a_column(tmp_path) -> None:
    rows = [(f"text {chr(97 + i) * 20}", "np"[i % 2], ("train", "test")[i % 4 == 0])
            for i in range(24)]  # fmt: skip
    rows += [rows[0], ("cafÃ© crème", "n", "test"), ("", "p", "train")]
    source = tmp_path / "a.csv"
    source.write_text("text,label,split\n" + "".join(",".join(row) + "\n" for row in rows))
    report = unspool.check(source, fix=tmp_path / "b.csv", suspects=False)
    assert {each.kind: each.count for each in report.findings} == {"repeated": 1, "mojibake": 1}
    assert report.findings[0].examples[0].where.endswith("a.csv:26")
    kept = [[*rows[i]] for i in range(24)] + [["café crème", "n", "test"]]
    assert read_csv(tmp_path / "b.csv")[1:] == kept


def test_nested_json(tmp_path) -> None:
    source = tmp_path / "a.jsonl"
    rows = [{"review": {"text": f"text {chr(97 + i) * 20}", "by": i}, "label": "np"[i % 2]}
            for i in range(20)]  # fmt: skip
    rows[3]["review"]["text"] = "cafÃ©"  # type: ignore[index]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    unspool.check(source, text="review.text", fix=tmp_path / "b.jsonl", suspects=False)
    rows[3]["review"]["text"] = "café"  # type: ignore[index]
    assert read_log(tmp_path / "b.jsonl") == rows


def test_fasttext(tmp_path) -> None:
    source = tmp_path / "a.txt"
    lines = [f"__label__{'np'[i % 2]} text {chr(97 + i) * 20}" for i in range(20)]
    lines[4] = "__label__n cafÃ©  crÃ¨me"
    source.write_text("\n".join(lines) + "\n")
    unspool.check(source, fix=tmp_path / "b.txt", suspects=False)
    lines[4] = "__label__n café  crème"
    assert (tmp_path / "b.txt").read_text().splitlines() == lines


def test_several_text_columns(tmp_path) -> None:
    rows = [(f"title {chr(97 + i) * 9}", f"body {chr(98 + i) * 20}", "np"[i % 2])
            for i in range(20)]  # fmt: skip
    rows[5] = ("cafÃ©", "the body", "p")
    source = tmp_path / "a.csv"
    source.write_text("title,body,label\n" + "".join(",".join(row) + "\n" for row in rows))
    unspool.check(source, text="title,body", fix=tmp_path / "b.csv", suspects=False)
    rows[5] = ("café", "the body", "p")
    assert read_csv(tmp_path / "b.csv")[1:] == [[*row] for row in rows]


def test_lines_of_a_stream_are_only_mended(tmp_path) -> None:
    source = tmp_path / "a.csv"
    lines = ["text", *(f"line {i} of a book" for i in range(200)), "cafÃ©", "line 1 of a book"]
    source.write_text("\n".join(lines) + "\n")
    unspool.check(source, task="generate", kind="char", fix=tmp_path / "b.csv")
    lines[201] = "café"
    assert (tmp_path / "b.csv").read_text().split("\n")[:-1] == lines
