"""What is wrong with values, labels, columns and groups, in small files made for it."""

import csv
from pathlib import Path

import pytest

import unspool
from unspool.data.check.findings import Draft
from unspool.data.check.report import CheckReport, Finding, histogram
from unspool.data.check.rows import total_variation
from unspool.errors import DataError

TEXTS = [f"this is text {chr(97 + i % 26) * 5}{chr(97 + i // 26) * 7} of a file" for i in range(60)]


def table(path: Path, rows: list[dict[str, str]]) -> Path:
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


def plain(count: int = 60) -> list[dict[str, str]]:
    return [{"text": text, "label": "xy"[i % 2]} for i, text in enumerate(TEXTS[:count])]


def look(path: Path, **given) -> CheckReport:
    return unspool.check(path, **{"suspects": False, **given})


def kinds(report: CheckReport) -> dict[str, Finding]:
    return {found.kind: found for found in report.findings}


def test_clean(tmp_path) -> None:
    assert look(table(tmp_path / "a.csv", plain())).findings == []


@pytest.mark.parametrize(
    ("kind", "text", "shown"),
    [
        ("mojibake", "voilÃ  le cafÃ© du coin", "cafÃ©"),
        ("lost", "caf\ufffd du coin de la rue", "\ufffd"),
        ("control", "a bell \x07 rings in here", "\\x07"),
        ("windows", "so \x93it is\x94 quoted here", "\\x93it"),
        ("html", "a line<br />and another one", "<br />"),
        ("html", "salt &amp; pepper on the table", "&amp;"),
        ("minority", "это совсем другой язык здесь", "совсем"),
        ("long", "very " * 2000 + "long", "very very"),
    ],
)
def test_odd_values(tmp_path, kind, text, shown) -> None:
    rows = plain()
    rows[7]["text"] = text
    found = kinds(look(table(tmp_path / "a.csv", rows)))
    assert list(found) == [kind]
    assert found[kind].count == 1
    (example,) = found[kind].examples
    assert example.where.endswith("a.csv:9")
    assert shown in example.shown
    assert example.shown.isprintable()
    assert found[kind].remedy or kind == "lost"


def test_ordinary_signs_are_no_flaw(tmp_path) -> None:
    odd = [
        "a < b and c > d as it is",
        "AT&T and R&D; it is so",
        "x <3 you all <<a.doc>>",
        "naïve “café” – Ünïcode…",
        "tab\tand emoji 👍🏽 are fine",
    ]
    rows = plain()
    for row, text in zip(rows, odd):
        row["text"] = text
    assert look(table(tmp_path / "a.csv", rows)).findings == []


def test_two_scripts_in_equal_shares_are_counted_not_listed(tmp_path) -> None:
    rows = plain(40)
    for i in range(20):
        rows[i]["text"] = f"это текст номер {'абвгдежзиклмнопрстуф'[i] * 9} на кириллице"
    report = look(table(tmp_path / "a.csv", rows))
    assert "minority" not in kinds(report)
    assert report.families["script of the text"] == {"Cyrillic": 20, "Latin": 20}
    assert "script of the text: Cyrillic 50.00 %, Latin 50.00 %" in str(report)


def test_languages_are_counted_and_rare_ones_listed(tmp_path) -> None:
    rows = plain(40)
    for i, row in enumerate(rows):
        row["text"] = f"this is the text of number {i} and it has been written by them"
    rows[3]["text"] = "das ist ein Text, und er ist nicht von ihnen geschrieben worden"
    rows[4]["text"] = "4711"
    report = look(table(tmp_path / "a.csv", rows))
    assert report.families["language of the text"] == {"English": 38, "German": 1, "unknown": 1}
    found = kinds(report)["minority"]
    assert found.what.endswith("have a text in another language than most: German 1")
    assert [each.where.rpartition(":")[2] for each in found.examples] == ["5"]


