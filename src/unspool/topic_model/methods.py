"""Ways to find topics: N documents in, the shares (N, K) of K topics in each out.

    nmf        X ≈ W H with X the TF-IDF (N, V), W (N, K) ≥ 0, H (K, V) ≥ 0 (Lee & Seung 1999)
    lda        each document a mixture of topics, each topic a distribution over words (Blei 2003)
    clusters   k-means of vectors (N, E) at length 1; a document belongs to one topic

All are scikit-learn's. Each keeps a matrix, from which new documents get their shares.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from unspool.tasks.document_vectors import unit_length
from unspool.topic_model.corpus import inverse_document_frequency, tf_idf
from unspool.topic_model.settings import TopicSettings


class Assigned(NamedTuple):
    """The shares (N, K) of the topics of each document, which sum to 1, or to 0 where it has none;
    and how near (N, K) it is to each, by which the documents of a topic are ranked."""

    shares: np.ndarray
    nearness: np.ndarray

    @property
    def topic(self) -> np.ndarray:
        """(N,) the number of the largest share, -1 where there is none."""
        return np.where(self.shares.sum(1) > 0, self.shares.argmax(1), -1)


class TopicMethod(ABC):
    """A way to find topics; `fit` once, or `restore` what was kept, then `assign`.

    reads_vectors   whether it reads the vectors of a model, not the counts of words
    """

    reads_vectors: ClassVar[bool] = False
    measure: ClassVar[str] = "share"
    matrix: ClassVar[str] = "components"  # the tensor that has a row for each topic

    def __init__(self, settings: TopicSettings) -> None:
        self.settings = settings

    @abstractmethod
    def fit(self, x: Any, count: int) -> None:
        """Find `count` topics in x (N, V) or (N, E)."""

    @abstractmethod
    def assign(self, x: Any) -> Assigned: ...

    def word_weights(self) -> np.ndarray | None:
        """(K, V) by which the words of each topic are ranked; None: class-based TF-IDF."""
        return None

    def reorder(self, order: np.ndarray) -> None:
        """Number the topics anew: order[k] becomes k."""
        tensors = self.tensors()
        self.restore({**tensors, self.matrix: tensors[self.matrix][order]})

    @abstractmethod
    def tensors(self) -> dict[str, np.ndarray]: ...

    @abstractmethod
    def restore(self, tensors: dict[str, np.ndarray]) -> None: ...


class Nmf(TopicMethod):
    """TF-IDF with the logarithm of counts, at length 1."""

    def fit(self, x: Any, count: int) -> None:
        self.idf = inverse_document_frequency(x)
        model = self._model(count)
        model.fit(tf_idf(x, self.idf))
        self.components = model.components_

    def _model(self, count: int) -> Any:
        from sklearn.decomposition import NMF

        # nndsvda starts from a singular value decomposition: nothing in it is left to chance but
        # the solver of that decomposition.
        return NMF(
            count,
            init="nndsvda",
            random_state=self.settings.seed,
            max_iter=self.settings.iterations or 300,
            tol=1e-3,
        )

    def assign(self, x: Any) -> Assigned:
        from sklearn.decomposition import non_negative_factorization

        w, *_ = non_negative_factorization(
            tf_idf(x, self.idf),
            H=self.components,
            n_components=len(self.components),
            init="custom",
            update_H=False,
            max_iter=self.settings.iterations or 300,
            tol=1e-3,
            random_state=self.settings.seed,
        )
        # As large as the part of the document that the topic explains.
        w = w * np.linalg.norm(self.components, axis=1)
        return Assigned(proportions(w), w)

    def word_weights(self) -> np.ndarray:
        """H, which stands for TF-IDF already."""
        return self.components

    def tensors(self) -> dict[str, np.ndarray]:
        return {"idf": self.idf, "components": self.components}

    def restore(self, tensors: dict[str, np.ndarray]) -> None:
        self.idf, self.components = tensors["idf"], tensors["components"]


class Lda(TopicMethod):
    """Variational Bayes over whole passes of the counts (Hoffman et al. 2010)."""

    def fit(self, x: Any, count: int) -> None:
        self.model = self._model(count)
        self.model.fit(x)

    def _model(self, count: int) -> Any:
        from sklearn.decomposition import LatentDirichletAllocation

        return LatentDirichletAllocation(
            count,
            learning_method="batch",
            max_iter=self.settings.iterations or 10,
            random_state=self.settings.seed,
        )

    def assign(self, x: Any) -> Assigned:
        shares = self.model.transform(x)
        shares[np.asarray(x.sum(1)).ravel() == 0] = 0  # without words only the prior would be left
        return Assigned(shares, shares)

    def word_weights(self) -> np.ndarray:
        """φ, the probability of each word in a topic."""
        return proportions(self.model.components_)

    def tensors(self) -> dict[str, np.ndarray]:
        return {"components": self.model.components_}

    def restore(self, tensors: dict[str, np.ndarray]) -> None:
        """The distributions of the words are all that a fitted model has; its priors follow."""
        from scipy.special import psi

        components = tensors["components"]
        self.model = model = self._model(len(components))
        model.components_ = components
        model.exp_dirichlet_component_ = np.exp(
            psi(components) - psi(components.sum(1, keepdims=True))
        )
        model.doc_topic_prior_ = model.topic_word_prior_ = 1 / len(components)
        model.n_features_in_ = components.shape[1]


class Clusters(TopicMethod):
    """The nearness is the cosine to the centre of a cluster."""

    reads_vectors = True
    measure = "cosine"
    matrix = "centres"

    def fit(self, x: Any, count: int) -> None:
        from sklearn.cluster import KMeans

        model = KMeans(
            count,
            n_init=4,
            random_state=self.settings.seed,
            max_iter=self.settings.iterations or 300,
        ).fit(x)
        self.centres = unit_length(model.cluster_centers_)

    def assign(self, x: Any) -> Assigned:
        cosine = x @ self.centres.T  # (N, K)
        shares = np.zeros_like(cosine)
        known = np.flatnonzero(np.abs(x).sum(1) > 0)
        shares[known, cosine[known].argmax(1)] = 1
        return Assigned(shares, cosine)

    def tensors(self) -> dict[str, np.ndarray]:
        return {"centres": self.centres}

    def restore(self, tensors: dict[str, np.ndarray]) -> None:
        self.centres = tensors["centres"]


METHODS: dict[str, type[TopicMethod]] = {"nmf": Nmf, "lda": Lda, "clusters": Clusters}


def proportions(w: np.ndarray) -> np.ndarray:
    """Rows that sum to 1; a row of zeros stays one."""
    total = w.sum(1, keepdims=True)
    return np.divide(w, total, out=np.zeros_like(w), where=total > 0)
