"""log ζ(D) for every length D at once, by annealing over the length itself.

    ζ(D) = Σ_h exp(D g(h)),    p_D(h) = exp(D g(h)) / ζ(D)

make sense for any real D ≥ 0, and D acts as an inverse temperature. One population of particles
that starts in p_1, where both the distribution and ζ are known exactly, and moves to the largest
length by small steps of D passes through the distribution of every document length on its way.

Between lengths particles are reweighted by exp(ΔD g(h)) and, when few carry the weight, resampled
(sequential Monte Carlo: the estimate of ζ stays unbiased). At each D they are moved by Gibbs sweeps
with n = round(D) words, which are reversible for p_n; a Metropolis step with probability
min(1, exp((D − n)(g(h') − g(h)))) makes them reversible for p_D.

Modes that no particle finds are added: `modes` knows a set of states around them, and the sum over
that set, and particles give the sum over all other states. Each is unbiased; the choice between two
estimates of the same mode (`together`) makes the whole nearly so.

R replicas, P particles in each, F topic units, K words.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from docboltz.model.conditionals import log_word_weight
from docboltz.model.parameters import Parameters
from docboltz.randomness import Random, generator_of, uniform
from docboltz.sampling.chains import gibbs_sweep, sample_topics
from docboltz.sampling.lower_bound import StateSet
from docboltz.sampling.modes import Survey, log_sums_by

Floats = NDArray[np.float64]
PartitionMethod = Literal["exact", "annealing", "ais"]

KEPT = 0.99
"""Effective share of the particles that a step of D leaves. At the same work small steps with one
sweep each make smaller errors than large steps with several."""
LARGE_ERROR = 0.1
"""Error of a mode's sum, relative to ζ, above which particles are not relied on alone."""
RESAMPLE_BELOW = 0.5
"""Effective share of the particles below which they are resampled."""
ROUNDING = 0.1
"""Nats by which an estimate in float32 may be below a bound in float64 and mean nothing."""


@dataclass(frozen=True)
class LogPartition:
    """log ζ(D) for some lengths, and how far it can be trusted."""

    d: Floats
    """The lengths: (L,)."""
    estimate: Floats
    """log ζ(D) as the method has it: (L,)."""
    error: Floats
    """Standard error of each, from the spread of the replicas: (L,); 0 where it is exact."""
    lower_bound: Floats
    """What log ζ(D) is at least, for certain: (L,)."""
    replicas: Floats
    """The estimates of the single replicas: (R, L)."""
    effective: Floats
    """Effective share of the particles at each length, the least of the replicas: (L,)."""
    acceptance: float
    """Share of Metropolis steps that were accepted."""
    resamplings: int
    """How often a replica was resampled."""
    steps: int
    """Steps from one D to the next."""
    anchor: float
    """Estimate of log ζ(0) by the first particles, less F log 2, which it is: nearly 0."""
    missed: Floats
    """Share of ζ(D) that particles lack, by more than three errors, and modes add: (L,); NaN where
    nothing looks for modes."""
    method: PartitionMethod
    """How the estimate was found."""

    @property
    def value(self) -> Floats:
        """log ζ(D): the estimate, or the lower bound where that is larger: (L,)."""
        return np.maximum(self.estimate, self.lower_bound)

    @property
    def shortfall(self) -> Floats:
        """Nats by which the estimate is below the lower bound; 0 where it is not: (L,)."""
        return self.value - self.estimate

    @property
    def disproved(self) -> NDArray[np.bool_]:
        """Whether an estimate is below the lower bound by more than three errors: (L,)."""
        return self.shortfall > np.maximum(3 * self.error, ROUNDING)

    def __repr__(self) -> str:
        lengths = f"{len(self.d)} lengths up to D = {self.d.max():g}"
        return f"LogPartition({lengths}, largest error {self.error.max():.2g})"

    def at(self, index: NDArray[np.int64]) -> LogPartition:
        """The lengths with these numbers."""
        return replace(
            self,
            d=self.d[index],
            estimate=self.estimate[index],
            error=self.error[index],
            lower_bound=self.lower_bound[index],
            replicas=self.replicas[:, index],
            effective=self.effective[index],
            missed=self.missed[index],
        )

    def diagnostics(self) -> dict[str, float | int | str | None]:
        """How far all of it can be trusted, in a few numbers."""
        missed = float(self.missed.max())
        return {
            "method": self.method,
            "largest_error": float(self.error.max()),
            "largest_shortfall": float(self.shortfall.max()),
            "least_effective_share": float(self.effective.min()),
            "resamplings": self.resamplings,
            "steps": self.steps,
            "largest_share_missed_by_particles": None if math.isnan(missed) else missed,
        }

    @classmethod
    def exact(cls, d: Tensor, value: Tensor) -> LogPartition:
        """What enumeration gives: no error, and nothing missed."""
        lengths, known = to_numpy(d), to_numpy(value)
        none = np.zeros_like(known)
        return cls(
            d=lengths,
            estimate=known,
            error=none,
            lower_bound=known,
            replicas=known[None],
            effective=np.ones_like(known),
            acceptance=1.0,
            resamplings=0,
            steps=0,
            anchor=0.0,
            missed=none,
            method="exact",
        )

    def refined(self, other: LogPartition, largest_error: float) -> LogPartition:
        """The other run's estimates where this one's error is above `largest_error`."""
        good = self.error <= largest_error
        return replace(
            other,
            estimate=np.where(good, self.estimate, other.estimate),
            error=np.where(good, self.error, other.error),
            lower_bound=np.maximum(self.lower_bound, other.lower_bound),
            replicas=np.where(good, self.replicas, other.replicas),
            effective=np.where(good, self.effective, other.effective),
            resamplings=self.resamplings + other.resamplings,
            steps=self.steps + other.steps,
            missed=np.where(good, self.missed, other.missed),
        )


