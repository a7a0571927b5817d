"""What the baselines with a likelihood share: the estimators' way to report it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from torch import Tensor

from docboltz.device import seed_of_method
from docboltz.errors import require_count
from docboltz.estimator.density import Perplexity, measure_perplexity
from docboltz.estimator.reading import ReadsCounts
from docboltz.model.counts import SparseCounts
from docboltz.sampling.annealing import to_numpy


class MakesFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """An estimator with a row of `components_` for each feature that it gives a document."""

    components_: NDArray[Any]

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)


class Likelihood(NamedTuple):
    """log p(v) of B documents."""

    value: Tensor
    """(B,), float64; 0 for a document without words."""
    n: Tensor
    """N, words of each document: (B,)."""
    method: str
    """How it was found."""
    error: Tensor | None = None
    """Standard errors: (B,); None for exact values."""


class DocumentDensity(ReadsCounts):
    """Likelihoods of word sequences, for the baselines."""

    def score_samples(self, X: ArrayLike, *, random_state: Any = None) -> NDArray[np.float64]:
        """Give log p(v) of each document's words, in nats.

        The probability is that of the word sequence: no multinomial coefficient. Words outside the
        vocabulary do not count. A document without words has probability 1. `random_state` is the
        seed of what is random in it, the words' order and the particles; None for the model's, by
        the rule of `OverReplicatedSoftmax`.
        """
        counts = self._fitted_counts(X, "score_samples")
        return self._likelihood(counts, self._seed(random_state)).value.numpy()

    def score(self, X: ArrayLike, y: object = None) -> float:
        """Mean over documents of log p(v) per word, in nats: larger is better."""
        return -math.log(self.perplexity(X).value)

    def perplexity(self, X: ArrayLike, *, random_state: Any = None) -> Perplexity:
        """Perplexity per word as the paper defines it: each document counts once.

        Documents without words are left out and counted. `random_state` is that of `score_samples`.
        """
        counts = self._fitted_counts(X, "perplexity")
        found = self._likelihood(counts, self._seed(random_state))
        owner = f"{type(self).__name__}.perplexity"
        error = None if found.error is None else to_numpy(found.error)
        log_p, n = to_numpy(found.value), to_numpy(found.n)
        return measure_perplexity(owner, log_p, n, method=found.method, error=error)

    def _likelihood(self, counts: SparseCounts, seed: int) -> Likelihood:
        raise NotImplementedError

    def _seed(self, random_state: Any) -> int:
        own = getattr(self, "random_state", None)  # a model without chance has none
        return seed_of_method(random_state, own, type(self).__name__)

    def _require_whole(self, *names: str, least: int = 1) -> None:
        """Refuse settings that are not whole numbers of at least `least`."""
        for name in names:
            require_count(getattr(self, name), type(self).__name__, name, least)
