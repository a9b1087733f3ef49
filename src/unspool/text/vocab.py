"""A vocabulary: token strings and their ids, <pad> = 0 and <unk> = 1 always among them.

The vocabulary of sentences that are to be written also has a beginning and an end; that of texts in
which tokens are hidden has a <mask>; that of pairs of texts a <sep>.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

PAD, UNK, BEGIN, END = "<pad>", "<unk>", "<s>", "</s>"
PAD_ID, UNK_ID, BEGIN_ID, END_ID = 0, 1, 2, 3
SPECIALS = (PAD, UNK)
SENTENCE_SPECIALS = (PAD, UNK, BEGIN, END)
MASK, MASK_ID = "<mask>", 2
MASK_SPECIALS = (PAD, UNK, MASK)
SEP = "<sep>"
PAIR_SPECIALS = (PAD, UNK, SEP)


class Vocab:
    """`vocab[id]` is the token, `vocab.id(token)` its id, or that of <unk>.

    specials   the first tokens, which stand for something else than a piece of text
    """

    def __init__(self, tokens: Sequence[str], *, specials: Sequence[str] = SPECIALS) -> None:
        self.tokens, self.specials = list(tokens), tuple(specials)
        self.index = {token: i for i, token in enumerate(self.tokens)}
        if self.specials[:2] != SPECIALS or tuple(self.tokens[: len(specials)]) != self.specials:
            raise ValueError(f"a vocabulary starts with {PAD}, {UNK} and its other specials")
        if len(self.index) != len(self.tokens):
            raise ValueError("a vocabulary holds a token twice")
        # A text that spells out "<pad>" must not become padding.
        self.index |= dict.fromkeys(self.specials, UNK_ID)

    @classmethod
    def of(cls, types: Iterable[str], *, specials: Sequence[str] = SPECIALS) -> Vocab:
        """The special tokens, then `types` in their order (most frequent first, as a rule)."""
        rest = (token for token in types if token not in specials)
        return cls([*specials, *rest], specials=specials)

    def id(self, token: str) -> int:
        return self.index.get(token, UNK_ID)

    def __getitem__(self, id: int) -> str:
        return self.tokens[id]

    def __contains__(self, token: str) -> bool:
        return token in self.index

    def __len__(self) -> int:
        return len(self.tokens)


class ForeignVocab(Vocab):
    """The vocabulary of a pretrained model: `specials` stand anywhere in it; "" are unused ids."""

    def __init__(self, tokens: Sequence[str], *, specials: Sequence[str]) -> None:
        self.tokens, self.specials = list(tokens), tuple(specials)
        self.index = {token: i for i, token in enumerate(self.tokens)}
