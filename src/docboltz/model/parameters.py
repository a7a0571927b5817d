"""W, a and b: all there is to know of a trained model, but for its rule for latent words."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Parameters:
    """Weights and biases shared by observed and latent words. F topic units, K words.

    `a` is redundant: (W_jk, a_j) and (W_jk + a_j, 0) are the same model, because a document's
    counts add up to its length and a softmax ignores what all words share. It is kept because the
    paper has it, and left at 0 by training because its gradient, which carries a factor N + M,
    makes training diverge.
    """

    W: Tensor
    """Topic-word weights (F, K). Best laid out word by word in memory (`W.T` contiguous): a sparse
    document gathers whole rows of `W.T`, which is copied where it is laid out otherwise."""
    a: Tensor
    """Topic biases (F,)."""
    b: Tensor
    """Word biases (K,)."""

    def __post_init__(self) -> None:
        F, K = self.W.shape
        if self.a.shape != (F,) or self.b.shape != (K,):
            raise ValueError(
                f"W {tuple(self.W.shape)} needs a of shape ({F},) and b of shape ({K},); "
                f"got {tuple(self.a.shape)} and {tuple(self.b.shape)}."
            )

    @property
    def n_topics(self) -> int:
        """F, the number of topic units."""
        return self.W.shape[0]

    @property
    def n_words(self) -> int:
        """K, the size of the vocabulary."""
        return self.W.shape[1]

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> Parameters:
        """Return the same parameters on another device or in another floating type."""
        return Parameters(*(t.to(device, dtype or t.dtype) for t in (self.W, self.a, self.b)))

    def copy(self) -> Parameters:
        """Return the same parameters in memory of their own, W word by word."""
        word_by_word = self.W.T.clone(memory_format=torch.contiguous_format)
        return Parameters(word_by_word.T, self.a.clone(), self.b.clone())

    @classmethod
    def initial(
        cls, n_topics: int, word_frequency: Tensor, *, scale: float, generator: torch.Generator
    ) -> Parameters:
        """W ~ N(0, scale²), a = 0, b = log word frequencies: at W = 0 the model is the unigram."""
        K = len(word_frequency)
        W = scale * torch.randn(
            K, n_topics, generator=generator, device=generator.device, dtype=word_frequency.dtype
        )
        b = torch.log(word_frequency / word_frequency.sum()).to(W.device)
        return cls(W.T, torch.zeros_like(W[0]), b)


@dataclass(frozen=True)
class Gradient:
    """The direction in which W, a and b climb."""

    W: Tensor
    a: Tensor
    b: Tensor
