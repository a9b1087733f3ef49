"""Full, windowed and linear attention of heads, against loops, each other and ONNX."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from closeness import NAN, close, gradients, normal, tapped
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from torch import Tensor
from torch.nn import functional as F

from rounding import same
from unspool.nn import dot_product
from unspool.nn.dot_product import HeadAttention, ScaledDotProduct, SlidingWindow
from unspool.nn.linear_attention import LinearAttention
from unspool.nn.masks import causal_mask, keep_mask

B, A, T, d = 3, 2, 5, 4


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(1)


KINDS = {
    "full": ScaledDotProduct,
    "window": lambda: SlidingWindow(3),
    "window-0": lambda: SlidingWindow(0),
    "linear": LinearAttention,
}


@pytest.fixture(params=KINDS)
def head(request: pytest.FixtureRequest) -> HeadAttention:
    return KINDS[request.param]()


def heads(steps: int, dtype: torch.dtype = torch.double) -> list[Tensor]:
    return [torch.randn(B, A, steps, d, dtype=dtype, requires_grad=True) for _ in range(3)]


@pytest.mark.parametrize("steps", [1, 15, 16, 17, 70, 130])
@pytest.mark.parametrize("causal", [False, True], ids=["both-ways", "causal"])
@pytest.mark.parametrize("padded", [False, True], ids=["full", "padded"])
def test_fast_is_tapped(head: HeadAttention, steps: int, causal: bool, padded: bool) -> None:
    lengths = torch.tensor([steps, 0, steps // 2])
    keep = keep_mask(lengths, steps) if padded else None
    for dtype in (torch.double, torch.float):
        qkv, weight = heads(steps, dtype), torch.randn(B, A, steps, d, dtype=dtype)
        fast, slow = head(*qkv, keep, causal=causal), tapped(head, *qkv, keep, causal=causal)
        same(fast, slow, steps + d, steps=3)  # scores, softmax, mean
        for a, b in zip(gradients(fast, weight, *qkv), gradients(slow, weight, *qkv)):
            assert a.isfinite().all()
            same(a, b, steps + d, steps=6)
            if padded:
                assert not a[1].any()
                assert not b[1].any()
        if padded:
            assert not fast[1].any()
            assert not slow[1].any()


@pytest.mark.parametrize("causal", [False, True], ids=["both-ways", "causal"])
@pytest.mark.parametrize("w", [0, 1, 3, 20, 100])
def test_a_window_is_full_attention_with_a_band(w: int, causal: bool) -> None:
    steps = 45
    keep = keep_mask(torch.tensor([45, 20, 33]), steps)
    band = torch.ones(steps, steps, dtype=torch.bool).tril(w).triu(-w)
    if causal:
        band &= causal_mask(steps)
    qkv, weight = heads(steps), normal(B, A, steps, d)
    y1 = SlidingWindow(w)(*qkv, keep, causal=causal)
    y2 = ScaledDotProduct()(*qkv, keep[:, None] & band)
    close(y1, y2)
    for a, b in zip(gradients(y1, weight, *qkv), gradients(y2, weight, *qkv)):
        close(a, b)


def test_a_window_makes_no_square() -> None:
    """The largest tensor of any operation grows with T."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Largest(TorchDispatchMode):
        size = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            out = function(*args, **(kwargs or {}))
            for value in out if isinstance(out, tuple | list) else [out]:
                if isinstance(value, Tensor):
                    self.size = max(self.size, value.numel())
            return out

    for module in (SlidingWindow(4), LinearAttention()):
        sizes = []
        for steps in (512, 1024):
            q, k, v = (torch.randn(1, 1, steps, 2, requires_grad=True) for _ in range(3))
            with Largest() as largest:
                module(
                    q, k, v, keep_mask(torch.tensor([steps - 3]), steps), causal=True
                ).sum().backward()
            sizes.append(largest.size)
        assert sizes[1] <= 2.2 * sizes[0]
        assert sizes[1] < 1024 * 1024 / 4


