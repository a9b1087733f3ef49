"""Word vectors to files, in the format that the file's name asks for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from safetensors.numpy import save as as_safetensors

from unspool.errors import ConfigError, DataError
from unspool.io.files import write_atomic
from unspool.vectors.words import WordVectors


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
