"""What a fitted model says about the likelihood of documents."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from docboltz.device import draw_seed, random_state_of
from docboltz.errors import (
    InvalidCounts,
    UncertainLikelihoodWarning,
    is_whole,
    require,
    warn_user,
)
from docboltz.likelihood import Method, Numerator, numerator
from docboltz.model.counts import SparseCounts
from docboltz.model.exact import MAX_TOPICS
from docboltz.model.latent_words import LatentWords
from docboltz.model.parameters import Parameters
from docboltz.model.unigram import unigram_log_likelihood
from docboltz.progress import progress_bar
from docboltz.sampling.ais import anneal_temperatures
from docboltz.sampling.annealing import LogPartition, anneal

FIRST_PARTICLES, MORE_PARTICLES = 128, 1024
"""Of each replica in a first run, and in a second one for lengths where the first is not sure."""
FEW_TOPICS = 16
"""Up to so many, the sum over all their states is exact, and faster than particles."""
SURE = 0.25
"""Standard error of log ζ, in nats, that needs no second run."""
UNSURE = 0.5
"""Standard error of log ζ, in nats, beyond which a figure is not to be trusted. Where one of the
replicas outweighs all others it is 1, however far they are apart."""


@dataclass(frozen=True)
class Perplexity:
    """exp(−1/L Σ_l 1/N_l log p(v_l)) over L documents, and how sure it is."""

    value: float
    error: float
    """Standard error of the value, all three sources together."""
    documents_error: float
    """Part of it from the choice of documents; NaN for a single one, and so is the whole."""
    numerator_error: float
    """Part of it from the sum over topics of each document."""
    partition_error: float
    """Part of it from log ζ, common to all documents."""
    method: str
    """How log p(v) was found; for the topic models the `method` of `score_samples`."""
    n_documents: int
    """Documents it was measured on."""
    n_empty: int
    """Documents without a word, left out."""
    log_partition: LogPartition | None = None
    """log ζ for every length, with its diagnostics; None for models that need no ζ."""


def measure_perplexity(
    owner: str,
    log_p: Tensor,
    n: Tensor,
    *,
    method: str,
    error: Tensor | None = None,
    partition: LogPartition | None = None,
) -> Perplexity:
    """exp(−mean of log p(v)/N) over the documents with words, and its errors.

    `error` is the standard error of each document's log p, `partition` the log ζ that is in it.
    """
    some = n > 0
    if not bool(some.any()):
        raise InvalidCounts(
            f"{owner} got {len(n)} document(s) without a single known word: there is nothing to "
            "predict."
        )
    per_word = (log_p / n)[some]
    L, value = len(per_word), math.exp(-float(per_word.mean()))
    of_documents = float(per_word.std()) / math.sqrt(L) if L > 1 else math.nan
    of_numerator = of_partition = 0.0
    if error is not None:
        of_numerator = float((error / n)[some].square().sum().sqrt()) / L
    if partition is not None:
        # Errors of log ζ at different lengths go together: let each replica make its own mean.
        means = (partition.replicas[:, some] / n[some]).mean(1)
        of_partition = float(means.std()) / math.sqrt(len(means))
    together = of_documents, of_numerator, of_partition
    return Perplexity(
        value=value,
        error=value * math.hypot(*together),
        documents_error=value * of_documents,
        numerator_error=value * of_numerator,
        partition_error=value * of_partition,
        method=method,
        n_documents=L,
        n_empty=int((~some).sum()),
        log_partition=partition,
    )


class Density:
    """Likelihoods, for the estimators."""

    latent_words_: LatentWords
    word_frequency_: NDArray[np.float32]
    verbose: bool

    def log_partition(
        self,
        lengths: ArrayLike,
        *,
        method: Literal["annealing", "ais"] = "annealing",
        replicas: int = 8,
        particles: int | None = None,
        sweeps: int = 1,
        random_state: Any = None,
    ) -> LogPartition:
        """Estimate log ζ(D) for documents of D = N + M words, all lengths from one annealing run.

        Modes that particles miss are found by mean field and added. By default there are 128
        particles in each replica, and lengths where that leaves an error above a quarter of a nat
        get theirs from a second run with 1,024. Warns where the standard error is above half a nat:
        use more `particles` or `sweeps` there. `method="ais"` is the paper's way, for comparison:
        128 chains and 1,000 temperatures for each length, which must be whole.
        """
        check_is_fitted(self)
        d = torch.as_tensor(np.asarray(lengths, dtype=np.float64)).reshape(-1)
        owner = f"{type(self).__name__}.log_partition"
        ok = len(d) > 0 and bool((d >= 0).all()) and bool(d.isfinite().all())
        require(ok, owner, "lengths", "numbers of at least 0, one or more", lengths)
        known = method in ("annealing", "ais")
        require(known, owner, "method", "'annealing' or 'ais'", method)
        for name, value, least in (
            ("replicas", replicas, 2),
            ("particles", 1 if particles is None else particles, 1),
            ("sweeps", sweeps, 1),
        ):
            ok = is_whole(value) and value >= least
            require(ok, owner, name, f"a whole number of at least {least}", value)
        p = self._parameters()
        generator = self._density_generator(p, random_state)
        there = d.to(p.W.device)
        if method == "ais":
            found = anneal_temperatures(p, there.round(), generator=generator)
        else:

            def annealed(particles: int) -> LogPartition:
                with progress_bar("log Z", "words", shown=self.verbose) as show:
                    return anneal(
                        p,
                        there,
                        replicas=replicas,
                        particles=particles,
                        sweeps=sweeps,
                        generator=generator,
                        show=show,
                    )

            found = annealed(particles or FIRST_PARTICLES)
            if particles is None and float(found.error.max()) > SURE:
                found = found.surer(annealed(MORE_PARTICLES), SURE)
        worst = int(found.error.argmax())
        if float(found.error[worst]) > UNSURE:
            warn_user(
                f"log ζ is uncertain: at D = {float(found.d[worst]):g} its standard error is "
                f"{float(found.error[worst]):.1f} nats, and an underestimate flatters the model. "
                "More particles or sweeps make it surer; so does fine-tuning.",
                UncertainLikelihoodWarning,
            )
        return found

    def score_samples(
        self, X: ArrayLike, *, method: Method | None = None, random_state: Any = 0
    ) -> NDArray[np.float64]:
        """Give log p(v) of each document's words, in nats.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_documents, n_words)
        method : "exact" (few topics: sums over all their states), "bound" (the paper's mean-field
            lower bound), "importance" (weighted particles, annealed over the latent words: nearly
            exact). By default exact without latent words or with at most 16 topics, and importance
            otherwise.
        random_state : seed of the estimates.

        The probability is that of the word sequence: no multinomial coefficient. Words outside the
        vocabulary do not count. A document without words has probability 1.
        """
        n, found, partition = self._likelihood(X, "score_samples", method, random_state)[1:]
        value = found.value - partition.value
        return torch.where(n > 0, value, 0.0).cpu().numpy()

    def score(self, X: ArrayLike, y: object = None) -> float:
        """Mean over documents of log p(v) per word, in nats: larger is better."""
        return -math.log(self.perplexity(X).value)

    def perplexity(
        self, X: ArrayLike, *, method: Method | None = None, random_state: Any = 0
    ) -> Perplexity:
        """Perplexity per word as the paper defines it: each document counts once.

        Documents without words are left out and counted.
        """
        method, n, found, partition = self._likelihood(X, "perplexity", method, random_state)
        return measure_perplexity(
            f"{type(self).__name__}.perplexity",
            found.value - partition.value,
            n,
            method=method,
            error=found.error,
            partition=partition,
        )

    def unigram_perplexity(self, X: ArrayLike) -> float:
        """Perplexity of the same kind by the words' shares of the training documents alone."""
        counts = self._fitted_counts(X, "unigram_perplexity")
        said = unigram_log_likelihood(counts, torch.from_numpy(self.word_frequency_))
        owner = f"{type(self).__name__}.unigram_perplexity"
        return measure_perplexity(owner, said, counts.lengths.double(), method="exact").value

    def _likelihood(
        self, X: ArrayLike, caller: str, method: Method | None, random_state: Any
    ) -> tuple[Method, Tensor, Numerator, LogPartition]:
        """The method, and N, numerator and log ζ of each document."""
        counts: SparseCounts = self._fitted_counts(X, caller)
        p = self._parameters()
        n = counts.lengths.to(p.W.device, torch.float64)
        m = self.latent_words_(n)
        owner = f"{type(self).__name__}.{caller}"
        if method is None:
            small = p.n_topics <= FEW_TOPICS or not bool(m.any())
            method = "exact" if small else "importance"
        known = method in ("exact", "bound", "importance")
        require(known, owner, "method", "'exact', 'bound', 'importance' or None", method)
        feasible = method != "exact" or p.n_topics <= MAX_TOPICS or not bool(m.any())
        few = f"'bound' or 'importance': 'exact' sums over 2^F states, and F ≤ {MAX_TOPICS}"
        require(feasible, owner, "method", few, method)
        generator = self._density_generator(p, random_state)
        with progress_bar("Likelihood", "documents", shown=self.verbose) as show:
            found = numerator(p, counts, m, method, generator=generator, show=show)
        lengths, where = torch.unique(n + m, return_inverse=True)
        partition = self.log_partition(lengths.cpu().numpy(), random_state=random_state)
        return method, n, found, partition.at(where)

    def _density_generator(self, p: Parameters, random_state: Any) -> torch.Generator:
        seed = draw_seed(random_state_of(random_state, type(self).__name__))
        return torch.Generator(p.W.device).manual_seed(seed)

    def _parameters(self, *, copy: bool = False) -> Parameters:
        raise NotImplementedError

    def _fitted_counts(self, X: ArrayLike, method: str) -> SparseCounts:
        raise NotImplementedError
