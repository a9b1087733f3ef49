"""Activations, initial weights, embeddings, pooling, output layers, encoders of tokens."""

from __future__ import annotations

import copy
import math
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from unspool.errors import ConfigError
from unspool.nn import (
    ACTIVATIONS,
    CELLS,
    POOLINGS,
    ClassToken,
    Encoder,
    OneHot,
    Recurrent,
    TokenEmbedding,
    TokenInput,
    TokenOutput,
    TransformerEncoder,
    TransformerOptions,
    WordDropout,
    record,
)
from unspool.nn.cells import GRU, IRNN, LSTM, Coupled, Elman, MinLSTM, Peephole
from unspool.nn.heads import MaskedOutput


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("sigmoid", [1 / (1 + math.e), 0.5, 1 / (1 + math.exp(-2))]),
        ("tanh", [math.tanh(-1), 0, math.tanh(2)]),
        ("relu", [0.0, 0, 2]),
        ("leaky_relu", [-0.1, 0, 2]),
        ("elu", [math.exp(-1) - 1, 0, 2]),
    ],
)
def test_activations(name: str, values: list[float]) -> None:
    function, pieces = ACTIVATIONS[name]
    assert pieces == 1
    torch.testing.assert_close(function(torch.tensor([-1.0, 0.0, 2.0])), torch.tensor(values))


def test_maxout_takes_the_larger_of_two_pieces() -> None:
    function, pieces = ACTIVATIONS["maxout"]
    assert pieces == 2
    assert function(torch.tensor([[1.0, -2.0, 0.5, 3.0]])).tolist() == [[1, 3]]


def test_recurrent_blocks_start_orthogonal_and_forget_gates_open() -> None:
    eye = torch.eye(6)
    for cell, blocks in ((Elman(3, 6), 1), (LSTM(3, 6), 4), (Coupled(3, 6), 3), (GRU(3, 6), 3)):
        for block in cell.U.chunk(blocks):
            torch.testing.assert_close(block @ block.T, eye, atol=1e-5, rtol=0)
    for forget, bias in ((1.0, LSTM(3, 6).b), (2.5, LSTM(3, 6, forget_bias=2.5).b)):
        assert bias.tolist() == [0] * 6 + [forget] * 6 + [0] * 12
    assert Peephole(3, 6).b.tolist() == [0] * 6 + [1] * 6 + [0] * 12
    assert Coupled(3, 6).b.tolist() == [1] * 6 + [0] * 12
    assert MinLSTM(3, 6, forget_bias=1.0).b.tolist() == [1] * 6 + [0] * 12


def test_a_peephole_lstm_starts_as_an_lstm() -> None:
    assert all(not p.any() for n, p in Peephole(3, 6).named_parameters() if n.startswith("P_"))


def test_an_irnn_starts_as_the_sum_of_its_inputs() -> None:
    cell = IRNN(3, 50)
    assert torch.equal(cell.U, torch.eye(50))
    assert not cell.b.any()
    assert 0.0005 < cell.W.std() < 0.002
    with torch.no_grad():
        cell.W.abs_()
    state = cell.start(2)
    x = torch.rand(2, 4, 3)
    for t in range(4):
        h, state = cell(x[:, t], state)
    torch.testing.assert_close(h, x.sum(1) @ cell.W.T)


def test_minlstm_stays_finite_where_both_gates_are_closed() -> None:
    cell = MinLSTM(1, 1)
    with torch.no_grad():
        cell.W.copy_(torch.tensor([[-500.0], [-500.0], [1.0]]))
    x = torch.ones(1, 1, requires_grad=True)
    h, _ = cell(x, cell.start(1))
    h.sum().backward()
    assert h.item() == 0.5
    assert all(p.grad is not None and p.grad.isfinite().all() for p in cell.parameters())


@pytest.mark.parametrize(
    ("cell", "options", "message"),
    [
        (Elman, {"activation": "tan"}, "unknown activation; got 'tan'. Did you mean 'tanh'?"),
        (GRU, {"reset": "befor"}, "unknown position of the reset gate; got 'befor'. Did you mean"),
        (GRU, {"update": "x"}, "unknown convention of the update gate; .*choose from keep, take"),
        (Peephole, {"peepholes": "ifg"}, "gates out of i, f and o, each once; got 'ifg'"),
        (Peephole, {"peepholes": "ii"}, "each once; got 'ii'"),
        (Peephole, {"matrix": "diag"}, "unknown matrix of peepholes; got 'diag'. Did you mean"),
    ],
)
def test_options_that_do_not_exist(cell: type, options: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=f"(?i){message}"):
        cell(2, 3, **options)


def test_embedding_looks_up_and_drops_only_in_training() -> None:
    embedding = TokenEmbedding(7, 5, dropout=0.5)
    ids = torch.tensor([[1, 6], [0, 1]])
    assert embedding.size == 5
    assert (embedding(ids) == 0).any()
    embedding.eval()
    assert torch.equal(embedding(ids), embedding.weight[ids])


