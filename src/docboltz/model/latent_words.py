"""How many latent words M a document of N words gets (sections 3.4 and 5 of the paper).

Each policy is a function N ↦ M on tensors of lengths. Latent words are counted in whole words.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from torch import Tensor

from docboltz.errors import is_number, is_whole, require

MOST_LATENT_WORDS = 1_000_000
MOST_LATENT_WORDS_PER_WORD = 1000
"""More latent words than this for each word of a mean document is taken for a slip of the pen."""


class LatentWords(ABC):
    """A rule that gives every document its number of latent words."""

    @abstractmethod
    def __call__(self, n: Tensor) -> Tensor:
        """M for documents of n words: same shape and type as `n`."""


def _whole(m: Tensor, like: Tensor) -> Tensor:
    """Round to whole words, halves up, alike for float32 and float64 lengths."""
    return (m + 0.5 + 1e-9).floor().clamp_min(0).to(like.dtype)


@dataclass(frozen=True)
class FixedLatentWords(LatentWords):
    """The same M for every document; 0 is the Replicated Softmax."""

    m: int

    def __post_init__(self) -> None:
        ok = is_whole(self.m) and 0 <= self.m <= MOST_LATENT_WORDS
        require(ok, "FixedLatentWords", "m", "a whole number from 0 to 1,000,000", self.m)
        object.__setattr__(self, "m", int(self.m))  # NumPy's numbers cannot be saved

    def __call__(self, n: Tensor) -> Tensor:
        """Give every document M = m."""
        return n.new_full(n.shape, self.m)


@dataclass(frozen=True)
class ProportionalLatentWords(LatentWords):
    """M = cN, rounded to whole words (halves up): every document is over-replicated alike."""

    c: float

    def __post_init__(self) -> None:
        ok = is_number(self.c) and 0 <= self.c <= 1000
        require(ok, "ProportionalLatentWords", "c", "a number from 0 to 1,000", self.c)
        object.__setattr__(self, "c", float(self.c))  # NumPy's numbers cannot be saved

    def __call__(self, n: Tensor) -> Tensor:
        """Give M = cN in whole words."""
        return _whole(self.c * n.double(), n)


@dataclass(frozen=True)
class LatentWordsUpTo(LatentWords):
    """M = N_max − N: all documents share one D = N_max and so one partition function.

    A document longer than N_max gets no latent words.
    """

    n_max: int

    def __post_init__(self) -> None:
        ok = is_whole(self.n_max) and 1 <= self.n_max <= MOST_LATENT_WORDS
        require(ok, "LatentWordsUpTo", "n_max", "a whole number from 1 to 1,000,000", self.n_max)
        object.__setattr__(self, "n_max", int(self.n_max))  # NumPy's numbers cannot be saved

    def __call__(self, n: Tensor) -> Tensor:
        """Give what is missing to N_max."""
        return _whole(self.n_max - n.double(), n)


def automatic_latent_words(mean_length: float) -> FixedLatentWords:
    """M = 5 · mean length, from 50 to 100: what "auto" stands for; docs/training.md has the trials.

    >>> [automatic_latent_words(n).m for n in (5, 10, 16, 92, 3000)]
    [50, 50, 80, 100, 100]
    """
    return FixedLatentWords(round(min(max(5 * mean_length, 50), 100)))


def require_sensible(policy: LatentWords, n: Tensor, owner: str) -> None:
    """Refuse a policy that drowns the documents in latent words, or that reaches none of them."""
    latent, seen = policy(n), float(n.mean())
    reached = not isinstance(policy, LatentWordsUpTo) or bool(latent.any())
    expected = f"at least as long as the shortest document, which has {float(n.min()):g} words"
    require(reached, "LatentWordsUpTo", "n_max", expected, policy)
    require(
        float(latent.mean()) <= MOST_LATENT_WORDS_PER_WORD * seen,
        owner,
        "latent_words",
        f"at most {MOST_LATENT_WORDS_PER_WORD:,} latent words for each word of a document; these "
        f"have {seen:.1f} words on average and would get {float(latent.mean()):,.0f}. Near their "
        "length is a good start",
        policy,
    )
