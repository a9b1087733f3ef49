"""Token vectors from elsewhere: word vectors from a file, or vectors in context from an `elmo` run.

`embedding.from` names word vectors (`vectors/`) that the embedding of any task's model starts from.
They become weights like others: a run does not need the file again. Vectors in context come from a
module that is built from the settings of the `elmo` run and reads the spelling of words; they are
extra features next to the embedding.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import nn

from unspool.config import Config, ModelConfig
from unspool.data.fields.spelling import BYTE_IDS, SpelledWords, collate_words
from unspool.data.fields.tokens import Tokens, number_words
from unspool.data.part import Part
from unspool.errors import ConfigError, Option
from unspool.nn.elmo import Contextual, ElmoOptions
from unspool.nn.inputs import SharedEmbedding, TokenEmbedding
from unspool.tasks.encoder import checked_options
from unspool.tasks.task import Task
from unspool.text.tokenizers import Tokenizer, WordTokenizer
from unspool.text.vocab import Vocab
from unspool.vectors import WordVectors
from unspool.vectors.files import size_of


def elmo_options(model: ModelConfig) -> ElmoOptions:
    return ElmoOptions(
        symbols=BYTE_IDS,
        character=model.character_embedding,
        filters=model.filters,
        widths=model.widths,
        highways=model.highways,
        size=model.projection,
        hidden=model.hidden,
        layers=model.layers,
        cell=model.cell,
        cell_options=checked_options(model),
        dropout=model.dropout,
    )


def build_contextual(config: Config) -> Contextual | None:
    """The contextual vectors that a config asks for, None where it does not."""
    if config.embedding.contextual is None:
        return None
    return Contextual(
        elmo_options(config.embedding.contextual),
        tuned=config.embedding.tuned,
        dropout=config.model.dropout,
    )


def contextual_size(config: Config) -> int:
    model = config.embedding.contextual
    return 0 if model is None else 2 * model.projection


def refuse_other_tokens(config: Config, tokenizer: Tokenizer) -> None:
    """Contextual vectors are of words."""
    if config.embedding.contextual is not None and tokenizer.kind != "word":
        raise ConfigError(
            "contextual vectors are those of words",
            got=f"tokenizer.kind={tokenizer.kind}",
            remedy=("set kind=word, or leave out ", Option("start")),
        )


def example_words(count: int) -> SpelledWords:
    """A text of `count` words, for a summary."""
    words, types = number_words([["a"] * count])
    return collate_words(Tokens(words, types=types), np.array([0]))


def mix_report(model: nn.Module) -> dict[str, Any]:
    """Weights by which a model mixes the layers of its contextual vectors, if it has any."""
    contextual = getattr(model, "contextual", None)
    if not isinstance(contextual, Contextual):
        return {}
    shares = [round(s, 4) for s in contextual.mix.shares().tolist()]
    return {"mix": {"layers": shares, "gamma": round(contextual.mix.gamma.item(), 4)}}


EMBEDDING = "encoder.input.embedding"  # of what a model reads, in every task
STRETCH = 1 << 20  # tokens of a text counted at once


def vector_settings(values: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that follow from vectors: their size, and that a token is a word."""
    path = values.get("embedding.from", values.get("from"))
    if path is None or path == "none":
        return {}
    transformer = values.get("model.network") == "transformer"
    size = "model.hidden" if transformer else "model.embedding"
    return {size: size_of(str(path)), "tokenizer.kind": "word"}


def check_embedding(config: Config) -> None:
    """Refuse, with a reason, settings that do not go together with those of the embedding."""
    model, path = config.model, config.embedding.file
    name = "hidden" if model.network == "transformer" else "embedding"
    if path is not None and getattr(model, name) != (size := size_of(path)):
        raise ConfigError(
            f"the vectors have {size} elements",
            where=path,
            got=f"model.{name}={getattr(model, name)}",
            remedy="leave the setting out",
        )
    if config.embedding.extend and path is None:
        raise ConfigError(
            "embedding.extend needs the vectors of a file",
            remedy="name it with embedding.from, or leave out extend",
        )
    if config.embedding.extend and config.tokenizer.joint:
        raise ConfigError(
            "embedding.extend adds words of what is read, and both sides share one vocabulary",
            got="tokenizer.joint=true",
            remedy="leave one of the two out",
        )
    if not config.embedding.frozen:
        return
    if model.network != "transformer" and model.embedding == 0:
        raise ConfigError(
            "embedding.frozen needs token vectors, and one-hot vectors are none",
            got="model.embedding=0",
            remedy="leave one of the two out",
        )
    if config.train.freeze != "none":
        raise ConfigError(
            "train.freeze decides when the encoder learns, its embedding included",
            got="embedding.frozen=true",
            remedy="leave one of the two out",
        )


