"""Matching halves: one half of a document's words is to find the other half, and to predict it.

Halves of a document are about the same things, whatever words they have. Each document of a
minibatch is cut in two at random, u and u' are the unit vectors of the halves' centred features,
and W climbs

    mean over documents of   log softmax_i'(u · u'_i' / temperature) at the own half, the mean of
                             both ways,
                           + prediction · Σ_k x̄'_k log softmax_k(b + Wᵀ h)

The first term is the contrastive loss of the literature (InfoNCE, van den Oord et al. 2018); the
second keeps W what it is in the model, the words' say in the units and the units' in the words.

B documents, K words, F topic units. x̄ are the words of a half as shares, h its features.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from docboltz.errors import is_number, is_whole, require
from docboltz.model.conditionals import Counts, softmax, word_logits
from docboltz.model.counts import SparseCounts, cut_counts, lengths, whole_counts
from docboltz.model.latent_words import LatentWords
from docboltz.model.parameters import Parameters
from docboltz.randomness import Random, generator_of
from docboltz.sampling.chains import topic_mean_of_shares
from docboltz.storage import ShortRepr
from docboltz.training.by_word import spread
from docboltz.training.documents import Batch, Documents
from docboltz.training.optimizers import Adam
from docboltz.training.plans import Chunk
from docboltz.training.schedules import decayed_rate, updates_of


@dataclass(frozen=True, repr=False)
class Matching(ShortRepr):
    """How halves of documents are matched, after the other phases. For features, not for
    likelihoods: the density that a model had is lost."""

    updates: int = 1200
    """Minibatches to learn from."""
    max_passes: int | None = 80
    """Passes through the documents after which it ends at the latest, or None for as many as the
    updates make. Small collections are learnt by heart."""
    batch_size: int = 512
    """Documents per update (all of them, where the corpus is smaller): among their halves each has
    to find its own. Of several workers, each looks among those of its own part."""
    learning_rate: float = 1e-3
    """Adam's step in the first update."""
    halve_after: float = 2000
    """The update at which the rate has fallen to half."""
    temperature: float = 1.0
    """Of the softmax over halves. The lower it is, the more the nearest of the others are pushed
    away, and they may well be about the same."""
    prediction: float = 0.1
    """Weight of predicting the words of the other half."""
    averaged: float = 0.3
    """Share of the updates, the last ones, whose weights are averaged; 0 keeps the last weights."""

    def __post_init__(self) -> None:
        for name in ("updates", "batch_size", "max_passes"):
            value = getattr(self, name)
            if value is None and name == "max_passes":
                continue
            least = 2 if name == "batch_size" else 1
            ok = is_whole(value) and value >= least
            require(ok, "Matching", name, f"a whole number of at least {least}", value)
            object.__setattr__(self, name, int(value))  # NumPy's cannot be saved
        for name in ("learning_rate", "halve_after", "temperature", "prediction"):
            value, may_be_0 = getattr(self, name), name == "prediction"
            ok = is_number(value) and (value > 0 or (may_be_0 and value == 0))
            expected = "a number of at least 0" if may_be_0 else "a number above 0"
            require(ok, "Matching", name, expected, value)
            object.__setattr__(self, name, float(value))
        ok = is_number(self.averaged) and 0 <= self.averaged <= 1
        require(ok, "Matching", "averaged", "a number from 0 to 1", self.averaged)
        object.__setattr__(self, "averaged", float(self.averaged))

    def for_documents(self, n: int) -> Matching:
        """The same with no more updates than there may be passes through n documents."""
        if self.max_passes is None:
            return self
        most = updates_of(self.max_passes, n, self.batch_size)
        return replace(self, updates=min(self.updates, most))


class HalvesMatching:
    """Matching as a phase of a run."""

    name = "Matching"

    def __init__(self, settings: Matching, latent_words: LatentWords, n_documents: int) -> None:
        self.settings = settings = settings.for_documents(n_documents)
        self._latent_words = latent_words
        self.updates, self.batch_size = settings.updates, settings.batch_size
        kept = settings.averaged > 0
        self.average_from = round((1 - settings.averaged) * self.updates) if kept else sys.maxsize
        self.refresh_every, self.draws_words = sys.maxsize, False

    def begin(self, p: Parameters, documents: Documents, generator: torch.Generator) -> Adam:
        """Nothing is needed but the parameters."""
        self._p = p
        self._seen = {"data_activity": p.b.new_zeros(()), "matched": p.b.new_zeros(())}
        return Adam([p.W.T, p.b], [1.0, 1.0], momentum=0.9)

    def rate(self, update: int) -> float:
        """Adam's step, falling like the rates of other phases."""
        s = self.settings
        return decayed_rate(update, initial=s.learning_rate, after=s.halve_after)

    def variant(self, update: int) -> int:
        """All updates are made of the same operations."""
        return 0

    def prepare(self, chunk: Chunk) -> None:
        """Nothing is worth it."""

    def gradients(self, batch: Batch, variant: int, generator: Random) -> list[Tensor]:
        """Cut the documents in two, and climb for Wᵀ and b."""
        pair = cut(batch, self._latent_words, generator=generator)
        s = self.settings
        W, b, seen = matching_gradient(
            self._p, pair, temperature=s.temperature, prediction=s.prediction
        )
        for name, value in seen.items():
            self._seen[name].copy_(value)
        return [W, b]

    def refresh(self, generator: torch.Generator) -> None:
        """Nothing is kept that could grow stale."""

    def correct(self) -> None:
        """Steps need no correction."""

    def tensors(self) -> dict[str, Tensor]:
        """What was seen of the last minibatch."""
        return dict(self._seen)

    def watch(
        self, batch: Batch, learnt: Parameters, update: int, generator: torch.Generator
    ) -> dict[str, float]:
        """Mean activity of the units, and how many halves of the last minibatch were matched."""
        return {name: float(value) for name, value in self._seen.items()}


