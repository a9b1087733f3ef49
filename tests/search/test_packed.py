"""Native decoding against the decoder it was made from, and searches over both."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from rounding import same
from unspool import native
from unspool.nn import Encoded, RecurrentDecoder, TransformerOptions, TransformerSeqDecoder
from unspool.search import SearchRules, beam, greedy
from unspool.search.packed import PackedSearch, unsupported_reason

if native.INSTRUCTIONS is None:
    pytest.skip(native.ABOUT, allow_module_level=True)

VOCAB = 37  # not a multiple of 16
TERMS, SUMS = 48, 3 * 8  # of the widest product; products and norms of three layers


def decoder_of(*, cross: bool = True, tied: bool = True, **options: Any) -> TransformerSeqDecoder:
    torch.manual_seed(1)
    shape = {"layers": 3, "hidden": 48, "length": 50} | options
    decoder = TransformerSeqDecoder(
        VOCAB, TransformerOptions(32, 4, **shape), cross=cross, tied=tied
    ).eval()
    with torch.no_grad():
        for parameter in decoder.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return decoder


def sources(batch: int) -> Encoded:
    """A memory (B, S, E), some of it padding; the last sentence has nothing at all."""
    torch.manual_seed(2)
    memory, lengths = torch.randn(batch, 6, 32), torch.randint(1, 7, (batch,))
    lengths[-1] = 0
    return Encoded(memory, lengths)


def walk(decoder: Any, state: Any, steps: int) -> tuple[list[Tensor], list[Tensor | None]]:
    """Logits and alignments of each step, with rows selected in between."""
    torch.manual_seed(3)
    ids, found, looked = torch.randint(0, VOCAB, (5,)), [], []
    with torch.inference_mode():
        for step in range(steps):
            logits, state = decoder.step(ids, state)
            found.append(logits)
            looked.append(state.alignment)
            rows = torch.randint(0, len(ids), (max(1, len(ids) + (1 if step < 3 else -1)),))
            state, ids = decoder.select(state, rows), torch.randint(0, VOCAB, rows.shape)
    return found, looked


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"norm": "post"},
        {"activation": "gelu", "positions": "learned"},
        {"activation": "gelu_tanh", "positions": "none", "epsilon": 1e-3},
        {"activation": "swiglu", "embedding_norm": True},
        {"tied": False},
    ],
    ids=str,
)
def test_steps_are_the_same(options: dict[str, Any]) -> None:
    reference = decoder_of(**options)
    packed = PackedSearch(reference)
    source = sources(5)
    for encoded in (source, Encoded(source.outputs)):
        wanted, wanted_looked = walk(reference, reference.start(encoded, aligned=True), 7)
        found, looked = walk(packed, packed.start(encoded, aligned=True), 7)
        for a, b in zip([*found, *looked], [*wanted, *wanted_looked]):
            same(a, b, TERMS, steps=SUMS)


def test_a_language_model_has_no_memory() -> None:
    reference = decoder_of(cross=False)
    packed = PackedSearch(reference)
    found, _ = walk(packed, packed.start(batch=5), 6)
    wanted, _ = walk(reference, reference.start(), 6)
    for a, b in zip(found, wanted):
        same(a, b, TERMS, steps=SUMS)


@pytest.mark.parametrize("activation", ["relu", "swiglu"])
def test_bytes_are_nearly_the_same(activation: str) -> None:
    reference = decoder_of(activation=activation)
    packed = PackedSearch(reference, as_bytes=True)
    encoded = sources(5)
    found, _ = walk(packed, packed.start(encoded), 7)
    wanted, _ = walk(reference, reference.start(encoded), 7)
    for a, b in zip(found, wanted):
        assert (a - b).norm() / b.norm() < 0.03


@pytest.mark.parametrize("wanted", ["avx512", "avx2", "baseline"])
def test_every_instruction_set(wanted: str) -> None:
    assert native._kernels is not None
    if wanted not in native._kernels.instruction_sets():
        pytest.skip(f"this processor has no {wanted}")
    reference = decoder_of(activation="gelu")
    encoded = sources(5)
    exact, _ = walk(reference, reference.start(encoded), 5)
    native._kernels.use(wanted)
    try:
        for as_bytes, tolerance in ((False, 1e-5), (True, 0.03)):
            packed = PackedSearch(reference, as_bytes=as_bytes)
            found, _ = walk(packed, packed.start(encoded), 5)
            for a, b in zip(found, exact):
                assert (a - b).norm() / b.norm() < tolerance
    finally:
        native._kernels.use(native.INSTRUCTIONS)


@pytest.mark.parametrize("wanted", ["avx512", "avx2", "baseline"])
def test_more_positions_than_a_register_has_lanes(wanted: str) -> None:
    assert native._kernels is not None
    if wanted not in native._kernels.instruction_sets():
        pytest.skip(f"this processor has no {wanted}")
    reference = decoder_of()
    torch.manual_seed(2)
    encoded = Encoded(torch.randn(5, 37, 32), torch.tensor([37, 33, 16, 5, 0]))
    exact, exact_looked = walk(reference, reference.start(encoded, aligned=True), 20)
    native._kernels.use(wanted)
    try:
        packed = PackedSearch(reference)
        found, looked = walk(packed, packed.start(encoded, aligned=True), 20)
    finally:
        native._kernels.use(native.INSTRUCTIONS)
    for a, b in zip([*found, *looked], [*exact, *exact_looked]):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)


def test_searches_find_the_same() -> None:
    reference = decoder_of()
    packed = PackedSearch(reference)
    encoded = sources(4)
    first, rules = torch.full((4,), 2), SearchRules(end=3, max_length=12)
    wanted = greedy(reference, reference.start(encoded), first, rules)
    found = greedy(packed, packed.start(encoded), first, rules)
    assert [h.tokens for h in found] == [h.tokens for h in wanted]
    many = beam(reference, reference.start(encoded), first, rules, width=4, best=3)
    again = beam(packed, packed.start(encoded), first, rules, width=4, best=3)
    assert [[h.tokens for h in best] for best in again] == [
        [h.tokens for h in best] for best in many
    ]


def test_threads_agree() -> None:
    reference, before = decoder_of(norm="post", activation="swiglu"), torch.get_num_threads()
    encoded = sources(5)
    packed = PackedSearch(reference)
    try:
        found = []
        for threads in (1, 3):
            torch.set_num_threads(threads)
            found.append(walk(packed, packed.start(encoded), 5)[0])
    finally:
        torch.set_num_threads(before)
    for a, b in zip(*found):
        same(a, b, TERMS, steps=SUMS)


def test_what_cannot_be_packed_is_said() -> None:
    assert "not a Transformer" in (unsupported_reason(torch.nn.Linear(1, 1)) or "")
    recurrent = RecurrentDecoder(VOCAB, embedding=4, cell="gru", hidden=4, memory=4)
    assert "not a Transformer" in (unsupported_reason(recurrent) or "")
    assert "full attention" in (unsupported_reason(decoder_of(positions="rotary")) or "")
    assert "multiples of 16" in (unsupported_reason(decoder_of(hidden=40)) or "")
    assert "float32" in (unsupported_reason(decoder_of().double()) or "")
    with native.switched_off():
        assert "no native kernels" in (unsupported_reason(decoder_of()) or "")
        with pytest.raises(ValueError, match="cannot pack this decoder: no native kernels"):
            PackedSearch(decoder_of())
