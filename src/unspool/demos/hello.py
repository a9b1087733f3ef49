"""HELLO: the smallest language model there is.

The vocabulary is E, H, L, O; inputs are one-hot; an Elman layer of 3 units (4·3 + 3·3 + 3 = 24
parameters) and a softmax layer (3·4 + 4 = 16) learn to continue H with ELLO.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn import functional as F

from unspool.insight.summary import summarise
from unspool.nn.encoder import Encoder
from unspool.nn.inputs import TokenInput
from unspool.nn.models.language_model import LanguageModel
from unspool.nn.recurrent import Recurrent
from unspool.search import Sampling, stream

LETTERS = "EHLO"
WORD = "HELLO"


def run(write: Callable[[str], None], *, seed: int = 2, epochs: int = 500) -> None:
    torch.manual_seed(seed)
    tokens = TokenInput(len(LETTERS), 0)
    encoder = Encoder(tokens, Recurrent("elman", tokens.size, 3))
    model = LanguageModel(encoder, vocab=len(LETTERS), tied=False, dropout=0.0)
    ids = torch.tensor([[LETTERS.index(letter) for letter in WORD]])  # (1, 5)
    for line in summarise(model, (ids,)).lines():
        write(line)
    write("")

    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(epochs + 1):
        model.train()
        logits = model(ids[:, :-1]).logits[0]  # (4, 4): after H, HE, HEL, HELL
        loss = F.cross_entropy(logits, ids[0, 1:])
        if epoch % 10 == 0:
            word = spell(model)
            write(f"epoch {epoch:4d}   loss {loss.item():.4f}   H -> {word}")
            if word == WORD and loss.item() < 0.1:
                break
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    write("")
    write("Only the state distinguishes the two Ls: that is what recurrence is for.")


def spell(model: LanguageModel) -> str:
    """Five letters, starting from H, always the most probable next."""
    tokens = stream(model.eval(), [LETTERS.index("H")], Sampling(temperature=0))
    return "H" + "".join(LETTERS[next(tokens)] for _ in range(len(WORD) - 1))
