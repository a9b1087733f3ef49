"""Round trips, unknown tokens, and tokenizers that come back from JSON."""

import copy
import json
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspool.errors import ConfigError, RunError
from unspool.text.subwords import fit_bpe
from unspool.text.tokenizers import CharTokenizer, Frame, Tokenizer, WordTokenizer
from unspool.text.vocab import PAD, SENTENCE_SPECIALS, UNK, Vocab
from unspool.text.words import Normalizer

CHAR = CharTokenizer(Vocab.of("abcdeé ñ\n"), normalizer=Normalizer("nfc", lowercase=True))
WORD = WordTokenizer(Vocab.of(["the", "cat", ".", "sat"]), normalizer=Normalizer("nfc"))
BPE = fit_bpe(["the cat sat on the mat"] * 20, size=280, min_count=1, normalizer=Normalizer("nfc"))
ALL = [CHAR, WORD, BPE]


@given(st.text("abcdeé ñ\nABC"))
def test_char_round_trip(text: str) -> None:
    if text:
        assert CHAR.decode(CHAR.encode(text)) == unicodedata.normalize("NFC", text).lower()


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_bpe_round_trip_of_any_text(text: str) -> None:
    if text:
        assert BPE.decode(BPE.encode(text)) == unicodedata.normalize("NFC", text)


@given(st.text("the catsom  \n.<pad>unk", max_size=60))
def test_bpe_in_chunks_equals_bpe_of_the_whole(text: str) -> None:
    if text:
        assert BPE.encode(text).tolist() == [i + 2 for i in BPE.model.encode(text).ids]


@pytest.mark.parametrize("tokenizer", ALL, ids=lambda t: t.kind)
def test_empty_text_is_one_unknown(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode("")
    assert ids.tolist() == [1]
    assert ids.dtype == np.int64
    assert tokenizer.tokens("") == [UNK]


@pytest.mark.parametrize("tokenizer", ALL, ids=lambda t: t.kind)
@pytest.mark.parametrize("text", ["the cat sat.", "<pad> the <unk>", "Ωmega ☃"])
def test_json_round_trip(tokenizer: Tokenizer, text: str) -> None:
    again = Tokenizer.from_json(json.loads(json.dumps(tokenizer.to_json())))
    assert type(again) is type(tokenizer)
    assert again.encode(text).tolist() == tokenizer.encode(text).tolist()
    assert len(again) == len(tokenizer)
    assert len(tokenizer.tokens(text)) == len(tokenizer.encode(text))


def test_unknown_and_special_words() -> None:
    assert WORD.tokens("the dog sat.") == ["the", UNK, "sat", "."]
    assert WORD.pieces("the dog") == ["the", "dog"]
    assert WORD.encode("the <unk>")[1] == 1
    assert 0 not in WordTokenizer(Vocab.of(["a"]), split="space").encode("<pad> a")
    assert WORD.decode([2, 3, 5, 4, 0, 0]) == "the cat sat."
    assert CHAR.decode([1, 2, 0]) == "\ufffda"


def test_bpe_shows_readable_pieces() -> None:
    assert "".join(BPE.tokens("the cat")) == "the cat"
    assert BPE.decode([*BPE.encode("the"), 1, *BPE.encode("cat")]) == "the\ufffdcat"


def test_bpe_needs_room_for_all_bytes() -> None:
    with pytest.raises(ConfigError, match=r"tokenizer.vocab: .* at least 258; got 100"):
        fit_bpe(["a"], size=100, min_count=1, normalizer=Normalizer())


def test_vocab_refuses_what_it_cannot_number() -> None:
    assert Vocab.of(["a", UNK, "b", PAD]).tokens == [PAD, UNK, "a", "b"]
    with pytest.raises(ValueError, match="twice"):
        Vocab([PAD, UNK, "a", "a"])
    with pytest.raises(ValueError, match="starts with"):
        Vocab(["a", "b"])


def damage(stored: dict, key: str, value: object) -> dict:
    changed = copy.deepcopy(stored)
    changed[key] = value
    return changed


@pytest.mark.parametrize(
    "stored",
    [
        None,
        [],
        {},
        damage(WORD.to_json(), "kind", "syllable"),
        damage(WORD.to_json(), "vocab", ["a"]),
        damage(WORD.to_json(), "vocab", [PAD, UNK, 3]),
        damage(WORD.to_json(), "vocab", {"a": 1}),
        damage(WORD.to_json(), "split", "vowels"),
        damage(WORD.to_json(), "normalize", "nfz"),
        damage(WORD.to_json(), "lowercase", "yes"),
        damage(BPE.to_json(), "model", {"version": "9"}),
        damage(BPE.to_json(), "vocab", [PAD, UNK, "a"]),
    ],
)
def test_damaged_json_is_a_run_error(stored: object) -> None:
    with pytest.raises(RunError, match="the stored tokenizer cannot be read"):
        Tokenizer.from_json(stored)


@pytest.mark.parametrize("kind", ["char", "word", "bpe"])
def test_sentence_specials_keep_their_ids_and_are_never_text(kind: str) -> None:
    text = "<s> the cat </s>"
    if kind == "bpe":
        tokenizer = fit_bpe(
            ["the cat"], size=300, min_count=1, normalizer=Normalizer(), specials=SENTENCE_SPECIALS
        )
    else:
        types = list("the cas/<>") if kind == "char" else ["the", "cat", "<", "s", ">", "/"]
        vocab = Vocab.of(types, specials=SENTENCE_SPECIALS)
        tokenizer = CharTokenizer(vocab) if kind == "char" else WordTokenizer(vocab)
    assert tokenizer.vocab.tokens[:4] == ["<pad>", "<unk>", "<s>", "</s>"]
    ids = tokenizer.encode(text)
    assert min(ids) >= 4
    framed = tokenizer.decode([2, *ids, 3])
    assert framed == tokenizer.decode(ids)
    assert kind == "word" or framed == text
    again = Tokenizer.from_json(json.loads(json.dumps(tokenizer.to_json())))
    assert again.to_json() == tokenizer.to_json()
    assert again.encode(text).tolist() == ids.tolist()


def test_an_old_vocabulary_may_hold_the_words_of_later_specials() -> None:
    stored = WordTokenizer(Vocab.of(["<s>", "a", "</s>"]), split="space").to_json()
    assert "specials" not in stored
    tokenizer = Tokenizer.from_json(stored)
    assert tokenizer.encode("<s> a </s>").tolist() == [2, 3, 4]
    assert tokenizer.decode([2, 3, 4]) == "<s> a </s>"


@pytest.mark.parametrize(
    ("text", "end"), [("", ""), (" \n", " \n"), ("a", "a"), ("a b", "b"), ("a b \n", "b \n")]
)
def test_the_open_end_of_a_text(text: str, end: str) -> None:
    tokenizer = WordTokenizer(Vocab.of(["a"]))
    assert tokenizer.open_end(text) == end
    long = "x" * 300_000  # of which every end was tried once
    assert tokenizer.open_end(f"{text} {long} ") == f"{long} "


@pytest.mark.parametrize("frame", [Frame(), Frame((2,)), Frame((), (3,)), Frame((2,), (3,))])
def test_a_frame_keeps_every_bit_of_large_ids(frame: Frame) -> None:
    """Floats have 53 bits; tokens beyond a vocabulary have numbers of 62."""
    ids = np.array([2**62 - 1, 2**53 + 1], dtype=np.int64)
    framed = frame.around(ids)
    assert framed.dtype == np.int64
    assert framed.tolist() == [*frame.before, 2**62 - 1, 2**53 + 1, *frame.after]
