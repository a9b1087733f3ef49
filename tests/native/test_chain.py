"""The kernels of a CRF's passes over time against the same on torch."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from unspool import native
from unspool.native import chain
from unspool.nn import crf

if native.INSTRUCTIONS is None:
    pytest.skip(native.ABOUT, allow_module_level=True)

SHAPES = st.tuples(st.integers(1, 40), st.integers(1, 30), st.integers(1, 21))


@settings(deadline=None, max_examples=60)
@given(shape=SHAPES, seed=st.integers(0, 2**32 - 1), threads=st.integers(1, 2))
def test_the_kernels_do_what_torch_does(shape: tuple[int, int, int], seed: int, threads: int):
    B, T, C = shape
    generator = torch.Generator().manual_seed(seed)

    def noise(*size: int) -> torch.Tensor:
        return 3 * torch.randn(*size, generator=generator, dtype=torch.float64)

    lengths = torch.randint(1, T + 1, (B,), generator=generator)
    x, A, a, b = noise(B, T, C), noise(C, C), noise(C), noise(C)
    e, P, last = x.exp(), A.exp(), noise(B, C).exp()
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        p, s = chain.forward(e, P, lengths)
        q = chain.backward(e, P, s, last, lengths)
        tags = chain.viterbi(x, A, a, b, lengths)
    finally:
        torch.set_num_threads(before)
    slow_p, slow_s = crf.forward(e, P, lengths)
    torch.testing.assert_close(p, slow_p, rtol=1e-12, atol=0)
    torch.testing.assert_close(s, slow_s, rtol=1e-12, atol=0)
    torch.testing.assert_close(q, crf.backward(e, P, s, last, lengths), rtol=1e-12, atol=0)
    assert torch.equal(tags, crf.viterbi(x, A, a, b, lengths))


@pytest.mark.parametrize("lengths", [[0, 2], [2, 4], [2], [2.0, 2.0]])
def test_lengths_that_do_not_fit_are_refused(lengths: list[float]) -> None:
    e = torch.ones(2, 3, 4, dtype=torch.float64)
    with pytest.raises(
        (TypeError, ValueError), match=r"lengths (must be between|as contiguous int64)"
    ):
        chain.forward(e, torch.ones(4, 4, dtype=e.dtype), torch.tensor(lengths))


def test_numbers_of_another_kind_are_refused() -> None:
    e = torch.ones(2, 3, 4)
    with pytest.raises(TypeError, match="takes e as contiguous float64"):
        chain.forward(e, torch.ones(4, 4), torch.tensor([1, 2]))
