"""Searches against the enumeration of every sentence, on vocabularies small enough for it."""

from __future__ import annotations

import itertools
import math
from functools import partial
from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from unspool.errors import RunError
from unspool.search import Hypothesis, SearchRules, beam, greedy, length_penalty, sample

V, END, START = 4, 3, 0
RULES = SearchRules(end=END, max_length=4)


class Markov(NamedTuple):
    """A state: which table each row reads, its two latest tokens, and what it looked at."""

    table: Tensor
    latest: Tensor
    alignment: Tensor | None = None


class Toy:
    """A decoder whose logits depend on the sentence and on the two tokens before; it counts."""

    def __init__(self, sentences: int, *, seed: int = 0, vocab: int = V, sharp: float = 1.5):
        generator = torch.Generator().manual_seed(seed)
        shape = (sentences, vocab, vocab, vocab)
        self.logits = sharp * torch.randn(shape, generator=generator, dtype=torch.double)
        self.rows: list[int] = []

    def start(self, places: list[int]) -> Markov:
        return Markov(torch.tensor(places), torch.zeros(len(places), dtype=torch.long))

    def step(self, ids: Tensor, state: Markov) -> tuple[Tensor, Markov]:
        self.rows.append(len(ids))
        logits = self.logits[state.table, state.latest, ids]
        alignment = torch.stack([state.table, state.latest, ids], 1).double()
        return logits, Markov(state.table, ids, alignment)

    def select(self, state: Markov, rows: Tensor) -> Markov:
        return Markov(*(None if part is None else part[rows] for part in state))

    def log_probability(self, place: int, tokens: tuple[int, ...]) -> float:
        before, last, total = 0, START, 0.0
        for token in (*tokens, END):
            total += float(self.logits[place, before, last].log_softmax(-1)[token])
            before, last = last, token
        return total


def first(batch: int) -> Tensor:
    return torch.full((batch,), START)


def enumerate_all(toy: Toy, place: int, rules: SearchRules, alpha: float) -> list[Hypothesis]:
    """Every sentence that the rules allow, the best first."""

    def allowed(tokens: tuple[int, ...]) -> bool:
        n = rules.no_repeat_ngram
        grams = [tokens[i : i + n] for i in range(len(tokens) - n + 1)] if n else []
        return len(set(grams)) == len(grams) and not set(tokens) & set(rules.forbidden)

    vocab = [token for token in range(toy.logits.shape[-1]) if token != END]
    found = []
    for length in range(rules.max_length + 1):
        for tokens in itertools.product(vocab, repeat=length):
            stuck = not any(allowed((*tokens, token)) for token in vocab)
            if allowed(tokens) and (length >= rules.min_length or stuck):
                log_p = toy.log_probability(place, tokens)
                score = log_p / length_penalty(length + 1, alpha)
                found.append(Hypothesis(tokens, score, log_p))
    return sorted(found, key=lambda h: -h.score)


def same(a: list[Hypothesis], b: list[Hypothesis]) -> None:
    assert [h.tokens for h in a] == [h.tokens for h in b]
    for name in ("score", "log_probability"):
        expected = pytest.approx([getattr(h, name) for h in b], abs=1e-10)
        assert [getattr(h, name) for h in a] == expected


CASES = [
    RULES,
    SearchRules(end=END, max_length=4, min_length=3),
    SearchRules(end=END, max_length=4, min_length=4),
    SearchRules(end=END, max_length=4, no_repeat_ngram=1),
    SearchRules(end=END, max_length=4, min_length=4, no_repeat_ngram=1),  # which cannot be had
    SearchRules(end=END, max_length=4, no_repeat_ngram=2),
    SearchRules(end=END, max_length=4, min_length=2, no_repeat_ngram=2, forbidden=(1,)),
]


@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0])
@pytest.mark.parametrize("rules", CASES)
def test_a_beam_as_wide_as_everything_finds_the_best_of_all(
    rules: SearchRules, alpha: float
) -> None:
    toy = Toy(3)
    found = beam(toy, toy.start([0, 1, 2]), first(3), rules, width=200, best=8, alpha=alpha)
    for place, hypotheses in enumerate(found):
        same(hypotheses, enumerate_all(toy, place, rules, alpha)[:8])


def test_a_wide_beam_gives_every_sentence_once() -> None:
    toy = Toy(1)
    (found,) = beam(toy, toy.start([0]), first(1), RULES, width=200, best=200)
    assert len(found) == len({h.tokens for h in found}) == 1 + 3 + 9 + 27 + 81
    assert sum(math.exp(h.log_probability) for h in found) < 1


