"""Labels that were flipped on purpose are found again."""

import numpy as np
import pytest

import unspool
from unspool.data.check.noise import MOST_LEARNT, Suspects, find_suspects, folds
from unspool.data.fields.ngrams import mix
from unspool.data.store.ragged import Ragged

GOOD, BAD = (
    ["fine", "lovely", "superb", "moving", "warm"],
    ["dull", "awful", "weak", "boring", "cold"],
)


def reviews(count: int, seed: int = 0) -> tuple[list[str], np.ndarray]:
    """Five words of an opinion, one of which may be of the other, among others."""
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % 2
    texts = []
    for label in labels:
        own = rng.choice((BAD, GOOD)[label], 5)
        own[0] = rng.choice((BAD, GOOD)[int(rng.random() < 0.5)])
        texts.append(" ".join(rng.permutation([*own, *(f"w{i}" for i in rng.integers(0, 400, 8))])))
    return texts, labels


def planted(count: int = 600, share: float = 0.05) -> tuple[list[str], np.ndarray, np.ndarray]:
    texts, labels = reviews(count)
    flipped = np.zeros(count, dtype=bool)
    flipped[np.random.default_rng(1).choice(count, int(share * count), replace=False)] = True
    return texts, np.where(flipped, 1 - labels, labels), flipped


def features(texts: list[str]):
    index: dict[str, int] = {}
    ids = [np.array([index.setdefault(w, len(index)) for w in t.split()], np.uint64) for t in texts]
    rows = [mix(own + np.uint64(1)) for own in ids]
    return lambda asked: Ragged.of([rows[i] for i in asked])


def test_flipped_labels_come_first() -> None:
    texts, labels, flipped = planted()
    found = find_suspects(features(texts), labels)
    assert found.useful
    assert found.judged == 600
    assert flipped[found.rows[: flipped.sum()]].mean() > 0.9
    assert (found.predicted == 1 - labels[found.rows]).all()
    margins = found.given - found.other
    assert (np.diff(margins) >= 0).all()
    assert (margins < 0).all()


def test_labels_without_a_reason_give_no_suspects() -> None:
    texts, _ = reviews(300)
    labels = np.random.default_rng(3).integers(0, 2, 300)
    assert not find_suspects(features(texts), labels).useful


def test_too_few_rows_and_rare_classes_are_left_alone() -> None:
    texts, labels = reviews(60)
    assert find_suspects(features(texts), labels).judged == 0
    texts, labels = reviews(300)
    labels[:3] = 7
    found = find_suspects(features(texts), labels)
    assert found.judged == 297
    assert not np.isin(found.rows, [0, 1, 2]).any()
    labels[:3] = -1
    assert find_suspects(features(texts), labels).judged == 297


def test_every_class_is_spread_over_the_folds() -> None:
    labels = np.repeat([0, 1, 2], [50, 20, 10])
    fold = folds(labels, np.random.default_rng(0))
    for label in range(3):
        assert set(np.bincount(fold[labels == label], minlength=5)) == {(labels == label).sum() / 5}
    assert MOST_LEARNT >= 1000


def write(path, texts, labels):
    path.write_text("text,label\n" + "".join(f"{t},{'np'[y]}\n" for t, y in zip(texts, labels)))
    return path


def test_check_lists_them(tmp_path) -> None:
    texts, labels, flipped = planted()
    path = write(tmp_path / "a.csv", texts, labels)
    (found,) = (f for f in unspool.check(path).findings if f.kind == "suspect")
    assert 0.5 * flipped.sum() < found.count < 2 * flipped.sum()
    worst = found.examples[0]
    line = int(worst.where.rpartition(":")[2])
    assert flipped[line - 2]
    assert worst.shown == texts[line - 2][: len(worst.shown) - 1] + "…" or worst.shown in texts
    given, other = "np"[labels[line - 2]], "np"[1 - labels[line - 2]]
    assert worst.note.startswith(f"given {given} (")
    assert f"predicted {other} (" in worst.note
    assert not [f for f in unspool.check(path, suspects=False).findings if f.kind == "suspect"]


def test_check_notes_when_nothing_can_be_learnt(tmp_path) -> None:
    texts, _ = reviews(300)
    path = write(tmp_path / "a.csv", texts, np.random.default_rng(3).integers(0, 2, 300))
    notes = unspool.check(path).notes
    assert any("a linear model knows too little about them" in note for note in notes)


@pytest.mark.parametrize("classes", [4, 40])
def test_many_classes(classes: int) -> None:
    rng = np.random.default_rng(5)
    labels = np.arange(classes * 40) % classes
    wrong = rng.random(len(labels)) < 0.03
    texts = [f"topic{y} topic{y}x w{rng.integers(50)} w{rng.integers(50)}" for y in labels]
    given = np.where(wrong, (labels + 1) % classes, labels)
    found = find_suspects(features(texts), given)
    assert wrong[found.rows[: wrong.sum()]].mean() > 0.9


def test_a_model_that_knows_little_doubts_nothing() -> None:
    """Eleven classes, an accuracy of 0.31: better than chance, yet wrong more often than labels."""
    none = np.empty(0, dtype=np.int64)
    known = Suspects(none, none, np.empty(0), np.empty(0), 537, accuracy=0.31, usual=0.16)
    assert not known.useful
    assert known._replace(accuracy=0.77, usual=0.5).useful
