"""From a corpus to its topics: read, count, fit, choose how many, name them by their words."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from unspool.config import TokenizerConfig
from unspool.data.plan import Plan
from unspool.data.store.columns import Progress
from unspool.errors import ConfigError, DataError, Option, Setting
from unspool.tasks.planner import Source
from unspool.text.words import Normalizer
from unspool.text.words import words as split_words
from unspool.topic_model.corpus import (
    Documents,
    Vocabulary,
    choose_vocabulary,
    class_tf_idf,
    count_words,
    open_documents,
    read_documents,
    top_words,
)
from unspool.topic_model.map import map_documents
from unspool.topic_model.methods import METHODS, Assigned, TopicMethod
from unspool.topic_model.result import MapPoint, NearDocument, Topic, Topics, TriedCount, beginning
from unspool.topic_model.settings import TopicsConfig, TopicSettings
from unspool.topic_model.times import DateColumn, find_dates, over_time
from unspool.topic_model.vectors import DocumentVectors, corpus_vectors, open_vectors

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

EPSILON = 1e-12
BLOCK = 1 << 20  # tokens looked at together


class WordWindows(NamedTuple):
    """Number of windows that hold each of some words, and each pair of them."""

    words: dict[str, int]
    together: np.ndarray  # (W, W), those of one word on the diagonal
    total: int

    def npmi(self, words: Sequence[str]) -> float:
        """The mean over all pairs; 0 where there is none."""
        ids = np.array([self.words[word] for word in words])
        i, j = np.tril_indices(len(ids), -1)
        if not len(i):
            return 0.0
        p = self.together / self.total
        alone, both = np.diag(p)[ids], p[ids[i], ids[j]] + EPSILON
        return float(np.mean(np.log(both / (alone[i] * alone[j])) / -np.log(both)))


def count_windows(documents: Documents, words: Sequence[str], window: int) -> WordWindows:
    """Over all documents; each word must occur."""
    from scipy.sparse import csr_matrix

    column = documents.column
    names = {word: i for i, word in enumerate(dict.fromkeys(words))}
    number = np.full(len(column.types), -1, np.int64)
    for raw, token in enumerate(column.types):
        number[raw] = names.get(token, -1)
    together = np.zeros((len(names), len(names)))
    starts = column.offsets[documents.rows]
    lengths = column.offsets[documents.rows + 1] - starts
    counts = np.maximum(1, lengths - window + 1)  # windows of each document
    cuts = np.searchsorted(np.cumsum(lengths), np.arange(BLOCK, lengths.sum() + BLOCK, BLOCK))
    for low, high in zip([0, *(cuts + 1)], [*(cuts + 1), len(starts)]):
        low, high = min(low, len(starts)), min(high, len(starts))
        if low == high:
            continue
        document = np.repeat(np.arange(low, high), lengths[low:high])
        first = np.cumsum(lengths[low:high]) - lengths[low:high]
        position = np.arange(len(document)) - np.repeat(first, lengths[low:high])
        ids = number[column.ids[np.repeat(starts[low:high], lengths[low:high]) + position]]
        known = ids >= 0
        document, position, ids = document[known], position[known], ids[known]
        # A word at position t is in the windows that begin at t - window + 1 to t.
        begin = np.maximum(0, position - window + 1)
        end = np.minimum(counts[document] - 1, position)
        before = np.cumsum(counts[low:high]) - counts[low:high]
        repeats = end - begin + 1
        shift = np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        rows = np.repeat(before[document - low] + begin, repeats) + shift
        shape = (int(counts[low:high].sum()), len(names))
        held = csr_matrix((np.ones(len(rows)), (rows, np.repeat(ids, repeats))), shape=shape)
        held.sum_duplicates()
        held.data[:] = 1
        together += (held.T @ held).toarray()
    return WordWindows(names, together, int(counts.sum()))


def coherence(documents: Documents, topics: Sequence[Sequence[str]], window: int) -> list[float]:
    """The NPMI of each topic's words."""
    windows = count_windows(documents, [word for topic in topics for word in topic], window)
    return [windows.npmi(topic) for topic in topics]


Note = Callable[[str], None]
SPARE = 4  # times as many near documents are looked at as shown: some are the same text


@dataclass(frozen=True)
class FittedTopics:
    """Topics of one number: the largest first, with their words and the coherence of each."""

    method: TopicMethod
    assigned: Assigned
    words: list[list[tuple[str, float]]]
    coherence: list[float]

    @property
    def mean(self) -> float:
        return float(np.mean(self.coherence))


