"""What the page claims of word vectors and of convolutions, of models that its commands train."""

from __future__ import annotations

import re

import pytest

from unspool import vectors
from unspool.demos.reviews import BAD, GOOD, THINGS

WORDS = "unspool vectors neighbours runs/words soup good"
CNN = "unspool ngrams runs/reviews-cnn data/reviews.csv --top 5 --picture ngrams.png"


@pytest.mark.parametrize("kind", [THINGS, GOOD, BAD], ids=["things", "praise", "complaint"])
def test_words_of_a_kind_are_nearest_to_each_other(seeded, kind) -> None:
    seeded.type(WORDS)
    words = vectors.load(seeded.folder / "runs" / "words")
    for word in kind:
        nearest = [found.word for found in words.neighbours(word, top=len(kind) - 1)]
        assert set(nearest) == set(kind) - {word}


@pytest.mark.course
def test_the_n_grams_of_a_filter_stand_in_texts_of_its_class(seeded) -> None:
    """At least nine of ten of those that are shown."""
    printed = seeded.type(CNN)
    reviews = joined((seeded.folder / "data" / "reviews.csv").read_text()).splitlines()
    right = []
    for part in printed.split("for ")[1:]:
        label = part.split(":")[0]
        for ngram in re.findall(r"^ +[\d.]+ +\d+  (.+)$", part, re.M):
            found = [row.endswith(label) for row in reviews if ngram.strip("· ") in row]
            right.append(sum(found) > len(found) / 2)
    assert len(right) == 50
    assert sum(right) >= 45


def joined(text: str) -> str:
    """Without the spaces before punctuation, as tokens are shown."""
    return re.sub(r" ([,;:])", r"\1", text)
