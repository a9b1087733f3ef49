"""The window over a text against its equations, step by step and padded."""

from __future__ import annotations

import pytest
import torch

from unspool.nn.cells import CELLS
from unspool.nn.taps import record
from unspool.nn.text_window import TextWindow, WindowedRecurrent, WindowText

V, K = 6, 3


def test_the_window_is_that_of_the_paper() -> None:
    torch.manual_seed(0)
    window = TextWindow(4, K).double()
    text = WindowText(torch.tensor([[1, 2, 5, 3], [4, 4, 0, 0]]), torch.tensor([4, 2]))
    state = window.start(text, V)
    kappa = torch.zeros(2, K, dtype=torch.float64)
    for _ in range(3):
        h = torch.randn(2, 4, dtype=torch.float64)
        w, state = window(h, state)
        alpha, beta, step = (window.linear.weight @ h.T).T.add(window.linear.bias).exp().chunk(3, 1)
        kappa = kappa + step
        for row, length in enumerate((4, 2)):
            wanted = torch.zeros(V, dtype=torch.float64)
            for u in range(1, length + 1):
                phi = sum(
                    alpha[row, k] * torch.exp(-beta[row, k] * (kappa[row, k] - u) ** 2)
                    for k in range(K)
                )
                wanted[text.ids[row, u - 1]] += phi
            torch.testing.assert_close(w[row], wanted)
    assert (state.kappa > 0).all()


def test_past_the_text() -> None:
    window = TextWindow(4, 1)
    text = WindowText(torch.tensor([[1, 2, 3], [1, 3, 0]]), torch.tensor([3, 2]))
    state = window.start(text, V)
    ones = torch.ones(2, 1)
    for kappa, wanted in ((1.0, [False, False]), (1.9, [False, True]), (3.9, [True, True])):
        moved = state._replace(alpha=ones, beta=ones, kappa=kappa * ones)
        assert moved.passed().tolist() == wanted


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("layers", [1, 2])
def test_a_step_at_a_time_is_the_whole(cell, layers) -> None:
    torch.manual_seed(0)
    network = WindowedRecurrent(cell, 3, 8, vocabulary=V, components=K, layers=layers).eval()
    text = WindowText(torch.tensor([[1, 2, 5], [4, 3, 0]]), torch.tensor([3, 2]))
    x = torch.randn(2, 6, 3)
    with torch.no_grad():
        whole, _ = network(x, None, network.start(text))
        state = network.start(text)
        parts = []
        for t in range(6):
            out, state = network(x[:, t : t + 1], None, state)
            parts.append(out)
        alone, _ = network(
            x[1:, :4], None, network.start(WindowText(text.ids[1:, :2], text.lengths[1:]))
        )
        padded, _ = network(x, torch.tensor([6, 4]), network.start(text))
    torch.testing.assert_close(torch.cat(parts, 1), whole, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(padded[1:, :4], alone, rtol=1e-4, atol=1e-5)
    assert not padded[1, 4:].any()
    assert whole.shape[-1] == network.size


def test_the_window_is_tapped() -> None:
    network = WindowedRecurrent("lstm", 3, 8, vocabulary=V, components=K, layers=2)
    text = WindowText(torch.tensor([[1, 2, 5]]), torch.tensor([3]))
    with record(network, "window.window") as trace:
        network(torch.randn(1, 5, 3), None, network.start(text))
    assert trace["window.window"].shape == (1, 5, 3)


def test_gradients() -> None:
    torch.manual_seed(0)
    network = WindowedRecurrent("gru", 2, 3, vocabulary=V, components=2, layers=2).double()
    text = WindowText(torch.tensor([[1, 2]]), torch.tensor([2]))
    x = torch.randn(1, 3, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: network(x, None, network.start(text))[0], (x,))
