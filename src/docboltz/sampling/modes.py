"""Modes of p_D(h) ∝ exp(D g(h)), and the sum over the states around them.

A model can give most of a long document's probability to a few states that no chain and no particle
finds: a barrier of tens of nats lies before them. Mean field finds them from the right start, and
every word, repeated for a whole document, is a start; so are single units and random states. A
mean field μ is also a proof:

    log ζ(D) ≥ D (log Σ_k exp(b_k + Σ_j W_jk μ_j) + a·μ) + H(μ)

for any μ, by Jensen's inequality. Topics drawn independently from μ, and weighted, give an unbiased
estimate of the sum over the states around the mode.

n modes, F topic units, K words, R replicas, S draws of each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from docboltz.model.conditionals import log_word_weight, word_mean
from docboltz.model.parameters import Parameters
from docboltz.randomness import Random, generator_of, uniform
from docboltz.sampling.chains import sample_topics

BLOCK_ENTRIES = 2**24
"""Logits held at once."""
FIRST_STEPS, FURTHER_STEPS = 5, 25
"""Steps of mean field that all words make, and that the best of them make then."""
MOST_STARTS = 8192
"""Words to start from. Of a larger vocabulary those with the largest g of the state that the word
would have, at least: b_k + Σ_j max(W_jk + a_j, 0)."""
MOST_MODES = 64
"""Modes kept for a length."""
NEGLIGIBLE = 12.0
"""Nats below the best bound at which a mode no longer counts."""
GRID = 1.1
"""Ratio of neighbouring lengths with modes of their own; those between share them."""
SOUND = 0.1
"""Effective share of a mode's draws above which their sum is sound."""
EVERY = 4
"""Lengths of the grid from one look from every word to the next."""
DRAWS = 512
"""Draws of a replica around the modes of a length."""
RANDOM_STARTS = 64
"""Random states to start from."""


@dataclass(frozen=True)
class Surroundings:
    """States around the modes at length D: a mixture of n distributions of independent topics."""

    d: float
    mean: Tensor
    """P(h_j = 1) in each of them: (n, F), float64."""
    log_share: Tensor
    """Their shares of the mixture, log: (n,)."""
    least: float
    """A state counts as one of them if the mixture's log-probability of it is at least this."""
    g: Tensor
    """g of the draws: (R, S)."""
    log_weight: Tensor
    """Log of each draw's 1/q(h) where it counts, −∞ elsewhere: (R, S)."""
    owner_of_draws: Tensor
    """The mode each draw belongs to: (R, S)."""

    def owner(self, topics: Tensor) -> Tensor:
        """The mode each of the states (B, F) belongs to, or n for none of them: (B,)."""
        each = log_mixture(topics, self.mean, self.log_share)
        return torch.where(torch.logsumexp(each, 1) >= self.least, each.argmax(1), len(self.mean))

    def log_sums(self, d: float) -> tuple[Tensor, Tensor]:
        """log Σ exp(d g(h)) over the states of each mode by each replica (R, n); is it sound (n,)?

        Where few of a mode's draws carry the weight, the sum is likely too small, and so is the
        spread of the replicas.
        """
        n, log_weight = len(self.mean), self.log_weight + d * self.g
        owner, whole = self.owner_of_draws.view(1, -1), log_weight.view(1, -1)
        sums = 2 * log_sums_by(owner, whole, n) - log_sums_by(owner, 2 * whole, n)
        effective = sums[0].exp() * owner.shape[1]  # (n,)
        drawn = torch.bincount(owner[0], minlength=n)
        return log_sums_by(self.owner_of_draws, log_weight, n), effective > SOUND * drawn


def log_sums_by(owner: Tensor, log_weight: Tensor, n: int) -> Tensor:
    """log of the mean over P of the weights (R, P) that belong to each of n owners: (R, n)."""
    top = log_weight.amax(1, keepdim=True)
    sums = torch.zeros((len(owner), n), dtype=top.dtype, device=top.device)
    sums.scatter_add_(1, owner, (log_weight - top).exp())
    return sums.log() + top - math.log(owner.shape[1])


class Survey:
    """The surroundings of modes at any length, found when they are asked for.

    Lengths are looked at on a grid that is always the same, each with random numbers of its own:
    what is found at one length does not depend on which others are asked for.
    """

    def __init__(self, p: Parameters, *, replicas: int, generator: Random) -> None:
        self._p, self._replicas = p, replicas
        device, g = p.W.device, generator_of(generator)
        self._seed = int(torch.randint(2**62, (1,), device=device, generator=g))
        own = torch.Generator(device).manual_seed(self._seed)
        share_on = torch.linspace(0, 1, RANDOM_STARTS, dtype=p.W.dtype, device=device)
        some = sample_topics(share_on[:, None].expand(-1, p.n_topics), generator=own)
        self._starts = torch.cat([torch.eye(p.n_topics, dtype=p.W.dtype, device=device), some])
        self._found: dict[int, Surroundings] = {}
        self._looks: dict[int, Tensor] = {}
        self._means: dict[int, Tensor] = {}

    def near(self, d: float) -> Surroundings:
        """Surroundings of the modes at the length of the grid that is next to d."""
        i = grid_number(d)
        if i not in self._found:
            generator = torch.Generator(self._p.W.device).manual_seed(self._seed + i)
            found = _surroundings(self._p, GRID**i, self.means(d), self._replicas, generator)
            self._found[i] = found
        return self._found[i]

    def means(self, d: float) -> Tensor:
        """Means μ of the modes at the length of the grid that is next to d, best first: (n, F)."""
        i = grid_number(d)
        if i not in self._means:
            # To look from every word at every length would cost more than all the rest.
            p, length, below = self._p, GRID**i, i - i % EVERY
            looks = [self._look(k) for k in (below, below + EVERY)]
            self._means[i] = _distinct(p, length, iterate(p, length, torch.cat(looks), 10))
        return self._means[i]

    def _look(self, i: int) -> Tensor:
        if i not in self._looks:
            self._looks[i] = find_modes(self._p, GRID**i, self._starts)
        return self._looks[i]


