"""A pool of persistent chains, one per rung of a ladder of lengths, with exchange between rungs.

Topics of D unseen words follow p_D(h) ∝ exp(D g(h)): D is an inverse temperature, and chains at all
the lengths a corpus has are replicas at different temperatures. Short rungs move freely, long ones
sit in modes; exchange lets states travel along the ladder, so that long rungs hear of modes far
away.

R rungs, F topic units, K words.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from docboltz.model.conditionals import log_word_weight, word_logits
from docboltz.model.parameters import Parameters
from docboltz.randomness import Random, uniform
from docboltz.sampling.annealing import exact_log_zeta_1
from docboltz.sampling.chains import draw_topics, sample_topics
from docboltz.sampling.modes import find_modes, mode_bound
from docboltz.sampling.words import sample_word_shares


@dataclass(frozen=True)
class ChainPool:
    """Where the chains are."""

    topics: Tensor
    """State of each chain: (R, F), zeros and ones."""
    d: Tensor
    """Words of each rung, shortest first: (R,). Chains stay on their rung; states are exchanged."""
    weight: Tensor
    """Share of the training documents a rung stands for: (R,), sums to 1; 0 on the bridge."""
    walker: Tensor
    """Rung on which each rung's state began, to see whether states travel: (R,) integers."""
    guest: Tensor
    """Whether a state was brought from a mode (`visit_modes`), not by the chains: (R,)."""


@dataclass(frozen=True)
class SweepInfo:
    """How well a sweep mixed, as tensors: whoever reads them waits for the device."""

    acceptance: Tensor
    """Share of proposed exchanges that were made."""
    movement: Tensor
    """Share of topic units that the Gibbs half of the sweep changed."""
    g: Tensor
    """g of each rung's state before the sweep: (R,)."""


def start_pool(
    n_topics: int, d: Tensor, *, rungs: int, bridge: int, generator: torch.Generator
) -> ChainPool:
    """Spread `rungs` chains over the lengths `d` of the training documents, by quantiles.

    A `bridge` of further rungs leads from 1 word to the shortest of them, in steps that grow with
    the length. It counts for mixing only. States begin as fair coins, the exact p_0.
    """
    quantiles = (torch.arange(rungs, dtype=torch.float64, device=d.device) + 0.5) / rungs
    ladder = torch.sort(d.double()).values[(quantiles * len(d)).long()]
    ladder = ladder.round().clamp_min(1)  # whole words, where counts are fractions (tf-idf)
    first = float(ladder[0])
    steps = torch.arange(bridge, dtype=torch.float64, device=d.device) / max(bridge, 1)
    below = (first**steps).floor() if first > 1 else ladder[:0]
    lengths = torch.cat([below, ladder])
    weight = torch.cat([torch.zeros_like(below), torch.full_like(ladder, 1 / rungs)])
    fair = torch.full((len(lengths), n_topics), 0.5, dtype=d.dtype, device=d.device)
    return ChainPool(
        sample_topics(fair, generator=generator),
        lengths.to(d.dtype),
        weight.to(d.dtype),
        torch.arange(len(lengths), device=d.device),
        torch.zeros(len(lengths), dtype=torch.bool, device=d.device),
    )


def part_of_pool(pool: ChainPool, first: int, every: int, *, weight: float) -> ChainPool:
    """Every so manieth rung, with so many times its weight: a ladder over the same lengths."""
    topics, d, weights, guest = (
        t[first::every].clone() for t in (pool.topics, pool.d, pool.weight, pool.guest)
    )
    return ChainPool(topics, d, weight * weights, torch.arange(len(d), device=d.device), guest)


