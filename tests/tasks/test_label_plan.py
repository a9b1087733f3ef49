"""Where labels are, one or several, and what the line says of it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

import pytest

from unspool.config import DataConfig
from unspool.data.plan import Plan
from unspool.errors import DataError
from unspool.tasks.label_plan import look_at
from unspool.tasks.planner import open_plan

SETS = [["drama", "war"], ["comedy"], ["drama", "comedy"], [], ["war"], ["comedy", "war"]] * 4
TEXTS = [f"a story of number {i} about things" for i in range(len(SETS))]


def table(rows: Sequence[Sequence[Any]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def cells(separator: str, name: str = "genres") -> str:
    return table([("text", name), *((t, separator.join(own)) for t, own in zip(TEXTS, SETS))])


def flags(*more: tuple[str, list[Any]]) -> str:
    names = ["comedy", "drama", "war"]
    rows = [
        (text, *(int(name in own) for name in names), *(values[i] for _, values in more))
        for i, (text, own) in enumerate(zip(TEXTS, SETS))
    ]
    return table([("text", *names, *(name for name, _ in more)), *rows])


@pytest.fixture
def plan(tmp_path):
    def read(content: str, name: str = "data.csv", **data: Any) -> Plan:
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        return open_plan(path, DataConfig(**data), "classify")

    return read


def labels(found: Plan) -> list[Any]:
    return [row.values[1] for row in found.rows()]


@pytest.mark.parametrize("separator", [",", ";", "|", ", ", " | "])
@pytest.mark.parametrize("name", ["labels", "genres", "what"])
def test_cells_that_are_clear(plan, separator, name) -> None:
    found = plan(cells(separator, name))
    sign = separator.strip()
    assert labels(found) == SETS
    assert found.settings == {"data.multilabel": True, "data.label_separator": sign}
    assert found.summary.split("data.csv: ")[1] == (
        f"CSV, text in column 'text', labels in '{name}' separated by '{sign}'"
        " (multilabel=False: one label a cell) -> classify"
    )


def test_flags_decide_otherwise(plan) -> None:
    whole = plan(cells(",", "label"), multilabel=False)
    assert labels(whole)[:2] == ["drama,war", "comedy"]
    assert whole.settings == {"data.multilabel": False}
    assert "labels" not in whole.summary
    other = plan(cells("/", "label"), label_separator="/")
    assert labels(other) == SETS
    assert other.summary.endswith("labels in 'label' separated by '/' -> classify")
    asked = plan(cells("|", "label"), multilabel=True)
    assert labels(asked) == SETS
    alone = plan(table([("text", "label"), *((t, "ab"[i % 2]) for i, t in enumerate(TEXTS))]),
                 multilabel=True)  # fmt: skip
    assert labels(alone)[:3] == [["a"], ["b"], ["a"]]


def test_json_lists_and_lists_in_cells(plan) -> None:
    rows = [json.dumps({"text": t, "tags": own}) for t, own in zip(TEXTS, SETS)]
    found = plan("\n".join(rows), "data.jsonl")
    assert labels(found) == SETS
    assert "labels in 'tags' in lists (multilabel=False: one label a cell)" in found.summary
    for spell in (json.dumps, repr):
        rows = [("text", "tags"), *((t, spell(own)) for t, own in zip(TEXTS, SETS))]
        assert labels(plan(table(rows))) == SETS
    rows[-1] = (TEXTS[-1], "[oops")
    assert labels(plan(table(rows)))[-1] == ["[oops"]
    numbers = [json.dumps({"text": t, "labels": [1, True, 2.5, "x"]}) for t in TEXTS]
    assert labels(plan("\n".join(numbers), "data.jsonl"))[0] == ["1", "true", "2.5", "x"]


def test_what_is_missing_is_not_what_is_empty(plan) -> None:
    rows = [json.dumps({"text": t, "labels": own}) for t, own in zip(TEXTS, SETS)]
    rows[1] = json.dumps({"text": "x", "labels": None})
    assert labels(plan("\n".join(rows), "data.jsonl"))[1:4] == [None, ["drama", "comedy"], []]
    lines = flags().splitlines()
    lines[2] = lines[2].replace(",1,0,0", ",,0,0")
    assert labels(plan("\n".join(lines)))[1] is None


def test_columns_of_0_and_1(plan) -> None:
    found = plan(flags())
    assert labels(found) == [sorted(own) for own in SETS]
    assert found.settings == {"data.multilabel": True}
    assert found.summary.split("data.csv: ")[1] == (
        "CSV, text in column 'text', labels in 'comedy, drama, war' of 0 and 1"
        " (label=COLUMN for one of them) -> classify"
    )
    asked = plan(flags(), label="war, comedy")
    assert labels(asked)[0] == ["war"]
    assert "(label=" not in asked.summary
    one = plan(flags(), label="war")
    assert labels(one)[:2] == ["1", "0"]
    assert one.settings == {"data.multilabel": False}
    booleans = [json.dumps({"text": t, "a": "drama" in own, "b": "war" in own, "id": i})
                for i, (t, own) in enumerate(zip(TEXTS, SETS))]  # fmt: skip
    assert labels(plan("\n".join(booleans), "data.jsonl"))[:2] == [["a", "b"], []]


def test_another_column_that_may_be_the_label(plan) -> None:
    """A known name, or another column that looks like a label: nothing is clear then."""
    ids = plan(flags(("id", list(range(len(SETS))))))
    assert ids.settings["data.multilabel"]
    for name in ("label", "kind"):
        found = plan(flags((name, ["xyz"[i % 3] for i in range(len(SETS))])))
        assert found.settings == {"data.multilabel": False}


NAMES = ["Smith, John", "Doe, Jane", "Roe, Richard"] * 8
RATINGS = ["4,5", "3,5", "4,0", "3,0"] * 6
SINGLE = ["pos", "neg", "neutral"] * 8


@pytest.mark.parametrize(
    ("values", "separator", "clear"),
    [(NAMES, ",", False), (RATINGS, ",", False), (SINGLE, None, False),
     (["a,b", "b,c", "c", "a"] * 6, ",", True),
     (["a;b|c", "b|c", "c|a;b", "a;b"] * 6, "|", True),
     (["x"] * 99 + ["x,y"], None, False)],
)  # fmt: skip
def test_what_cells_look_like(values, separator, clear) -> None:
    found = look_at(values)
    assert (found.separator, found.clear) == (separator, clear)


def test_what_is_not_clear_is_one_label_and_said(plan) -> None:
    rows = [("text", "label"), *zip(TEXTS, NAMES)]
    found = plan(table(rows))
    assert labels(found)[0] == "Smith, John"
    assert "label in 'label' (one a cell; label_separator=\",\" splits them)" in found.summary
    assert "label_separator" not in plan(table([("text", "label"), *zip(TEXTS, SINGLE)])).summary


def test_lines_of_fasttext(plan) -> None:
    lines = [" ".join(f"__label__{name}" for name in own or ["none"]) + f" {text}"
             for text, own in zip(TEXTS, SETS)]  # fmt: skip
    found = plan("\n".join(lines), "data.txt")
    assert found.settings["data.multilabel"]
    assert labels(found)[:2] == [["drama", "war"], ["comedy"]]


@pytest.mark.parametrize(
    ("content", "data", "says"),
    [
        (cells(","), {"multilabel": False, "label_separator": ","}, "cells cannot be split"),
        (flags(), {"label": "war,drama", "multilabel": False}, "one label a row has one column"),
        (flags(), {"label": "war,drana"}, "no column 'drana'.*did you mean label=\"drama\""),
        (flags(), {"label": "war,war"}, "a column is named twice; got 'war'"),
        (
            flags(),
            {"label": "text,war", "text": "drama"},
            "data.csv:2: column 'text' holds neither 0 nor 1",
        ),
    ],
)
def test_what_is_refused(plan, content, data, says) -> None:
    with pytest.raises(DataError, match=f"(?i){says}"):
        labels(plan(content, **data))


def test_a_column_with_other_values_is_refused_with_its_line(plan) -> None:
    with pytest.raises(DataError, match=r"data.csv:4: column 'war' holds neither 0 nor 1; got '7'"):
        labels(plan(flags().replace("number 2 about things,1,1,0", "number 2 about things,1,1,7"),
                    label="drama,war"))  # fmt: skip
