"""One input as the model of a task reads it: what is recorded, and what is asked for reasons.

In: a model and an input. Out: the scores of its answers, and what its tokens, its steps and its
answers are called. `Task.reading` makes one, `trace` records it, `saliency` asks it for gradients.
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self, final

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
    """Probabilities at each step of a model that writes fewer tokens than it reads steps.

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


class InputView(ABC):
    """One input as the model reads it: T tokens, or the steps of a series.

    text          the input, for people
    tokens        (T) as the model reads them; those outside of its vocabulary are `marked`
    full_length   tokens of the whole input, of which only the first T are read
    before        names of the vectors that the encoder puts before the tokens
    backwards     whether the network reads the last token first
    first_step    step of the whole input that the first token is; negative after `before`
    step_cost     tokens that a step counts as, where a network of its own reads each
    elements      names of the elements of the vectors that `input_module` reads, where they have
                  any: the channels of a series
    keeps_length  whether a step that is removed leaves a gap, rather than moving later ones
    windows       of which only the first is read
    """

    before: Sequence[str] = ()
    backwards = False
    first_step = 0
    step_cost = 1
    elements: Sequence[str] = ()
    keeps_length: ClassVar[bool] = False
    windows = 1

    def __init__(
        self, task: Any, model: Any, text: str, tokens: Sequence[str], full_length: int
    ) -> None:
        self.task, self.model, self.text = task, model, text
        self.tokens, self.full_length = list(tokens), full_length

    @abstractmethod
    def batch(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """Arguments of the model for several inputs like this one, of the same length."""

    @abstractmethod
    def without(self, token: int) -> Self:
        """The same input without one token."""

    @abstractmethod
    def blank(self) -> Self:
        """The same input with every token unknown."""

    def removable(self) -> list[int]:
        """The tokens that can be left out: all, as long as one remains."""
        tokens = range(len(self.before), len(self.tokens))
        return list(tokens) if len(tokens) > 1 else []

    def changed(self, **values: Any) -> Self:
        """A copy with other values of some attributes."""
        new = copy.copy(self)
        vars(new).update(values)
        return new

    def tokens_without(self, token: int) -> list[str]:
        return self.tokens[:token] + self.tokens[token + 1 :]

    @property
    def all_tokens(self) -> Sequence[str]:
        """The tokens of all that is read, also where a step is more than one of them."""
        return self.tokens

    @property
    def network(self) -> Network:
        """The layers that read the vectors of the tokens."""
        network = self.model.encoder.network
        assert isinstance(network, Network)
        return network

    @property
    def input_module(self) -> nn.Module:
        """The module whose input vectors, one a token, explain an answer."""
        return self.network

    @property
    def token_spans(self) -> list[tuple[int, int]]:
        """The input steps [first, stop) of each token."""
        first = self.first_step
        return [(first + t, first + t + 1) for t in range(len(self.tokens))]

    @property
    def network_spans(self) -> list[tuple[int, int]]:
        """The input steps that each step of the network reads."""
        return self.token_spans

    @property
    def network_tokens(self) -> Sequence[str]:
        """The names of the network's steps."""
        return self.tokens


class AnswerView(ABC):
    """Answers of the model to one input: scores (P, C) of C answers at P steps.

    measure       what `values` are: probabilities, or numbers
    independent   whether each answer is scored by itself, so that several may apply
    per_token     whether each input token is a step; else one answer is for all
    causal        whether a step sees only the tokens up to its own
    tokens        what a decoder writes or attends with, such as the tokens of a translation
    candidates    the best few translations
    ignored_taps  beginnings of the taps that see no steps of the input
    copied        for each token of a translation by a model that copies: its position in the source
    """

    measure: ClassVar[str] = "probability"
    independent: ClassVar[bool] = False
    per_token: ClassVar[bool] = False
    causal: ClassVar[bool] = False
    ignored_taps: ClassVar[tuple[str, ...]] = ()
    tokens: Sequence[str] = ()
    candidates: Sequence[Any] = ()
    copied: Sequence[Any] = ()

    def __init__(self, input: Any) -> None:
        self.input = input

    @property
    def task(self) -> Any:
        return self.input.task

    @property
    def model(self) -> Any:
        return self.input.model

    @property
    def steps(self) -> Sequence[str]:
        """(P) names of the steps; "" where one answer is for the whole input."""
        return self.input.tokens if self.per_token else [""]

    def default_step(self) -> int:
        """The step that is explained unless another is named."""
        return len(self.steps) - 1

    @abstractmethod
    def scores(self, batch: tuple[Any, ...]) -> Tensor:
        """Scores (B, P, C) of the inputs of a batch."""

    def run(self, copies: int = 1) -> Tensor:
        """Scores (copies, P, C) of the same input several times."""
        return self.scores(self.input.batch([self.input] * copies))

    def chosen(self, scores: Tensor) -> list[int]:
        """(P) the model's answers, or for a given continuation the tokens that it consists of."""
        return scores.argmax(-1).tolist()

    @abstractmethod
    def name(self, answer: int) -> str:
        """An answer in words: a label, a tag, a token."""

    def values(self, scores: Tensor) -> Tensor:
        """The probabilities, or numbers, that are shown: (P, C) -> (P, C)"""
        return scores.float().sigmoid() if self.independent else scores.float().softmax(-1)

    def best_answer(self, values: Tensor, answer: int) -> int:
        """The answer to report for `values` (C,) at one step in place of `answer`."""
        return answer if self.measure == "number" else int(values.argmax())

    def accepted(self, values: Tensor) -> list[int] | None:
        """The answers that apply for `values` (C,) at one step, where any number may."""
        return None

    def summary(self, scores: Tensor) -> AnswerText:
        """The answer to the whole input, from scores (P, C): here that of the first step."""
        answer = self.chosen(scores)[0]
        value = float(self.values(scores)[0, answer])
        return AnswerText(self.name(answer), f"{self.measure} {value:.4f}")

    def unit(self, answer: int) -> float:
        """The size of 1 of `explained` in the units of the data."""
        return 1.0

    def explained(self, scores: Tensor, step: int, answer: int) -> Tensor:
        """The quantity that tokens contribute to: (copies, P, C) -> (copies,)

        The log odds log p / (1 - p) of an answer at a step, or the number that it is. Unlike a
        logit, log odds are meaningful for two classes, and unlike log p they stay steep near p = 1.
        """
        x = scores[:, step].double()
        if self.independent or self.measure == "number":
            return x[:, answer]
        rest = torch.cat([x[:, :answer], x[:, answer + 1 :]], 1)
        return x[:, answer] - rest.logsumexp(1)


@final
class Reading:
    """A model's run on one input: a view of the input, and a view of the answer to it."""

    def __init__(self, input: Any, answer: Any) -> None:
        self.input, self.answer = input, answer

    @property
    def task(self) -> Any:
        return self.input.task

    @property
    def model(self) -> Any:
        return self.input.model

    def run(self, copies: int = 1) -> Tensor:
        """Scores (copies, P, C) of the same input several times."""
        return self.answer.run(copies)

    def run_batch(self, inputs: Sequence[Any]) -> Tensor:
        """Scores (B, P, C) of other inputs of the same length, for the same answers."""
        return self.answer.scores(self.input.batch(inputs))

    def with_input(self, input: Any) -> Reading:
        """The same answers to another input."""
        answer = copy.copy(self.answer)
        answer.input = input
        return Reading(input, answer)

    def without(self, token: int) -> Reading:
        return self.with_input(self.input.without(token))

    def blank(self) -> Reading:
        return self.with_input(self.input.blank())

    def in_float64(self) -> Reading:
        """The same, computed in double precision by a copy of the model."""
        return self.with_input(self.input.changed(model=copy.deepcopy(self.model).double()))

    def removable(self, step: int) -> list[int]:
        """The tokens without which the answer at a step can still be asked for."""
        tokens = self.input.removable()
        if self.answer.causal:
            tokens = [t for t in tokens if t <= step]
        return [t for t in tokens if t != step] if self._moves else tokens

    def step_without(self, step: int, token: int) -> int:
        """The index of a step once `token` has been removed."""
        return step - (token < step) if self._moves else step

    @property
    def _moves(self) -> bool:
        return self.answer.per_token and not self.input.keeps_length


def longest(model: nn.Module) -> int:
    """Tokens that are looked at: so many that the weights of all heads fit into memory."""
    heads = sum(m.heads for m in model.modules() if isinstance(m, MultiHeadAttention))
    return min(LONGEST, math.isqrt(WEIGHTS // heads)) if heads else LONGEST


def names_before(encoder: nn.Module) -> list[str]:
    """Names of the vectors that an encoder puts before the tokens of a text."""
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
    """Names of the tokens of a text: pieces that are not in the vocabulary, for each of
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
