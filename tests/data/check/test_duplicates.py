"""Near-duplicates against brute force over sets of strings."""

import time
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unspool
from unspool.data.check.duplicates import LEAST, most_rows, near_duplicates, similarities
from unspool.data.fields.ngrams import Alphabet, ngrams
from unspool.data.store.ragged import Ragged, side_by_side

Texts = list[list[str]]


class Shingled:
    """The n-grams of texts, as a check asks for them."""

    def __init__(self, texts: Texts, n: int = 2, *, spelled: bool = False) -> None:
        index: dict[str, int] = {}
        ids = [np.array([index.setdefault(w, len(index)) for w in text], int) for text in texts]
        self.ids, self.n = Ragged.of(ids), n
        self.alphabet = Alphabet(list(index), spelled=spelled)

    def __call__(self, rows: np.ndarray) -> Ragged:
        return ngrams(self.alphabet.sequences(self.ids.select(rows)), self.n)


def grams(symbols: list[str], n: int) -> set[tuple[str, ...]]:
    padded = symbols + [""] * (n - len(symbols))
    return {tuple(padded[i : i + n]) for i in range(len(padded) - n + 1)}


def jaccard(a: list[str], b: list[str], n: int) -> float:
    one, two = grams(a, n), grams(b, n)
    return len(one & two) / len(one | two)


def brute_force(texts: Texts, n: int, least: float) -> dict[tuple[int, int], float]:
    found = {(i, j): jaccard(texts[i], texts[j], n) for i, j in combinations(range(len(texts)), 2)}
    return {pair: similarity for pair, similarity in found.items() if similarity >= least}


def edited_texts(count: int, seed: int) -> Texts:
    """Texts of random words, and a copy of each with one to three of them changed."""
    rng = np.random.default_rng(seed)
    words = [f"w{i}" for i in range(300)]
    plain = [rng.choice(words, rng.integers(1, 60)).tolist() for _ in range(count)]
    copies = [list(text) for text in plain]
    for text in copies:
        for place in rng.integers(0, len(text), rng.integers(1, 4)):
            text[place] = str(rng.choice(words))
    return plain + copies


def test_recall_and_precision() -> None:
    texts = edited_texts(250, seed=0)
    truth = brute_force(texts, 2, LEAST)
    assert len(truth) > 50
    near = near_duplicates(Shingled(texts), np.arange(len(texts)))
    found = dict(zip(map(tuple, near.pairs.tolist()), near.similarity.tolist()))
    assert all(found[pair] == pytest.approx(truth[pair]) for pair in found)
    assert len(found) >= 0.98 * len(truth)


def test_only_some_rows() -> None:
    texts = [["a", "b", "c", "d"]] * 4
    near = near_duplicates(Shingled(texts), np.array([1, 3]))
    assert near.pairs.tolist() == [[1, 3]]
    assert near.similarity.tolist() == [1.0]
    assert len(near_duplicates(Shingled(texts), np.array([2])).pairs) == 0


def test_a_crowd_costs_no_square() -> None:
    texts = [["all", "of", "them", "say", "this"]] * 2000
    kinds = np.arange(2000) % 3
    near = near_duplicates(Shingled(texts), np.arange(2000), kinds=kinds)
    assert len(near.pairs) <= 3 * 2000
    assert len(np.unique(near.pairs)) == 2000  # and still everyone is found
    for row in (100, 101, 102):  # with the first one of each kind
        own = near.pairs[(near.pairs == row).any(1)]
        assert sorted(own[own != row].tolist()) == [0, 1, 2]


def test_a_hundred_thousand_near_copies_of_fifty_texts() -> None:
    """One word of sixty is another. Seconds of a processor, so that others do not count."""
    rng = np.random.default_rng(0)
    texts = rng.integers(0, 50_000, (50, 60))[np.arange(100_000) % 50]
    texts[np.arange(100_000), rng.integers(0, 60, 100_000)] = rng.integers(0, 50_000, 100_000)
    values = Ragged(texts.reshape(-1), 60 * np.arange(100_000), np.full(100_000, 60))
    alphabet = Alphabet([f"w{i}" for i in range(50_000)], spelled=False)
    began = time.process_time()
    near = near_duplicates(
        lambda rows: ngrams(alphabet.sequences(values.select(rows)), 2),
        np.arange(100_000),
        kinds=np.arange(100_000) % 2,
    )
    assert time.process_time() - began < 60  # 5 s on an idle machine
    found = np.unique(near.pairs[:, 1])
    assert len(found) >= 0.99 * (100_000 - 50)
    assert (near.pairs[:, 0] % 50 == near.pairs[:, 1] % 50).all()


def test_large_groups_where_all_have_many_rows() -> None:
    assert most_rows(np.array([1, 1, 5, 40])) > 32
    assert most_rows(np.full(50_000, 20)) == 19  # 9.5 million pairs would be too many
    assert most_rows(np.full(10_000_000, 2)) == 2


