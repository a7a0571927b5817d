"""Where random numbers come from: a generator, a seed on the device, or numbers drawn ahead."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor


class Seeds:
    """Random numbers for the kernels of one update: one seed, on the device, and a counter.

    Passed where a torch.Generator would be; plain torch operations draw from `generator`, and so
    does the seed where none is given.
    """

    def __init__(self, generator: torch.Generator, seed: Tensor | None = None) -> None:
        self.generator = generator
        if seed is None:
            low, high = -(2**63), 2**63 - 1
            seed = torch.randint(low, high, (1,), generator=generator, device=generator.device)
        self.seed, self._calls = seed, 0

    def call(self) -> int:
        """A number no other kernel of the update gets."""
        self._calls += 1
        return self._calls


class Uniforms(ABC):
    """Uniform numbers that do not come from torch. Passed where a torch.Generator would be."""

    @property
    @abstractmethod
    def generator(self) -> torch.Generator:
        """For all that is not uniform."""

    @abstractmethod
    def uniform(self, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        """Numbers from [0, 1), which nobody else gets: they may be overwritten."""


Random = torch.Generator | Seeds | Uniforms
"""Where random numbers come from."""


def seeds_of(random: Random) -> Seeds:
    """Seeds for a kernel."""
    return random if isinstance(random, Seeds) else Seeds(generator_of(random))


def generator_of(random: Random) -> torch.Generator:
    """The generator for an operation of torch."""
    return random if isinstance(random, torch.Generator) else random.generator


def uniform(shape: tuple[int, ...], *, like: Tensor, random: Random) -> Tensor:
    """Uniform numbers from [0, 1), of the type of `like` and where it is."""
    if isinstance(random, Uniforms):
        return random.uniform(shape, like.dtype)
    generator = generator_of(random)
    return torch.rand(shape, dtype=like.dtype, device=like.device, generator=generator)
