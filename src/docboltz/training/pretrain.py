"""Pretraining by contrastive divergence (section 3.2): an RBM with bottom-up weights × (1 + M/N).

The M latent words are taken to follow the document's own words, so a document says to its topics
D/N times what its words say, D = N + M, and its N words are all that is reconstructed.

B documents, F topic units, K words. x̄ = v̂/N is a document's word distribution. Statistics of a
document are divided by D, so that each document counts once, as it does in the perplexity:
(1/D) ∂/∂W = h x̄ᵀ.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from docboltz.errors import is_number, is_whole, require
from docboltz.model.conditionals import Counts, fast_topic_mean, word_mean
from docboltz.model.counts import SparseCounts, lengths
from docboltz.model.parameters import Gradient, Parameters
from docboltz.sampling.chains import sample_topics
from docboltz.sampling.words import sample_words
from docboltz.training.schedules import decayed_rate, gibbs_steps


@dataclass(frozen=True)
class Pretraining:
    """How contrastive divergence is run. All schedules count updates: time grows with the
    vocabulary and the length of documents, not with their number. docs/training.md says how the
    defaults were chosen."""

    updates: int = 3000
    """Minibatches to learn from; the corpus is gone through as often as it takes."""
    batch_size: int = 128
    """Documents per update (all of them, where the corpus is smaller)."""
    learning_rate: float = 1.0
    """ε0, the rate of the first update. High beside other models' because statistics are per word
    of a document and so as small as word frequencies."""
    halve_after: float = 10_000
    """T in ε0 / (1 + t/T): the update at which the rate has fallen to half."""
    momentum: float = 0.9
    """Share of the last step that goes into the next."""
    weight_decay: float = 3e-4
    """Pull of W towards 0, per update, in units of the rate."""
    more_steps_every: int = 1000
    """Updates after which the chains get one Gibbs step more (CD-1, CD-2, …)."""
    max_steps: int = 5
    """The most Gibbs steps."""
    sparsity: float = 0.0
    """Weight of the sparsity penalty Σ_j KL(target ‖ mean activity of topic j); 0 is none."""
    sparsity_target: float = 0.1
    """Share of documents that should switch a topic on."""
    initial_scale: float = 0.01
    """Standard deviation of W before the first update."""

    def __post_init__(self) -> None:
        def check(name: str, expected: str, ok: bool, kind: type[int] | type[float]) -> None:
            require(ok, "Pretraining", name, expected, getattr(self, name))
            object.__setattr__(self, name, kind(getattr(self, name)))  # NumPy's cannot be saved

        for name in ("updates", "batch_size", "more_steps_every", "max_steps"):
            ok = is_whole(getattr(self, name)) and getattr(self, name) >= 1
            check(name, "a whole number of at least 1", ok, int)
        for name in ("learning_rate", "halve_after", "initial_scale"):
            ok = is_number(getattr(self, name)) and getattr(self, name) > 0
            check(name, "a number above 0", ok, float)
        for name in ("weight_decay", "sparsity"):
            ok = is_number(getattr(self, name)) and getattr(self, name) >= 0
            check(name, "a number of at least 0", ok, float)
        ok = is_number(self.momentum) and 0 <= self.momentum < 1
        check("momentum", "a number from 0 up to, not including, 1", ok, float)
        ok = is_number(self.sparsity_target) and 0 < self.sparsity_target < 1
        check("sparsity_target", "a number between 0 and 1", ok, float)

    def rate(self, update: int) -> float:
        """Learning rate of the update with this number."""
        return decayed_rate(update, initial=self.learning_rate, after=self.halve_after)

    def statistics(
        self,
        p: Parameters,
        counts: SparseCounts,
        m: Tensor,
        update: int,
        *,
        generator: torch.Generator,
    ) -> Gradient:
        """The direction of one update: contrastive divergence, sparsity and weight decay."""
        steps = gibbs_steps(update, every=self.more_steps_every, maximum=self.max_steps)
        seen = counts.dense()  # (B, K)
        gradient = contrastive_divergence(p, seen, m, steps=steps, generator=generator)
        if self.sparsity:
            pull = sparsity_gradient(p, seen, m, target=self.sparsity_target)
            gradient = Gradient(
                gradient.W + self.sparsity * pull.W,
                gradient.a + self.sparsity * pull.a,
                gradient.b,
            )
        return Gradient(gradient.W - self.weight_decay * p.W, gradient.a, gradient.b)


def contrastive_divergence(
    p: Parameters, counts: Tensor, m: Tensor, *, steps: int, generator: torch.Generator
) -> Gradient:
    """⟨h x̄ᵀ⟩ on the data less ⟨h x̄ᵀ⟩ after `steps` Gibbs steps, averaged over the B documents.

    One step reconstructs a document as its word probabilities; more steps sample words, or the
    chain would settle in an average of texts instead of a text. `counts` (B, K) hold no empty
    document.
    """
    n = lengths(counts)
    data_topics = topics = fast_topic_mean(p, counts, m)
    words: Counts = counts
    for _ in range(steps):
        probabilities = word_mean(p, sample_topics(topics, generator=generator))  # (B, K)
        if steps == 1:
            words = n[:, None] * probabilities
        else:
            # A fractional length (tf-idf input) still draws a whole number of words.
            words = sample_words(probabilities, n.round().clamp_min(1), generator=generator)
        topics = fast_topic_mean(p, words, m)
    data, model = word_shares(counts), word_shares(words)
    B = len(counts)
    return Gradient(
        W=(data_topics.T @ data - topics.T @ model) / B,
        a=(data_topics - topics).mean(0),
        b=(data - model).mean(0),
    )


def word_shares(counts: Counts) -> Tensor:
    """x̄ = x/N, a document's words as shares of all of them: (B, K), dense."""
    dense = counts.dense() if isinstance(counts, SparseCounts) else counts
    return dense / lengths(counts)[:, None]


def sparsity_gradient(p: Parameters, counts: Tensor, m: Tensor, *, target: float) -> Gradient:
    """−∂/∂(W, a) of Σ_j KL(target ‖ q_j), q_j the mean activity of topic j in the batch.

    Each document's share is divided by D like its other statistics.
    """
    topics = fast_topic_mean(p, counts, m)
    q = topics.mean(0).clamp(1e-6, 1 - 1e-6)
    # ∂KL/∂q = (q − target) / (q (1 − q)), and a document moves q by h (1 − h) / B.
    pull = -(q - target) / (q * (1 - q)) * topics * (1 - topics) / len(counts)  # (B, F)
    return Gradient(W=pull.T @ word_shares(counts), a=pull.sum(0), b=torch.zeros_like(p.b))
