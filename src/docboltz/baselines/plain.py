"""`TfIdf`, `LSI` and `NMF`: features without a model of documents."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.decomposition import non_negative_factorization
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.utils.extmath import randomized_svd
from sklearn.utils.validation import check_is_fitted

from docboltz.baselines.base import MakesFeatures
from docboltz.device import random_state_of
from docboltz.errors import require_count
from docboltz.estimator.reading import ReadsCounts

SWEEPS, INFERENCE_SWEEPS = 200, 20
"""Sweeps of coordinate descent through the weights of NMF: learning both factors, at most, and
inferring those of documents, always."""


class TfIdf(ReadsCounts, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """v̂_k (1 + log((1 + L)/(1 + L_k))), rows scaled to length 1: L documents, L_k with word k.

    What scikit-learn's `TfidfTransformer` does by default: counts as they are, not their
    logarithms. A document without words gets zeros.

    Attributes
    ----------
    idf_ : weight of each word, of shape (n_words,).

    Examples
    --------
    >>> from docboltz.baselines import TfIdf
    >>> TfIdf().fit_transform([[3, 1, 0], [0, 2, 2]]).shape
    (2, 3)
    """

    idf_: NDArray[np.float32]
    n_features_in_: int

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Count the documents of each word. Those without words are left out, with a warning."""
        with self._unchanged_if_refused():
            counts = self._nonempty_counts(X, "fit", reset=True)
        self._weights = TfidfTransformer().fit(counts)
        self.idf_ = self._weights.idf_
        return self

    def transform(self, X: ArrayLike) -> sparse.csr_array:
        """Give each document its weighted words: (n_documents, n_words), sparse, float32."""
        check_is_fitted(self)
        return self._weights.transform(self._validate(X, "transform", reset=False))


class _OfWeights(ReadsCounts, MakesFeatures):
    """Features from a decomposition of tf-idf weights: rows of `components_` are learnt."""

    components_: NDArray[np.float32]
    idf_: NDArray[np.float32]
    n_features_in_: int

    def __init__(self, n_components: int = 128, *, random_state: Any = None) -> None:
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn from raw word counts. Documents without a word are left out, with a warning."""
        name = type(self).__name__
        with self._unchanged_if_refused():
            require_count(self.n_components, name, "n_components")
            counts = self._nonempty_counts(X, "fit", reset=True)
            rng = random_state_of(self.random_state, name)
        self._weights = TfidfTransformer().fit(counts)
        self.idf_ = self._weights.idf_
        rank = min(self.n_components, *counts.shape)
        self.components_ = self._decompose(self._weights.transform(counts), rank, rng)
        return self

    def _decompose(
        self, weights: sparse.csr_array, rank: int, rng: np.random.RandomState
    ) -> NDArray[np.float32]:
        """The components of weights: (rank, n_words)."""
        raise NotImplementedError

    def _weighted(self, X: ArrayLike) -> sparse.csr_array:
        """The weights of documents to transform."""
        check_is_fitted(self)
        return self._weights.transform(self._validate(X, "transform", reset=False))


class LSI(_OfWeights):
    """Latent semantic indexing: the leading singular vectors of tf-idf weights.

    Parameters
    ----------
    n_components : number of features; with fewer words or documents than that, as many as they are.
    random_state : seed of the randomised decomposition, by the rule of `OverReplicatedSoftmax`.

    Attributes
    ----------
    components_ : right singular vectors, of shape (n_components, n_words).
    idf_ : weight of each word, of shape (n_words,).

    A document without words gets zeros.

    Examples
    --------
    >>> from docboltz.baselines import LSI
    >>> LSI(2, random_state=0).fit_transform([[3, 1, 0], [0, 2, 2], [1, 0, 1]]).shape
    (3, 2)
    """

    def _decompose(
        self, weights: sparse.csr_array, rank: int, rng: np.random.RandomState
    ) -> NDArray[np.float32]:
        # Not TruncatedSVD, which refuses a vocabulary of one word and warns where all documents
        # are the same; its decomposition is this one.
        vectors = randomized_svd(weights, rank, n_iter=5, random_state=rng)[2]
        return np.asarray(vectors, np.float32)

    def transform(self, X: ArrayLike) -> NDArray[np.float32]:
        """Give each document its features: (n_documents, n_components), float32."""
        return np.asarray(self._weighted(X) @ self.components_.T)


class NMF(_OfWeights):
    """Non-negative matrix factorisation of tf-idf weights: V ≈ W H, both factors 0 or more.

    Parameters
    ----------
    n_components : number of topics; with fewer words or documents than that, as many as they are.
    random_state : seed of the decomposition that it starts from, by the rule of
        `OverReplicatedSoftmax`.

    Attributes
    ----------
    components_ : H, the weights of each topic's words, of shape (n_components, n_words).
    idf_ : weight of each word, of shape (n_words,).

    What scikit-learn's `NMF` does by default: least squares by coordinate descent, from the leading
    singular vectors. A document without words gets zeros.

    Examples
    --------
    >>> from docboltz.baselines import NMF
    >>> NMF(2, random_state=0).fit_transform([[3, 1, 0], [0, 2, 2], [1, 0, 1]]).shape
    (3, 2)
    """

    def _decompose(
        self, weights: sparse.csr_array, rank: int, rng: np.random.RandomState
    ) -> NDArray[np.float32]:
        with warnings.catch_warnings():
            # Up to 1,000 sweeps give no post of 20 Newsgroups another of 20 topics.
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = non_negative_factorization(
                weights, n_components=rank, max_iter=SWEEPS, random_state=rng
            )
        return np.asarray(found[1])

    def transform(self, X: ArrayLike) -> NDArray[np.float32]:
        """Give each document its weights of the topics, W: (n_documents, n_components), float32."""
        # With a tolerance, when to stop would depend on the other documents.
        found = non_negative_factorization(
            self._weighted(X),
            H=self.components_,
            n_components=len(self.components_),
            update_H=False,
            max_iter=INFERENCE_SWEEPS,
            tol=0,
        )[0]
        return np.asarray(found)
