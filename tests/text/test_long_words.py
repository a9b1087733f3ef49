"""Byte pairs of texts without spaces: the same vocabulary, in time that grows with the text."""

import random
import re
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from unspool.text import subwords
from unspool.text.subwords import LONGEST_WORD, fit_bpe, short_words
from unspool.text.words import LONGEST, ChunkCache, Normalizer

SPLITTER = pre_tokenizers.ByteLevel(add_prefix_space=False)
TEXTS = st.lists(
    st.text(st.sampled_from("ab'st 1é中!\n\t\u00a0\u3000\U0001f600<>"), max_size=60), max_size=8
)


def plain_vocabulary(texts: list[str]) -> list[str]:
    """By the trainer alone."""
    model = Tokenizer(models.BPE())
    model.pre_tokenizer, model.decoder = SPLITTER, decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    model.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=298, min_frequency=1, initial_alphabet=alphabet, show_progress=False
        ),
    )
    return [model.id_to_token(i) for i in range(model.get_vocab_size())]


def fitted_vocabulary(texts: list[str]) -> list[str]:
    return fit_bpe(texts, size=300, min_count=1, normalizer=Normalizer()).vocab.tokens[2:]


def plain_merges(texts: list[str], size: int) -> list[bytes]:
    """The tokens of the algorithm as it is written in the paper, over bytes, word by word."""
    words = [
        [bytes([byte]) for byte in text[start:stop].encode()]
        for text in texts
        for _, (start, stop) in SPLITTER.pre_tokenize_str(text)
    ]
    found: list[bytes] = []
    while len(found) < size:
        counts: dict[tuple[bytes, bytes], int] = {}
        for word in words:
            for pair in pairwise(word):
                counts[pair] = counts.get(pair, 0) + 1
        best = [pair for pair, count in counts.items() if count == max(counts.values())]
        if len(best) != 1:
            break  # a tie: the paper leaves open which pair comes first
        left, right = best[0]
        found.append(left + right)
        for word in words:
            i = 0
            while i + 1 < len(word):
                if word[i] == left and word[i + 1] == right:
                    word[i : i + 2] = [left + right]
                i += 1
    return found


@given(TEXTS)
def test_texts_of_short_words_are_fitted_as_by_the_trainer_alone(texts: list[str]) -> None:
    assert fitted_vocabulary(texts) == plain_vocabulary(texts)


@given(TEXTS)
def test_word_by_word_gives_the_same_vocabulary(texts: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subwords, "_LONG", re.compile(""))  # every text has a long word
        assert fitted_vocabulary(texts) == plain_vocabulary(texts)


@pytest.mark.parametrize("seed", range(5))
def test_fitting_follows_the_paper(seed: int) -> None:
    rng = random.Random(seed)
    texts = ["".join(rng.choices("aabcdé  ", k=80)) for _ in range(20)]
    model = fit_bpe(texts, size=300, min_count=1, normalizer=Normalizer())
    ours = [model.model.decode([i]).encode() for i in range(256, 298)]
    theirs = plain_merges(texts, 42)
    whole = [i for i, token in enumerate(theirs) if not re.search(rb"\xc3$|^\xa9", token)]
    assert theirs
    assert [ours[i] for i in whole] == [theirs[i] for i in whole]


def test_only_long_words_are_cut() -> None:
    word = "x" * (2 * LONGEST_WORD + 1)
    parts = list(short_words([f"a b {word} it's", "c  d"], SPLITTER))
    assert parts == ["a", " b", " " + word[1:LONGEST_WORD], *parts[3:5], " it", "'s", "c  d"]
    assert "".join(parts[:-1]) == f"a b {word} it's"
    assert list(map(len, parts[2:5])) == [LONGEST_WORD, LONGEST_WORD, 2]


@pytest.mark.parametrize("unit", ["x", " ", "ab", "中"])
def test_a_million_characters_without_a_space_are_fitted_soon(unit: str) -> None:
    started = time.process_time()
    fit_bpe([unit * (10**6 // len(unit))], size=400, min_count=1, normalizer=Normalizer())
    assert time.process_time() - started < 20  # a quadratic one takes ten minutes


def test_a_million_characters_are_encoded_soon_and_not_remembered() -> None:
    model = fit_bpe(["xxxx xx x"], size=262, min_count=1, normalizer=Normalizer())
    started = time.process_time()
    ids = model.encode("x" * 10**6)
    assert time.process_time() - started < 20
    assert model.decode(ids) == "x" * 10**6
    cache = ChunkCache(lambda chunk: [len(chunk)])
    assert cache["x" * (LONGEST + 1)] == (LONGEST + 1,)
    assert cache["x"] == (1,)
    assert list(cache) == ["x"]
