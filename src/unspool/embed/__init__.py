"""Vectors for words, learnt from text alone: a corpus in, a folder of vectors out.

    unspool.embed.embed("corpus.txt", method="word2vec", size=100, epochs=5)

settings  all settings of word2vec      word2vec   the method
corpus    text to ids and a vocabulary  elmo       contextual vectors
phrases   words that go together
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Protocol

from unspool.data.store.columns import Progress
from unspool.embed.elmo import train_contextual
from unspool.embed.word2vec import Embedded, train_word2vec
from unspool.errors import choose
from unspool.tasks import TASKS
from unspool.tasks.abilities import GivesVectors
from unspool.training.progress import Note, default_note

__all__ = ["METHODS", "Embedded", "embed"]


class EmbeddingMethod(Protocol):
    """A way to make vectors. What comes out has a `path`, `lines()` and `to_json()`."""

    def __call__(
        self,
        corpus: str,
        *,
        out: Path | None,
        settings: dict[str, Any],
        config_file: str | None,
        note: Note,
        progress: Progress | None,
    ) -> Any: ...


METHODS: dict[str, EmbeddingMethod] = {
    "word2vec": train_word2vec,
    **{
        name: partial(train_contextual, task=name)
        for name, kind in TASKS.items()
        if isinstance(kind, GivesVectors)
    },
}


def embed(
    corpus: str | Path,
    *,
    method: str = "word2vec",
    out: str | Path | None = None,
    config: str | None = None,
    quiet: bool = False,
    note: Note | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Any:
    """Learn vectors from a corpus; everything about them lies in the folder `out`.

    corpus    text of any of the formats, also .gz, a folder of .txt files, or "-"
    quiet     show nothing, also in a terminal or a notebook
    settings  any setting of the method by its name: size=100, window=5, epochs=5
    """
    return METHODS[choose("method", method, METHODS)](
        str(corpus),
        out=None if out is None else Path(out),
        settings=settings,
        config_file=config,
        note=note or default_note(quiet),
        progress=progress,
    )
