"""A pool of persistent chains, one per rung of a ladder of lengths, with exchange between rungs.

Topics of D unseen words follow p_D(h) ∝ exp(D g(h)): D is an inverse temperature, and chains at all
the lengths a corpus has are replicas at different temperatures. Short rungs move freely, long ones
sit in modes; exchange lets states travel along the ladder, so that long rungs hear of modes far
away.

R rungs, F topic units, K words.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from docboltz.model.conditionals import topic_mean, word_logits
from docboltz.model.parameters import Parameters
from docboltz.sampling.chains import sample_topics
from docboltz.sampling.words import sample_words


@dataclass(frozen=True)
class ChainPool:
    """Where the chains are."""

    topics: Tensor
    """State of each chain: (R, F), zeros and ones."""
    d: Tensor
    """Words of each rung, shortest first: (R,). Chains stay on their rung; states are exchanged."""
    weight: Tensor
    """Share of the training documents a rung stands for: (R,), sums to 1; 0 on the bridge."""


@dataclass(frozen=True)
class SweepInfo:
    """How well a sweep mixed, as tensors: whoever reads them waits for the device."""

    acceptance: Tensor
    """Share of proposed exchanges that were made."""
    movement: Tensor
    """Share of topic units that the Gibbs half of the sweep changed."""


def start_pool(
    n_topics: int, d: Tensor, *, rungs: int, bridge: int, generator: torch.Generator
) -> ChainPool:
    """Spread `rungs` chains over the lengths `d` of the training documents, by quantiles.

    A `bridge` of further rungs leads from 1 word to the shortest of them, in steps that grow with
    the length. It counts for mixing only. States begin as fair coins, the exact p_0.
    """
    quantiles = (torch.arange(rungs, dtype=torch.float64, device=d.device) + 0.5) / rungs
    ladder = torch.sort(d.double()).values[(quantiles * len(d)).long()]
    first = float(ladder[0])
    steps = torch.arange(bridge, dtype=torch.float64, device=d.device) / max(bridge, 1)
    below = (first**steps).floor() if first > 1 else ladder[:0]
    lengths = torch.cat([below, ladder])
    weight = torch.cat([torch.zeros_like(below), torch.full_like(ladder, 1 / rungs)])
    fair = torch.full((len(lengths), n_topics), 0.5, dtype=d.dtype, device=d.device)
    return ChainPool(
        sample_topics(fair, generator=generator), lengths.to(d.dtype), weight.to(d.dtype)
    )


def sweep(
    p: Parameters, pool: ChainPool, parity: int, *, generator: torch.Generator
) -> tuple[ChainPool, SweepInfo]:
    """Exchange between neighbours, then one Gibbs sweep: leaves the product of all p_D as it is.

    Rungs (0, 1), (2, 3), … exchange where `parity` is even, (1, 2), (3, 4), … where it is odd, so
    that states can travel. One product with W serves the exchange and the sweep.
    """
    logits = word_logits(p, pool.topics)  # (R, K)
    g = torch.logsumexp(logits, 1) + pool.topics @ p.a  # (R,)
    order, accepted = _exchanged(pool.d, g, parity, generator)
    topics, logits = pool.topics[order], logits[order]
    words = sample_words(torch.softmax(logits, 1), pool.d, generator=generator)
    new = sample_topics(topic_mean(p, words), generator=generator)
    moved = (new != topics).to(p.W.dtype).mean()
    return ChainPool(new, pool.d, pool.weight), SweepInfo(accepted, moved)


def _exchanged(
    d: Tensor, g: Tensor, parity: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Which rung's state each rung gets, and the share of pairs that swapped.

    A swap is accepted with min(1, exp((D_i − D_j)(g_j − g_i))).
    """
    low = torch.arange(parity % 2, len(d) - 1, 2, device=d.device)
    high = low + 1
    gain = (d[low] - d[high]) * (g[high] - g[low])
    uniform = torch.rand(len(low), dtype=d.dtype, device=d.device, generator=generator)
    swap = uniform < gain.exp()
    order = torch.arange(len(d), device=d.device)
    order[low] = torch.where(swap, high, low)
    order[high] = torch.where(swap, low, high)
    return order, swap.to(d.dtype).mean()
