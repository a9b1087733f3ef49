"""A corpus for topics: any data file in, the words of its documents out, and how often each occurs.

No list of words of one language is assumed: what nearly all documents have, or hardly any, is left
out, and so is what has no letter in it. What was left out is in `notes`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from unspool.config import DataConfig, TokenizerConfig
from unspool.data.fields.text import TextField
from unspool.data.plan import Plan, split_column
from unspool.data.read import open_table
from unspool.data.read.memory import Columns, memory_table
from unspool.data.store.columns import Progress, store_columns
from unspool.data.store.ragged import TokenColumn
from unspool.errors import DataError, Option
from unspool.tasks.plan import document_plan
from unspool.tasks.planner import Source
from unspool.text.vocab import UNK
from unspool.topic_model.settings import TopicSettings

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

FAINT = 0.01  # of the largest weight of a topic


def inverse_document_frequency(counts: csr_matrix) -> np.ndarray:
    """(V,) log((1 + N) / (1 + d_t)) + 1 of words that d_t of N documents have."""
    documents = np.bincount(counts.indices, minlength=counts.shape[1])
    return np.log((1 + counts.shape[0]) / (1 + documents)) + 1


def tf_idf(counts: csr_matrix, idf: np.ndarray) -> csr_matrix:
    """(N, V) (1 + log n_td) · idf_t, each document at length 1; a document without words is 0."""
    from sklearn.preprocessing import normalize

    x = counts.copy()
    x.data = (1 + np.log(x.data)) * idf[x.indices]
    return normalize(x)


def class_tf_idf(counts: csr_matrix, shares: np.ndarray) -> np.ndarray:
    """counts (N, V) of words in documents, shares (N, K) of topics in them -> W (K, V)."""
    n = np.asarray(counts.T @ shares).T  # (K, V)
    f = n.sum(0)
    idf = np.log1p(n.sum() / len(n) / np.where(f > 0, f, 1))
    return n / np.maximum(n.sum(1, keepdims=True), 1e-12) * idf


def top_words(weights: np.ndarray, words: list[str], count: int) -> list[list[tuple[str, float]]]:
    """The words of each topic with the largest weights (K, V), the more frequent of equals first;
    none whose weight is less than a hundredth of the largest."""
    ranked = []
    for row in weights:
        order = np.argsort(-row, kind="stable")[:count]
        ranked.append([(words[i], float(row[i])) for i in order if row[i] > FAINT * row.max()])
    return ranked


LARGEST_FLOOR = 100  # a word of one document in so many is frequent enough, however few they are


@dataclass(frozen=True)
class Vocabulary:
    """The V words that topics are made of, and how many documents have each."""

    words: list[str]
    documents: np.ndarray  # (V,)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Documents:
    """The N documents of a corpus that have words, as raw ids.

    rows    (N,) which row of the table each is
    total   rows of the table, empty ones included
    """

    plan: Plan
    column: TokenColumn
    rows: np.ndarray
    total: int

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def empty(self) -> int:
        return self.total - len(self.rows)

    def texts(self) -> Iterator[str]:
        """Read once more, in order."""
        wanted = set(self.rows.tolist())
        return (row.values[0] for i, row in enumerate(self.plan.rows()) if i in wanted)


def open_documents(source: Source, data: DataConfig) -> Plan:
    """The texts of a file, of a folder of .txt files, of standard input, or in memory."""
    if isinstance(source, Columns):
        table = memory_table(source, data)
    else:
        table = open_table(str(source), data)
    plan = document_plan("topics", table, data)
    column = plan.columns["text"]
    characters = "".join(column.profile.texts)
    part = split_column(table, data)  # its values are no texts
    parts = data.text is None and part is not None and part.name == column.name
    if parts or (characters.strip() and not any(map(str.isalpha, characters))):
        raise DataError(
            "no column holds texts" if data.text is None else f"{column.name!r} holds no texts",
            where=plan.table.name,
            got=", ".join(c.name for c in plan.table.columns),
            remedy=("name the column of the texts with ", Option("text")),
        )
    return plan


def read_documents(
    plan: Plan, settings: TokenizerConfig, progress: Progress | None = None
) -> Documents:
    """The words of every document; there must be two that have some."""
    stored = store_columns(plan, {"text": TextField("text", settings)}, progress)
    column: TokenColumn = stored.columns["text"]
    rows = np.flatnonzero(column.characters > 0)
    if len(rows) < 2:
        how_many = "one document" if len(rows) == 1 else "no document"
        raise DataError(
            f"topics are what several documents have in common, and there is {how_many}",
            where=plan.table.name,
            got=f"{len(column):,} rows" if len(column) != 1 else "1 row",
            remedy=("give a document a row; a long text is cut with ", Option(format="text")),
        )
    return Documents(plan, column, rows, len(column))


def choose_vocabulary(documents: Documents, settings: TopicSettings) -> Vocabulary:
    """The words in neither too few nor too many documents, the most frequent first."""
    frequency = document_frequency(documents)
    types, number = documents.column.types, len(documents)
    spelled = np.array([is_word(token) for token in types], dtype=bool)
    least = max(1, min(settings.min_documents, -(-number // LARGEST_FLOOR)))
    most = max(settings.max_share * number, least)
    listed = stop_words(settings.stop_words)
    stopped = np.array([token in listed for token in types], dtype=bool)
    rare, common = frequency < least, frequency > most
    kept = np.flatnonzero(spelled & ~stopped & ~rare & ~common)
    kept = kept[np.lexsort((kept, -frequency[kept]))]
    beyond, kept = kept[settings.vocab :], kept[: settings.vocab]
    if len(kept) < 2:
        raise DataError(
            f"fewer than two words occur in at least {least:,} and at most {int(most):,} of"
            f" {number:,} documents",
            where=documents.plan.table.name,
            remedy="give more documents, or set another max_share or min_documents",
        )
    notes = [
        f"vocabulary: {len(kept):,} of {int((spelled & (frequency > 0)).sum()):,} words; left out"
        f" are those of fewer than {least:,} documents ({int((spelled & rare).sum()):,})"
        f" and of more than {settings.max_share:.0%}"
        f" ({_listed([types[i] for i in np.flatnonzero(spelled & common)], frequency, types)})"
    ]
    if listed:
        removed = int((spelled & stopped & (frequency > 0)).sum())
        notes.append(f"stop words: {removed:,} of scikit-learn's list for English are left out")
    else:
        notes.append(f"stop words: none; {Option(stop_words='english')} uses scikit-learn's list")
    if len(beyond):
        notes.append(f"{len(beyond):,} rarer words are beyond topics.vocab={settings.vocab:,}")
    return Vocabulary([types[i] for i in kept], frequency[kept], notes)


def _listed(words: list[str], frequency: np.ndarray, types: list[str]) -> str:
    if not words:
        return "none"
    counts = dict(zip(types, frequency.tolist()))
    words.sort(key=lambda word: -counts[word])
    shown = ", ".join(words[:5])
    return f"{len(words):,}: {shown}" + (", …" if len(words) > 5 else "")


def is_word(token: str) -> bool:
    """At least two characters, one of them a letter."""
    return len(token) > 1 and token != UNK and any(char.isalpha() for char in token)


def stop_words(name: str) -> frozenset[str]:
    if name == "none":
        return frozenset()
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    # With apostrophes, as our words keep them; the list has most without.
    endings = ("'s", "'t", "'m", "'d", "'re", "'ve", "'ll", "n't")
    return frozenset(ENGLISH_STOP_WORDS) | {
        word + end for word in ENGLISH_STOP_WORDS | {"do", "did", "does", "ca", "wo"}
        for end in endings
    }  # fmt: skip


def document_frequency(documents: Documents) -> np.ndarray:
    """(types,) how many documents have each."""
    column = documents.column
    owner = np.repeat(np.arange(len(column)), np.diff(column.offsets))
    pairs = np.unique(owner * np.int64(len(column.types)) + column.ids.astype(np.int64))
    return np.bincount(pairs % len(column.types), minlength=len(column.types))


def count_words(documents: Documents, vocabulary: Vocabulary) -> csr_matrix:
    """(N, V) how often each document has each word."""
    from scipy.sparse import csr_matrix

    column = documents.column
    number = np.full(len(column.types), -1, np.int64)
    raw = {token: i for i, token in enumerate(column.types)}
    number[[raw[word] for word in vocabulary.words if word in raw]] = [
        i for i, word in enumerate(vocabulary.words) if word in raw
    ]
    owner = np.repeat(np.arange(len(column)), np.diff(column.offsets))
    words = number[column.ids]
    known = words >= 0
    counts = csr_matrix(
        (np.ones(int(known.sum()), np.float64), (owner[known], words[known])),
        shape=(len(column), len(vocabulary.words)),
    )
    counts.sum_duplicates()
    return counts[documents.rows]