@pytest.mark.parametrize("causal", [False, True], ids=["both-ways", "causal"])
def test_linear_attention_is_the_papers_sum(causal: bool) -> None:
    """The sums S_i and z_i step by step, in a loop."""
    steps, lengths = 67, [67, 0, 30]
    q, k, v = heads(steps)
    y = LinearAttention()(q, k, v, keep_mask(torch.tensor(lengths), steps), causal=causal)

    def phi(x: Tensor) -> Tensor:
        return torch.where(x > 0, x + 1, x.exp())

    for i in (0, 2):
        S, z = torch.zeros(A, d, d).double(), torch.zeros(A, d).double()
        for t in range(steps):
            if t < lengths[i]:
                S = S + phi(k[i, :, t])[:, :, None] * v[i, :, t][:, None]
                z = z + phi(k[i, :, t])
            if causal and t in (0, 1, 29, 31, 63, 64, 66):
                terms = phi(q[i, :, t])
                close(y[i, :, t], torch.einsum("ad,adv->av", terms, S) / (terms * z).sum(-1, True))
        if not causal:
            terms = phi(q[i])
            close(y[i], terms @ S / (terms @ z[..., None]))


def test_linear_attention_survives_features_that_underflow() -> None:
    q, k, v = (torch.full((1, 1, 3, 2), -200.0, requires_grad=True) for _ in range(3))
    y = LinearAttention()(q, k, v, causal=True)
    assert y.isfinite().all()
    assert all(g.isfinite().all() for g in gradients(y, torch.ones_like(y), q, k, v))


@pytest.mark.parametrize("causal", [False, True], ids=["both-ways", "causal"])
def test_padding_never_matters(head: HeadAttention, causal: bool) -> None:
    steps = 20
    keep = keep_mask(torch.tensor([20, 4, 11]), steps)
    q, k, v = (x.detach() for x in heads(steps))
    weight = normal(B, A, steps, d)
    results = []
    for content in (0.0, NAN, 1e4):
        fill = ~keep[:, None, :, None]
        given = [q.clone(), k.masked_fill(fill, content), v.masked_fill(fill, content)]
        for x in given:
            x.requires_grad_()
        y = head(*given, keep, causal=causal)
        results.append([y, *gradients(y, weight, *given)])
    for other in results[1:]:
        for a, b in zip(results[0], other):
            assert torch.equal(a, b)


def test_masks_of_each_query(head: HeadAttention) -> None:
    qkv = heads(6)
    keep = torch.rand(B, 6, 6) < 0.5
    keep[0, 2] = False
    if not isinstance(head, ScaledDotProduct):
        with pytest.raises(ValueError, match=r"shape \(3, 6\); got bool \(3, 6, 6\)"):
            head(*qkv, keep)
        return
    y = head(*qkv, keep)
    close(y, tapped(head, *qkv, keep), 1e-12)
    assert not y[0, :, 2].any()
    q, k, v = qkv
    for i in range(B):
        for t in range(6):
            if seen := keep[i, t].nonzero().flatten().tolist():
                e = torch.softmax(torch.stack([q[i, 0, t] @ k[i, 0, j] for j in seen]) / 2, 0)
                close(y[i, 0, t], sum(e[n] * v[i, 0, j] for n, j in enumerate(seen)))


def test_steps_are_the_causal_whole(head: HeadAttention) -> None:
    q, k, v = heads(40)
    weight = normal(B, A, 40, d)
    whole = head(q, k, v, causal=True)
    expected = gradients(whole, weight, q, k, v)
    for sizes in ([1] * 40, [7, 1, 1, 20, 11], [40]):
        cache, parts, t = None, [], 0
        for n in sizes:
            y, cache = head.step(*(x[:, :, t : t + n] for x in (q, k, v)), cache)
            parts.append(y)
            t += n
            assert cache.steps == t
        together = torch.cat(parts, 2)
        close(together, whole)
        for a, b in zip(gradients(together, weight, q, k, v), expected):
            close(a, b)
        with torch.no_grad():
            cache, t = None, 0
            for n, part in zip(sizes, parts):
                y, cache = head.step(*(x[:, :, t : t + n] for x in (q, k, v)), cache)
                close(y, part)
                t += n


