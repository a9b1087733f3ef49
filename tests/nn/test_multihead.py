"""Many heads and their cache, against torch.nn.MultiheadAttention and step by step."""

from __future__ import annotations

import pytest
import torch
from closeness import NAN, close, gradients, normal, tapped
from torch import Tensor, nn

from rounding import same
from unspool.errors import ConfigError
from unspool.nn.cache import GrowingCache
from unspool.nn.dot_product import SlidingWindow
from unspool.nn.linear_attention import LinearAttention
from unspool.nn.masks import causal_mask, keep_mask
from unspool.nn.multihead import MultiHeadAttention
from unspool.nn.taps import record, taps

B, A, T, S, E = 3, 2, 5, 7, 8
LENGTHS = torch.tensor([7, 2, 4])


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(1)


def pair(**options) -> tuple[MultiHeadAttention, nn.MultiheadAttention]:
    ours = MultiHeadAttention(E, A, **options).double()
    theirs = nn.MultiheadAttention(E, A, batch_first=True, bias=options.get("bias", True)).double()
    for parameter in theirs.parameters():
        nn.init.normal_(parameter, std=0.5)
    with torch.no_grad():
        for name, parameter in matching(ours, theirs):
            ours.get_parameter(name).copy_(parameter)
    return ours, theirs


def matching(
    ours: MultiHeadAttention, theirs: nn.MultiheadAttention
) -> list[tuple[str, nn.Parameter]]:
    names = [("W", theirs.in_proj_weight), ("W_o", theirs.out_proj.weight)]
    if ours.b is not None:
        names += [("b", theirs.in_proj_bias), ("b_o", theirs.out_proj.bias)]
    return names


@pytest.mark.parametrize("tapped", [False, True], ids=["fused", "tapped"])
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no-bias"])
@pytest.mark.parametrize("mask", ["none", "padding", "causal", "both", "cross", "cross-padding"])
def test_heads_against_torch(mask: str, bias: bool, tapped: bool) -> None:
    ours, theirs = pair(bias=bias)
    x, memory, weight = normal(B, S, E, grad=True), normal(B, S, E, grad=True), normal(B, S, E)
    keep = keep_mask(LENGTHS, S) if mask in ("padding", "both", "cross-padding") else None
    causal = mask in ("causal", "both")
    source = memory if mask.startswith("cross") else x

    def run() -> Tensor:
        return ours(x, memory if mask.startswith("cross") else None, keep, causal=causal)

    if tapped:
        with record(ours) as trace:
            y1 = run()
    else:
        y1 = run()
    y2, weights = theirs(
        x,
        source,
        source,
        key_padding_mask=None if keep is None else ~keep,
        attn_mask=~causal_mask(S) if causal else None,
        average_attn_weights=False,
    )
    if keep is not None and source is x:  # queries at padding: nobody asks what they give
        weight = weight * keep[..., None]
        y1, y2 = y1 * keep[..., None], y2 * keep[..., None]
        weights = weights * keep[:, None, :, None]
    close(y1, y2)
    if tapped:
        real = 1 if keep is None or source is not x else keep[:, None, :, None]
        close(trace["weights"] * real, weights)
    by = [x] if source is x else [x, memory]
    names = matching(ours, theirs)
    found1 = gradients(y1, weight, *by, *(ours.get_parameter(name) for name, _ in names))
    found2 = gradients(y2, weight, *by, *(parameter for _, parameter in names))
    for a, b in zip(found1, found2):
        close(a, b)


def test_where_torch_gives_nan_heads_give_zeros() -> None:
    ours, theirs = pair()
    nn.init.zeros_(ours.b_o)
    nn.init.zeros_(theirs.out_proj.bias)
    keep = keep_mask(torch.tensor([3, 0, 7]), S)
    x, memory = normal(B, T, E, grad=True), normal(B, S, E, grad=True)
    assert theirs(x, memory, memory, key_padding_mask=~keep)[0].isnan().any()
    for explicit in (False, True):
        y = tapped(ours, x, memory, keep) if explicit else ours(x, memory, keep)
        assert y.isfinite().all()
        assert not y[1].any()
        by_x, by_memory, by_W = gradients(y, normal(B, T, E), x, memory, ours.W)
        assert not by_x[1].any()
        assert not by_memory[~keep].any()
        assert by_W.isfinite().all()
        assert by_memory[keep].any()


MULTIHEADS = {
    "full": {},
    "rotary": {"rotary": True},
    "window": {"kind": "window", "window": 2},
    "window-rotary": {"kind": "window", "window": 2, "rotary": True},
    "linear": {"kind": "linear"},
}


@pytest.mark.parametrize("causal", [False, True], ids=["both-ways", "causal"])
@pytest.mark.parametrize("kind", MULTIHEADS)
def test_alone_is_as_in_a_batch_whatever_the_padding(kind: str, causal: bool) -> None:
    module = MultiHeadAttention(E, A, **MULTIHEADS[kind]).double()
    nn.init.normal_(module.b)
    x, weight = normal(B, S, E), normal(B, S, E)
    keep = keep_mask(LENGTHS, S)
    weight = weight * keep[..., None]
    parameters = list(module.parameters())
    alone = []
    for i, n in enumerate(LENGTHS.tolist()):
        y = module(x[i : i + 1, :n], causal=causal)
        alone.append([y, *gradients(y, weight[i : i + 1, :n], *parameters)])
    for content in (0.0, NAN, 1e4):
        padded = x.masked_fill(~keep[..., None], content)
        y = module(padded, keep=keep, causal=causal)
        for i, n in enumerate(LENGTHS.tolist()):
            close(y[i, :n], alone[i][0][0])
        for a, b in zip(gradients(y, weight, *parameters), zip(*(g[1:] for g in alone))):
            close(a, sum(b))


