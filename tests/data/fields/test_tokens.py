"""Counts and prints of many texts at once, against one text at a time."""

import numpy as np
import pytest

from unspool.data.fields import tokens
from unspool.data.fields.tokens import Tokens
from unspool.data.store.ragged import Ragged
from unspool.text.tokenizers import Frame


@pytest.mark.parametrize("block", [1, 7, 1 << 20])
@pytest.mark.parametrize("room", [None, 4])
@pytest.mark.parametrize("frame", [Frame(), Frame((2,), (1, 1))])
def test_counts_and_prints(monkeypatch, block, room, frame) -> None:
    monkeypatch.setattr(tokens, "BLOCK", block)
    rng = np.random.default_rng(0)
    raw = Ragged.of([rng.integers(0, 5, rng.integers(0, 9)) for _ in range(80)])
    remap = np.array([0, 1, 2, 1, 3])
    values = Tokens(raw, remap=remap, types=list("abcde"), room=room, frame=frame)
    kept = [raw[row][: values.sizes[row]].tolist() for row in range(len(raw))]
    for id in range(4):
        assert values.counts(id).tolist() == [int((values[row] == id).sum()) for row in range(80)]
    flat = [token for row in kept for token in row]
    assert values.type_counts().tolist() == [flat.count(token) for token in range(5)]
    prints = values.prints({})
    same = [[a == b for b in kept] for a in kept]
    assert (prints[:, None] == prints).tolist() == same


def test_prints_of_two_files_agree() -> None:
    one = Tokens(Ragged.of([np.array([0, 1])]), types=["a", "b"])
    two = Tokens(Ragged.of([np.array([1, 0]), np.array([0, 1])]), types=["b", "a"])
    common: dict[str, int] = {}
    assert (two.prints(common) == one.prints(common)).tolist() == [True, False]
