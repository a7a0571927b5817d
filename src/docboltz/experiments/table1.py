"""Table 1: the perplexity of a model as the paper measured it, and as it is.

The paper (section 4.3) takes the mean-field bound for the sum over units and annealed importance
sampling (AIS), 128 chains and one run for each length, for log ζ; documents are drawn ten times.
Beside it stands importance sampling of the sum over units, annealing along length for log ζ, and a
lower bound of log ζ that is certain: where it is above the estimate of AIS, AIS is proven wrong.

L lengths D = N + M of documents of N words with M latent words.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from docboltz.corpus.corpus import check_counts
from docboltz.errors import UncertainLikelihoodWarning
from docboltz.estimator.density import Perplexity, measure_perplexity
from docboltz.inference import to_torch
from docboltz.likelihood import Method, numerator
from docboltz.model.parameters import Parameters
from docboltz.sampling.annealing import ROUNDING, LogPartition

OWNER = "docboltz reproduce"
CERTAIN = 3.0
"""Standard errors of AIS by which the lower bound has to be above its estimate."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LogZeta:
    """log ζ at the lengths of some documents, in nats, by AIS and by annealing along length."""

    d: tuple[int, ...]
    """The lengths, rising: (L,), as all that follows."""
    documents: tuple[int, ...]
    """How many documents are of each."""
    ais: tuple[float, ...]
    ais_error: tuple[float, ...]
    annealed: tuple[float, ...]
    annealed_error: tuple[float, ...]
    lower_bound: tuple[float, ...]

    @classmethod
    def of(cls, ours: LogPartition, ais: LogPartition, documents: NDArray[np.int64]) -> LogZeta:
        """Join both estimates at the same lengths; the larger of their lower bounds holds."""
        estimates = ais.estimate, ais.error, ours.value, ours.error, ours.lower_bound
        floats = (tuple(map(float, each)) for each in estimates)
        return cls(tuple(map(int, ours.d)), tuple(map(int, documents)), *floats)

    @property
    def ways(self) -> dict[str, tuple[float, ...]]:
        """log ζ in each way, by its name."""
        return {"along length": self.annealed, "lower bound": self.lower_bound, "AIS": self.ais}

    @property
    def by_length(self) -> Floats:
        """Nats by which AIS is below annealing along length: (L,)."""
        return np.subtract(self.annealed, self.ais)

    @property
    def lacking(self) -> Floats:
        """The same of each document."""
        return np.repeat(self.by_length, self.documents)

    @property
    def median_lacking(self) -> float:
        """Median over the documents of what AIS lacks."""
        return float(np.median(self.lacking))

    @property
    def largest_lacking(self) -> float:
        """The most that AIS lacks."""
        return float(self.lacking.max())

    @property
    def disproved(self) -> NDArray[np.bool_]:
        """Lengths at which the lower bound proves AIS wrong."""
        above = np.subtract(self.lower_bound, self.ais)
        found: NDArray[np.bool_] = above > np.maximum(CERTAIN * np.array(self.ais_error), ROUNDING)
        return found

    @property
    def lengths_disproved(self) -> float:
        """Share of the lengths at which AIS is proven wrong."""
        return float(self.disproved.mean())

    @property
    def documents_disproved(self) -> float:
        """Share of the documents at whose length AIS is proven wrong."""
        return float(np.average(self.disproved, weights=self.documents))


