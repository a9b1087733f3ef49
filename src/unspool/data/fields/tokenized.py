"""Texts as tokens of an open vocabulary: how they are given, stored, shown and streamed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from unspool.data.fields.text_examiner import TextExaminer
from unspool.data.fields.tokens import Tokens
from unspool.data.store.tokens import TokenColumn, TokenWriter
from unspool.errors import DataError, RunError
from unspool.io.files import AGAIN, read_json
from unspool.text.open_vocabulary import TokenRules, open_encoder
from unspool.text.tokenizers import Tokenizer


class TextWriter:
    """Strings to a `TokenColumn`."""

    def __init__(self, folder: Path, name: str, rules: TokenRules) -> None:
        self.encoder, self.tokens = open_encoder(rules), TokenWriter(folder, name)

    def add(self, values: list[str], where: Callable[[int], str]) -> None:
        ids, lengths = self.encoder.encode(values)
        self.tokens.add(ids, lengths, list(map(len, values)))

    def close(self) -> None:
        self.tokens.close(self.encoder.types)


class TextForm:
    """One text a row: how raw values are given, stored and shown.

    kind              of field
    sample_text       a value, as a person types it
    sides             names of two texts that are read together, before and after the mark
    streaming_reason  why values cannot be read as they arrive; None where they can
    """

    kind: ClassVar[str] = "text"
    sample_text: ClassVar[str] = "some text"
    sides: ClassVar[tuple[str, ...]] = ()
    streaming_reason: ClassVar[str | None] = None

    def option(self, name: str) -> str:
        """Return the options of the command line that name the column."""
        return f"--{name}"

    def texts(self, raw: Any, where: str = "") -> tuple[str, ...]:
        """Return the texts of a raw value."""
        return (raw,)

    def sample(self, values: Sequence[Any]) -> list[Any]:
        """Return the texts of some values, of which some may be missing."""
        return list(values)

    def writer(self, folder: Path, name: str, rules: TokenRules) -> TextWriter:
        return TextWriter(folder, name, rules)

    def blank(self, column: TokenColumn) -> np.ndarray:
        """(N,) bool: rows without a text"""
        return column.characters == 0

    def missing(self, name: str, column: TokenColumn, rows: np.ndarray) -> str:
        """Describe blank rows."""
        return f"an empty {name}"

    def items(self, values: Any) -> Iterable[Any] | None:
        return None

    def shown(self, raw: Any) -> str:
        return str(raw)

    def to_json(self, raw: Any) -> Any:
        return raw

    def from_json(self, value: Any, where: str) -> Any:
        return value

    def examiner(self, values: Tokens, *, words: bool, unit: str) -> TextExaminer:
        return TextExaminer(values, words=words, unit=unit)


def tokens_of_chunk(
    text: str, before: str | None, cut: Callable[[str], Any], tokenizer: Tokenizer
) -> tuple[Any, str]:
    """Cut a text that goes on after `before`; return its tokens and the open end of both.

    A DataError where the two have a token in common, which was read as if it had ended.
    """
    tokens = cut(text)
    joined = (before or "") + text
    if before and len(text) and list(cut(joined)) != [*cut(before), *tokens]:
        raise DataError(
            "the chunk begins within a token, and what came before was read as if it had ended",
            got=text,
            remedy="give whole words, with the space that stands before or after them",
        )
    return tokens, tokenizer.open_end(joined)


def read_tokenizer(folder: Path, name: str = "tokenizer.json") -> Tokenizer:
    """The tokenizer of a run folder; a RunError where it is damaged."""
    path = folder / name
    stored = read_json(path)
    tokenizer = Tokenizer.from_json(stored, where=path)
    if tokenizer.to_json().keys() != stored.keys():
        raise RunError(
            f"holds other fields than a tokenizer of the kind {tokenizer.kind!r} has",
            where=path,
            remedy=AGAIN,
        )
    return tokenizer
