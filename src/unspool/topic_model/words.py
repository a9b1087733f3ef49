"""Weights of words: in a document (TF-IDF), and those that distinguish topics from each other.

Class-based TF-IDF (Grootendorst 2022):

All documents of a topic are taken for one. With n_tc how often word t occurs in topic c, f_t in all
topics, and A the mean number of words a topic,

    W_tc = n_tc / Σ_t n_tc · log(1 + A / f_t)

A document that has several topics counts for each with its share of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


FAINT = 0.01  # of the largest weight of a topic


def inverse_document_frequency(counts: csr_matrix) -> np.ndarray:
    """(V,) log((1 + N) / (1 + d_t)) + 1 of words that d_t of N documents have."""
    documents = np.bincount(counts.indices, minlength=counts.shape[1])
    return np.log((1 + counts.shape[0]) / (1 + documents)) + 1


def tf_idf(counts: csr_matrix, idf: np.ndarray) -> csr_matrix:
    """(N, V) (1 + log n_td) · idf_t, each document at length 1; a document without words is 0."""
    from sklearn.preprocessing import normalize

    x = counts.copy()
    x.data = (1 + np.log(x.data)) * idf[x.indices]
    return normalize(x)


def class_tf_idf(counts: csr_matrix, shares: np.ndarray) -> np.ndarray:
    """counts (N, V) of words in documents, shares (N, K) of topics in them -> W (K, V)."""
    n = np.asarray(counts.T @ shares).T  # (K, V)
    f = n.sum(0)
    idf = np.log1p(n.sum() / len(n) / np.where(f > 0, f, 1))
    return n / np.maximum(n.sum(1, keepdims=True), 1e-12) * idf


def top_words(weights: np.ndarray, words: list[str], count: int) -> list[list[tuple[str, float]]]:
    """Of each topic the words with the largest weights (K, V), the more frequent of equals first;
    none whose weight is less than a hundredth of the largest."""
    found = []
    for row in weights:
        order = np.argsort(-row, kind="stable")[:count]
        found.append([(words[i], float(row[i])) for i in order if row[i] > FAINT * row.max()])
    return found
