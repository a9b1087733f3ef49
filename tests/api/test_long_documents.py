"""One document of any length: cut to a bound that is said, or refused with the size it takes."""

import random
import time

import pytest

import unspool
from unspool.data.fields.bag_vocabulary import LONGEST_WORD, spelled
from unspool.errors import ConfigError
from unspool.tasks.size import LONGEST_DOCUMENT

QUICK = {"max_steps": 2, "hidden": 8, "embedding": 8, "precision": "fp32", "baseline": False}
LETTERS = "".join(random.Random(1).choices("abcdefgh", k=40_000))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    notes: list[str] = []
    texts = ["good film", "bad film", "fine plot", "awful plot"] * 6 + [LETTERS]
    labels = ["p", "n"] * 12 + ["p"]
    run = unspool.train(
        texts, labels, kind="char", valid_share=0, out=tmp_path_factory.mktemp("d") / "run",
        note=notes.append, quiet=True, **QUICK,
    )  # fmt: skip
    return run, notes


def test_what_is_cut_in_training_is_counted(trained) -> None:
    _, notes = trained
    assert f"train: 1 texts cut to their first {LONGEST_DOCUMENT:,} tokens" in notes


def test_what_is_cut_in_predicting_is_counted(trained) -> None:
    run, _ = trained
    answers = run.predict([LETTERS, "good", LETTERS[:LONGEST_DOCUMENT], ""])
    assert answers[0].probabilities == pytest.approx(answers[2].probabilities)
    assert answers.warnings() == ["1 text was cut to the first 16,384 tokens", "1 text was empty"]


def test_a_larger_batch_reads_more(trained, tmp_path) -> None:
    notes: list[str] = []
    unspool.train(
        [LETTERS, "b", "c", "d"] * 2, ["p", "n"] * 4, kind="char", valid_share=0,
        batch_tokens=50_000, out=tmp_path / "run", note=notes.append, quiet=True,
        **{**QUICK, "max_steps": 1},
    )  # fmt: skip
    assert not any("cut" in note for note in notes)


def test_what_does_not_fit_is_refused_before_training(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("unspool.config.numbers.machine_memory", lambda: 10**9)
    with pytest.raises(ConfigError, match=r"of 40,000 steps, .* would take 2.0 GB .* max_length"):
        unspool.train(
            [LETTERS, "b", "c", "d"] * 2, ["p", "n"] * 4, kind="char", valid_share=0,
            max_length=100_000, out=tmp_path / "run", quiet=True, **{**QUICK, "hidden": 250},
        )  # fmt: skip


def test_a_sentence_without_an_end_is_left_out_of_training(tmp_path) -> None:
    path, notes = tmp_path / "t.conll", list[str]()
    path.write_text("Ann B-PER\nruns O\n\n" * 20 + "so O\n" * (LONGEST_DOCUMENT + 1) + "\n")
    settings = {**QUICK, "model.embedding": QUICK["embedding"], "valid_share": 0}
    del settings["embedding"], settings["baseline"]
    unspool.train(path, out=tmp_path / "run", note=notes.append, quiet=True, **settings)
    assert any("1 sentences longer than max_length left out of training" in n for n in notes)


def test_a_word_without_an_end_has_few_ngrams() -> None:
    started = time.process_time()
    grams = list(spelled("x" * 5_000_000))
    assert time.process_time() - started < 5
    assert len(grams) < 5 * LONGEST_WORD
    assert list(spelled("film")) == [" f", "fi", "il", "lm", "m ", " fi", "fil", "ilm", "lm ",
                                     " fil", "film", "ilm ", " film", "film "]  # fmt: skip
