"""Texts that do not fit: those that are longer than their steps, or that a model cannot write."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from unspool.data.corpus import Corpus, Fields
from unspool.data.fields.text import TextField
from unspool.data.fields.tokens import TokenBatch
from unspool.data.part import Part
from unspool.errors import DataError, Option, Setting
from unspool.nn.ctc import steps_needed
from unspool.text.tokenizers import Tokenizer
from unspool.text.vocab import UNK_ID

NAMED = 20  # recordings that a note names


def leave_out_long_texts(corpus: Corpus, *, stride: int) -> None:
    """Rows of the training part whose texts are longer than their steps, `stride` of what is read
    each, are left out with a note; those of other parts are noted."""
    read, text = corpus.fields
    for name, part in corpus.parts.items():
        needed = needed_steps(part, text)
        available = -(-part[read].lengths.astype(np.int64) // stride)
        short = np.flatnonzero(needed > available)
        if not len(short):
            continue
        listed = ", ".join(
            f"{part.where(int(row))} ({needed[row]:,} steps for {available[row]:,})"
            for row in short[:NAMED]
        )
        more = f" and {len(short) - NAMED:,} more" if len(short) > NAMED else ""
        if name != "train":
            corpus.notes.append(f"{name}: texts longer than their steps: {listed}{more}")
            continue
        if len(short) == len(part):
            raise DataError(
                "every text is longer than the steps of its recording",
                where=part.where(int(short[0])),
                got=f"{needed[short[0]]:,} tokens and blanks, {available[short[0]]:,} steps",
                remedy="set a smaller patch or hop, or look whether texts and recordings"
                " belong together",
            )
        corpus.parts[name] = part.select(np.flatnonzero(needed <= available))
        corpus.notes.append(
            f"{len(short):,} recordings left out of training, as their texts are longer than"
            f" their steps ({Setting('patch')} or hop= for more): {listed}{more}"
        )


def refuse_unknown(part: Part, text: str, tokenizer: Tokenizer) -> None:
    """A model that is fine-tuned cannot learn to write what is not in its vocabulary."""
    counts = part[text].counts(UNK_ID)
    if not counts.any():
        return
    row = int(np.argmax(counts > 0))
    (written,) = part.raw(np.array([row]), (text,))[0]
    new = next(piece for piece in tokenizer.pieces(written) if piece not in tokenizer.vocab.index)
    raise DataError(
        f"{int((counts > 0).sum()):,} texts hold what the model to start from cannot write",
        where=part.where(row),
        got=new,
        remedy=("spell it otherwise, or train from scratch without ", Option("start")),
    )


def needed_steps(part: Part, text: str) -> np.ndarray:
    """(N,) the fewest steps that the text of each row takes."""
    needed = np.zeros(len(part), dtype=np.int64)
    for start in range(0, len(part), 1024):
        rows = np.arange(start, min(len(part), start + 1024))
        batch = part.fields[text].collate(part[text], rows)
        needed[rows] = steps_needed(*ctc_targets(part.fields, batch)).numpy()
    return needed


def ctc_targets(fields: Fields, text: TokenBatch) -> tuple[Tensor, Tensor]:
    """(B, N) the tokens of texts as CTC writes them, without marks for a decoder, and (B,) how
    many they are."""
    field = fields["text"]
    assert isinstance(field, TextField)
    begin, end = field.marks
    return text.ids[:, int(begin) :], text.lengths - int(begin) - int(end)
