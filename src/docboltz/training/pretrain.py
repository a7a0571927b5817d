"""Pretraining by contrastive divergence (section 3.2): an RBM with bottom-up weights × (1 + M/N).

The M latent words are taken to follow the document's own words, so a document says to its topics
D/N times what its words say, D = N + M, and its N words are all that is reconstructed.

B documents, F topic units, K words. x̄ = v̂/N is a document's word distribution. Statistics of a
document are divided by D, so that each document counts once, as it does in the perplexity:
(1/D) ∂/∂W = h x̄ᵀ.
"""

from __future__ import annotations

import math
import sys
from collections import deque
from dataclasses import dataclass, replace
from itertools import islice

import torch
from torch import Tensor

from docboltz import kernels
from docboltz.errors import is_number, is_whole, require
from docboltz.model.conditionals import Counts, softmax, word_logits
from docboltz.model.counts import dense, times
from docboltz.model.parameters import Parameters
from docboltz.randomness import Random, uniform
from docboltz.sampling.chains import (
    draw_topics,
    topic_mean_of_input,
    topic_mean_of_shares,
    topic_thresholds,
)
from docboltz.sampling.words import plan_of, sample_word_shares
from docboltz.storage import ShortRepr
from docboltz.training.by_word import Words, spread, sums
from docboltz.training.documents import Batch, Documents
from docboltz.training.optimizers import Momentum
from docboltz.training.plans import Chunk
from docboltz.training.schedules import decayed_rate, gibbs_steps, updates_of

MOST_DECAY = 5.0
"""Of what is chosen: stronger decay costs accuracy."""


@dataclass(frozen=True, repr=False)
class Pretraining(ShortRepr):
    """How contrastive divergence is run. All schedules count updates: time grows with the
    vocabulary and the length of documents, not with their number. The lab notes say how the
    defaults were chosen."""

    updates: int = 2400
    """Minibatches to learn from; the corpus is gone through as often as it takes."""
    max_passes: int | None = None
    """Passes through the documents after which it ends at the latest, or None for as many as the
    updates make. The recipes have 350: of fewer than 878 documents, 2,400 minibatches of 128 are
    more, and no better."""
    batch_size: int = 128
    """Documents per update (all of them, where the corpus is smaller)."""
    learning_rate: float | None = None
    """ε0, the rate of the first update. None is 0.3 / (D Σ_k f_k²) for word frequencies f and the
    mean of D, at most 1.5: a step changes what a document says to its units by about
    D Σ_k f_k² times the rate, and may not throw them from one end to the other."""
    halve_after: float = 10_000
    """T in ε0 / (1 + t/T): the update at which the rate has fallen to half."""
    momentum: float = 0.9
    """Share of the last step that goes into the next."""
    weight_decay: float | None = None
    """Pull of W towards 0, per update, in units of the rate and of 1/K for K words (1/1,000 for
    fewer): the gradients it works against are as small as word frequencies. None is
    0.65 + 1,800/n for n documents, at most 5: what a prior weighs beside n documents falls as
    1/n. Without latent words it is half of that."""
    more_steps_every: int = 100
    """Updates after which the chains get one Gibbs step more (CD-1, CD-2, …). CD-1 makes poor
    features: it should end soon."""
    max_steps: int = 3
    """The most Gibbs steps."""
    averaged: float = 0.3
    """Share of the updates, the last ones, whose weights are averaged; 0 keeps the last weights."""
    sparsity: float | None = None
    """Weight of the sparsity penalty Σ_j KL(target ‖ mean activity of unit j); 0 is none. None is
    ((F − 128)/256)² for F > 128 units, at most 1, which large models need and small ones suffer
    from, and 0 without latent words."""
    sparsity_target: float = 0.1
    """Share of documents that should switch a unit on."""
    initial_scale: float = 0.01
    """Standard deviation of W before the first update."""

    def __post_init__(self) -> None:
        def check(name: str, expected: str, ok: bool, kind: type[int] | type[float]) -> None:
            require(ok, "Pretraining", name, expected, getattr(self, name))
            object.__setattr__(self, name, kind(getattr(self, name)))  # NumPy's cannot be saved

        for name in ("updates", "batch_size", "more_steps_every", "max_steps"):
            ok = is_whole(getattr(self, name)) and getattr(self, name) >= 1
            check(name, "a whole number of at least 1", ok, int)
        if self.max_passes is not None:
            ok = is_whole(self.max_passes) and self.max_passes >= 1
            check("max_passes", "a whole number of at least 1 or None", ok, int)
        if self.learning_rate is not None:
            ok = is_number(self.learning_rate) and self.learning_rate > 0
            check("learning_rate", "a number above 0 or None", ok, float)
        for name in ("halve_after", "initial_scale"):
            ok = is_number(getattr(self, name)) and getattr(self, name) > 0
            check(name, "a number above 0", ok, float)
        for name in ("weight_decay", "sparsity"):
            if getattr(self, name) is not None:
                ok = is_number(getattr(self, name)) and getattr(self, name) >= 0
                check(name, "a number of at least 0 or None", ok, float)
        ok = is_number(self.momentum) and 0 <= self.momentum < 1
        check("momentum", "a number from 0 up to, not including, 1", ok, float)
        ok = is_number(self.averaged) and 0 <= self.averaged <= 1
        check("averaged", "a number from 0 to 1", ok, float)
        ok = is_number(self.sparsity_target) and 0 < self.sparsity_target < 1
        check("sparsity_target", "a number between 0 and 1", ok, float)

    def completed(self, n_topics: int, documents: Documents) -> Pretraining:
        """Choose what None leaves open, for so many units and these documents, and make no more
        updates than there may be passes through them."""
        facts, updates = documents.facts, self.updates
        n, f, latent = facts.n, facts.frequency, facts.latent
        if self.max_passes is not None:
            updates = min(updates, updates_of(self.max_passes, n, self.batch_size))
        decay = min(0.65 + 1800 / n, MOST_DECAY)
        chosen = Pretraining(
            learning_rate=min(0.3 / (facts.mean_d * float(f @ f)), 1.5),
            weight_decay=decay if latent else decay / 2,
            sparsity=min((max(n_topics - 128, 0) / 256) ** 2, 1.0) if latent else 0.0,
        )
        return replace(self.filled_from(chosen), updates=updates)

    def filled_from(self, other: Pretraining) -> Pretraining:
        """Take from other settings what None leaves open in these."""
        names = ("learning_rate", "weight_decay", "sparsity")
        given = {n: getattr(other, n) for n in names if getattr(self, n) is None}
        return replace(self, **given)