class TopicCorpus:
    """Corpus of a topic model: documents, their counts, and the method's inputs."""

    def __init__(
        self, documents: Documents, vocabulary: Vocabulary, counts: csr_matrix, x: Any
    ) -> None:
        self.documents, self.vocabulary, self.counts, self.x = documents, vocabulary, counts, x

    def fit(self, settings: TopicSettings, count: int, note: Note) -> FittedTopics:
        method = METHODS[settings.method](settings)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            method.fit(self.x, count)
            assigned = method.assign(self.x)
        if any("iterations" in str(warning.message) for warning in caught):
            note(
                f"{settings.method} with {count} topics did not converge;"
                f" {Setting(iterations='N')} allows more iterations"
            )
        order = np.argsort(-assigned.shares.sum(0), kind="stable")
        method.reorder(order)
        assigned = Assigned(assigned.shares[:, order], assigned.nearness[:, order])
        weights = None if settings.ranking == "ctfidf" else method.word_weights()
        if weights is None:
            weights = class_tf_idf(self.counts, assigned.shares)
        words = top_words(weights, self.vocabulary.words, settings.words)
        names = [[word for word, _ in topic] for topic in words]
        return FittedTopics(
            method, assigned, words, coherence(self.documents, names, settings.window)
        )


def find_topics(
    source: Source,
    config: TopicsConfig,
    *,
    start: str | Path | None = None,
    date: str | None = None,
    note: Note,
    progress: Progress | None = None,
) -> tuple[Topics, Documents, Assigned]:
    """The topics of a corpus, its documents, and the topics of each of these.

    start   the folder of the model whose vectors are clustered
    date    the column of the dates; None: by the look of the values, "none": there is none
    """
    began = time.monotonic()
    settings = config.topics
    vectors = _vectors(settings, start)
    plan = open_documents(source, config.data)
    notes: list[str] = []

    def keep(line: str) -> None:
        notes.append(line)
        note(line)

    note(plan.summary)
    dates = find_dates(plan.table, date, config.data.date_format)
    if dates is not None:
        keep(dates.note())
    documents = read_documents(plan, config.tokenizer, progress)
    if documents.empty:
        keep(f"{documents.empty:,} of {documents.total:,} rows are empty, and have no topic")
    vocabulary = choose_vocabulary(documents, settings)
    for line in vocabulary.notes:
        keep(line)
    counts = count_words(documents, vocabulary)
    x: Any = counts
    if vectors is not None:
        assert start is not None
        length = settings.max_length
        x = corpus_vectors(documents, start, vectors, max_length=length, progress=progress)
    corpus = TopicCorpus(documents, vocabulary, counts, x)
    fitted, tried = choose_count(corpus, settings, keep, progress)
    topic = fitted.assigned.topic
    without = int((topic < 0).sum())
    if without:
        keep(f"{without:,} documents have none of the words, and no topic")
    times = None
    if dates is not None:
        times = over_time(_times(plan, dates)[documents.rows], fitted.assigned.shares)
    near = nearest_rows(fitted.assigned, settings.documents * SPARE)
    points = map_documents(fitted.assigned, counts, x if vectors is not None else None, settings)
    texts = _some_texts(documents, [*(i for rows in near for i in rows), *points.rows])
    mean = fitted.assigned.shares[topic >= 0].mean(0)
    topics = [
        Topic(
            number=k + 1,
            words=fitted.words[k],
            share=float(mean[k]),
            documents=int((topic == k).sum()),
            coherence=fitted.coherence[k],
            nearest=_nearest(near[k], fitted.assigned.nearness[:, k], texts, settings.documents),
        )
        for k in range(len(fitted.words))
    ]
    result = Topics(
        config=config,
        method=fitted.method,
        words=vocabulary.words,
        topics=topics,
        summary=plan.summary,
        notes=notes,
        rows=documents.total,
        empty=documents.empty,
        without=without,
        tried=tried,
        times=times,
        points=[
            MapPoint(x, y, int(topic[i]) + 1, texts[i].text)
            for i, (x, y) in zip(points.rows, points.at.tolist())
        ],
        seconds=time.monotonic() - began,
        vectors=vectors,
    )
    return result, documents, fitted.assigned


