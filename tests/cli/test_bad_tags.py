"""Bad tagged data, through the command line: one line that names the place, exit code 2."""

from __future__ import annotations

import json
import shutil

import pytest

GOOD = "EU NNP B-ORG\nrejects VBZ O\n. . O\n\n"


@pytest.fixture
def refused(unspool, tmp_path, monkeypatch):
    """Train on a file that must be refused; nothing may be left behind."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    def call(name: str, content: str, *options: str, says: list[str]) -> None:
        path = tmp_path / name
        path.write_text(content)
        ended = unspool("train", path, *options)
        errors = [line for line in ended.err.splitlines() if line.startswith("unspool: ")]
        assert ended.code == 2, ended.err
        assert errors == ended.err.splitlines()[-1:], ended.err
        for part in says:
            assert part in errors[0]
        assert not list((tmp_path / "here").iterdir())

    return call


def sentence(**fields) -> str:
    return json.dumps(fields) + "\n"


TOKENS = sentence(tokens=["EU", "left"], tags=["B-ORG", "O"])
SPANS = sentence(text="EU left", spans=[{"start": 0, "end": 2, "label": "ORG"}])


@pytest.mark.parametrize(
    ("name", "content", "options", "says"),
    [
        ("a.conll", GOOD + "Peter NNP\n", [], ["a.conll:5: expected 3 columns, found 2. Correct"]),
        ("a.conll", GOOD + "Peter Smith NNP B-PER\n", [], ["a.conll:5: expected 3 columns, found"
         " 4"]),
        ("a.conll", GOOD + "Peter NNP X-PER\n", [], ["a.conll:5: tag 'X-PER' fits no scheme",
         "'B-ORG'", "scheme=none"]),
        ("a.conll", GOOD + "Peter NNP S-PER\n", ["--set", "scheme=iob2"], ["a.conll:5: tag 'S-PER'"
         " is outside the scheme IOB2", "B-, I-"]),
        ("a.conll", GOOD + "he PRP O\nPeter NNP I-PER\n", ["--set", "scheme=iob2"],
         ["a.conll:6: tag 'I-PER' after 'O' breaks the rules of IOB2", "leave out data.scheme"]),
        ("a.conll", GOOD + "Peter NNP I-PER\n", ["--set", "scheme=iob2"],
         ["a.conll:5: tag 'I-PER' after the beginning of the sentence"]),
        ("a.conll", "EU B-ORG\nleft O\n", ["--set", "scheme=iobes"],
         ["a.conll:1: tag 'B-ORG'", "breaks the rules of IOBES"]),
        ("a.conll", GOOD, ["--label", "upos"], ["a.conll:1: there is no column 'upos'", "--label"]),
        ("a.conll", GOOD, ["--label", "9"], ["a.conll:1: there is no column 9, only 3"]),
        ("a.conll", GOOD, ["--text", "3"], ["the words and the tags are the same column 3"]),
        ("a.conll", "EU\nleft\n", [], ["a.conll:1: there is one column"]),
        ("a.conll", "", [], ["a.conll: the file is empty"]),
        ("a.conll", " \n\n", [], ["a.conll: the file is empty"]),
        ("a.conll", "-DOCSTART- -X- O\n\n", [], ["a.conll: holds no sentence"]),
        ("a.conll", "EU O\nleft O\n\n" * 20, [], ["all words have the same tag", "got 'O'"]),
        ("a.iob", "EU\t\tB-X\n", ["--text", "2"], ["a.iob:1: column 2 is empty"]),
        ("a.conllu", "1\tEU\t_\tX\n", [], ["a.conllu:1: expected 10 columns, found 4"]),
        ("a.jsonl", TOKENS + sentence(tokens=[], tags=[]), [], ["a.jsonl:2: the sentence is"
         " empty"]),
        ("a.jsonl", TOKENS + sentence(tokens=["a"], tags=["O", "O"]), [],
         ["a.jsonl:2: 1 tokens have 2 tags"]),
        ("a.jsonl", TOKENS + sentence(tokens=["a", ""], tags=["O", "O"]), [],
         ["a.jsonl:2: field 'tokens' holds an empty string"]),
        ("a.jsonl", TOKENS + sentence(tokens="a b", tags=["O", "O"]), [],
         ["a.jsonl:2: field 'tokens' is not a list of strings", "got 'a b'"]),
        ("a.jsonl", TOKENS + sentence(tokens=["a"]), [], ["a.jsonl:2: field 'tags' is not a list"]),
        ("a.jsonl", sentence(text="a", label="x"), ["--task", "tag"],
         ["a.jsonl:1: no fields of words and tags among text, label", '"tokens"']),
        ("a.jsonl", TOKENS, ["--task", "tag", "--label", "tgas"], ["a.jsonl:1: has no field 'tgas'",
         "Did you mean 'tags'"]),
        ("a.jsonl", SPANS + sentence(text="EU left", spans=[
            {"start": 0, "end": 7, "label": "A"}, {"start": 3, "end": 7, "label": "B"}]), [],
         ["a.jsonl:2: spans overlap", "got 'left'"]),
        ("a.jsonl", SPANS + sentence(text="EU left", spans=[
            {"start": 0, "end": 5, "label": "A"}]), [],
         ["a.jsonl:2: a span splits the word 'left'", "from 0 to 7"]),
        ("a.jsonl", SPANS + sentence(text="EU  left", spans=[
            {"start": 2, "end": 4, "label": "A"}]), [], ["a.jsonl:2: a span holds no word"]),
        ("a.jsonl", SPANS + sentence(text="EU", spans=[{"start": 1, "end": 9, "label": "A"}]), [],
         ["a.jsonl:2: a span from 1 to 9 does not lie within the text of 2 characters"]),
        ("a.jsonl", SPANS + sentence(text="EU", spans=[{"start": 0, "end": 2}]), [],
         ["a.jsonl:2: a span needs start, end and label"]),
        ("a.jsonl", SPANS + sentence(text="EU", spans={}), [], ["a.jsonl:2: the spans are no"
         " list"]),
        ("a.jsonl", SPANS + sentence(text=" ", spans=[]), [], ["a.jsonl:2: the sentence is empty"]),
        ("a.jsonl", SPANS + sentence(text=7, spans=[]), [], ["a.jsonl:2: field 'text' is not a"
         " string", "got 7"]),
        ("a.csv", "text,label\na,b\n", ["--task", "tag", "--format", "csv"],
         ["was read as csv, which holds no tags"]),
        ("a.conll", GOOD * 20, ["--set", "max_length=1"], ["no sentences are left to train on"]),
    ],
)  # fmt: skip
def test_data(refused, name, content, options, says) -> None:
    refused(name, content, *options, says=says)


def test_a_folder(unspool, tmp_path) -> None:
    (tmp_path / "a.txt").write_text("x\n")
    ended = unspool("train", tmp_path, "--task", "tag")
    assert ended.code == 2
    assert "a folder holds no tagged sentences" in ended.err


def test_a_damaged_list_of_characters(unspool, tagger, tmp_path) -> None:
    run = tmp_path / "run"
    shutil.copytree(tagger, run)
    (run / "hashes.json").unlink()  # changed on purpose
    words = json.loads((run / "tokenizer.json").read_text())
    (run / "characters.json").write_text(json.dumps(words))
    ended = unspool("predict", run, "x")
    assert ended.code == 2
    assert "characters.json: not a tokenizer of characters; got 'word'" in ended.err


def test_a_damaged_list_of_tags(unspool, tagger, tmp_path) -> None:
    run = tmp_path / "run"
    shutil.copytree(tagger, run)
    (run / "hashes.json").unlink()  # changed on purpose
    labels = json.loads((run / "labels.json").read_text())
    (run / "labels.json").write_text(json.dumps([*labels["names"][1:], "Q-PER"]))
    ended = unspool("predict", run, "x")
    assert ended.code == 2
    assert "labels.json: tag 'Q-PER' fits no scheme" in ended.err