def test_gradcheck(head: HeadAttention) -> None:
    qkv = [normal(2, 1, 4, 2, grad=True) for _ in range(3)]
    keep = keep_mask(torch.tensor([4, 2]), 4)
    for causal in (False, True):
        assert torch.autograd.gradcheck(lambda *x, c=causal: head(*x, keep, causal=c), qkv)


def test_the_fused_kernel_runs_unless_tapped(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    kernel = F.scaled_dot_product_attention
    monkeypatch.setattr(
        F, "scaled_dot_product_attention", lambda *a, **o: calls.append(1) or kernel(*a, **o)
    )
    for module in (ScaledDotProduct(), SlidingWindow(2)):
        calls.clear()
        tapped(module, *heads(6), causal=True)
        assert not calls
        module(*heads(6), causal=True)
        assert len(calls) == 1


def test_dropout_falls_on_the_weights_in_training() -> None:
    for module in (ScaledDotProduct(dropout=0.5), SlidingWindow(2, dropout=0.5)):
        q, k, v = (x.detach() for x in heads(6))
        first = module(q, k, v)
        assert not torch.equal(first, module(q, k, v))
        assert not torch.equal(tapped(module, q, k, v), tapped(module, q, k, v))
        module.eval()
        close(module(q, k, v), tapped(module, q, k, v))


@pytest.mark.parametrize("window", [None, 0, 2])
@pytest.mark.parametrize(
    ("causal", "past"), [(False, 0), (True, 0), (True, 3)], ids=["both-ways", "causal", "cached"]
)
def test_attention_against_onnx(causal: bool, past: int, window: int | None) -> None:
    q, k, v = (x.detach() for x in heads(T + past))
    keep = keep_mask(torch.tensor([T + past, past + 1, past + 3]), T + past)
    options = {"is_causal": int(causal)}
    if window is not None:
        options |= {"left_window_size": window, "right_window_size": -1 if causal else window}
    named = {"Q": q[:, :, past:], "K": k[:, :, past:], "V": v[:, :, past:]}
    if past:
        named |= {"past_key": k[:, :, :past], "past_value": v[:, :, :past]}
    else:
        named["mask"] = keep[:, None, None].expand(B, 1, T, T)
    inputs = ["Q", "K", "V", "" if past else "mask", *list(named)[3 if past else 4 :]]
    node = helper.make_node("Attention", inputs, ["Y"], **options)
    graph = helper.make_graph(
        [node],
        "attention",
        [
            helper.make_tensor_value_info(
                n, TensorProto.BOOL if n == "mask" else TensorProto.DOUBLE, None
            )
            for n in named
        ],
        [helper.make_tensor_value_info("Y", TensorProto.DOUBLE, None)],
    )
    opset = helper.make_opsetid("", 25 if window is not None else 23)
    feeds = {name: np.ascontiguousarray(x.numpy()) for name, x in named.items()}
    (Y,) = ReferenceEvaluator(helper.make_model(graph, opset_imports=[opset])).run(None, feeds)
    module = ScaledDotProduct() if window is None else SlidingWindow(window)
    y = module(q[:, :, past:], k, v, None if past else keep, causal=causal)
    close(y, torch.from_numpy(Y))


@pytest.mark.parametrize("most", [0, 256], ids=["by-torch", "explicit"])
@pytest.mark.parametrize("mask", ["none", "causal", "padding", "both"])
def test_ways_to_learn_in_bfloat16(mask: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever way is taken, as near to the float32 result as bfloat16 can be."""
    monkeypatch.setattr(dot_product, "EXPLICIT_BF16", most)
    head = ScaledDotProduct()
    qkv = heads(T, torch.float)
    keep = keep_mask(torch.tensor([T, 0, 2]), T) if mask in ("padding", "both") else None
    causal = mask in ("causal", "both")
    expected = head(*qkv, keep, causal=causal)
    weight = torch.randn_like(expected)
    wanted = gradients(expected, weight, *qkv)
    with torch.autocast("cpu", torch.bfloat16):
        y = head(*(x.bfloat16() for x in qkv), keep, causal=causal)
    assert y.dtype == torch.bfloat16
    close(y.detach().float(), expected.detach(), 0.05)
    for a, b in zip(gradients(y, weight, *qkv), wanted):
        close(a, b, 0.1)
    if keep is not None:
        assert not y[1].any()