def test_one_hot_passes_ids_through() -> None:
    ids = torch.tensor([[1, 2]])
    assert OneHot(9)(ids) is ids
    assert OneHot(9).size == 9


def test_word_dropout_replaces_tokens_in_training_but_never_padding() -> None:
    torch.manual_seed(1)
    ids = torch.full((100, 100), 5)
    ids[:, 50:] = 0
    dropout = WordDropout(0.3)
    dropped = dropout(ids)
    assert not dropped[:, 50:].any()
    assert set(dropped[:, :50].unique().tolist()) == {1, 5}
    assert 0.25 < (dropped[:, :50] == 1).float().mean() < 0.35
    assert (ids[:, :50] == 5).all()
    assert dropout.eval()(ids) is ids


@pytest.mark.parametrize("name", POOLINGS)
@pytest.mark.parametrize("bidirectional", [False, True])
def test_pooling_ignores_padding(name: str, bidirectional: bool) -> None:
    torch.manual_seed(2)
    pool = POOLINGS[name](6, bidirectional=bidirectional)
    x = torch.randn(3, 5, 6) - 10
    lengths = torch.tensor([5, 2, 3])
    x[1, 2:], x[2, 3:] = float("nan"), float("inf")
    x.requires_grad_()
    pooled = pool(x, lengths)
    assert pooled.shape == (3, 6)
    for row, length in enumerate(lengths):
        torch.testing.assert_close(pooled[row], pool(x[row : row + 1, :length])[0])
    pooled.square().sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()
    assert not x.grad[1, 2:].any()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in pool.parameters())


@pytest.mark.parametrize("name", POOLINGS)
def test_pooling_of_nothing_is_zero(name: str) -> None:
    x = torch.randn(2, 3, 4, requires_grad=True)
    pooled = POOLINGS[name](4)(x, torch.tensor([0, 3]))
    pooled.sum().backward()
    assert not pooled[0].any()
    assert x.grad is not None
    assert not x.grad[0].any()
    assert x.grad[1].any()


def test_pooling_values() -> None:
    x = torch.tensor([[[1.0, 8.0], [3.0, 2.0], [9.0, 9.0]]])
    lengths = torch.tensor([2])
    assert POOLINGS["last"](2)(x, lengths).tolist() == [[3, 2]]
    assert POOLINGS["last"](2, bidirectional=True)(x, lengths).tolist() == [[3, 8]]
    assert POOLINGS["mean"](2)(x, lengths).tolist() == [[2, 5]]
    assert POOLINGS["max"](2)(x, lengths).tolist() == [[3, 8]]
    position = POOLINGS["position"](2)
    assert position(x, lengths).tolist() == [[4, 10]]
    with torch.no_grad():
        position.f[1] = torch.tensor([2.0, -1.0])
    assert position(x, lengths).tolist() == [[7, 6]]


def test_attention_pooling_shows_its_weights() -> None:
    pool = POOLINGS["attention"](4)
    x = torch.randn(2, 3, 4)
    with record(pool, "weights") as trace:
        pooled = pool(x, torch.tensor([3, 1]))
    weights = trace["weights"]
    torch.testing.assert_close(weights.sum(1), torch.ones(2))
    assert weights[1].tolist() == [1, 0, 0]
    torch.testing.assert_close(pooled, (weights[..., None] * x).sum(1))


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("bidirectional", [False, True])
def test_last_pooling_gives_the_final_states(cell: str, bidirectional: bool) -> None:
    encoder = Encoder(TokenInput(9, 4), Recurrent(cell, 4, 3, bidirectional=bidirectional))
    lengths = torch.tensor([5, 1, 3])
    outputs, _, state, _ = encoder(torch.randint(2, 9, (3, 5)), lengths)
    pooled = POOLINGS["last"](encoder.size, bidirectional=encoder.bidirectional)(outputs, lengths)
    torch.testing.assert_close(pooled, torch.cat([way[0] for way in state[-1]], -1))


def test_output_layer() -> None:
    output = TokenOutput(3, 7)
    h = torch.randn(2, 5, 3)
    torch.testing.assert_close(output(h), h @ output.V.T + output.b)
    assert sum(p.numel() for p in output.parameters()) == 3 * 7 + 7


@pytest.mark.parametrize(("size", "count"), [(4, 7), (3, 7 + 4 * 3)])
def test_tied_output_shares_the_embedding(size: int, count: int, tmp_path: Path) -> None:
    model = nn.ModuleDict({"embedding": TokenEmbedding(7, 4)})
    model["output"] = TokenOutput(size, 7, tied_to=model["embedding"])
    assert sum(p.numel() for p in model["output"].parameters()) == count
    h = torch.randn(2, size)
    inner = h if size == 4 else h @ model["output"].Q.T
    torch.testing.assert_close(model["output"](h), inner @ model["embedding"].weight.T)
    save_file(model.state_dict(), tmp_path / "m.safetensors")  # refuses a matrix saved twice

    again = copy.deepcopy(model)
    with torch.no_grad():
        again["embedding"].weight.zero_()
    assert not again["output"](h).any(), "a copy is tied to its own embedding"
    assert model["output"](h).any()
    assert model.double()["output"](h.double()).dtype == torch.double