@pytest.mark.parametrize("rules", CASES)
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_beam_of_one_is_greedy(rules: SearchRules, alpha: float) -> None:
    toy = Toy(20)
    state = toy.start(list(range(20)))
    wide = beam(toy, state, first(20), rules, width=1, alpha=alpha)
    for a, (b,) in zip(greedy(toy, state, first(20), rules), wide):
        assert a.tokens == b.tokens
        assert a.log_probability == pytest.approx(b.log_probability, abs=1e-12)
        assert a.score == a.log_probability


def test_greedy_takes_the_most_probable_and_scores_as_the_model_does() -> None:
    toy = Toy(8)
    for place, found in enumerate(greedy(toy, toy.start(list(range(8))), first(8), RULES)):
        before, last = 0, START
        for token in (*found.tokens, *[END] * (len(found.tokens) < RULES.max_length)):
            assert token == int(toy.logits[place, before, last].argmax())
            before, last = last, token
        expected = toy.log_probability(place, found.tokens)
        assert found.log_probability == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("alpha", [0.0, 0.8])
def test_a_batch_is_as_alone(alpha: float) -> None:
    toy = Toy(9)
    rules = SearchRules(end=END, max_length=9, no_repeat_ngram=3)

    def search(places: list[int]) -> list[list[Hypothesis]]:
        state = toy.start(places)
        return beam(toy, state, first(len(places)), rules, width=3, best=3, alpha=alpha)

    def walk(places: list[int]) -> list[list[Hypothesis]]:
        return [[h] for h in greedy(toy, toy.start(places), first(len(places)), rules)]

    order = [4, 0, 8, 3, 3, 7]
    for way in (search, walk):
        for place, together in zip(order, way(order)):
            (alone,) = way([place])
            same(together, alone)
            for a, b in zip(together, alone):
                assert (a.alignment is None) == (b.alignment is None) == (not a.tokens)
                if a.alignment is not None and b.alignment is not None:
                    assert torch.equal(a.alignment, b.alignment)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("width", [1, 2, 5])
def test_stopping_early_loses_nothing(alpha: float, width: int) -> None:
    places = list(range(40))
    counts = []
    for best in {1, width}:
        toy = Toy(40, seed=5, vocab=5)
        rules = SearchRules(end=END, max_length=12, min_length=1)
        found = []
        for early in (True, False):
            toy.rows.clear()
            options = {"width": width, "best": best, "alpha": alpha, "early_stop": early}
            found.append(beam(toy, toy.start(places), first(40), rules, **options))
            counts.append(sum(toy.rows))
        for early, late in zip(*found):
            same(early, late)
    if width > 1 and alpha == 0:
        assert counts[0] < 0.9 * counts[1]


def test_the_best_come_sorted_and_as_many_as_asked_for() -> None:
    toy = Toy(10)
    state = toy.start(list(range(10)))
    for found in beam(toy, state, first(10), RULES, width=6, best=6, alpha=0.7):
        scores = [h.score for h in found]
        assert len(found) == 6
        assert scores == sorted(scores, reverse=True)
        assert len({h.tokens for h in found}) == 6
        for h in found:
            assert h.score == h.log_probability / length_penalty(len(h.tokens) + 1, 0.7)


def test_a_wider_beam_finds_what_greedy_misses() -> None:
    toy = Toy(30, seed=2)
    state = toy.start(list(range(30)))
    narrow = [h.score for h in greedy(toy, state, first(30), RULES)]
    wide = [found[0].score for found in beam(toy, state, first(30), RULES, width=5)]
    # Not in every sentence: what greedy finds may fall out of a wider beam.
    assert sum(wide) > sum(narrow) + 1


@pytest.mark.parametrize("way", ["greedy", "sample", "beam"])
def test_the_alignment_is_that_of_the_steps_that_gave_the_tokens(way: str) -> None:
    toy = Toy(6, seed=4)
    state, rules = toy.start(list(range(6))), SearchRules(end=END, max_length=6, min_length=2)
    found = {
        "greedy": lambda: [[h] for h in greedy(toy, state, first(6), rules)],
        "sample": lambda: [[h] for h in sample(toy, state, first(6), rules)],
        "beam": lambda: beam(toy, state, first(6), rules, width=4, best=4),
    }[way]()
    for place, hypotheses in enumerate(found):
        for h in hypotheses:
            read = [0, START, *h.tokens]
            expected = [[place, read[t], read[t + 1]] for t in range(len(h.tokens))]
            assert h.alignment is not None
            assert h.alignment.tolist() == expected


