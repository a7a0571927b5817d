"""Energy, conditionals, and what follows from them in closed form or by mean field.

B documents, K words in the vocabulary, F topic units. N words per document (`n`), M latent words
(`m`), D = N + M. v̂ are observed counts, ĥ latent counts, h topic units. All of it works in float32
and float64, on any device; `counts` may be dense or sparse, and no function makes a sparse batch
dense.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import softplus

from docboltz import kernels
from docboltz.model.counts import SparseCounts, lengths, times
from docboltz.model.parameters import Parameters
from docboltz.scratch import Scratch

Counts = Tensor | SparseCounts

MEAN_FIELD_STEPS = 2000
"""Most documents settle in tens of steps; a few lie on a ridge and take a thousand."""


def energy(p: Parameters, counts: Counts, topics: Tensor) -> Tensor:
    """E = −Σ_jk W_jk h_j x_k − Σ_k x_k b_k − D Σ_j a_j h_j for words x = v̂ + ĥ.  Eq. (6).  (B,)."""
    words_on_topics = (topic_input(p, counts) * topics).sum(1)
    return -words_on_topics - times(counts, p.b[:, None])[:, 0]


def topic_input(p: Parameters, counts: Counts) -> Tensor:
    """Σ_k W_jk x_k + D a_j with D = Σ_k x_k: what the words x say to each topic unit.  (B, F)."""
    return torch.addr(times(counts, p.W.T), lengths(counts), p.a)


def topic_mean(p: Parameters, counts: Counts) -> Tensor:
    """P(h_j = 1 | x) = σ(Σ_k W_jk x_k + D a_j), all words x known.  Eqs. (3), (9).  (B, F)."""
    return torch.sigmoid(topic_input(p, counts))


def word_logits(p: Parameters, topics: Tensor, scratch: Scratch | None = None) -> Tensor:
    """b_k + Σ_j W_jk h_j, a word's log-probability up to a constant.  Eq. (4).  (B, K)."""
    if scratch is None:
        return torch.addmm(p.b, topics, p.W)
    logits = scratch("logits", (len(topics), p.n_words), topics, p.W.dtype)
    return torch.mm(topics, p.W, out=logits).add_(p.b)


def softmax(logits: Tensor, scratch: Scratch | None = None) -> Tensor:
    """exp(logit_k) / Σ_k exp(logit_k) for each row.  (B, K)."""
    if kernels.available(logits):
        return kernels.softmax(logits)
    if scratch is None:
        return torch.softmax(logits, 1)
    return torch.softmax(logits, 1, out=scratch("softmax", logits.shape, logits, logits.dtype))


def word_mean(p: Parameters, topics: Tensor) -> Tensor:
    """P(word = k | h) = softmax_k(b_k + Σ_j W_jk h_j), seen or latent.  Eqs. (4), (10).  (B, K)."""
    return softmax(word_logits(p, topics))


def log_word_weight(p: Parameters, topics: Tensor) -> Tensor:
    """g(h) = log Σ_k exp(b_k + Σ_j W_jk h_j) + Σ_j a_j h_j: what one word sums to.  (B,).

    Summing D words out of exp(−E) leaves exp(D g(h)), so p_D(h) ∝ exp(D g(h)).
    """
    return torch.logsumexp(word_logits(p, topics), 1) + topics @ p.a


def free_energy(p: Parameters, counts: Counts) -> Tensor:
    """−log Σ_h exp(−E(x, h)) = −Σ_k x_k b_k − Σ_j log(1 + exp(Σ_k W_jk x_k + D a_j)).  (B,).

    All words x must be known: for the Replicated Softmax these are the document's own words.
    """
    return -times(counts, p.b[:, None])[:, 0] - softplus(topic_input(p, counts)).sum(1)


def fast_topic_mean(p: Parameters, counts: Counts, m: Tensor) -> Tensor:
    """P(h_j = 1 | v) ≈ σ((1 + M/N)(Σ_k W_jk v̂_k + N a_j)).  Eq. (11).  (B, F)."""
    return torch.sigmoid(fast_topic_input(p, counts, m))


def fast_topic_input(p: Parameters, counts: Counts, m: Tensor) -> Tensor:
    """(1 + M/N)(Σ_k W_jk v̂_k + N a_j), the log-odds of Eq. (11).  (B, F).

    The latent words are taken to follow the document's own word distribution. A document without
    words has none to follow and gets log-odds of 0: the answer of a model without latent words.
    """
    n = lengths(counts)
    replication = torch.where(n > 0, 1 + m / n, 0)
    return topic_input(p, counts) * replication[:, None]


@dataclass(frozen=True)
class MeanField:
    """The fully factorised distribution over topics and latent words nearest to the posterior."""

    topics: Tensor
    """μ1, the probability of each topic unit: (B, F)."""
    words: Tensor
    """μ2, the distribution of each of a document's latent words: (B, K)."""
    steps: Tensor
    """Updates each document took: (B,) integers."""
    converged: Tensor
    """Whether the last update moved no μ1 of the document by more than the tolerance: (B,)."""


def mean_field(
    p: Parameters,
    counts: Counts,
    m: Tensor,
    *,
    tolerance: float = 1e-5,
    max_steps: int = MEAN_FIELD_STEPS,
) -> MeanField:
    """μ1 ← σ(W(v̂ + M μ2) + (N + M) a), μ2 ← softmax(b + Wᵀ μ1).  Eqs. (9), (10).

    It starts from fast inference. Each document stops on its own, when the largest absolute change
    among its μ1 is at most `tolerance`, so it does not matter which documents share the batch.
    """
    seen = topic_input(p, counts)  # (B, F), the part that stays: W v̂ + N a
    topics = fast_topic_mean(p, counts, m)  # (B, F)
    words = word_mean(p, topics)  # (B, K)
    steps = torch.zeros(len(seen), dtype=torch.long, device=seen.device)
    moving = torch.arange(len(seen), device=seen.device)
    for _ in range(max_steps):
        latent = m[moving, None] * (words[moving] @ p.W.T + p.a)  # (moving, F): W M μ2 + M a
        new = torch.sigmoid(seen[moving] + latent)
        change = (new - topics[moving]).abs().amax(1)
        topics[moving], words[moving] = new, word_mean(p, new)
        steps[moving] += 1
        moving = moving[change > tolerance]
        if not len(moving):
            break
    converged = torch.ones(len(seen), dtype=torch.bool, device=seen.device)
    converged[moving] = False
    return MeanField(topics, words, steps, converged)
