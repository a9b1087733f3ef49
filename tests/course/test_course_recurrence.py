"""What the page claims of recurrent networks, of models that its commands train."""

from __future__ import annotations

import re

import pytest

import unspool
from unspool.insight.gradients import CELL_NAMES

ORDER = (
    'unspool predict runs/demo-reviews "the food was good , not bad at all"'
    ' "the food was bad , not good at all"'
)
SKY = 'unspool generate runs/corpus --prompt "the clouds are in the" --length 1 --temperature 0'
TEDDY = (
    "unspool compare data/teddy.conll --models lstm,bilstm --set output=softmax"
    " --set characters=none --set hidden=32 --set embedding=32 --set epochs=6 --out runs/teddy"
)
CELLS = (
    "unspool compare data/reviews.csv --models elman,lstm,peephole,coupled,gru --set hidden=32"
    " --set embedding=32 --set lr=5e-3 --set epochs=3 --out runs/cells"
)
STICK = (
    'unspool vectors context runs/elmo "give me the stick" "let\'s stick to it" --word stick'
    " --corpus data/corpus.txt --top 5"
)


def test_a_network_that_reads_in_order_tells_good_not_bad_from_bad_not_good(course) -> None:
    labels = [line.split("\t")[0] for line in course.type(ORDER).splitlines()]
    assert labels == ["praise", "complaint"]


def test_the_next_word_after_the_clouds_are_in_the_is_sky(seeded) -> None:
    assert seeded.type(SKY) == "the clouds are in the sky\n"


@pytest.mark.course
def test_elman_keeps_a_number_roughly_lstm_and_gru_remember_it(course) -> None:
    rows = [line.split() for line in course.type("unspool demo memory").splitlines()]
    errors, left = (
        {row[0]: row[1:] for row in rows if row[:1] and row[0] in CELL_NAMES and len(row) == size}
        for size in (8, 11)
    )
    assert float(errors["elman"][-1]) > 0.1
    assert left["elman"][-1] == "vanishes"
    assert int(left["elman"][-2]) < 50  # steps
    for cell in ("lstm", "gru"):
        assert float(errors[cell][-1]) < 0.1
        assert left[cell][-1] == "lasts"


@pytest.mark.course
def test_all_cells_learn_the_reviews(seeded) -> None:
    accuracy = table(seeded.type(CELLS))
    assert all(accuracy[cell] > 0.8 for cell in ("elman", "lstm", "peephole", "coupled", "gru"))


@pytest.mark.course
def test_names_are_found_in_both_directions_and_in_one_none_is(seeded) -> None:
    f1 = table(seeded.type(TEDDY))
    assert f1 == {"bilstm": 1.0, "lstm": 0.0}


@pytest.mark.course
def test_a_crf_mends_the_first_word_of_a_name_from_the_second(course) -> None:
    settings = {"characters": "none", "hidden": 32, "embedding": 32, "epochs": 6}
    data, out = course.folder / "data" / "teddy.conll", course.folder / "runs" / "crf"
    run = unspool.train(data, model="lstm", output="crf", out=out, quiet=True, **settings)
    (answer,) = run.predict(["Teddy Roosevelt was a great president"])
    assert str(answer) == "[PER Teddy Roosevelt] was a great president"
    (answer,) = run.predict(["Teddy bears are on sale"])
    assert str(answer) == "Teddy bears are on sale"


@pytest.mark.course
def test_a_stick_is_a_thing_and_to_stick_a_deed(seeded) -> None:
    thing, deed = (
        re.findall(r"^ +[\d.]+ +(\S+) +line", part, re.M)
        for part in seeded.type(STICK).split("\n\n")
    )
    assert {"stick"} < set(thing) <= {"stick", "ball", "rope", "cup"}
    assert {"stick"} < set(deed) <= {"stick", "hold", "cling"}


def table(printed: str) -> dict[str, float]:
    """The first column of figures of `unspool compare`, by model."""
    return {row.split()[0]: float(row.split()[1]) for row in printed.splitlines()[1:]}
