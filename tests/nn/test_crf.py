"""The CRF against brute force, its readable reference and another implementation."""

from __future__ import annotations

from itertools import pairwise, product

import pytest
import torch

from unspool.nn.crf import CRF, Allowed, LogPartition, SeparateTags, log_partition, score

B, T, C = 5, 4, 3
LENGTHS = torch.tensor([4, 1, 3, 4, 2])


def make(*, allowed: Allowed | None = None) -> tuple[CRF, torch.Tensor]:
    torch.manual_seed(1)
    crf = CRF(C, allowed).double()
    for parameter in crf.parameters():
        torch.nn.init.normal_(parameter)
    return crf, torch.randn(B, T, C, dtype=torch.float64)


RULES = Allowed(
    torch.tensor([[1, 0, 1], [1, 1, 0], [0, 1, 1]]).bool(),
    torch.tensor([1, 0, 1]).bool(),
    torch.tensor([1, 1, 0]).bool(),
)


def is_legal(tags: tuple[int, ...], allowed: Allowed | None) -> bool:
    if allowed is None:
        return True
    moves = all(allowed.transitions[i, j] for i, j in pairwise(tags))
    return bool(moves and allowed.start[tags[0]] and allowed.end[tags[-1]])


def every(crf, x, row, allowed) -> dict[tuple[int, ...], float]:
    """The score of every sequence of tags of one row."""
    n = int(LENGTHS[row])
    A, a, b = crf.transitions, crf.start, crf.end
    return {
        tags: float(
            a[tags[0]] + b[tags[-1]] + sum(x[row, t, tag] for t, tag in enumerate(tags))
            + sum(A[i, j] for i, j in pairwise(tags))
        )
        for tags in product(range(C), repeat=n)
        if is_legal(tags, allowed)
    }  # fmt: skip


@pytest.mark.parametrize("allowed", [None, RULES], ids=["free", "rules"])
def test_against_brute_force(allowed) -> None:
    crf, x = make(allowed=allowed)
    with torch.no_grad():
        chain = crf.chain()
        log_z = LogPartition.apply(x, LENGTHS, *chain)
        torch.testing.assert_close(log_z, log_partition(x, LENGTHS, chain), atol=1e-10, rtol=1e-10)
        best = crf.best(x, LENGTHS)
        along = crf.span_scores(x, best, LENGTHS)
        for row in range(B):
            scores = every(crf, x, row, allowed)
            total = torch.logsumexp(torch.tensor(list(scores.values()), dtype=torch.float64), 0)
            assert abs(float(log_z[row] - total)) < 1e-10
            n = int(LENGTHS[row])
            tags = tuple(best[row, :n].tolist())
            assert tags == max(scores, key=lambda tags: scores[tags])
            assert best[row, n:].eq(0).all()
            one = crf.loss(x[row : row + 1, :n], torch.tensor([tags]), LENGTHS[row : row + 1])
            assert abs(float(one) + scores[tags] - float(total)) < 1e-10
            for s in range(n):  # the probability of every stretch of the best tags
                for e in range(s, n):
                    inside = [
                        value
                        for other, value in scores.items()
                        if other[s : e + 1] == tags[s : e + 1]
                    ]
                    chance = torch.logsumexp(torch.tensor(inside, dtype=torch.float64), 0) - total
                    enter, walk, leave = (part[row] for part in along)
                    ours = enter[s] + walk[e] - walk[s] + leave[e]
                    assert abs(float(ours - chance)) < 1e-10


@pytest.mark.parametrize("allowed", [None, RULES], ids=["free", "rules"])
def test_the_gradient_is_that_of_the_reference(allowed) -> None:
    crf, x = make(allowed=allowed)
    x.requires_grad_()
    weight = torch.randn(B, dtype=torch.float64)
    inputs = [x, *crf.parameters()]
    slow = torch.autograd.grad((log_partition(x, LENGTHS, crf.chain()) * weight).sum(), inputs)
    fast = torch.autograd.grad(
        (LogPartition.apply(x, LENGTHS, *crf.chain()) * weight).sum(), inputs
    )
    for a, b in zip(slow, fast):
        torch.testing.assert_close(a, b, atol=1e-10, rtol=1e-10)