def to_numpy(tensor: Tensor) -> Floats:
    """The numbers of a tensor, wherever it lies, in float64."""
    return tensor.double().cpu().numpy()


def anneal(
    p: Parameters,
    d: Tensor,
    *,
    replicas: int = 8,
    particles: int = 128,
    sweeps: int = 1,
    generator: Random,
    show: Callable[[int, int], None] = lambda done, total: None,
) -> LogPartition:
    """Estimate log ζ for the lengths `d` (L,), whole or not, from 0 up, in one run.

    `show` is told the length reached and the longest one.
    """
    wanted, order = torch.sort(d.double())
    states = StateSet(p)
    sums = _Sums(wanted, Survey(p, replicas=replicas, generator=generator), states, replicas)
    log_zeta = exact_log_zeta_1(p).expand(replicas).clone()  # (R,)
    topics = sample_p_1(p, replicas * particles, generator=generator)
    g = log_word_weight(p, topics).double().view(replicas, particles)
    anchor = float(torch.logsumexp(-g.view(-1), 0) - math.log(g.numel()) + log_zeta[0])
    anchor -= p.n_topics * math.log(2)
    log_weight = torch.zeros_like(g)
    at, last, accepted, resamplings, steps = 1.0, float(wanted[-1]), [], 0, 0
    while True:
        to = min(last, at + _step(g, log_weight))
        sums.take(topics, g, log_weight, log_zeta, at, to)
        if sums.complete:
            show(round(last), round(last))
            break
        log_weight = log_weight + (to - at) * g
        at, steps = to, steps + 1
        show(round(at), round(last))
        poor = effective_share(log_weight) < RESAMPLE_BELOW  # (R,)
        if bool(poor.any()):
            resamplings += int(poor.sum())
            log_zeta = torch.where(poor, log_zeta + log_mean(log_weight), log_zeta)
            keep = resampled(log_weight, poor, generator)  # (R, P)
            rows = (keep + torch.arange(replicas, device=keep.device)[:, None] * particles).view(-1)
            topics, g = topics[rows], g.view(-1)[rows].view(replicas, particles)
            log_weight = torch.where(poor[:, None], 0.0, log_weight)
        for _ in range(sweeps):
            topics, g, share = _move(p, topics, g, at, generator)
            accepted.append(share)
    found, missed = sums.found, sums.missed
    R, back = len(found), torch.argsort(order)
    exact = {0.0: p.n_topics * math.log(2), 1.0: float(exact_log_zeta_1(p))}
    for length, known in exact.items():
        found = torch.where(wanted == length, known, found)
    value = torch.logsumexp(found, 0) - math.log(R)
    known_exactly = (wanted == 0) | (wanted == 1)
    at_least = torch.where(known_exactly, found[0], states.lower_bound(wanted))
    return LogPartition(
        d=to_numpy(wanted[back]),
        estimate=to_numpy(torch.where(known_exactly, found[0], value)[back]),
        error=to_numpy(torch.where(known_exactly, 0.0, relative_error(found))[back]),
        lower_bound=to_numpy(at_least[back]),
        replicas=to_numpy(found[:, back]),
        effective=to_numpy(sums.effective[back]),
        acceptance=float(torch.stack(accepted).mean()) if accepted else 1.0,
        resamplings=resamplings,
        steps=steps,
        anchor=anchor,
        missed=to_numpy(torch.where(known_exactly, 0.0, missed)[back]),
        method="annealing",
    )


