"""transcribe by an attention decoder, and by CTC and a decoder together: losses and searches."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import unspool
from tones import RATE, tones, wav, write_texts
from unspool.data.part import Batch, Part
from unspool.errors import ConfigError
from unspool.nn.ctc import log_probability
from unspool.tasks.planner import open_plan
from unspool.tasks.task import encode_plan
from unspool.tasks.transcribe.answer import Transcribing
from unspool.text.vocab import BEGIN_ID, END_ID

SMALL = {"hidden": 24, "layers": 1, "lr": 1e-2, "batch": 8, "threads": 1, "bands": 16}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return write_texts(tmp_path_factory.mktemp("tones") / "tones", 60)


@pytest.fixture(scope="module")
def hybrid(folder, tmp_path_factory) -> unspool.Run:
    """Also with convolutions, and the words of the settings."""
    return unspool.train(
        folder, task="transcribe", model="bigru", objective="hybrid", reduction="convolution",
        out=tmp_path_factory.mktemp("hybrid") / "run", test_share=0.2, valid_share=0.2, epochs=60,
        dropout=0.0, time_masks=0, band_masks=0, patience=60, **{**SMALL, "hidden": 32},
    )  # fmt: skip


@pytest.fixture(scope="module")
def attention(folder, tmp_path_factory) -> unspool.Run:
    return unspool.train(
        folder, task="transcribe", model="bigru", objective="attention", patch=2,
        out=tmp_path_factory.mktemp("attention") / "run", epochs=1, **SMALL,
    )  # fmt: skip


@pytest.fixture(scope="module")
def new(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("new") / "new.wav"
    path.write_bytes(wav(tones("abca", 999)))
    return path


def batch_of(run: unspool.Run, folder: Path) -> Batch:
    part, _ = encode_plan(run.task, open_plan(folder, run.config.data, "transcribe"))
    return part.collate(np.arange(5))


@pytest.mark.parametrize("name", ["hybrid", "attention"])
def test_the_loss_by_hand(name, folder, request) -> None:
    """λ Σ -ln p of CTC + (1 - λ) Σ -ln p of the decoder, row by row, over the tokens with their
    ends; in values and gradients."""
    run = request.getfixturevalue(name)
    model, task = run.model, run.task
    batch = batch_of(run, folder)
    x, text = batch["audio"], batch["text"]
    step = task.loss(model, batch, None)
    weight, total = {"hybrid": 0.3, "attention": 0.0}[name], torch.zeros(())
    for row, (frames, size) in enumerate(zip(x.lengths.tolist(), text.lengths.tolist())):
        ids = text.ids[row, :size]
        assert (int(ids[0]), int(ids[-1])) == (BEGIN_ID, END_ID)
        found = model(x.values[row : row + 1, :frames], torch.tensor([frames]), ids[None, :-1])
        if weight:
            total = total - weight * log_probability(found.log_p[0], ids[1:-1])
        nll = F.cross_entropy(found.logits[0], ids[1:], reduction="sum")
        total = total + (1 - weight) * nll
    tokens = int((text.lengths - 1).sum())
    assert step.targets == tokens
    assert float(step.loss.detach()) == pytest.approx(float(total.detach()) / tokens, rel=1e-4)
    own = [p for p in model.parameters() if p.requires_grad]
    one = torch.autograd.grad(step.loss, own)
    other = torch.autograd.grad(total / tokens, own)
    for mine, its in zip(one, other):
        assert torch.allclose(mine, its, atol=2e-4 * float(its.abs().max()) + 1e-7)


def test_both_learn_what_tones_say(hybrid, new) -> None:
    """36 recordings are few for a decoder; by guesses CER would be 0.7 or so."""
    (by_ctc,) = hybrid.predict(new, Transcribing(decoder="ctc"))
    assert by_ctc.text == "abca"
    assert hybrid.report.metrics["cer"] < 0.4
    (answer,) = hybrid.predict(new)
    starts = [token.start for token in answer.tokens]
    assert starts == sorted(starts)
    assert 0 < starts[0] < starts[-1] < len(tones("abca", 999)) / RATE
    assert "CTC and attention, beam search of width 10" in "\n".join(hybrid.report.lines())


@pytest.mark.parametrize("name", ["hybrid", "attention"])
def test_greedy_is_the_best_token_after_those_before(name, request, new) -> None:
    """By whole targets, which know no search."""
    run = request.getfixturevalue(name)
    (answer,) = run.predict(new, Transcribing(beam=1, decoder="attention"))
    part = Part.of(run.task.fields, audio=[run.task.input_field.recording(new, "item")])
    inputs = part.collate(np.array([0]))["audio"].inputs
    ids, p = [BEGIN_ID], []
    steps = int(run.model.steps(inputs[1])[0])
    with torch.inference_mode():
        while len(ids) <= steps:
            logits = run.model(*inputs, torch.tensor([ids])).logits[0, -1]
            log_p = logits.log_softmax(-1)
            log_p[:END_ID] = -torch.inf
            best = int(log_p.argmax())
            if best == END_ID:
                break
            p.append(float(log_p[best].exp()))
            ids.append(best)
    assert answer.text == run.task.target_tokenizer.decode(ids[1:])
    assert len(answer.tokens) == len(ids) - 1
    sure = run.task.confidence(np.array(p))
    assert [token.confidence for token in answer.tokens] == pytest.approx(sure.tolist(), abs=1e-5)


@pytest.mark.parametrize("decoder", ["attention", "hybrid"])
def test_nbest_of_a_decoder(hybrid, new, decoder) -> None:
    many = hybrid.predict(new, Transcribing(beam=5, nbest=3, decoder=decoder))[0]
    scores = [own.score for own in many.candidates]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)


def test_texts_of_both_are_ranked_by_both(hybrid, new) -> None:
    """Against the sums over all paths, and whole targets."""
    every = Transcribing(beam=4, nbest=4, decoder="hybrid")
    (answer,) = hybrid.predict(new, every)
    task, tokenizer = hybrid.task, hybrid.task.target_tokenizer
    halves = [
        own.text
        for half in ("ctc", "attention")
        for own in hybrid.predict(new, replace(every, decoder=half))[0].candidates
    ]
    part = Part.of(task.fields, audio=[task.input_field.recording(new, "item")])
    inputs = part.collate(np.array([0]))["audio"].inputs
    wanted = []
    for text in set(halves):
        ids = tokenizer.encode(text).tolist()
        with torch.inference_mode():
            found = hybrid.model(*inputs, torch.tensor([[BEGIN_ID, *ids]]))
        nll = F.cross_entropy(found.logits[0], torch.tensor([*ids, END_ID]), reduction="sum")
        by_ctc = float(log_probability(found.log_p[0], torch.tensor(ids)))
        wanted.append((0.3 * by_ctc - 0.7 * float(nll), text))
    best = sorted(wanted, reverse=True)[:4]
    assert [own.text for own in answer.candidates] == [text for _, text in best]
    scores = [own.score for own in answer.candidates]
    assert scores == pytest.approx([score for score, _ in best], abs=1e-3)
    assert len(answer.tokens) == len(answer.text)


@pytest.mark.parametrize("model", ["gru", "transformer"])
def test_a_language_model_beside_the_decoder(hybrid, new, tmp_path, model) -> None:
    """Greedily by whole texts, which know no state; the texts of a beam in the order of the product
    of both; nothing changes with a weight of 0."""
    (tmp_path / "book.txt").write_text("abcab\nbca\ncabc\n" * 30)
    language = unspool.train(
        tmp_path / "book.txt", task="generate", model=model, out=tmp_path / "lm", hidden=16,
        epochs=2, kind="char", layers=1, threads=1, batch=4, bptt=8,
        **({"heads": 2} if model == "transformer" else {}),
    )  # fmt: skip
    part = Part.of(hybrid.task.fields, audio=[hybrid.task.input_field.recording(new, "item")])
    inputs = part.collate(np.array([0]))["audio"].inputs
    names, own = hybrid.task.target_tokenizer, language.task.tokenizer
    limit, weight, bonus = int(hybrid.model.steps(inputs[1])[0]), 0.7, 0.4

    def following(ids: list[int]) -> torch.Tensor:
        """(V,) of the product after some tokens, normalised."""
        found = hybrid.model(*inputs, torch.tensor([[BEGIN_ID, *ids]])).logits[0, -1]
        text = own.encode("\n" + names.decode(ids)).tolist()
        theirs = language.model(torch.tensor([text])).logits[0, -1].log_softmax(-1)
        added = torch.full_like(found, -torch.inf)
        added[END_ID] = weight * theirs[own.vocab.index["\n"]]
        for name in "abc":
            added[names.vocab.index[name]] = weight * theirs[own.vocab.index[name]] + bonus
        return (found.log_softmax(-1) + added).log_softmax(-1)

    options = Transcribing(beam=1, decoder="attention", lm=language, lm_weight=weight, bonus=bonus)
    ids: list[int] = []
    with torch.inference_mode():
        while len(ids) < limit and (best := int(following(ids).argmax())) != END_ID:
            ids.append(best)
        assert hybrid.predict(new, options)[0].text == names.decode(ids)
        (many,) = hybrid.predict(new, replace(options, beam=4, nbest=3))
        for found in many.candidates:
            tokens = [*names.encode(found.text).tolist(), END_ID]
            score = sum(float(following(tokens[:i])[t]) for i, t in enumerate(tokens))
            penalty = ((5 + len(tokens)) / 6) ** 1.0
            assert found.score == pytest.approx(score / penalty, abs=2e-3)
    plain = hybrid.predict(new, Transcribing(beam=4, nbest=3, decoder="attention"))[0]
    without = replace(options, beam=4, nbest=3, lm_weight=0.0, bonus=0.0)
    (same,) = hybrid.predict(new, without)
    assert [each.text for each in same.candidates] == [each.text for each in plain.candidates]


def test_a_loaded_run_answers_the_same(hybrid, new) -> None:
    again = unspool.load(hybrid.path, note=lambda line: None)
    assert again.predict(new)[0].to_json() == hybrid.predict(new)[0].to_json()


def test_what_a_model_lacks_is_refused(hybrid, attention, new) -> None:
    with pytest.raises(ConfigError, match="trained with objective=attention; got 'decoder=ctc'"):
        attention.predict(new, Transcribing(decoder="ctc"))
    with pytest.raises(ConfigError, match="a bonus are for the search of CTC, or of attention"):
        hybrid.predict(new, Transcribing(bonus=1.0))
    with pytest.raises(
        ConfigError, match="a bonus for each token is for the search of CTC, or for"
    ):
        attention.predict(new, Transcribing(bonus=1.0))
    with pytest.raises(ConfigError, match="unknown decoder; got 'beam'"):
        Transcribing(decoder="beam")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="its decoder attends to a whole recording"):
        attention.stream()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"objective": "both"}, "objective"),
        ({"objective": "hybrid", "ctc_weight": 1.0}, "ctc_weight"),
        ({"objective": "hybrid", "attention": "dot"}, "twice as large as the decoder's"),
        ({"objective": "attention", "input_feeding": True}, "multiplicative attention"),
        ({"objective": "attention", "attention": "scaled", "model": "cnn"}, "filters of a cnn"),
        ({"reduction": "pooling"}, "reduction"),
    ],
)
def test_bad_settings(folder, tmp_path, settings, message) -> None:
    settings = {"model": "bigru", **settings}
    with pytest.raises(ConfigError, match=message):
        unspool.train(folder, task="transcribe", out=tmp_path / "run", **SMALL, **settings)
    assert not (tmp_path / "run").exists()


def test_decoders_of_ctc_are_refused(folder, tmp_path, new) -> None:
    run = unspool.train(
        folder, task="transcribe", model="gru", out=tmp_path / "run", epochs=1, **SMALL
    )
    with pytest.raises(ConfigError, match="trained with objective=ctc; got 'decoder=attention'"):
        run.predict(new, Transcribing(decoder="attention"))
