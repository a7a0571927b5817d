"""`LatentDirichletAllocation`: topics by Gibbs sampling, with an honest likelihood."""

from __future__ import annotations

import warnings
from importlib import import_module
from itertools import pairwise
from types import ModuleType
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from docboltz.baselines.base import DocumentDensity, Likelihood, MakesFeatures
from docboltz.baselines.draws import repeat_words, shuffle_words
from docboltz.baselines.lda_gibbs import Floats, infer_topics, left_to_right
from docboltz.device import draw_seed, random_state_of
from docboltz.errors import InvalidParameter, MissingPackageWarning, is_number, require, warn_user
from docboltz.inference import to_torch
from docboltz.model.counts import SparseCounts

INSTALL = "pip install 'docboltz[lda]'"
SAMPLES, SPACING = 10, 10
"""States of the Gibbs sampler that are averaged at the end, and sweeps from one to the next."""
VARIATIONAL_PASSES = 20
"""Passes through the documents of variational inference, which needs far fewer than sweeps."""


Topics = tuple[Floats, Floats]
"""What is learnt: each topic's distribution over words, (T, K), and its prior weight, (T,)."""


class LatentDirichletAllocation(DocumentDensity, MakesFeatures):
    """Latent Dirichlet allocation: each word has a topic, each document its shares of topics.

    Parameters
    ----------
    n_components : number of topics, T.
    method : how topics are learnt. "gibbs": collapsed Gibbs sampling by the package tomotopy, which
        also learns the prior alpha. "variational": scikit-learn's online variational inference.
        "auto": Gibbs sampling where tomotopy is installed, otherwise variational, with a warning.
    sweeps : passes of Gibbs sampling through the training documents.
    inference_sweeps : passes of Gibbs sampling through a document whose topics are inferred.
    alpha : prior weight of each topic in a document, from which learning starts.
    eta : prior weight of each word in a topic.
    particles, moves : effort of the likelihood's estimate: particles for each document (two at
        least, or its error could not be told), and earlier words whose topics are drawn anew
        before each word.
    random_state : seed, by the rule of `OverReplicatedSoftmax`. The same seed gives the same topics
        on the same kind of processor.

    Attributes
    ----------
    components_ : distribution of each topic over words, of shape (n_components, n_words); with
        Gibbs sampling the mean over the last states.
    alpha_ : prior weight of each topic, of shape (n_components,).

    Likelihoods are those of a left-to-right particle filter (`baselines.lda_gibbs.left_to_right`),
    given components_ and alpha_.

    Examples
    --------
    >>> from docboltz.baselines import LatentDirichletAllocation
    >>> counts = [[3, 1, 0, 0], [2, 2, 0, 0], [0, 0, 1, 3], [0, 0, 2, 1]]
    >>> LatentDirichletAllocation(2, sweeps=20, random_state=0).fit_transform(counts).shape
    (4, 2)
    """

    components_: Floats
    alpha_: Floats
    n_features_in_: int

    def __init__(
        self,
        n_components: int = 128,
        *,
        method: Literal["auto", "gibbs", "variational"] = "auto",
        sweeps: int = 500,
        inference_sweeps: int = 100,
        alpha: float = 0.1,
        eta: float = 0.01,
        particles: int = 100,
        moves: int = 10,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.method = method
        self.sweeps = sweeps
        self.inference_sweeps = inference_sweeps
        self.alpha = alpha
        self.eta = eta
        self.particles = particles
        self.moves = moves
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn topics from raw word counts: (n_documents, n_words), dense or sparse.

        Documents without a word are left out, with a warning.
        """
        with self._unchanged_if_refused():
            self._check_settings()
            counts = self._nonempty_counts(X, "fit", reset=True)
            rng = random_state_of(self.random_state, type(self).__name__)
            seed, self._inference_seed = draw_seed(rng), draw_seed(rng)
            learn = learn_by_gibbs if self._can_gibbs() else learn_by_variation
        self.components_, self.alpha_ = learn(
            counts, self.n_components, alpha=self.alpha, eta=self.eta, sweeps=self.sweeps, seed=seed
        )
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.float32]:
        """Give each document its shares of topics, the mean of their posterior: float32.

        The shape is (n_documents, n_components), and each row sums to 1. A document without words
        gets the prior, alpha_ / Σ alpha_.
        """
        words = repeat_words(self._fitted_counts(X, "transform"))
        self._require_whole("inference_sweeps")
        sweeps, seed = self.inference_sweeps, self._inference_seed
        return infer_topics(words, self.components_, self.alpha_, sweeps=sweeps, seed=seed)

    def _likelihood(self, counts: SparseCounts, seed: int) -> Likelihood:
        self._require_whole("particles", least=2)
        self._require_whole("moves", least=0)
        words = repeat_words(counts)
        shuffled = shuffle_words(words, seed)  # p(v) is the same in any order, its estimate is not
        effort = {"particles": self.particles, "moves": self.moves, "seed": seed}
        found = left_to_right(shuffled, self.components_, self.alpha_, **effort)
        value, error = map(torch.from_numpy, found)
        return Likelihood(value, words.lengths, "left-to-right", error)

    def _can_gibbs(self) -> bool:
        """Tell whether to learn by Gibbs sampling; say so where it cannot be."""
        if self.method == "variational":
            return False
        try:
            import_tomotopy()
        except ImportError as error:
            if self.method == "gibbs":
                raise InvalidParameter(
                    "LatentDirichletAllocation with method='gibbs' needs the package tomotopy.",
                    hint=f"Install it, {INSTALL}, or use {{method='variational'}}.",
                    settings=("method='variational'",),
                ) from error
            warn_user(
                "The package tomotopy is not installed, so LatentDirichletAllocation learns by "
                "variational inference, whose topics are usually worse than those of Gibbs "
                f"sampling. For Gibbs sampling: {INSTALL}",
                MissingPackageWarning,
            )
            return False
        return True

    def _check_settings(self) -> None:
        self._require_whole("n_components", "sweeps", "inference_sweeps")
        self._require_whole("particles", least=2)
        self._require_whole("moves", least=0)
        known = self.method in ("auto", "gibbs", "variational")
        owner = type(self).__name__
        require(known, owner, "method", "'auto', 'gibbs' or 'variational'", self.method)
        for name in ("alpha", "eta"):
            value = getattr(self, name)
            require(is_number(value) and value > 0, owner, name, "a number above 0", value)


def import_tomotopy() -> ModuleType:
    """Import tomotopy, whose compiled part warns on newer Pythons of how it was compiled.

    Where warnings are errors, it would take that for a build that does not fit the processor.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return import_module("tomotopy")


def learn_by_gibbs(
    counts: sparse.csr_array, n_topics: int, *, alpha: float, eta: float, sweeps: int, seed: int
) -> Topics:
    """Sample topics of all words, alpha fitted on the way; the mean of the last states is kept."""
    model = import_tomotopy().LDAModel(k=n_topics, alpha=alpha, eta=eta, seed=seed)
    words = repeat_words(to_torch(counts))
    names = np.array([str(k) for k in range(counts.shape[1])])
    starts, columns = words.starts.numpy(), words.words.numpy()
    for begin, end in pairwise(starts):
        model.add_doc(names[columns[begin:end]].tolist())
    samples = min(SAMPLES, max(1, sweeps // (2 * SPACING)))
    phi, weights = np.zeros((n_topics, counts.shape[1])), np.zeros(n_topics)
    model.train(0, workers=1)  # makes the vocabulary final
    seen = np.array([int(name) for name in model.used_vocabs])
    for sample in range(samples):
        # One worker: more would share words between them as chance has it, and no seed would hold.
        model.train(SPACING if sample else sweeps - SPACING * (samples - 1), workers=1)
        weights += np.broadcast_to(model.alpha, n_topics)
        for topic in range(n_topics):
            phi[topic, seen] += model.get_topic_word_dist(topic, normalize=False)
    unseen = np.setdiff1d(np.arange(counts.shape[1]), seen)
    phi[:, unseen] = samples * eta  # what a word without a count has
    return phi / phi.sum(1, keepdims=True), weights / samples


def learn_by_variation(
    counts: sparse.csr_array, n_topics: int, *, alpha: float, eta: float, sweeps: int, seed: int
) -> Topics:
    """Learn topics by online variational inference, alpha as it is given."""
    from sklearn.decomposition import LatentDirichletAllocation as Variational

    model = Variational(
        n_topics,
        doc_topic_prior=alpha,
        topic_word_prior=eta,
        learning_method="online",
        max_iter=min(sweeps, VARIATIONAL_PASSES),
        random_state=seed,
    ).fit(counts)
    phi = model.components_.astype(np.float64)
    return phi / phi.sum(1, keepdims=True), np.full(n_topics, float(alpha))