class ContrastiveDivergence:
    """Pretraining as a phase of a run."""

    name = "Pretraining"

    def __init__(self, settings: Pretraining) -> None:
        self._follow(settings)
        self.refresh_every = sys.maxsize  # never
        self.draws_words = settings.max_steps > 1

    def _follow(self, settings: Pretraining) -> None:
        self.settings = settings
        self.updates, self.batch_size = settings.updates, settings.batch_size
        kept = settings.averaged > 0
        self.average_from = round((1 - settings.averaged) * self.updates) if kept else sys.maxsize

    def begin(self, p: Parameters, documents: Documents, generator: torch.Generator) -> Momentum:
        """Choose what the settings leave open; nothing else is needed but the parameters."""
        self._follow(self.settings.completed(p.n_topics, documents))
        self._p, self._documents, s = p, documents, self.settings
        decay = (s.weight_decay or 0) / max(p.n_words, 1000)
        return Momentum([p.W.T, p.b], [decay, 0], momentum=s.momentum)

    def rate(self, update: int) -> float:
        """ε0 / (1 + t/T)."""
        s = self.settings
        assert s.learning_rate is not None  # completed
        return decayed_rate(update, initial=s.learning_rate, after=s.halve_after)

    def variant(self, update: int) -> int:
        """Gibbs steps of the update: all that differs between the operations of two updates."""
        s = self.settings
        return gibbs_steps(update, every=s.more_steps_every, maximum=s.max_steps)

    def prepare(self, chunk: Chunk) -> None:
        """Draw the random numbers that units and words are drawn by, on a CPU."""
        batches, variants, random, scratch = chunk
        if not all(batch.d.device.type == "cpu" for batch in batches):
            return
        p, plans, draws = self._p, [batch.plan for batch in batches], list(variants)
        d = torch.stack([batch.d for batch in batches])  # (updates, B)
        shape = sum(draws), d.shape[1], p.n_topics
        units = scratch.numbers("units", math.prod(shape), d.dtype).view(shape)
        for numbers, own in zip(torch.split(units, draws), random, strict=True):
            own.fill_(numbers)
        d = d.repeat_interleave(torch.tensor(draws), 0)
        thresholds = iter(topic_thresholds(p, d, units).unbind())
        for batch, n in zip(batches, draws, strict=True):
            batch.thresholds.extend(islice(thresholds, n))
        words = [
            n * len(plan.owner) if plan is not None and n > 1 else 0
            for plan, n in zip(plans, draws, strict=True)
        ]
        places = torch.split(scratch.numbers("words", sum(words), torch.float64), words)
        for plan, n, numbers, own in zip(plans, draws, places, random, strict=True):
            if plan is not None and n > 1:
                plan.prepare(own.fill_(numbers).view(n, -1))

    def gradients(self, batch: Batch, variant: int, generator: Random) -> list[Tensor]:
        """Contrastive divergence and the pull towards sparsity, for Wᵀ and b."""
        s = self.settings
        data, model = contrast(self._p, batch, steps=variant, generator=generator)
        activity = None
        if s.sparsity and self._documents.together.size > 1:  # the pull is not linear in it
            activity = data.topics.mean(0)
            self._documents.average_(activity)
        weighted = weighted_topics(
            data.topics, s.sparsity or 0, target=s.sparsity_target, activity=activity
        )
        return contrast_gradients(data, model, weighted)

    def refresh(self, generator: torch.Generator) -> None:
        """Nothing is kept that could grow stale."""

    def correct(self) -> None:
        """Steps need no correction."""

    def tensors(self) -> dict[str, Tensor]:
        """Nothing lives on from update to update but the parameters."""
        return {}

    def watch(
        self, batch: Batch, learnt: Parameters, update: int, generator: torch.Generator
    ) -> dict[str, float]:
        """Mean activity of the topic units, on documents and after the Gibbs steps."""
        data, model = contrast(
            self._p, batch, steps=self.variant(max(update - 1, 0)), generator=generator
        )
        return {
            "data_activity": float(data.topics.mean()),
            "model_activity": float(model.topics.mean()),
        }


