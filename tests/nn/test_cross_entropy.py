"""The chunked loss is the plain one, in value and gradients."""

import pytest
import torch
from torch.nn import functional as F

from unspool.nn import cross_entropy
from unspool.nn.cross_entropy import (
    linear_cross_entropy,
    linear_mixture_cross_entropy,
    linear_token_losses,
)
from unspool.nn.heads import TokenOutput
from unspool.nn.inputs import TokenEmbedding


@pytest.fixture(params=[1, 64, 10_000], ids=lambda n: f"chunk{n}")
def _chunk(request, monkeypatch):
    monkeypatch.setattr(cross_entropy, "CHUNK", request.param)


def parameters(n=13, width=5, classes=9):
    torch.manual_seed(0)
    h, V, b = (
        torch.randn(*shape, dtype=torch.float64, requires_grad=True)
        for shape in ((n, width), (classes, width), (classes,))
    )
    return h, V, b, torch.randint(0, classes, (n,))


@pytest.mark.usefixtures("_chunk")
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_equals_the_plain_loss(smoothing: float) -> None:
    h, V, b, y = parameters()
    ours = linear_cross_entropy(h, V, b, y, label_smoothing=smoothing)
    plain = F.cross_entropy(F.linear(h, V, b), y, label_smoothing=smoothing)
    torch.testing.assert_close(ours, plain, atol=1e-12, rtol=1e-12)
    for a, c in zip(
        torch.autograd.grad(3 * ours, (h, V, b)), torch.autograd.grad(3 * plain, (h, V, b))
    ):
        torch.testing.assert_close(a, c, atol=1e-12, rtol=1e-12)


@pytest.mark.usefixtures("_chunk")
def test_gradcheck() -> None:
    h, V, b, y = parameters(n=5)
    assert torch.autograd.gradcheck(
        lambda *x: linear_cross_entropy(*x, y, label_smoothing=0.2), (h, V, b)
    )


@pytest.mark.usefixtures("_chunk")
def test_nats_of_each_row() -> None:
    h, V, b, y = parameters()
    plain = F.cross_entropy(F.linear(h, V, b).float(), y, reduction="none")
    torch.testing.assert_close(linear_token_losses(h, V, b, y), plain)


def test_without_gradients_and_under_autocast() -> None:
    h, V, b, y = (t.detach().float() if t.is_floating_point() else t for t in parameters())
    plain = F.cross_entropy(F.linear(h, V, b), y)
    torch.testing.assert_close(linear_cross_entropy(h, V, b, y), plain)
    V.requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        rough = linear_cross_entropy(h, V, b, y)
    rough.backward()
    assert V.grad is not None
    torch.testing.assert_close(rough, plain, atol=0.05, rtol=0.05)


@pytest.mark.parametrize("size", [6, 4])
def test_a_tied_layer_sends_its_gradient_to_the_embedding(size: int) -> None:
    torch.manual_seed(0)
    embedding = TokenEmbedding(7, 6)
    layer = TokenOutput(size, 7, tied_to=embedding)
    h, y = torch.randn(2, 3, size, requires_grad=True), torch.randint(0, 7, (2, 3))
    ours = layer.loss(h, y)
    plain = F.cross_entropy(layer(h).flatten(0, 1), y.flatten())
    torch.testing.assert_close(ours, plain)
    inputs = [h, embedding.weight, *layer.parameters()]
    for a, c in zip(torch.autograd.grad(ours, inputs), torch.autograd.grad(plain, inputs)):
        torch.testing.assert_close(a, c, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(layer.token_losses(h, y).mean(), plain)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_a_mixture_of_bfloat16_vectors_and_float32_weights(smoothing: float) -> None:
    """As under autocast, where the vectors come from a layer and the weights do not."""
    h, V, b, y = parameters()
    gen, copy = torch.full((len(h),), 0.7).log(), torch.full((len(h),), 0.1).log()
    losses, gradients = [], []
    for half in (False, True):
        inputs = [x.detach().float().requires_grad_() for x in (h, V, b)]
        rows = inputs[0].bfloat16() if half else inputs[0]
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            loss = linear_mixture_cross_entropy(
                rows, *inputs[1:], y, gen, copy, label_smoothing=smoothing
            )
        losses.append(loss)
        gradients.append(torch.autograd.grad(loss, inputs))
    torch.testing.assert_close(*losses, atol=0.05, rtol=0.05)
    for exact, rounded in zip(*gradients):
        torch.testing.assert_close(rounded, exact, atol=0.005, rtol=0.05)
