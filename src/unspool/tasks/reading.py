"""One input as the model of a task reads it: what is recorded, and what is asked for reasons.

In: a model and an input. Out: the scores of its answers, and what its tokens, its steps and its
answers are called. `Task.reading` makes one, `trace` records it, `saliency` asks it for gradients.
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor, nn

from unspool.data.fields.tokens import TokenBatch, Tokens, number_words
from unspool.data.store.ragged import Ragged
from unspool.errors import DataError
from unspool.nn.encoder import Encoder
from unspool.nn.multihead import MultiHeadAttention
from unspool.nn.network import Network
from unspool.text.tokenizers import Tokenizer
from unspool.text.vocab import BEGIN, END, UNK, UNK_ID

LONGEST = 2048  # tokens of an input that are looked at
WEIGHTS = 64_000_000  # attention weights that a recorded run may make
CLS = "(cls)"  # stands for the learned vector before a text
SILENT = (CLS, BEGIN, END, UNK)


class AnswerText(NamedTuple):
    """The answer to a whole input in words, and what is to be added to it."""

    answer: str
    note: str = ""


class StepLattice(NamedTuple):
    """What a model that writes fewer tokens than it reads steps says at each of them.

    names          (V) of the tokens, and of the blank
    probabilities  (P, V)
    text           of the best path
    places         of each token of the text: its name, the first step, and that behind the last
    duration       of a step
    """

    names: list[str]
    probabilities: np.ndarray
    text: str
    places: list[tuple[str, int, int]]
    duration: float


class Reading(ABC):
    """A model's run on one input: T tokens in, scores (P, C) of C answers at P steps out.

    task         whose input it is
    model        that reads it
    ids          (T,) of the tokens, where the model reads ids
    text         the input
    tokens       (T) as the model reads them; those outside of its vocabulary are `marked`
    asked        (P) what each step is called: a token, or "" where one answer is for all
    written      what a translation consists of; of other tasks nothing
    candidates   the best few translations
    copied       of each token of a translation, by a model that copies, where it comes from
    whole        tokens of the whole input, of which only the first T are looked at
    backwards    whether the network reads the last token first
    first_step   of the input, the step that the first token is; negative where tokens stand before
    elements     names of the elements of the vectors that `input_module` reads, where people know
                 them: the channels of a series
    measure      what the values of answers are: probabilities, or numbers
    cost         tokens that a step counts as, where a network of its own reads each
    least        of `explained`, below which an answer is impossible: such a tag is in no allowed
                 sequence of tags
    """

    task: Any
    model: Any
    ids: np.ndarray
    written: Sequence[str] = ()
    candidates: Sequence[Any] = ()
    copied: Sequence[Any] = ()
    backwards = False
    first_step = 0
    cost = 1
    elements: Sequence[str] = ()
    measure: ClassVar[str] = "probability"
    least: ClassVar[float] = -500.0

    def __init__(self, text: str, tokens: Sequence[str], whole: int) -> None:
        self.text, self.tokens, self.whole = text, list(tokens), whole

    @property
    def asked(self) -> Sequence[str]:
        return self.tokens

    @property
    def all_tokens(self) -> Sequence[str]:
        """The tokens of all that is read, also where a step is more than one of them."""
        return self.tokens

    def default_step(self) -> int:
        """The step that is asked about unless another is named."""
        return len(self.asked) - 1

    def lattice(self) -> StepLattice | None:
        """The lattice of a model that writes where it reads, but fewer tokens; None for others."""
        return None

    def doubled(self) -> Self:
        """The same by a copy of the model that computes in float64."""
        found = copy.copy(self)
        found.model = copy.deepcopy(self.model).double()
        return found

    def run(self, copies: int = 1) -> Tensor:
        """Scores (copies, P, C) of the same input several times."""
        return self.together([self] * copies)

    @abstractmethod
    def together(self, readings: Sequence[Any]) -> Tensor:
        """Scores (R, P, C) of readings of this kind and of one length, each a row of a batch."""

    @abstractmethod
    def chosen(self, scores: Tensor) -> list[int]:
        """(P) the answers that the model gives, or of a text that goes on: what does stand next."""

    @abstractmethod
    def name(self, answer: int) -> str:
        """An answer in words: a label, a tag, a token."""

    @abstractmethod
    def without(self, token: int) -> Reading:
        """The same reading without one token."""

    @abstractmethod
    def blank(self) -> Reading:
        """The same with every token unknown."""

    def removable(self, step: int) -> list[int]:
        """The tokens without which there is still something to read, and the step to ask about."""
        return [t for t in range(len(self.tokens)) if t != step]

    def moved(self, step: int, token: int) -> int:
        """Where a step is in the reading without `token`."""
        return step - (token < step)

    def values(self, scores: Tensor) -> Tensor:
        """What is shown of the scores, by its name `measure`: (P, C) -> (P, C)"""
        return scores.float().softmax(-1)

    def best(self, values: Tensor, answer: int) -> int:
        """The answer that the model would give for `values` (C,) at one step."""
        return int(values.argmax())

    def given(self, values: Tensor) -> list[int] | None:
        """The answers for `values` (C,) at one step, where any number may apply."""
        return None

    def answer_text(self, scores: Tensor) -> AnswerText:
        """The answer to the whole input, from scores (P, C): here that of the first step."""
        answer = self.chosen(scores)[0]
        value = float(self.values(scores)[0, answer])
        return AnswerText(self.name(answer), f"{self.measure} {value:.4f}")

    def unit(self, answer: int) -> float:
        """What 1 of `explained` is in the units that people know the answer in."""
        return 1.0

    def explained(self, scores: Tensor, step: int, answer: int) -> Tensor:
        """What reasons are given for: (copies, P, C) -> (copies,)

        The log odds log p / (1 - p) of an answer at a step.
        Unlike a logit it says something of two classes too, and unlike log p it stays steep where p
        is near 1.
        """
        x = scores[:, step].double()
        others = torch.cat([x[:, :answer], x[:, answer + 1 :]], 1)
        return x[:, answer] - others.logsumexp(1)

    @property
    def network(self) -> Network:
        """The layers that read the vectors of the tokens."""
        network = self.model.encoder.network
        assert isinstance(network, Network)
        return network

    @property
    def input_module(self) -> nn.Module:
        """What reads the vectors that an answer is explained by, one a token: the network."""
        return self.network

    @property
    def token_spans(self) -> list[tuple[int, int]]:
        """The input steps of each token: the first, and the one after the
        last."""
        first = self.first_step
        return [(first + t, first + t + 1) for t in range(len(self.tokens))]

    @property
    def spans(self) -> list[tuple[int, int]]:
        """The input steps that each step of the network reads."""
        return self.token_spans

    @property
    def network_tokens(self) -> Sequence[str]:
        """What the steps of the network are called."""
        return self.tokens


def longest(model: nn.Module) -> int:
    """Tokens that are looked at: so many that the weights of all heads fit into memory."""
    heads = sum(m.heads for m in model.modules() if isinstance(m, MultiHeadAttention))
    return min(LONGEST, math.isqrt(WEIGHTS // heads)) if heads else LONGEST


def names_before(encoder: nn.Module) -> list[str]:
    """What an encoder puts before the tokens of a text."""
    return [CLS] if isinstance(encoder, Encoder) and encoder.cls is not None else []


def unknown(tokenizer: Tokenizer) -> int:
    """The id of the least informative token; pretrained vocabularies name it differently."""
    names = [name for name in (UNK, "[UNK]", "<|endoftext|>") if name in tokenizer.vocab]
    return tokenizer.vocab.index[names[0]] if names else UNK_ID


def shown(tokenizer: Tokenizer, ids: Sequence[int]) -> list[str]:
    return [token or " " for token in tokenizer.shown(ids)]


def named(
    tokenizer: Tokenizer, ids: Sequence[int], pieces: Sequence[str], *, first: int = 0
) -> list[str]:
    """What the tokens of a text are called: pieces that are not in the vocabulary, for each of
    which the model reads <unk>, by themselves, but marked. `first`: ids before those of pieces."""
    names = shown(tokenizer, ids)
    if tokenizer.vocab.index.get(UNK) == UNK_ID:
        for at, piece in enumerate(pieces[: len(names) - first], first):
            if ids[at] == UNK_ID and piece != UNK:
                names[at] = marked(piece)
    return names


def longest_token(names: Sequence[str]) -> int:
    """Which of some tokens is likely to say most: the longest, of those that stand in the text; of
    several that long the middle one."""
    sizes = [0 if name in SILENT else len(name) for name in names]
    longest = [at for at, size in enumerate(sizes) if size == max(sizes)]
    return longest[len(longest) // 2]


def marked(piece: str) -> str:
    """A piece that is not in the vocabulary."""
    return f"‹{piece}›"


def is_marked(name: str) -> bool:
    return len(name) > 2 and name[0] == "‹" and name[-1] == "›"


def token_batch(
    field: Any, ids: Sequence[np.ndarray], pieces: Sequence[Sequence[str]] | None = None
) -> TokenBatch:
    """Texts whose ids, and where they are spelled the tokens, are known."""
    words, types = (None, []) if pieces is None else number_words(pieces)
    tokens = Tokens(Ragged.of(ids), words=words, types=types)
    return field.collate(tokens, np.arange(len(ids)))


def nothing() -> DataError:
    return DataError("there is nothing to look at: the text is empty", remedy="give some words")
