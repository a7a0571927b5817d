"""`Unigram`: every word drawn alone. The perplexity any model of documents has to beat."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, DensityMixin

from docboltz.baselines.base import DocumentDensity, Likelihood
from docboltz.device import share
from docboltz.inference import to_torch
from docboltz.model.counts import SparseCounts
from docboltz.model.unigram import smoothed_word_frequency, unigram_log_likelihood


class Unigram(DocumentDensity, DensityMixin, BaseEstimator):
    """p(v) = Π_k f_k^v̂_k with f the words' shares of all training words, a little smoothed.

    It tells nothing about a document, so it has no `transform`.

    Attributes
    ----------
    word_frequency_ : the shares f, of shape (n_words,).

    Examples
    --------
    >>> from docboltz.baselines import Unigram
    >>> model = Unigram().fit([[3, 1, 0], [0, 2, 2]])
    >>> round(model.perplexity([[1, 1, 0]]).value, 2)
    2.68
    """

    word_frequency_: NDArray[np.float64]
    n_features_in_: int

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Count words. Documents without a word are left out, with a warning."""
        with self._unchanged_if_refused():
            counts = to_torch(self._nonempty_counts(X, "fit", reset=True))
        self.word_frequency_ = smoothed_word_frequency(counts).numpy()
        return self

    def _likelihood(self, counts: SparseCounts, seed: int) -> Likelihood:
        log_p = unigram_log_likelihood(counts, share(self.word_frequency_))
        return Likelihood(log_p, counts.lengths, "exact")