def _vectors(settings: TopicSettings, start: str | Path | None) -> DocumentVectors | None:
    needed = METHODS[settings.method].reads_vectors
    if needed and start is None:
        raise ConfigError(
            (Option(method="clusters"), " needs vectors of documents"),
            remedy=("name a run of pretrain or elmo, or MiniLM's folder, with ", Option("start")),
        )
    if start is not None and not needed:
        raise ConfigError(
            (Option(method=settings.method), " counts words, and reads no vectors"),
            got=Option(start=start),
            remedy=("leave one of them out: ", Option("start"), " alone makes clusters"),
        )
    return None if start is None else open_vectors(start, max_length=settings.max_length)


def choose_count(
    corpus: TopicCorpus, settings: TopicSettings, note: Note, progress: Progress | None
) -> tuple[FittedTopics, list[TriedCount]]:
    """Topics of the number that was given, or of the one with the largest coherence of a few."""
    number, words = len(corpus.documents), len(corpus.vocabulary.words)
    most = min(number, words)
    where = corpus.documents.plan.table.name
    if settings.count == 1:
        raise ConfigError(
            "one topic is all documents", where=Option("topics"), got=1, remedy="ask for 2 or more"
        )
    if settings.count > most:
        raise DataError(
            f"there are fewer {'documents' if most == number else 'words'} than topics: {most:,}",
            where=where,
            got=Option(topics=settings.count),
            remedy="ask for fewer topics",
        )
    if settings.count:
        return corpus.fit(settings, settings.count, note), []
    counts = [count for count in sorted(set(settings.counts)) if count <= most // 2]
    counts = counts or [min(max(2, most // 2), most)]
    fits: list[tuple[int, FittedTopics]] = []
    for i, count in enumerate(counts):
        if progress is not None:
            progress("finding topics", i / len(counts))
        fits.append((count, corpus.fit(settings, count, note)))
    tried = [TriedCount(count, fitted.mean) for count, fitted in fits]
    count, best = max(fits, key=lambda fit: fit[1].mean)
    compared = ", ".join(f"{fit.topics} ({fit.coherence:.4f})" for fit in tried)
    note(
        f"topics: {count}, the most coherent of {compared}; choose another number with"
        f" {Option('topics')}"
    )
    return best, tried


def nearest_rows(assigned: Assigned, count: int) -> list[list[int]]:
    """The documents of which each topic is the largest, the nearest first."""
    nearest = []
    for k in range(assigned.shares.shape[1]):
        members = np.flatnonzero(assigned.topic == k)
        order = np.argsort(-assigned.nearness[members, k], kind="stable")[:count]
        nearest.append(members[order].tolist())
    return nearest


def _nearest(
    rows: Sequence[int], nearness: np.ndarray, texts: dict[int, NearDocument], count: int
) -> list[NearDocument]:
    different = {texts[i].text: i for i in reversed(rows)}
    order = sorted(different.values(), key=list(rows).index)[:count]
    return [texts[i]._replace(nearness=float(nearness[i])) for i in order]


def _some_texts(documents: Documents, wanted: Sequence[int]) -> dict[int, NearDocument]:
    """The beginnings of some documents, by their number."""
    numbers = {int(documents.rows[i]): i for i in wanted}
    table = documents.plan.table
    texts = {}
    for number, row in enumerate(documents.plan.rows()):
        if number in numbers:
            where = Path(table.where(row.line, file=row.file)).name
            texts[numbers[number]] = NearDocument(where, 0.0, beginning(row.values[0]))
    return texts


def _times(plan: Plan, dates: DateColumn) -> np.ndarray:
    return np.array([dates.time(row.values[0]) for row in plan.table.rows([dates.column])])


def count_texts(texts: Sequence[str], words: list[str], settings: TokenizerConfig) -> csr_matrix:
    """(N, V) how often each of some texts has each word, as `count_words` counts a corpus."""
    from scipy.sparse import csr_matrix

    number = {word: i for i, word in enumerate(words)}
    normalizer = Normalizer(settings.normalize, settings.lowercase)
    rows, columns = [], []
    for row, text in enumerate(texts):
        tokens = split_words(normalizer(text), split=settings.split, newlines=False)
        ids = [number[token] for token in tokens if token in number]
        rows += [row] * len(ids)
        columns += ids
    ones = np.ones(len(rows), np.float64)
    counts = csr_matrix((ones, (rows, columns)), shape=(len(texts), len(words)))
    counts.sum_duplicates()
    return counts
