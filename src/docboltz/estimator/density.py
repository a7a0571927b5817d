"""What a fitted model says about the likelihood of documents."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from docboltz.device import seed_of_method, share
from docboltz.errors import (
    PYTHON,
    InvalidCounts,
    NoDensityWarning,
    Spelling,
    UncertainLikelihoodWarning,
    require,
    require_count,
    warn_user,
)
from docboltz.estimator.learning import Learns
from docboltz.likelihood import Method, Numerator, TopicStates, numerator
from docboltz.model.counts import SparseCounts
from docboltz.model.exact import MAX_UNITS
from docboltz.model.parameters import Parameters
from docboltz.model.unigram import unigram_log_likelihood
from docboltz.progress import progress_bar
from docboltz.sampling.ais import anneal_temperatures
from docboltz.sampling.annealing import LogPartition, PartitionMethod, anneal, to_numpy

FIRST_PARTICLES, MORE_PARTICLES = 128, 1024
"""Of each replica in a first run, and in a second one for lengths whose error is then too large."""
FEW_UNITS = 16
"""Up to so many, the sum over all their states is faster than particles."""
WANTED_ERROR = 0.25
"""Standard error of log ζ, in nats, that needs no second run."""
LARGEST_ERROR = 0.5
"""Standard error of log ζ, in nats, beyond which a figure is not to be trusted. Where one of the
replicas outweighs all others it is 1, however far they are apart."""


def no_density(spelling: Spelling = PYTHON, *, from_data: bool = False) -> str:
    """What likelihoods are worth after training for features, or with chains that start at data.

    >>> no_density().partition("mean little. ")[2]
    "Fit with recipe='density' to have one."
    """
    density = spelling.setting("recipe='density'")
    if from_data:
        return (
            "This model was trained with chains that start at documents, as the paper's. That "
            "usually leaves modes far from all documents that hold most of the probability. The "
            "paper's annealed importance sampling misses them; the likelihoods given here count "
            f"them, and are far lower. Fit with {density} for a better density."
        )
    return (
        "This model was trained by contrastive divergence or by matching halves, which makes "
        "features rather than a density: its likelihoods mean little. "
        f"Fit with {density} to have one."
    )


@dataclass(frozen=True)
class Perplexity:
    """exp(−1/L Σ_l 1/N_l log p(v_l)) over L documents, and how sure it is."""

    value: float
    error: float
    """Standard error of the value, all three sources together."""
    documents_error: float
    """Part of it from the choice of documents; NaN for a single one, and so is the whole."""
    numerator_error: float
    """Part of it from the sum over units of each document."""
    partition_error: float
    """Part of it from log ζ, common to all documents; NaN where its estimate is proven wrong."""
    method: str
    """How log p(v) was found; for ORS and RS the `method` of `score_samples`."""
    n_documents: int
    """Documents it was measured on."""
    n_empty: int
    """Documents without a word, left out."""
    log_partition: LogPartition | None = None
    """log ζ for every length, with its diagnostics; None for models that need no ζ."""
    unigram: float | None = None
    """Perplexity of the same documents by the shares of words alone, where it was asked for."""

    @property
    def is_lower_bound(self) -> bool:
        """Whether log ζ is its lower bound, as the estimate is proven wrong: the perplexity may be
        larger, and it is not known by how much."""
        return self.log_partition is not None and bool(self.log_partition.disproved.any())

    def __repr__(self) -> str:
        error = "?" if math.isnan(self.error) else f"{self.error:.3g}"
        value = (
            f"at least {self.value:.6g}" if self.is_lower_bound else f"{self.value:.6g} ± {error}"
        )
        return f"Perplexity({value}, {self.method}, {self.n_documents:,} documents)"

    def to_dict(self) -> dict[str, Any]:
        """The figure, its errors and what is known of log ζ, as JSON can hold it: it has no NaN."""
        zeta = self.log_partition
        errors = {
            "documents": self.documents_error,
            "numerator": self.numerator_error,
            "log_partition": self.partition_error,
        }
        return {
            "perplexity": self.value,
            "is_lower_bound": self.is_lower_bound,
            "unigram": self.unigram,
            "error": _known(self.error),
            "errors": {name: _known(error) for name, error in errors.items()},
            "method": self.method,
            "documents": self.n_documents,
            "log_partition": None if zeta is None else zeta.diagnostics(),
        }


def _known(error: float) -> float | None:
    return None if math.isnan(error) else error


def measure_perplexity(
    owner: str,
    log_p: NDArray[np.float64],
    n: NDArray[np.float64],
    *,
    method: str,
    error: NDArray[np.float64] | None = None,
    partition: LogPartition | None = None,
) -> Perplexity:
    """exp(−mean of log p(v)/N) over the documents with words, and its errors.

    `error` is the standard error of each document's log p, `partition` the log ζ that is in it.
    """
    some = n > 0
    if not some.any():
        raise InvalidCounts(
            f"{owner} got {len(n)} document(s) without a single known word: there is nothing to "
            "predict."
        )
    words = n[some]
    per_word = log_p[some] / words
    L, value = len(per_word), math.exp(-per_word.mean())
    of_documents = per_word.std(ddof=1) / math.sqrt(L) if L > 1 else math.nan
    of_numerator = of_partition = 0.0
    if error is not None:
        of_numerator = math.sqrt(((error[some] / words) ** 2).sum()) / L
    if partition is not None and partition.error.any():
        # Errors of log ζ at different lengths go together: let each replica make its own mean.
        means = (partition.replicas[:, some] / words).mean(1)
        of_partition = means.std(ddof=1) / math.sqrt(len(means))
        if partition.disproved[some].any():
            of_partition = math.nan
    parts = of_documents, of_numerator, of_partition
    whole, documents, units, zeta = (float(value * x) for x in (math.hypot(*parts), *parts))
    return Perplexity(value, whole, documents, units, zeta, method, L, len(n) - L, partition)


class Density(Learns):
    """An estimator that tells likelihoods, of what it has learnt."""

    def log_partition(
        self,
        lengths: ArrayLike,
        *,
        method: PartitionMethod | None = None,
        replicas: int = 8,
        particles: int | None = None,
        sweeps: int = 1,
        random_state: Any = None,
    ) -> LogPartition:
        """Give log ζ(N + M) for documents of N words, with the latent words M they get.

        Parameters
        ----------
        lengths : N of one or more documents.
        method : "exact" (at most 20 units: sums over all their states), "annealing" (all lengths
            from one run of weighted particles), or "ais", the paper's way, for comparison: 128
            chains and 1,000 temperatures for each length, which must be whole. By default exact
            with at most 16 units, and annealing otherwise.
        replicas, particles, sweeps : effort of annealing. By default there are 128 particles in
            each replica, and lengths where that leaves an error above a quarter of a nat get theirs
            from a second run with 1,024. Modes that particles miss are found by mean field and
            added.
        random_state : seed of the estimate; None for the model's.

        The result has a `lower_bound` that holds for certain, whatever the method: the sum over
        states that were found. `value` is never below it, and `shortfall` tells by how much the
        method's own `estimate` was.

        Warns where the lower bound proves an estimate wrong, and where the standard error is above
        half a nat: use more `particles` or `sweeps` there.
        """
        n = self._lengths(lengths, "log_partition", "lengths")
        effort = {"replicas": replicas, "particles": particles, "sweeps": sweeps}
        owner = f"{type(self).__name__}.log_partition"
        d = n + self.latent_words_(n)
        return self._log_zeta(d, method, effort, owner, self._seed(random_state, owner))

    def log_zeta(
        self,
        d: ArrayLike,
        *,
        method: PartitionMethod | None = None,
        replicas: int = 8,
        particles: int | None = None,
        sweeps: int = 1,
        random_state: Any = None,
    ) -> LogPartition:
        """Give log ζ(D) for D words, latent ones included: `log_partition` at D itself."""
        lengths = self._lengths(d, "log_zeta", "d")
        effort = {"replicas": replicas, "particles": particles, "sweeps": sweeps}
        owner = f"{type(self).__name__}.log_zeta"
        return self._log_zeta(lengths, method, effort, owner, self._seed(random_state, owner))

    def score_samples(
        self, X: ArrayLike, *, method: Method | None = None, random_state: Any = None
    ) -> NDArray[np.float64]:
        """Give log p(v) of each document's words, in nats.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_documents, n_words)
        method : "exact" (at most 20 units: sums over all their states, log ζ included),
            "importance" (weighted particles, annealed over the latent words: nearly exact) or
            "bound" (the paper's mean-field lower bound on the sum over units). Without latent
            words that sum has a closed form, and all three have it. log ζ is exact with at most 16
            units and annealed with more, by "importance" and "bound". By default exact with at
            most 16 units, and importance otherwise.
        random_state : seed of the estimates; None for the model's.

        The probability is that of the word sequence: no multinomial coefficient. Words outside the
        vocabulary do not count. A document without words has probability 1. Warns where the model
        was trained for its features, by the recipes "quick" and "full".
        """
        n, found, partition = self._likelihood(X, "score_samples", method, random_state)[1:]
        return np.where(n > 0, to_numpy(found.value) - partition.value, 0.0)

    def score(self, X: ArrayLike, y: object = None) -> float:
        """Mean over documents of log p(v) per word, in nats: larger is better."""
        return -math.log(self.perplexity(X).value)

    def perplexity(
        self,
        X: ArrayLike,
        *,
        method: Method | None = None,
        partition: PartitionMethod | None = None,
        random_state: Any = None,
    ) -> Perplexity:
        """Perplexity per word as the paper defines it: each document counts once.

        Parameters
        ----------
        X, method, random_state : as in `score_samples`, and so are the warnings.
        partition : the `method` of `log_partition` that gives log ζ; by default the best there is.
            "ais" is the paper's. Where its estimate is below the lower bound, the bound counts.

        Documents without words are left out and counted.
        """
        method, n, found, zeta = self._likelihood(X, "perplexity", method, random_state, partition)
        owner, log_p = f"{type(self).__name__}.perplexity", to_numpy(found.value) - zeta.value
        return measure_perplexity(
            owner, log_p, n, method=method, error=to_numpy(found.error), partition=zeta
        )

    def unigram_perplexity(self, X: ArrayLike) -> float:
        """Perplexity of the same kind by the words' shares of the training documents alone."""
        counts = self._fitted_counts(X, "unigram_perplexity")
        log_p = to_numpy(unigram_log_likelihood(counts, share(self.word_frequency_)))
        owner = f"{type(self).__name__}.unigram_perplexity"
        return measure_perplexity(owner, log_p, to_numpy(counts.lengths), method="exact").value

    def density_warning(self, spelling: Spelling = PYTHON) -> str | None:
        """What the model's likelihoods are worth; None where it was trained for them."""
        from_data = self.finetuning_ is not None and self.matching_ is None
        return None if self.has_density_ else no_density(spelling, from_data=from_data)

    def _likelihood(
        self,
        X: ArrayLike,
        caller: str,
        method: Method | None,
        random_state: Any,
        partition: PartitionMethod | None = None,
    ) -> tuple[Method, NDArray[np.float64], Numerator, LogPartition]:
        """The method, and N, numerator and log ζ of each document."""
        counts: SparseCounts = self._fitted_counts(X, caller)
        p = self._parameters()
        n = counts.lengths.to(p.W.device, torch.float64)
        m = self.latent_words_(n)
        owner = f"{type(self).__name__}.{caller}"
        if method is None:
            method = "exact" if p.n_topics <= FEW_UNITS else "importance"
        _require_method(method, "method", ("bound", "importance"), p.n_topics, owner)
        if partition is not None:
            _require_method(partition, "partition", ("annealing", "ais"), p.n_topics, owner)
        seed = self._seed(random_state, owner)
        if (worth := self.density_warning()) is not None:
            warn_user(worth, NoDensityWarning)
        lengths, where = torch.unique(n + m, return_inverse=True)
        states = zeta = None
        if method == "exact":
            states = self._topic_states(p)
            if partition in (None, "exact"):
                zeta = LogPartition.exact(lengths, states.log_zeta(lengths))
        generator = torch.Generator(p.W.device).manual_seed(seed)
        with progress_bar("Likelihood", "documents", shown=self.verbose) as show:
            found = numerator(p, counts, m, method, generator=generator, states=states, show=show)
        if zeta is None:
            zeta = self._log_zeta(lengths, partition, {}, owner, seed)
        return method, to_numpy(n), found, zeta.at(where.cpu().numpy())

    def _log_zeta(
        self,
        d: Tensor,
        method: PartitionMethod | None,
        effort: dict[str, int | None],
        owner: str,
        seed: int,
    ) -> LogPartition:
        """log ζ at the lengths `d`, with its error; `effort` is that of annealing."""
        p = self._parameters()
        if method is None:
            method = "exact" if p.n_topics <= FEW_UNITS else "annealing"
        _require_method(method, "method", ("annealing", "ais"), p.n_topics, owner)
        for name, value in effort.items():
            if name != "particles" or value is not None:
                require_count(value, owner, name, 2 if name == "replicas" else 1)
        d = d.to(p.W.device)
        generator = torch.Generator(p.W.device).manual_seed(seed)
        if method == "exact":
            return LogPartition.exact(d, self._topic_states(p).log_zeta(d))
        if method == "ais":
            whole = bool((d == d.round()).all())
            require(whole, owner, "method", "'annealing' for lengths that are not whole", method)
            with progress_bar("log Z", "lengths", shown=self.verbose) as show:
                found = anneal_temperatures(p, d, generator=generator, show=show)
        else:
            found = self._annealed(p, d, effort, generator)
        if found.disproved.any():
            worst, count = int(found.shortfall.argmax()), int(found.disproved.sum())
            name, more = "annealing", "More particles make it better."
            if method == "ais":
                name = "annealed importance sampling"
                more = "Its chains miss modes; method='annealing' looks for them."
            warn_user(
                f"log ζ by {name} is too small at {count} of {len(found.d)} lengths: the states "
                f"that were found prove it to be at least {found.shortfall[worst]:.1f} nats more "
                f"at D = {found.d[worst]:g}. That lower bound is reported instead. {more}",
                UncertainLikelihoodWarning,
            )
        elif found.error.max() > LARGEST_ERROR:
            worst = int(found.error.argmax())
            warn_user(
                f"log ζ is uncertain: at D = {found.d[worst]:g} its standard error is "
                f"{found.error[worst]:.1f} nats, and an underestimate flatters the model. "
                "More particles or sweeps make the error smaller; so does fine-tuning.",
                UncertainLikelihoodWarning,
            )
        return found

    def _annealed(
        self, p: Parameters, d: Tensor, effort: dict[str, int | None], generator: torch.Generator
    ) -> LogPartition:
        """One annealing run, and where that is not enough a second with more particles."""

        def run(label: str, particles: int) -> LogPartition:
            given = {name: value for name, value in effort.items() if value is not None}
            with progress_bar(label, "words", shown=self.verbose) as show:
                how = given | {"particles": particles}
                return anneal(p, d, generator=generator, show=show, **how)

        particles = effort.get("particles")
        found = run("log Z", particles or FIRST_PARTICLES)
        if particles is not None or found.error.max() <= WANTED_ERROR:
            return found
        return found.refined(run("log Z again", MORE_PARTICLES), WANTED_ERROR)

    def _topic_states(self, p: Parameters) -> TopicStates:
        with progress_bar("States of the units", "states", shown=self.verbose) as show:
            return TopicStates(p, show)

    def _lengths(self, given: ArrayLike, method: str, name: str) -> Tensor:
        """Lengths a method was given, as float64: (L,)."""
        check_is_fitted(self)
        lengths = torch.as_tensor(np.array(given, dtype=np.float64)).reshape(-1)
        ok = len(lengths) > 0 and bool((lengths >= 0).all()) and bool(lengths.isfinite().all())
        owner = f"{type(self).__name__}.{method}"
        require(ok, owner, name, "numbers of at least 0, one or more", given)
        return lengths

    def _seed(self, random_state: Any, owner: str) -> int:
        return seed_of_method(random_state, self.random_state, owner)


def _require_method(
    method: str, name: str, others: tuple[str, str], n_topics: int, owner: str
) -> None:
    """Require one of the methods, and not to sum over more states than fit into memory."""
    one, other = map(repr, others)
    known = method in ("exact", *others)
    require(known, owner, name, f"'exact', {one}, {other} or None", method)
    expected = f"{one} or {other}: 'exact' sums over 2^F states, for F ≤ {MAX_UNITS} units"
    require(method != "exact" or n_topics <= MAX_UNITS, owner, name, expected, method)
