"""Hidden tokens: how many, what becomes of them, and that batching has no part in it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from small_tasks import token_part
from unspool.data.batching import BucketBatches
from unspool.data.masking import MaskedBatches, choose, hide
from unspool.data.part import Part
from unspool.text.vocab import MASK_ID, UNK_ID

VOCAB, SPECIALS = 50, 3


def part(rows: int = 40) -> Part:
    rng = np.random.default_rng(1)
    return token_part([rng.integers(SPECIALS, VOCAB, rng.integers(1, 30)) for _ in range(rows)])


def batches(documents: Part, *, size: int = 8, seed: int = 1, anew: bool = True) -> MaskedBatches:
    inner = BucketBatches(documents, size=size, tokens=10_000, seed=1, shuffle=anew)
    return MaskedBatches(inner, vocab=VOCAB, specials=SPECIALS, seed=seed, anew=anew)


def by_row(made: MaskedBatches, epoch: int) -> dict[int, list[int]]:
    """The ids of each row as the model reads them."""
    found = {}
    for step in range(made.steps(epoch)):
        batch = made.batch(epoch, step)
        for i, row in enumerate(batch.rows.tolist()):
            found[row] = batch.ids[i, : batch.lengths[i]].tolist()
    return found


def test_fifteen_percent_are_chosen_and_hidden_in_three_ways() -> None:
    rng = np.random.default_rng(1)
    ids = rng.integers(SPECIALS, VOCAB, 200_000)
    chosen = choose(ids, rng)
    hidden = hide(ids, chosen, rng, first=SPECIALS, vocab=VOCAB)
    assert chosen.mean() == pytest.approx(0.15, abs=0.005)
    assert (hidden[~chosen] == ids[~chosen]).all()
    fate = hidden[chosen]
    assert (fate == MASK_ID).mean() == pytest.approx(0.8, abs=0.01)
    same = (fate == ids[chosen]).mean()  # left, or by chance replaced by itself
    assert same == pytest.approx(0.1 + 0.1 / (VOCAB - SPECIALS), abs=0.01)
    others = fate[(fate != MASK_ID) & (fate != ids[chosen])]
    assert others.min() >= SPECIALS
    assert others.max() < VOCAB


def test_at_least_one_is_chosen_and_unknown_ones_last() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        assert choose(np.array([7]), rng).tolist() == [True]
        assert choose(np.array([UNK_ID, UNK_ID, 9]), rng).tolist() == [False, False, True]
        assert choose(np.array([UNK_ID]), rng).tolist() == [True]


def test_targets_are_what_stood_there() -> None:
    documents = part()
    made = batches(documents)
    for step in range(made.steps(0)):
        batch = made.batch(0, step)
        rows, places = batch.chosen.nonzero().T.tolist()
        stood = [int(documents["text"][int(batch.rows[i])][t]) for i, t in zip(rows, places)]
        assert batch.targets.tolist() == stood
        beyond = torch.arange(batch.ids.shape[1]) >= batch.lengths[:, None]
        assert not batch.chosen[beyond].any()
        assert not batch.ids[beyond].any()
        assert batch.chosen.any(1).all()


def test_masks_depend_on_seed_epoch_and_row_alone() -> None:
    documents = part()
    masks = by_row(batches(documents), 1)
    assert by_row(batches(documents, size=3), 1) == masks
    assert by_row(batches(documents), 2) != masks
    assert by_row(batches(documents, seed=2), 1) != masks
    fixed = batches(documents, anew=False)
    assert by_row(fixed, 5) == by_row(fixed, 0)


def test_long_documents_are_read_in_pieces() -> None:
    documents = token_part([np.arange(3, 10), np.arange(20, 23), np.arange(30, 36)])
    pieces = documents.in_pieces("text", 3)
    assert pieces.rows.tolist() == [0, 0, 0, 1, 2, 2]
    assert pieces.lengths[:, 0].tolist() == [3, 3, 1, 3, 3, 3]
    together = [pieces["text"][i].tolist() for i in range(len(pieces))]
    assert together == [[3, 4, 5], [6, 7, 8], [9], [20, 21, 22], [30, 31, 32], [33, 34, 35]]
    assert len(documents.in_pieces("text", 0)) == 3
