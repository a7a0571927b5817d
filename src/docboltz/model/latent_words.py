"""How many latent words M a document of N words gets (sections 3.4 and 5 of the paper).

Each policy is a function N ↦ M on tensors of lengths. Latent words are counted in whole words.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from docboltz.errors import require


class LatentWords(ABC):
    """A rule that gives every document its number of latent words."""

    @abstractmethod
    def __call__(self, n: Tensor) -> Tensor:
        """M for documents of n words: same shape and type as `n`."""


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


@dataclass(frozen=True)
class FixedLatentWords(LatentWords):
    """The same M for every document; 0 is the Replicated Softmax."""

    m: int

    def __post_init__(self) -> None:
        ok = _is_whole(self.m) and 0 <= self.m <= 1_000_000
        require(ok, "FixedLatentWords", "m", "a whole number from 0 to 1,000,000", self.m)

    def __call__(self, n: Tensor) -> Tensor:
        """Give every document M = m."""
        return n.new_full(n.shape, self.m)


@dataclass(frozen=True)
class ProportionalLatentWords(LatentWords):
    """M = cN, rounded to whole words (halves up): every document is over-replicated alike."""

    c: float

    def __post_init__(self) -> None:
        ok = isinstance(self.c, (int, float)) and math.isfinite(self.c) and 0 <= self.c <= 1000
        require(ok, "ProportionalLatentWords", "c", "a number from 0 to 1,000", self.c)

    def __call__(self, n: Tensor) -> Tensor:
        """Give M = cN in whole words."""
        return (self.c * n + 0.5).floor().to(n.dtype)


@dataclass(frozen=True)
class LatentWordsUpTo(LatentWords):
    """M = N_max − N: all documents share one D = N_max and so one partition function.

    A document longer than N_max gets no latent words.
    """

    n_max: int

    def __post_init__(self) -> None:
        ok = _is_whole(self.n_max) and 1 <= self.n_max <= 1_000_000
        require(ok, "LatentWordsUpTo", "n_max", "a whole number from 1 to 1,000,000", self.n_max)

    def __call__(self, n: Tensor) -> Tensor:
        """Give what is missing to N_max."""
        return (self.n_max - n).clamp_min(0)


POLICIES: dict[str, Callable[..., LatentWords]] = {
    c.__name__: c for c in (FixedLatentWords, ProportionalLatentWords, LatentWordsUpTo)
}


def policy_to_dict(policy: LatentWords) -> dict[str, object]:
    """Describe a policy by plain values, as saved models hold it.

    >>> policy_to_dict(FixedLatentWords(100))
    {'policy': 'FixedLatentWords', 'm': 100}
    """
    return {"policy": type(policy).__name__, **vars(policy)}


def policy_from_dict(description: dict[str, object]) -> LatentWords:
    """Make the policy that `policy_to_dict` described.

    >>> policy_from_dict({"policy": "LatentWordsUpTo", "n_max": 300})
    LatentWordsUpTo(n_max=300)
    """
    settings = dict(description)
    name = settings.pop("policy")
    known = ", ".join(POLICIES)
    require(name in POLICIES, "a saved model", "policy", f"one of {known}", name)
    return POLICIES[str(name)](**settings)
