"""n-grams of numbered tokens, and of the characters of words: texts in, features out.

The tokens of all texts stand one after the other in one array, `ids` (M,), beside the number of the
text that each belongs to, `texts` (M,), ascending. A token that the vocabulary lacks is -1, and no
n-gram spans it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from unspool.data.store.ragged import Ragged, gather

SPELLED = (2, 5)  # characters of the shortest and the longest n-gram of a word
CHUNK_WORDS = 1 << 18  # words whose characters are counted at once


class FeaturePairs(NamedTuple):
    """A text and a feature that occurs in it, once for each time it does."""

    texts: np.ndarray
    features: np.ndarray


class TokenNgrams:
    """n-grams of one token and more, numbered by their length, then by their key.

    With V tokens, the key of an n-gram is V · (the number of its first n - 1 tokens among the
    n-grams of that length) + (its last token). What an n-gram begins with is always known as well:
    it occurs in at least as many texts.

    vocab   V
    keys    of the n-grams of each length from 2 on, sorted
    """

    def __init__(self, vocab: int, keys: Sequence[np.ndarray] = ()) -> None:
        self.vocab, self.keys = vocab, list(keys)

    def __len__(self) -> int:
        return self.vocab + sum(map(len, self.keys))

    def fit(
        self, ids: np.ndarray, texts: np.ndarray, *, longest: int, least: int
    ) -> list[np.ndarray]:
        """Learn the n-grams of 2 to `longest` tokens that occur in `least` texts or more; returns
        in how many each does, by length."""
        self.keys, prefixes, kept = [], ids.astype(np.int64), []
        for n in range(2, longest + 1):
            keys = self._keys(prefixes, ids, texts, n)
            known, numbers = np.unique(keys, return_inverse=True)
            frequency = text_frequency(
                FeaturePairs(texts[: len(keys)], numbers.reshape(-1)), len(known)
            )
            often = (frequency >= least) & (known >= 0)
            self.keys.append(known[often])
            kept.append(frequency[often])
            prefixes = numbers_of(keys, self.keys[-1])
        return kept

    def pairs(self, ids: np.ndarray, texts: np.ndarray) -> FeaturePairs:
        numbers, first = ids.astype(np.int64), self.vocab
        parts = [_known(numbers, texts, 0)]
        for n, keys in enumerate(self.keys, start=2):
            numbers = numbers_of(self._keys(numbers, ids, texts, n), keys)
            parts.append(_known(numbers, texts, first))
            first += len(keys)
        return FeaturePairs(*(np.concatenate(part) for part in zip(*parts)))

    def _keys(self, prefix: np.ndarray, ids: np.ndarray, texts: np.ndarray, n: int) -> np.ndarray:
        """(M - n + 1,) of the n-gram that begins at each token; -1 where there is none."""
        size = max(0, len(ids) - n + 1)
        before, last = prefix[:size], ids[n - 1 :].astype(np.int64)
        whole = (before >= 0) & (last >= 0) & (texts[:size] == texts[n - 1 :])
        return np.where(whole, before * self.vocab + last, -1)

    def tokens(self) -> Iterator[tuple[int, ...]]:
        """The tokens of each n-gram of two and more, in their order."""
        shorter: list[tuple[int, ...]] = [(token,) for token in range(self.vocab)]
        for keys in self.keys:
            shorter = [(*shorter[key // self.vocab], key % self.vocab) for key in keys.tolist()]
            yield from shorter

    @classmethod
    def of(cls, vocab: int, ngrams: Sequence[tuple[int, ...]]) -> TokenNgrams:
        """From what `tokens` gives; a KeyError or ValueError where that is wrong."""
        made = cls(vocab)
        index: dict[tuple[int, ...], int] = {(token,): token for token in range(vocab)}
        for n in range(2, max(map(len, ngrams), default=1) + 1):
            level = [ngram for ngram in ngrams if len(ngram) == n]
            keys = [index[ngram[:-1]] * vocab + ngram[-1] for ngram in level]
            made.keys.append(np.array(keys, dtype=np.int64))
            index = {ngram: number for number, ngram in enumerate(level)}
        if list(made.tokens()) != list(ngrams) or any((np.diff(k) <= 0).any() for k in made.keys):
            raise ValueError("the n-grams are not in their order")
        return made


LONGEST_WORD = 1000  # characters of a word that are read


class SpellingNgrams:
    """n-grams of the characters of a word between spaces: " film " gives " f", ... " film"."""

    def __init__(self, ngrams: Sequence[str] = ()) -> None:
        self.ngrams = list(ngrams)

    def __len__(self) -> int:
        return len(self.ngrams)

    def fit(
        self, ids: np.ndarray, texts: np.ndarray, types: Sequence[str], *, least: int
    ) -> np.ndarray:
        """Learn those that occur in `least` texts or more; returns in how many each does.

        ids   numbers of the `types`
        """
        index: dict[str, int] = {}
        rows = [np.empty(0, dtype=np.int64)] * len(types)
        for word in np.unique(ids).tolist():
            numbers = [index.setdefault(ngram, len(index)) for ngram in spelled(types[word])]
            rows[word] = np.array(numbers, dtype=np.int64)
        table, frequency = Ragged.of(rows), np.zeros(len(index), dtype=np.int64)
        for part in stretches(texts, CHUNK_WORDS):
            frequency += text_frequency(self.pairs(ids[part], texts[part], table), len(index))
        self.ngrams = [ngram for ngram, number in index.items() if frequency[number] >= least]
        return frequency[frequency >= least]

    def table(self, types: Sequence[str]) -> Ragged:
        index = {ngram: number for number, ngram in enumerate(self.ngrams)}
        rows = ([index[ngram] for ngram in spelled(word) if ngram in index] for word in types)
        return Ragged.of([np.array(row, dtype=np.int64) for row in rows])

    @staticmethod
    def pairs(ids: np.ndarray, texts: np.ndarray, table: Ragged) -> FeaturePairs:
        """Return the n-grams of words that are numbers of the rows of a `table`."""
        return FeaturePairs(np.repeat(texts, table.lengths[ids]), gather(table.select(ids)))


def spelled(word: str) -> Iterator[str]:
    """The n-grams of the characters of a word with spaces around it (scikit-learn's char_wb)."""
    word = f" {word} "[:LONGEST_WORD]
    for n in range(SPELLED[0], min(SPELLED[1], len(word)) + 1):
        for start in range(len(word) - n + 1):
            yield word[start : start + n]


def numbers_of(keys: np.ndarray, known: np.ndarray) -> np.ndarray:
    """The index of each key among the known ones, which are sorted; -1 where it is not there."""
    if not len(known):
        return np.full(len(keys), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.where(known[at] == keys, at, -1)


def text_frequency(pairs: FeaturePairs, size: int) -> np.ndarray:
    """(size,) in how many texts each feature occurs."""
    different = distinct(pairs.texts.astype(np.int64) * size + pairs.features).keys
    return np.bincount(different % max(1, size), minlength=size)


class Distinct(NamedTuple):
    """Different keys, sorted, and how often each occurs."""

    keys: np.ndarray
    counts: np.ndarray


def distinct(keys: np.ndarray) -> Distinct:
    """Count by sorting, which takes a fifth of the time of NumPy's hash table."""
    keys = np.sort(keys)
    first = np.flatnonzero(np.diff(keys, prepend=keys[:1] - 1))
    return Distinct(keys[first], np.diff(first, append=len(keys)))


def stretches(texts: np.ndarray, tokens: int) -> Iterator[slice]:
    """Whole texts of about so many tokens at once."""
    start = 0
    while start < len(texts):
        last = texts[min(start + tokens, len(texts)) - 1]
        stop = int(np.searchsorted(texts, last, "right"))
        yield slice(start, stop)
        start = stop


def _known(numbers: np.ndarray, texts: np.ndarray, first: int) -> FeaturePairs:
    at = np.flatnonzero(numbers >= 0)
    return FeaturePairs(texts[at], numbers[at] + first)