@dataclass(frozen=True)
class Side:
    """One side of the contrast: words as shares (B, K), and means of the topics (B, F)."""

    shares: Counts
    topics: Tensor
    by_word: Words | None = None
    """The shares word by word, where that was worked out beforehand: (K, B)."""


def contrast(p: Parameters, batch: Batch, *, steps: int, generator: Random) -> tuple[Side, Side]:
    """The documents with their topics, and both after so many Gibbs steps from there.

    One step reconstructs a document as its word probabilities; more steps sample words, or the
    chain would settle in an average of texts instead of a text. No document is empty.
    """
    plan, n, thresholds = batch.plan, batch.n, batch.thresholds
    by_kernels = kernels.available(n)
    if by_kernels:
        data_topics, topics = draw_topics(p, batch.shares, batch.d, generator=generator)
    else:
        if not thresholds:
            drawn = uniform((steps, len(n), p.n_topics), like=n, random=generator)
            thresholds = deque(topic_thresholds(p, batch.d, drawn).unbind())
        words_input = times(batch.shares, p.W.T)
        topics = thresholds.popleft().lt_(words_input)  # no booleans on the way
        data_topics = topic_mean_of_input(p, words_input, batch.d)
    if steps > 1 and not by_kernels and plan is None:  # the kernel rounds itself
        n = batch.whole
        plan = plan_of(n, p.n_words, p.W.dtype)
    for step in range(1, steps + 1):
        logits = word_logits(p, topics, batch.scratch)  # (B, K)
        if steps == 1:
            words: Counts = softmax(logits, batch.scratch)
        else:
            words = sample_word_shares(
                logits, n, generator=generator, plan=plan, scratch=batch.scratch
            )
        if step < steps and by_kernels:
            _, topics = draw_topics(p, words, batch.d, generator=generator)
        elif step < steps:
            topics = thresholds.popleft().lt_(times(words, p.W.T))
    model_topics = topic_mean_of_shares(p, words, batch.d)
    return Side(batch.shares, data_topics, batch.by_word), Side(words, model_topics)


def contrast_gradients(data: Side, model: Side, weighted: Tensor) -> list[Tensor]:
    """⟨h x̄ᵀ⟩ on the data less ⟨h x̄ᵀ⟩ on the model, averaged over B documents, and the same for b.

    Wᵀ's is (K, F), as Wᵀ lies in memory. `weighted` are the topics of the data divided by B, or
    what takes their place.
    """
    x, y, B = data.shares, model.shares, len(weighted)
    if kernels.available(weighted):
        x, y = dense(x), dense(y)
        W = (x.T @ weighted).addmm_(y.T, model.topics, alpha=-1 / B)
        return [W, kernels.mean_difference(x, y)]
    words, own = data.by_word or (None, sums(x))
    W = spread(x, weighted, words).sub_(spread(y, model.topics / B))
    return [W, (own - sums(y)).div_(B)]


def weighted_topics(
    topics: Tensor, sparsity: float, *, target: float, activity: Tensor | None = None
) -> Tensor:
    """(h + sparsity · pull) / B for the topics' means h of B documents: (B, F).

    The pull is −∂/∂input of B Σ_j KL(target ‖ q_j), q_j the mean activity of topic j in the batch:
    `activity` (F,), where the batch is a part of what several workers have.
    Multiplied with a document's words, divided by D like its other statistics, it is the
    gradient of W.
    """
    if kernels.available(topics) and activity is None:
        return kernels.weighted_topics(topics, sparsity, target)
    if not sparsity:
        return topics / len(topics)
    q = (topics.mean(0) if activity is None else activity).clamp(1e-6, 1 - 1e-6)
    # ∂KL/∂q = (q − target) / (q (1 − q)), and a document moves q by h (1 − h) / B.
    slope = -sparsity * (q - target) / (q * (1 - q))
    return topics * (1 + slope * (1 - topics)) / len(topics)
