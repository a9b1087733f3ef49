"""What a run keeps to be looked at with: inputs that it has not learnt from, and their truth."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from unspool.api.train import train
from unspool.errors import RunError
from unspool.page.subject import open_subject
from unspool.tasks.examples import EXAMPLES, read_examples

SMALL: dict[str, Any] = {"hidden": 8, "threads": 1, "max_steps": 1}
QUICK = {**SMALL, "baseline": False}


def test_a_classifier_keeps_rows_of_its_validation_part(reviews, tmp_path) -> None:
    rows = reviews.read_text().splitlines()
    held, rest = rows[1:30], rows[30:]
    for name, own in (("train", rest), ("valid", held)):
        (tmp_path / f"{name}.csv").write_text("\n".join([rows[0], *own]) + "\n")
    run = train(tmp_path / "train.csv", valid=tmp_path / "valid.csv", out=tmp_path / "run", **QUICK)
    found = read_examples(run.path)
    assert 2 <= len(found) <= 5
    assert {own.truth for own in found[:2]} == {"pos", "neg"}
    for own in found:
        assert f"{own.text},{own.truth}" in held
        assert f"{own.text},{own.truth}" not in rest
    assert open_subject(run.path).example == found[0].text


def test_the_page_needs_no_data_to_begin_with_a_real_text(classifier, reviews, tmp_path) -> None:
    copy = Path(shutil.copytree(classifier, tmp_path / "run"))
    record = json.loads((copy / "config.json").read_text())
    record["data"]["train"]["path"] = str(tmp_path / "gone.csv")
    (copy / "config.json").write_text(json.dumps(record))
    (copy / "hashes.json").unlink()
    assert open_subject(copy).example in reviews.read_text()


def test_a_tagger_keeps_sentences_with_their_spans(tagger) -> None:
    found = read_examples(tagger)
    assert found
    for own in found:
        assert own.truth.replace("[PER ", "").replace("[LOC ", "").replace("]", "") == own.text
        assert "[PER " in own.truth


def test_a_translator_keeps_translations(translator, pairs) -> None:
    source, target = (Path(side).read_text().splitlines() for side in pairs.split(","))
    found = read_examples(translator)
    assert found
    assert {own[:2] for own in found} <= set(zip(source, target))


def test_a_language_model_keeps_beginnings_and_how_they_go_on(writer, book) -> None:
    lines = book.read_text().splitlines()
    found = read_examples(writer)
    assert found
    for own in found:
        assert any(f"{own.text} {own.truth}" in line for line in lines[150:])


def test_several_labels_and_numbers(genres, reviews, tmp_path) -> None:
    run = train(genres, out=tmp_path / "labels", model="gru", **QUICK)
    text = genres.read_text()
    for own in read_examples(run.path):
        assert f"{own.text},{own.truth.replace(', ', '|')}".strip() in text
    ratings = reviews.read_text().replace(",pos\n", ",40.5\n").replace(",neg\n", ",-7\n")
    (tmp_path / "ratings.csv").write_text(ratings.replace(",label\n", ",rating\n", 1))
    run = train(tmp_path / "ratings.csv", task="regress", out=tmp_path / "rater", **QUICK)
    assert {float(own.truth) for own in read_examples(run.path)} == {40.5, -7}


def test_something_is_hidden_for_pretrain(book, tmp_path) -> None:
    run = train(book, task="pretrain", out=tmp_path / "run", heads=2, layers=1, **SMALL)
    for own in read_examples(run.path):
        assert own.text.split().count("<mask>") == 1
        assert own.text.replace("<mask>", own.truth) in book.read_text()


def test_values_in_memory_and_a_long_text(tmp_path) -> None:
    texts = [f"{word} " * 100 for word in ("good", "bad")] * 20
    run = train(texts, ["pos", "neg"] * 20, out=tmp_path / "run", model="gru", **QUICK)
    found = read_examples(run.path)
    assert all(len(own.text.split()) == 18 and own.truth == "" for own in found)
    run = train(texts, ["pos", "neg"] * 20, out=tmp_path / "linear", model="linear")
    assert read_examples(run.path) == found


@pytest.mark.parametrize("content", ["{}", '[{"text": "a"}]', '[{"text": 1, "truth": ""}]', "[1]"])
def test_damaged_examples(classifier, tmp_path, content) -> None:
    copy = Path(shutil.copytree(classifier, tmp_path / "run"))
    (copy / EXAMPLES).write_text(content)
    with pytest.raises(RunError, match=r"examples.json: damaged: its SHA-256 is not the one"):
        read_examples(copy)
    (copy / "hashes.json").unlink()
    with pytest.raises(RunError, match=r"examples.json: damaged: no examples in it"):
        read_examples(copy)
    (copy / EXAMPLES).unlink()
    assert read_examples(copy) == []