@given(st.lists(st.lists(st.sampled_from("abcde"), max_size=7), min_size=2, max_size=8))
def test_similarity(texts: Texts) -> None:
    for n in (1, 2, 4):
        pairs = np.array(list(combinations(range(len(texts)), 2)))
        expected = [jaccard(texts[i], texts[j], n) for i, j in pairs]
        assert similarities(Shingled(texts, n), pairs) == pytest.approx(expected)


def test_spelled_words_are_compared_by_their_characters() -> None:
    texts = [["a", "fine", "film"], ["A", "fine", "films"], ["x"]]
    spelled = [[*" ".join(text).lower(), " "] for text in texts]
    found = similarities(Shingled(texts, 4, spelled=True), np.array([[0, 1], [0, 2]]))
    assert found == pytest.approx(
        [jaccard(spelled[0], spelled[1], 4), jaccard(spelled[0], spelled[2], 4)]
    )


def test_the_order_of_words_and_the_place_of_a_value_count() -> None:
    one, two = Shingled([["a", "b"]])(np.array([0])), Shingled([["b", "a"]])(np.array([0]))
    assert one.values[0] != two.values[0]
    both = side_by_side([Ragged.of([np.array([1, 2]), np.array([3])]),
                         Ragged.of([np.array([9]), np.array([8, 7])])])  # fmt: skip
    assert [both[i].tolist() for i in range(2)] == [[1, 2, 9], [3, 8, 7]]


WORDS = (
    "the quick brown fox jumps over a lazy dog while seven cats sleep in warm sun all day and"
    " nobody thinks of waking them up"
)


def near_table(path, extra: list[tuple[str, str]]):
    rng = np.random.default_rng(1)
    words = [f"word{i}" for i in range(500)]
    rows = [(" ".join(rng.choice(words, 20)), "xy"[i % 2]) for i in range(60)]
    lines = [f"{text},{label}\n" for text, label in [*rows, *extra]]
    path.write_text("text,label\n" + "".join(lines))
    return path


def test_check_counts_copies_near_copies_and_contradictions_apart(tmp_path) -> None:
    extra = [
        (WORDS, "x"),  # line 62
        (WORDS, "x"),
        (WORDS.replace("lazy", "sleepy"), "x"),
        (WORDS.replace("quick", "swift"), "y"),
    ]
    test = near_table(tmp_path / "test.csv", [(WORDS.replace("seven", "nine"), "x")])
    report = unspool.check(near_table(tmp_path / "a.csv", extra), test=test, valid_share=0.0)
    found = {each.kind: each for each in report.findings if "test file" not in each.what}
    assert (found["repeated"].count, found["near"].count) == (1, 1)
    assert found["near-contradiction"].count == 1
    assert [each.where[-8:] for each in found["near"].examples] == ["a.csv:64"]
    assert "% as" in found["near"].examples[0].note
    assert found["near"].examples[0].shown.startswith("the quick brown")
    assert found["near-leak"].count == 1
    assert found["leak"].count == 60


def test_a_near_copy_names_the_earlier_row_of_its_file(tmp_path) -> None:
    """The test file has a copy of a training row and a near copy of this: near in both ways."""
    train = near_table(tmp_path / "a.csv", [(WORDS, "x")])
    extra = [(WORDS, "x"), (WORDS.replace("lazy", "sleepy"), "x")]
    rows = [f"{text},{label}\n" for text, label in extra]
    more = [f"other words {'abcdefgh'[i] * 20},y\n" for i in range(8)]
    (tmp_path / "test.csv").write_text("text,label\n" + "".join([*rows, *more]))
    report = unspool.check(train, test=tmp_path / "test.csv", valid_share=0.0)
    found = {each.kind: each for each in report.findings}
    assert set(found) >= {"leak", "near", "near-leak"}
    (near,), (leak,) = found["near"].examples, found["near-leak"].examples
    assert near.where.endswith("test.csv:3")
    assert near.note.endswith("% as line 2")
    assert leak.where.endswith("test.csv:3")
    assert leak.note.endswith("a.csv:62")


def test_of_a_chain_the_first_row_is_not_counted(tmp_path) -> None:
    extra = [
        (WORDS, "x"),
        (WORDS.replace("lazy", "sleepy"), "x"),
        (WORDS.replace("quick", "swift"), "x"),
    ]
    report = unspool.check(near_table(tmp_path / "a.csv", extra), valid_share=0.0)
    (found,) = (each for each in report.findings if each.kind == "near")
    lines = sorted(each.where.rpartition(":")[2] for each in found.examples)
    assert lines == ["63", "64"]
    assert all(each.note.endswith("as line 62") for each in found.examples)
