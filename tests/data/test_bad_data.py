"""Every mistake in the data is one line: what, where, what was got, what to do."""

import gzip
import json
import os
from pathlib import Path

import pytest

from small_tasks import load_data
from unspool.config import DataConfig
from unspool.data.read import files
from unspool.data.store.ragged import TokenWriter
from unspool.errors import DataError
from unspool.tasks.planner import open_plan


def load(path: Path, *, task: str | None = None, valid: Path | None = None, **data):
    return load_data(path, task=task, valid=valid, data=data)


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


GOOD = "text,label\n" + "good film,pos\nbad film,neg\n" * 10

CASES = {
    "empty csv": ("a.csv", "", {}, r"a\.csv: the file is empty"),
    "empty text": ("a.txt", "", {}, r"a\.txt: the file is empty"),
    "empty jsonl": ("a.jsonl", "\n\n", {}, r"a\.jsonl: the file is empty"),
    "empty gzip": ("a.txt.gz", gzip.compress(b""), {}, r"a\.txt\.gz: the file is empty"),
    "only blank lines": ("a.txt", "\n \n", {}, r"the file is empty"),
    "header only": ("a.csv", "text,label\n", {}, r"a header and no rows"),
    "only empty texts": ("a.csv", "text,label\n,x\n ,y\n,x\n", {}, r"all 3 rows have an empty"),
    "only empty stream": ("a.csv", "text\n \n\t\n", {"task": "generate"}, r"empty text"),
    "one class": ("a.csv", "text,label\na,x\nb,x\nc,x\n", {}, r"same label.*; got 'x'"),
    "one class of lines": ("a.txt", "0 a\n0 b\n0 c\n", {}, r"same label.*; got '0'"),
    "no labels": ("a.txt", "one two\nthree four\n", {"task": "classify"}, r"no labels.*--label"),
    "no label column": (
        "a.csv", "text,n\na,1\nb,2\nc,3\n", {"task": "classify"}, r"no labels.*--label",
    ),
    "empty label": ("a.csv", "text,label\na,x\nb,\nc,y\n", {"missing": "error"},
                    r"a\.csv:3: the label is missing.*--missing drop"),
    "missing text column": (
        "a.csv", GOOD, {"text": "txet"}, r"a\.csv:1: there is no column 'txet'.*mean --text text\?",
    ),
    "missing label column": (
        "a.csv", GOOD, {"label": "stars"}, r"no column 'stars' among text, label",
    ),
    "column number too large": ("a.csv", GOOD, {"text": "7"}, r"there is no column 7, only 2"),
    "text is label": ("a.csv", GOOD, {"text": "text", "label": "text"}, r"the same column 'text'"),
    "text is label, in JSON": (
        "a.jsonl", '{"text": "a"}\n', {"text": "text", "label": "text"}, r"the same column 'text'",
    ),
    "columns of plain text": (
        "a.txt", "one\ntwo\n", {"format": "text", "text": "body"}, r"no columns to choose from",
    ),
    "ragged row": (
        "a.csv", GOOD + "good, but long,pos\n", {}, r"a\.csv:22: expected 2 columns, found 3",
    ),
    "short row": ("a.tsv", "text\tlabel\na\tx\nb\n", {}, r"a\.tsv:3: expected 2 columns, found 1"),
    "open quote": (
        "a.csv", 'text,label\na,x\n"b,y\nc,x\n', {}, r"a\.csv:3: a quote is opened and never",
    ),
    "malformed quote": ("a.csv", 'text,label\n"a"b,x\n', {}, r"a\.csv:2: malformed quotes"),
    "invalid JSON": ("a.jsonl", '{"text": "a"}\n{"text": \n', {}, r"a\.jsonl:2: not valid JSON"),
    "text or label, never both": (
        "a.csv", "text,label\n" + "a text,\n,x\n" * 20, {}, r"a\.csv: no row has both a label and",
    ),
    "JSON but no object": (
        "a.jsonl", '{"text": "a"}\n["a", "b"]\n', {}, r"a\.jsonl:2: not a JSON object",
    ),
    "JSON without the asked field": (
        "a.jsonl", '{"text": "a"}\n', {"label": "lable"}, r"a\.jsonl:1: has no field 'lable'",
    ),
    "JSON without strings": ("a.jsonl", '{"n": 1}\n', {}, r"a\.jsonl:1: no field holds a text"),
    "JSON text is no string": (
        "a.jsonl",
        '{"text": "a", "label": 1}\n{"text": 7, "label": 0}\n',
        {},
        r"a\.jsonl:2: field 'text' is not a string; got 7",
    ),
    "JSON label is a list": (
        "a.jsonl", '{"text": "a", "label": [1]}\n', {}, r"a\.jsonl:1: the value is not a label",
    ),
    "NUL in JSON": (
        "a.jsonl", json.dumps({"text": "a\0b", "label": "x"}), {}, r"a\.jsonl:1: holds a NUL",
    ),
    "deep JSON": ("a.jsonl", '{"a":' + "[" * 100_000, {}, r"a\.jsonl:1: not valid JSON"),
    "wrong encoding": (
        "a.txt", b"0 fine\n1 caf\xe9 x\n", {}, r"a\.txt:2: not valid utf-8 \(byte 0xe9\).*--enc",
    ),
    "cut character": ("a.txt", b"one\ntwo \xe2\x82", {}, r"a\.txt:2: not valid utf-8"),
    "unknown encoding": ("a.txt", "x", {"encoding": "utf-99"}, r"unknown encoding; got 'utf-99'"),
    "encoding of bytes": ("a.txt", "x", {"encoding": "hex"}, r"unknown encoding; got 'hex'"),
    "NUL bytes": ("a.txt", b"one\ntwo\nth\0ree\n", {}, r"a\.txt:3: holds a NUL character"),
    "truncated gzip": (
        "a.txt.gz",
        gzip.compress(os.urandom(5000).hex().encode())[:3000],
        {},
        r"a\.txt\.gz: the compressed file is damaged or ends too early",
    ),
    "flipped gzip": (
        "a.txt.gz",
        gzip.compress(b"some text\n" * 100)[:12] + b"\xff" * 40,
        {},
        r"a\.txt\.gz: the compressed file is damaged",
    ),
    "not a gzip": ("a.txt.gz", "plain text", {}, r"is called \.gz but is not such a file"),
    "share leaves nothing": ("a.csv", "text,label\na,x\nb,y\n", {}, r"0\.1 of 2 rows leaves noth"),
    "stream too short": ("a.txt", "abc", {"task": "generate"}, r"0\.1 of 3 tokens leaves nothing"),
    "stream of one": (
        "a.txt", "a", {"task": "generate", "valid_share": 0.0}, r"1 tokens leaves nothing for tr",
    ),
    "shares too large": (
        "a.csv", GOOD, {"valid_share": 0.6, "test_share": 0.4}, r"leave nothing to train on",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_bad_file(tmp_path, case: str) -> None:
    name, content, options, message = CASES[case]
    with pytest.raises(DataError, match=message) as caught:
        load(write(tmp_path / name, content), **options)
    message = str(caught.value)
    assert "\n" not in message
    assert "Traceback" not in message


def test_missing_file_names_its_neighbour(tmp_path) -> None:
    write(tmp_path / "reviews.csv", GOOD)
    with pytest.raises(DataError, match=r"revews\.csv: no such file\. Did you mean .*reviews\.csv"):
        load(tmp_path / "revews.csv")
    with pytest.raises(DataError, match=r"no such file\. Check the path"):
        load(tmp_path / "nowhere" / "x.csv")


def test_file_that_goes_away(tmp_path) -> None:
    path = write(tmp_path / "a.txt", "some text")
    source = open_plan(path, DataConfig())
    path.unlink()
    with pytest.raises(DataError, match=r"a\.txt: no such file"):
        list(source.rows())
    with pytest.raises(DataError, match=r"a\.txt: no such file"):
        _ = source.table.sha256


def test_folder_with_nothing_usable(tmp_path) -> None:
    write(tmp_path / "a.bin", b"what")
    with pytest.raises(
        DataError, match=r"no file that can be read, but 1 \.bin file\. Name a file"
    ):
        load(tmp_path)
    write(tmp_path / "a.bin", b"\x89PNG")
    with pytest.raises(DataError, match=r"a\.bin: is a PNG image\. Give its name the ending \.png"):
        load(tmp_path)


@pytest.mark.parametrize(
    "error", [PermissionError(13, "Permission denied"), OSError(5, "I/O error")]
)
def test_unreadable_file(tmp_path, monkeypatch, error: OSError) -> None:
    path = write(tmp_path / "a.txt", "some text")

    def refuse(*args, **kwargs):
        raise error

    monkeypatch.setattr(files, "open_regular", refuse)
    with pytest.raises(DataError, match=r"a\.txt: cannot be read: (permission denied|i/o error)"):
        load(path)


def test_unreadable_folder(tmp_path, monkeypatch) -> None:
    def refuse(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(files.os, "listdir", refuse)
    with pytest.raises(DataError, match="cannot be read: permission denied"):
        load(tmp_path)


def test_label_unseen_in_training(tmp_path) -> None:
    train = write(tmp_path / "train.csv", GOOD)
    valid = write(tmp_path / "valid.csv", "text,label\na,pos\nb,maybe\n")
    with pytest.raises(DataError, match=r"valid\.csv:3: label 'maybe' .*'neg', 'pos'"):
        load(train, valid=valid)


def test_evaluation_needs_labels(tmp_path) -> None:
    path = write(tmp_path / "a.txt", "one two\nthree four\n")
    with pytest.raises(DataError, match="holds no labels"):
        load(write(tmp_path / "train.csv", GOOD)).encode(path)


def test_full_disk(tmp_path, monkeypatch) -> None:
    def no_room(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(TokenWriter, "add", no_room)
    monkeypatch.setenv("UNSPOOL_CACHE", str(tmp_path / "cache"))
    with pytest.raises(DataError, match=r"no room in the cache.*UNSPOOL_CACHE"):
        load(write(tmp_path / "a.csv", GOOD))
    assert not list((tmp_path / "cache").iterdir())
