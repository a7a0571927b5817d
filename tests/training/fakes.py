"""Small documents as training sees them, and a phase that does as it is told."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import torch
from torch import Tensor

from docboltz.model.latent_words import FixedLatentWords, LatentWords
from docboltz.model.parameters import Parameters
from docboltz.progress import Update, progress_bar
from docboltz.randomness import Random
from docboltz.training.documents import Batch, Documents
from docboltz.training.plans import Chunk
from tests.conftest import random_parameters
from tests.model.test_conditionals import sparse

CPU = torch.device("cpu")


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def batch_of(counts: Tensor, m: Tensor) -> Batch:
    """Dense counts, with M of each document, as a sparse batch."""
    words = sparse(counts)
    return Batch(words.shares(), words.lengths, words.lengths + m)


def documents_of(counts: Tensor, latent_words: LatentWords | int = 0) -> Documents:
    if isinstance(latent_words, int):
        latent_words = FixedLatentWords(latent_words)
    return Documents.of(sparse(counts), latent_words, CPU)


def small_parameters(
    F: int, K: int, *, scale: float = 0.1, dtype: torch.dtype = torch.float64
) -> Parameters:
    """A random model with W laid out as training lays it out."""
    return random_parameters(F, K, scale=scale).to("cpu", dtype).copy()


class Plain:
    """An optimiser that steps by the gradient times the rate, and counts its steps."""

    def __init__(self, leaves: list[Tensor]) -> None:
        self._leaves, self._steps = leaves, torch.zeros(())

    def step(self, gradients: list[Tensor], rate: Tensor) -> None:
        self._steps += 1
        for leaf, gradient in zip(self._leaves, gradients, strict=True):
            leaf.add_(gradient * rate)

    def tensors(self) -> dict[str, Tensor]:
        return {"steps": self._steps}


class Drift:
    """All of W and b get the same gradient: what `slope` says for the update."""

    def __init__(
        self,
        updates: int = 10,
        *,
        slope: Callable[[int], float] = lambda update: 1.0,
        rate: Callable[[int], float] = lambda update: 1.0,
        average_from: int | None = None,
        batch_size: int = 2,
        name: str = "Drift",
    ) -> None:
        self.name, self.updates, self.batch_size = name, updates, batch_size
        self.average_from = updates if average_from is None else average_from
        self.rate, self._slope = rate, slope
        self.refresh_every, self.refreshed, self.draws_words = 3, [], False

    def begin(self, p: Parameters, documents: Documents, generator: torch.Generator) -> Plain:
        self._leaves = [p.W.T, p.b]
        return Plain(self._leaves)

    def variant(self, update: int) -> int:
        return update

    def prepare(self, chunk: Chunk) -> None:
        pass

    def gradients(self, batch: Batch, variant: int, generator: Random) -> list[Tensor]:
        slope = self._slope(variant)
        return [torch.full_like(leaf, slope) for leaf in self._leaves]

    def refresh(self, generator: torch.Generator) -> None:
        self.refreshed.append(int(torch.randint(2**31, (1,), generator=generator)))

    def correct(self) -> None:
        pass

    def tensors(self) -> dict[str, Tensor]:
        return {}

    def watch(
        self, batch: Batch, learnt: Parameters, update: int, generator: torch.Generator
    ) -> dict[str, float]:
        return {"documents": len(batch.n)}


def unseen(phase: str) -> AbstractContextManager[Update]:
    """Nobody watches the progress."""
    return progress_bar(phase, "updates", shown=False)
