"""Byte pairs: a column of characters in, a fitted tokenizer and a column of byte pairs out.

The characters of a column are the normalised text, so byte pairs need no second look at the file.
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
from unspool.data.store.cache import cached
from unspool.data.store.columns import Progress, report_stage
from unspool.data.store.ragged import TokenColumn, TokenWriter
from unspool.text.open_vocabulary import END
from unspool.text.tokenizers import BPETokenizer, SubwordTokenizer, Tokenizer
from unspool.text.words import Normalizer

BATCH = 256


class TokenStretches(NamedTuple):
    """Part of a column that a tokenizer is fitted to: (N, 2) stretches of its tokens."""

    column: TokenColumn
    spans: np.ndarray


def texts_of(chars: TokenColumn, spans: np.ndarray) -> Iterator[str]:
    """The normalised texts of stretches (N, 2) of a column of characters."""
    codes = np.array([ord(char or END) for char in chars.types], dtype=np.uint32)
    for start, stop in spans:
        yield codes[chars.ids[start:stop]].tobytes().decode("utf-32-le")


def fit_cached(
    stretches: Sequence[TokenStretches],
    settings: TokenizerConfig,
    progress: Progress,
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
        texts = chain.from_iterable(texts_of(chars, spans) for chars, spans in stretches)
        for i, text in enumerate(texts):
            if report is not None and i % BATCH == 0:
                report(i / total)
            yield text

    def build(folder: Path) -> None:
        from unspool.text.subwords import fit_bpe  # loads the Rust library

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
    chars: TokenColumn, spans: np.ndarray, tokenizer: SubwordTokenizer, progress: Progress
) -> TokenColumn:
    """The column of pieces of words, one text a span; its ids are those of the tokenizer."""
    identity = json.dumps(tokenizer.to_json())
    key = {
        "encode": chars.key,
        "tokenizer": hashlib.sha256(identity.encode()).hexdigest(),
        "spans": hashlib.sha256(spans.tobytes()).hexdigest(),
    }

    def build(folder: Path) -> None:
        report = report_stage(progress, "encoding pieces of words")
        texts = texts_of(chars, spans)
        writer = TokenWriter(folder, "pieces")
        for start in range(0, len(spans), BATCH):
            some = list(islice(texts, BATCH))
            ids = tokenizer.encode_normal(some)
            lengths = np.array(list(map(len, ids)), dtype=np.int64)
            writer.add(np.concatenate(ids), lengths, list(map(len, some)))
            if report is not None:
                report((start + len(some)) / len(spans))
        writer.close(tokenizer.vocab.tokens)

    return cached(key, build, lambda folder: TokenColumn.load(folder, "pieces", key))[0]
