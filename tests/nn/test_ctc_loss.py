"""The loss against torch's and against all paths; alignments against all paths."""

import itertools
import math

import numpy as np
import pytest
import torch

from unspool.nn.ctc import BLANK, align, ctc_losses, log_probability, steps_needed


def scores(batch: int, steps: int, vocab: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(batch, steps, vocab, generator=generator, dtype=torch.float64)


def paths_of(target: tuple[int, ...], steps: int, vocab: int) -> list[tuple[int, ...]]:
    found = []
    for path in itertools.product(range(vocab), repeat=steps):
        merged = [own for own, _ in itertools.groupby(path)]
        if tuple(own for own in merged if own != BLANK) == target:
            found.append(path)
    return found


@pytest.mark.parametrize("target", [(), (1,), (2, 1), (1, 1), (1, 2, 1), (2, 2, 1)])
def test_the_loss_is_the_sum_over_all_paths(target: tuple[int, ...]) -> None:
    logits = scores(1, 5, 3).requires_grad_()
    log_p = logits.log_softmax(-1)
    p = log_p[0].exp()
    brute = torch.stack(
        [p[torch.arange(5), list(path)].prod() for path in paths_of(target, 5, 3)]
    ).sum()
    value = math.log(brute.item())
    targets = torch.tensor([[*target, 0]])
    found = ctc_losses(log_p, torch.tensor([5]), targets, torch.tensor([len(target)]))
    assert found.item() == pytest.approx(-value, abs=1e-5)
    own = log_probability(log_p[0], torch.tensor(target, dtype=torch.int64))
    assert own.item() == pytest.approx(value, abs=1e-9)
    wanted = torch.autograd.grad(-brute.log(), logits, retain_graph=True)[0]
    fast = torch.autograd.grad(found.sum(), logits, retain_graph=True)[0]
    slow = torch.autograd.grad(-own, logits)[0]
    assert torch.allclose(fast, wanted, atol=1e-5)
    assert torch.allclose(slow, wanted, atol=1e-9)


def test_padding_changes_no_loss() -> None:
    log_p = scores(3, 9, 5).log_softmax(-1)
    lengths, sizes = torch.tensor([9, 6, 4]), torch.tensor([3, 2, 1])
    targets = torch.tensor([[1, 1, 4], [2, 3, 9], [4, 7, 7]])
    together = ctc_losses(log_p, lengths, targets % 5, sizes)
    for row in range(3):
        n, s = int(lengths[row]), int(sizes[row])
        own = -log_probability(log_p[row, :n], (targets % 5)[row, :s])
        assert float(together[row]) == pytest.approx(float(own), abs=1e-5)


def test_steps_that_are_needed() -> None:
    targets = torch.tensor([[1, 2, 3], [1, 1, 1], [2, 2, 0], [5, 0, 0]])
    sizes = torch.tensor([3, 3, 2, 1])
    assert steps_needed(targets, sizes).tolist() == [3, 5, 3, 1]
    log_p = scores(4, 5, 6).log_softmax(-1)
    for steps, finite in ((steps_needed(targets, sizes), True), (sizes * 0 + 2, False)):
        found = ctc_losses(log_p, steps, targets, sizes)
        assert bool(torch.isfinite(found[1])) is finite


@pytest.mark.parametrize("seed", range(6))
def test_the_alignment_is_the_best_path(seed: int) -> None:
    rng = np.random.default_rng(seed)
    target = tuple(rng.integers(1, 3, 1 + seed % 3).tolist())
    log_p = scores(1, 6, 3, seed).log_softmax(-1)[0]
    best = max(
        paths_of(target, 6, 3), key=lambda path: sum(float(log_p[t, c]) for t, c in enumerate(path))
    )
    places = align(log_p, list(target))
    runs = [
        (own, [t for t, _ in group])
        for own, group in itertools.groupby(enumerate(best), key=lambda item: item[1])
    ]
    wanted = [(steps[0], steps[-1] + 1) for own, steps in runs if own != BLANK]
    assert [tuple(place) for place in places] == wanted