class _Sums:
    """What particles and modes give for the lengths passed so far, each replica for itself.

    `found` (R, L) is log ζ, `missed` (L,) the share of it that particles had missed. The best of
    the states that they come by are left in `states`.
    """

    def __init__(self, wanted: Tensor, survey: Survey, states: StateSet, replicas: int) -> None:
        self._wanted, self._survey, self._states = wanted, survey, states
        self.effective = torch.ones_like(wanted)
        self.found, self.missed = (
            wanted.new_zeros((replicas, len(wanted))),
            torch.zeros_like(wanted),
        )
        self._next = 0

    @property
    def complete(self) -> bool:
        """Whether all lengths have been passed."""
        return self._next == len(self._wanted)

    def take(
        self, topics: Tensor, g: Tensor, log_weight: Tensor, log_zeta: Tensor, at: float, to: float
    ) -> None:
        """Estimate the lengths up to `to` from particles at `at`: no step has to end on them."""
        owners: dict[float, Tensor] = {}
        while not self.complete and float(self._wanted[self._next]) <= to:
            i, length = self._next, float(self._wanted[self._next])
            modes = self._survey.near(length)
            if modes.d not in owners:
                owners[modes.d] = modes.owner(topics).view(g.shape)
                self._states.add(topics, g.view(-1))
                self._states.add_means(self._survey.means(length))
            ahead = log_weight + (length - at) * g
            n = len(modes.mean) + 1
            by_particles = log_zeta[:, None] + log_sums_by(owners[modes.d], ahead, n)
            self.found[:, i], self.missed[i] = together(by_particles, *modes.log_sums(length))
            self.effective[i] = effective_share(ahead).min()
            self._next += 1


def together(by_particles: Tensor, by_draws: Tensor, sound: Tensor) -> tuple[Tensor, Tensor]:
    """log ζ by each replica (R,), and the share of it that particles have missed.

    The sum over the states of each of n modes is known twice, from particles that are there (R, n)
    and from draws around the mode. Draws count where particles have missed a part, and where they
    are `sound` (n,) and the particles' error matters to the whole; to take the one of the smaller
    error each time would be to take the one that happened to see less. The sum over all other
    states, the last of `by_particles` (R, n + 1), is known from particles alone.
    """
    scale = torch.maximum(by_particles.max(), by_draws.max())
    inside, draws = ((part - scale).exp() for part in (by_particles[:, :-1], by_draws))
    spread, spread_of_draws = (part.std(0) / math.sqrt(len(part)) for part in (inside, draws))
    lacking = draws.mean(0) - inside.mean(0)
    missed = lacking > 3 * torch.hypot(spread, spread_of_draws)  # (n,)
    matters = spread > LARGE_ERROR * (by_particles - scale).exp().mean(0).sum()
    use_draws = missed | (sound & matters & (spread_of_draws < spread))
    parts = torch.where(use_draws, by_draws, by_particles[:, :-1])
    found = torch.logsumexp(torch.cat([parts, by_particles[:, -1:]], 1), 1)
    return found, lacking.where(missed, 0.0).sum() / (found - scale).exp().mean()


