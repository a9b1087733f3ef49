"""The options of a search: what they refuse, and the search that they ask for."""

from __future__ import annotations

import pytest

from unspool.errors import ConfigError
from unspool.search.decoding import Decoding


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"beam": 0}, "beam must be 1 or more; got 0"),
        ({"nbest": 0}, "nbest must be 1 or more; got 0"),
        ({"nbest": 6}, "a beam of 5 cannot give 6 sentences. Give beam= as large as nbest="),
        ({"length_penalty": -1.0}, "length penalty must be 0 .none. or more; got -1"),
        ({"length_penalty": float("nan")}, "length penalty"),
        ({"max_length": -1}, "max length must be 1 or more, or 0 for twice the source; got -1"),
        ({"min_length": -1}, "min length must be 0 or more; got -1"),
        ({"min_length": 5, "max_length": 3}, "min length 5 is above max length 3"),
        ({"no_repeat_ngram": -1}, "no-repeat-ngram must be 0 .off. or more; got -1"),
        ({"temperature": 0.0}, "temperature must be above 0; got 0"),
        ({"top_k": -1}, "top-k must be 0 .off. or more; got -1"),
        ({"top_p": 0.0}, "top-p must be above 0 and at most 1; got 0"),
        ({"seed": -1}, "seed must be 0 or more"),
    ],
)
def test_options_that_make_no_sense(options, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        Decoding(**options)


def test_what_asks_for_sampling() -> None:
    assert not Decoding().sampling
    assert Decoding(temperature=0.5).sampling
    assert Decoding(top_k=3, nbest=9).sampling
    assert Decoding(top_p=0.9).sampling


def test_the_limit_grows_with_the_source() -> None:
    assert Decoding().limit(7, most=None) == 24
    assert Decoding().limit(7, most=12) == 12
    assert Decoding(max_length=5).limit(7, most=None) == 5
    assert Decoding(min_length=50).limit(7, most=None) == 50
