"""The commands on a table of numbers, and what they refuse."""

from __future__ import annotations

import csv
import json
import random

import pytest

WORDS = {"great": 2, "fine": 1, "superb": 3, "dull": -2, "bad": -1, "awful": -3}
RNG = random.Random(1)
ROWS = [(f"the {word} film {RNG.choice('abc')}", 5 + x) for word, x in WORDS.items()] * 8
TABLE = "text,stars,price\n" + "".join(f"{text},{x},{100 - x}.5\n" for text, x in ROWS)
SMALL = ("--set", "hidden=8", "--set", "embedding=8", "--set", "threads=1", "--set", "epochs=2")


@pytest.fixture
def trained(unspool, file):
    data = file(TABLE)
    ended = unspool(
        "train", data, "-t", "regress", "--label", "stars,price", "--out", "run", *SMALL
    )
    assert ended.code == 0, ended.err
    assert "numbers in 'stars, price' -> regress" in ended.err
    assert "stars: mean" in ended.err
    return data


def test_train_evaluate_predict_and_look(unspool, trained, here) -> None:
    ended = unspool("evaluate", "run", trained, "--pictures", "seen")
    assert ended.code == 0, ended.err
    assert ended.out.startswith("48 examples\n\nstars")
    assert "training mean" in ended.out
    assert (here / "here/seen/scatter.png").stat().st_size > 1000
    found = json.loads(unspool("evaluate", "run", trained, "--json").out)
    assert found["task"] == "regress"
    assert set(found["numbers"]) == {"stars", "price"}
    assert set(found["numbers"]["price"]["baselines"]) == {"mean", "median"}
    assert found["rmse_interval"][0] <= found["rmse"] <= found["rmse_interval"][1]

    ended = unspool("predict", "run", "a fine film", "--json")
    assert list(json.loads(ended.out)["numbers"]) == ["stars", "price"]
    assert unspool("predict", "run", "--file", trained, "--out", "found.csv").code == 0
    with open("found.csv", newline="") as table:
        header, *rows = csv.reader(table)
    assert header == ["text", "stars", "price", "predicted_stars", "predicted_price"]
    assert len(rows) == 48
    assert float(rows[0][3]) == pytest.approx(5, abs=10)

    ended = unspool("look", "run", "a fine film", "--answer", "price")
    assert ended.out.startswith("'price', number ")
    ended = unspool("look", "run", "a fine film", "--pictures", "more")
    assert (here / "here/more/saliency.png").exists()
    assert unspool("look", "run", "--pictures", "model").code == 0
    assert (here / "here/model/scatter.png").exists()
    assert unspool("look", "run", "a fine film", "--html", "page.html").code == 0


def test_check_and_summary(unspool, file) -> None:
    ended = unspool("check", file(TABLE), "--task", "regress", "--label", "price")
    assert ended.code == 0, ended.err
    assert "  price: mean 9" in ended.out
    assert "labels" not in ended.out
    ended = unspool("summary", "--task", "regress", "--model", "gru")
    assert "linear unit" in ended.out


@pytest.mark.parametrize(
    ("content", "options", "says"),
    [
        ("text,label\na,x\nb,y\n", [], ["data.csv: holds no column of numbers", "--label"]),
        ("text,m,n\na,1,2\nb,2,3\n", [], ["several columns hold numbers: m, n", "--label"]),
        (TABLE, ["--label", "stars,prize"], ["no column 'prize'", "Did you mean --label price?"]),
        (TABLE + "x,many,1\n", [], ["data.csv:50: the value is not a number; got 'many'", "1.5"]),
        (TABLE, ["--set", "loss=cubic"], ["train.loss", "squared", "absolute"]),
        (TABLE, ["--set", "tied=true"], ["model.tied", "task regress"]),
    ],
)
def test_what_is_refused(content, options, says, file, refused) -> None:
    refused("train", file(content), "--task", "regress", "--out", "run", *options, says=says)


def test_options_of_other_tasks_are_refused(unspool, trained) -> None:
    ended = unspool("evaluate", "run", trained, "--beam", "3")
    assert ended.code == 2
    assert "got 'a regress model'" in ended.err
    ended = unspool("generate", "run")
    assert ended.code == 2
    ended = unspool("evaluate", "run", trained, "--label", "stars")
    assert ended.code == 2
    assert "was trained on 2 numbers a row, and the file has 1" in ended.err
