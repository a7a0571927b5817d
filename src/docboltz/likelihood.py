"""log p(v) of documents: what a model gives to their words, in nats.

    log p(v) = log Σ_h exp(v̂·b + h·θ + M g(h)) − log ζ(N + M),    θ = W v̂ + N a

is the probability of the word sequence: no multinomial coefficient. The first term, here called the
numerator, has a closed form without latent words; the second does not. With few topics both can be
enumerated. Otherwise they are estimated, and both errors are reported.

B documents, F topic units, K words, S = 2^F topic states.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from docboltz.model import exact
from docboltz.model.conditionals import free_energy, log_word_weight, mean_field, topic_input
from docboltz.model.counts import SparseCounts, times
from docboltz.model.parameters import Parameters
from docboltz.randomness import Random
from docboltz.sampling.posterior import sum_over_topics

Method = Literal["exact", "bound", "importance"]

BLOCK_ENTRIES = 2**22
"""Logits held at once."""
AT_ONCE = 128
"""Documents whose particles go together."""
FIRST_PARTICLES, MOST_PARTICLES = 16, 256
REPLICAS, SWEEPS = 4, 1
WANTED_ERROR = 0.2
"""Standard error, in nats a document, above which more particles are used."""


Show = Callable[[int, int], None]
"""Called with what is done and what there is to do."""


class TopicStates:
    """All S topic states of a model with g(h) of each, in float64: sums over them are exact."""

    def __init__(self, p: Parameters, show: Show = lambda done, total: None) -> None:
        self._p = p.to(p.W.device, torch.float64)
        self._h = exact.topic_states(self._p)  # (S, F)
        parts = []
        for begin, end in _blocks(len(self._h), p.n_words):
            show(begin, len(self._h))
            parts.append(log_word_weight(self._p, self._h[begin:end]))
        show(len(self._h), len(self._h))
        self._g = torch.cat(parts)  # (S,)

    def log_zeta(self, d: Tensor) -> Tensor:
        """log ζ(D) = log Σ_h exp(D g(h)): (L,) for lengths `d` of shape (L,)."""
        return torch.stack([torch.logsumexp(each * self._g, 0) for each in d.double()])

    def log_joint(self, counts: SparseCounts, m: Tensor) -> Tensor:
        """log Σ_h exp(v̂·b + h·θ + M g(h)): (B,)."""
        seen = times(counts, self._p.b[:, None]) + topic_input(self._p, counts) @ self._h.T
        return torch.logsumexp(seen + m[:, None] * self._g, 1)


@dataclass(frozen=True)
class Numerator:
    """log Σ_h exp(v̂·b + h·θ + M g(h)) of each document."""

    value: Tensor
    """(B,), float64."""
    error: Tensor
    """Standard error of each: (B,); 0 where it is exact, or a bound."""


def numerator(
    p: Parameters,
    counts: SparseCounts,
    m: Tensor,
    method: Method,
    *,
    generator: Random,
    states: TopicStates | None = None,
    show: Show = lambda done, total: None,
) -> Numerator:
    """The first term of log p(v); exact by any method where no document has latent words.

    `states` are the model's, for the exact method, where they are known already. `show` is told how
    many documents are done, and of how many.
    """
    some_latent = bool(m.any())
    if method != "importance" or not some_latent:  # particles are good enough in float32
        p = p.to(p.W.device, torch.float64)
    m, parts = m.double(), []
    width = p.n_words
    if method == "exact" and some_latent:
        states = states or TopicStates(p)
        width = 2**p.n_topics
    if method == "importance" and some_latent:  # all at once would show no progress for minutes
        width = max(width, BLOCK_ENTRIES // AT_ONCE)
    for begin, end in _blocks(len(counts), width):
        show(begin, len(counts))
        # Not all at once: counts may be on disk.
        block, latent = counts.slice(begin, end).to(p.W.device, p.W.dtype), m[begin:end]
        if not bool(latent.any()):
            value = -free_energy(p, block).double()
        elif states is not None and method == "exact":
            value = states.log_joint(block, latent)
        elif method == "bound":
            value = _bound(p, block, latent)
        else:
            parts.append(_importance(p, block, latent, generator))
            continue
        parts.append(Numerator(value, torch.zeros_like(value)))
    show(len(counts), len(counts))
    return Numerator(torch.cat([n.value for n in parts]), torch.cat([n.error for n in parts]))


def _bound(p: Parameters, counts: SparseCounts, m: Tensor) -> Tensor:
    """v̂·b + θ·μ1 + M(μ2·(b + Wᵀμ1) + a·μ1) + H(μ1) + M H(μ2), at the mean field: (B,)."""
    found = mean_field(p, counts, m)
    mu, words = found.topics, found.words
    logits = torch.addmm(p.b, mu, p.W)
    # At its fixed point μ2 = softmax(logits), and its part is M (log Σ exp logits + a·μ1).
    latent = (words * logits).sum(1) + _entropy(words) + mu @ p.a
    seen = times(counts, p.b[:, None])[:, 0] + (topic_input(p, counts) * mu).sum(1)
    of_topics = (_entropy(torch.stack([mu, 1 - mu], 2))).sum(1)
    return seen + m * latent + of_topics


def _entropy(probability: Tensor) -> Tensor:
    """−Σ p log p over the last axis."""
    entropy: Tensor = torch.special.entr(probability)
    return entropy.sum(-1)


def _importance(p: Parameters, counts: SparseCounts, m: Tensor, generator: Random) -> Numerator:
    """Particles that take the latent words in one by one; more of them until the error is small."""
    theta = topic_input(p, counts)  # (B, F)
    seen = times(counts, p.b[:, None])[:, 0].double()
    value, error = torch.zeros_like(seen), torch.full_like(seen, math.inf)
    left, particles = torch.arange(len(seen), device=seen.device), FIRST_PARTICLES
    while len(left) and particles <= MOST_PARTICLES:
        at_once = max(1, BLOCK_ENTRIES // (REPLICAS * particles * p.n_words))
        for rows in torch.split(left, at_once):
            effort = {"replicas": REPLICAS, "particles": particles, "sweeps": SWEEPS}
            found = sum_over_topics(p, theta[rows], m[rows], generator=generator, **effort)
            value[rows], error[rows] = found.value, found.error
        left = left[error[left] > WANTED_ERROR]
        particles *= 4
    return Numerator(seen + value, error)


def _blocks(n: int, width: int) -> Iterator[tuple[int, int]]:
    size = max(1, BLOCK_ENTRIES // width)
    for begin in range(0, n, size):
        yield begin, min(begin + size, n)
