"""Fitted tokenizers: a text in, ids out, and back; characters, words, or pieces of words.

Every tokenizer knows how to write itself as JSON and to come back from it, so that a run folder
needs nothing else to read new text.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from unspool.errors import RunError
from unspool.text.vocab import SEP, SPECIALS, UNK_ID, ForeignVocab, Vocab
from unspool.text.words import FORMS, SPLITTERS, ChunkCache, Normalizer, join, words

if TYPE_CHECKING:  # the Rust library is loaded by those who cut words into pieces
    from tokenizers import Tokenizer as RustTokenizer

UNKNOWN_CHAR = "\ufffd"
CONTEXT = 8  # characters: what a normal form, with its case, may look back
NFC = Normalizer()


class Frame(NamedTuple):
    """The ids that stand before and after every document, such as BERT's [CLS] and [SEP]."""

    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        return len(self.before) + len(self.after)

    def around(self, ids: np.ndarray) -> np.ndarray:
        # numpy takes an empty tuple for floats, which would round numbers beyond 2^53.
        before, after = (np.array(special, dtype=np.int64) for special in self)
        return np.concatenate([before, ids, after]).astype(np.int64)


class PairFrame(NamedTuple):
    """The ids that stand before, between and after two texts that are read as one sequence."""

    before: tuple[int, ...] = ()
    between: tuple[int, ...] = ()
    after: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        return len(self.before) + len(self.between) + len(self.after)


class Tokenizer(ABC):
    """Text to ids of `vocab` and back, after the normal form."""

    kind: ClassVar[str]
    vocab: Vocab
    normalizer: Normalizer
    frame: Frame = Frame()

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
        """Options that `to_json` stores besides the vocabulary and the normal form."""

    def ids(self, text: str) -> np.ndarray:
        """int64 ids (T,) of the pieces of a text, none where it has none."""
        ids = list(map(self.vocab.index.get, self.pieces(text), repeat(UNK_ID)))
        return np.array(ids, dtype=np.int64)

    def encode(self, text: str) -> np.ndarray:
        """int64 ids (T,), never empty: a text without tokens is one <unk>."""
        ids = self.ids(text)
        return ids if len(ids) else np.array([UNK_ID], dtype=np.int64)

    def open_end(self, text: str) -> str:
        """The end of a text, whose pieces may be others once the text goes on."""
        body = text.rstrip()
        last = body.rsplit(None, 1)[-1:]
        return text[len(body) - len("".join(last)) :]

    def document(self, text: str, *, limit: int = 0) -> np.ndarray:
        """The ids of a text within their frame, at most `limit` of them (0: all)."""
        room = max(0, limit - self.frame.size) if limit else None
        return self.frame.around(self.encode(text)[:room])

    @property
    def pair_frame(self) -> PairFrame:
        """A vocabulary that was made for single texts has no <sep>: <unk> stands for it."""
        specials = self.vocab.specials
        return PairFrame(between=(specials.index(SEP) if SEP in specials else UNK_ID,))

    def special_ids(self) -> list[int]:
        """The ids that stand for no piece of text: none of them is to be written."""
        return list(range(len(self.vocab.specials)))

    def tokens(self, text: str) -> list[str]:
        """Tokens that the model sees, one string per id of `encode`; unknown pieces are <unk>."""
        return self.shown(self.encode(text))

    def shown(self, ids: Iterable[int]) -> list[str]:
        """One readable string an id."""
        return [self.vocab[i] for i in ids]

    def to_json(self) -> dict[str, Any]:
        specials = self.vocab.specials
        return {
            "kind": self.kind,
            "normalize": self.normalizer.form,
            "lowercase": self.normalizer.lowercase,
            **self.options(),
            **({"specials": list(specials)} if specials != SPECIALS else {}),
            "vocab": self.vocab.tokens,
        }

    @staticmethod
    def from_json(stored: Any, *, where: object = None) -> Tokenizer:
        """The tokenizer that `to_json` described; anything else is a RunError."""
        try:
            return TOKENIZERS[stored["kind"]].restore(stored)
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
            raise RunError(
                "the stored tokenizer cannot be read",
                where=where,
                got=f"{type(error).__name__}: {error}",
                remedy="the run folder is damaged or from another version; train again",
            ) from None

    @classmethod
    @abstractmethod
    def restore(cls, stored: dict[str, Any]) -> Tokenizer:
        """The tokenizer from its JSON; a KeyError, TypeError or ValueError where that is wrong."""


