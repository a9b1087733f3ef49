"""The answer `steps`: what it says of a layer is what the layer's equations give."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import torch

from insight_models import MODELS, TEXT, make
from unspool.errors import ConfigError, DataError
from unspool.insight.trace import trace
from unspool.nn.cells import CELLS
from unspool.page import steps as steps_module
from unspool.page.answers import answer
from unspool.page.subject import Subject
from unspool.tasks.examples import Example

RECURRENT = [
    *(f"classify-{cell}" for cell in CELLS),
    "classify-one-hot", "tag-lstm", "generate-peephole", "translate-seq2seq", "translate-bahdanau",
    "translate-luong", "elmo",
]  # fmt: skip


def subject(name: str) -> Subject:
    """A model whose biases and peepholes are not zero, as fresh ones are."""
    task, model = make(name)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return Subject(task, model, Path("run"), Path("run/metrics.jsonl"), [Example(TEXT)])


def ask(of: Subject, text: str = TEXT, **params) -> dict:
    return answer(of, "steps", {"text": text, **{k: str(v) for k, v in params.items()}})


def layers(name: str):
    """Each layer and direction of a model, with the answer for it."""
    of = subject(name)
    return [(of, ask(of, **layer)) for layer in ask(of)["layers"]]


def values(found: dict, kind: str) -> np.ndarray:
    return np.array(next(a["values"] for a in found["arrays"] if a["kind"] == kind))


@pytest.mark.parametrize("name", RECURRENT)
def test_the_arrays_are_those_of_the_trace(name) -> None:
    for of, found in layers(name):
        recorded = trace(of.task, of.trained, TEXT)
        own = [
            a for a in recorded.arrays
            if a.axes[-1] == "unit" and (a.part, a.layer, a.direction)
            == (found["part"], found["layer"], found["direction"])
        ]  # fmt: skip
        assert [a.kind for a in own] == [a["kind"] for a in found["arrays"]]
        for array in own:
            np.testing.assert_allclose(values(found, array.kind), array.values, atol=1e-5)
        written = found["part"] == "decoder"
        assert found["tokens"] == (recorded.written if written else recorded.tokens)


@pytest.mark.parametrize("name", RECURRENT)
def test_the_state_before_a_step_is_the_one_after_the_step_before(name) -> None:
    for _, found in layers(name):
        order = -1 if found["backwards"] else 1
        after = {"h": values(found, "hidden_state")}
        if "c" in found["before"]:
            after["c"] = values(found, "cell_state")
        for part, states in found["before"].items():
            before = np.array(states)[::order]
            np.testing.assert_allclose(before[1:], after[part][::order][:-1], atol=1e-5)
            # A decoder begins with what the encoder leaves, everything else with nothing.
            assert np.any(before[0] != 0) == (found["part"] == "decoder")


@pytest.mark.parametrize("name", RECURRENT)
def test_the_terms_add_up_to_what_the_taps_passed(name) -> None:
    gates = {"i": "input_gate", "f": "forget_gate", "o": "output_gate", "r": "reset_gate",
             "z": "update_gate"}  # fmt: skip
    for _, found in layers(name):
        total = {
            letter: sum(np.array(own[term]) for term in ("x", "h", "c", "b") if term in own)
            for letter, own in found["terms"].items()
        }
        if found["cell"] == "minlstm":
            f, i = (1 / (1 + np.exp(-total[letter])) for letter in "fi")
            np.testing.assert_allclose(f / (f + i), values(found, "forget_gate"), atol=1e-4)
            total = {"g": total["g"]}
        for letter, summed in total.items():
            if letter in gates:
                expected = values(found, gates[letter])
                np.testing.assert_allclose(1 / (1 + np.exp(-summed)), expected, atol=1e-4)
        if found["cell"] in ("lstm", "peephole", "coupled"):
            np.testing.assert_allclose(np.tanh(total["g"]), values(found, "candidate"), atol=1e-4)
        if found["cell"] == "elman":
            np.testing.assert_allclose(
                np.tanh(total["a"]), values(found, "hidden_state"), atol=1e-4
            )


def test_watching_leaves_no_trace() -> None:
    of = subject("classify-lstm")
    ask(of)
    assert not any("step" in vars(module) for module in of.trained.modules())


@pytest.mark.parametrize(
    ("name", "layer", "backwards"),
    [
        ("classify-gru", {"direction": "forwards"}, False),
        ("classify-gru", {"direction": "backwards"}, True),
        ("translate-seq2seq", {"part": "encoder"}, True),  # whose source is reversed
        ("translate-seq2seq", {"part": "decoder"}, False),
        ("elmo", {"direction": "backwards"}, True),
    ],
)
def test_it_says_in_which_order_is_read(name, layer, backwards) -> None:
    assert ask(subject(name), **layer)["backwards"] is backwards


def test_a_decoder_is_given_what_was_written_before() -> None:
    found = ask(subject("translate-bahdanau"), part="decoder")
    assert found["given"] == ["<s>", *found["tokens"][:-1]]
    assert len(found["choices"]) == len(found["tokens"])
    assert ask(subject("translate-bahdanau"))["choices"] == []


def test_a_long_text_comes_in_windows_and_a_wide_layer_with_fewer_units(monkeypatch) -> None:
    monkeypatch.setattr(steps_module, "STEPS", 40)
    monkeypatch.setattr(steps_module, "UNITS", 3)
    of = subject("generate-gru")
    text = " ".join("abcdefghij"[i % 10] for i in range(100))
    found = ask(of, text)
    assert found["window"] == {"first": 0, "tokens": 40}
    assert found["steps"] == 100
    assert len(found["units"]) == 3 < found["hidden"]
    later = ask(of, text, first=90)
    assert later["window"] == {"first": 60, "tokens": 40}
    assert len(later["choices"]) == len(later["tokens"]) == 40
    whole = trace(of.task, of.trained, text).find("hidden_state")[0].values
    np.testing.assert_allclose(values(later, "hidden_state"), whole[60:, found["units"]], atol=1e-5)
    assert found["units"] == sorted(np.argsort(-whole.std(0))[:3])


def test_a_layer_that_is_not_there_is_refused() -> None:
    of = subject("classify-lstm")
    wanted = (
        "the model has no such recurrent layer; got 'decoder, layer 1, forwards'. Choose from "
        "encoder, layer 1, forwards; encoder, layer 1, backwards; encoder, layer 2, forwards; "
        "encoder, layer 2, backwards"
    )
    with pytest.raises(ConfigError, match=re.escape(wanted)):
        ask(of, part="decoder")
    with pytest.raises(ConfigError, match="such recurrent layer; got 'encoder, layer 1, forwards'"):
        ask(subject("classify-cnn"))
    with pytest.raises(DataError, match="the text is empty"):
        ask(of, " ")


def test_every_cell_has_known_terms() -> None:
    names = [name for name in MODELS if name.removeprefix("classify-") in CELLS]
    assert all(ask(subject(name))["terms"] for name in names)
