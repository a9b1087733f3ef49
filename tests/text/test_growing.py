"""A text that grows token by token is what all its ids decode to, and each token costs the same."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from tokenizers import Tokenizer as RustTokenizer
from tokenizers import decoders, models, pre_tokenizers

from unspool.text.growing import GrowingText
from unspool.text.tokenizers import BPETokenizer, CharTokenizer, Tokenizer, WordTokenizer
from unspool.text.vocab import UNK_ID, Vocab


def byte_pairs() -> BPETokenizer:
    """Of bytes alone, so that a character of two or more is several tokens."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    model = RustTokenizer(models.BPE({token: i for i, token in enumerate(alphabet)}, []))
    model.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    model.decoder = decoders.ByteLevel()
    return BPETokenizer(model)


WORDS = ["a", "film", ",", ".", "(", ")", "\n", "n't", "'s", "$", "“", "don't"]
TOKENIZERS = {
    "char": CharTokenizer(Vocab.of("abcé \n")),
    "words": WordTokenizer(Vocab.of(WORDS), newlines=True),
    "at spaces": WordTokenizer(Vocab.of(WORDS), split="space", newlines=True),
    "bytes": byte_pairs(),
}


@pytest.mark.parametrize("name", TOKENIZERS)
@pytest.mark.parametrize("start", [0, 1, 7])
def test_pieces_join_to_the_whole(name, start) -> None:
    tokenizer = TOKENIZERS[name]
    first = len(tokenizer.vocab.specials)
    rng = np.random.default_rng(start)
    for _ in range(20):
        prompt = tokenizer.ids("a film, a film"[:start])[:start] if start else []
        ids = [*map(int, prompt), *rng.integers(first, len(tokenizer), 40).tolist()]
        size = len(prompt)
        text = GrowingText(tokenizer, ids[:size])
        pieces = [text.add(i) for i in ids[size:]]
        found = (tokenizer.decode(ids[:size]) if size else "") + "".join(pieces)
        whole = tokenizer.decode(ids)
        assert whole.startswith(found)
        assert found == whole or set(whole[len(found) :]) == {"\ufffd"}  # waiting


def test_a_character_of_several_bytes_comes_whole() -> None:
    tokenizer = TOKENIZERS["bytes"]
    text = GrowingText(tokenizer)
    pieces = [text.add(int(i)) for i in tokenizer.ids("né €!")]
    assert pieces == ["n", "", "é", " ", "", "", "€", "!"]


class Counting(Tokenizer):
    """Counts the ids that it decodes."""

    def __init__(self, inner: Tokenizer) -> None:
        self.inner, self.vocab, self.count = inner, inner.vocab, 0

    def pieces(self, text: str) -> list[str]:
        return self.inner.pieces(text)

    def options(self) -> dict[str, object]:
        return {}

    @classmethod
    def restore(cls, stored: dict[str, object]) -> Counting:
        raise NotImplementedError

    def decode(self, ids: Iterable[int]) -> str:
        listed = list(ids)
        self.count += len(listed)
        return self.inner.decode(listed)


@pytest.mark.parametrize("name", TOKENIZERS)
def test_a_token_costs_the_same_however_long_the_text(name) -> None:
    tokenizer = Counting(TOKENIZERS[name])
    text = GrowingText(tokenizer)
    for i in range(2000):
        text.add(len(tokenizer.vocab.specials) + i % 4)
    assert tokenizer.count < 8 * 2000


def test_what_is_not_shown_is_no_border() -> None:
    """Padding and other special tokens vanish; the space after them is that of the word before."""
    tokenizer = TOKENIZERS["words"]
    text = GrowingText(tokenizer)
    ids = [tokenizer.vocab.index["film"], 0, tokenizer.vocab.index["a"], UNK_ID]
    assert "".join(map(text.add, ids)) == tokenizer.decode(ids) == "film a <unk>"
