"""Copying: the mixture against brute force, in values and gradients; step by step as at once; by
kernels as by the loop; padding changes nothing."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from unspool import native
from unspool.nn import TransformerOptions
from unspool.nn.copying import CopyOutput, CopyTable, copy_shares, coverage_loss, number_tokens
from unspool.nn.decoders import Decoder, Targets, TransformerSeqDecoder
from unspool.nn.encoder import Copies, Encoded
from unspool.nn.recurrent_decoder import RecurrentDecoder
from unspool.search import SearchRules, beam
from unspool.search.packed import PackedRecurrentSearch, PackedSearch

VOCAB, SIZE, FAR = 11, 16, 10**12
# Two tokens beyond the vocabulary in the first source, one of them twice, and one in the second.
SOURCE = torch.tensor([[5, FAR, 5, 7, FAR + 3, FAR], [FAR + 9, 4, 3, 0, 0, 0]])
LENGTHS = torch.tensor([6, 3])
# Known and copied, unknown and copied, unknown and not there, and the end.
TARGETS = torch.tensor([[2, 5, FAR + 3, 8, FAR + 77, 3], [2, FAR + 9, 4, 3, 0, 0]])
UNKNOWN = 1

FORMS: dict[str, dict[str, Any]] = {
    "additive": {"attention": "additive"},
    "coverage": {"attention": "additive", "coverage": True},
    "stacked": {"attention": "additive", "coverage": True, "cell": "lstm", "layers": 2},
    "feeding": {"attention": "general", "input_feeding": True, "cell": "lstm"},
    "general": {"attention": "general", "tied": True},
    "transformer": {},
}


def decoder_of(form: str) -> Decoder:
    torch.manual_seed(1)
    decoder: Decoder
    if form == "transformer":
        options = TransformerOptions(SIZE, 2, layers=2, hidden=32)
        decoder = TransformerSeqDecoder(VOCAB, options, copying=True)
    else:
        given = {"memory": SIZE, "embedding": 9, "cell": "gru", "hidden": SIZE, **FORMS[form]}
        decoder = RecurrentDecoder(VOCAB, copying=True, **given)
    for parameter in decoder.parameters():
        nn.init.normal_(parameter, std=0.4)
    return decoder.eval()


def encoded(*, more: int = 0) -> Encoded:
    """With `more` steps of padding, full of what must not be read."""
    torch.manual_seed(2)
    outputs = torch.randn(2, SOURCE.shape[1], SIZE)
    outputs = torch.cat([outputs, torch.full((2, more, SIZE), 7.0)], 1)
    ids = torch.cat([SOURCE, torch.full((2, more), 0)], 1)
    return Encoded(outputs, LENGTHS, None, Copies(ids))


def targets() -> Targets:
    known = TARGETS.where(TARGETS < VOCAB, UNKNOWN)
    return Targets(known, torch.tensor([6, 4]), TARGETS)


def numbered(ids: Tensor) -> Tensor:
    """Tokens of the second argument as the extended vocabulary of each source numbers them."""
    names = [sorted({t for t in row.tolist() if t >= VOCAB}) for row in SOURCE]
    return torch.tensor(
        [
            [VOCAB + own.index(t) if t in own else min(t, VOCAB) % VOCAB or UNKNOWN for t in row]
            for own, row in zip(names, ids.tolist())
        ]
    )


def brute_force(decoder: Decoder, vectors: Tensor, alignment: Tensor) -> Tensor:
    """p (B, T, V + X), term by term."""
    output = decoder.output
    assert isinstance(output, CopyOutput)
    scores = output(vectors)
    gate = torch.sigmoid(scores[..., -1:])
    p = torch.cat([gate * scores[..., :-1].softmax(-1), torch.zeros(*scores.shape[:2], 2)], -1)
    where = numbered(SOURCE)
    for b in range(len(where)):
        for j in range(int(LENGTHS[b])):
            column = nn.functional.one_hot(where[b, j], p.shape[-1])
            p[b] = p[b] + ((1 - gate[b]) * alignment[b, :, j : j + 1]) * column
    return p


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> str:
    return request.param


def test_probabilities_sum_to_one_and_are_brute_force(form: str) -> None:
    decoder = decoder_of(form)
    with torch.no_grad():
        log_p = decoder(targets().ids, encoded())
        wanted = brute_force(decoder, *decoder.read(targets().ids, encoded()))
    torch.testing.assert_close(log_p.exp(), wanted, rtol=0, atol=2e-6)
    torch.testing.assert_close(log_p.exp().sum(-1), torch.ones(2, 6))
    assert (log_p[1, :, -1] == -torch.inf).all()  # the second source has one such token


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_the_loss_is_that_of_brute_force_with_its_gradients(form: str, smoothing: float) -> None:
    decoder, given = decoder_of(form), targets()
    inputs, lengths = given.ids[:, :-1], given.lengths - 1

    def reference(memory: Encoded) -> Tensor:
        vectors, alignment = decoder.read(inputs, memory, lengths=lengths)
        assert alignment is not None
        p = brute_force(decoder, vectors, alignment)
        keep = torch.arange(inputs.shape[1]) < lengths[:, None]
        losses = -p.gather(-1, numbered(TARGETS[:, 1:])[..., None])[..., 0][keep].log()
        softmax = decoder.output(vectors)[..., :-1].log_softmax(-1)[keep]
        loss = (1 - smoothing) * losses.mean() - smoothing * softmax.mean()
        return loss + decoder.coverage_weight * coverage_loss(alignment, keep)

    def fused(memory: Encoded) -> Tensor:
        return decoder.loss(given, memory, label_smoothing=smoothing)

    found = []
    for loss_of in (reference, fused):
        decoder.zero_grad(set_to_none=True)
        memory = encoded()
        memory.outputs.requires_grad_()
        loss = loss_of(memory)
        loss.backward()
        assert memory.outputs.grad is not None
        grads = {
            name: p.grad.clone() for name, p in decoder.named_parameters() if p.grad is not None
        }
        found.append({"loss": loss.detach(), "memory": memory.outputs.grad, **grads})
    assert found[0].keys() == found[1].keys()
    assert {name for name, _ in decoder.named_parameters()} <= found[0].keys()
    for name, wanted in found[0].items():
        bound = 2e-5 * max(1.0, float(wanted.abs().max()))
        torch.testing.assert_close(found[1][name], wanted, rtol=0, atol=bound, msg=name)
    if not smoothing:
        own = decoder.token_losses(given, encoded()).mean()
        weight = decoder.coverage_weight
        assert float(own) <= float(found[0]["loss"]) + 1e-6
        assert weight or float(own) == pytest.approx(float(found[0]["loss"]), abs=1e-5)


def test_it_is_differentiated_correctly() -> None:
    torch.manual_seed(1)
    output = CopyOutput(4, VOCAB).double()
    table = CopyTable.of(Copies(SOURCE), torch.arange(6) < LENGTHS[:, None], VOCAB)
    h = torch.randn(2, 4, dtype=torch.double, requires_grad=True)
    e = torch.randn(2, 6, dtype=torch.double, requires_grad=True)
    e.data[1, 3:] = -1000.0

    def finite(h: Tensor, e: Tensor) -> Tensor:
        found = output.mix(output(h), e.softmax(-1), table)
        return found[found > -torch.inf]

    assert torch.autograd.gradcheck(finite, (h, e))


def test_nothing_overflows() -> None:
    output = CopyOutput(1, VOCAB)
    nn.init.constant_(output.generate.weight, 1e4)
    table = CopyTable.of(Copies(SOURCE[:1]), None, VOCAB)
    alignment = torch.tensor([[0.0, 1.0, 0.0, 0.0, 0.0, 0.0]])
    for h in (torch.tensor([[1.0]]), torch.tensor([[-1.0]])):  # p_gen 1, and 0
        h.requires_grad_()
        found = output.mix(output(h), alignment, table)
        assert not found.isnan().any()
        found[found > -1e30].sum().backward()
        assert h.grad is not None
        assert h.grad.isfinite().all()


def test_step_by_step_as_at_once(form: str) -> None:
    decoder, ids = decoder_of(form), numbered(TARGETS)
    with torch.inference_mode():
        whole = decoder(ids, encoded())
        state = decoder.start(encoded())
        for t in range(ids.shape[1]):
            scores, state = decoder.step(ids[:, t], state)
            torch.testing.assert_close(scores, whole[:, t], rtol=0, atol=1e-5)


def test_padding_changes_nothing(form: str) -> None:
    decoder, ids = decoder_of(form), numbered(TARGETS)
    with torch.inference_mode():
        alone, padded = decoder(ids, encoded()), decoder(ids, encoded(more=5))
    torch.testing.assert_close(padded, alone, rtol=0, atol=1e-5)
    losses = [decoder.token_losses(targets(), encoded(more=more)) for more in (0, 5)]
    torch.testing.assert_close(losses[1], losses[0], rtol=0, atol=1e-5)


@pytest.mark.skipif(native.INSTRUCTIONS is None, reason=native.ABOUT)
def test_searches_by_kernels_are_the_same(form: str) -> None:
    decoder = decoder_of(form)
    assert isinstance(decoder.output, CopyOutput)
    nn.init.constant_(decoder.output.generate.bias, -4.0)  # it copies most of the time
    packed: Any
    if isinstance(decoder, RecurrentDecoder):
        if form == "general":
            pytest.skip("its cell waits for nothing, and is searched all the same")
        packed = PackedRecurrentSearch(decoder)
    else:
        assert isinstance(decoder, TransformerSeqDecoder)
        packed = PackedSearch(decoder)
    rules, first = SearchRules(end=3, max_length=7, forbidden=(0, 2)), torch.tensor([2, 2])
    found = []
    for each in (decoder, packed):
        with torch.inference_mode():
            start = each.start(encoded(), aligned=True)
            found.append(beam(each, start, first, rules, width=4, best=3))
    for ours, wanted in zip(*found):
        assert [h.tokens for h in ours] == [h.tokens for h in wanted]
        for a, b in zip(ours, wanted):
            assert a.log_probability == pytest.approx(b.log_probability, abs=1e-4)
    assert any(t >= VOCAB for h in found[0][0] for t in h.tokens)  # something unknown is written


@pytest.mark.skipif(native.INSTRUCTIONS is None, reason=native.ABOUT)
@pytest.mark.parametrize("form", ["additive", "coverage", "stacked", "feeding"])
def test_kernels_give_the_gradients_of_the_loop(form: str) -> None:
    decoder = decoder_of(form)
    assert isinstance(decoder, RecurrentDecoder)
    assert decoder.unsupported_reason(decoder.embedding.weight[:1]) is None
    found = []
    for fast in ("auto", False):
        decoder.recurrent.fast = fast  # type: ignore[assignment]
        decoder.zero_grad(set_to_none=True)
        memory = encoded()
        memory.outputs.requires_grad_()
        decoder.loss(targets(), memory).backward()
        assert memory.outputs.grad is not None
        grads = {
            name: p.grad.clone() for name, p in decoder.named_parameters() if p.grad is not None
        }
        found.append({"memory": memory.outputs.grad, **grads})
    assert found[0].keys() == found[1].keys()
    for name, wanted in found[1].items():
        bound = 2e-5 * max(1.0, float(wanted.abs().max()))
        torch.testing.assert_close(found[0][name], wanted, rtol=0, atol=bound, msg=name)


def test_shares_are_those_of_the_mixture() -> None:
    decoder = decoder_of("additive")
    output = decoder.output
    assert isinstance(output, CopyOutput)
    numbers = number_tokens(SOURCE, VOCAB).ids
    real = torch.arange(SOURCE.shape[1]) < LENGTHS[:, None]
    assert torch.equal(numbers[real], numbered(SOURCE)[real])
    with torch.inference_mode():
        vectors, alignment = decoder.read(targets().ids, encoded())
        assert alignment is not None
        written = torch.tensor([5, VOCAB, 8, VOCAB + 1, 3, 9])
        found = copy_shares(output, vectors[0], alignment[0], numbers[0], written)
        p = brute_force(decoder, vectors, alignment)[0].gather(1, written[:, None])[:, 0]
    mass = (alignment[0] * (numbers[0] == written[:, None])).sum(-1)
    wanted = (1 - found.gate.float()) * mass / p
    torch.testing.assert_close(found.copied.float(), wanted, rtol=1e-4, atol=1e-6)
    assert found.copied[1] == 1  # beyond the vocabulary: copied for sure
    assert found.position.tolist()[2] == -1  # and what the source does not have was not
    assert found.position[1] in (1, 5)
