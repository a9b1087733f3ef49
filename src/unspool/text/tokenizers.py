"""Fitted tokenizers: a text in, ids out, and back; characters, words, or byte-pair encoding.

Every tokenizer knows how to write itself as JSON and to come back from it, so that a run folder
needs nothing else to read new text.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from itertools import chain
from typing import Any, ClassVar

import numpy as np
from tokenizers import Tokenizer as RustTokenizer

from unspool.errors import RunError
from unspool.text.chunks import ChunkCache
from unspool.text.normalize import FORMS, Normalizer
from unspool.text.vocab import PAD_ID, SPECIALS, UNK, UNK_ID, Vocab
from unspool.text.words import SPLITTERS, join, words

UNKNOWN_CHAR = "\ufffd"
NFC = Normalizer()


class Tokenizer(ABC):
    """Text to ids of `vocab` and back, after the normal form."""

    kind: ClassVar[str]
    vocab: Vocab
    normalizer: Normalizer

    def __len__(self) -> int:
        return len(self.vocab)

    @abstractmethod
    def pieces(self, text: str) -> list[str]:
        """The pieces of the normalised text, known to the vocabulary or not."""

    @abstractmethod
    def decode(self, ids: Iterable[int]) -> str:
        """Readable text."""

    @abstractmethod
    def options(self) -> dict[str, Any]:
        """What `to_json` stores beside the vocabulary and the normal form."""

    def encode(self, text: str) -> np.ndarray:
        """int64 ids (T,), never empty: a text without tokens is one <unk>."""
        index = self.vocab.index
        ids = [index.get(piece, UNK_ID) for piece in self.pieces(text)]
        return np.array(ids or [UNK_ID], dtype=np.int64)

    def tokens(self, text: str) -> list[str]:
        """What the model sees, one string an id of `encode`: unknown pieces are <unk>."""
        return [self.vocab[i] for i in self.encode(text)]

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "normalize": self.normalizer.form,
            "lowercase": self.normalizer.lowercase,
            **self.options(),
            "vocab": self.vocab.tokens,
        }

    @staticmethod
    def from_json(stored: Any, *, where: object = None) -> Tokenizer:
        """The tokenizer that `to_json` described; anything else is a RunError."""
        try:
            kind = TOKENIZERS[stored["kind"]]
            form, lowercase, tokens = stored["normalize"], stored["lowercase"], stored["vocab"]
            if form not in FORMS or not isinstance(lowercase, bool):
                raise ValueError("the normal form is not one this version knows")
            if not isinstance(tokens, list) or not all(isinstance(t, str) for t in tokens):
                raise ValueError("the vocabulary is not a list of strings")
            return kind.restore(Vocab(tokens), Normalizer(form, lowercase), stored)
        except (KeyError, TypeError, ValueError) as error:
            raise RunError(
                "the stored tokenizer cannot be read",
                where=where,
                got=f"{type(error).__name__}: {error}",
                remedy="the run folder is damaged or from another version; train again",
            ) from None

    @classmethod
    @abstractmethod
    def restore(cls, vocab: Vocab, normalizer: Normalizer, stored: dict[str, Any]) -> Tokenizer:
        """The tokenizer from its parts and the other entries of its JSON."""


class CharTokenizer(Tokenizer):
    """One token a Unicode code point."""

    kind = "char"

    def __init__(self, vocab: Vocab, *, normalizer: Normalizer = NFC) -> None:
        self.vocab, self.normalizer = vocab, normalizer
        self._shown = ["", UNKNOWN_CHAR, *vocab.tokens[len(SPECIALS) :]]

    def pieces(self, text: str) -> list[str]:
        return list(self.normalizer(text))

    def decode(self, ids: Iterable[int]) -> str:
        """Exact on known characters; <pad> vanishes, <unk> is shown as one odd character."""
        return "".join(self._shown[i] for i in ids)

    def options(self) -> dict[str, Any]:
        return {}

    @classmethod
    def restore(cls, vocab: Vocab, normalizer: Normalizer, stored: dict[str, Any]) -> CharTokenizer:
        return cls(vocab, normalizer=normalizer)


class WordTokenizer(Tokenizer):
    """One token a word or punctuation mark; in a stream (`newlines`) also one a line end."""

    kind = "word"

    def __init__(
        self,
        vocab: Vocab,
        *,
        normalizer: Normalizer = NFC,
        split: str = "punctuation",
        newlines: bool = False,
    ) -> None:
        self.vocab, self.normalizer = vocab, normalizer
        self.split, self.newlines = split, newlines

    def pieces(self, text: str) -> list[str]:
        return words(self.normalizer(text), split=self.split, newlines=self.newlines)

    def decode(self, ids: Iterable[int]) -> str:
        return join((self.vocab[i] for i in ids if i != PAD_ID), split=self.split)

    def options(self) -> dict[str, Any]:
        return {"split": self.split, "newlines": self.newlines}

    @classmethod
    def restore(cls, vocab: Vocab, normalizer: Normalizer, stored: dict[str, Any]) -> WordTokenizer:
        split, newlines = stored["split"], stored["newlines"]
        if split not in SPLITTERS or not isinstance(newlines, bool):
            raise ValueError("the rules for splitting words are not ones this version knows")
        return cls(vocab, normalizer=normalizer, split=split, newlines=newlines)


# Byte pairs never reach from a word into the space after it, so a text may be cut there.
_CHUNK = re.compile(r"\s*\S+|\s+")


class BPETokenizer(Tokenizer):
    """Byte-level byte-pair encoding (Sennrich et al. 2016): no text is unknown, decoding is exact.

    The Rust model counts from 0 and knows no special tokens; ids here are shifted by theirs, so
    that a text which spells out "<pad>" is encoded like any other.
    """

    kind = "bpe"

    def __init__(self, model: RustTokenizer, *, normalizer: Normalizer = NFC) -> None:
        self.model, self.normalizer = model, normalizer
        strings = [model.id_to_token(i) or "" for i in range(model.get_vocab_size())]
        self.vocab = Vocab([*SPECIALS, *strings])
        self._chunks = ChunkCache(self._encode_chunk)

    def encode(self, text: str) -> np.ndarray:
        found = self.encode_normal([self.normalizer(text)])[0]
        return found if len(found) else np.array([UNK_ID], dtype=np.int64)

    def encode_normal(self, texts: list[str]) -> list[np.ndarray]:
        """int64 ids of texts that are in normal form already; "" gives an empty array."""
        ids = self._chunks.__getitem__
        return [
            np.fromiter(chain.from_iterable(map(ids, _CHUNK.findall(text))), dtype=np.int64)
            for text in texts
        ]

    def _encode_chunk(self, chunk: str) -> list[int]:
        return [i + len(SPECIALS) for i in self.model.encode(chunk).ids]

    def pieces(self, text: str) -> list[str]:
        """The readable piece of text behind each id; the byte string where it is no whole text."""
        ids = self.encode(text)
        shown = [UNK if i == UNK_ID else self.decode([i]) for i in ids]
        return [self.vocab[i] if UNKNOWN_CHAR in piece else piece for i, piece in zip(ids, shown)]

    def tokens(self, text: str) -> list[str]:
        return self.pieces(text)

    def decode(self, ids: Iterable[int]) -> str:
        """Exact where no id is special; <pad> vanishes, <unk> is shown as one odd character."""
        parts: list[str] = []
        run: list[int] = []
        for i in ids:
            if i > UNK_ID:
                run.append(int(i) - len(SPECIALS))
            elif i == UNK_ID:
                parts += [self.model.decode(run), UNKNOWN_CHAR]
                run = []
        return "".join(parts) + self.model.decode(run)

    def options(self) -> dict[str, Any]:
        return {"model": json.loads(self.model.to_str())}

    @classmethod
    def restore(cls, vocab: Vocab, normalizer: Normalizer, stored: dict[str, Any]) -> BPETokenizer:
        try:
            model = RustTokenizer.from_str(json.dumps(stored["model"]))
        except Exception as error:  # the Rust side raises plain Exception
            raise ValueError(str(error)) from None
        tokenizer = cls(model, normalizer=normalizer)
        if tokenizer.vocab.tokens != vocab.tokens:
            raise ValueError("the model and the vocabulary do not belong together")
        return tokenizer


TOKENIZERS: dict[str, type[Tokenizer]] = {
    "char": CharTokenizer,
    "word": WordTokenizer,
    "bpe": BPETokenizer,
}
