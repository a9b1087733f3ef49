"""What may be given to `predict`, and what an answer to nothing says."""

import numpy as np
import pytest

import unspool
from unspool.errors import DataError


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([None], "^item 1: a NoneType is not a text. Give strings$"),
        (["a", 5], "^item 2: a int is not a text; got 5. Give strings$"),
        ([b"a"], r"^item 1: a bytes is not a text; got b'a'. Decode it first: item.decode\(\)$"),
        (b"a", "^predict: a bytes is not a text; got b'a'"),
        (None, "^predict: a NoneType is not a text"),
        ([["a", "b"]], "^item 1: a list is not a text; got"),
        (["a", "x\ud800y"], r"^item 2: holds half of a surrogate pair.*got 'x\\\\ud800y'"),
    ],
)
def test_what_is_no_text(items, message, classifier) -> None:
    with pytest.raises(DataError, match=message):
        unspool.load(classifier).predict(items)


def test_words_of_a_tagger_are_texts_too(tagger) -> None:
    run = unspool.load(tagger)
    assert len(run.predict([["Anna", "left"], ("Bert",), "Cleo left"])) == 3
    with pytest.raises(DataError, match=r"^item 1: a int is not a text; got 5"):
        run.predict([["Anna", 5]])


def test_an_empty_text_is_answered_and_counted(classifier, tagger) -> None:
    answers = unspool.load(classifier).predict(["good", "", "  "])
    assert [answer.warning for answer in answers] == [None, "empty", "empty"]
    assert answers.warnings() == ["2 texts were empty"]
    assert repr(answers).endswith("(2 texts were empty)")
    assert "2 texts were empty" in answers._repr_html_()
    assert unspool.load(tagger).predict([""]).warnings() == ["1 text was empty"]


def test_a_series_of_texts(classifier) -> None:
    run = unspool.load(classifier)
    assert run.predict(np.array(["good", "awful"])) == run.predict(["good", "awful"])
    assert run.predict([{"text": "good"}, {"text": "awful"}]) == run.predict(["good", "awful"])
    assert len(run.predict(text for text in ("good", "awful"))) == 2
