"""Search over CTC lattices against all paths that there are, and against an independent decoder."""

import itertools
import math

import numpy as np
import pytest
import torch

from unspool.nn.ctc import BLANK, log_probability
from unspool.search.ctc import greedy_ctc, prefix_beam


def lattice(steps: int, vocab: int, seed: int, sharp: float = 1.0) -> torch.Tensor:
    """(T, V) log probabilities"""
    rng = np.random.default_rng(seed)
    return torch.from_numpy(sharp * rng.normal(size=(steps, vocab))).log_softmax(-1)


def text_of(path: tuple[int, ...]) -> tuple[int, ...]:
    merged = [own for own, _ in itertools.groupby(path)]
    return tuple(own for own in merged if own != BLANK)


def all_texts(log_p: torch.Tensor) -> dict[tuple[int, ...], float]:
    """ln p of every text, summed over every path."""
    found: dict[tuple[int, ...], float] = {}
    steps, vocab = log_p.shape
    p = log_p.exp().numpy()
    for path in itertools.product(range(vocab), repeat=steps):
        text = text_of(path)
        found[text] = found.get(text, 0.0) + math.prod(p[t, own] for t, own in enumerate(path))
    return {text: math.log(own) for text, own in found.items()}


@pytest.mark.parametrize("seed", range(8))
def test_prefix_beam_finds_what_enumeration_finds(seed: int) -> None:
    log_p = lattice(5, 3 + seed % 2, seed)
    wanted = sorted(all_texts(log_p).items(), key=lambda own: -own[1])
    (found,) = prefix_beam(log_p[None], torch.tensor([5]), beam=400, nbest=10)
    for own, (text, value) in zip(found, wanted[:10]):
        assert tuple(own.ids) == text
        assert own.log_p == pytest.approx(value, abs=1e-9)


def test_a_narrow_beam_finds_the_best_of_sharp_lattices() -> None:
    for seed in range(20):
        log_p = lattice(6, 3, seed, sharp=3.0)
        best = max(all_texts(log_p).items(), key=lambda own: own[1])
        (found,) = prefix_beam(log_p[None], torch.tensor([6]), beam=8)
        assert tuple(found[0].ids) == best[0]
        assert found[0].log_p <= best[1] + 1e-9


def test_rows_of_a_batch_are_as_alone() -> None:
    lengths = [7, 3, 5, 1]
    rows = [lattice(7, 4, seed) for seed in range(4)]
    together = prefix_beam(torch.stack(rows), torch.tensor(lengths), beam=4, nbest=3)
    for row, length, found in zip(rows, lengths, together):
        (alone,) = prefix_beam(row[None, :length], torch.tensor([length]), beam=4, nbest=3)
        assert [own.ids for own in alone] == [own.ids for own in found]
        assert np.allclose([own.log_p for own in alone], [own.log_p for own in found])


def test_greedy_is_the_text_of_the_best_path() -> None:
    rows = torch.stack([lattice(9, 4, seed) for seed in range(6)])
    lengths = torch.tensor([9, 8, 7, 3, 2, 1])
    for row, length, found in zip(rows, lengths.tolist(), greedy_ctc(rows, lengths)):
        path = tuple(row[:length].argmax(-1).tolist())
        assert tuple(found) == text_of(path)


def test_forbidden_tokens_are_never_written() -> None:
    log_p = lattice(6, 4, 3)
    (found,) = prefix_beam(log_p[None], torch.tensor([6]), beam=50, nbest=20, forbidden=(1, 2))
    assert {token for own in found for token in own.ids} == {3}


def test_a_bonus_makes_texts_longer() -> None:
    log_p = lattice(8, 4, 5)
    sizes = []
    for bonus in (-3.0, 0.0, 3.0):
        (found,) = prefix_beam(log_p[None], torch.tensor([8]), beam=30, bonus=bonus)
        sizes.append(len(found[0].ids))
        score = found[0].log_p + bonus * len(found[0].ids)
        assert found[0].score == pytest.approx(score)
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


class Bigram:
    """A language model of two tokens, for a search over (1, 2) and a blank."""

    def __init__(self, table: torch.Tensor, end: float) -> None:
        self.table, self.finish = table.log(), math.log(end)
        self.last = torch.zeros(0, dtype=torch.int64)

    def start(self, prefixes: int) -> torch.Tensor:
        self.last = torch.zeros(prefixes, dtype=torch.int64)
        return self.table[self.last]

    def advance(self, rows: torch.Tensor, new: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        self.last = torch.where(new, tokens, self.last[rows])
        return self.table[self.last]

    def end(self) -> torch.Tensor:
        return torch.full((len(self.last),), self.finish)


def test_a_language_model_ranks_as_the_formula_says() -> None:
    table = torch.tensor([[0.01, 0.7, 0.29], [0.01, 0.1, 0.89], [0.01, 0.6, 0.39]])
    weight, bonus = 0.8, 0.5
    for seed in range(6):
        log_p = lattice(5, 3, seed)

        def score(item: tuple[tuple[int, ...], float]) -> float:
            text, value = item
            told = sum(math.log(table[a, b]) for a, b in zip((0, *text), text)) + math.log(0.2)
            return value + weight * told + bonus * len(text)

        wanted = sorted(all_texts(log_p).items(), key=lambda own: -score(own))
        (found,) = prefix_beam(
            log_p[None],
            torch.tensor([5]),
            beam=300,
            nbest=5,
            language=Bigram(table, 0.2),
            weight=weight,
            bonus=bonus,
        )
        for own, item in zip(found, wanted):
            assert tuple(own.ids) == item[0]
            assert own.score == pytest.approx(score(item), abs=1e-5)


def test_the_same_texts_as_pyctcdecode() -> None:
    decoding = pytest.importorskip("pyctcdecode", exc_type=ImportError)
    letters = ["", "a", "b", "c", "d"]
    decoder = decoding.build_ctcdecoder(letters)
    same = 0
    for seed in range(40):
        log_p = lattice(12, 5, seed, sharp=2.5)
        (found,) = prefix_beam(log_p[None], torch.tensor([12]), beam=200)
        text = "".join(letters[own] for own in found[0].ids)
        other = decoder.decode(
            log_p.numpy(), beam_width=200, beam_prune_logp=-1000.0, token_min_logp=-1000.0
        )
        same += text == other
        both = (found[0].ids, [letters.index(own) for own in other])
        own, its = (float(log_probability(log_p, torch.tensor(ids))) for ids in both)
        assert own >= its - 0.01  # a beam loses some paths of such flat lattices
    assert same >= 38