def grid_number(d: float) -> int:
    """Which length of the grid is next to d."""
    return max(0, round(math.log(max(d, 1.0)) / math.log(GRID)))


def find_modes(p: Parameters, d: float, starts: Tensor | None = None) -> Tensor:
    """Means μ of the distinct modes that mean field at length D reaches: (n, F).

    It starts at single words, and at `starts` (n, F). The best bound comes first; modes that cannot
    count are left out.
    """
    words = p.W.T
    if p.n_words > MOST_STARTS:
        least = p.b + (words + p.a).relu().sum(1)
        words = words[torch.topk(least, MOST_STARTS).indices]
    best = words[:0] if starts is None else iterate(p, d, starts, FIRST_STEPS)
    for some in torch.split(words, max(1, BLOCK_ENTRIES // p.n_words)):  # (≤ size, F)
        mean = iterate(p, d, torch.sigmoid(min(d, 20.0) * (some + p.a)), FIRST_STEPS)
        together = torch.cat([best, mean])
        best = _distinct(p, d, together, most=8 * MOST_MODES, negligible=math.inf)
    return _distinct(p, d, iterate(p, d, best, FURTHER_STEPS))


def iterate(p: Parameters, d: float, mean: Tensor, steps: int) -> Tensor:
    """μ ← σ(D (W softmax(b + Wᵀμ) + a)), so many times: mean field without a document.  (n, F)."""
    found = []
    for block in torch.split(mean, max(1, BLOCK_ENTRIES // p.n_words)):
        now = block
        for _ in range(steps):
            now = torch.sigmoid(d * (word_mean(p, now) @ p.W.T + p.a))
        found.append(now)
    return torch.cat(found)


def mode_bound(p: Parameters, d: float, mean: Tensor) -> Tensor:
    """D g(μ) + H(μ) ≤ log ζ(D), with g of real μ: (n,), float64."""
    entropy = torch.special.entr(mean) + torch.special.entr(1 - mean)
    blocks = torch.split(mean, max(1, BLOCK_ENTRIES // p.n_words))
    g = torch.cat([log_word_weight(p, block) for block in blocks])
    bound: Tensor = d * g.double() + entropy.double().sum(1)
    return bound


def log_mixture(topics: Tensor, mean: Tensor, log_share: Tensor) -> Tensor:
    """Log-probability of states (B, F) in each part of the mixture: (B, n), float64."""
    h = topics.double()
    return h @ mean.log().T + (1 - h) @ torch.log1p(-mean).T + log_share


def _distinct(
    p: Parameters,
    d: float,
    mean: Tensor,
    *,
    most: int = MOST_MODES,
    negligible: float = NEGLIGIBLE,
) -> Tensor:
    """The best of the means that are the same when rounded to 0 and 1, best first: (n, F)."""
    bound = mode_bound(p, d, mean).nan_to_num(-math.inf)  # a diverging run has to say so itself
    order = torch.argsort(bound, descending=True)
    mean, bound = mean[order], bound[order]
    _, group = torch.unique(mean > 0.5, dim=0, return_inverse=True)
    place = torch.arange(len(group), device=group.device)
    first = torch.full_like(place, len(group)).scatter_reduce(0, group, place, "amin")
    is_first = first[group] == place
    return mean[is_first & (bound >= bound[0] - negligible)][:most]


def _surroundings(
    p: Parameters, d: float, mean: Tensor, replicas: int, generator: torch.Generator
) -> Surroundings:
    """Draw around the modes of a length."""
    bound = mode_bound(p, d, mean)
    # Every second draw or so has a topic that mean field rules out: the states next to a mode have
    # to be seen, or nothing would tell of them.
    doubt = 0.5 / p.n_topics
    mean = mean.double().clamp(doubt, 1 - doubt)
    share = torch.softmax(bound, 0)
    share = (share + 1 / len(share)) / 2  # a bound can be far too low: no mode is forgotten
    log_share = share.log()

    def draw(n: int) -> Tensor:
        # As many draws of each mode as its share says, give or take one: systematic sampling.
        start = uniform((1,), like=share, random=generator)
        steps = (torch.arange(n, device=share.device) + start) / n
        which = torch.searchsorted(share.cumsum(0), steps).clamp_max(len(share) - 1)
        return sample_topics(mean[which], generator=generator)

    least = float(torch.logsumexp(log_mixture(draw(1024), mean, log_share), 1).min())
    topics = torch.cat([draw(DRAWS) for _ in range(replicas)])  # (RS, F)
    each = log_mixture(topics, mean, log_share)
    log_q = torch.logsumexp(each, 1)
    shape = (replicas, DRAWS)
    return Surroundings(
        d=d,
        mean=mean,
        log_share=log_share,
        least=least,
        g=log_word_weight(p, topics.to(p.W.dtype)).double().view(shape),
        log_weight=torch.where(log_q >= least, -log_q, -math.inf).view(shape),
        owner_of_draws=each.argmax(1).view(shape),
    )
