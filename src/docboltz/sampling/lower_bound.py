"""A lower bound of log ζ(D) that holds for certain, from states that were found.

All terms of ζ(D) = Σ_h exp(D g(h)) are positive, so the sum over any set of distinct states is one:

    log ζ(D) ≥ log Σ_{h ∈ H} exp(D g(h)).

It is near log ζ where few states have most of the weight. Where many share it, the mean field μ of
independent units gives more, by Jensen's inequality (`modes`): log ζ(D) ≥ D g(μ) + H(μ). The larger
of the two is the bound. All terms are computed in float64. One state whose D g(h) is above an
estimate proves that estimate wrong.

n states, F topic units, K words, L lengths.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from docboltz.model.conditionals import log_word_weight, word_logits
from docboltz.model.parameters import Parameters

BLOCK_ENTRIES = 2**22
"""Logits held at once."""
STATES, MEANS = 128, 32
"""States and means that are kept of those added at once: the best."""
NEIGHBOURS = 8192
"""States next to modes that count, at most: as many modes are climbed to the top."""
MOST_FLIPS = 100
"""Units that a climb flips at most."""


class StateSet:
    """The states and means that a search has found, and the lower bound they give."""

    def __init__(self, p: Parameters) -> None:
        self._p = p
        self._states: list[Tensor] = []
        self._means: list[Tensor] = []

    def add(self, topics: Tensor, g: Tensor) -> None:
        """Keep the best of the states (n, F), whose g is known (n,)."""
        self._states.append(topics[torch.topk(g, min(STATES, len(g))).indices])

    def add_means(self, mean: Tensor) -> None:
        """Keep the best of the means μ (n, F), which are sorted, best first."""
        self._means.append(mean[:MEANS])

    def lower_bound(self, d: Tensor) -> Tensor:
        """The lower bound of log ζ at the lengths `d` (L,): (L,), float64."""
        exact, lengths = self._p.to(d.device, torch.float64), d.double()
        bound = torch.full_like(lengths, -math.inf)
        states = list(self._states)
        if self._means:
            means = torch.cat(self._means).double()
            entropy = (torch.special.entr(means) + torch.special.entr(1 - means)).sum(1)
            bound = (torch.outer(lengths, _g(exact, means)) + entropy).amax(1)
            tops = climb(self._p, distinct((means > 0.5).to(self._p.W.dtype)))
            states += [tops, *map(_neighbours, tops)]
        if states:
            bound = torch.maximum(bound, log_sum_over(exact, torch.cat(states), lengths))
        return bound


def log_sum_over(p: Parameters, states: Tensor, d: Tensor) -> Tensor:
    """log Σ exp(D g(h)) over the distinct ones of the states (n, F), for lengths (L,): (L,).

    `p` is in float64, and so is the sum.
    """
    g = _g(p, distinct(states).to(p.W.dtype))
    return torch.cat([torch.logsumexp(torch.outer(some, g), 1) for some in torch.split(d, 64)])


def distinct(states: Tensor) -> Tensor:
    """Each of the states (n, F) once.

    They are told apart by a hash: two that share one count once, which only lowers a bound.
    """
    g = torch.Generator().manual_seed(0)
    salt = torch.randint(-(2**62), 2**62, (states.shape[1],), generator=g).to(states.device)
    blocks = torch.split(states, 4096)
    key = torch.cat([(block.long() * salt).sum(1) for block in blocks])  # wraps around
    order = torch.argsort(key)
    first = torch.ones_like(order, dtype=torch.bool)
    first[1:] = key[order].diff() != 0
    return states[order[first]]


def climb(p: Parameters, states: Tensor) -> Tensor:
    """Flip the best unit of each of the best states while its g grows: (≤ n, F)."""
    most = max(1, NEIGHBOURS // p.n_topics)
    now = states[torch.topk(_g(p, states), min(most, len(states))).indices]
    for _ in range(MOST_FLIPS):
        gain, unit = _gains(p, now).max(1)
        grows = gain > 1e-4  # less is float32's rounding
        if not bool(grows.any()):
            break
        row = torch.nonzero(grows)[:, 0]
        now[row, unit[row]] = 1 - now[row, unit[row]]
    return distinct(now)


def _gains(p: Parameters, states: Tensor) -> Tensor:
    """What flipping each unit adds to g: (n, F)."""
    gains = torch.empty_like(states)
    units = max(1, BLOCK_ENTRIES // p.n_words)
    for i, h in enumerate(states):
        logits, sign = word_logits(p, h[None]), 1 - 2 * h
        now = torch.logsumexp(logits, 1)
        for begin in range(0, len(h), units):
            some = slice(begin, begin + units)
            flipped = torch.logsumexp(logits + sign[some, None] * p.W[some], 1)
            gains[i, some] = flipped - now + sign[some] * p.a[some]
    return gains


def _neighbours(state: Tensor) -> Tensor:
    """The states that differ from this one in one unit: (F, F)."""
    return (state - torch.eye(len(state), dtype=state.dtype, device=state.device)).abs()


def _g(p: Parameters, states: Tensor) -> Tensor:
    """g of states or means, in blocks: (n,)."""
    blocks = torch.split(states, max(1, BLOCK_ENTRIES // p.n_words))
    return torch.cat([log_word_weight(p, block) for block in blocks])
