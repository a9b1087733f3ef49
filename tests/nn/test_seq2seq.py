"""An encoder and a decoder together: the same scores step by step, shared vectors, alignments."""

from __future__ import annotations

import pytest
import torch

from unspool.nn import TransformerOptions
from unspool.nn.decoders import TransformerSeqDecoder
from unspool.nn.encoder import Encoder
from unspool.nn.inputs import TokenInput
from unspool.nn.models.seq2seq import Seq2Seq
from unspool.nn.recurrent import Recurrent
from unspool.nn.recurrent_decoder import RecurrentDecoder
from unspool.nn.taps import record
from unspool.nn.transformer import TransformerEncoder

VOCAB = 11
SOURCE = torch.tensor([[5, 6, 7, 8, 3], [4, 9, 3, 0, 0]])
LENGTHS = torch.tensor([5, 3])
INPUTS = torch.tensor([[2, 4, 5, 6], [2, 7, 8, 9]])


def build(kind: str, *, shared: bool = False) -> Seq2Seq:
    torch.manual_seed(1)
    if kind == "transformer":
        options = TransformerOptions(8, 2, layers=3, hidden=12)
        encoder = Encoder(options.token_input(VOCAB), TransformerEncoder(options))
        return Seq2Seq(encoder, TransformerSeqDecoder(VOCAB, options), shared=shared).eval()
    encoder = Encoder(TokenInput(VOCAB, 6), Recurrent("gru", 6, 5, bidirectional=True))
    decoder = RecurrentDecoder(
        VOCAB, memory=10, embedding=6, cell="gru", hidden=5, attention="additive", tied=True
    )
    return Seq2Seq(encoder, decoder, shared=shared).eval()


@pytest.mark.parametrize("kind", ["transformer", "recurrent"])
@pytest.mark.parametrize("aligned", [False, True])
def test_step_by_step_as_in_one_go(kind: str, aligned: bool) -> None:
    model = build(kind)
    with torch.no_grad():
        expected = model(SOURCE, LENGTHS, INPUTS)
        state = model.start(SOURCE, LENGTHS, aligned=aligned)
        for t in range(INPUTS.shape[1]):
            logits, state = model.decoder.step(INPUTS[:, t], state)
            torch.testing.assert_close(logits, expected[:, t], atol=1e-5, rtol=1e-4)
            if aligned:
                assert state.alignment.shape == (2, 5)
                torch.testing.assert_close(state.alignment.sum(1), torch.ones(2))
                assert not state.alignment[1, 3:].any()


def test_a_transformer_aligns_only_when_asked() -> None:
    model = build("transformer")
    with torch.no_grad():
        state = model.start(SOURCE, LENGTHS)
        _, state = model.decoder.step(INPUTS[:, 0], state)
        assert state.alignment is None
        with record(model.decoder, "*layers.1.cross_attention.weights") as trace:
            model(SOURCE, LENGTHS, INPUTS)
        (path,) = trace
        state = model.start(SOURCE, LENGTHS, aligned=True)
        for t in range(INPUTS.shape[1]):
            _, state = model.decoder.step(INPUTS[:, t], state)
            torch.testing.assert_close(state.alignment, trace[path].mean(1)[:, t])
        chosen = model.decoder.select(state, torch.tensor([1, 1, 0]))
        torch.testing.assert_close(chosen.alignment, state.alignment[[1, 1, 0]])


@pytest.mark.parametrize("kind", ["transformer", "recurrent"])
def test_shared_vectors_are_one_matrix(kind: str) -> None:
    apart, shared = build(kind), build(kind, shared=True)
    names = {name for name in shared.state_dict() if name.endswith("embedding.weight")}
    assert names == {"decoder.embedding.weight"}
    less = sum(p.numel() for p in apart.parameters()) - sum(p.numel() for p in shared.parameters())
    assert less == apart.get_submodule("decoder.embedding").weight.numel()
    before = shared.encoder(SOURCE, LENGTHS).outputs
    with torch.no_grad():
        shared.get_submodule("decoder.embedding").weight.mul_(2)
    assert not torch.allclose(before, shared.encoder(SOURCE, LENGTHS).outputs)
