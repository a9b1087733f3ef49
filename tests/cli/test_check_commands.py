"""`unspool check`: the page, the repaired copy, and options that do not fit."""

import json

import pytest


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "a.csv"
    rows = [f"text {chr(97 + i) * 9} of it,{'xy'[i % 2]},{i % 3}\n" for i in range(24)]
    path.write_text("text,label,who\n" + "".join([*rows, rows[0], "cafÃ©,x,0\n"]))
    return path


def test_page_and_copy(unspool, table, tmp_path) -> None:
    page, copy = tmp_path / "a.html", tmp_path / "b.csv"
    ended = unspool("check", table, "--html", page, "--fix", copy, "--group", "who")
    assert ended.code == 0
    assert ended.err == f"report written to {page}\n"
    assert f"{copy}: 25 of 26 rows, in UTF-8; every change is in {copy}.log.jsonl" in ended.out
    assert "1 dropped: repeated" in ended.out
    assert "belong to a group (who)" in ended.out
    assert "    -> --fix OUT drops them\n" in ended.out
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "café,x,0\n" in copy.read_text(encoding="utf-8")


def test_json(unspool, table, tmp_path) -> None:
    ended = unspool("check", table, "--json", "--fix", tmp_path / "b.csv", "--repair", "repeated")
    found = json.loads(ended.out)
    assert found["fixed"]["dropped"] == {"repeated": 1}
    assert found["fixed"]["changed"] == {}
    repeated = next(each for each in found["findings"] if each["kind"] == "repeated")
    assert repeated["examples"][0]["where"] == f"{table}:26"
    assert repeated["examples"][0]["note"] == "as line 2"


def test_every_repair_is_in_the_help(unspool) -> None:
    from unspool.data.check.fix import DROPS
    from unspool.data.fields.text_examiner import TextExaminer

    shown = unspool("check", "--help").out
    corrections = [name for name, flaw in TextExaminer.FLAWS.items() if flaw.repair]
    assert all(f"{name} (" in " ".join(shown.split()) for name in [*DROPS, *corrections])


def test_bad_options(unspool, table, tmp_path) -> None:
    ended = unspool("check", table, "--repair", "html")
    assert ended.code == 2
    assert "--repair is for --fix" in ended.err
    ended = unspool("check", table, "--html", tmp_path / "no" / "a.html")
    assert ended.code == 2
    assert "there is no such folder" in ended.err
