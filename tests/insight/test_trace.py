"""A trace: what it holds is what the equations give, and recording it changes nothing."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from insight_models import MODELS, TEXT, make, read
from rounding import same
from unspool.errors import DataError
from unspool.insight.gallery import input_pictures
from unspool.insight.saliency import explain
from unspool.insight.trace import (
    LEAST,
    VERSION,
    Trace,
    direction_of,
    layer_of,
    stored_trace,
    trace,
)
from unspool.nn.cells import CELLS
from unspool.nn.taps import recorded
from unspool.text.tokenizers import CharTokenizer


def traced(name: str, text: str = TEXT) -> Trace:
    return trace(*make(name), text)


def values(found: Trace, kind: str, layer: int = 1, direction: str = "forwards") -> np.ndarray:
    where = ("encoder", layer, direction)
    (array,) = [a for a in found.find(kind) if (a.part, a.layer, a.direction) == where]
    return array.values


@pytest.mark.parametrize("name", MODELS)
def test_traced_as_untraced(name) -> None:
    task, model = make(name)
    reading = task.reading(model, TEXT)
    found = trace(task, model, TEXT)
    with torch.inference_mode():
        plain = reading.run()[0]
    assert len(plain) == len(reading.answer.steps) == len(found.choices)
    chances = [torch.from_numpy(x).softmax(-1) for x in (found.scores, plain.numpy())]
    same(*chances, 3 * 8, steps=len(reading.input.tokens))  # of 8 units
    assert not recorded()


@pytest.mark.parametrize("name", MODELS)
def test_axes_are_the_tokens(name) -> None:
    found = traced(name)
    sizes = {"read": len(found.tokens), "written": len(found.written)}
    assert found.arrays
    for array in found.arrays:
        assert len(array.axes) == array.values.ndim
        for axis, n in zip(array.axes, array.values.shape):
            assert n == sizes.get(axis, n), array.path
    text = json.dumps(found.to_json())
    assert json.loads(text)["version"] == VERSION


@pytest.mark.parametrize("name", [n for n in MODELS if "rans" in n or "attention" in n])
def test_weights_add_up_and_never_see_the_future(name) -> None:
    kinds = ("self_attention", "causal_attention", "cross_attention", "alignment", "pooling")
    found = traced(name)
    weights = found.find(*kinds)
    assert weights or "seq2seq" in name
    for array in weights:
        np.testing.assert_allclose(array.values.sum(-1), 1, atol=1e-5)
        if array.kind == "causal_attention":
            assert not np.triu(array.values, 1).any()


@pytest.mark.parametrize("name", [n for n in MODELS if n.startswith("generate-")])
def test_language_models_say_what_follows(name) -> None:
    found = traced(name)
    assert [c.answer for c in found.choices[:-1]] == found.tokens[1:]
    last = found.choices[-1]
    assert last.answer == last.alternatives[0].answer
    for choice in found.choices:
        chances = [a.answer_value for a in choice.alternatives]
        assert chances == sorted(chances, reverse=True)


def test_gates_of_an_lstm_by_hand() -> None:
    task, model = make("classify-lstm")
    found = trace(task, model, TEXT)
    cell = model.encoder.network.cells()[0][0]
    x = model.encoder.input.embedding.weight.detach()[task.reading(model, TEXT).input.ids].numpy()
    W, U, b = (p.detach().numpy() for p in (cell.W, cell.U, cell.b))
    h = c = np.zeros(8)
    for t in range(len(x)):
        i, f, g, o = np.split(W @ x[t] + U @ h + b, 4)
        i, f, g, o = sigmoid(i), sigmoid(f), np.tanh(g), sigmoid(o)
        c = f * c + i * g
        h = o * np.tanh(c)
        for kind, own in (("input_gate", i), ("forget_gate", f), ("candidate", g),
                          ("output_gate", o), ("cell_state", c), ("hidden_state", h)):  # fmt: skip
            np.testing.assert_allclose(values(found, kind)[t], own, atol=1e-6)


def test_gates_of_a_gru_by_hand() -> None:
    task, model = make("classify-gru")
    found = trace(task, model, TEXT)
    cell = model.encoder.network.cells()[0][1]  # the one that reads backwards
    x = model.encoder.input.embedding.weight.detach()[task.reading(model, TEXT).input.ids].numpy()
    W, U, b, b_hn = (p.detach().numpy() for p in (cell.W, cell.U, cell.b, cell.b_hn))
    h = np.zeros(8)
    for t in reversed(range(len(x))):
        (r_x, z_x, n_x), (r_h, z_h, n_h) = np.split(W @ x[t] + b, 3), np.split(U @ h, 3)
        r, z = sigmoid(r_x + r_h), sigmoid(z_x + z_h)
        n = np.tanh(n_x + r * (n_h + b_hn))
        h = z * h + (1 - z) * n
        for kind, own in (("reset_gate", r), ("update_gate", z), ("candidate", n),
                          ("hidden_state", h)):  # fmt: skip
            got = values(found, kind, direction="backwards")[t]
            np.testing.assert_allclose(got, own, atol=1e-6)


def test_gates_of_a_peephole_lstm_by_hand() -> None:
    task, model = make("generate-peephole")
    cell = model.encoder.network.cells()[0][0]
    for P in (cell.P_i, cell.P_f, cell.P_o):
        P.data.uniform_(-1, 1)
    found = trace(task, model, TEXT)
    x = model.encoder.input.embedding.weight.detach()[task.reading(model, TEXT).input.ids].numpy()
    W, U, b, P_i, P_f, P_o = (
        p.detach().numpy() for p in (cell.W, cell.U, cell.b, cell.P_i, cell.P_f, cell.P_o)
    )
    h = c = np.zeros(8)
    for t in range(len(x)):
        i, f, g, o = np.split(W @ x[t] + U @ h + b, 4)
        i, f = sigmoid(i + P_i * c), sigmoid(f + P_f * c)
        c = f * c + i * np.tanh(g)
        o = sigmoid(o + P_o * c)
        h = o * np.tanh(c)
        for kind, own in (("input_gate", i), ("forget_gate", f), ("output_gate", o),
                          ("cell_state", c), ("hidden_state", h)):  # fmt: skip
            np.testing.assert_allclose(values(found, kind)[t], own, atol=1e-6)


def sigmoid(a: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-a))


def test_a_source_that_is_read_backwards_is_shown_in_its_order() -> None:
    task, model = make("translate-seq2seq")
    reading, found = task.reading(model, TEXT), trace(task, model, TEXT)
    with torch.inference_mode():
        lengths = torch.tensor([len(reading.input.ids)])
        memory = model.encoder(reading.input.batch([reading.input])[0], lengths).outputs
    np.testing.assert_allclose(values(found, "hidden_state", 2), memory[0], atol=1e-6)


def test_a_crf_gives_the_chances_of_its_tags() -> None:
    task, model = make("tag-bilstm")
    found = trace(task, model, TEXT)
    tags = [task.labels.index(c.answer) for c in found.choices]
    along = model.output.span_scores(
        torch.from_numpy(found.scores)[None], torch.tensor([tags]), torch.tensor([len(tags)])
    )
    chances = (along.before + along.after).exp()[0]
    np.testing.assert_allclose([c.answer_value for c in found.choices], chances, atol=1e-5)


def test_translations_come_with_candidates() -> None:
    found = traced("translate-bahdanau")
    assert found.written[-1] == "</s>"
    assert len(found.candidates) == 5
    scores = [candidate.score for candidate in found.candidates]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("cell", CELLS)
def test_every_cell_shows_its_hidden_states(cell) -> None:
    found = traced(f"classify-{cell}")
    assert len(found.find("hidden_state")) == 4


def numbers_in(value: object) -> int:
    if isinstance(value, list):
        return sum(map(numbers_in, value))
    return isinstance(value, float | int)


@pytest.mark.parametrize("name", ["classify-transformer", "classify-lstm"])
def test_a_long_text_gives_a_small_file(name) -> None:
    task, model = make(name, max_length=0)
    found = trace(task, model, "a b c d " * 75)
    assert len(found.tokens) == 300
    stored = found.to_json(first=100, numbers=6000)
    window = stored["window"]
    assert window["first"] == 100
    assert LEAST <= window["tokens"] < 300
    assert sum(numbers_in(array["values"]) for array in stored["arrays"]) <= 8000
    for array, own in zip(stored["arrays"], found.arrays):
        summary = array["summary"]
        assert np.shape(summary.get("mean", summary.get("entropy")))[-1] == 300
        if array["kind"] == "hidden_state":
            rows = slice(window["first"], window["first"] + window["tokens"])
            kept = array.get("units", list(range(8)))
            np.testing.assert_allclose(array["values"], own.values[rows][:, kept], atol=1e-4)


def test_only_the_beginning_of_an_endless_text(monkeypatch) -> None:
    monkeypatch.setattr("unspool.tasks.reading.LONGEST", 10)
    found = traced("generate-gru", "a b " * 50)
    assert len(found.tokens) == 10
    assert found.whole == 100


@pytest.mark.parametrize("name", ["classify-lstm", "tag-bilstm"])
@pytest.mark.parametrize("text", ["", "  \n"])
def test_nothing_to_look_at(name, text) -> None:
    with pytest.raises(DataError, match="the text is empty"):
        traced(name, text)


@pytest.mark.parametrize("name", MODELS)
def test_what_was_written_down_can_be_read_again(name, tmp_path) -> None:
    own = trace(*make(name), TEXT)
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(own.to_json()), encoding="utf-8")
    again = stored_trace(path)
    assert again._replace(arrays=[], scores=own.scores) == own._replace(arrays=[])
    for one, other in zip(again.arrays, own.arrays, strict=True):
        assert one._replace(values=None) == other._replace(values=None)
        np.testing.assert_allclose(one.values, other.values, atol=5.1e-5)


def test_of_a_long_text_the_window_is_read_again(tmp_path) -> None:
    own = trace(*make("classify-lstm", max_length=100), "a b c d e f " * 50)
    path = tmp_path / "trace.json"
    stored = own.to_json(first=5, numbers=1000)
    path.write_text(json.dumps(stored), encoding="utf-8")
    again = stored_trace(path)
    assert stored["window"] == {"first": 5, "tokens": LEAST}
    assert again.tokens == own.tokens[5 : 5 + LEAST]
    assert all(array.values.shape[0] == LEAST for array in again.arrays)
    assert len(list(input_pictures(again))) == 4


@pytest.mark.parametrize("name", [name for name in MODELS if name != "elmo"])
def test_words_outside_of_the_vocabulary_are_shown_and_marked(name) -> None:
    task, model = make(name)
    reading = task.reading(model, "a zebra b quagga")
    assert [token for token in reading.input.tokens if token not in ("(cls)", "</s>", "<s>")] == [
        "a", "‹zebra›", "b", "‹quagga›",
    ]  # fmt: skip
    assert trace(task, model, "a zebra b quagga").tokens == reading.input.tokens
    found = explain(reading, deletions=False, method="gradient")
    assert "‹ ›: not in the vocabulary, the model reads <unk>" in found.lines()


def test_a_masked_text_with_unknown_words() -> None:
    reading = read(*make("pretrain-transformer"), "zebra <mask> b quagga <mask>")
    assert reading.input.tokens == ["‹zebra›", "<mask>", "b", "‹quagga›", "<mask>"]


def test_unknown_characters_are_marked_too() -> None:
    task, model = make("generate-gru")
    task.fields[task.input].tokenizer = CharTokenizer(task.tokenizer.vocab)
    assert task.reading(model, "a€b").input.tokens == ["a", "‹€›", "b"]


@pytest.mark.parametrize(
    ("path", "layer", "direction"),
    [
        ("encoder.network.first.hidden_state", 1, "forwards"),
        ("encoder.network.above.layers.0.forwards.hidden_state", 2, "forwards"),
        ("encoder.network.layers.1.backwards.hidden_state", 2, "backwards"),
        ("encoder.network.window.window", None, None),
    ],
)
def test_layers_of_a_network_with_a_window(path, layer, direction) -> None:
    assert layer_of(path) == layer
    assert direction_of(path) == direction
