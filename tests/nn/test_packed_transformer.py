"""The encoder without padding against the padded one, which is its reference."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from closeness import NAN, close, gradients, normal, shake
from torch import Tensor, nn

from unspool.nn import multihead
from unspool.nn.masks import keep_mask
from unspool.nn.packing import Packing
from unspool.nn.taps import record
from unspool.nn.transformer import TransformerEncoder
from unspool.nn.transformer_blocks import TransformerOptions

B, T, E = 5, 9, 8
LENGTHS = torch.tensor([9, 2, 2, 1, 7])
OPTIONS = TransformerOptions(E, 2, hidden=12, layers=2)
FORMS = {
    "pre": {},
    "bert": {"norm": "post", "embedding_norm": True, "positions": "learned", "length": T},
    "rotary": {"activation": "swiglu", "positions": "rotary"},
    "window": {"kind": "window", "window": 2},
    "linear": {"kind": "linear", "positions": "none"},
}


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(1)


@pytest.fixture(params=[0, 64], ids=["by-length", "padded-attention"])
def short(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The two ways in which packed rows attend to each other."""
    monkeypatch.setattr(multihead, "SHORT", request.param)


def encoder(form: str = "pre", **options) -> TransformerEncoder:
    made = TransformerEncoder(replace(OPTIONS, **FORMS[form], **options))
    return shake(made).double()  # type: ignore[return-value]


def reference(model: TransformerEncoder, x: Tensor, lengths: Tensor | None) -> Tensor:
    model.fast = False
    y = model(x, lengths).outputs
    model.fast = True
    return y


def packs(model: TransformerEncoder) -> list[bool]:
    """Filled with whether each call of the first block got packed rows."""
    seen: list[bool] = []

    def look(module: nn.Module, inputs: tuple[Tensor, ...], options: dict[str, object]) -> None:
        seen.append(inputs[0].dim() == 2)

    model.layers[0].register_forward_pre_hook(look, with_kwargs=True)
    return seen


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("form", FORMS)
def test_packed_is_padded(form: str) -> None:
    model, keep = encoder(form), keep_mask(LENGTHS, T)
    seen = packs(model)
    x = normal(B, T, E).masked_fill(~keep[..., None], NAN).requires_grad_()
    weight = normal(B, T, E)
    by = [x, *model.parameters()]
    y1, y2 = model(x, LENGTHS).outputs, reference(model, x, LENGTHS)
    assert seen == [True, False]
    close(y1, y2)
    assert not y1[~keep].any()
    for a, b in zip(gradients(y1, weight, *by), gradients(y2, weight, *by)):
        close(a, b)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("form", FORMS)
def test_gradcheck_without_padding(form: str) -> None:
    model, x = encoder(form), normal(2, 4, E, grad=True)
    lengths = torch.tensor([4, 2])
    assert torch.autograd.gradcheck(lambda x: model(x, lengths).outputs, [x], fast_mode=True)


def test_where_rows_are_not_packed() -> None:
    model, x = encoder(), normal(B, T, E)
    seen = packs(model)
    close(model(x, torch.full((B,), T)).outputs, reference(model, x, None))
    with record(model):
        model(x, LENGTHS)
    assert not any(seen)


@pytest.mark.usefixtures("short")
def test_dropout_falls_on_packed_rows() -> None:
    model = encoder(dropout=0.5, attention_dropout=0.5)
    x = normal(B, T, E)
    assert not torch.equal(model(x, LENGTHS).outputs, model(x, LENGTHS).outputs)
    model.eval()
    close(model(x, LENGTHS).outputs, reference(model, x, LENGTHS))


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("form", FORMS)
def test_packed_bfloat16_is_near(form: str) -> None:
    model, x = encoder(form).float(), normal(B, T, E).float()
    expected = reference(model, x, LENGTHS).detach()
    with torch.autocast("cpu", torch.bfloat16):
        y = model(x, LENGTHS).outputs
    close(y.detach().float(), expected, 0.1 * float(expected.abs().max()))
    found = gradients(y, torch.ones_like(y), *model.parameters())
    assert all(g.isfinite().all() for g in found)


def test_runs_of_one_length() -> None:
    packing = Packing.of(6, 9, torch.tensor([9, 2, 2, 0, 0, 7]), by_time=False)
    assert list(packing.runs()) == [(1, 9), (2, 2), (1, 7)]
