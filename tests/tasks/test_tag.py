"""Tagging from files to tagged text: learning, resuming, predicting with places in the text."""

from __future__ import annotations

import json
import shutil
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

import unspool
from small_tasks import make_task
from unspool.api.settings import make_config
from unspool.config import Config
from unspool.data.fields.tags import TagsField
from unspool.errors import ConfigError, DataError, RunError
from unspool.tasks.tag.report import PlainReport, TaggedSpanReport
from unspool.text.tokenizers import CharTokenizer, WordTokenizer
from unspool.text.vocab import Vocab
from unspool.text.words import token_spans


@pytest.fixture(scope="module")
def run(tagger):
    return unspool.load(tagger)


def test_spans_are_learnt(run, sentences) -> None:
    report = run.evaluate(sentences)
    assert isinstance(report, TaggedSpanReport)
    assert report.metrics["f1"] > 0.9
    assert set(report.table) == {"LOC", "PER"}
    stored = json.loads((run.path / "evaluation.json").read_text())
    assert stored["part"] == "test"
    assert stored["f1"] > 0.9
    assert "unspool predict" in (run.path / "README.md").read_text()


def test_spans_of_a_raw_text(run) -> None:
    text = "  Anna Kunz met Ulm, today. "
    (found,) = run.predict(text)
    assert [(span.text, span.label) for span in found.spans] == [
        ("Anna Kunz", "PER"),
        ("Ulm", "LOC"),
    ]
    for span in found.spans:
        assert text[span.start : span.end] == span.text
        assert 0 < span.probability <= 1
    for word in found.words:
        assert text[word.start : word.end] == word.word
        assert 0 < word.probability <= 1
    assert str(found) == "[PER Anna Kunz] met [LOC Ulm], today."
    assert found.to_json()["spans"][0]["label"] == "PER"


def test_words_that_are_cut_already(run) -> None:
    (whole,) = run.predict("Bert saw Bern .")
    (cut,) = run.predict([["Bert", "saw", "Bern", "."]])
    assert cut == whole
    with pytest.raises(DataError, match="a word is empty"):
        run.predict([["Bert", " "]])


def test_alone_as_in_company(run) -> None:
    texts = ["Anna met Ulm .", "", "x", "Cleo Mohr left Bern again . " * 20, " \n "]
    together = run.predict(texts)
    assert [len(found.words) for found in together] == [4, 0, 1, 120, 0]
    assert together[1].spans == []
    for text, found in zip(texts, together):
        (alone,) = run.predict(text)
        assert [word.tag for word in alone.words] == [word.tag for word in found.words]
        for a, b in zip(alone.spans, found.spans):
            assert a.probability == pytest.approx(b.probability, abs=1e-5)


@given(st.text())
@example("a\u0301b \u200d’s don't\u00a0x\x1f\u2028y <unk>")
@example("नमस्ते दुनिया, «quoted»")
def test_places_map_back_to_the_text(text) -> None:
    for split in ("punctuation", "space"):
        found = token_spans(text, split=split)
        end = 0
        for token, start, stop in found:
            assert text[start:stop] == token
            assert start >= end
            end = stop
        assert "".join(token for token, _, _ in found) == "".join(text.split())


@given(st.text(max_size=30))
def test_spans_of_any_text_map_back_to_it(run, text) -> None:
    (found,) = run.predict([text])
    for word in found.words:
        assert text[word.start : word.end] == word.word
    for span in found.spans:
        assert text[span.start : span.end] == span.text


def test_plain_tags_have_an_accuracy(sentences, tmp_path) -> None:
    settings = {"hidden": 12, "embedding": 8, "epochs": 3, "lr": 0.02, "threads": 1}
    run = unspool.train(
        sentences, label="2", model="gru", characters="none", out=tmp_path / "run", **settings
    )
    assert isinstance(run.report, PlainReport)
    assert run.task.metric.name == "accuracy"
    assert run.report.metrics["accuracy"] > 0.9
    (found,) = unspool.load(run.path).predict("Dora met Bern .")
    assert found.spans is None
    assert str(found).startswith("Dora/PROPN met/VERB")
    assert not (run.path / "characters.json").exists()


@pytest.mark.parametrize(
    ("scheme", "expected"),
    [
        ("iob1", "I-PER I-PER O I-LOC"),
        ("iob2", "B-PER I-PER O B-LOC"),
        ("iobes", "B-PER E-PER O S-LOC"),
        ("bioul", "B-PER L-PER O U-LOC"),
    ],
)
def test_answers_have_the_scheme_of_the_data(run, scheme, expected, tmp_path) -> None:
    again = tmp_path / "run"
    shutil.copytree(run.path, again)
    (again / "hashes.json").unlink()
    labels = json.loads((again / "labels.json").read_text())
    assert labels["scheme"] == "iob2"  # of the sentences
    (again / "labels.json").write_text(json.dumps({**labels, "scheme": scheme}))
    (answer,) = unspool.load(again).predict("Anna Kunz met Ulm")
    assert [word.tag for word in answer.words] == expected.split()
    assert [span.text for span in answer.spans] == ["Anna Kunz", "Ulm"]


