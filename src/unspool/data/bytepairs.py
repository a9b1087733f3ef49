"""Byte-pair stores: a store of characters in, a fitted tokenizer and a store of byte pairs out.

The characters of a store are the normalised text, so byte pairs need no second look at the source.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from unspool.config import TokenizerConfig
from unspool.data.cache import cached
from unspool.data.encode import END, Encoded, Progress, report_stage
from unspool.data.store import Store, StoreWriter
from unspool.text.bpe import fit_bpe
from unspool.text.normalize import Normalizer
from unspool.text.tokenizers import BPETokenizer, SubwordTokenizer, Tokenizer

BATCH = 256


class Stretches(NamedTuple):
    """What of a source a tokenizer is fitted to: its store, and (N, 2) stretches of it."""

    encoded: Encoded
    spans: np.ndarray


def texts_of(store: Store, spans: np.ndarray) -> Iterator[str]:
    """The normalised texts of stretches (N, 2) of a store of characters."""
    codes = np.array([ord(char or END) for char in store.types], dtype=np.uint32)
    for start, stop in spans:
        yield codes[store.ids[start:stop]].tobytes().decode("utf-32-le")


def fit_cached(
    stretches: Sequence[Stretches],
    settings: TokenizerConfig,
    progress: Progress | None,
    *,
    specials: Sequence[str],
) -> BPETokenizer:
    """A tokenizer fitted to stretches of characters, or the one fitted before."""
    key = {
        "fit": [
            [chars.key, hashlib.sha256(spans.tobytes()).hexdigest()] for chars, spans in stretches
        ],
        "vocab": settings.vocab,
        "min_count": settings.min_count,
        "specials": list(specials),
    }
    total = sum(len(spans) for _, spans in stretches)
    normalizer = Normalizer(settings.normalize, settings.lowercase)

    def reported() -> Iterator[str]:
        report = report_stage(progress, "fitting byte pairs")
        texts = chain.from_iterable(texts_of(chars.store, spans) for chars, spans in stretches)
        for i, text in enumerate(texts):
            if report is not None and i % BATCH == 0:
                report(i / total)
            yield text

    def build(folder: Path) -> None:
        tokenizer = fit_bpe(
            reported(),
            size=settings.vocab,
            min_count=settings.min_count,
            normalizer=normalizer,
            specials=specials,
        )
        content = json.dumps(tokenizer.to_json())
        (folder / "tokenizer.json").write_text(content, encoding="utf-8")

    def load(folder: Path) -> Tokenizer:
        return Tokenizer.from_json(
            json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
        )

    tokenizer, _ = cached(key, build, load)
    assert isinstance(tokenizer, BPETokenizer)
    return tokenizer


def encode_subwords(
    chars: Encoded, spans: np.ndarray, tokenizer: SubwordTokenizer, progress: Progress | None
) -> Store:
    """The store of pieces of words, one entry a span; its ids are those of the tokenizer."""
    identity = json.dumps(tokenizer.to_json())
    key = {
        "encode": chars.key,
        "tokenizer": hashlib.sha256(identity.encode()).hexdigest(),
        "spans": hashlib.sha256(spans.tobytes()).hexdigest(),
    }

    def build(folder: Path) -> None:
        report = report_stage(progress, "encoding pieces of words")
        texts = texts_of(chars.store, spans)
        with StoreWriter(folder) as writer:
            for start in range(0, len(spans), BATCH):
                some = list(islice(texts, BATCH))
                ids = tokenizer.encode_normal(some)
                writer.add(
                    np.concatenate(ids),
                    np.array(list(map(len, ids)), dtype=np.int64),
                    characters=list(map(len, some)),
                    lines=[0] * len(some),
                    labels=[],
                )
                if report is not None:
                    report((start + len(some)) / len(spans))
            writer.close(tokenizer.vocab.tokens)

    return cached(key, build, Store.load)[0]
