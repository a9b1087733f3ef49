"""Files of word vectors: what is written is read, in every format, and as gensim does it."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from unspool import vectors
from unspool.errors import ConfigError, DataError
from unspool.vectors import WordVectors
from unspool.vectors.files import FORMATS, size_of

WORDS = ["the", "naïve", "東京", "new_york", "3.5", ",", "😀"]


@pytest.fixture
def some() -> WordVectors:
    random = np.random.default_rng(1)
    return WordVectors(WORDS, random.normal(size=(len(WORDS), 12)).astype(np.float32))


@pytest.mark.parametrize("suffix", FORMATS)
def test_what_is_written_is_read(some, tmp_path, suffix: str) -> None:
    path = tmp_path / f"v{suffix}"
    vectors.save(some, path)
    found = vectors.load(path)
    assert found.words == some.words
    assert (found.matrix == some.matrix).all()
    assert found.matrix.dtype == np.float32
    assert size_of(path) == 12


@pytest.mark.parametrize("suffix", [".txt", ".glove", ".bin"])
def test_gzip_is_read(some, tmp_path, suffix: str) -> None:
    vectors.save(some, tmp_path / f"v{suffix}")
    zipped = tmp_path / f"v{suffix}.gz"
    zipped.write_bytes(gzip.compress((tmp_path / f"v{suffix}").read_bytes()))
    assert (vectors.load(zipped).matrix == some.matrix).all()
    assert size_of(zipped) == 12


def test_a_folder_stands_for_the_vectors_in_it(some, tmp_path) -> None:
    vectors.save(some, tmp_path / "vectors.safetensors")
    assert vectors.load(tmp_path).words == WORDS
    assert size_of(tmp_path) == 12


@pytest.mark.parametrize("binary", [True, False])
def test_as_gensim_reads_and_writes(some, tmp_path, binary: bool) -> None:
    models = pytest.importorskip("gensim.models")
    path = tmp_path / ("v.bin" if binary else "v.txt")
    vectors.save(some, path)
    theirs = models.KeyedVectors.load_word2vec_format(str(path), binary=binary)
    assert theirs.index_to_key == WORDS
    assert (theirs.vectors == some.matrix).all()
    theirs.save_word2vec_format(str(tmp_path / "theirs"), binary=binary)
    found = vectors.load(tmp_path / "theirs")
    assert found.words == WORDS
    np.testing.assert_allclose(found.matrix, some.matrix, atol=1e-6)


def test_long_binary_files_are_read_in_pieces(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("unspool.vectors.formats.READ", 50)
    random = np.random.default_rng(2)
    matrix = random.normal(size=(200, 7)).astype(np.float32)
    many = WordVectors([f"w{i}" for i in range(200)], matrix)
    vectors.save(many, tmp_path / "v.bin")
    found = vectors.load(tmp_path / "v.bin")
    assert found.words == many.words
    assert (found.matrix == matrix).all()


def test_glove_words_may_hold_spaces(tmp_path) -> None:
    path = tmp_path / "g.txt"
    path.write_text("the 1 2 3\n. . . 4 5 6\na 7 8 9\n\n")
    found = vectors.load(path)
    assert found.words == ["the", ". . .", "a"]
    assert found[". . ."].tolist() == [4, 5, 6]


BINARY = b"2 3\n" + b"a " + np.arange(3, dtype="<f4").tobytes() + b"b " + bytes(12)
BAD = {
    "empty.txt": (b" \n", "empty.txt: the file is empty"),
    "ragged.txt": (
        b"a 1 2 3\nb 1 2\n",
        "ragged.txt:2: has 2 numbers after the word, others have 3",
    ),
    "long.txt": (b"a 1 2 3\nb 1 2 3 4\n", "long.txt:2: has 4 numbers after the word"),
    "word.txt": (b"a 1 2 3\nb 1 x 3\n", "word.txt:2: is not a finite number; got 'x'"),
    "nan.txt": (b"2 2\na 1 2\nb nan 2\n", "nan.txt:3: is not a finite number; got 'nan'"),
    "inf.txt": (b"a 1 2\nb 1 1e99\n", "inf.txt:2: is not a finite number; got '1e99'"),
    "twice.txt": (b"a 1 2\nb 1 2\na 3 4\n", "twice.txt:3: the word has a vector before, in line 1"),
    "few.txt": (b"3 2\na 1 2\nb 1 2\n", "few.txt:1: the first line promises 3 vectors of size 2"),
    "many.txt": (b"1 2\na 1 2\nb 1 2\n", "many.txt:1: the first line promises 1 vectors"),
    "none.txt": (b"0 2\na 1 2\n", "none.txt:1: the first line must be the number"),
    "prose.txt": (b"some words\nand more words\n", "prose.txt:1: is not a finite number"),
    "cut.bin": (BINARY[:-5], "cut.bin:1: the first line promises 2 vectors of size 3, and 1 whole"),
    "more.bin": (BINARY + BINARY[4:], "more.bin: goes on after the 2 vectors"),
    "nan.bin": (BINARY[:-4] + b"\0\0\xc0\x7f", "nan.bin: vector 2: holds a number that is not"),
    "twice.bin": (
        BINARY.replace(b"b ", b"a "),
        "twice.bin: vector 2: the word has a vector before",
    ),
    "bytes.bin": (BINARY.replace(b"b ", b"\xff "), "vector 2: its word is not valid UTF-8"),
    "huge.bin": (b"9999999999999 9999999\n\0", "huge.bin:1: the first line promises"),
    "cut.safetensors": (b"\x40" + bytes(7) + b'{"vectors"', "not a whole safetensors file"),
    "cut.gz": (gzip.compress(BINARY * 9)[:-9], "the gzip file is damaged or ends too early"),
    "latin.txt": ("é 1 2\n".encode("latin-1"), "latin.txt:1: not valid utf-8"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_told_in_one_line(name: str, tmp_path) -> None:
    content, says = BAD[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError) as caught:
        vectors.load(tmp_path / name)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_safetensors_without_words(tmp_path) -> None:
    from safetensors.numpy import save_file

    path = tmp_path / "v.safetensors"
    save_file({"weight": np.zeros((2, 3), np.float32)}, path)
    with pytest.raises(DataError, match="has no tensors `vectors` and `words`; got 'weight'"):
        vectors.load(path)
    words = np.frombuffer(b"a\nb\nc", np.uint8)
    save_file({"vectors": np.zeros((2, 3), np.float32), "words": words}, path)
    with pytest.raises(DataError, match="not have one vector for each of its 3 words"):
        vectors.load(path)
    nan = np.full((3, 2), np.nan, np.float32)
    save_file({"vectors": nan, "words": words}, path)
    with pytest.raises(DataError, match="not finite"):
        vectors.load(path)


def test_missing_files_and_names_without_a_format(some, tmp_path) -> None:
    with pytest.raises(DataError, match=r"no such file"):
        vectors.load(tmp_path / "missing.txt")
    with pytest.raises(DataError, match=r"the folder holds no vectors.safetensors"):
        vectors.load(tmp_path)
    with pytest.raises(
        ConfigError, match=r"no format of word vectors is called so; got '.vectors'"
    ):
        vectors.save(some, tmp_path / "a.vectors")
    spaced = WordVectors(["a b"], np.zeros((1, 2), np.float32))
    with pytest.raises(DataError, match="cannot hold a word with a space; got 'a b'"):
        vectors.save(spaced, tmp_path / "a.bin")
    assert not list(Path(tmp_path).iterdir())