@pytest.mark.parametrize(
    "content", ['["O", "B-PER", "E-PER"]', '{"names": ["O", "S-PER"], "scheme": "xyz"}', "{}"]
)
def test_tags_of_older_and_damaged_runs(content, tmp_path) -> None:
    (tmp_path / "labels.json").write_text(content)
    field = TagsField("tags")
    if content.startswith("["):
        field.load(tmp_path)
        assert field.written == "iobes"
    else:
        with pytest.raises(RunError, match=r"labels\.json: not a list of"):
            field.load(tmp_path)


def test_a_resumed_run_ends_the_same(sentences, tmp_path) -> None:
    settings = {
        "hidden": 8, "embedding": 8, "epochs": 2, "threads": 1, "batch": 64,
        "checkpoint_seconds": 0.0, "character_hidden": 6, "characters": "lstm",
    }  # fmt: skip
    whole = unspool.train(sentences, out=tmp_path / "whole", **settings)
    shutil.copytree(whole.path, tmp_path / "half")
    kept = sorted((tmp_path / "half" / "checkpoints").iterdir())
    for path in kept[1:]:
        path.unlink()
    (tmp_path / "half" / "model.safetensors").unlink()
    again = unspool.train(resume=True, out=tmp_path / "half")
    for name, tensor in whole.model.state_dict().items():
        assert torch.equal(tensor, again.model.state_dict()[name]), name


def test_a_tag_that_was_never_seen_counts_as_missed(run, tmp_path) -> None:
    path = tmp_path / "other.conll"
    path.write_text("Anna PROPN B-PER\nmet VERB B-NEW\nUlm PROPN B-LOC\n\nBert PROPN B-PER\n")
    notes: list[str] = []
    report = run.evaluate(path, note=notes.append)
    assert report.table["NEW"].recall == 0
    assert report.table["NEW"].support == 1
    assert np.isfinite(report.metrics["loss"])
    assert any("S-NEW" in line for line in notes)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"kind": "char"}, "tag does not split the words of its data"),
        ({"normalize": "nfkc"}, "can make two words of one"),
        ({"embedding": 0}, "one-hot vectors cannot have vectors of characters"),
        ({"characters": "lstm", "character_hidden": 5}, "Set character_hidden=6"),
        ({"output": "crf", "label_smoothing": 0.1}, "is for a softmax"),
    ],
)
def test_settings_that_do_not_fit(settings, says) -> None:
    with pytest.raises(ConfigError, match=says):
        make_config("tag", settings={k: str(v) for k, v in settings.items()})


def test_learned_positions_are_refused() -> None:
    with pytest.raises(ConfigError, match="knows sentences up to a length"):
        make_config("tag", "transformer", settings={"positions": "learned"})


def test_the_output_follows_from_the_tags() -> None:
    config = make_config("tag")
    words, characters = (kind(Vocab.of("ab")) for kind in (WordTokenizer, CharTokenizer))
    asked = make_config("tag", settings={"output": "softmax"})

    def uses_crf(config: Config, tags: list[str]) -> bool:
        return make_task(config, words, tags, characters=characters).uses_crf

    assert uses_crf(config, ["B-X", "E-X", "O"])
    assert not uses_crf(config, ["NN", "VB"])
    assert not uses_crf(asked, ["O", "S-X"])


def test_the_reference_of_a_tagger_is_the_most_frequent_tag_of_each_word(tmp_path) -> None:
    rng, words = np.random.default_rng(0), ["a", "dog", "run", "set", "walk"]
    rows = [
        [(w, "NOUN" if rng.random() < 0.2 + 0.15 * words.index(w) else "VERB") for w in
         rng.choice(words, 6).tolist()]
        for _ in range(120)
    ]  # fmt: skip
    path = tmp_path / "a.conll"
    path.write_text("\n".join("".join(f"{w} {t}\n" for w, t in row) for row in rows))
    run = unspool.train(
        path, task="tag", out=tmp_path / "run", model="gru", hidden=4, embedding=4, epochs=1,
        threads=1, characters="none", min_count=1, quiet=True,
    )  # fmt: skip
    (name,) = run.comparison.references
    assert name == "most frequent tag of each word"
    train, valid = (
        [rows[int(row)] for row in run.parts[part].rows] for part in ("train", "valid")
    )  # fmt: skip
    counts = {word: Counter(t for row in train for w, t in row if w == word) for word in words}
    right = [counts[w].most_common()[0][0] == t for row in valid for w, t in row]
    report = run.comparison.baselines[name]
    assert report.metrics["accuracy"] == pytest.approx(np.mean(right))
    share = Counter(t for row in train for _, t in row)
    p = [
        (counts[w][t] + share[t] / share.total()) / (counts[w].total() + 1)
        for row in valid for w, t in row
    ]  # fmt: skip
    assert report.metrics["loss"] == pytest.approx(-np.log(p).mean())
    assert run.comparison.conclusion in (run.path / "README.md").read_text()
