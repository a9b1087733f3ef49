"""What fields of tokens share: a tokenizer, and how texts are stored with an open vocabulary."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from unspool.data.fields.field import Field
from unspool.data.store.columns import WhereStep
from unspool.data.store.tokens import TokenColumn, TokenWriter
from unspool.errors import DataError, RunError
from unspool.io.files import AGAIN, read_json
from unspool.text.open_vocabulary import Rules, open_encoder
from unspool.text.tokenizers import Tokenizer


class TextWriter:
    """Strings to a `TokenColumn`."""

    def __init__(self, folder: Path, name: str, rules: Rules) -> None:
        self.encoder, self.tokens = open_encoder(rules), TokenWriter(folder, name)

    def add(self, values: list[str], where: Callable[[int], str]) -> None:
        ids, lengths = self.encoder.encode(values)
        self.tokens.add(ids, lengths, list(map(len, values)))

    def close(self) -> None:
        self.tokens.close(self.encoder.types)


class TokenizedField(Field):
    """A column whose steps are tokens of a vocabulary.

    tokenizer   fitted to the training rows, or given; None before
    sides       what two texts that are read together are called, before and after the mark
    """

    sized = True
    sides: ClassVar[tuple[str, ...]] = ()
    step_noun = "token"
    tokenizer: Tokenizer | None

    @property
    def fitted(self) -> Tokenizer:
        assert self.tokenizer is not None, f"the field {self.name!r} has not been fitted"
        return self.tokenizer

    @property
    def vocabulary(self) -> int:
        return len(self.fitted)

    @property
    @abstractmethod
    def rules(self) -> Rules:
        """How texts are cut into the tokens that are stored."""

    def storage_key(self) -> Any:
        return [self.kind, asdict(self.rules)]

    def open(self, folder: Path, key: dict[str, Any], where: WhereStep) -> TokenColumn:
        return TokenColumn.load(folder, self.name, key, where)

    def blank(self, column: TokenColumn) -> np.ndarray:
        return column.characters == 0


def tokens_of_chunk(
    text: str, before: str | None, cut: Callable[[str], Any], tokenizer: Tokenizer
) -> tuple[Any, str]:
    """What `cut` makes of a text that goes on after `before`, and the open end of both.

    A DataError where the two have a token in common, which was read as if it had ended.
    """
    found = cut(text)
    joined = (before or "") + text
    if before and len(text) and list(cut(joined)) != [*cut(before), *found]:
        raise DataError(
            "the chunk begins within a token, and what came before was read as if it had ended",
            got=text,
            remedy="give whole words, with the space that stands before or after them",
        )
    return found, tokenizer.open_end(joined)


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
