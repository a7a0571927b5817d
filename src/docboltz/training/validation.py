"""Documents kept from training, and what they tell about it.

Halves of a document are about the same things: a model whose features are good for retrieval finds
one by the other among the halves of other documents, and needs no label for it.

B documents, K words, F topic units.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn.functional import normalize

from docboltz.errors import InvalidParameter, is_number, is_whole, require
from docboltz.model.conditionals import fast_topic_mean, free_energy, topic_input, word_logits
from docboltz.model.counts import SparseCounts, cut_counts, joined, times, whole_counts
from docboltz.model.latent_words import LatentWords
from docboltz.model.parameters import Parameters
from docboltz.sampling.along_length import log_zeta_along_length
from docboltz.sampling.pool import ChainPool
from docboltz.sampling.posterior import sum_over_topics
from docboltz.storage import ShortRepr
from docboltz.training.together import ALONE, Alone

BLOCK_ENTRIES = 2**22
"""Logits held at once."""
MOST_DOCUMENTS = 2000
"""Documents that are held out at most: more would cost time and hardly change a mean."""
WATCHED_OF = 50
"""At most one document of so many is held out to follow the log-likelihood."""
FEWEST_WATCHED = 10
"""The mean of fewer documents says little."""
REPLICAS, PARTICLES = 2, 8
"""For the sum over topics of each watched document."""
ALIKE = 1.5
"""Parts of the sweeps that follow each other are alike: repeated estimates for a model of 128 units
spread so many times as far as those of independent parts would."""
NEAREST = 10
"""A half is found if it is among so many nearest, or a twentieth of them where they are few."""


@dataclass(frozen=True, repr=False)
class Validation(ShortRepr):
    """How documents that are held out choose the strength of weight decay and the lengths of
    fine-tuning and matching. The model then learns from all documents.

    For each strength a model is trained without the held-out documents. They are cut into halves at
    random, and every 100 updates counted is how many halves find the other half of their document.
    Of the models that find nearly as many as the best, the one held back most is chosen, and of
    those the one tuned longest: they are better where many documents are to be ranked, and that
    costs the best ranks little. Matching is left out where nine in ten halves are found before it.
    """

    share: float = 0.2
    """Share of the documents that is held out, chosen at random; 2,000 of them at most."""
    strengths: tuple[float, ...] = (1.0, 1.6, 2.5)
    """What the weight decay is multiplied by, weakest first. Stronger ones are tried until one
    finds too few halves."""
    tolerance: float = 0.08
    """How many of the halves that the best model finds may be lost, as a share of them."""
    by: Literal["halves", "perplexity"] = "halves"
    """What is to be good: features, by the halves they find, or the density, by how well one half
    of a document predicts the other. By perplexity the best look is chosen, and no other."""
    fewest: int = 100
    """With fewer documents of two words and more nothing is held out, which would be too few to
    choose by, and nothing is matched."""

    def __post_init__(self) -> None:
        ok = is_number(self.share) and 0 < self.share <= 0.9
        require(ok, "Validation", "share", "a number above 0 and at most 0.9", self.share)
        given: Any = self.strengths
        ok = isinstance(given, tuple | list) and len(given) > 0
        ok = ok and all(is_number(x) and x > 0 for x in given) and list(given) == sorted(given)
        expected = "numbers above 0, the smallest first"
        require(ok, "Validation", "strengths", expected, self.strengths)
        ok = is_number(self.tolerance) and 0 <= self.tolerance < 1
        require(
            ok, "Validation", "tolerance", "a number from 0 up to, not including, 1", self.tolerance
        )
        require(
            self.by in ("halves", "perplexity"),
            "Validation",
            "by",
            "'halves' or 'perplexity'",
            self.by,
        )
        ok = is_whole(self.fewest) and self.fewest >= 2
        require(ok, "Validation", "fewest", "a whole number of at least 2", self.fewest)
        object.__setattr__(self, "fewest", int(self.fewest))
        object.__setattr__(self, "share", float(self.share))  # NumPy's cannot be saved
        object.__setattr__(self, "strengths", tuple(map(float, given)))
        object.__setattr__(self, "tolerance", float(self.tolerance))

    def applies_to(self, counts: SparseCounts, together: Alone = ALONE) -> bool:
        """Tell whether there are documents enough, in all workers."""
        return int(together.total((counts.lengths >= 2).sum())) >= self.fewest


def hold_out(
    n_documents: int,
    share: float,
    *,
    generator: torch.Generator,
    together: Alone = ALONE,
) -> tuple[Tensor, Tensor]:
    """Split documents at random: numbers of those to learn from, and of a share to look at.

    Several workers hold out so many in all, and each keeps one to learn from.
    """
    sizes = together.gather(n_documents)
    n = sum(sizes)
    held = min(max(1, round(share * n)), MOST_DOCUMENTS)
    if n < 2 or held >= n:
        raise InvalidParameter(
            f"Holding out {share:g} of {n} documents leaves none to learn from.",
            hint="Train without {validation}, or on more documents.",
            settings=("validation",),
        )
    held = min(together.part_of(held, sizes), n_documents - 1)
    order = torch.randperm(n_documents, generator=generator)
    return order[held:], order[:held]


def number_watched(n_documents: int, wanted: int) -> int:
    """How many of so many documents are held out to follow their log-likelihood.

    >>> number_watched(11_293, 200), number_watched(700, 200), number_watched(499, 200)
    (200, 14, 0)
    """
    number = min(wanted, n_documents // WATCHED_OF)
    return number if number >= FEWEST_WATCHED else 0


class HeldOut:
    """Measures of a model on documents it has not learnt from; worker 0 measures for all."""

    def __init__(
        self,
        held: SparseCounts,
        learnt: SparseCounts,
        latent_words: LatentWords,
        device: torch.device,
        *,
        generator: torch.Generator,
        together: Alone = ALONE,
    ) -> None:
        self._latent_words, self._together = latent_words, together
        size = min(len(held), len(learnt))
        held, learnt = (joined(together.gather(part.slice(0, size))) for part in (held, learnt))
        generator.set_state(together.from_first(generator.get_state()))  # the same halves for all
        size = len(held)
        self._held, self._learnt = held.to(device), learnt.to(device)
        seen, hidden = halves(held, generator=generator)
        if not len(seen):
            raise InvalidParameter(
                f"None of the {size} held-out documents has two words, so none can say how well it "
                "is predicted.",
                hint="Train without {validation}.",
                settings=("validation",),
            )
        self._seen, self._hidden = seen.to(device), hidden.to(device)

    def measure(self, p: Parameters) -> dict[str, float]:
        """What half of each document's words says about the other half, and how free energies lie.

        `validation_perplexity` is exp of the mean of −log p(word | the document's other half), each
        document counting once. The free-energy gap is that of held-out documents above training
        documents, in nats a word: it grows when a model learns its training documents by heart.
        """
        return self._together.by_first(lambda: self._measured(p))

    def _measured(self, p: Parameters) -> dict[str, float]:
        gap = self._free_energy(p, self._held) - self._free_energy(p, self._learnt)
        return {
            "halves_found": self.halves_found(p),
            "validation_perplexity": self._perplexity(p),
            "free_energy_gap": gap,
        }

    def halves_found(self, p: Parameters) -> float:
        """Share of halves that find the other half of their document, by the cosine of centred
        features, among the nearest.

        Equals share their ranks: a model that cannot tell halves apart finds them by chance.
        """
        mean = self._features(p, self._learnt).mean(0)
        one, other = (normalize(self._features(p, x) - mean) for x in (self._seen, self._hidden))
        cosines = one @ other.T  # (B, B), at most MOST_DOCUMENTS squared
        own = cosines.diagonal()[:, None]
        rank = (cosines > own).sum(1) + ((cosines == own).sum(1) + 1) / 2
        return float((rank <= max(1, min(NEAREST, len(one) // 20))).double().mean())

    def _features(self, p: Parameters, counts: SparseCounts) -> Tensor:
        return fast_topic_mean(p, counts, self._latent_words(counts.lengths))

    def _perplexity(self, p: Parameters) -> float:
        total = 0.0
        for seen, hidden in _blocks(self._seen, self._hidden, p.n_words):
            log_words = torch.log_softmax(word_logits(p, self._features(p, seen)), 1)  # (B, K)
            row = torch.repeat_interleave(
                torch.arange(len(hidden), device=hidden.starts.device), hidden.starts.diff()
            )
            shares = hidden.shares().counts.double()
            total -= float((shares * log_words[row, hidden.words].double()).sum())
        # A bad model may be beyond what a float holds.
        return math.exp(min(total / len(self._seen), 700.0))

    def _free_energy(self, p: Parameters, counts: SparseCounts) -> float:
        """Mean of F(x)/D, where the D words x are the document's own, latent words like them."""
        n = counts.lengths
        d = n + self._latent_words(n)
        shares = counts.shares()
        each = torch.repeat_interleave(d, counts.starts.diff())
        x = SparseCounts(counts.starts, counts.words, shares.counts * each, counts.n_words)
        return float((free_energy(p, x).double() / d).mean())


class WatchedDocuments:
    """Held-out documents whose log-likelihood is followed while a model is trained for it."""

    def __init__(
        self, counts: SparseCounts, latent_words: LatentWords, device: torch.device
    ) -> None:
        self._counts = counts.to(device)
        self._n = self._counts.lengths.double()
        self._m = latent_words(self._counts.lengths)

    def measure(
        self, p: Parameters, pool: ChainPool, *, generator: torch.Generator
    ) -> dict[str, float]:
        """The mean of log p(v)/N over the documents, and a rough standard error of the estimate.

        The error does not include the choice of documents, which is the same all the way.
        """
        log_zeta = log_zeta_along_length(p, pool, self._n + self._m, generator=generator)
        numerator, error = self._numerator(p, generator)
        parts = ((numerator - log_zeta) / self._n).mean(1)  # as many as log ζ has
        of_zeta = ALIKE * float(parts.std()) / math.sqrt(len(parts))
        of_numerator = float((error / self._n).norm()) / len(self._n)
        return {
            "held_out_log_likelihood": float(parts.mean()),
            "held_out_error": math.hypot(of_zeta, of_numerator),
            "held_out_documents": len(self._n),
        }

    def _numerator(self, p: Parameters, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """log Σ_h exp(v̂·b + h·θ + M g(h)) of each document and its standard error: (B,) each."""
        if not bool(self._m.any()):
            in_double = p.to(p.W.device, torch.float64)
            value = -free_energy(in_double, self._counts.to(p.W.device, torch.float64))
            return value, torch.zeros_like(value)
        theta = topic_input(p, self._counts)  # (B, F)
        seen = times(self._counts, p.b[:, None])[:, 0].double()
        size = max(1, BLOCK_ENTRIES // (REPLICAS * PARTICLES * p.n_words))
        effort = {"replicas": REPLICAS, "particles": PARTICLES, "sweeps": 1}
        sums = [
            sum_over_topics(p, some, m, generator=generator, **effort)
            for some, m in zip(torch.split(theta, size), torch.split(self._m, size), strict=True)
        ]
        return seen + torch.cat([s.value for s in sums]), torch.cat([s.error for s in sums])


def halves(
    counts: SparseCounts, *, generator: torch.Generator
) -> tuple[SparseCounts, SparseCounts]:
    """Give each occurrence of a word to one of two halves by a fair coin.

    Documents of which one half would be empty are left out.
    """
    parts = [
        SparseCounts(counts.starts, counts.words, part, counts.n_words)
        for part in cut_counts(whole_counts(counts.counts), generator=generator)
    ]
    both = torch.nonzero((parts[0].lengths > 0) & (parts[1].lengths > 0))[:, 0]
    return parts[0].rows(both), parts[1].rows(both)


def _blocks(
    a: SparseCounts, b: SparseCounts, n_words: int
) -> Iterator[tuple[SparseCounts, SparseCounts]]:
    size = max(1, BLOCK_ENTRIES // n_words)
    for begin in range(0, len(a), size):
        end = min(begin + size, len(a))
        yield a.slice(begin, end), b.slice(begin, end)