def stored_parts(stored: dict[str, Any]) -> tuple[Vocab, Normalizer]:
    """The vocabulary and the normal form of a tokenizer's JSON."""
    form, lowercase, tokens = stored["normalize"], stored["lowercase"], stored["vocab"]
    if form not in FORMS or not isinstance(lowercase, bool):
        raise ValueError("the normal form is not one this version knows")
    if not isinstance(tokens, list) or not all(isinstance(t, str) for t in tokens):
        raise ValueError("the vocabulary is not a list of strings")
    vocab = Vocab(tokens, specials=stored.get("specials", SPECIALS))
    return vocab, Normalizer(form, lowercase)


class CharTokenizer(Tokenizer):
    """One token a Unicode code point."""

    kind = "char"

    def __init__(self, vocab: Vocab, *, normalizer: Normalizer = NFC) -> None:
        self.vocab, self.normalizer = vocab, normalizer
        first = len(vocab.specials)
        self._shown = ["", UNKNOWN_CHAR, *[""] * (first - 2), *vocab.tokens[first:]]

    def pieces(self, text: str) -> list[str]:
        return list(self.normalizer(text))

    def open_end(self, text: str) -> str:
        return text[-CONTEXT:]

    def decode(self, ids: Iterable[int]) -> str:
        """Exact on known characters; <unk> is shown as one odd character, other specials vanish."""
        return "".join(self._shown[i] for i in ids)

    def options(self) -> dict[str, Any]:
        return {}

    @classmethod
    def restore(cls, stored: dict[str, Any]) -> CharTokenizer:
        vocab, normalizer = stored_parts(stored)
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
        first = len(self.vocab.specials)
        return join((self.vocab[i] for i in ids if i >= first or i == UNK_ID), split=self.split)

    def options(self) -> dict[str, Any]:
        return {"split": self.split, "newlines": self.newlines}

    @classmethod
    def restore(cls, stored: dict[str, Any]) -> WordTokenizer:
        vocab, normalizer = stored_parts(stored)
        split, newlines = stored["split"], stored["newlines"]
        if split not in SPLITTERS or not isinstance(newlines, bool):
            raise ValueError("the rules for splitting words are not ones this version knows")
        return cls(vocab, normalizer=normalizer, split=split, newlines=newlines)


# Byte pairs never reach from a word into the space after it, so a text may be cut there.
_CHUNK = re.compile(r"\s*\S+|\s+")


class SubwordTokenizer(Tokenizer):
    """A tokenizer of pieces of words, by a model of the Rust library."""

    model: RustTokenizer

    @abstractmethod
    def encode_normal(self, texts: list[str]) -> list[np.ndarray]:
        """int64 ids of texts that are in normal form already; "" gives an empty array."""


def read_model(stored: dict[str, Any]) -> RustTokenizer:
    """The Rust model of a tokenizer's JSON."""
    from tokenizers import Tokenizer as RustTokenizer

    try:
        return RustTokenizer.from_str(json.dumps(stored["model"]))
    except Exception as error:  # the Rust side raises plain Exception
        raise ValueError(str(error)) from None


class BPETokenizer(SubwordTokenizer):
    """Byte-level byte-pair encoding (Sennrich et al. 2016): no text is unknown, decoding is exact.

    The Rust model counts from 0 and knows no special tokens; ids here are shifted by theirs, so
    that a text which spells out "<pad>" is encoded like any other.
    """

    kind = "bpe"

    def __init__(
        self,
        model: RustTokenizer,
        *,
        normalizer: Normalizer = NFC,
        specials: Sequence[str] = SPECIALS,
    ) -> None:
        self.model, self.normalizer = model, normalizer
        strings = [model.id_to_token(i) or "" for i in range(model.get_vocab_size())]
        self.vocab = Vocab([*specials, *strings], specials=specials)
        self._chunks = ChunkCache(self._encode_chunk)

    def ids(self, text: str) -> np.ndarray:
        return self.encode_normal([self.normalizer(text)])[0]

    def encode_normal(self, texts: list[str]) -> list[np.ndarray]:
        ids = self._chunks.__getitem__
        return [
            np.fromiter(chain.from_iterable(map(ids, _CHUNK.findall(text))), dtype=np.int64)
            for text in texts
        ]

    def _encode_chunk(self, chunk: str) -> list[int]:
        first = len(self.vocab.specials)
        return [i + first for i in self.model.encode(chunk).ids]

    def pieces(self, text: str) -> list[str]:
        return self.shown(self.encode(text))

    def shown(self, ids: Iterable[int]) -> list[str]:
        """The piece of text behind each id; its byte string where it is no whole text."""
        first, pieces = len(self.vocab.specials), []
        for i in ids:
            piece = self.decode([i]) if i >= first else self.vocab[i]
            pieces.append(self.vocab[i] if UNKNOWN_CHAR in piece else piece)
        return pieces

    def decode(self, ids: Iterable[int]) -> str:
        """Exact; <unk> is shown as one odd character, other specials vanish."""
        first = len(self.vocab.specials)
        parts: list[str] = []
        run: list[int] = []
        for i in ids:
            if i >= first:
                run.append(int(i) - first)
            elif i == UNK_ID:
                parts += [self.model.decode(run), UNKNOWN_CHAR]
                run = []
        return "".join(parts) + self.model.decode(run)

    def options(self) -> dict[str, Any]:
        return {"model": json.loads(self.model.to_str())}

    @classmethod
    def restore(cls, stored: dict[str, Any]) -> BPETokenizer:
        vocab, normalizer = stored_parts(stored)
        tokenizer = cls(read_model(stored), normalizer=normalizer, specials=vocab.specials)
        if tokenizer.vocab.tokens != vocab.tokens:
            raise ValueError("the model and the vocabulary do not belong together")
        return tokenizer