def test_flaws_of_a_long_text_have_their_lines(tmp_path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("".join(f"line {i} of a book\n" for i in range(200)) + "cafÃ©\nend\n")
    found = kinds(look(path, task="generate", format="text", kind="char"))
    assert found["mojibake"].examples[0].where.endswith("a.txt:201")
    assert "--fix" not in found["mojibake"].remedy  # a long text has no rows


def test_labels_that_are_one(tmp_path) -> None:
    rows = plain()
    for i in range(0, 24, 2):
        rows[i]["label"] = "X"
    rows[1]["label"] = "rare"
    found = kinds(look(table(tmp_path / "a.csv", rows)))
    assert found["label-spelling"].what.endswith("only in spelling: 'X' and 'x'")
    assert found["label-spelling"].count == 2
    assert "'rare' 1" in found["rare-label"].what


def test_drift(tmp_path) -> None:
    train = [{"text": f"{text} {i}", "label": "xy"[j % 2]}
             for i in range(5) for j, text in enumerate(TEXTS)]  # fmt: skip
    same, other = [dict(row) for row in train[:100]], [dict(row) for row in train[:100]]
    for i, row in enumerate(other):
        row["label"] = "xxxy"[i % 4]
    path = table(tmp_path / "train.csv", train)
    calm = look(path, test=table(tmp_path / "same.csv", same))
    assert "drift" not in kinds(calm)
    found = kinds(look(path, test=table(tmp_path / "other.csv", other)))["drift"]
    assert "25 % of test would need another label" in found.what
    assert "'x' is 50.0 % of train and 75.0 % of test" in found.what


def test_a_small_part_may_differ_by_chance(tmp_path) -> None:
    few = [{"text": text, "label": label} for text, label in zip(TEXTS, "xxxxy")]
    report = look(table(tmp_path / "a.csv", plain()), test=table(tmp_path / "b.csv", few))
    assert "drift" not in kinds(report)
    assert total_variation({"x": 3, "y": 1}, {"x": 1, "y": 1}) == 0.25


def test_columns_with_nothing_in_them(tmp_path) -> None:
    rows = [{**row, "none": "", "same": "web", "id": str(i)} for i, row in enumerate(plain())]
    found = kinds(look(table(tmp_path / "a.csv", rows)))
    assert found["empty-column"].what == "columns are empty: 'none'"
    assert found["constant-column"].what == "columns have the same value in every row: 'same'"
    rows[-1]["same"] = "book"
    assert "constant-column" not in kinds(look(table(tmp_path / "b.csv", rows)))


def test_groups(tmp_path) -> None:
    rows = [{**row, "film": f"film{i // 4}"} for i, row in enumerate(plain())]
    test = [{"text": f"new {text}", "label": "x", "film": "film3" if i < 2 else f"new{i}"}
            for i, text in enumerate(TEXTS[:6])]  # fmt: skip
    path = table(tmp_path / "a.csv", rows)
    report = look(path, test=table(tmp_path / "b.csv", test), valid_share=0, group="film")
    found = kinds(report)["group"]
    assert found.count == 2
    assert found.what.endswith("(film) that train has, too: 1 of 5 groups")
    assert found.examples[0].where.endswith("b.csv:2")
    with pytest.raises(DataError, match='Did you mean group="film"'):
        look(path, group="filn")


def test_histogram_counts_every_row() -> None:
    import numpy as np

    lengths = np.array([1, 1, 2, 5, 9, 40, 1000])
    found = histogram(lengths)
    assert sum(count for *_, count in found) == len(lengths)
    assert found[0][0] == 1
    assert found[-1][1] == 1001
    assert histogram(np.array([3, 3])) == [(3, 4, 2)]
    assert histogram(np.array([])) == []
    assert Draft("kind", "what", lengths).note(0) == ""


def test_page(tmp_path) -> None:
    rows = plain()
    rows[3]["text"] = "<script>alert(1)</script> cafÃ© & more of it"
    rows[5] = dict(rows[6])
    page = look(table(tmp_path / "a.csv", rows)).to_html()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert page.count("<svg") == 2
    assert "http" not in page.replace("http-equiv", "")
    assert 'href="#finding-0"' in page
    assert 'id="finding-0"' in page
