"""The answer `neighbours` of the page: tokens whose vectors are alike.

In: a token, or a text out of which one is chosen. Out: the nearest tokens in the model's own table
of vectors, and a map of them; or why the model has no such table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from torch import nn

from unspool.errors import DataError, choose
from unspool.nn.inputs import SharedEmbedding, TokenEmbedding
from unspool.nn.models.seq2seq import Seq2Seq
from unspool.page.subject import Query, Subject
from unspool.tasks.abilities import GivesVectors, WritesTokens
from unspool.tasks.reading import CLS, is_marked
from unspool.text.tokenizers import Tokenizer
from unspool.text.vocab import PAD, UNK, UNK_ID
from unspool.vectors.picture import plane
from unspool.vectors.words import WordVectors

NEVER_READ = ("", PAD, "[PAD]")  # padding, and unused ids of a pretrained model

ONE_HOT = "this model reads one-hot vectors: no token is nearer to a second than to a third"
SPELLED = (
    "this model reads words by their characters: a word has no vector of its own, only one in its"
    " context, which `unspool vectors context` compares"
)


class VectorTable(NamedTuple):
    """The vectors of one side: what is read, or what is written."""

    tokenizer: Tokenizer
    weight: np.ndarray  # (V, E)

    def vectors(self) -> WordVectors:
        tokens = self.tokenizer.vocab.tokens
        kept = [i for i, token in enumerate(tokens) if token not in NEVER_READ]
        return WordVectors(
            [tokens[i] for i in kept], self.weight[kept], source="the model's vectors"
        )

    def knows(self, text: str) -> bool:
        ids = self.tokenizer.encode(text)
        return text in self.tokenizer.vocab.tokens or (len(ids) == 1 and ids[0] != UNK_ID)

    def token(self, text: str) -> str:
        """The token of the vocabulary that a text is; several are a DataError."""
        vocab, ids = self.tokenizer.vocab, self.tokenizer.encode(text)
        if len(ids) == 1:
            return vocab[int(ids[0])] if ids[0] != UNK_ID else text
        if text in vocab.tokens:
            return text
        names = self.shown([vocab[int(i)] for i in ids])
        raise DataError(
            f"these are {len(ids)} tokens",
            got=text,
            remedy="choose one of " + ", ".join(map(repr, names)),
        )

    def shown(self, tokens: list[str]) -> list[str]:
        """Tokens of the vocabulary as a trace shows them."""
        numbers = {token: i for i, token in enumerate(self.tokenizer.vocab.tokens)}
        return [name or " " for name in self.tokenizer.shown([numbers[t] for t in tokens])]


def tables(subject: Subject) -> dict[str, VectorTable]:
    """The tables of a model: `read`, and of a translator whose sides share none, `written`."""
    task, model = subject.task, subject.trained
    by_side = {}
    embedding = _embedding(model)
    if embedding is not None:
        by_side["read"] = VectorTable(task.tokenizer, _matrix(embedding))
    if isinstance(model, Seq2Seq) and not isinstance(embedding, SharedEmbedding):
        written = model.decoder.embedding
        assert isinstance(written, TokenEmbedding)
        assert isinstance(task, WritesTokens)
        by_side["written"] = VectorTable(task.target_tokenizer, _matrix(written))
    return by_side


def _embedding(model: nn.Module) -> TokenEmbedding | SharedEmbedding | None:
    encoder = getattr(model, "encoder", None)
    embedding = getattr(getattr(encoder, "input", None), "embedding", None)
    return embedding if isinstance(embedding, TokenEmbedding | SharedEmbedding) else None


def _matrix(embedding: TokenEmbedding | SharedEmbedding) -> np.ndarray:
    return embedding.weight.detach().float().numpy()


def neighbours(subject: Subject, query: Query) -> dict[str, Any]:
    by_side = tables(subject)
    if not by_side:
        spelled = isinstance(subject.task, GivesVectors) or subject.task.config.embedding.contextual
        return {"none": SPELLED if spelled else ONE_HOT}
    side = choose("side", query["side"], by_side) if query["side"] else next(iter(by_side))
    table = by_side[side]
    tokens = _tokens(subject, query["text"], side, table.knows)
    word = query["word"] or _default_word(table, tokens)
    word = UNK if is_marked(word) and not table.knows(word) else word
    vectors = table.vectors()
    known = vectors.words[vectors.id(table.token(word))]
    near = vectors.neighbours(known, top=query.number("top", least=1, most=200))
    names = table.shown([known, *(each.word for each in near)])
    points = plane(vectors, [known, *(each.word for each in near)])
    return {
        "none": None,
        "sides": list(by_side),
        "side": side,
        "size": len(vectors),
        "elements": vectors.size,
        "spelled": getattr(subject.trained, "characters", None) is not None,
        "tokens": tokens,
        "word": names[0],
        "neighbours": [
            {"token": name, "similarity": each.similarity} for name, each in zip(names[1:], near)
        ],
        "map": [{"token": name, "x": x, "y": y} for name, (x, y) in zip(names, points.tolist())],
    }


def _tokens(subject: Subject, text: str, side: str, known: Callable[[str], bool]) -> list[str]:
    """The different tokens of a text, or of its translation; those without a vector are marked."""
    if not text.strip():
        return []
    reading = subject.read(text)
    tokens = reading.input.all_tokens if side == "read" else reading.answer.tokens
    return list(dict.fromkeys(t if known(t) or is_marked(t) else UNK for t in tokens if t != CLS))


def _default_word(table: VectorTable, tokens: list[str]) -> str:
    """The longest token of a text; without one, the first of the vocabulary."""
    known = [token for token in tokens if token != UNK and not is_marked(token)]
    special = set(table.tokenizer.special_ids())
    ordinary = (i for i in range(len(table.tokenizer.vocab)) if i not in special)
    return max(known, key=len) if known else table.tokenizer.shown([next(ordinary, UNK_ID)])[0]
