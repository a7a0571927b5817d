"""log ζ(D) the paper's way: annealed importance sampling, one run for each length.

Inverse temperatures β from 0 to 1 scale W and a: log f_β(h) = D log Σ_k exp(b_k + β Σ_j W_jk h_j) +
β D a·h. At β = 0 topics are fair coins and the sum is 2^F (Σ_k exp b_k)^D. It is here to be
compared with `annealing`, which needs one run for all lengths.

C chains, L lengths, F topic units, K words.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from docboltz.model.conditionals import log_word_weight
from docboltz.model.parameters import Parameters
from docboltz.randomness import Random
from docboltz.sampling.annealing import LogPartition, effective_share
from docboltz.sampling.chains import gibbs_sweep, sample_topics


def anneal_temperatures(
    p: Parameters,
    d: Tensor,
    *,
    chains: int = 128,
    steps: int = 1000,
    generator: Random,
    show: Callable[[int, int], None] = lambda done, total: None,
) -> LogPartition:
    """Estimate log ζ for the whole lengths `d` (L,), each by `chains` runs of so many steps.

    `show` is told how many lengths are done, and of how many.
    """
    found = []
    for number, each in enumerate(d, 1):
        found.append(_one_length(p, float(each), chains, steps, generator))
        show(number, len(d))
    log_weight = torch.stack(found, 1)  # (C, L)
    value = torch.logsumexp(log_weight, 0) - math.log(chains)
    error = (log_weight - value).exp().std(0) / math.sqrt(chains)
    return LogPartition(
        d=d.double(),
        value=value,
        error=error,
        replicas=log_weight,
        effective=effective_share(log_weight.T),
        acceptance=1.0,
        resamplings=0,
        steps=steps * len(d),
        anchor=0.0,
        missed=torch.full_like(value, math.nan),
    )


def _one_length(p: Parameters, d: float, chains: int, steps: int, generator: Random) -> Tensor:
    """log of each chain's weight times the known sum at β = 0: (C,)."""
    topics = sample_topics(p.W.new_full((chains, p.n_topics), 0.5), generator=generator)
    length = p.W.new_full((chains,), d)
    log_weight = p.b.double().logsumexp(0) * d + p.n_topics * math.log(2)
    log_weight = log_weight.expand(chains).clone()
    cooler = _at(p, 0.0)
    for step in range(1, steps + 1):
        warmer, cooler = cooler, _at(p, step / steps)
        gain = log_word_weight(cooler, topics) - log_word_weight(warmer, topics)
        log_weight += d * gain.double()
        if step < steps and d >= 1:
            topics, _ = gibbs_sweep(cooler, topics, length, generator=generator)
    return log_weight


def _at(p: Parameters, beta: float) -> Parameters:
    """The model at an inverse temperature."""
    return Parameters(beta * p.W, beta * p.a, p.b)
