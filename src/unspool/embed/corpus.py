"""A corpus to learn vectors from: any data file in, the column of its words out, its vocabulary.

Labels are not looked at. A document is a row, and no window leaves it; one long text is cut into
pieces of some pages.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unspool.config import DataConfig, TokenizerConfig
from unspool.data.fields.text import TextField
from unspool.data.plan import Plan
from unspool.data.read import Shape, open_table
from unspool.data.store.columns import Progress, store_columns
from unspool.data.store.ragged import TokenColumn
from unspool.embed.phrases import join_phrases
from unspool.errors import DataError
from unspool.tasks.plan import document_plan, is_labelled
from unspool.text.vocab import UNK

LONG_LINE = 100_000  # characters; a longer one is not a document but running text


def open_corpus(path: str, data: DataConfig) -> Plan:
    """The texts of a file, of a folder of .txt files, or of standard input."""
    plan = document_plan("word2vec", open_table(path, data), data)
    plain = plan.table.shape == Shape.TEXTS and not is_labelled(plan.table)
    if plain and len(plan.table.files[0].head(1)[0]) > LONG_LINE:
        data = data.model_copy(update={"format": "text"})
        plan = document_plan("word2vec", open_table(path, data), data)
    return plan


def encode_words(
    plan: Plan,
    settings: TokenizerConfig,
    *,
    phrases: int = 0,
    phrase_score: float = 10.0,
    progress: Progress | None = None,
) -> TokenColumn:
    """The corpus as raw ids of words, with `phrases` passes of joining."""
    column: TokenColumn = store_columns(
        plan, {"text": TextField("text", settings)}, progress
    ).columns["text"]
    for number in range(phrases):
        score = phrase_score / 2**number
        column = join_phrases(column, score=score, least=settings.min_count, progress=progress)
    return column


class CorpusWords(NamedTuple):
    """The V words that get a vector, the most frequent first."""

    words: list[str]
    counts: np.ndarray  # (V,) int64
    of_raw: np.ndarray  # (types,) int32: raw id -> word, -1 for one that gets none


def choose_words(column: TokenColumn, settings: TokenizerConfig, where: str) -> CorpusWords:
    """The words that are frequent enough, within the limits of `settings`."""
    order = np.argsort(-column.counts, kind="stable")
    enough = order[column.counts[order] >= settings.min_count]
    chosen = [raw for raw in enough.tolist() if column.types[raw] != UNK][: settings.vocab]
    if len(chosen) < 2:
        raise DataError(
            f"fewer than two words occur {settings.min_count} times",
            where=where,
            got=f"{column.tokens:,} words of text",
            remedy="give more text, or set a smaller min_count",
        )
    of_raw = np.full(len(column.types), -1, np.int32)
    of_raw[chosen] = np.arange(len(chosen), dtype=np.int32)
    return CorpusWords([column.types[raw] for raw in chosen], column.counts[chosen], of_raw)