def test_tying_to_what_cannot_be_tied() -> None:
    with pytest.raises(ConfigError, match=r"no embedding matrix .* Set model\.embedding above 0"):
        TokenOutput(4, 7, tied_to=OneHot(7))
    with pytest.raises(ConfigError, match="cannot tie 8 outputs to an embedding of 7"):
        TokenOutput(4, 8, tied_to=TokenEmbedding(7, 4))


def count(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


def test_the_figures_of_the_course() -> None:
    sentiment = Encoder(TokenInput(5000, 16), Recurrent("lstm", 16, 16))
    assert count(sentiment) + 16 + 1 == 82_129
    both = Encoder(TokenInput(5000, 16), Recurrent("lstm", 16, 16, bidirectional=True))
    assert count(both) + 32 + 1 == 84_257
    hello = Encoder(TokenInput(4, 0), Recurrent("elman", 4, 3))
    assert (count(hello), count(TokenOutput(3, 4))) == (24, 16)


def test_encoder_is_its_parts() -> None:
    network = Recurrent("gru", 4, 3, layers=2, dropout=0.5, options={"reset": "before"})
    encoder = Encoder(TokenInput(9, 4, dropout=0.5), network).eval()
    ids, lengths = torch.randint(9, (2, 5)), torch.tensor([5, 2])
    outputs = encoder(ids, lengths, network.start(2)).outputs
    by_hand = network(encoder.input.embedding.weight[ids], lengths)
    assert torch.equal(outputs, by_hand.outputs)
    assert encoder.size == 3
    assert network.cells()[1][0].reset == "before"
    assert not torch.equal(encoder.train()(ids, lengths).outputs, outputs)


def test_a_transformer_encoder_is_its_parts() -> None:
    options = TransformerOptions(4, 2, positions="none")
    encoder = Encoder(options.token_input(9), TransformerEncoder(options), cls=ClassToken(4)).eval()
    ids, lengths = torch.randint(9, (2, 5)), torch.tensor([5, 2])
    outputs, read, state, _ = encoder(ids, lengths)
    assert read.tolist() == [6, 3]
    cls = encoder.cls.vector.expand(2, 1, 4)
    x = torch.cat([cls, encoder.input.embedding.weight[ids]], 1)
    torch.testing.assert_close(outputs, encoder.network(x, lengths + 1).outputs)
    assert state is None
    assert outputs.shape == (2, 6, 4)
    pooled = POOLINGS["cls"](4)(outputs, lengths)
    torch.testing.assert_close(pooled, outputs[:, 0])


@pytest.mark.parametrize(
    ("positions", "std", "spread"),
    [("sinusoidal", None, 1), ("rotary", None, 0.02), ("learned", 0.5, 0.5), ("sinusoidal", 3, 3)],
)
def test_the_spread_of_a_transformers_token_vectors(positions, std, spread) -> None:
    options = TransformerOptions(64, 2, positions=positions, length=9, embedding_std=std)
    embedding = options.embedding(2000)
    vectors = embedding(torch.arange(2000)[None])
    assert vectors.std().item() == pytest.approx(spread, rel=0.02)
    scaled = positions == "sinusoidal"
    assert embedding.weight.std().item() == pytest.approx(spread / (8 if scaled else 1), rel=0.02)


def test_word_dropout_reaches_the_encoder() -> None:
    encoder = Encoder(TokenInput(9, 4, word_dropout=0.999999), Recurrent("lstm", 4, 3))
    ids = torch.randint(2, 9, (2, 5))
    unknown = encoder.eval()(torch.ones_like(ids)).outputs
    torch.testing.assert_close(encoder.train()(ids).outputs, unknown)


@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_tanh", "swiglu"])
def test_masked_output_scores_every_token(activation: str) -> None:
    embedding = TokenEmbedding(11, 6)
    output = MaskedOutput(embedding, activation=activation)
    scores = output(torch.randn(2, 3, 6))
    assert scores.shape == (2, 3, 11)
    scores.sum().backward()
    assert embedding.weight.grad is not None


def test_names_of_nn_are_there_on_first_use() -> None:
    """The table of where they live names what is exported, and no more."""
    from types import ModuleType

    from unspool import nn as layers

    at_once = ["Tap", "TapTrace", "record", "taps"]
    later = [name for names in layers._HOMES.values() for name in names.split()]
    assert sorted(at_once + later) == sorted(layers.__all__)
    assert not any(isinstance(getattr(layers, name), ModuleType) for name in layers.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = layers.Nothing


def test_left_empty_draws_no_weights() -> None:
    from unspool.nn.init import left_empty

    before = torch.get_rng_state()
    with left_empty():
        LSTM(3, 16)
        TokenEmbedding(5, 4)
    assert torch.equal(torch.get_rng_state(), before)
    LSTM(3, 16)
    assert not torch.equal(torch.get_rng_state(), before)
