"""Encoders of a source behind their one face: in a batch, with padding, read last to first."""

from __future__ import annotations

import pytest
import torch
from closeness import close

from unspool.nn.encoders import TextEncoder
from unspool.nn.source import RecurrentEncoder, SourceEncoder, TransformerSeqEncoder
from unspool.nn.transformer_blocks import TransformerOptions

B, S, V = 3, 6, 7
LENGTHS = torch.tensor([4, 6, 1])
OPTIONS = TransformerOptions(6, 2, layers=2, hidden=8)


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(1)


ENCODERS = {
    "one": lambda: text(bidirectional=False),
    "both": lambda: text(bidirectional=True),
    "reversed": lambda: text(bidirectional=False, reverse_source=True),
    "one-hot": lambda: text(embedding=0, bidirectional=True, reverse_source=True),
    "transformer": lambda: TransformerSeqEncoder(V, OPTIONS),
}


def text(*, embedding: int = 3, bidirectional: bool, reverse_source: bool = False) -> SourceEncoder:
    inner = TextEncoder(V, embedding=embedding, cell="gru", hidden=4, bidirectional=bidirectional)
    return RecurrentEncoder(inner, reverse_source=reverse_source)


@pytest.mark.parametrize("name", ENCODERS)
def test_a_source_is_encoded_alone_as_in_a_batch(name: str) -> None:
    encoder = ENCODERS[name]().double()
    ids = torch.randint(V, (B, S))
    memory, keep, state = encoder.encode(ids, LENGTHS)
    other = ids.masked_fill(~keep, 2)
    close(encoder.encode(other, LENGTHS).memory, memory)
    assert memory.shape == (B, S, encoder.size)
    assert not memory[~keep].any()
    for i, n in enumerate(LENGTHS.tolist()):
        alone = encoder.encode(ids[i : i + 1, :n])
        assert alone.keep is None
        close(alone.memory[0], memory[i, :n])
        if state is not None and alone.state is not None:
            for a, b in zip(alone.state[0], state[0]):
                close(a[0][0], b[0][i])


def test_a_reversed_source_ends_with_its_first_token() -> None:
    encoder = ENCODERS["reversed"]().double()
    ids = torch.randint(V, (B, S))
    memory, _, state = encoder.encode(ids, LENGTHS)
    close(memory[:, 0], state[0][0][0])  # place 0 belongs to token 0, the last to be read
    for i, n in enumerate(LENGTHS.tolist()):
        outputs, _ = encoder.text(ids[i : i + 1, :n].flip(1))
        close(outputs[0].flip(0), memory[i, :n])


@pytest.mark.parametrize("name", ENCODERS)
def test_a_gradient_reaches_every_parameter(name: str) -> None:
    encoder = ENCODERS[name]().double()
    memory = encoder(torch.randint(V, (B, S)), LENGTHS).memory
    (memory * torch.randn_like(memory)).sum().backward()
    for path, parameter in encoder.named_parameters():
        assert parameter.grad is not None, path
        assert parameter.grad.any(), path


def test_lengths_that_do_not_fit_are_refused() -> None:
    for name in ("both", "transformer"):
        with pytest.raises(ValueError, match="lengths must lie between 1 and 6; got 0 to 7"):
            ENCODERS[name]().encode(torch.zeros(B, S, dtype=torch.long), torch.tensor([0, 7, 1]))
