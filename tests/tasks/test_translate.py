"""translate, from files to translations: every model learns, saves, loads, and answers alike."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
import torch

from unspool.api.run import Run, load
from unspool.api.settings import make_config, refuse_unread_settings
from unspool.api.train import train
from unspool.config import DataConfig
from unspool.errors import ConfigError
from unspool.search.decoding import GREEDY, Decoding
from unspool.tasks.generate import Generation
from unspool.tasks.planner import open_plan
from unspool.tasks.task import encode_plan
from unspool.tasks.translate.answer import encode, target_tensors
from unspool.tasks.translate.task import MODELS, Translate

QUICK = {"threads": 1, "batch": 16, "epochs": 1, "dropout": 0.0}
SMALL = {**QUICK, "hidden": 12, "embedding": 10}
TRANSFORMER = {**QUICK, "layers": 2, "heads": 2, "feed_forward": 16, "hidden": 16}
TEXTS = ["red AEIOUA dog", "cat", "", "the UUUUUA sees and hears a blue tree and a house", "dog IE"]


@pytest.fixture
def run(translator) -> Run:
    return load(translator)


@pytest.fixture(scope="module", params=MODELS)
def small(request, pairs, tmp_path_factory) -> Run:
    """An almost untrained model of each kind: its answers are odd, and must be the same always."""
    out = tmp_path_factory.mktemp("runs") / request.param
    settings = TRANSFORMER if request.param == "transformer" else SMALL
    return train(pairs, model=request.param, out=out, vocab=300, max_steps=3, **settings)


def test_words_are_learnt_and_names_copied(run) -> None:
    found = run.predict("red OOOOOA dog", Decoding(alignment=True))[0]
    assert found.translation == "rot OOOOOA Hund"
    assert found.tokens == ["rot", "<unk>", "Hund"]
    assert found.source_tokens == ["red", "<unk>", "dog", "</s>"]
    assert found.alignment is not None
    assert found.alignment.shape == (3, 4)
    assert found.alignment.argmax(1).tolist() == [0, 1, 2]
    assert found.alignment.sum(1) == pytest.approx(np.ones(3), abs=1e-5)
    kept = run.predict("red OOOOOA dog", Decoding(keep_unknown=True))[0]
    assert kept.translation == "rot <unk> Hund"
    assert kept.alignment is None
    assert json.loads(json.dumps(found.to_json()))["alignment"][1][1] > 0.5


def test_the_report_of_a_trained_run(translator, pairs) -> None:
    stored = json.loads((translator / "evaluation.json").read_text())
    assert stored["part"] == "test"
    assert stored["bleu"] > 90
    assert stored["exact"] > 0.9
    assert stored["bleu_interval"][0] <= stored["bleu"] <= stored["bleu_interval"][1]
    assert stored["signatures"]["bleu"].startswith("nrefs:1|case:mixed|eff:no|tok:13a")
    assert stored["translations"][0].keys() == {"text", "translation", "reference"}
    notes: list[str] = []
    report = load(translator).evaluate(pairs, note=notes.append)
    assert notes[0].endswith("pairs of lines -> translate")
    assert any("tokens of the targets are unknown to the vocabulary" in note for note in notes)
    assert len(report.to_json()["translations"]) == 900
    assert any("exact match" in line for line in report.lines())
    card = (translator / "README.md").read_text()
    assert "train.en, train.de" in card
    assert (translator / "target_tokenizer.json").exists()


def test_alone_and_in_any_batch(small) -> None:
    """Also in the order of the texts, whatever their lengths; an empty text stays empty."""
    for decoding in (GREEDY, Decoding(beam=3, nbest=2, alignment=True)):
        together = small.predict(TEXTS, decoding)
        assert together[2].translation == ""
        for text, found in zip(TEXTS, together):
            (alone,) = small.predict(text, decoding)
            assert (alone.text, alone.translation) == (text, found.translation)
            assert alone.score == pytest.approx(found.score, abs=1e-4)
            if alone.alignment is not None:
                assert alone.alignment == pytest.approx(found.alignment, abs=1e-4)


def test_only_models_that_look_have_an_alignment(small) -> None:
    found = small.predict("red dog", Decoding(alignment=True))[0]
    if small.config.model_name == "seq2seq":
        assert found.alignment is None
    else:
        assert found.alignment is not None
        assert found.alignment.shape == (len(found.tokens), len(found.source_tokens))
        assert found.alignment.sum(1) == pytest.approx(np.ones(len(found.tokens)), abs=1e-4)


def test_a_saved_model_answers_as_before(small) -> None:
    again = load(small.path)
    assert again.task.tokenizer is again.task.target_tokenizer  # type: ignore[attr-defined]
    assert again.predict(TEXTS) == small.predict(TEXTS)
    assert small.report is not None
    assert np.isfinite(small.report.metrics["loss"])


def test_every_parameter_learns_and_padding_changes_nothing(small) -> None:
    task = small.task
    assert isinstance(task, Translate)
    rng = random.Random(1)
    part = _part(task, small.path / "more", rng)
    rows = np.arange(6)
    model = small.model.train()
    model.zero_grad()
    task.loss(model, part.collate(rows), None).loss.backward()
    still = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert not still
    model.eval()
    model.zero_grad()

    def losses(rows: np.ndarray) -> torch.Tensor:
        batch = part.collate(rows)
        return model.decoder.token_losses(
            target_tensors(batch["target"]), encode(model, batch["source"])
        )

    with torch.no_grad():
        together, alone = losses(rows), [losses(rows[i : i + 1]) for i in rows]
    torch.testing.assert_close(together, torch.cat(alone), atol=1e-5, rtol=1e-4)


def _part(task: Translate, folder: Path, rng: random.Random):
    folder.mkdir(exist_ok=True)
    for side in ("en", "de"):
        lines = [" ".join(rng.choices(["red", "rot", "x"], k=rng.randint(1, 7))) for _ in range(6)]
        (folder / f"t.{side}").write_text("\n".join(lines) + "\n")
    return encode_plan(task, open_plan(f"{folder}/t.en,{folder}/t.de", DataConfig()))[0]


def test_tied_vectors_are_stored_once(small) -> None:
    names = [name for name in small.model.state_dict() if name.endswith("embedding.weight")]
    assert names == ["decoder.embedding.weight"]


def test_long_input_streams_in_order(run, monkeypatch) -> None:
    monkeypatch.setattr("unspool.tasks.translate.task.CHUNK", 4)
    texts = [f"{color} AAAAA{c} dog" for color in ("red", "blue") for c in "EIOU"] + [""]
    found = list(run.predict_lazily(iter(texts)))
    assert [t.text for t in found] == texts
    assert found[5].translation == "blau AAAAAI Hund"
    assert found == run.predict(texts)


def test_lengths_and_repetitions_are_ruled(run) -> None:
    assert len(run.predict("red dog cat", Decoding(max_length=2))[0].tokens) <= 2
    assert len(run.predict("red dog", Decoding(min_length=6))[0].tokens) >= 6
    tokens = run.predict("red dog", Decoding(min_length=6, no_repeat_ngram=1))[0].tokens
    assert len(set(tokens)) == len(tokens)


def test_samples_depend_on_the_seed(run) -> None:
    def draw(seed: int) -> list[str]:
        found = run.predict("red dog cat", Decoding(temperature=3.0, nbest=4, seed=seed))[0]
        assert [c.score for c in found.nbest] == sorted(
            (c.score for c in found.nbest), reverse=True
        )
        return [c.translation for c in found.nbest]

    assert draw(1) == draw(1) != draw(2)
    assert len(set(draw(1))) > 1


def test_a_source_that_is_too_long_is_cut(pairs, tmp_path) -> None:
    run = train(
        pairs, model="transformer", out=tmp_path / "run", kind="word", max_length=4, max_steps=1,
        positions="learned", **TRANSFORMER,
    )  # fmt: skip
    found = run.predict(["red dog red dog red dog", "red dog"])
    assert [t.cut for t in found] == [True, False]
    assert len(found[0].source_tokens) == 5
    assert all(len(t.tokens) <= 4 for t in found)


def test_a_table_in_a_notebook(run) -> None:
    html = run.predict(["red <b>"])._repr_html_()
    assert "red &lt;b&gt;" in html


def test_options_are_those_of_the_task(classifier, run) -> None:
    with pytest.raises(ConfigError, match="a classify model takes no options; got 'Decoding'"):
        load(classifier).predict("a", GREEDY)
    with pytest.raises(ConfigError, match="takes options of the class Decoding; got 'Generation'"):
        run.predict("a", Generation())


@pytest.mark.parametrize(
    ("model", "settings", "says"),
    [
        ("bahdanau", {"input_feeding": True}, "input_feeding is for multiplicative attention"),
        ("luong", {"attention": "dot"}, "attention=dot compares vectors of one size"),
        ("seq2seq", {"embedding": 0}, "a decoder needs vectors of the tokens"),
        (
            "transformer",
            {"reverse_source": True},
            "reverse_source is read only with model.network=recurrent",
        ),
        ("transformer", {"positions": "learned", "max_length": 0}, "learned needs a longest text"),
        ("transfomer", {}, "unknown model; got 'transfomer'. Did you mean 'transformer'?"),
        ("lstm", {}, "unknown model; got 'lstm'"),
    ],
)
def test_settings_that_do_not_fit(model, settings, says) -> None:
    with pytest.raises(ConfigError, match=says):
        refuse_unread_settings(settings, None, [make_config("translate", model, settings=settings)])


@pytest.mark.parametrize("attention", ["dot", "scaled", "concat"])
def test_other_attentions_train(attention, pairs, tmp_path) -> None:
    settings = {**SMALL, "bidirectional": False, "cell": "elman", "reverse_source": True}
    run = train(
        pairs, model="luong", attention=attention, out=tmp_path / "run", kind="char", max_steps=2,
        joint=True, tied=False, **settings,
    )  # fmt: skip
    assert run.predict("red")[0].text == "red"
