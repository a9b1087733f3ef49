"""A corpus to learn vectors from: any data file in, the store of its words out, and its vocabulary.

Labels are not looked at. A document is a piece, and no window leaves it; one long text is cut into
pieces of some pages.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unspool.config import DataConfig, TokenizerConfig
from unspool.data.encode import Encoded, Progress, Rules, encode_source
from unspool.data.plan import Plan
from unspool.data.source import Source
from unspool.data.store import Store
from unspool.embed.phrases import join_phrases
from unspool.errors import DataError
from unspool.tasks.opening import open_plan
from unspool.text.vocab import UNK

LONG_LINE = 100_000  # characters; a longer one is no document but running text


def open_corpus(path: str, data: DataConfig) -> Plan:
    """The texts of a file, of a folder of .txt files, or of standard input."""
    plan = open_plan(path, data, "pretrain")
    if plan.table.format == "lines" and len(plan.table.files[0].head(1)[0]) > LONG_LINE:
        plan = open_plan(path, data.model_copy(update={"format": "text"}), "pretrain")
    return plan


def encode_words(
    plan: Plan,
    settings: TokenizerConfig,
    *,
    phrases: int = 0,
    phrase_score: float = 10.0,
    progress: Progress | None = None,
) -> Encoded:
    """The corpus as raw ids of words, with `phrases` passes of joining."""
    encoded = encode_source(Source(plan), Rules.of(settings, stream=False), progress)
    for number in range(phrases):
        score = phrase_score / 2**number
        encoded = join_phrases(encoded, score=score, least=settings.min_count, progress=progress)
    return encoded


class Words(NamedTuple):
    """The V words that get a vector, the most frequent first."""

    words: list[str]
    counts: np.ndarray  # (V,) int64
    of_raw: np.ndarray  # (types,) int32: raw id -> word, -1 for one that gets none


def choose_words(store: Store, settings: TokenizerConfig, where: str) -> Words:
    """The words that are frequent enough, within the limits of `settings`."""
    order = np.argsort(-store.counts, kind="stable")
    enough = order[store.counts[order] >= settings.min_count]
    chosen = [raw for raw in enough.tolist() if store.types[raw] != UNK][: settings.vocab]
    if len(chosen) < 2:
        raise DataError(
            f"fewer than two words occur {settings.min_count} times",
            where=where,
            got=f"{store.tokens:,} words of text",
            remedy="give more text, or set a smaller min_count",
        )
    of_raw = np.full(len(store.types), -1, np.int32)
    of_raw[chosen] = np.arange(len(chosen), dtype=np.int32)
    return Words([store.types[raw] for raw in chosen], store.counts[chosen], of_raw)
