"""Gibbs sampling of topics and words at a fixed number of words.

B chains, F topic units, K words. D = N + M words per chain: observed and latent words follow the
same conditional, so a chain that sees no document does not tell them apart.
"""

from __future__ import annotations

import torch
from torch import Tensor

from docboltz.model.conditionals import topic_mean, word_mean
from docboltz.model.counts import SparseCounts
from docboltz.model.parameters import Parameters
from docboltz.sampling.words import sample_words


def sample_topics(mean: Tensor, *, generator: torch.Generator) -> Tensor:
    """h_j ~ Bernoulli(mean_j), as floats: same shape as `mean`."""
    # torch.bernoulli aborts the whole CUDA context on NaN; here a diverging run can say so itself.
    uniform = torch.rand(mean.shape, dtype=mean.dtype, device=mean.device, generator=generator)
    return (uniform < mean).to(mean.dtype)


def gibbs_sweep(
    p: Parameters, topics: Tensor, d: Tensor, *, generator: torch.Generator
) -> tuple[Tensor, SparseCounts]:
    """Draw D words given the topics, then topics given the words: leaves p_D(h) as it is.

    Returns the new topics (B, F) and the words they were drawn from.
    """
    words = sample_words(word_mean(p, topics), d, generator=generator)
    return sample_topics(topic_mean(p, words), generator=generator), words


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
