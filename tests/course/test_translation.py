"""What the page claims of encoders, decoders and attention, of models that its commands train."""

from __future__ import annotations

import re

import pytest

from unspool import Decoding

BOTTLENECK = (
    "unspool compare data/dates.tsv --models seq2seq,bahdanau --set kind=char --set hidden=64"
    " --set embedding=32 --set batch=64 --set lr=4e-3 --set epochs=2 --out runs/bottleneck"
)
ALIGNMENT = 'unspool predict runs/demo-dates "Friday the 5th of March 2021" --picture alignment.png'
THIRD = 'unspool look runs/demo-dates "den 3. Oktober 1990" --step 3'

pytestmark = pytest.mark.course


def test_one_vector_is_a_bottleneck(seeded) -> None:
    rows = [row.split() for row in seeded.type(BOTTLENECK).splitlines()[1:]]
    bleu = {row[0]: float(row[1]) for row in rows}
    assert bleu["bahdanau"] > 2 * bleu["seq2seq"]


def test_a_date_is_written_right_and_its_year_looks_at_the_end_of_what_was_read(course) -> None:
    assert course.type(ALIGNMENT).strip() == "2021-03-05"
    text = "Friday the 5th of March 2021"
    (answer,) = course.made("runs/demo-dates").predict([text], Decoding(alignment=True))
    assert answer.alignment is not None
    looked = answer.alignment.argmax(-1)
    assert all(looked[:4] >= text.index("2021"))


def test_which_characters_contribute_to_the_third_that_is_written(course) -> None:
    """The second 9 of 1990: the same character of the source contributes most."""
    lines = course.type(THIRD).splitlines()
    assert lines[0].startswith("'9' ")
    values = [float(re.findall(r"-?\d+\.\d{4}", line)[0]) for line in lines[2:]]
    assert values.index(max(values)) == len("den 3. Oktober 19")


def test_a_transformer_writes_about_half_of_the_dates_right(course) -> None:
    log = course.made("runs/dates-transformer").metrics()
    assert 0.3 < max(row["valid_exact"] for row in log if "valid_exact" in row) < 0.8