def test_gradcheck() -> None:
    crf, x = make()
    x.requires_grad_()
    chain = [part.detach().requires_grad_() for part in crf.chain()]
    assert torch.autograd.gradcheck(
        lambda x, A, a, b: LogPartition.apply(x, LENGTHS, A, a, b), (x, *chain)
    )


def test_against_pytorch_crf() -> None:
    torchcrf = pytest.importorskip("torchcrf")
    crf, x = make()
    theirs = torchcrf.CRF(C, batch_first=True).double()
    with torch.no_grad():
        theirs.transitions.copy_(crf.transitions)
        theirs.start_transitions.copy_(crf.start)
        theirs.end_transitions.copy_(crf.end)
    keep = torch.arange(T) < LENGTHS[:, None]
    tags = torch.randint(C, (B, T))
    torch.testing.assert_close(
        crf.loss(x, tags, LENGTHS), -theirs(x, tags, keep, reduction="none"), atol=1e-10, rtol=0
    )
    best = crf.best(x, LENGTHS)
    for row, n in enumerate(LENGTHS.tolist()):
        assert best[row, :n].tolist() == theirs.decode(x, keep)[row]


def test_forbidden_moves_are_never_made_and_give_no_nan() -> None:
    torch.manual_seed(2)
    crf = CRF(C, RULES)
    x = (torch.randn(40, 9, C) * 50).requires_grad_()
    lengths = torch.randint(1, 10, (40,))
    # Whatever the learned scores say.
    torch.nn.init.normal_(crf.transitions, std=20)
    best = crf.best(x, lengths)
    for tags, n in zip(best.tolist(), lengths.tolist()):
        assert is_legal(tuple(tags[:n]), RULES)
    crf.loss(x, best, lengths).sum().backward()
    for tensor in (x, *crf.parameters()):
        assert tensor.grad.isfinite().all()
    assert not crf.transitions.grad[~RULES.transitions].any()


def test_scores_far_apart_stay_finite() -> None:
    crf = CRF(C, RULES)
    x = torch.zeros(1, 3, C)
    x[0, 0, 1] = 1e5  # a tag that may not come first
    x.requires_grad_()
    loss = crf.loss(x, torch.tensor([[0, 0, 0]]), torch.tensor([3]))
    loss.sum().backward()
    assert loss.isfinite().all()
    assert x.grad.isfinite().all()
    assert (
        crf.span_scores(x, torch.zeros(1, 3, dtype=torch.int64), torch.tensor([3]))
        .before.isfinite()
        .all()
    )


def test_padding_changes_nothing() -> None:
    crf, x = make(allowed=RULES)
    wide = torch.cat([x, torch.full((B, 3, C), 7.0, dtype=torch.float64)], 1)
    tags = crf.best(x, LENGTHS)
    torch.testing.assert_close(crf.best(wide, LENGTHS)[:, :T], tags)
    padded = torch.nn.functional.pad(tags, (0, 3), value=2)
    torch.testing.assert_close(crf.loss(wide, padded, LENGTHS), crf.loss(x, tags, LENGTHS))


def test_separate_tags() -> None:
    torch.manual_seed(3)
    output, x = SeparateTags(), torch.randn(B, T, C)
    tags = output.best(x, LENGTHS)
    loss = output.loss(x, tags, LENGTHS)
    enter, walk, leave = output.span_scores(x, tags, LENGTHS)
    for row, n in enumerate(LENGTHS.tolist()):
        chances = x[row, :n].softmax(1).amax(1)
        assert float(loss[row]) == pytest.approx(-float(chances.log().sum()), abs=1e-5)
        span = enter[row, 0] + walk[row, n - 1] - walk[row, 0] + leave[row, n - 1]
        assert float(span.exp()) == pytest.approx(float(chances.prod()), abs=1e-6)


def test_the_score_is_the_sum_of_its_parts() -> None:
    crf, x = make()
    tags = torch.zeros(B, T, dtype=torch.int64)
    row = 1  # of one step
    with torch.no_grad():
        ours = score(x, tags, LENGTHS, crf.chain())[row]
        torch.testing.assert_close(ours, crf.start[0] + x[row, 0, 0] + crf.end[0])
