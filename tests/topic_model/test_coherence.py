"""Coherence, words and shares against gensim, the formulas written out, and brute force."""

from __future__ import annotations

import math
import random
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from unspool.config import DataConfig, TokenizerConfig
from unspool.topic_model.corpus import (
    Documents,
    class_tf_idf,
    inverse_document_frequency,
    open_documents,
    read_documents,
    tf_idf,
    top_words,
)
from unspool.topic_model.fitting import EPSILON, coherence, count_windows

WORDS = [f"word{chr(97 + i)}" for i in range(20)]
TOPICS = [WORDS[:5], WORDS[3:9], WORDS[12:14]]


def read(path: Path, texts: list[list[str]]) -> Documents:
    path.write_text("".join(f"{' '.join(text)}\n" for text in texts))
    plan = open_documents(path, DataConfig(format="lines"))
    return read_documents(plan, TokenizerConfig(kind="word", lowercase=True))


def texts(seed: int, *, longest: int, distinct: bool) -> list[list[str]]:
    rng = random.Random(seed)
    sizes = [rng.randint(1, longest) for _ in range(60)]
    pick = rng.sample if distinct else lambda words, k: rng.choices(words, k=k)
    return [pick(WORDS, min(n, len(WORDS)) if distinct else n) for n in sizes]


@pytest.mark.parametrize("window", [3, 10, 1000])
def test_npmi_is_gensims(tmp_path: Path, window: int) -> None:
    """On documents that have no word twice: gensim forgets a word that a window still holds when it
    leaves one of its occurrences behind."""
    from gensim.corpora import Dictionary
    from gensim.models import CoherenceModel

    documents = texts(1, longest=20, distinct=True)
    ours = coherence(read(tmp_path / "a.txt", documents), TOPICS, window)
    theirs = CoherenceModel(
        topics=TOPICS,
        texts=documents,
        dictionary=Dictionary(documents),
        coherence="c_npmi",
        window_size=window,
        topn=10,
        processes=1,
    )
    np.testing.assert_allclose(ours, theirs.get_coherence_per_topic(), rtol=1e-9)


@pytest.mark.parametrize("window", [2, 5, 40])
def test_windows_are_those_of_brute_force(tmp_path: Path, window: int, monkeypatch) -> None:
    """Of documents that repeat words, in blocks of some tokens."""
    monkeypatch.setattr("unspool.topic_model.fitting.BLOCK", 50)
    documents = texts(2, longest=30, distinct=False)
    found = count_windows(read(tmp_path / "a.txt", documents), WORDS, window)
    stretches = [
        set(text[i : i + window])
        for text in documents
        for i in range(max(1, len(text) - window + 1))
    ]
    assert found.total == len(stretches)
    for a, b in combinations(WORDS, 2):
        i, j = found.words[a], found.words[b]
        assert found.together[i, j] == sum({a, b} <= own for own in stretches)
        assert found.together[i, i] == sum(a in own for own in stretches)
    p = {w: sum(w in own for own in stretches) / len(stretches) for w in WORDS[:2]}
    both = sum(set(WORDS[:2]) <= own for own in stretches) / len(stretches) + EPSILON
    npmi = math.log(both / math.prod(p.values())) / -math.log(both)
    assert found.npmi(WORDS[:2]) == pytest.approx(npmi)


def test_npmi_of_words_that_are_always_together_is_one(tmp_path: Path) -> None:
    documents = read(tmp_path / "a.txt", [["sea", "salt"], ["oak", "leaf"]] * 3)
    assert coherence(documents, [["sea", "salt"]], 10) == [pytest.approx(1)]
    assert coherence(documents, [["sea", "oak"], ["sea"]], 10) == [
        pytest.approx(-0.95, abs=0.01),
        0,
    ]


def test_class_tf_idf_is_its_formula() -> None:
    rng = np.random.default_rng(1)
    counts, shares = rng.integers(0, 4, (12, 7)), rng.dirichlet(np.ones(3), 12)
    found = class_tf_idf(csr_matrix(counts), shares)
    n = [[sum(shares[d, c] * counts[d, t] for d in range(12)) for t in range(7)] for c in range(3)]
    mean = sum(map(sum, n)) / 3
    for c in range(3):
        for t in range(7):
            f = sum(row[t] for row in n)
            assert found[c, t] == pytest.approx(n[c][t] / sum(n[c]) * math.log(1 + mean / f))


def test_tf_idf_is_scikit_learns() -> None:
    from sklearn.feature_extraction.text import TfidfTransformer

    counts = csr_matrix(np.random.default_rng(2).integers(0, 3, (9, 6)) * 1.0)
    counts.eliminate_zeros()
    ours = tf_idf(counts, inverse_document_frequency(counts))
    theirs = TfidfTransformer(sublinear_tf=True).fit_transform(counts)
    np.testing.assert_allclose(ours.toarray(), theirs.toarray(), rtol=1e-12)


def test_top_words_leave_out_faint_ones() -> None:
    found = top_words(np.array([[0.5, 1.0, 0.001, 1.0]]), list("abcd"), 4)
    assert found == [[("b", 1.0), ("d", 1.0), ("a", 0.5)]]