def sweep(
    p: Parameters, pool: ChainPool, parity: int, *, generator: Random
) -> tuple[ChainPool, SweepInfo]:
    """Exchange between neighbours, then one Gibbs sweep: leaves the product of all p_D as it is.

    Rungs (0, 1), (2, 3), … exchange where `parity` is even, (1, 2), (3, 4), … where it is odd, so
    that states can travel. One product with W serves the exchange and the sweep.
    """
    logits = word_logits(p, pool.topics)  # (R, K)
    g = torch.logsumexp(logits, 1) + pool.topics @ p.a  # (R,)
    order, accepted = _exchanged(pool.d, g, parity, generator)
    # States stay in their rows and take each other's lengths, which is cheaper than to move their
    # logits; only the new topics are put in order. A swap is its own inverse.
    d = pool.d[order]
    shares = sample_word_shares(logits, d, generator=generator)
    _, new = draw_topics(p, shares, d, generator=generator)
    moved = (new != pool.topics).to(p.W.dtype).mean()
    return (
        ChainPool(new[order], pool.d, pool.weight, pool.walker[order], pool.guest[order]),
        SweepInfo(accepted, moved, g),
    )


GUESTS = 0.25
"""Chance of a rung to be given to a mode that has all the weight: chains must not forget all
else."""


def visit_modes(
    p: Parameters,
    pool: ChainPool,
    hosts: Tensor,
    mean_g: Tensor,
    length: float,
    *,
    generator: torch.Generator,
) -> tuple[ChainPool, Tensor]:
    """Send the last guests home and bring in states of modes that no chain finds.

    Mean field at `length` finds modes μ (`modes`). Around one of them lies a weight of about
    exp(D g(μ) + H(μ)) at D words, and ζ(D) of all that chains know is the integral of `mean_g`
    (R,), the mean of g at each rung, over D. A rung goes to a mode with the modes' share of both,
    times GUESTS. `hosts` (R, F) are the states before the last visit, and the rung a guest is on by
    now gets its own back: a mode that learning has flattened would keep its guests for ever.
    Returns the states before this visit too.
    """
    home = at_home(pool, hosts)
    modes = find_modes(p, length)  # (n, F)
    d, g = pool.d.double(), mean_g.double()
    weight = torch.outer(d, log_word_weight(p, modes).double()) + mode_bound(
        p, 0.0, modes
    )  # (R, n)
    if not bool(weight.isfinite().all()):  # a run that diverges has nothing to visit
        return home, home.topics
    steps = torch.cat([(d[:1] - 1) * g[:1], (g[1:] + g[:-1]) / 2 * d.diff()])
    log_zeta = exact_log_zeta_1(p) + steps.cumsum(0)  # (R,)
    share = GUESTS * torch.sigmoid(torch.logsumexp(weight, 1) - log_zeta)
    drawn = uniform(share.shape, like=share, random=generator)
    mode = torch.multinomial(torch.softmax(weight, 1), 1, generator=generator)[:, 0]
    proposed, guest = sample_topics(modes[mode], generator=generator), drawn < share
    visited = replace(home, topics=torch.where(guest[:, None], proposed, home.topics), guest=guest)
    return visited, home.topics


def at_home(pool: ChainPool, hosts: Tensor) -> ChainPool:
    """The pool without its guests: their rungs have the states `hosts` (R, F) again."""
    topics = torch.where(pool.guest[:, None], hosts, pool.topics)
    return replace(pool, topics=topics, guest=torch.zeros_like(pool.guest))


def _exchanged(d: Tensor, g: Tensor, parity: int, generator: Random) -> tuple[Tensor, Tensor]:
    """Which rung's state each rung gets, and the share of pairs that swapped.

    A swap is accepted with min(1, exp((D_i − D_j)(g_j − g_i))).
    """
    first, R = parity % 2, len(d)
    pairs = (R - first) // 2
    low, high = d[first : first + 2 * pairs].view(pairs, 2).unbind(1)
    g_low, g_high = g[first : first + 2 * pairs].view(pairs, 2).unbind(1)
    swap = uniform((pairs,), like=d, random=generator) < ((low - high) * (g_high - g_low)).exp()
    order = torch.arange(R, device=d.device)
    step = swap.long()
    order[first : first + 2 * pairs].view(pairs, 2).add_(torch.stack([step, -step], 1))
    return order, swap.to(d.dtype).sum() / max(pairs, 1)


def travelled(pool: ChainPool) -> Tensor:
    """How far states are from the rungs they began on, as a share of the ladder: 1/3 if mixed."""
    R = len(pool.d)
    here = torch.arange(R, device=pool.d.device)
    return (pool.walker - here).abs().to(pool.d.dtype).mean() / R