def relative_error(found: Tensor) -> Tensor:
    """Standard error of the mean of exp(found) over the replicas (R, L), relative to it: (L,)."""
    R = len(found)
    if R == 1:
        return torch.full_like(found[0], math.nan)
    relative = (found - torch.logsumexp(found, 0) + math.log(R)).exp()
    return relative.std(0) / math.sqrt(R)


def exact_log_zeta_1(p: Parameters) -> Tensor:
    """log ζ(1) = log Σ_k exp(b_k + Σ_j log(1 + exp(a_j + W_jk))), in float64."""
    return torch.logsumexp(_word_log_weights(p), 0)


def sample_p_1(p: Parameters, n: int, *, generator: Random) -> Tensor:
    """Draw n topic vectors from p_1 exactly: a word, then topics given the word.  (n, F)."""
    weights = torch.softmax(_word_log_weights(p), 0)
    word = torch.multinomial(weights, n, replacement=True, generator=generator_of(generator))
    return sample_topics(torch.sigmoid(p.W.T[word] + p.a), generator=generator)


def _word_log_weights(p: Parameters) -> Tensor:
    """b_k + Σ_j softplus(a_j + W_jk): (K,), float64, in blocks that keep W from being doubled."""
    sums = [
        torch.nn.functional.softplus(rows.double() + p.a.double()).sum(1)
        for rows in torch.split(p.W.T, max(1, 2**22 // p.n_topics))
    ]
    return p.b.double() + torch.cat(sums)


def _step(g: Tensor, log_weight: Tensor) -> float:
    """The step of D that leaves the share KEPT of the particles' present effective number.

    For small steps the loss is ΔD² times the weighted variance of g.
    """
    weight = torch.softmax(log_weight, 1)
    mean = (weight * g).sum(1, keepdim=True)
    spread = float((weight * (g - mean) ** 2).sum(1).mean().sqrt())
    return math.sqrt(1 / KEPT - 1) / max(spread, 1e-9)


def _move(
    p: Parameters, topics: Tensor, g: Tensor, d: float, generator: Random
) -> tuple[Tensor, Tensor, Tensor]:
    """A Gibbs sweep with n = round(D) words and a Metropolis step to p_D."""
    n = max(1, round(d))
    length = torch.full((len(topics),), float(n), dtype=p.W.dtype, device=p.W.device)
    proposed, _ = gibbs_sweep(p, topics, length, generator=generator)
    g_proposed = log_word_weight(p, proposed).double().view(g.shape)
    take = uniform(g.shape, like=g, random=generator) < ((d - n) * (g_proposed - g)).exp()
    rows = take.view(-1, 1)
    moved = torch.where(rows, proposed, topics), torch.where(take, g_proposed, g)
    return *moved, take.double().mean()


def log_mean(log_weight: Tensor) -> Tensor:
    """Log of the mean weight of each replica: (R,)."""
    return torch.logsumexp(log_weight, 1) - math.log(log_weight.shape[1])


def effective_share(log_weight: Tensor) -> Tensor:
    """(Σw)² / (P Σw²) of each replica: (R,)."""
    sums = 2 * torch.logsumexp(log_weight, 1) - torch.logsumexp(2 * log_weight, 1)
    return sums.exp() / log_weight.shape[1]


def resampled(log_weight: Tensor, poor: Tensor, generator: Random) -> Tensor:
    """Which particles go on: systematic resampling of the poor replicas.  (R, P)."""
    R, P = log_weight.shape
    start = uniform((R, 1), like=log_weight, random=generator)
    points = (torch.arange(P, device=log_weight.device) + start) / P
    cumulative = torch.softmax(log_weight, 1).cumsum(1)
    cumulative = cumulative / cumulative[:, -1:]
    drawn = torch.searchsorted(cumulative, points, right=True).clamp_max(P - 1)
    same = torch.arange(P, device=log_weight.device).expand(R, P)
    return torch.where(poor[:, None], drawn, same)
