"""A vector for each document: a folder of a trained model and texts in, (N, E) at length 1 out.

The mean of the vectors that the model's encoder gives for the tokens of a text; of an ELMo, of all
its layers. Folders are those of runs, and those of `nn/pretrained` (MiniLM, BERT, ...).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from unspool.data.store.cache import cached
from unspool.data.store.columns import Progress
from unspool.io.files import hash_of
from unspool.nn.pretrained import is_pretrained, read_pretrained
from unspool.tasks.document_vectors import DocumentVectors, TokenMeans, text_vectors
from unspool.tasks.task import chunks
from unspool.text.subwords import read_pretrained_tokenizer
from unspool.topic_model.corpus import Documents
from unspool.training.folder import RunFolder

CHUNK = 1024  # texts that are sorted by length


def open_vectors(path: str | Path, *, max_length: int) -> DocumentVectors:
    """The vectors of the model in a folder; at most `max_length` tokens of a text are read."""
    folder = RunFolder.open(path)
    if folder.config_file.exists() and is_pretrained(folder.path):
        model = read_pretrained(folder.path)
        assert model.options.length is not None
        tokenizer = read_pretrained_tokenizer(
            folder.path, kind=model.kind, size=model.embedding.vocab
        )
        return TokenMeans(tokenizer, model, min(max_length, model.options.length))
    return text_vectors(*folder.load_model(), max_length=max_length, where=folder.path)


def model_record(path: str | Path) -> dict[str, str]:
    """The folder of a model, known again by the hashes of its weights."""
    folder = Path(path).resolve()
    hashes = [hash_of(file) for file in sorted(folder.glob("model*.safetensors"))]
    return {"path": str(folder), "sha256": "-".join(hashes)}


def corpus_vectors(
    documents: Documents,
    start: str | Path,
    vectors: DocumentVectors,
    *,
    max_length: int,
    progress: Progress | None = None,
) -> np.ndarray:
    """(N, E) of the documents of a corpus, kept in the cache: they take longest, and do not change
    with the number of topics."""
    model = model_record(start)["sha256"]
    key = {**documents.plan.key, "vectors": model, "max_length": max_length}

    def build(folder: Path) -> None:
        total = len(documents)
        read = read_vectors(vectors, documents.texts(), total=total, progress=progress)
        np.save(folder / "vectors.npy", read)

    return cached(key, build, lambda folder: np.load(folder / "vectors.npy"))[0]


def read_vectors(
    vectors: DocumentVectors, texts: Iterable[str], *, total: int, progress: Progress | None = None
) -> np.ndarray:
    """(N, E) of any number of texts."""
    parts = []
    for chunk in chunks(texts, CHUNK):
        parts.append(vectors(chunk))
        if progress is not None:
            progress("reading documents", min(1.0, sum(map(len, parts)) / max(1, total)))
    return np.concatenate(parts)
