"""Pairs: which columns, files and fields they are, and how they become parts."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

import unspool
from small_tasks import Loaded, load_data
from unspool.config import DataConfig
from unspool.data.batching import BucketBatches
from unspool.data.read.files import sides
from unspool.errors import DataError
from unspool.tasks.planner import open_plan
from unspool.text.vocab import BEGIN_ID, END_ID, UNK_ID

ENGLISH = ["a dog", "two cats", "a red house", "the tree", "a cat and a dog", "go"] * 5
GERMAN = ["ein Hund", "zwei Katzen", "ein rotes Haus", "der Baum", "Katze und Hund", "geh"] * 5


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def two(tmp_path) -> str:
    write(tmp_path / "a.en", ENGLISH)
    write(tmp_path / "a.de", GERMAN)
    return f"{tmp_path}/a.en,{tmp_path}/a.de"


def opened(path: object, *, task: str | None = None, **data):
    return open_plan(path, DataConfig(**data), task)


def load(path: object, *, valid=None, data=None, **tokens) -> Loaded:
    settings = {"valid_share": 0.2, **(data or {})}
    return load_data(path, valid=valid, data=settings, **{"kind": "word", **tokens})


def first_pair(source) -> tuple[str, str]:
    return next(source.rows()).values


def test_two_files_in_one_word(tmp_path, two) -> None:
    source = opened(two)
    assert source.task == "translate"
    assert source.summary.endswith("a.de: pairs of lines -> translate")
    assert first_pair(source) == ("a dog", "ein Hund")
    zipped = tmp_path / "b.en.gz"
    zipped.write_bytes(gzip.compress(b"x\n" * 30))
    assert first_pair(opened(f"{zipped},{tmp_path}/a.de")) == ("x", "ein Hund")


def test_two_files_of_which_one_repeats_few_values_are_texts_and_labels(tmp_path) -> None:
    texts = [f"a {'fine' if i % 2 else 'dull'} film, number {i}" for i in range(30)]
    labels = ["pos" if i % 2 else "neg" for i in range(30)]
    one = str(write(tmp_path / "texts.txt", texts))
    other = str(write(tmp_path / "labels.txt", labels))
    for path in (f"{one},{other}", f"{other},{one}"):
        plan = opened(path)
        assert "labels in labels.txt (--format parallel for pairs) -> classify" in plan.summary
        assert first_pair(plan) == (texts[0], "neg")
        assert first_pair(opened(path, format="parallel")) in ((texts[0], "neg"), ("neg", texts[0]))
        assert opened(path, task="translate").task == "translate"
    write(tmp_path / "labels.txt", labels[1:])
    with pytest.raises(DataError, match=r"texts.txt:30: this line has no partner"):
        list(opened(f"{one},{other}").rows())


def test_a_comma_may_belong_to_a_name(tmp_path) -> None:
    for name in ("one,file.txt", "c,d.en", "e.de"):
        write(tmp_path / name, ["x"])
    assert sides(str(tmp_path / "one,file.txt")) == [str(tmp_path / "one,file.txt")]
    assert sides(f"{tmp_path}/c,d.en,{tmp_path}/e.de") == [f"{tmp_path}/c,d.en", f"{tmp_path}/e.de"]
    assert sides("no,where") == ["no", "where"]
    assert sides("plain.csv") == ["plain.csv"]


TABLES = {
    "source and target": ("source\ttarget\na\tx\nb\ty\n", "d.tsv", None, {}),
    "src and tgt, others": ("id\tsrc\tscore\ttgt\n1\ta\t0\tx\n2\tb\t0\ty\n", "d.tsv", None, {}),
    "languages": ("en,de\na,x\nb,y\n", "d.csv", None, {}),
    "no header": ("a\tx\nb\ty\n", "d.tsv", "translate", {}),
    "no suffix": ("a\tx\nb\ty\n", "d.txt", "translate", {}),
    "by name": ("q,p\nx,a\ny,b\n", "d.csv", None, {"source": "p", "target": "q"}),
    "by number": ("0\ta\tx\n0\tb\ty\n", "d.tsv", None, {"source": "2", "target": "3"}),
    "one by name": ("q,p\nx,a\ny,b\n", "d.csv", "translate", {"source": "p"}),
    "the other by name": ("q,p\nx,a\ny,b\n", "d.csv", "translate", {"target": "q"}),
    "fields": ('{"src": "a", "n": 1, "tgt": "x"}\n', "d.jsonl", None, {}),
    "two fields": ('{"q": "a", "n": 1, "z": "x"}\n', "d.jsonl", "translate", {}),
    "named fields": ('{"z": "x", "y": "", "q": "a"}\n', "d.jsonl", None,
                     {"source": "q", "target": "z"}),
}  # fmt: skip


@pytest.mark.parametrize("case", TABLES)
def test_columns_of_pairs(case: str, tmp_path) -> None:
    content, name, task, data = TABLES[case]
    (tmp_path / name).write_text(content)
    source = opened(tmp_path / name, task=task, **data)
    assert source.task == "translate"
    assert first_pair(source) == ("a", "x")
    assert source.summary.endswith("-> translate")


@pytest.mark.parametrize(
    "content",
    ["source,text,target\nweb,a,x\nweb,b,y\n" * 5, "text,target\na,x\nb,y\n" * 5],
)
def test_a_target_beside_a_text_is_a_label(content: str, tmp_path) -> None:
    (tmp_path / "d.csv").write_text(content)
    assert opened(tmp_path / "d.csv").task == "classify"


def test_what_is_said_of_the_task_wins(tmp_path) -> None:
    (tmp_path / "d.tsv").write_text("source\ttarget\na long text\tx\nanother text\ty\n" * 4)
    assert opened(tmp_path / "d.tsv", task="classify").task == "classify"
    assert opened(tmp_path / "d.tsv", text="source", label="target").task == "classify"


REFUSED = {
    "three columns": ("a\tb\tc\n" * 3, "translate", {}, r"d.tsv:1: there are 3 columns"),
    "one column": ("a\nb\n", "translate", {}, r"there is one column, and pairs need two"),
    "the same": ("p\tq\na\tb\n", None, {"source": "p", "target": "p"}, "the same column"),
    "no such": ("p\tq\na\tb\n", None, {"source": "pp", "target": "q"}, "Did you mean --source p"),
    "header only": ("source\ttarget\n", None, {}, "a header and no rows"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_columns_that_are_no_pairs(case: str, tmp_path) -> None:
    content, task, data, says = REFUSED[case]
    (tmp_path / "d.tsv").write_text(content)
    with pytest.raises(DataError, match=says):
        opened(tmp_path / "d.tsv", task=task, **data)


def test_other_files_hold_no_pairs(tmp_path, two) -> None:
    write(tmp_path / "book.txt", ENGLISH)
    with pytest.raises(DataError, match=r"book.txt: holds no pairs.*a\.en,a\.de"):
        opened(tmp_path / "book.txt", task="translate")
    with pytest.raises(DataError, match="a folder holds no pairs"):
        opened(tmp_path, task="translate")
    with pytest.raises(DataError, match="two files are pairs for translate, not data for classify"):
        opened(two, task="classify")
    with pytest.raises(DataError, match="several files are tables with the same columns, or"):
        opened(two, format="csv")
    with pytest.raises(DataError, match=r"a\.xx: no such file. Did you mean .*a\.(en|de)\?"):
        opened(two.replace("a.de", "a.xx"))


@pytest.mark.parametrize("tokens", [{}, {"kind": "char"}, {"kind": "bpe", "vocab": 300}], ids=str)
def test_parts_hold_what_the_tokenizers_say(two, tokens) -> None:
    corpus = load(two, **tokens)
    read, written = corpus.tokenizer, corpus.task.target_tokenizer
    assert (read is written) == (tokens.get("kind") == "bpe")
    for part in corpus.parts.values():
        texts = part.raw(np.arange(len(part)), ("source", "target"))
        for row, (source, target) in enumerate(texts):
            assert GERMAN[ENGLISH.index(source)] == target
            assert part["source"][row].tolist() == [*read.encode(source), END_ID]
            assert part["target"][row].tolist() == [BEGIN_ID, *written.encode(target), END_ID]
            if read.kind != "word":
                assert written.decode(part["target"][row]) == target
    assert len(corpus.parts["valid"]) == 6
    assert corpus.notes[0] == "pairs: train 24, valid 6 (seeded hold-out)"


def test_a_joint_vocabulary_of_words(two) -> None:
    corpus = load(two, joint=True)
    assert corpus.tokenizer is corpus.task.target_tokenizer
    assert {"dog", "Hund"} <= set(corpus.tokenizer.vocab.tokens)
    assert "both sides together" in corpus.notes[1]
    apart = load(two)
    assert "Hund" not in apart.tokenizer.vocab.tokens


def test_lines_without_a_partner(tmp_path) -> None:
    write(tmp_path / "a.en", ENGLISH)
    write(tmp_path / "a.de", GERMAN[:7])
    with pytest.raises(DataError, match=r"a\.en:8: this line has no partner: .* 30 lines and .* 7"):
        load(f"{tmp_path}/a.en,{tmp_path}/a.de")
    write(tmp_path / "a.en", ENGLISH[:3])
    with pytest.raises(DataError, match=r"a\.de:4: this line has no partner"):
        load(f"{tmp_path}/a.en,{tmp_path}/a.de")
    write(tmp_path / "b.en", [""] * 7)
    with pytest.raises(DataError, match=r"b\.en,.*: all 7 rows have an empty source"):
        load(f"{tmp_path}/b.en,{tmp_path}/a.de")


def test_empty_sides_and_long_ones_are_left_out_and_told(tmp_path) -> None:
    write(tmp_path / "a.en", [*ENGLISH[:5], "", "x", *ENGLISH[5:], "long " * 20])
    write(tmp_path / "a.de", [*GERMAN[:5], "y", " ", *GERMAN[5:], "lang"])
    path = f"{tmp_path}/a.en,{tmp_path}/a.de"
    corpus = load(path, data={"max_length": 8, "valid_share": 0})
    assert "1 pairs with an empty source left out, the first at" in corpus.notes[-3]
    assert "1 pairs with an empty target left out, the first at" in corpus.notes[-2]
    assert corpus.notes[-3].endswith("a.en:6")
    assert "1 pairs longer than max_length left out of training, the first at" in corpus.notes[-1]
    assert corpus.notes[-1].endswith("a.en:33")
    assert len(corpus.parts["train"]) == 30
    with pytest.raises(DataError, match=r"no pairs are left to train on.* larger max_length"):
        load(path, data={"max_length": 1, "valid_share": 0}, kind="char")


def test_evaluation_keeps_every_pair_and_tells_what_is_unknown(tmp_path, two) -> None:
    corpus = load(two, data={"max_length": 3})
    write(tmp_path / "t.en", ["a dog", "", "a b c d e"])
    write(tmp_path / "t.de", ["ein Hund", "neu", "ein Wal"])
    part, notes = corpus.encode(f"{tmp_path}/t.en,{tmp_path}/t.de")
    assert len(part) == 3
    assert part["source"][1].tolist() == [END_ID]
    assert part["target"][1].tolist() == [BEGIN_ID, UNK_ID, END_ID]
    assert len(part["source"][2]) == 4
    assert notes[0] == "1 sources cut to their first 3 tokens"
    assert notes[2].startswith("2 of 11 tokens of the targets are unknown to the vocabulary")
    assert notes[2].endswith("t.de:2")


def test_a_file_of_its_own_for_validation(tmp_path, two) -> None:
    write(tmp_path / "v.en", ["a bird", "a dog"])
    write(tmp_path / "v.de", ["ein Vogel", "ein Hund"])
    corpus = load(two, valid=f"{tmp_path}/v.en,{tmp_path}/v.de")
    assert [len(part) for part in corpus.parts.values()] == [30, 2]
    assert "bird" not in corpus.tokenizer.vocab.tokens


def test_batches_of_pairs_count_both_sides(two) -> None:
    part = load(two, kind="char").parts["train"]
    batches = BucketBatches(part, size=5, tokens=150, seed=1)
    seen = []
    for step in range(batches.steps(0)):
        batch = batches.batch(0, step)
        seen += batch.rows.tolist()
        source, target = batch["source"], batch["target"]
        assert source.ids.numel() + target.ids.numel() <= 150
        for i, row in enumerate(batch.rows):
            length = int(target.lengths[i])
            assert target.ids[i, :length].tolist() == part["target"][int(row)].tolist()
            assert not target.ids[i, length:].any()
    assert sorted(seen) == list(range(len(part)))


def test_check_of_pairs(tmp_path) -> None:
    english = [*ENGLISH[:6], "a dog", "same", "go", "x"]
    german = [*GERMAN[:6], "der Hund", "same", "geh", "sehr " * 12]
    write(tmp_path / "a.en", english)
    write(tmp_path / "a.de", german)
    write(tmp_path / "v.en", ["a dog", "new"])
    write(tmp_path / "v.de", ["ein Hund", "neu"])
    report = unspool.check(
        f"{tmp_path}/a.en,{tmp_path}/a.de",
        valid=f"{tmp_path}/v.en,{tmp_path}/v.de",
        max_length=5,
        kind="word",
        joint=True,
    )
    shown = str(report)
    assert "train source: 10 lines" in shown
    assert (
        "valid target: 2 lines, 3 words, 11 characters; 33.33 % of the words are unknown" in shown
    )
    shown = shown.replace(f"{tmp_path}/", "")
    assert "1 pairs have the same source and target\n    a.en:8" in shown
    assert (
        "1 pairs repeat the source and the target of an earlier one\n    a.en:9  as line 6" in shown
    )
    contradicting = (
        "2 pairs have the source of another one, but not its target\n    a.en:1  a dog\n"
    )
    assert f"{contradicting}    a.en:7" in shown
    assert "1 pairs have a side much longer than the other\n    a.en:10" in shown
    assert "1 pairs of valid have a source that is also in train\n    v.en:1" in shown
    assert "max_length=5 leaves out" in shown
