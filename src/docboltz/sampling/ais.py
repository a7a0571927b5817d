"""log ζ(D) the paper's way: annealed importance sampling, chains of their own for each length.

Inverse temperatures β from 0 to 1 scale W and a: log f_β(h) = D log Σ_k exp(b_k + β Σ_j W_jk h_j) +
β D a·h. At β = 0 topics are fair coins and the sum is 2^F (Σ_k exp b_k)^D. It is here to be
compared with `annealing`, which needs one run for all lengths and looks for modes. These chains
start near the unigram model, and where it has no path to a mode none of them finds it: they agree,
and their error says nothing. The lower bound does.

C chains, L lengths, F topic units, K words.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from docboltz.model.parameters import Parameters
from docboltz.randomness import Random
from docboltz.sampling.annealing import LogPartition, effective_share, to_numpy
from docboltz.sampling.chains import draw_topics, sample_topics
from docboltz.sampling.lower_bound import StateSet
from docboltz.sampling.modes import Survey, grid_number
from docboltz.sampling.words import sample_word_shares

BLOCK_ENTRIES, GPU_ENTRIES = 2**18, 2**26
"""Logits held at once: few enough for a CPU's caches, enough for a GPU's cores."""


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
    found, states = [], StateSet(p)
    survey = Survey(p, replicas=1, generator=generator)
    entries = GPU_ENTRIES if p.W.device.type == "cuda" else BLOCK_ENTRIES
    done = 0
    for some in torch.split(d.double(), max(1, entries // (chains * p.n_words))):

        def show_steps(step: int, done: int = done, lengths: int = len(some)) -> None:
            show(done + lengths * step // steps, len(d))

        log_weight, topics, g = _anneal(p, some, chains, steps, generator, show_steps)
        for i in range(len(some)):
            states.add(topics[i], g[i])
        found.append(log_weight)
        done += len(some)
    for length in {grid_number(length): length for length in d.tolist()}.values():
        states.add_means(survey.means(length))
    log_weight = torch.cat(found).T  # (C, L)
    estimate = torch.logsumexp(log_weight, 0) - math.log(chains)
    error = (log_weight - estimate).exp().std(0) / math.sqrt(chains)
    known = torch.where(d == 0, estimate, states.lower_bound(d.double()))
    return LogPartition(
        d=to_numpy(d),
        estimate=to_numpy(estimate),
        error=to_numpy(error),
        lower_bound=to_numpy(known),
        # Chains of different lengths know nothing of each other: their errors add up as squares.
        replicas=to_numpy(estimate + (log_weight - estimate).exp() - 1),
        effective=to_numpy(effective_share(log_weight.T)),
        acceptance=1.0,
        resamplings=0,
        steps=steps * len(d),
        anchor=0.0,
        missed=np.full(len(d), math.nan),
        method="ais",
    )


def _anneal(
    p: Parameters,
    d: Tensor,
    chains: int,
    steps: int,
    generator: Random,
    show: Callable[[int], None],
) -> tuple[Tensor, Tensor, Tensor]:
    """Log of each chain's weight times the sum at β = 0 (L, C), its last state and g of that."""
    shape = len(d), chains
    topics = sample_topics(p.W.new_full((len(d) * chains, p.n_topics), 0.5), generator=generator)
    length = d[:, None].expand(shape)
    words = length.reshape(-1).to(p.W.dtype)
    log_weight = length * p.b.double().logsumexp(0) + p.n_topics * math.log(2)
    for step in range(1, steps + 1):
        warmer, cooler = (step - 1) / steps, step / steps
        from_topics, bias = topics @ p.W, topics @ p.a  # (LC, K), (LC,)
        before = torch.logsumexp(p.b + warmer * from_topics, 1)
        logits = from_topics.mul_(cooler).add_(p.b)
        gain = torch.logsumexp(logits, 1) - before + (cooler - warmer) * bias
        log_weight = log_weight + length * gain.double().view(shape)
        if step < steps:
            # Where there is no word, one is drawn, and says nothing.
            shares = sample_word_shares(logits, words.clamp_min(1), generator=generator)
            _, topics = draw_topics(p, shares, cooler * words, generator=generator)
        show(step)
    g = (torch.logsumexp(logits, 1) + bias).double().view(shape)
    return log_weight, topics.view(*shape, -1), g
