"""How many latent words M a document of N words gets (sections 3.4 and 5 of the paper).

Each policy is a function N ↦ M on tensors of lengths, or on NumPy's arrays of them. Latent words
are counted in whole words. Nothing here imports torch: a search has to know M and must not wait.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from docboltz.errors import is_number, is_whole, require

Lengths = TypeVar("Lengths", bound=Any)
"""A torch tensor or a NumPy array of floating-point numbers."""

MOST_LATENT_WORDS = 1_000_000
MOST_LATENT_WORDS_PER_WORD = 1000
"""More latent words than this for each word of a mean document is taken for a slip of the pen."""


class LatentWords(ABC):
    """A rule that gives every document its number of latent words."""

    @abstractmethod
    def __call__(self, n: Lengths) -> Lengths:
        """M for documents of n words: same shape and type as `n`."""


def _double(n: Any) -> Any:
    return n.double() if hasattr(n, "double") else n.astype("float64")


def _whole(m: Any, like: Any) -> Any:
    """Round to whole words, halves up, alike for float32 and float64 lengths."""
    rounded = (m + 0.5 + 1e-9) // 1
    rounded = rounded * (rounded > 0)
    return rounded.to(like.dtype) if hasattr(like, "double") else rounded.astype(like.dtype)


@dataclass(frozen=True)
class FixedLatentWords(LatentWords):
    """The same M for every document; 0 is the Replicated Softmax."""

    m: int

    def __post_init__(self) -> None:
        ok = is_whole(self.m) and 0 <= self.m <= MOST_LATENT_WORDS
        require(ok, "FixedLatentWords", "m", "a whole number from 0 to 1,000,000", self.m)
        object.__setattr__(self, "m", int(self.m))  # NumPy's numbers cannot be saved

    def __call__(self, n: Lengths) -> Lengths:
        """Give every document M = m."""
        return n * 0 + self.m  # type: ignore[no-any-return]


@dataclass(frozen=True)
class ProportionalLatentWords(LatentWords):
    """M = cN, rounded to whole words (halves up): every document is over-replicated alike."""

    c: float

    def __post_init__(self) -> None:
        ok = is_number(self.c) and 0 <= self.c <= 1000
        require(ok, "ProportionalLatentWords", "c", "a number from 0 to 1,000", self.c)
        object.__setattr__(self, "c", float(self.c))  # NumPy's numbers cannot be saved

    def __call__(self, n: Lengths) -> Lengths:
        """Give M = cN in whole words."""
        return _whole(self.c * _double(n), n)  # type: ignore[no-any-return]


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

    def __call__(self, n: Lengths) -> Lengths:
        """Give what is missing to N_max."""
        return _whole(self.n_max - _double(n), n)  # type: ignore[no-any-return]


def policy_to_dict(policy: LatentWords) -> dict[str, Any]:
    """Describe a policy by plain values.

    >>> policy_to_dict(FixedLatentWords(100))
    {'policy': 'FixedLatentWords', 'm': 100}
    """
    return {"policy": type(policy).__name__, **vars(policy)}


def policy_from_dict(description: Mapping[str, Any]) -> LatentWords:
    """Make the policy that `policy_to_dict` described.

    >>> policy_from_dict({"policy": "LatentWordsUpTo", "n_max": 300})
    LatentWordsUpTo(n_max=300)
    """
    settings = dict(description)
    kinds: dict[str, Callable[..., LatentWords]] = {
        kind.__name__: kind for kind in (FixedLatentWords, ProportionalLatentWords, LatentWordsUpTo)
    }
    return kinds[settings.pop("policy")](**settings)


def automatic_latent_words(mean_length: float) -> FixedLatentWords:
    """M = 5 · mean length, from 50 to 100: what "auto" stands for; the lab notes have the trials.

    >>> [automatic_latent_words(n).m for n in (5, 10, 16, 92, 3000)]
    [50, 50, 80, 100, 100]
    """
    return FixedLatentWords(round(min(max(5 * mean_length, 50), 100)))


def require_sensible(
    policy: LatentWords, owner: str, *, shortest: float, seen: float, latent: float
) -> None:
    """Refuse a policy that drowns the documents in latent words, or that reaches none of them.

    Documents have `seen` words on average and get `latent` latent words; the shortest is known.
    """
    reached = not isinstance(policy, LatentWordsUpTo) or latent > 0
    expected = f"at least as long as the shortest document, which has {shortest:g} words"
    require(reached, "LatentWordsUpTo", "n_max", expected, policy)
    most = MOST_LATENT_WORDS_PER_WORD * seen
    expected = f"at most {most:,.0f} for these documents of {seen:.1f} words on average"
    hint = "Near their length is a good start."
    require(latent <= most, owner, "latent_words", expected, round(latent), hint=hint)
