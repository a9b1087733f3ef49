"""Drawing tokens: filters against brute force, sampling against the distribution it samples."""

import math

import pytest
import torch

from unspool.errors import ConfigError
from unspool.search import Sampling, stream
from unspool.search.logits import keep_top_k, keep_top_p


def test_top_k_keeps_the_k_largest() -> None:
    logits = torch.randn(5, 9)
    kept = keep_top_k(logits, 3)
    assert ((kept > -math.inf).sum(-1) == 3).all()
    assert torch.equal(kept.max(-1).values, logits.max(-1).values)
    assert torch.equal(keep_top_k(logits, 0), logits)
    assert torch.equal(keep_top_k(logits, 100), logits)


@pytest.mark.parametrize("p", [0.05, 0.3, 0.7, 0.95, 1.0])
def test_top_p_is_the_smallest_set_that_reaches_p(p: float) -> None:
    torch.manual_seed(0)
    for row in torch.randn(50, 8).double():
        kept = (keep_top_p(row[None], p)[0] > -math.inf).nonzero()[:, 0].tolist()
        order = row.argsort(descending=True).tolist()
        mass = row.softmax(-1)
        size = next(n for n in range(1, 9) if mass[order[:n]].sum() >= p - 1e-12)
        assert sorted(kept) == sorted(order[:size])


class Fixed:
    """A decoder whose next token depends on the last one by a table."""

    table = torch.tensor([[0.1, 0.6, 0.3], [0.5, 0.2, 0.3], [0.3, 0.3, 0.4]]).log()

    def start(self, batch: int) -> None:
        return None

    def step(self, ids, state):
        return self.table[ids].clone(), state


def test_greedy_follows_the_largest() -> None:
    tokens = stream(Fixed(), [0], Sampling(temperature=0))
    assert [next(tokens) for _ in range(4)] == [1, 0, 1, 0]


def test_sampling_follows_the_distribution() -> None:
    tokens = stream(Fixed(), [0], Sampling(seed=7))
    last, counts = 0, torch.zeros(3, 3)
    for _ in range(20000):
        token = next(tokens)
        counts[last, token] += 1
        last = token
    torch.testing.assert_close(
        counts / counts.sum(1, keepdim=True), Fixed.table.exp(), atol=0.02, rtol=0
    )


def test_the_same_seed_gives_the_same_text_and_forbidden_tokens_never_come() -> None:
    def draw(seed: int, **more) -> list[int]:
        tokens = stream(Fixed(), [0], Sampling(seed=seed, **more))
        return [next(tokens) for _ in range(50)]

    assert draw(1) == draw(1) != draw(2)
    assert 2 not in draw(1, forbidden=(2,))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": -1}, "temperature must be 0"),
        ({"top_k": -1}, "top-k must be 0"),
        ({"top_p": 0}, "top-p must be above 0"),
        ({"top_p": 1.5}, "top-p must be above 0"),
    ],
)
def test_bad_sampling_options(options: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Sampling(**options)
