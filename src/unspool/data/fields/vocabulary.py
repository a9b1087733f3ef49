"""A tokenizer for texts: the training stretches of columns in, a fitted tokenizer out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unspool.config import TokenizerConfig
from unspool.data.fields.bytepairs import TokenStretches, fit_cached
from unspool.data.store.columns import Progress
from unspool.data.store.ragged import TokenColumn
from unspool.text.tokenizers import CharTokenizer, Tokenizer, WordTokenizer
from unspool.text.vocab import SPECIALS, Vocab
from unspool.text.words import Normalizer

UNITS = {"char": "characters", "word": "words", "bpe": "byte pairs", "pretrained": "word pieces"}
FEW_SPACES = 0.04  # share of white space below which a text is not made of words (English: 0.17)
LOOKED_AT = 10_000  # characters of a text
WINDOW = 1 << 22


def made_of_words(texts: Sequence[str]) -> bool:
    """Whether texts have spaces enough for words: DNA, names and Chinese have not."""
    texts = [text[:LOOKED_AT] for text in texts]
    size, solid = sum(map(len, texts)), sum(len("".join(text.split())) for text in texts)
    return size - solid >= FEW_SPACES * size


def count_types(column: TokenColumn, spans: np.ndarray) -> np.ndarray:
    """Count each raw id within `spans`: (N, 2) stretches, sorted, not overlapping.

    The column knows the counts of the whole; where the spans are most of it, what lies between them
    is counted instead, and taken away.
    """
    if 2 * int((spans[:, 1] - spans[:, 0]).sum()) > column.tokens:
        edges = np.concatenate([[0], spans.reshape(-1), [column.tokens]])
        return column.counts - _count(column, edges.reshape(-1, 2))
    return _count(column, spans)


def _count(column: TokenColumn, spans: np.ndarray) -> np.ndarray:
    counts = np.zeros(len(column.types), dtype=np.int64)
    spans = spans[spans[:, 0] < spans[:, 1]]
    for start in range(0, column.tokens, WINDOW):
        stop = min(start + WINDOW, column.tokens)
        first = np.searchsorted(spans[:, 1], start, "right")
        last = np.searchsorted(spans[:, 0], stop)
        if first == last:
            continue
        inside = np.clip(spans[first:last], start, stop) - start
        steps = np.zeros(stop - start + 1, dtype=np.int8)
        steps[inside[:, 0]] += 1
        steps[inside[:, 1]] -= 1
        kept = np.cumsum(steps[:-1], dtype=np.int8).astype(bool)
        counts += np.bincount(column.ids[start:stop][kept], minlength=len(counts))
    return counts


def fit_tokenizer(
    stretches: Sequence[TokenStretches],
    settings: TokenizerConfig,
    progress: Progress,
    *,
    newlines: bool = False,
    specials: Sequence[str] = SPECIALS,
) -> tuple[Tokenizer, str]:
    """The tokenizer of the training stretches, and a line about its vocabulary."""
    if settings.kind == "bpe":
        pairs = fit_cached(stretches, settings, progress, specials=specials)
        return pairs, f"vocabulary: {len(pairs):,} {UNITS[settings.kind]}"
    types, counts = _count_together(stretches)
    return select_tokenizer(types, counts, settings, newlines=newlines, specials=specials)


def select_tokenizer(
    types: list[str],
    counts: np.ndarray,
    settings: TokenizerConfig,
    *,
    newlines: bool = False,
    specials: Sequence[str] = SPECIALS,
) -> tuple[Tokenizer, str]:
    """The tokenizer of counted characters or words, and a line about its vocabulary."""
    unit = UNITS[settings.kind]
    vocab = choose_vocab(types, counts, settings, specials=specials)
    known = np.fromiter(map(vocab.index.__contains__, types), dtype=bool, count=len(types))
    share = counts[known].sum() / max(1, counts.sum())
    seen, kept = int((counts > 0).sum()), int((known & (counts > 0)).sum())
    note = f"vocabulary: {kept:,} of {seen:,} {unit} in train, {100 * share:.1f} % of its text"
    return open_tokenizer(vocab, settings, newlines=newlines), note


def _count_together(stretches: Sequence[TokenStretches]) -> tuple[list[str], np.ndarray]:
    """The types of all columns, and how often each occurs within the stretches."""
    counted = [(column.types, count_types(column, spans)) for column, spans in stretches]
    if len(counted) == 1:
        return counted[0]
    index: dict[str, int] = {}
    places = [[index.setdefault(token, len(index)) for token in types] for types, _ in counted]
    total = np.zeros(len(index), dtype=np.int64)
    for at, (_, counts) in zip(places, counted):
        total[at] += counts.astype(np.int64)
    return list(index), total


def choose_vocab(
    types: list[str],
    counts: np.ndarray,
    settings: TokenizerConfig,
    *,
    specials: Sequence[str] = SPECIALS,
) -> Vocab:
    """The most frequent tokens, first come first among equals, within the limits of `settings`."""
    order = np.argsort(-counts, kind="stable")
    enough = int((counts >= max(1, settings.min_count)).sum())
    special = {raw for raw, token in enumerate(types) if token in specials}
    best = [raw for raw in order[:enough].tolist() if raw not in special]
    return Vocab.of(
        (types[raw] for raw in best[: settings.vocab - len(specials)]), specials=specials
    )


def open_tokenizer(vocab: Vocab, settings: TokenizerConfig, *, newlines: bool) -> Tokenizer:
    """The tokenizer of characters or words with a chosen vocabulary."""
    normalizer = Normalizer(settings.normalize, settings.lowercase)
    if settings.kind == "char":
        return CharTokenizer(vocab, normalizer=normalizer)
    return WordTokenizer(vocab, normalizer=normalizer, split=settings.split, newlines=newlines)
