"""Gibbs sampling of topics and words at a fixed number of words.

B chains, F topic units, K words. D = N + M words per chain: observed and latent words follow the
same conditional, so a chain that sees no document does not tell them apart.
"""

from __future__ import annotations

import torch
from torch import Tensor

from docboltz import kernels
from docboltz.model.conditionals import Counts, word_logits, word_mean
from docboltz.model.counts import SparseCounts, times
from docboltz.model.parameters import Parameters
from docboltz.randomness import Random, uniform
from docboltz.sampling.words import sample_word_shares, sample_words


def sample_topics(mean: Tensor, *, generator: Random) -> Tensor:
    """h_j ~ Bernoulli(mean_j), as floats: same shape as `mean`."""
    # torch.bernoulli aborts the whole CUDA context on NaN; here a diverging run can say so itself.
    return uniform(mean.shape, like=mean, random=generator).lt_(mean)  # no booleans on the way


def draw_topics(
    p: Parameters, shares: Counts, d: Tensor, *, generator: Random
) -> tuple[Tensor, Tensor]:
    """P(h_j = 1) = σ(D (Σ_k W_jk x̄_k + a_j)) for words x = D x̄, and a draw of h: twice (B, F).

    Where x̄ are a document's own words and D = N + M, it is fast inference, Eq. (11).
    """
    if kernels.available(d):
        return kernels.draw_topics(times(shares, p.W.T), p.a, d, generator)
    mean = topic_mean_of_shares(p, shares, d)
    return mean, sample_topics(mean, generator=generator)


def topic_mean_of_shares(p: Parameters, shares: Counts, d: Tensor) -> Tensor:
    """P(h_j = 1) = σ(D (Σ_k W_jk x̄_k + a_j)) for words x = D x̄: (B, F)."""
    words_input = times(shares, p.W.T)
    if kernels.available(d):
        return kernels.topic_mean(words_input, p.a, d)
    return topic_mean_of_input(p, words_input, d)


def topic_mean_of_input(p: Parameters, words_input: Tensor, d: Tensor) -> Tensor:
    """The same for Σ_k W_jk x̄_k (B, F), which is overwritten."""
    return words_input.add_(p.a).mul_(d[:, None]).sigmoid_()


def topic_thresholds(p: Parameters, d: Tensor, numbers: Tensor) -> Tensor:
    """logit(u)/D − a_j for uniform numbers u (…, B, F), which are overwritten, and D (…, B).

    h_j = 1 where Σ_k W_jk x̄_k is above it has the probability σ(D (Σ_k W_jk x̄_k + a_j)): what can
    be worked out of a draw before the words are known.
    """
    return numbers.logit_().div_(d[..., None]).sub_(p.a)


def gibbs_sweep(
    p: Parameters, topics: Tensor, d: Tensor, *, generator: Random
) -> tuple[Tensor, Counts]:
    """Draw D words given the topics, then topics given the words: leaves p_D(h) as it is.

    Returns the new topics (B, F) and the words they were drawn from, as shares.
    """
    shares = sample_word_shares(word_logits(p, topics), d, generator=generator)
    return draw_topics(p, shares, d.to(p.W.dtype), generator=generator)[1], shares


def sample_documents(
    p: Parameters, n: Tensor, m: Tensor, *, sweeps: int, generator: torch.Generator
) -> SparseCounts:
    """Draw one new document of n_i words from each of B chains that never saw a document.

    D acts as an inverse temperature: p_0(h) is uniform and p_D sharpens with D. The first half of
    the sweeps lets D grow from 1 to N + M, which finds the modes; the second half stays there.
    """
    topics = sample_topics(p.W.new_full((len(n), p.n_topics), 0.5), generator=generator)
    for sweep in range(1, sweeps + 1):
        d = ((n + m) * min(1.0, 2 * sweep / sweeps)).ceil()
        topics, _ = gibbs_sweep(p, topics, d, generator=generator)
    return sample_words(word_mean(p, topics), n, generator=generator)
