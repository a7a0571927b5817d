"""What the estimators share: scikit-learn's conventions on one side, the equations on the other."""

from __future__ import annotations

import os
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from docboltz.errors import is_whole, require
from docboltz.estimator.density import Density
from docboltz.estimator.saving import describe, restore
from docboltz.inference import Inference, draw_documents, infer_next_words, infer_topics
from docboltz.storage import load_model, save_model

LONGEST_DRAWN = 10**8
"""Words of a document that is drawn: each takes a few bytes of memory."""


class TopicModel(Density):
    """What the two models share: all but the choice of latent words."""

    def transform(self, X: ArrayLike, inference: Inference | None = None) -> NDArray[np.float32]:
        """Give each document its features P(h_j = 1 | document).

        Parameters
        ----------
        X : array or sparse matrix of shape (n_documents, n_words)
            Raw word counts.
        inference : "fast" (Eq. 11, one matrix product) or "mean_field" (Eqs. 9 and 10, iterated);
            by default what the model was made with.

        Returns
        -------
        array of shape (n_documents, n_components), float32
            A document without words gets 1/2 for every unit from fast inference, and the mean
            field of its latent words alone from mean-field inference.
        """
        inference = self._chosen_inference(inference)
        counts = self._fitted_counts(X, "transform")
        return infer_topics(self._parameters(), counts, self.latent_words_, inference)

    def predict_words(
        self, X: ArrayLike, *, top: int | None = None, inference: Inference | None = None
    ) -> NDArray[np.float32] | tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Give the model's distribution over a further word of each document.

        A word not seen yet is one latent word more: its mean-field distribution is
        softmax(b + Wᵀ μ1) with μ1 inferred with M + 1 latent words.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_documents, n_words)
        top : return only the `top` likeliest words. Use it for many documents: the full answer has
            one number for each document and word.
        inference : as in `transform`.

        Returns
        -------
        array of shape (n_documents, n_words), or with `top` a pair of arrays of shape
        (n_documents, top): columns, likeliest first, and their probabilities.
        """
        inference = self._chosen_inference(inference)
        counts = self._fitted_counts(X, "predict_words")
        owner, K = f"{type(self).__name__}.predict_words", self.n_features_in_
        allowed = top is None or (is_whole(top) and 1 <= top <= K)
        require(allowed, owner, "top", f"None or a whole number from 1 to {K}", top)
        columns, probabilities = infer_next_words(
            self._parameters(), counts, self.latent_words_, inference, top
        )
        return probabilities if columns is None else (columns, probabilities)

    def sample(
        self, lengths: ArrayLike, *, sweeps: int = 500, random_state: Any = None
    ) -> sparse.csr_array:
        """Draw new documents of the given lengths from the model, as word counts.

        Each comes from its own Gibbs chain, so documents are independent; more `sweeps` bring a
        chain nearer to the model's distribution, at F = 128 and long documents never quite there.
        Contrastive divergence makes good features but a poor density: expect texts that repeat a
        few words, above all at lengths the training documents do not have. `random_state` is the
        seed; None for the model's.
        """
        check_is_fitted(self)
        asked = np.asarray(lengths)
        owner = f"{type(self).__name__}.sample"
        whole = asked.ndim == 1 and (asked.dtype.kind in "iu" or not len(asked))
        whole = whole and bool(((asked >= 0) & (asked <= LONGEST_DRAWN)).all())
        expected = f"a list of whole numbers from 0 to {LONGEST_DRAWN:,}"
        require(whole, owner, "lengths", expected, lengths)
        require(
            is_whole(sweeps) and sweeps >= 1,
            owner,
            "sweeps",
            "a whole number of at least 1",
            sweeps,
        )
        seed = self._seed(random_state, owner)
        generator = torch.Generator(self._device).manual_seed(seed)
        p, policy = self._parameters(), self.latent_words_
        return draw_documents(p, asked, policy, sweeps=sweeps, generator=generator)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a folder, atomically: safetensors and JSON, no pickle."""
        check_is_fitted(self)
        save_model(path, *describe(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, device: str = "auto") -> Self:
        """Read a model of this class that `save` wrote, for use on `device`."""
        return restore([cls], *load_model(path), path=path, device=device)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "components_")
