"""Packed weights: the products of torch, for a Transformer that answers in one pass."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from unspool.serve.products import PackedProducts, packed_products

needs_onednn = pytest.mark.skipif(
    not torch.backends.mkldnn.is_available(), reason="needs torch with oneDNN"
)


@needs_onednn
@pytest.mark.parametrize("shape", [(1,), (7,), (3, 5), (2, 3, 40)])
def test_products_are_those_of_torch(shape) -> None:
    layer, x = nn.Linear(48, 96), torch.randn(*shape, 48)
    bare = nn.Parameter(torch.randn(64, 48))
    strided = torch.randn(*shape, 96)[..., ::2]
    mode = PackedProducts()
    with torch.inference_mode():
        expected = layer(x), F.linear(x, bare), layer(strided), layer(x.double().float()).relu()
        for _ in range(2):
            with mode:
                packed = layer(x), F.linear(x, bare, None), layer(strided), layer(x).relu()
            for one, other in zip(packed, expected):
                torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)
    assert len(mode.packed) == 2


@needs_onednn
def test_other_products_are_left_to_torch() -> None:
    mode, x = PackedProducts(), torch.randn(3, 48)
    small, double = nn.Linear(48, 4), nn.Linear(48, 64).double()
    with torch.inference_mode(), mode:
        small(x), double(x.double()), F.linear(x, torch.randn(64, 48), None)
    assert mode.packed == {}


def test_only_transformers_that_answer_in_one_pass(classifier, translator) -> None:
    from unspool.training.folder import RunFolder

    for folder in (classifier, translator):
        assert packed_products(*RunFolder(folder).load_model(), "cpu") is None