def extended(tokenizer: Tokenizer, vectors: WordVectors, limit: int) -> WordTokenizer:
    """The tokenizer with words that only the vectors have, the first ones, up to `limit` tokens."""
    if not isinstance(tokenizer, WordTokenizer):
        raise ConfigError(
            "embedding.extend adds words to the vocabulary, and its tokens are no words",
            got=f"tokenizer.kind={tokenizer.kind}",
            remedy="set kind=word, or leave out extend",
        )
    vocab = tokenizer.vocab
    new = (w for w in vectors.words if w not in vocab and tokenizer.normalizer(w) == w)
    tokens = [*vocab.tokens, *islice(new, max(0, limit - len(vocab)))]
    return WordTokenizer(
        Vocab(tokens, specials=vocab.specials),
        normalizer=tokenizer.normalizer,
        split=tokenizer.split,
        newlines=tokenizer.newlines,
    )


def token_embedding(model: nn.Module) -> TokenEmbedding:
    """The embedding of what a model reads."""
    layer = model.get_submodule(EMBEDDING)
    embedding = layer.owner if isinstance(layer, SharedEmbedding) else layer
    assert isinstance(embedding, TokenEmbedding)  # `check_embedding` has refused one-hot vectors
    return embedding


def freeze_embedding(model: nn.Module) -> None:
    token_embedding(model).weight.requires_grad_(False)


def place_vectors(model: nn.Module, task: Task, vectors: WordVectors, part: Part) -> str:
    """Put vectors into the embedding of a new model; returns a line about how many there were.

    A word without a vector of its own gets that of its lower case; else it keeps chance, with the
    spread of the vectors. `part` is the training part, whose words are counted.
    """
    embedding = token_embedding(model)
    tokens = task.tokenizer.vocab.tokens
    rows = [
        None if token in task.tokenizer.vocab.specials else vectors.find(token) for token in tokens
    ]
    known = np.array([row is not None for row in rows])
    if not known.any():
        raise ConfigError(
            "no token of the vocabulary has a vector",
            where=vectors.source,
            got=f"tokens such as {', '.join(map(repr, tokens[-3:]))}",
            remedy="set kind=word, or lowercase=true, or give other vectors",
        )
    taken = torch.from_numpy(vectors.matrix[[row for row in rows if row is not None]])
    with torch.no_grad():
        weight = embedding.weight
        weight.mul_(taken.std(correction=0) / weight.std())
        weight[torch.from_numpy(known)] = taken.to(weight.dtype)
        weight.div_(embedding.scale)
    return _coverage(vectors, tokens, known, occurrences(part[task.input], len(tokens)))


def _coverage(
    vectors: WordVectors, tokens: list[str], covered: np.ndarray, counts: np.ndarray
) -> str:
    folded = sum(1 for token, known in zip(tokens, covered) if known and token not in vectors)
    return (
        f"vectors of {vectors.source}, {vectors.size} elements: {covered.sum():,} of"
        f" {len(tokens):,} tokens in the vocabulary ({folded:,} in lower case),"
        f" {100 * counts[covered].sum() / max(1, counts.sum()):.1f} % of the training text"
    )


def occurrences(tokens: Tokens, vocab: int) -> np.ndarray:
    """(vocab,) how often each token is read in a part of a corpus."""
    counts = np.zeros(vocab, np.int64)
    for row in range(len(tokens)):
        for start in range(0, int(tokens.sizes[row]), STRETCH):
            stop = min(start + STRETCH, int(tokens.sizes[row]))
            np.add.at(counts, tokens.slice(row, start, stop), 1)
    return counts
