"""CIDEr-D, BLEU-1 to 4 and ROUGE-L against pycocoevalcap 1.2, whose figures are written down here
and computed again where it is installed."""

from __future__ import annotations

import random

import numpy as np
import pytest

from unspool.tasks.caption.report import CaptionScores, cider_d, words_of
from unspool.tasks.text_metrics import bleu_of, rouge_l

WORDS = [
    "a",
    "the",
    "man",
    "woman",
    "dog",
    "plays",
    "runs",
    "in",
    "park",
    "red",
    "blue",
    "ball",
    "with",
    "two",
    "on",
]
# items and seed; CIDEr-D, that of items 0 and 5; BLEU-1 to 4; ROUGE-L, that of item 3
SAVED = [
    (12, 1, [3.7658723423603777, 4.568986564618619, 5.9141434669472215],
     [72.83140545582447, 65.75968152934712, 57.72822096731372, 52.31116867714285],
     [0.7486796258950751, 0.6535714285714286]),
    (40, 2, [3.489425776294555, 4.7835827820871994, 2.892371329869028],
     [71.71501476240543, 62.455912324497135, 52.05776174210611, 43.103250726592066],
     [0.7221692272668578, 0.41924398625429554]),
]  # fmt: skip


def captions(count: int, seed: int) -> tuple[list[str], list[list[str]]]:
    """Captions, and from one to five references of each."""
    rng = random.Random(seed)
    texts, references = [], []
    for _ in range(count):
        base = rng.choices(WORDS, k=rng.randint(5, 12))
        references.append([
            " ".join(w if rng.random() > 0.3 else rng.choice(WORDS) for w in base)
            for _ in range(rng.randint(1, 5))
        ])  # fmt: skip
        texts.append(" ".join(w for w in base if rng.random() > 0.2) or "a")
    return texts, references


@pytest.mark.parametrize(("count", "seed", "cider", "bleu", "rouge"), SAVED)
def test_figures_of_pycocoevalcap(count, seed, cider, bleu, rouge) -> None:
    scores = CaptionScores(*captions(count, seed))
    found = [scores.cider.mean(), scores.cider[0], scores.cider[5]]
    assert found == pytest.approx(cider, rel=1e-9)
    assert [scores.figures[f"bleu{n}"] for n in (1, 2, 3, 4)] == pytest.approx(bleu, rel=1e-6)
    assert [scores.rouge.mean(), scores.rouge[3]] == pytest.approx(rouge, rel=1e-9)


def test_pycocoevalcap_itself() -> None:
    pytest.importorskip("pycocoevalcap")
    from pycocoevalcap.bleu.bleu_scorer import BleuScorer
    from pycocoevalcap.cider.cider_scorer import CiderScorer
    from pycocoevalcap.rouge.rouge import Rouge

    texts, references = captions(25, 7)
    oracle = CiderScorer(n=4, sigma=6.0)
    for text, own in zip(texts, references):
        oracle += (text, own)
    scores = CaptionScores(texts, references)
    bleu = BleuScorer(n=4)
    for text, own in zip(texts, references):
        bleu += (text, own)
    wanted, _ = bleu.compute_score(option="closest", verbose=0)
    found = [scores.figures[f"bleu{n}"] for n in (1, 2, 3, 4)]
    assert found == pytest.approx([100 * own for own in wanted], rel=1e-6)
    assert scores.cider == pytest.approx(oracle.compute_score()[1], rel=1e-9)
    rouge = [Rouge().calc_score([text], own) for text, own in zip(texts, references)]
    assert scores.rouge == pytest.approx(rouge, rel=1e-9)


def test_words_are_compared_without_case_and_punctuation() -> None:
    assert words_of("A man's T-shirt , red.") == ["a", "man's", "t-shirt", "red"]
    assert words_of("一只狗 runs") == ["一", "只", "狗", "runs"]
    scores = CaptionScores(["a dog runs .", ""], [["A dog runs"], ["it"]])
    assert scores.exact.tolist() == [1, 0]


def test_what_nothing_can_be_said_about() -> None:
    assert cider_d([["a"]], [[["a"]]]).tolist() == [0]  # one item: no word is rare
    assert rouge_l([], [["a"]]) == 0
    assert rouge_l(["b"], [["a"], []]) == 0
    assert float(bleu_of(np.zeros(10), smoothed=False)) == 0
