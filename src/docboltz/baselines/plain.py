"""`TfIdf` and `LSI`: features without a model of documents."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.utils.extmath import randomized_svd
from sklearn.utils.validation import check_is_fitted

from docboltz.baselines.base import MakesFeatures
from docboltz.device import random_state_of
from docboltz.errors import require_count
from docboltz.estimator.reading import ReadsCounts


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


class LSI(ReadsCounts, MakesFeatures):
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

    components_: NDArray[np.float32]
    idf_: NDArray[np.float32]
    n_features_in_: int

    def __init__(self, n_components: int = 128, *, random_state: Any = None) -> None:
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn from raw word counts. Documents without a word are left out, with a warning."""
        with self._unchanged_if_refused():
            require_count(self.n_components, "LSI", "n_components")
            counts = self._nonempty_counts(X, "fit", reset=True)
            rng = random_state_of(self.random_state, "LSI")
        self._weights = TfidfTransformer().fit(counts)
        weighted = self._weights.transform(counts)
        rank = min(self.n_components, *counts.shape)
        # Not TruncatedSVD, which refuses a vocabulary of one word and warns where all documents
        # are the same; its decomposition is this one.
        vectors = randomized_svd(weighted, rank, n_iter=5, random_state=rng)[2]
        self.components_ = vectors.astype(np.float32)
        self.idf_ = self._weights.idf_
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.float32]:
        """Give each document its features: (n_documents, n_components), float32."""
        check_is_fitted(self)
        weighted = self._weights.transform(self._validate(X, "transform", reset=False))
        return np.asarray(weighted @ self.components_.T)
