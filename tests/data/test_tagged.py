"""Tagged sentences: every format gives the same words and spans; batches, splits, the cache."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from small_tasks import Loaded, load_data
from unspool.config import DataConfig
from unspool.data.part import Part
from unspool.data.read.conll import Conll
from unspool.errors import DataError
from unspool.tasks.planner import open_plan

WORDS = [["EU", "rejects", "German", "call"], ["Peter", "Blackburn", "Inc", "sued"]]
IOB2 = [["B-ORG", "O", "B-MISC", "O"], ["B-PER", "I-PER", "B-PER", "O"]]
IOBES = [["S-ORG", "O", "S-MISC", "O"], ["B-PER", "E-PER", "S-PER", "O"]]
SCHEMES = {
    "IOB2": IOB2,
    "IOBES": IOBES,
    "IOB1": [["I-ORG", "O", "I-MISC", "O"], ["I-PER", "I-PER", "B-PER", "O"]],
    "BIOUL": [["U-ORG", "O", "U-MISC", "O"], ["B-PER", "L-PER", "U-PER", "O"]],
}


def columns(tags: list[list[str]], between: str = " ") -> str:
    blocks = [
        "".join(f"{w}{between}X{between}{t}\n" for w, t in zip(words, own))
        for words, own in zip(WORDS, tags)
    ]
    return "\n".join(blocks)


def conllu() -> str:
    def row(i: object, word: str, tag: str) -> str:
        return "\t".join([str(i), word, "_", tag, *["_"] * 6]) + "\n"

    first, second = (
        "".join(row(i + 1, w, t) for i, (w, t) in enumerate(zip(words, own)))
        for words, own in zip(WORDS, IOB2)
    )
    rows = first.splitlines(keepends=True)
    rows.insert(1, row("2-3", "rejectsGerman", "_"))
    rows.insert(2, row("1.1", "ghost", "_"))
    return "# sent_id = 1\n# text = x\n" + "".join(rows) + "\n" + second


def json_spans() -> str:
    rows = []
    for words, own in zip(WORDS, IOB2):
        text = " ".join(words)
        starts = [len(" ".join(words[:i])) + (i > 0) for i in range(len(words))]
        spans = []
        for start, word, tag in zip(starts, words, own):
            if tag[0] == "B":
                spans.append({"start": start, "end": start + len(word), "label": tag[2:]})
            elif tag[0] == "I":
                spans[-1]["end"] = start + len(word)
        rows.append(json.dumps({"text": text, "spans": spans[::-1]}))
    return "\n".join(rows) + "\n"


FILES = {
    **{f"{scheme}.conll": columns(tags) for scheme, tags in SCHEMES.items()},
    "plain-name.txt": columns(IOB2),
    "tabs.iob": columns(IOB2, "\t"),
    "spaces.conll": columns(IOB2, "   "),
    "marked.conll": "-DOCSTART- -X- O\n\n# a longer comment here\n"
    + columns(IOB2)
    + "\n-DOCSTART- -X- O\n\n",
    "universal.conllu": conllu(),
    "universal.txt": conllu(),
    "tokens.jsonl": "".join(
        json.dumps({"id": 1, "tokens": w, "tags": t}) + "\n" for w, t in zip(WORDS, IOB2)
    ),
    "spans.jsonl": json_spans(),
}


def load(path: Path, **data) -> Loaded:
    corpus = load_data(path, data={"valid_share": 0, **data}, model={"characters": "lstm"})
    assert corpus.config.task == "tag"
    return corpus


def content(part: Part) -> tuple[list[list[str]], list[list[str]]]:
    words, tags = part["words"], part["tags"]
    rows = range(len(part))
    return (
        [[words.types[i] for i in words.words(row)] for row in rows],
        [[tags.names[i] for i in tags[row]] for row in rows],
    )


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("zipped", [False, True], ids=["plain", "gzip"])
def test_every_format_gives_the_same(name, zipped, tmp_path) -> None:
    path = tmp_path / (name + (".gz" if zipped else ""))
    path.write_bytes(gzip.compress(FILES[name].encode()) if zipped else FILES[name].encode())
    corpus = load(path)
    assert content(corpus.parts["train"]) == (WORDS, IOBES)
    assert corpus.labels == sorted({tag for own in IOBES for tag in own})
    if name.split(".")[0] in SCHEMES:
        assert any(f": {name.split('.')[0]}, spans of 3 types" in note for note in corpus.notes)


def test_columns_by_number_and_by_name(tmp_path) -> None:
    path = tmp_path / "a.conll"
    path.write_text("1 EU NNP O\n2 left VBD O\n\n1 He PRP O\n")
    words, tags = content(load(path, text="2", label="3").parts["train"])
    assert (words, tags) == ([["EU", "left"], ["He"]], [["NNP", "VBD"], ["PRP"]])
    path = tmp_path / "b.conllu"
    path.write_text(conllu().replace("\t_\tB-ORG", "\tlemma\tB-ORG"))
    words, tags = content(load(path, label="lemma").parts["train"])
    assert tags[0] == ["lemma", "_", "_", "_"]


def test_the_sign_of_a_comment_may_be_a_word(tmp_path) -> None:
    path = tmp_path / "a.conll"
    path.write_text("# n = 1\n# # O\n5 CD B-X\n\n# said\nyes UH O\n")
    words, _ = content(load(path).parts["train"])
    assert words == [["#", "5"], ["yes"]]


def test_tags_that_mark_no_spans(tmp_path) -> None:
    path = tmp_path / "a.conll"
    path.write_text("B- NN\nI- VB\n\nx O\n")
    _, tags = content(load(path).parts["train"])
    assert tags == [["NN", "VB"], ["O"]]
    path.write_text("a B-X\nb I-X\n")
    assert content(load(path, scheme="none").parts["train"])[1] == [["B-X", "I-X"]]


def test_tags_that_break_the_rules_are_read_as_conlleval_does(tmp_path) -> None:
    path = tmp_path / "a.conll"
    path.write_text("a B-X\nb O\nc I-X\n\nd B-X\ne I-X\n")
    corpus = load(path)
    assert content(corpus.parts["train"])[1] == [["S-X", "O", "S-X"], ["B-X", "E-X"]]
    assert any("1 tags break its rules" in note and "a.conll:3" in note for note in corpus.notes)


def test_a_word_with_a_space_stays_one_word(tmp_path) -> None:
    path = tmp_path / "a.jsonl"
    rows = [{"tokens": ["vingt et un", "a\u00a0b"], "tags": ["NUM", "X"]}]
    path.write_text("\n".join(map(json.dumps, rows)))
    assert content(load(path).parts["train"])[0] == [["vingt_et_un", "a_b"]]


def test_case_is_folded_for_words_and_kept_for_characters(tmp_path) -> None:
    path = tmp_path / "a.conll"
    path.write_text("The DT\nthe DT\nUlm NN\n\nTHE DT\nUlm NN\n")
    corpus = load_data(path, data={"valid_share": 0}, model={"characters": "lstm"}, lowercase=True)
    part = corpus.parts["train"]
    words = part["words"]
    assert words[0][0] == words[0][1] == words[1][0]
    assert corpus.tokenizer.vocab.tokens[2:] == ["the", "ulm"]
    batch = part.collate(np.array([0, 1]))["words"]
    assert len(batch.sizes) == 4  # The, the, THE, Ulm
    spelled, place = corpus.fields["words"].spelling.vocab.tokens, batch.which[1, 1]
    assert "".join(spelled[i] for i in batch.spellings[place].tolist()) == "Ulm"


def test_a_batch_holds_each_spelling_once(tmp_path) -> None:
    path = tmp_path / "a.conll"
    path.write_text("aa X\nb Y\naa X\n\nccc Y\n")
    part = load(path).parts["train"]
    both = part.collate(np.array([1, 0]))
    batch = both["words"]
    assert batch.ids.shape == batch.which.shape == both["tags"].shape == (2, 3)
    assert batch.lengths.tolist() == [1, 3]
    assert sorted(batch.sizes.tolist()) == [1, 2, 3]
    assert batch.which[1, 0] == batch.which[1, 2]
    assert batch.ids[0, 1:].eq(0).all()


def test_sentences_in_memory_as_from_a_file(tmp_path) -> None:
    path = tmp_path / "a.conll"
    path.write_text(columns(IOB2))
    corpus = load(path)
    part, other = corpus.parts["train"], Part.of(corpus.task.fields, words=WORDS)
    for row in range(2):
        assert part["words"][row].tolist() == other["words"][row].tolist()
    one, two = (each.collate(np.arange(2))["words"] for each in (part, other))
    for a, b in zip(one.which.flatten().tolist(), two.which.flatten().tolist()):
        assert (
            one.spellings[a, : one.sizes[a]].tolist() == two.spellings[b, : two.sizes[b]].tolist()
        )


def test_the_vocabulary_and_the_tags_come_from_the_training_part(tmp_path) -> None:
    train, valid = tmp_path / "a.conll", tmp_path / "b.conll"
    train.write_text("a B-X\nb O\n\na O\n")
    valid.write_text("a B-Y\nzz O\n")
    corpus = load_data(train, valid=valid)
    assert corpus.labels == ["O", "S-X"]
    part = corpus.parts["valid"]
    assert part["tags"].names == ["O", "S-X", "S-Y"]
    assert part["words"][0].tolist()[1] == 1
    assert any("never found: 'S-Y'" in note for note in corpus.notes)
    again, notes = corpus.encode(valid)
    assert again["tags"][0].tolist() == part["tags"][0].tolist()
    assert any("S-Y" in note for note in notes)


def test_long_sentences_are_left_out_of_training_only(tmp_path) -> None:
    path = tmp_path / "a.conll"
    path.write_text("a X\nb Y\nc X\n\na Y\n\nb X\n")
    corpus = load(path, max_length=2)
    assert len(corpus.parts["train"]) == 2
    assert any(
        "1 sentences longer than max_length left out of training" in note for note in corpus.notes
    )


def test_a_second_reading_comes_from_the_cache(tmp_path, monkeypatch) -> None:
    path = tmp_path / "a.conll"
    path.write_text(columns(IOB2) * 3)
    first = load(path)
    read = Conll.rows

    def refuse(self, numbers, report=None):
        assert report is None, "the file is read again"
        return read(self, numbers, report)

    monkeypatch.setattr(Conll, "rows", refuse)
    again = load_data(path, data={"valid_share": 0}, progress=lambda *_: pytest.fail("read again"))
    assert content(again.parts["train"]) == content(first.parts["train"])


def test_other_files_are_not_taken_for_tagged_ones(tmp_path) -> None:
    settings = DataConfig()
    for name, text in {
        "a.csv": "text,label\ngood,pos\nbad,neg\n",
        "b.txt": "pos good\nneg bad\n" * 30,
        "c.jsonl": '{"text": "a", "label": "x"}\n{"text": "b", "label": "y"}\n',
        "d.tsv": "good\tpos\nbad\tneg\n" * 30,
        "e.txt": "two words\n\nmore words\n\nlast ones\n",
    }.items():
        path = tmp_path / name
        path.write_text(text)
        assert open_plan(path, settings).task != "tag", name


def test_a_scheme_that_is_named_must_be_kept_to(tmp_path) -> None:
    path = tmp_path / "a.conll"
    path.write_text(columns(SCHEMES["IOB1"]))
    with pytest.raises(DataError, match=r"a.conll:1: tag 'I-ORG' after the beginning"):
        load(path, scheme="iob2")
    assert content(load(path, scheme="iob1").parts["train"])[1] == IOBES


def test_a_file_without_a_span_can_be_evaluated_on(tmp_path) -> None:
    train, other = tmp_path / "a.conll", tmp_path / "b.conll"
    train.write_text(columns(IOB2))
    other.write_text("a X O\nb X O\n")
    corpus = load(train)
    part, _ = corpus.encode(other)
    assert content(part)[1] == [["O", "O"]]
