"""Fast inference without torch: a sparse product and a sigmoid, for those who ask one question.

B documents, F topic units, K words. The same equations as `docboltz.model.conditionals`, on NumPy's
arrays: importing torch takes longer than any search.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from docboltz.model.latent_words import LatentWords, policy_from_dict
from docboltz.storage import Arrays, require_parameters

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class LightModel:
    """A fitted model, as far as questions need it."""

    W: Floats
    """(F, K)"""
    a: Floats
    """(F,)"""
    b: Floats
    """(K,)"""
    word_frequency: Floats
    """Share of each word in the training documents: (K,)."""
    latent_words: LatentWords

    @classmethod
    def of(cls, arrays: Arrays, settings: dict[str, Any]) -> Self:
        """Take what was saved of a model; KeyError or ValueError if it is none."""
        require_parameters(arrays)
        names = ("components", "intercept_hidden", "intercept_visible", "word_frequency")
        W, a, b, word_frequency = (arrays[name] for name in names)
        return cls(W, a, b, word_frequency, policy_from_dict(settings["latent_words"]))

    def contributions(self, counts: csr_array) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What each word of a document (1, K) adds to the input of each unit, and the rest of it.

        (1 + M/N) W_jk x_k, (F, words of the document), and (1 + M/N) N a_j, (F,). They add up to
        what `features` takes the sigmoid of, because that is a sum over words.
        """
        n = np.asarray([counts.sum()], np.float64)
        replication = (n + self.latent_words(n)) / np.maximum(n, 1)
        parts = self.W[:, counts.indices].astype(np.float64) * counts.data * replication
        return parts, replication * n * self.a

    def features(self, counts: csr_array, extra: int = 0) -> Floats:
        """P(h_j = 1 | v) ≈ σ((1 + M/N)(Σ_k W_jk v̂_k + N a_j)).  Eq. (11).  (B, F).

        With `extra`, the document has so many further words that are not known.
        """
        n = np.asarray(counts.sum(axis=1), np.float64).reshape(-1)
        m = self.latent_words(n + extra) + extra
        replication = np.divide(n + m, n, out=np.zeros_like(n), where=n > 0)
        # Only the columns of W that are asked for: a question has few words.
        asked, place = np.unique(counts.indices, return_inverse=True)
        few = csr_array((counts.data, place, counts.indptr), shape=(len(n), len(asked)))
        inputs = few @ self.W[:, asked].T.astype(np.float64) + n[:, None] * self.a
        logits = inputs * replication[:, None]
        small = np.exp(-np.abs(logits))  # cannot overflow, and keeps tiny σ to the last digit
        sigmoid: Floats = (np.where(logits < 0, small, 1) / (1 + small)).astype(np.float32)
        return sigmoid

    def next_words(self, counts: csr_array) -> NDArray[np.float64]:
        """softmax(b + Wᵀ μ1), μ1 with one latent word more: a further word of each.  (B, K)."""
        logits = self.features(counts, extra=1).astype(np.float64) @ self.W + self.b
        words = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares: NDArray[np.float64] = words / words.sum(axis=1, keepdims=True)
        return shares

    def expected_words(
        self, counts: csr_array, n: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """Columns of the n words a document (1, K) says most about; probability and lift of each.

        Ordered by p · log(p / usual), what each adds to the divergence from the usual words. Words
        of the document itself are no news.
        """
        given = self.next_words(counts)[0]
        usual = self.word_frequency.astype(np.float64)
        news = given * np.log(given / usual)
        news[counts.indices] = -np.inf
        best = np.argsort(-news, kind="stable")[: min(n, len(news) - counts.nnz)]
        return best, given[best], given[best] / usual[best]
