"""What a search refuses, and what its rules forbid."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from unspool.search import SearchRules, beam, greedy, length_penalty, repeats, sample

END = 3
NOTHING: Any = None  # the options are looked at before the decoder is


def call(options: dict[str, Any]) -> None:
    first, rules = torch.tensor([0]), SearchRules(end=END, max_length=4)
    if "max_length" in options:
        SearchRules(end=END, **options)
    elif "width" in options:
        beam(NOTHING, None, first, rules, **options)
    else:
        sample(NOTHING, None, first, rules, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 0}, "width must be 1 or more; got 0"),
        ({"width": 2, "best": 3}, "best must lie between 1 and the width 2; got 3"),
        ({"width": 2, "best": 0}, "best must lie"),
        ({"width": 2, "alpha": -1.0}, "alpha must be 0"),
        ({"width": 2, "alpha": math.nan}, "alpha must be 0"),
        ({"temperature": 0.0}, "temperature must be above 0"),
        ({"temperature": math.nan}, "temperature must be above 0"),
        ({"top_k": -1}, "top_k must be 0"),
        ({"top_p": 0.0}, "top_p must be above 0"),
        ({"max_length": 0}, "max_length must be 1"),
        ({"max_length": 2, "min_length": 3}, "min_length must lie between 0 and max_length = 2"),
        ({"max_length": 2, "no_repeat_ngram": -1}, "no_repeat_ngram must be 0"),
        ({"max_length": 2, "forbidden": (END,)}, "the end, token 3, may not be forbidden"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(options)


def test_one_first_token_a_sentence() -> None:
    with pytest.raises(ValueError, match=r"first must be integers \(batch,\)"):
        greedy(NOTHING, None, torch.tensor([[0]]), SearchRules(end=END, max_length=4))


def test_repeats() -> None:
    assert repeats((1, 2, 1, 2, 0), 1) == [1, 2, 1, 2, 0]
    assert repeats((1, 2, 1, 4, 1), 2) == [2, 4]
    assert repeats((1, 2, 3, 1, 2), 3) == [3]
    assert repeats((1, 2), 3) == repeats((), 1) == repeats((), 2) == repeats((1,), 2) == []


def test_the_penalty_of_wu_et_al() -> None:
    assert length_penalty(1, 0.7) == length_penalty(9, 0.0) == 1
    assert length_penalty(7, 1.0) == 2
