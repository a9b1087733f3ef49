"""Reasons for answers: they add up, and agree with another library; deletions are deletions."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from threading import Barrier

import numpy as np
import pytest
import torch
from torch import Tensor

from insight_models import MODELS, TEXT, make, read
from unspool.errors import ConfigError
from unspool.insight.inputs import Vectors, always, changed
from unspool.insight.plots.answers import saliency_figure
from unspool.insight.saliency import NARROW, READ, answer_of, explain, integrate

ASKED = [name for name in MODELS if name != "elmo"]


@pytest.mark.parametrize("name", ASKED)
def test_integrated_gradients_are_complete(name) -> None:
    found = explain(read(*make(name), TEXT), deletions=False)
    assert found.values.shape == (len(found.tokens),)
    assert abs(found.values.sum() - found.total) == pytest.approx(found.gap, abs=1e-9)
    assert found.gap <= 1e-3 * max(1, abs(found.total))


@pytest.mark.parametrize("name", ASKED)
def test_the_start_and_the_contributions_make_up_the_answer(name) -> None:
    """The sum that is shown, in words and in a picture, ends at what the model answers."""
    reading = read(*make(name), TEXT)
    found = explain(reading, deletions=False)
    start, given, end = map(float, re.findall(r"-?\d+\.\d{4}", found.account())[:3])
    assert start + given == pytest.approx(end, abs=2e-3 * max(1, abs(found.total)))
    with torch.no_grad():
        answer = answer_of(reading, reading.run()[0], found.step, found.answer)
    nothing, all_read = Vectors(reading).values(found.step, answer, np.array([0.0, 1.0]))
    if found.measure == "number":
        assert end == pytest.approx(found.answer_value, abs=1e-4)
        assert start - end == pytest.approx(found.unit * (nothing - all_read), abs=1e-3)
    else:
        assert 1 / (1 + np.exp(-end)) == pytest.approx(found.answer_value, abs=1e-4)
        assert start == pytest.approx(nothing, abs=1e-3)
        assert found.account().endswith(f"log odds {end:.4f}, probability {found.answer_value:.4f}")
    assert found.account() in found.lines()
    assert found.account() in saliency_figure(found).axes[0].get_title(loc="left")
    slopes = explain(reading, method="gradient", deletions=False)
    assert slopes.start is None
    assert not any(line.startswith("start") for line in slopes.lines())


@pytest.mark.parametrize("name", ["classify-lstm", "classify-cnn", "tag-bilstm", "generate-gru",
                                  "translate-luong", "classify-cls"])  # fmt: skip
@pytest.mark.parametrize("method", ["integrated", "gradient"])
def test_as_captum(name, method) -> None:
    captum = pytest.importorskip("captum.attr")
    reading = read(*make(name), TEXT)
    step, answer = reading.answer.default_step(), 3 if name == "tag-bilstm" else 2
    found = explain(reading, answer=reading.answer.name(answer), method=method, deletions=False)
    vectors = Vectors(reading)

    def log_odds(x: torch.Tensor) -> torch.Tensor:
        with changed(reading.input.network, always(x)):
            return reading.answer.explained(reading.run(len(x)), step, answer)

    x, baseline = (own.float()[None] for own in (vectors.x, vectors.baseline))
    if method == "integrated":
        inner = captum.IntegratedGradients(log_odds)
        theirs = inner.attribute(x, baseline, n_steps=100, method="gausslegendre")
    else:
        slope = captum.Saliency(log_odds).attribute(x.requires_grad_(), abs=False)
        theirs = slope * (x - baseline)
    theirs = theirs.sum(-1)[0].detach().numpy()
    np.testing.assert_allclose(found.values, theirs, atol=1e-3 * max(1, abs(found.total)))


@pytest.mark.parametrize("name", ASKED)
def test_without_a_token_is_the_text_without_it(name) -> None:
    task, model = make(name)
    reading = task.reading(model, TEXT)
    step = 2 if len(reading.answer.steps) > 2 else 0
    found = explain(reading, step=step, method="gradient")
    assert found.deletions
    deletion = found.deletions[0]
    words = [w for w in TEXT.split() if w != reading.input.tokens[deletion.token]]
    shorter = task.reading(model, " ".join(words))
    if name.startswith("translate"):
        shorter = reading.without(deletion.token)
        removed = found.tokens[deletion.token]
        assert shorter.input.tokens == [t for t in reading.input.tokens if t != removed]
        assert list(shorter.answer.tokens) == list(reading.answer.tokens)
    with torch.inference_mode():
        scores = shorter.run()[0]
    at = reading.step_without(step, deletion.token)
    answer = [reading.answer.name(i) for i in range(scores.shape[1])].index(found.answer)
    want = float(shorter.answer.values(scores)[at, answer])
    assert deletion.answer_value == pytest.approx(want, abs=1e-6)


def test_the_word_that_is_asked_about_stays() -> None:
    found = explain(read(*make("tag-lstm"), TEXT), step=2)
    assert [d.token for d in found.deletions] == [0, 1, 3, 4, 5]
    assert found.asked == "c"


def test_a_word_that_matters() -> None:
    """A classifier whose score is the value of one token."""
    task, model = make("classify-one-hot", labels=("no", "yes"))
    cell = model.encoder.network.cells()[0][0]
    with torch.no_grad():
        for p in model.parameters():
            p.zero_()
        cell.W[16:, task.tokenizer.vocab.id("c")] = 2.0  # the candidate
        model.output.linear.weight.fill_(1.0)
    found = explain(task.reading(model, TEXT), answer="yes")
    assert int(found.values.argmax()) == 2
    assert found.values[2] == pytest.approx(found.total, abs=1e-3)
    without = {d.token: d for d in found.deletions}
    assert without[2].answer_value < without[1].answer_value
    assert any(line.startswith("c ") and "++++" in line for line in found.lines())
    assert found.to_json()["deletions"][0]["token"] == 0


def test_against_an_answer_is_for_the_other() -> None:
    reading = read(*make("classify-lstm", labels=("no", "yes")), TEXT)
    yes, no = (explain(reading, answer=name, deletions=False).values for name in ("yes", "no"))
    np.testing.assert_allclose(yes, -no, atol=1e-6)


def test_a_long_text_costs_no_more_than_it_may(monkeypatch) -> None:
    monkeypatch.setattr("unspool.insight.saliency.DELETIONS", 12)
    monkeypatch.setattr("unspool.insight.saliency.READ", 1)
    monkeypatch.setattr("unspool.insight.saliency.READ_DOUBLE", 1)
    monkeypatch.setattr("unspool.insight.saliency.CLOSE", 0.0)
    monkeypatch.setattr("unspool.insight.inputs.TOKENS", 12)
    found = explain(read(*make("classify-lstm"), TEXT))
    assert found.steps == 16
    assert len(found.deletions) == 2
    assert "the contributions add up to" in found.lines()[-1]
    whole = explain(read(*make("classify-lstm"), TEXT), deletions=False)
    np.testing.assert_allclose(found.values, whole.values, atol=1e-6)


@pytest.mark.parametrize("name", ASKED)
def test_in_float64_the_same(name) -> None:
    reading, alphas = read(*make(name), TEXT), np.array([0.3, 1.0])
    step = reading.answer.default_step()
    answer = reading.answer.chosen(reading.run()[0])[step]
    ours, twice = (Vectors(reading, double=double) for double in (False, True))
    for ask in (Vectors.values, Vectors.contributions):
        np.testing.assert_allclose(
            ask(ours, step, answer, alphas), ask(twice, step, answer, alphas), atol=1e-4
        )
    assert next(reading.model.parameters()).dtype == torch.float32


def test_weights_that_are_not_finite_are_explained_by_nothing() -> None:
    task, model = make("classify-lstm")
    model.encoder.network.cells()[0][0].U.detach().fill_(float("nan"))
    assert not np.isfinite(integrate(Vectors(task.reading(model, "a b")), 0, 0, READ, NARROW).gap)


def test_what_float32_cannot_follow_float64_can() -> None:
    task, model = make("classify-lstm")
    model.encoder.network.cells()[0][0].U.detach().mul_(6)
    reading = task.reading(model, "a b c d e f " * 5)
    single = integrate(Vectors(reading), 0, 0, READ, NARROW)
    assert single.gap > 0.1
    found = explain(reading, answer=reading.answer.name(0), deletions=False)
    assert found.total == pytest.approx(single.total, abs=1e-4)
    assert found.gap <= 1e-3


def test_where_the_answer_leaps_slopes_are_not_believed() -> None:
    """A recurrent matrix so large that slopes on the way reach 100,000 and more."""
    task, model = make("classify-lstm")
    model.encoder.network.cells()[0][0].U.detach().mul_(20)
    found = explain(task.reading(model, "a b c d e f " * 50), deletions=False)
    assert found.gap == pytest.approx(abs(found.values.sum() - found.total))
    assert found.gap < 2
    assert np.abs(found.values).max() < 10
    assert "faster than can be followed" in found.lines()[-1]


@pytest.mark.parametrize("name", ["classify-lstm", "classify-one-hot", "tag-transformer"])
def test_a_thread_changes_what_it_reads_itself_alone(name) -> None:
    """Three threads run one model at once, two of them with other vectors in place of its own."""
    reading = read(*make(name), TEXT)
    x = Vectors(reading).x.float()
    points = [None, torch.zeros_like(x), 2 * x]

    @torch.no_grad()
    def scores(own: Tensor | None) -> Tensor:
        if own is None:
            return reading.run()
        with changed(reading.input.network, always(own[None])):
            return reading.run()

    alone = [scores(own) for own in points]
    assert not torch.equal(alone[0], alone[1])
    assert not torch.equal(alone[0], alone[2])
    ready = Barrier(len(points))

    @torch.no_grad()
    def at_once(own: Tensor | None) -> list[Tensor]:
        with nullcontext() if own is None else changed(reading.input.network, always(own[None])):
            ready.wait()  # every block is open
            found = [reading.run() for _ in range(5)]
            ready.wait()
            return found

    with ThreadPoolExecutor(len(points)) as pool:
        for wanted, found in zip(alone, pool.map(at_once, points)):
            for own in found:
                torch.testing.assert_close(own, wanted)


def test_every_token_has_one_line_that_can_be_seen() -> None:
    found = explain(read(*make("classify-lstm"), TEXT))
    blank = found._replace(tokens=[" ", "\n", "a\tb", *found.tokens[3:]])
    lines = blank.lines()
    assert len(lines) == len(found.lines())
    assert [line.split()[0] for line in lines[2:5]] == ["␣", "⏎", "a⇥b"]
    assert all(len(line.splitlines()) == 1 for line in lines)


def test_the_first_mask_is_asked_about() -> None:
    found = explain(read(*make("pretrain-transformer"), "a b <mask> d"), deletions=False)
    assert (found.step, found.asked) == (2, "<mask>")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"answer": "w"}, "knows no such answer; got 'w'. Choose from x, y, z"),
        ({"step": 3}, "there is one step to ask about; got 'number 4'. Count from 1"),
        ({"method": "guess"}, "unknown method; got 'guess'. Choose from integrated, gradient"),
    ],
)
def test_refused(options, says) -> None:
    with pytest.raises(ConfigError, match=says):
        explain(read(*make("classify-lstm"), TEXT), **options)


@pytest.mark.parametrize(("step", "tag"), [(0, "I-x"), (5, "B-x")])
def test_a_tag_that_cannot_stand_there(step, tag) -> None:
    says = f"can never give this answer here; got \"{tag} at '{TEXT.split()[step]}'"
    with pytest.raises(ConfigError, match=says):
        explain(read(*make("tag-bilstm"), TEXT), step=step, answer=tag)


def test_elmo_has_no_answers() -> None:
    with pytest.raises(ConfigError, match="no answers to ask for reasons"):
        explain(read(*make("elmo"), TEXT))


def test_of_a_sentence_the_first_tagged_word_is_asked_about() -> None:
    task, model = make("tag-lstm")
    reading = task.reading(model, TEXT)
    outside = task.labels.index("O")
    bias = model.scores.linear.bias.detach()
    bias[outside] = 100
    lengths = [len(token) for token in reading.input.tokens]
    assert lengths[reading.answer.default_step()] == max(lengths)
    bias[outside] = -100
    assert explain(reading, deletions=False).step == reading.answer.default_step() == 0
