"""Real files are inferred as a person would read them; skipped where they are not at hand."""

from pathlib import Path

import pytest

from small_tasks import load_data
from unspool.config import DataConfig
from unspool.errors import DataError
from unspool.tasks.planner import open_plan

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data are not here")

CASES = {
    "sentiment/imdb/train.tsv.gz": (
        {},
        "TSV without a header, text in column 4, label in column 1 (or column 2: --label)"
        " -> classify",
        25_000,
    ),
    "dna/splice_statlog/train.tsv": (
        {}, "TSV without a header, text in column 2, label in column 1 -> classify", 2_000,
    ),
    "sentiment/sent-conv/rt-polarity.all": (
        {"encoding": "latin-1"}, "lines of `label text` -> classify", 10_662,
    ),
    "sentiment/sent-conv/stsa.fine.train": ({}, "lines of `label text` -> classify", 8_544),
    "lm/tinyshakespeare/input.txt": ({}, "one long text -> generate", None),
    "lm/ptb/ptb.train.txt": ({}, "one long text -> generate", None),
    "names": ({}, "18 files, one item a line, label = file name -> classify", 20_050),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_inferred(name: str) -> None:
    options, says, rows = CASES[name]
    source = open_plan(SHARED / name, DataConfig(**options))
    assert source.summary == f"{SHARED / name}: {says}"
    if rows is not None:
        assert sum(1 for _ in source.rows()) == rows


def test_latin_1_is_told() -> None:
    path = SHARED / "sentiment/sent-conv/rt-polarity.all"
    with pytest.raises(
        DataError, match=r"rt-polarity\.all:32: not valid utf-8 .*--encoding cp1252"
    ):
        open_plan(path, DataConfig())


@pytest.mark.parametrize(
    ("name", "options", "tokens", "kind", "vocab"),
    [
        ("lm/tinyshakespeare/input.txt", {}, {}, "char", 65),
        ("dna/splice_statlog/train.tsv", {}, {}, "char", 4),
        (
            "lm/ptb/ptb.train.txt",
            {"valid_share": 0},
            {"kind": "word", "split": "space"},
            "word",
            9_999,
        ),
    ],
)
def test_vocabularies(name: str, options: dict, tokens: dict, kind: str, vocab: int) -> None:
    corpus = load_data(SHARED / name, data=options, **tokens)
    assert corpus.tokenizer.kind == kind
    assert len(corpus.tokenizer) == vocab + 2
    if "ptb" in name:
        assert corpus.parts["train"]["text"].sizes.tolist() == [929_589]