class PretrainedTokenizer(SubwordTokenizer):
    """The tokenizer of a pretrained model (`pretrained.py` reads it), with its own ids.

    Special tokens may have any id; a text that spells one out means it, as where it was trained.
    The vocabulary has `size` tokens, as many as the model has vectors for.
    """

    kind = "pretrained"

    def __init__(self, model: RustTokenizer, size: int) -> None:
        model.no_truncation()
        model.no_padding()
        self.model, self.normalizer = model, Normalizer("none")
        known = model.get_vocab(with_added_tokens=True)
        if max(known.values(), default=0) >= size:
            raise ValueError(f"{max(known.values()) + 1} tokens, of which the model knows {size}")
        added = model.get_added_tokens_decoder()
        self.vocab = ForeignVocab(
            [model.id_to_token(i) or "" for i in range(size)],
            specials=[token.content for token in added.values() if token.special],
        )
        encoded = model.encode("a")
        inside = [i for i, special in enumerate(encoded.special_tokens_mask) if not special]
        first, last = (inside[0], inside[-1]) if inside else (len(encoded.ids), len(encoded.ids))
        self.frame = Frame(tuple(encoded.ids[:first]), tuple(encoded.ids[last + 1 :]))

    @property
    def pair_frame(self) -> PairFrame:
        """Special tokens around a pair: [CLS] a [SEP] b [SEP], or <s> a </s></s> b </s>."""
        encoded = self.model.encode("a", "b")
        inside = [i for i, special in enumerate(encoded.special_tokens_mask) if not special]
        second = next((i for i in inside if encoded.sequence_ids[i] == 1), len(encoded.ids))
        first = [i for i in inside if encoded.sequence_ids[i] == 0]
        start, stop = (first[0], first[-1] + 1) if first else (0, 0)
        ids, last = encoded.ids, inside[-1] + 1 if inside else len(encoded.ids)
        between = tuple(ids[stop:second]) or tuple(self.special_ids()[:1])  # GPT-2 has none
        return PairFrame(tuple(ids[:start]), between, tuple(ids[last:]))

    def ids(self, text: str) -> np.ndarray:
        return self.encode_normal([text])[0]

    def encode(self, text: str) -> np.ndarray:
        """Without the frame; empty only where there is one."""
        ids = self.ids(text)
        return ids if len(ids) or self.frame.size else np.array(self.special_ids()[:1])

    def encode_normal(self, texts: list[str]) -> list[np.ndarray]:
        encodings = self.model.encode_batch(texts, add_special_tokens=False)
        return [np.array(encoding.ids, dtype=np.int64) for encoding in encodings]

    def special_ids(self) -> list[int]:
        return [self.vocab.index[token] for token in self.vocab.specials]

    def pieces(self, text: str) -> list[str]:
        return self.model.encode(text, add_special_tokens=False).tokens

    def decode(self, ids: Iterable[int]) -> str:
        """Special tokens vanish."""
        return self.model.decode([int(i) for i in ids])

    def options(self) -> dict[str, Any]:
        return {"model": json.loads(self.model.to_str()), "size": len(self.vocab)}

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, **self.options()}

    @classmethod
    def restore(cls, stored: dict[str, Any]) -> PretrainedTokenizer:
        return cls(read_model(stored), int(stored["size"]))


TOKENIZERS: dict[str, type[Tokenizer]] = {
    "char": CharTokenizer,
    "word": WordTokenizer,
    "bpe": BPETokenizer,
    "pretrained": PretrainedTokenizer,
}
