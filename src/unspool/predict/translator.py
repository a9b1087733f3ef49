"""Translations of texts: an iterable of texts in, one translation a text out, in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from torch import nn

from unspool.tasks.decoding import Decoding
from unspool.tasks.translate import Translate
from unspool.tasks.translation import Translation

CHUNK = 1024  # texts sorted by length together, so that a file of any length streams through


def translate(
    task: Translate, model: nn.Module, texts: Iterable[str], decoding: Decoding
) -> Iterator[Translation]:
    """Translate in chunks; batching never changes an answer, so order and chunk are free."""
    translator = task.translator(model)
    stream = iter(texts)
    while chunk := list(islice(stream, CHUNK)):
        yield from translator(chunk, decoding)
