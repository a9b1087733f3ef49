"""A language model within a search: a run of `generate` in, the scores of tokens of another
vocabulary out."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from unspool.errors import ConfigError, Option, Setting
from unspool.nn.models.language_model import LanguageModel, NextTokenModel
from unspool.nn.network import map_state
from unspool.text.tokenizers import Tokenizer
from unspool.text.vocab import UNK_ID

BEGIN = "\n"  # before the first token, and behind the last: texts are lines
NEVER = -30.0  # of a token that the language model cannot read


class LanguageScores:
    """`NextScores` of a language model. A recurrent one keeps the state of each prefix; a
    Transformer reads a prefix again when it has grown.

    run      something with a `task` and a `model`, such as a loaded run
    tokens   of the network's vocabulary
    """

    def __init__(self, run: Any, tokens: Tokenizer) -> None:
        task, model = run.task, run.model
        if not isinstance(model, NextTokenModel):
            raise ConfigError(
                ("a language model is a run of ", Option(task="generate")),
                where=getattr(run, "path", None),
                got=f"a {task.name} model",
                remedy="train one on texts like those that are spoken",
            )
        tokenizer: Tokenizer = task.tokenizer
        if tokenizer.kind != tokens.kind:
            raise ConfigError(
                f"the language model writes by {tokenizer.kind},"
                f" and the transcriber by {tokens.kind}",
                where=getattr(run, "path", None),
                remedy=("train one with ", Setting(kind=tokens.kind)),
            )
        self.model = model.eval()
        index, first = tokenizer.vocab.index, len(tokens.vocab.specials)
        names = [tokens.vocab[i] for i in range(len(tokens))]
        folded = tokenizer.normalizer
        self.ids = torch.tensor(
            [
                index.get(folded(name), UNK_ID) if i >= first else UNK_ID
                for i, name in enumerate(names)
            ]
        )
        self.known = torch.tensor([i >= first for i in range(len(names))])
        self.newline = index.get(BEGIN, UNK_ID)
        self.state: Any = None
        self.texts = torch.empty(0, 0, dtype=torch.int64)
        self.next = torch.empty(0)

    @property
    def recurrent(self) -> bool:
        return isinstance(self.model, LanguageModel)

    def start(self, prefixes: int) -> Tensor:
        with torch.inference_mode():
            ids = torch.full((prefixes,), self.newline)
            logits, self.state = self.model.step(ids, self.model.start(prefixes))
            self.lists: list[list[int]] = [[self.newline] for _ in range(prefixes)]
            self.next = logits.double().log_softmax(-1)
        return self.mapped()

    def mapped(self) -> Tensor:
        """(N, V) of the network's tokens"""
        return self.of_tokens(self.next[:, self.ids], self.known)

    @staticmethod
    def of_tokens(log_p: Tensor, known: Tensor) -> Tensor:
        """(N, V), NEVER for tokens that are not `known` (V,)"""
        return torch.where(known, log_p, NEVER)

    def advance(self, rows: Tensor, new: Tensor, tokens: Tensor) -> Tensor:
        with torch.inference_mode():
            ids = self.ids[tokens]
            grown = new.nonzero()[:, 0]
            following = self.next[rows]
            if self.recurrent:
                state = map_state(self.state, lambda state: state[rows])
                if len(grown):
                    logits, after = self.model.step(
                        ids[grown], map_state(state, lambda state: state[grown])
                    )
                    following[grown] = logits.double().log_softmax(-1)
                    state = with_rows(state, after, grown)
                self.state = state
            else:
                old = self.lists
                lists = [old[row] for row in rows.tolist()]
                for i in grown.tolist():
                    lists[i] = [*lists[i], int(ids[i])]
                self.lists = lists
                if len(grown):
                    following[grown] = self.read([lists[i] for i in grown.tolist()])
            self.next = following
        return self.mapped()

    def read(self, texts: list[list[int]]) -> Tensor:
        """(n, V') what comes after each text, of which as much as the model sees is read."""
        longest = getattr(self.model, "length", 0)
        cut = [text[-longest:] if longest else text for text in texts]
        size = max(map(len, cut))
        ids = torch.tensor([text + [0] * (size - len(text)) for text in cut])
        logits = self.model(ids).logits  # each token sees those before it alone
        last = torch.tensor([len(text) - 1 for text in cut])
        return logits[torch.arange(len(cut)), last].double().log_softmax(-1)

    def end(self) -> Tensor:
        return self.next[:, self.newline]


def with_rows(state: Any, new: Any, rows: Tensor) -> Any:
    """The state with some rows replaced."""
    return tuple(
        tuple(
            tuple(
                parts.index_copy(0, rows, other.to(parts.dtype))
                for parts, other in zip(cell, new_cell)
            )
            for cell, new_cell in zip(layer, new_layer)
        )
        for layer, new_layer in zip(state, new)
    )
