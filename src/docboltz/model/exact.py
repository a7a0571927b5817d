"""The oracle: every quantity of a small model by enumerating its 2^F topic states.

Nothing here is approximate, so everything else in the project is tested against it. Time and memory
grow with 2^F · max(B, K); F ≤ 20 is allowed. Use float64 parameters when exactness matters.

B documents, S = 2^F topic states, `n` and `m` are N and M of each document, D = N + M.
"""

from __future__ import annotations

import torch
from torch import Tensor

from docboltz.model.conditionals import Counts, log_word_weight, topic_input, word_mean
from docboltz.model.counts import SparseCounts, lengths, times
from docboltz.model.parameters import Gradient, Parameters

MAX_UNITS = 20


def topic_states(p: Parameters) -> Tensor:
    """All h ∈ {0, 1}^F, one a row: (S, F)."""
    if p.n_topics > MAX_UNITS:
        raise ValueError(
            f"Enumeration visits 2^F states of the units and takes F ≤ {MAX_UNITS}; this model has "
            f"F = {p.n_topics}. Use an estimate (annealing, importance sampling) instead."
        )
    index = torch.arange(2**p.n_topics, device=p.W.device)
    bits = index[:, None] >> torch.arange(p.n_topics, device=p.W.device) & 1
    return bits.to(p.W.dtype)


def log_zeta(p: Parameters, d: Tensor) -> Tensor:
    """log ζ(D) = log Σ_h exp(D g(h)), the log partition function of D words.  Shape of `d`."""
    g = log_word_weight(p, topic_states(p))  # (S,)
    return torch.stack([torch.logsumexp(each * g, 0) for each in d.reshape(-1)]).view(d.shape)


def prior(p: Parameters, d: Tensor) -> Tensor:
    """p_D(h) = exp(D g(h)) / ζ(D), the topics of D unseen words: (B, S) for `d` of shape (B,)."""
    return torch.softmax(d[:, None] * log_word_weight(p, topic_states(p)), 1)


def _log_joint(p: Parameters, counts: Counts, m: Tensor) -> Tensor:
    """log Σ_ĥ exp(−E(v̂, ĥ, h)) = v̂·b + h·(W v̂ + N a) + M g(h): (B, S)."""
    h = topic_states(p)
    seen = times(counts, p.b[:, None]) + topic_input(p, counts) @ h.T
    return seen + m[:, None] * log_word_weight(p, h)


def log_joint(p: Parameters, counts: Counts, m: Tensor) -> Tensor:
    """log Σ_h Σ_ĥ exp(−E(v̂, ĥ, h)), the numerator of log p(v): (B,)."""
    return torch.logsumexp(_log_joint(p, counts, m), 1)


def log_likelihood(p: Parameters, counts: Counts, m: Tensor) -> Tensor:
    """log p(v) of each document's word *sequence* (no multinomial coefficient), in nats: (B,)."""
    return log_joint(p, counts, m) - log_zeta(p, lengths(counts) + m)


def posterior(p: Parameters, counts: Counts, m: Tensor) -> Tensor:
    """p(h | v), latent words summed out: (B, S)."""
    return torch.softmax(_log_joint(p, counts, m), 1)


def posterior_topic_mean(p: Parameters, counts: Counts, m: Tensor) -> Tensor:
    """P(h_j = 1 | v): what fast and mean-field inference approximate.  (B, F)."""
    return posterior(p, counts, m) @ topic_states(p)


def posterior_word_mean(p: Parameters, counts: Counts, m: Tensor) -> Tensor:
    """P(latent word = k | v), the same for each of the M latent words: (B, K)."""
    return posterior(p, counts, m) @ word_mean(p, topic_states(p))


def next_word_mean(p: Parameters, counts: Counts, m: Tensor) -> Tensor:
    """P(a further word = k | v): an unseen word is one latent word more.  (B, K).

    `m` are the latent words of a document that has the further word too, N + 1 words in all.
    """
    return posterior_word_mean(p, counts, m + 1)


def likelihood_gradient(
    p: Parameters, counts: Counts, m: Tensor, weight: Tensor | None = None
) -> Gradient:
    """∂/∂(W, a, b) of Σ_i weight_i log p(v_i): statistics of the data less those of the model.

    Positive:  E[h xᵀ | v] with x = v̂ + ĥ;  negative:  D E_{p_D}[h softmax(b + Wᵀh)ᵀ].
    """
    if weight is None:
        weight = torch.ones_like(m)
    d = lengths(counts) + m
    h = topic_states(p)  # (S, F)
    words = word_mean(p, h)  # (S, K)
    seen = counts.dense() if isinstance(counts, SparseCounts) else counts  # small by contract
    given = weight[:, None] * posterior(p, counts, m)  # (B, S)
    unseen = weight[:, None] * prior(p, d)  # (B, S)
    # Words each topic state writes on its own: latent ones, less all D of the negative phase.
    written = m @ given - d @ unseen  # (S,)
    return Gradient(
        W=(given @ h).T @ seen + (written[:, None] * h).T @ words,
        a=(d @ (given - unseen)) @ h,
        b=weight @ seen + written @ words,
    )