@dataclass(frozen=True)
class Table1:
    """Perplexities of one model, but for the best estimate, and what they owe to log ζ."""

    paper_way: tuple[float, ...]
    """The bound with log ζ by AIS: of every draw of test documents."""
    unigram: tuple[float, ...]
    """The unigram model's, of the same documents."""
    importance_by_ais: float
    """By importance sampling with log ζ by AIS; as all that follows, of the first draw."""
    bound: float
    """The bound with log ζ by annealing along length."""
    at_least: float
    """By importance sampling with the lower bound for log ζ: the perplexity is no smaller."""
    log_zeta: LogZeta

    @property
    def mean(self) -> float:
        """What the paper would have reported: the mean over the draws."""
        return float(np.mean(self.paper_way))

    @property
    def sd(self) -> float:
        """Standard deviation between the draws."""
        return float(np.std(self.paper_way, ddof=1)) if len(self.paper_way) > 1 else 0.0

    @property
    def mean_unigram(self) -> float:
        """The unigram model's perplexity: the mean over the draws."""
        return float(np.mean(self.unigram))

    @property
    def of_unigram(self) -> float:
        """Mean over the draws of the share of the unigram model's perplexity."""
        return float(np.mean(np.divide(self.paper_way, self.unigram)))


def measure_table_1(
    model: Any, p: Parameters, draws: Sequence[csr_array], seed: int
) -> tuple[Perplexity, Table1]:
    """The best estimate of the perplexity of the first draw, and what Table 1 holds beside it.

    `p` are the parameters of the model, where the sums over units are to be made.
    """
    all_draws = [_Draw(model, documents) for documents in draws]
    every = np.unique(np.concatenate([draw.d for draw in all_draws]))
    with warnings.catch_warnings():  # how far AIS is off is what is measured here
        warnings.simplefilter("ignore", UncertainLikelihoodWarning)
        ais = model.log_zeta(every, method="ais", random_state=seed)
    first = all_draws[0]
    d, where, documents = np.unique(first.d, return_inverse=True, return_counts=True)
    theirs, ours = ais.at(np.searchsorted(every, d)), model.log_zeta(d, random_state=seed)
    # What either search found counts for both.
    ours = replace(ours, lower_bound=np.maximum(ours.lower_bound, theirs.lower_bound))
    log_zeta = LogZeta.of(ours, theirs, documents)
    if not np.isfinite([ours.value, theirs.estimate]).all():
        raise ArithmeticError("log ζ is not a finite number")
    bounds = [draw.log_sums(p, "bound", seed)[0] for draw in all_draws]
    by_ais = [ais.estimate[np.searchsorted(every, draw.d)] for draw in all_draws]
    log_sums, error = first.log_sums(p, "importance", seed)
    at_least = log_sums - np.asarray(log_zeta.lower_bound)[where]
    paper_way = zip(all_draws, bounds, by_ais, strict=True)
    return (
        first.perplexity(log_sums - ours.value[where], error, ours.at(where)),
        Table1(
            paper_way=tuple(draw.perplexity(sums - zeta).value for draw, sums, zeta in paper_way),
            unigram=tuple(model.unigram_perplexity(documents) for documents in draws),
            importance_by_ais=first.perplexity(log_sums - by_ais[0]).value,
            bound=first.perplexity(bounds[0] - ours.value[where]).value,
            at_least=first.perplexity(at_least).value,
            log_zeta=log_zeta,
        ),
    )


class _Draw:
    """Documents, with their numbers of words N and D = N + M."""

    def __init__(self, model: Any, documents: csr_array) -> None:
        self._counts = to_torch(check_counts(documents, OWNER))
        n = self._counts.lengths.double()
        self._m = model.latent_words_(n)
        self._n = n.numpy()
        self.d = (n + self._m).numpy()

    def log_sums(self, p: Parameters, method: Method, seed: int) -> tuple[Floats, Floats]:
        """The sum over units of each document, log p(v) + log ζ, and its standard error."""
        device = p.W.device
        generator = torch.Generator(device).manual_seed(seed)
        found = numerator(p, self._counts, self._m.to(device), method, generator=generator)
        return found.value.cpu().numpy(), found.error.cpu().numpy()

    def perplexity(
        self, log_p: Floats, error: Floats | None = None, partition: Any = None
    ) -> Perplexity:
        known = {"error": error, "partition": partition}
        return measure_perplexity(OWNER, log_p, self._n, method="importance", **known)
