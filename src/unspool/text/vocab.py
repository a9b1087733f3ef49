"""A vocabulary: token strings and their ids, <pad> = 0 and <unk> = 1 always among them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

PAD, UNK = "<pad>", "<unk>"
PAD_ID, UNK_ID = 0, 1
SPECIALS = (PAD, UNK)


class Vocab:
    """`vocab[id]` is the token, `vocab.id(token)` its id, or that of <unk>."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self.tokens = list(tokens)
        self.index = {token: i for i, token in enumerate(self.tokens)}
        if tuple(self.tokens[:2]) != SPECIALS:
            raise ValueError(f"a vocabulary starts with {PAD} and {UNK}")
        if len(self.index) != len(self.tokens):
            raise ValueError("a vocabulary holds a token twice")
        # A text that spells out "<pad>" must not become padding.
        self.index[PAD] = UNK_ID

    @classmethod
    def of(cls, types: Iterable[str]) -> Vocab:
        """The special tokens, then `types` in their order (most frequent first, as a rule)."""
        return cls([*SPECIALS, *(token for token in types if token not in SPECIALS)])

    def id(self, token: str) -> int:
        return self.index.get(token, UNK_ID)

    def __getitem__(self, id: int) -> str:
        return self.tokens[id]

    def __contains__(self, token: str) -> bool:
        return token in self.index

    def __len__(self) -> int:
        return len(self.tokens)
