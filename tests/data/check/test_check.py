"""What `check` finds in small files made for it."""

import json
from pathlib import Path

import unspool
from unspool.data.check import CheckReport


def look(path: Path, *, test: Path | None = None, **settings) -> CheckReport:
    report = unspool.check(path, test=test, **settings)
    json.dumps(report.to_json())
    assert all("\n" not in line for line in report.lines())
    return report


def findings(report: CheckReport) -> dict[str, tuple[int, list[str]]]:
    """By what was found: how often, and the lines of the examples."""
    return {
        found.what: (found.count, [each.where.rpartition("/")[2] for each in found.examples])
        for found in report.findings
    }


def table(path: Path, rows: list[tuple[str, str]]) -> Path:
    path.write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in rows))
    return path


UNIQUE = [(f"text number {i}", "xy"[i % 2]) for i in range(40)]


def test_clean_data(tmp_path) -> None:
    report = look(table(tmp_path / "a.csv", UNIQUE))
    assert report.findings == []
    assert "no doubtful rows found" in report.lines()
    train, valid = report.parts
    assert (train.rows, valid.rows) == (36, 4)
    assert train.labels == {"x": 18, "y": 18}
    assert train.token_lengths[50] == 3
    assert train.character_lengths[100] == 14
    assert valid.unknown == 4 / 12  # the number of each row occurs nowhere else
    assert "33.33 % of the words are unknown to train" in str(report)


def test_doubtful_rows(tmp_path) -> None:
    rows = [*UNIQUE, ("", "x"), ("same  text", "x"), ("same text", "x"), ("same text", "y")]
    test = table(
        tmp_path / "test.csv", [("text number 3", "y"), ("new", "x"), ("text number 5", "y")]
    )
    report = look(table(tmp_path / "a.csv", rows), test=test, valid_share=0.5)
    found = findings(report)
    assert any("1 rows with an empty text left out" in note for note in report.notes)
    assert found["rows repeat the text and the label of an earlier one"] == (1, ["a.csv:44"])
    other = found["rows have the text of another one, but not its label"]
    assert other == (3, ["a.csv:43", "a.csv:44", "a.csv:45"])
    overlap = [v[0] for k, v in found.items() if k.startswith("rows of test have a text")]
    assert sum(overlap) == 2
    assert any(k == "rows of valid have a text that is also in train" for k in found)


def test_lines_of_a_folder_name_the_file(tmp_path) -> None:
    (tmp_path / "x.txt").write_text("".join(f"item{i}\n" for i in range(20)) + "both\n")
    (tmp_path / "y.txt").write_text("".join(f"thing{i}\n" for i in range(20)) + "both\n")
    found = findings(look(tmp_path))
    assert found["rows have the text of another one, but not its label"] == (
        2,
        ["x.txt:21", "y.txt:21"],
    )


def settings(report: CheckReport) -> str:
    return " ".join(map(str, report.suggestions))


def test_suggestions(tmp_path) -> None:
    long = [("word " * (2000 if i % 20 == 0 else 30) + str(i), "xy"[i % 2]) for i in range(100)]
    assert "max_length=50" in settings(look(table(tmp_path / "long.csv", long)))
    skewed = [(f"text {i}", "x" if i % 20 else "y") for i in range(200)]
    assert "always answering 'x' scores 95.0 %" in settings(look(table(tmp_path / "s.csv", skewed)))
    cased = [(f"{'The' if i % 2 else 'the'} {'Film' if i % 3 else 'film'}", "xy"[i % 2])
             for i in range(60)]  # fmt: skip
    path = table(tmp_path / "cased.csv", cased)
    assert "lowercase=True" in settings(look(path))
    assert "lowercase" not in settings(look(path, lowercase=True))
    # Neither pieces of words nor other settings of training were measured to help with few rows.
    assert settings(look(table(tmp_path / "u.csv", UNIQUE))) == ""


def test_streams(tmp_path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"a line of words {i % 7}\n" for i in range(100)))
    for kind in ("char", "word", "bpe"):
        report = look(tmp_path / "a.txt", task="generate", kind=kind, vocab=300)
        assert report.task == "generate"
        assert sum(part.characters for part in report.parts) == 1800
        assert "bptt=64" in settings(report)
    report = look(tmp_path / "a.txt", task="generate", kind="word")
    assert report.parts[0].rows == 90
    assert report.parts[0].token_lengths[50] == 5
