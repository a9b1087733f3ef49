"""Any input layer with any network: in a batch, with padding, reversed, with extra features."""

from __future__ import annotations

import pytest
import torch
from closeness import close
from torch import Tensor

from unspool.nn.convolution import ConvolutionStack
from unspool.nn.encoder import Encoded, Encoder
from unspool.nn.inputs import (
    AddFeatures,
    ClassToken,
    ConcatFeatures,
    TokenInput,
    VectorInput,
)
from unspool.nn.network import Network
from unspool.nn.recurrent import Recurrent
from unspool.nn.transformer import TransformerDecoder, TransformerEncoder
from unspool.nn.transformer_blocks import TransformerOptions

B, S, V, C, E = 3, 6, 7, 5, 6
LENGTHS = torch.tensor([4, 6, 1])
OPTIONS = TransformerOptions(E, 2, layers=2, hidden=8)

INPUTS = {
    "tokens": lambda: TokenInput(V, E),
    "vectors": lambda: VectorInput(C, E),
}
NETWORKS = {
    "recurrent": lambda: Recurrent("gru", E, 4),
    "bidirectional": lambda: Recurrent("lstm", E, 4, layers=2, bidirectional=True),
    "convolution": lambda: ConvolutionStack(E, 3, layers=2),
    "transformer": lambda: TransformerEncoder(OPTIONS),
    "causal-transformer": lambda: TransformerDecoder(OPTIONS, cross=False),
}


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(1)


def build(inputs: str, network: str, *, reverse: bool = False) -> Encoder:
    return Encoder(INPUTS[inputs](), NETWORKS[network](), reverse=reverse).double().eval()


def values_of(inputs: str) -> Tensor:
    return torch.randint(V, (B, S)) if inputs == "tokens" else torch.randn(B, S, C).double()


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("inputs", INPUTS)
def test_a_sequence_is_encoded_alone_as_in_a_batch(inputs, network, reverse) -> None:
    encoder, values = build(inputs, network, reverse=reverse), values_of(inputs)
    encoded = encoder(values, LENGTHS)
    keep = encoded.keep
    assert encoded.outputs.shape == (B, S, encoder.size)
    assert not encoded.outputs[~keep].any()
    hidden = ~keep if inputs == "tokens" else ~keep[..., None]
    close(encoder(values.masked_fill(hidden, 2), LENGTHS).outputs, encoded.outputs)
    for i, n in enumerate(LENGTHS.tolist()):
        alone = encoder(values[i : i + 1, :n])
        assert alone.lengths is None
        assert alone.keep is None
        close(alone.outputs[0], encoded.outputs[i, :n])
        if encoded.state is not None:
            for a, b in zip(alone.state[0], encoded.state[0]):
                close(a[0][0], b[0][i])


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("inputs", INPUTS)
def test_a_gradient_reaches_every_parameter(inputs: str, network: str) -> None:
    encoder = build(inputs, network)
    outputs = encoder(values_of(inputs), LENGTHS).outputs
    (outputs * torch.randn_like(outputs)).sum().backward()
    for path, parameter in encoder.named_parameters():
        assert parameter.grad is not None, path
        assert parameter.grad.any(), path


@pytest.mark.parametrize("network", NETWORKS)
def test_networks_say_what_they_read_and_give(network: str) -> None:
    made = NETWORKS[network]()
    assert isinstance(made, Network)
    assert made.inputs == E
    assert made.bidirectional == (network == "bidirectional")
    assert made(torch.randn(2, 3, E)).outputs.shape == (2, 3, made.size)
    assert made.describe()


@pytest.mark.parametrize("network", ["recurrent", "causal-transformer"])
def test_a_state_continues_where_it_was_left(network: str) -> None:
    encoder, ids = build("tokens", network), torch.randint(V, (B, S))
    start = encoder.network.start() if network == "causal-transformer" else None
    first = encoder(ids[:, :2], state=start)
    rest = encoder(ids[:, 2:], state=first.state)
    close(torch.cat([first.outputs, rest.outputs], 1), encoder(ids).outputs)