def test_the_rows_of_ended_sentences_leave_the_batch() -> None:
    toy = Toy(12, seed=3)
    generator = torch.Generator().manual_seed(1)
    rules = SearchRules(end=END, max_length=20)
    found = sample(toy, toy.start(list(range(12))), first(12), rules, generator=generator)
    steps = [len(h.tokens) + 1 for h in found]  # each token and the end cost a row once
    assert toy.rows == [sum(n > t for n in steps) for t in range(max(steps))]
    assert len(set(toy.rows)) > 2


def test_sampling_from_the_top_one_is_greedy() -> None:
    toy = Toy(15)
    state = toy.start(list(range(15)))
    expected = greedy(toy, state, first(15), RULES)
    for options in ({"top_k": 1}, {"top_p": 1e-9}, {"temperature": 1e-300}):
        same(sample(toy, state, first(15), RULES, **options), expected)


def test_sampling_follows_the_distribution() -> None:
    toy = Toy(1, sharp=0.7)
    rules = SearchRules(end=END, max_length=2)
    n = 20000
    generator = torch.Generator().manual_seed(11)
    found = sample(toy, toy.start([0] * n), first(n), rules, generator=generator)
    by_tokens = {h.tokens: h for h in found}
    counts = dict.fromkeys(by_tokens, 0)
    for h in found:
        counts[h.tokens] += 1
    assert len(counts) == 1 + 3 + 9
    for tokens, h in by_tokens.items():
        p = math.exp(h.log_probability)
        if len(tokens) == rules.max_length:  # the end was not drawn there: it had to come
            before, last = tokens
            p /= float(toy.logits[0, before, last].softmax(-1)[END])
        assert counts[tokens] / n == pytest.approx(p, abs=4 * math.sqrt(p / n))


def test_the_same_generator_gives_the_same_sentences() -> None:
    toy = Toy(10)
    state = toy.start(list(range(10)))

    def draw(seed: int) -> list[tuple[int, ...]]:
        generator = torch.Generator().manual_seed(seed)
        return [h.tokens for h in sample(toy, state, first(10), RULES, generator=generator)]

    assert draw(1) == draw(1) != draw(2)


def test_nothing_in_nothing_out() -> None:
    toy = Toy(1)
    assert greedy(toy, toy.start([]), first(0), RULES) == []
    assert beam(toy, toy.start([]), first(0), RULES, width=2) == []
    assert toy.rows == []


def test_an_end_that_the_model_never_gives_still_comes() -> None:
    toy = Toy(1)
    toy.logits[..., END] = -math.inf
    state = toy.start([0])
    (one,) = greedy(toy, state, first(1), RULES)
    ((two,),) = beam(toy, state, first(1), RULES, width=200)
    assert len(one.tokens) == len(two.tokens) == 4
    assert math.isfinite(one.score)


@pytest.mark.parametrize("broken", [math.nan, math.inf])
def test_scores_that_are_no_numbers_are_refused(broken: float) -> None:
    toy = Toy(2)
    toy.logits[1, 0, START, 2] = broken
    for search in (greedy, sample, partial(beam, width=2)):
        with pytest.raises(RunError, match="scores that are not numbers"):
            search(toy, toy.start([0, 1]), first(2), RULES)


@pytest.mark.parametrize("way", ["greedy", "beam"])
def test_each_sentence_has_its_own_limit(way: str) -> None:
    toy, places, limits = Toy(3, seed=7), [0, 1, 2], (1, 4, 2)

    def read(places: list[int], limit: int | tuple[int, ...]) -> list[Hypothesis]:
        rules = SearchRules(end=END, max_length=limit, min_length=1)
        state = toy.start(places)
        if way == "greedy":
            return greedy(toy, state, first(len(places)), rules)
        return [
            best for best, *_ in beam(toy, state, first(len(places)), rules, width=3, alpha=1.0)
        ]

    together = read(places, limits)
    for place, limit, found in zip(places, limits, together):
        (alone,) = read([place], limit)
        assert alone.tokens == found.tokens
        assert len(found.tokens) <= limit
        assert alone.score == pytest.approx(found.score)
