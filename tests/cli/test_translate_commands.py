"""translate through the command line: what it prints, and what it refuses in one line."""

from __future__ import annotations

import json

import pytest

from unspool import native

TINY = ["-s", "hidden=8", "-s", "threads=1", "-s", "max_steps=2"]
SMALL = [*TINY, "-s", "embedding=8"]


def test_train_check_and_evaluate_on_two_files(unspool, pairs, tmp_path) -> None:
    checked = unspool("check", pairs)
    assert checked.code == 0
    assert "train source: 810 lines" in checked.out
    out = tmp_path / "run"
    ended = unspool("train", pairs, "-m", "luong", "-o", out, "-s", "vocab=300", *SMALL)
    assert ended.code == 0, ended.err
    assert ended.out.startswith("90 pairs, ")
    assert "BLEU" in ended.out
    assert f"next: unspool predict {out}" in ended.err
    scored = unspool("evaluate", out, pairs, "--json")
    assert json.loads(scored.out)["pairs"] == 900
    resumed = unspool("train", "--resume", "-o", out)
    assert resumed.code == 0, resumed.err


def test_columns_by_name(unspool, tmp_path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("id,de,en\n" + "".join(f"{i},ein Haus,a house\n" for i in range(30)))
    out = tmp_path / "run"
    columns = ["--source", "en", "--target", "de"]
    ended = unspool("train", path, *columns, "-o", out, "-m", "bahdanau", "-s", "vocab=270", *SMALL)
    assert ended.code == 0, ended.err
    assert "pairs of columns 'en' and 'de' -> translate" in ended.err
    assert unspool("evaluate", out, path).code == 0
    ended = unspool("predict", out, "--file", path)
    assert "text in column 'en'" in ended.err
    assert len(ended.out.splitlines()) == 30


@pytest.mark.skipif(native.INSTRUCTIONS is None, reason=native.ABOUT)
def test_a_transformer_in_bytes(unspool, pairs, tmp_path) -> None:
    out = tmp_path / "run"
    small = [*TINY, "-s", "hidden=16", "-s", "feed_forward=32", "-s", "vocab=300"]
    assert unspool("train", pairs, "-m", "transformer", "-o", out, *small).code == 0
    scored = unspool("evaluate", out, pairs, "--int8", "--beam", 2, "--json")
    assert json.loads(scored.out)["pairs"] == 900, scored.err
    assert len(unspool("predict", out, "red dog", "--int8").out.splitlines()) == 1


def test_data_that_are_no_pairs(unspool, tmp_path, translator) -> None:
    (tmp_path / "a.en").write_text("a\nb\nc\n")
    (tmp_path / "a.de").write_text("x\ny\n")
    path = f"{tmp_path}/a.en,{tmp_path}/a.de"
    cases = {
        ("train", path, "-o", tmp_path / "run"): "a.en:3: this line has no partner",
        ("evaluate", translator, path): "a.en:3: this line has no partner",
        ("train", path, "-t", "classify"): "two files are pairs for translate",
        ("evaluate", translator, tmp_path / "a.en"): "holds no pairs",
        ("train", path, "-m", "lstm", "-t", "translate"): "unknown model; got 'lstm'",
    }
    for arguments, says in cases.items():
        ended = unspool(*arguments)
        assert (ended.code, ended.out) == (2, "")
        assert says in ended.err.splitlines()[-1]
    assert not (tmp_path / "run").exists()


def test_a_translator_may_read_as_a_classifier_did(unspool, pairs, classifier, tmp_path) -> None:
    begin = ("train", pairs, "-o", tmp_path / "run", "-s", "max_steps=2", "--from")
    ended = unspool(*begin, classifier, "-m", "bahdanau")
    assert ended.code == 0


def test_starts_that_do_not_fit_a_translator(unspool, pairs, book, tmp_path) -> None:
    begin = ("train", pairs, "-o", tmp_path / "run", "-s", "max_steps=2", "--from")
    reader = tmp_path / "reader"
    assert unspool("train", book, "--task", "pretrain", "-o", reader, *TINY).code == 0
    ended = unspool(*begin, reader, "-s", "joint=true")
    assert (ended.code, ended.out) == (2, "")
    assert "reads with the vocabulary of that one" in ended.err
    assert not (tmp_path / "run").exists()


def test_damaged_tokenizers_of_a_run(unspool, translator, tmp_path) -> None:
    import shutil

    shutil.copytree(translator, tmp_path / "run")
    (tmp_path / "run" / "hashes.json").unlink()  # changed on purpose
    (tmp_path / "run" / "target_tokenizer.json").write_text("{}")
    ended = unspool("predict", tmp_path / "run", "red")
    assert ended.code == 2
    assert "target_tokenizer.json: the stored tokenizer cannot be read" in ended.err
