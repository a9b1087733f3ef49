"""A tokenizer for a corpus: the training stretches of a store in, a fitted tokenizer out."""

from __future__ import annotations

from itertools import islice

import numpy as np

from unspool.config import TokenizerConfig
from unspool.data.readers import Source
from unspool.data.store import Store
from unspool.text.normalize import Normalizer
from unspool.text.tokenizers import CharTokenizer, Tokenizer, WordTokenizer
from unspool.text.vocab import SPECIALS, Vocab

SAMPLE = 1000
FEW_SPACES = 0.04  # share of white space below which a text is not made of words (English: 0.17)
WINDOW = 1 << 22


def resolve_kind(settings: TokenizerConfig, source: Source) -> TokenizerConfig:
    """Settings without `auto`: characters for generate and for texts with hardly a space in them
    (DNA, names, Chinese); words otherwise."""
    if settings.kind != "auto":
        return settings
    kind = "char"
    if source.task == "classify":
        texts = [example.text for example in islice(source, SAMPLE)]
        size, solid = sum(map(len, texts)), sum(len("".join(text.split())) for text in texts)
        kind = "char" if size - solid < FEW_SPACES * size else "word"
    return settings.model_copy(update={"kind": kind})


def count_types(store: Store, spans: np.ndarray) -> np.ndarray:
    """How often each raw id occurs within `spans`: (N, 2) stretches, sorted, not overlapping.

    The store knows the counts of the whole; where the spans are most of it, what lies between them
    is counted instead, and taken away.
    """
    if 2 * int((spans[:, 1] - spans[:, 0]).sum()) > store.tokens:
        edges = np.concatenate([[0], spans.reshape(-1), [store.tokens]])
        return store.counts - _count(store, edges.reshape(-1, 2))
    return _count(store, spans)


def _count(store: Store, spans: np.ndarray) -> np.ndarray:
    """Counts by windows, in constant memory."""
    counts = np.zeros(len(store.types), dtype=np.int64)
    spans = spans[spans[:, 0] < spans[:, 1]]
    for start in range(0, store.tokens, WINDOW):
        stop = min(start + WINDOW, store.tokens)
        first = np.searchsorted(spans[:, 1], start, "right")
        last = np.searchsorted(spans[:, 0], stop)
        if first == last:
            continue
        inside = np.clip(spans[first:last], start, stop) - start
        steps = np.zeros(stop - start + 1, dtype=np.int8)
        steps[inside[:, 0]] += 1
        steps[inside[:, 1]] -= 1
        kept = np.cumsum(steps[:-1], dtype=np.int8).astype(bool)
        counts += np.bincount(store.ids[start:stop][kept], minlength=len(counts))
    return counts


def choose_vocab(store: Store, counts: np.ndarray, settings: TokenizerConfig) -> Vocab:
    """The most frequent tokens, first come first among equals, within the limits of `settings`."""
    order = np.argsort(-counts, kind="stable")
    enough = int((counts >= max(1, settings.min_count)).sum())
    special = {raw for raw, token in enumerate(store.types) if token in SPECIALS}
    best = [raw for raw in order[:enough].tolist() if raw not in special]
    return Vocab.of(store.types[raw] for raw in best[: settings.vocab - len(SPECIALS)])


def open_tokenizer(vocab: Vocab, settings: TokenizerConfig, *, stream: bool) -> Tokenizer:
    """The tokenizer of characters or words with a chosen vocabulary."""
    normalizer = Normalizer(settings.normalize, settings.lowercase)
    if settings.kind == "char":
        return CharTokenizer(vocab, normalizer=normalizer)
    return WordTokenizer(vocab, normalizer=normalizer, split=settings.split, newlines=stream)
