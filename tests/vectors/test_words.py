"""Looking at vectors: neighbours, analogies, lists, a map."""

from __future__ import annotations

import numpy as np
import pytest

from unspool.errors import DataError
from unspool.vectors import WordVectors
from unspool.vectors.lists import AnalogyScore, SimilarityScore, score
from unspool.vectors.picture import FONT, LINE, draw_map, label_offsets, plane

ROYAL = {
    "man": [1, 0, 0, 1],
    "woman": [0, 1, 0, 1],
    "king": [1, 0, 1, 0.9],
    "queen": [0, 1, 1, 0.9],
    "apple": [-1, -1, 0.2, 0],
    "nothing": [0, 0, 0, 0],
}


@pytest.fixture
def royal() -> WordVectors:
    return WordVectors(list(ROYAL), np.array(list(ROYAL.values()), np.float32), source="royal.txt")


def test_neighbours_and_analogy(royal) -> None:
    near = royal.neighbours("king", top=2)
    assert [n.word for n in near] == ["man", "queen"]
    assert near[0].similarity == pytest.approx(royal.similarity("king", "man"))
    assert royal.analogy("man", "king", "woman", top=1)[0].word == "queen"
    assert len(royal.neighbours("king", top=100)) == 5
    assert len(royal.analogy("man", "king", "man", top=100)) == 4


def test_a_word_is_found_in_lower_case_too(royal) -> None:
    assert (royal["King"] == royal["king"]).all()
    assert "King" not in royal
    assert royal.find("King") == 2
    assert royal.find("duke") is None


def test_an_unknown_word_is_told_with_the_nearest_spelling(royal) -> None:
    with pytest.raises(
        DataError, match=r"royal.txt: no vector for this word; got 'quen'. Did you "
    ):
        royal.neighbours("quen")
    with pytest.raises(DataError, match="Try another word"):
        royal["zzzzzzz"]


def test_words_and_vectors_belong_together() -> None:
    with pytest.raises(ValueError, match="one vector"):
        WordVectors(["a", "a"], np.zeros((2, 3)))


def test_similarity_list(royal, tmp_path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("Word 1\tWord 2\tmean\nking\tqueen\t7\nman\tKing\t9\nking\tapple\t1\nx\ty\t2\n")
    found = score(royal, path)
    assert isinstance(found, SimilarityScore)
    assert (found.pairs, found.covered, found.spearman) == (4, 3, pytest.approx(1))
    assert found.lines() == ["Spearman 1.0000   3 of 4 pairs covered"]
    assert found.to_json()["covered"] == 3


def test_analogy_list(royal, tmp_path) -> None:
    path = tmp_path / "questions.txt"
    path.write_text(
        ": family\nman king woman queen\nman woman king queen\nman king x y\n"
        ": fruit\nman king woman apple\n"
    )
    found = score(royal, path)
    assert isinstance(found, AnalogyScore)
    assert (found.questions, found.covered, found.right) == (4, 3, 2)
    assert found.sections == {"family": (2, 2, 3), "fruit": (0, 1, 1)}
    assert found.lines()[-1].split() == ["total", "0.6667", "2", "3", "4"]
    assert found.to_json()["sections"]["fruit"] == {"right": 0, "covered": 1, "questions": 1}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "the list is empty"),
        ("king\tqueen\t9\nman\tking\n", "pairs.txt:2: a row of a similarity list is two words and"),
        ("king,queen,9\nman,king,much\n", "pairs.txt:2: a row of a similarity list"),
        ("a b 3\nc d 4\n", "too few of its 2 rows have words that are in royal.txt; got 0"),
        (": x\nman king woman\n", "pairs.txt:2: an analogy is four words; got 'man king woman'"),
        (": x\na b c d\n", "too few of its 1 rows"),
    ],
)
def test_a_bad_list_is_told_in_one_line(royal, tmp_path, content: str, says: str) -> None:
    (tmp_path / "pairs.txt").write_text(content)
    with pytest.raises(DataError) as caught:
        score(royal, tmp_path / "pairs.txt")
    assert says in str(caught.value)


def test_the_plane_is_that_of_the_principal_components(royal) -> None:
    decomposition = pytest.importorskip("sklearn.decomposition")
    words = list(ROYAL)[:5]
    places = plane(royal, words)
    theirs = decomposition.PCA(2).fit_transform(royal.units[:5])
    np.testing.assert_allclose(np.abs(places), np.abs(theirs), atol=1e-5)
    assert plane(royal, ["man", "king"]).shape == (2, 2)


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_a_map_is_a_picture(royal, tmp_path, suffix: str) -> None:
    path = tmp_path / f"map{suffix}"
    draw_map(royal, ["man", "woman", "king"], path)
    assert path.read_bytes()[:5] in (b"\x89PNG\r", b"<?xml")
    with pytest.raises(DataError, match=r"cannot be written in this format; got '.doc'"):
        draw_map(royal, ["man", "king"], tmp_path / "map.doc")


def test_words_on_a_map_do_not_lie_upon_each_other() -> None:
    words = [f"word{i}" for i in range(12)]
    points = np.repeat([[100.0, 100.0], [103.0, 101.0]], 6, axis=0)  # two heaps
    boxes = [
        (x + dx - (dx < 0) * 0.6 * FONT * len(word), y + dy, 0.6 * FONT * len(word))
        for (x, y), (dx, dy), word in zip(points, label_offsets(points, words), words)
    ]
    for i, (x, y, wide) in enumerate(boxes):
        for other, height, width in boxes[:i]:
            assert abs(y - height) >= LINE or x + wide <= other or other + width <= x
    alone = np.array([[0.0, 0.0], [300.0, 0.0]])
    assert label_offsets(alone, ["here", "there"]) == [(5.0, 0.0), (5.0, 0.0)]


def test_vectors_whose_squares_32_bits_do_not_hold() -> None:
    huge = WordVectors(["a", "b", "c"], np.array([[3e38, 0], [3e38, 3e38], [0, 1]], np.float32))
    assert huge.similarity("a", "b") == pytest.approx(0.5**0.5)
    assert huge.units.dtype == np.float32