def test_a_reversed_sequence_ends_with_its_first_token() -> None:
    encoder, ids = build("tokens", "recurrent", reverse=True), torch.randint(V, (B, S))
    outputs, _, state, _ = encoder(ids, LENGTHS)
    close(outputs[:, 0], state[0][0][0])  # output 0 belongs to token 0, the last to be read
    for i, n in enumerate(LENGTHS.tolist()):
        x = encoder.input(ids[i : i + 1, :n].flip(1))
        close(encoder.network(x).outputs[0].flip(0), outputs[i, :n])


def test_one_hot_tokens_in_both_directions_and_reversed() -> None:
    network = Recurrent("gru", V, 4, bidirectional=True)
    encoder = Encoder(TokenInput(V, 0), network, reverse=True).double()
    ids = torch.randint(V, (B, S))
    outputs = encoder(ids, LENGTHS).outputs
    close(encoder(ids[:1, :4]).outputs[0], outputs[0, :4])


def test_extra_features_are_concatenated() -> None:
    tokens, extra = TokenInput(V, 3), torch.randn(B, S, 2)
    joined = ConcatFeatures(tokens, 2)
    encoder = Encoder(tokens, Recurrent("gru", joined.size, 4), extra=joined)
    ids = torch.randint(V, (B, S))
    x = torch.cat([tokens.embedding.weight[ids], extra], -1)
    close(encoder(ids, LENGTHS, extra=extra).outputs, encoder.network(x, LENGTHS).outputs, 1e-6)
    backwards = Encoder(tokens, encoder.network, extra=joined, reverse=True)
    close(backwards(ids, extra=extra).outputs, encoder.network(x.flip(1)).outputs.flip(1), 1e-6)
    one_hot = TokenInput(V, 0)
    assert ConcatFeatures(one_hot, 2).size == 2
    assert torch.equal(ConcatFeatures(one_hot, 2)(one_hot(ids), extra), extra)


def test_extra_features_are_added() -> None:
    tokens, extra = OPTIONS.token_input(V), torch.randn(B, S, 2)
    added = AddFeatures(tokens, 2)
    encoder = Encoder(tokens, TransformerEncoder(OPTIONS), extra=added)
    ids = torch.randint(V, (B, S))
    x = tokens(ids) + extra @ added.W.weight.T
    close(encoder(ids, extra=extra).outputs, encoder.network(x).outputs, 1e-6)


def test_vectors_pass_a_linear_layer() -> None:
    layer, values = VectorInput(C, E, dropout=0.5).eval(), torch.randn(B, S, C)
    close(layer(values), values @ layer.linear.weight.T + layer.linear.bias, 1e-6)
    assert layer.size == E
    assert layer.describe() == "linear 5 -> 6"
    assert (layer.train()(values) == 0).any()


def test_some_rows_of_what_was_encoded() -> None:
    encoded = build("tokens", "bidirectional")(torch.randint(V, (B, S)), LENGTHS)
    rows = torch.tensor([2, 2, 0])
    some = encoded.select(rows)
    assert torch.equal(some.outputs, encoded.outputs[rows])
    assert torch.equal(some.keep, encoded.keep[rows])
    assert torch.equal(some.state[1][1][0], encoded.state[1][1][0][rows])
    assert Encoded(encoded.outputs).select(rows).lengths is None


def test_lengths_that_do_not_fit_are_refused() -> None:
    for network in NETWORKS:
        with pytest.raises(ValueError, match="lengths must lie between 1 and 6; got 0 to 7"):
            build("tokens", network)(torch.zeros(B, S, dtype=torch.long), torch.tensor([0, 7, 1]))


def test_cls_and_reverse_exclude_each_other() -> None:
    with pytest.raises(ValueError, match="leave out cls or reverse"):
        Encoder(TokenInput(V, E), TransformerEncoder(OPTIONS), cls=ClassToken(E), reverse=True)
