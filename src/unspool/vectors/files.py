"""Files of word vectors: a path in, `WordVectors` out, and the other way.

Known are word2vec's text and binary formats, GloVe's text (word2vec's without its first line), each
also as .gz, safetensors as `unspool embed` writes it, and the folder of such a run. The format of a
file to read is seen from its first bytes, that of a file to write from its name.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as parse_safetensors
from safetensors.numpy import save as as_safetensors

from unspool.data.read.files import TextFile, unreadable
from unspool.errors import ConfigError, DataError
from unspool.io.files import check_hash, read_regular, write_atomic, write_hashed
from unspool.io.files import hash_of as hash_of_file
from unspool.vectors.formats import (
    COPY_AGAIN,
    checked,
    parse_header,
    read_binary,
    read_head,
    read_text,
)
from unspool.vectors.words import WordVectors

IN_FOLDER = "vectors.safetensors"
CONTROL = {*range(9), *range(14, 32)}  # bytes that text has not, and floats soon have


def load(path: str | Path) -> WordVectors:
    """The vectors of a file, or of the folder of an `unspool embed`."""
    file = vector_file(path)
    name = str(path)
    head = read_head(file, name)
    if _is_safetensors(head):
        return _read_safetensors(file, name)
    header = parse_header(head)
    if header is not None and CONTROL.intersection(head[header.length :]):
        return read_binary(file, name, header)
    return read_text(TextFile(file, name), header)


def vector_file(path: str | Path) -> Path:
    """The file that a path stands for."""
    file = Path(path)
    if not file.is_dir():
        return file
    if not (file / IN_FOLDER).exists():
        raise DataError(
            f"the folder holds no {IN_FOLDER}",
            where=path,
            remedy="name a vector file, or the folder of an `unspool embed`",
        )
    return file / IN_FOLDER


def size_of(path: str | Path) -> int:
    """The elements of a vector, from the beginning of the file alone."""
    head = read_head(vector_file(path), str(path))
    if _is_safetensors(head):
        shape = re.search(rb'"vectors":\{[^}]*"shape":\[\d+,(\d+)\]', head)
        return int(shape[1]) if shape else load(path).size
    header = parse_header(head)
    if header is not None:
        return checked(header, str(path)).size
    return len(head.partition(b"\n")[0].rstrip().split(b" ")) - 1


def hash_of(path: str | Path) -> str:
    """SHA-256 of the file that a path stands for."""
    return hash_of_file(vector_file(path))


def _is_safetensors(head: bytes) -> bool:
    """The length of a JSON text, and that text."""
    return head[8:9] == b"{" and int.from_bytes(head[:8], "little") < 1 << 40


def _read_safetensors(file: Path, name: str) -> WordVectors:
    """`vectors` (V, E), and `words`: UTF-8 bytes, a word a line."""
    try:
        content = read_regular(file, most=sys.maxsize)
        if file.name == IN_FOLDER:
            check_hash(file, content)
        tensors = parse_safetensors(content)
    except (SafetensorError, KeyError, ValueError) as error:
        raise DataError(
            f"not a whole safetensors file ({error})", where=name, remedy=COPY_AGAIN
        ) from None
    except OSError as error:
        raise unreadable(file, name, error) from None
    if {"vectors", "words"} - tensors.keys():
        raise DataError(
            "has no tensors `vectors` and `words`",
            where=name,
            got=", ".join(tensors) or "none",
            remedy="name a file that `unspool embed` has written",
        )
    matrix = tensors["vectors"].astype(np.float32)
    words = tensors["words"].tobytes().decode("utf-8", "replace").split("\n")
    if matrix.ndim != 2 or len(words) != len(matrix) or len(set(words)) != len(words):
        raise DataError(
            f"does not have one vector for each of its {len(set(words)):,} words",
            where=name,
            got=matrix.shape,
            remedy=COPY_AGAIN,
        )
    if not np.isfinite(matrix).all():
        raise DataError("holds numbers that are not finite", where=name, remedy=COPY_AGAIN)
    return WordVectors(words, matrix, source=name)


def save(vectors: WordVectors, path: str | Path) -> None:
    """Write vectors: .txt or .vec as word2vec's text, .glove without its first line, .bin as
    word2vec's binary, .safetensors."""
    target = Path(path)
    if target.suffix not in FORMATS:
        raise ConfigError(
            "no format of word vectors is called so",
            where=path,
            got=target.suffix,
            remedy="end the name in " + ", ".join(FORMATS),
        )
    if not target.parent.is_dir():
        raise ConfigError("there is no such folder", where=target.parent, remedy="make it first")
    write_atomic(target, FORMATS[target.suffix](vectors))


def save_in_folder(vectors: WordVectors, folder: Path) -> None:
    """Write the vectors of an `unspool embed`, with their hash."""
    write_hashed(folder / IN_FOLDER, _safetensors(vectors))


def _safetensors(vectors: WordVectors) -> bytes:
    words = np.frombuffer("\n".join(vectors.words).encode(), np.uint8)
    return as_safetensors({"vectors": np.ascontiguousarray(vectors.matrix), "words": words})


def _binary(vectors: WordVectors) -> bytes:
    spaced = next((word for word in vectors.words if " " in word), None)
    if spaced is not None:
        raise DataError(
            "the binary format cannot hold a word with a space",
            where=vectors.source,
            got=spaced,
            remedy="write .txt or .safetensors",
        )
    rows = zip(vectors.words, vectors.matrix.astype("<f4"))
    records = (word.encode() + b" " + row.tobytes() + b"\n" for word, row in rows)
    return _header(vectors).encode() + b"".join(records)


def _text(vectors: WordVectors) -> bytes:
    return _header(vectors).encode() + _glove(vectors)


def _glove(vectors: WordVectors) -> bytes:
    # Nine digits give every float32 back.
    rows = zip(vectors.words, vectors.matrix.tolist())
    return "".join(f"{word} {' '.join(f'{x:.9g}' for x in row)}\n" for word, row in rows).encode()


def _header(vectors: WordVectors) -> str:
    return f"{len(vectors)} {vectors.size}\n"


FORMATS: dict[str, Callable[[WordVectors], bytes]] = {
    ".txt": _text,
    ".vec": _text,
    ".glove": _glove,
    ".bin": _binary,
    ".safetensors": _safetensors,
}
