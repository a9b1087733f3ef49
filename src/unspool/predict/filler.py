"""What may stand at the <mask>s of a text: texts in, the likeliest tokens for each mask out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch

from unspool.errors import DataError
from unspool.nn.models.masked import MaskedModel
from unspool.tasks.pretrain import Pretrain
from unspool.text.tokenizers import Tokenizer
from unspool.text.vocab import MASK, MASK_ID


class Candidate(NamedTuple):
    token: str
    probability: float


class Filled(NamedTuple):
    """A text with `<mask>`s, and the candidates for each of them, likeliest first."""

    text: str
    masks: list[list[Candidate]]

    def to_json(self) -> dict[str, Any]:
        return {"text": self.text, "masks": [[c._asdict() for c in mask] for mask in self.masks]}


def fill(
    task: Pretrain, model: MaskedModel, texts: Iterable[str], *, top: int = 5
) -> Iterator[Filled]:
    """The `top` candidates for every mask; each text is read by itself, and as a whole."""
    specials = task.tokenizer.special_ids()
    limit = task.config.data.max_length if task.config.model.positions == "learned" else 0
    for text in texts:
        ids = encode_masked(task.tokenizer, text)
        if limit and len(ids) > limit:
            raise DataError(
                f"the model reads at most {limit} tokens",
                got=f"{len(ids)} in {text!r}",
                remedy="give a shorter text",
            )
        with torch.inference_mode():
            row = torch.from_numpy(ids)[None]
            h = model.read(row, torch.tensor([len(ids)]))[row == MASK_ID]  # (N, E)
            scores = model.output(h).double()  # (N, V)
            scores[:, specials] = -torch.inf
            best = scores.softmax(1).topk(min(top, scores.shape[1] - len(specials)))
        yield Filled(
            text,
            [
                [Candidate(task.tokenizer.decode([i]).strip(), p) for i, p in zip(some, chances)]
                for some, chances in zip(best.indices.tolist(), best.values.tolist())
            ],
        )


def encode_masked(tokenizer: Tokenizer, text: str) -> np.ndarray:
    """The ids of a text in which <mask> stands for a hidden token."""
    if MASK not in text:
        raise DataError(
            "there is nothing to fill in",
            got=text,
            remedy=f'write {MASK} where a token is hidden: "the film was {MASK} ."',
        )
    pieces = text.split(MASK)
    # The space before a mask belongs to the token that it hides.
    ends = [piece.rstrip() for piece in pieces[:-1]] + pieces[-1:]
    encoded = [tokenizer.encode(end).tolist() if end.strip() else [] for end in ends]
    ids = [i for piece in encoded for i in (*piece, MASK_ID)]
    return np.array(ids[:-1], dtype=np.int64)
