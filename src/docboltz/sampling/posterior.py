"""The sum over a document's topics, by annealing over its latent words.

    log Σ_h exp(h·θ + M g(h)),    θ = W v̂ + N a

is known exactly without latent words: topics are then independent, h_j ~ σ(θ_j), and the sum is
Π_j (1 + exp θ_j). Particles that start there and take the latent words in by small steps, from 0 to
M, find the modes that latent words make, where a single mean field knows only one of them. It is
the annealing of `annealing`, with θ held fast.

B documents, R replicas of each, P particles in each, F topic units, K words.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import softplus

from docboltz.model.conditionals import word_logits
from docboltz.model.counts import times
from docboltz.model.parameters import Parameters
from docboltz.randomness import Random, uniform
from docboltz.sampling.annealing import RESAMPLE_BELOW, effective_share, log_mean, resampled
from docboltz.sampling.chains import sample_topics
from docboltz.sampling.words import sample_word_shares

KEPT = 0.95
"""Effective share of a document's particles that a step leaves."""


@dataclass(frozen=True)
class TopicSum:
    """log Σ_h exp(h·θ + M g(h)) of each document."""

    value: Tensor
    """(B,), float64."""
    error: Tensor
    """Standard error, from the spread of the replicas: (B,)."""


def sum_over_topics(
    p: Parameters,
    theta: Tensor,
    m: Tensor,
    *,
    replicas: int,
    particles: int,
    sweeps: int,
    generator: Random,
) -> TopicSum:
    """Anneal from 0 to m (B,) latent words for documents with θ (B, F)."""
    B = len(theta)
    R, P = B * replicas, particles  # a document's replicas are rows of their own
    theta = theta.repeat_interleave(replicas, 0)  # (R, F)
    m = m.double().repeat_interleave(replicas)[:, None]  # (R, 1)
    log_sum = softplus(theta.double()).sum(1)  # (R,)
    of_particle = theta.repeat_interleave(P, 0)  # (RP, F)
    topics = sample_topics(torch.sigmoid(of_particle), generator=generator)
    logits = word_logits(p, topics)  # (RP, K), of the topics as they are
    g = (torch.logsumexp(logits, 1) + topics @ p.a).double().view(R, P)
    log_weight, at = torch.zeros_like(g), 0.0
    while at < 1:
        to = min(1.0, at + _step(g * m, log_weight))
        log_weight = log_weight + (to - at) * m * g
        at = to
        poor = effective_share(log_weight) < RESAMPLE_BELOW
        log_sum = torch.where(poor, log_sum + log_mean(log_weight), log_sum)
        keep = resampled(log_weight, poor, generator)
        rows = (keep + torch.arange(R, device=keep.device)[:, None] * P).view(-1)
        topics, logits, g = topics[rows], logits[rows], g.view(-1)[rows].view(R, P)
        log_weight = torch.where(poor[:, None], 0.0, log_weight)
        for _ in range(sweeps if at < 1 else 0):
            topics, logits, g = _move(p, of_particle, topics, logits, g, at * m, generator)
    found = (log_sum + log_mean(log_weight)).view(B, replicas)
    value = torch.logsumexp(found, 1) - math.log(replicas)
    error = (found - value[:, None]).exp().std(1) / math.sqrt(replicas)
    return TopicSum(value, error)


def _step(g: Tensor, log_weight: Tensor) -> float:
    """The step that leaves the share KEPT of nine documents in ten, or more."""
    weight = torch.softmax(log_weight, 1)
    mean = (weight * g).sum(1, keepdim=True)
    spread = (weight * (g - mean) ** 2).sum(1).sqrt()
    wide = float(torch.sort(spread).values[int(0.9 * (len(spread) - 1))])
    return math.sqrt(1 / KEPT - 1) / max(wide, 1e-9)


def _move(
    p: Parameters,
    theta: Tensor,
    topics: Tensor,
    logits: Tensor,
    g: Tensor,
    m: Tensor,
    generator: Random,
) -> tuple[Tensor, Tensor, Tensor]:
    """A Gibbs sweep with n = round(m) latent words, and a Metropolis step to m of them."""
    n = m.round()  # (R, 1)
    words = n.expand(g.shape).reshape(-1).to(p.W.dtype)  # (RP,)
    # Where there is none, one is drawn, and says nothing.
    shares = sample_word_shares(logits, words.clamp_min(1), generator=generator)
    message = words[:, None] * (times(shares, p.W.T) + p.a)
    proposed = sample_topics(torch.sigmoid(theta + message), generator=generator)
    new_logits = word_logits(p, proposed)
    new_g = (torch.logsumexp(new_logits, 1) + proposed @ p.a).double().view(g.shape)
    take = uniform(g.shape, like=g, random=generator) < ((m - n) * (new_g - g)).exp()
    rows = take.view(-1, 1)
    return (
        torch.where(rows, proposed, topics),
        torch.where(rows, new_logits, logits),
        torch.where(take, new_g, g),
    )