@pytest.mark.parametrize(("dtype", "atol"), [(torch.double, 1e-10), (torch.float, 1e-5)])
@pytest.mark.parametrize("kind", MULTIHEADS)
def test_step_by_step_is_whole(kind: str, dtype: torch.dtype, atol: float) -> None:
    module = MultiHeadAttention(E, A, **MULTIHEADS[kind]).to(dtype)
    x = torch.randn(B, 40, E, dtype=dtype)
    whole = module(x, causal=True)
    for mode in (torch.enable_grad, torch.no_grad, torch.inference_mode):
        with mode():
            cache = None
            for t in range(40):
                y, cache = module.step(x[:, t : t + 1], cache)
                close(y[:, 0].clone(), whole[:, t].detach(), atol)


@pytest.mark.parametrize("kind", MULTIHEADS)
def test_heads_tapped_are_untapped_under_a_plain_name(kind: str) -> None:
    module = MultiHeadAttention(E, A, **MULTIHEADS[kind])
    x, keep = torch.randn(B, S, E), keep_mask(LENGTHS, S)
    assert list(taps(module)) == ["weights"]
    with record(module) as trace:
        tapped = module(x, keep=keep, causal=True)
    same(tapped, module(x, keep=keep, causal=True), E + S, steps=4)
    weights = trace["weights"]
    assert weights.shape == (B, A, S, S)
    assert not weights.triu(1).any()
    same(weights[0].sum(-1), torch.ones(A, S), S, results=1)


@pytest.mark.parametrize("kind", MULTIHEADS)
def test_gradcheck_of_heads(kind: str) -> None:
    module = MultiHeadAttention(4, 2, **MULTIHEADS[kind]).double()
    x = normal(2, 4, 4, grad=True)
    keep = keep_mask(torch.tensor([4, 2]), 4)
    assert torch.autograd.gradcheck(lambda x: module(x, keep=keep, causal=True), [x])
    found = gradients(module(x, keep=keep), normal(2, 4, 4), *module.parameters())
    assert all(g.any() for g in found)


def test_masks_of_each_step_in_many_heads() -> None:
    ours, theirs = pair()
    x = normal(B, S, E)
    keep = torch.rand(B, S, S) < 0.6
    keep[..., 0] = True
    expected, _ = theirs(x, x, x, attn_mask=~keep.repeat_interleave(A, 0))
    close(ours(x, keep=keep), expected)


def test_many_heads_say_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match="multiple of the heads; got 8 and 3"):
        MultiHeadAttention(8, 3)
    with pytest.raises(ConfigError, match=r"unknown kind of attention.*'window'"):
        MultiHeadAttention(8, 2, kind="windows")
    with pytest.raises(ValueError, match=r"window is for kind 'window'.*got 'window' and None"):
        MultiHeadAttention(8, 2, kind="window")
    with pytest.raises(ValueError, match=r"window is for kind 'window'.*got 'full' and 3"):
        MultiHeadAttention(8, 2, window=3)
    with pytest.raises(ValueError, match="window must not be negative; got -1"):
        SlidingWindow(-1)
    x = torch.zeros(2, 3, 8)
    with pytest.raises(ValueError, match="causal is for self-attention"):
        MultiHeadAttention(8, 2)(x, x, causal=True)
    with pytest.raises(ValueError, match="reads no memory"):
        MultiHeadAttention(8, 2, kind="window", window=1)(x, x)
    with pytest.raises(ValueError, match=r"\(2, 3\) or \(2, 3, 3\); got bool \(2, 4\)"):
        MultiHeadAttention(8, 2)(x, keep=torch.ones(2, 4, dtype=torch.bool))
    q, k = torch.zeros(1, 1, 3, 2), torch.zeros(1, 1, 2, 2)
    with pytest.raises(ValueError, match="a key for each query; got 3 and 2"):
        SlidingWindow(1)(q, k, k)
    with pytest.raises(ValueError, match="as many queries as keys; got 3 and 2"):
        LinearAttention()(q, k, k, causal=True)


def test_growing_keeps_what_was() -> None:
    rows = torch.arange(200.0).view(1, 1, 200, 1)
    with torch.no_grad():
        states = [GrowingCache(rows[:, :, :1])]
        for t in range(1, 200):
            states.append(states[-1].append(rows[:, :, t : t + 1]))
        assert len({state.value.data_ptr() for state in states}) < 10  # storages, not copies
        other = states[49].append(torch.full((1, 1, 2, 1), -1.0))  # a second way to go on
        for t, state in enumerate(states):
            assert torch.equal(state.value, rows[:, :, : t + 1])
        assert other.value.flatten().tolist() == [*range(50), -1, -1]


def test_growing_selects_rows() -> None:
    with torch.no_grad():
        start = GrowingCache(torch.arange(3.0).view(3, 1, 1, 1)).append(torch.ones(3, 1, 1, 1))
        chosen = start.select(torch.tensor([2, 2])).append(torch.zeros(2, 1, 1, 1))
    assert chosen.value.flatten(1).tolist() == [[2, 1, 0], [2, 1, 0]]
    assert start.value.flatten(1).tolist() == [[0, 1], [1, 1], [2, 1]]


def test_growing_moves_between_modes() -> None:
    x = torch.ones(1, 1, 1, 1)
    with torch.inference_mode():
        state = GrowingCache(x).append(x)
    with torch.no_grad():
        state = state.append(x).append(x)
    leaf = x.clone().requires_grad_()
    state = state.append(leaf).append(x)
    state.value.sum().backward()
    assert state.steps == 6
    assert leaf.grad.item() == 1