class Half(NamedTuple):
    """One half of each of B documents."""

    shares: Counts
    """x̄, its words as shares; zeros where it has none: (B, K)."""
    d: Tensor
    """Its words and its latent words: (B,)."""


class Pair(NamedTuple):
    """Both halves, and the weight of each document: none where a half is empty."""

    one: Half
    other: Half
    weight: Tensor
    """Sums to 1 over the documents, or to 0 where none has two words: (B,)."""


def cut(batch: Batch, latent_words: LatentWords, *, generator: Random) -> Pair:
    """Give each occurrence of a word to one of two halves by a fair coin."""
    counts = whole(batch)
    parts = cut_counts(_values(counts), generator=generator_of(generator))
    one, other = (_with_values(counts, part) for part in parts)
    both = ((lengths(one) > 0) & (lengths(other) > 0)).to(batch.n.dtype)
    return Pair(
        _half(one, latent_words), _half(other, latent_words), both / both.sum().clamp_min(1)
    )


def _half(counts: Counts, latent_words: LatentWords) -> Half:
    n = lengths(counts).clamp_min(1)
    each = n[:, None] if isinstance(counts, Tensor) else n[counts.owners]
    return Half(_with_values(counts, _values(counts) / each), n + latent_words(n))


def whole(batch: Batch) -> Counts:
    """Counts in whole numbers; a word that occurs occurs once at least."""
    x = batch.shares
    n = batch.n[:, None] if isinstance(x, Tensor) else batch.n[x.owners]
    return _with_values(x, whole_counts(_values(x) * n))


def _values(counts: Counts) -> Tensor:
    return counts if isinstance(counts, Tensor) else counts.counts


def _with_values(counts: Counts, values: Tensor) -> Counts:
    if isinstance(counts, Tensor):
        return values
    return SparseCounts(counts.starts, counts.words, values, counts.n_words, counts.owner)


def matching_gradient(
    p: Parameters, pair: Pair, *, temperature: float, prediction: float
) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
    """The gradient of the objective for Wᵀ (K, F) and b (K,), and what there is to see.

    The mean of the features, which they are centred by, is taken for a constant.
    """
    one, other, weight = pair
    h, h_ = (topic_mean_of_shares(p, half.shares, half.d) for half in (one, other))  # (B, F)
    mean = weight @ (h + h_) / 2
    (u, norm), (u_, norm_) = _unit(h - mean), _unit(h_ - mean)
    absent = (weight == 0).to(h.dtype) * -1e30  # nobody's half
    cosines = u @ u_.T / temperature  # (B, B)
    own = torch.eye(len(h), dtype=h.dtype, device=h.device)
    there = torch.softmax(cosines + absent, 1)
    back = torch.softmax(cosines.T + absent, 1)
    # ∂/∂cosine of both directions: the own half, less what the softmax gives to each.
    pull = (weight[:, None] * (own - there) + (weight[:, None] * (own - back)).T) / 2
    pull = pull / temperature
    to_h = _through_unit(pull @ u_, u, norm)
    to_h_ = _through_unit(pull.T @ u, u_, norm_)
    if prediction:
        expected = softmax(word_logits(p, h))  # (B, K)
        surprise = less(other.shares, expected).mul_(prediction * weight[:, None])
        to_h = to_h + surprise @ p.W.T  # (B, F)
    # Down to the words: h = σ(D (x̄ Wᵀ + a)), where a is not learnt.
    W = spread(one.shares, one.d[:, None] * h * (1 - h) * to_h)  # (K, F)
    W += spread(other.shares, other.d[:, None] * h_ * (1 - h_) * to_h_)
    b = torch.zeros_like(p.b)
    if prediction:
        W.addmm_(surprise.T, h)
        b = surprise.sum(0)
    matched = weight @ (there.argmax(1) == torch.arange(len(h), device=h.device)).to(h.dtype)
    return W, b, {"data_activity": (h.mean() + h_.mean()) / 2, "matched": matched}


def less(shares: Counts, dense: Tensor) -> Tensor:
    """x̄ less what is dense already, which may be overwritten: (B, K)."""
    if isinstance(shares, Tensor):
        return shares - dense
    place = shares.flat
    return dense.neg_().view(-1).index_add_(0, place, shares.counts).view(dense.shape)


def _unit(vectors: Tensor) -> tuple[Tensor, Tensor]:
    """Unit vectors and the lengths they had: (B, F), (B, 1)."""
    norm = vectors.norm(dim=1, keepdim=True).clamp_min(1e-6)
    return vectors / norm, norm


def _through_unit(gradient: Tensor, unit: Tensor, norm: Tensor) -> Tensor:
    """The gradient of a vector, given that of its unit vector: what lies along it does nothing."""
    return (gradient - unit * (unit * gradient).sum(1, keepdim=True)) / norm
