"""Random numbers of an update, which may be drawn before it begins."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from docboltz.randomness import Uniforms

OTHER = 0x5DEECE66D
"""What sets the seed of torch's generator apart from those of the run's, by its low 32 bits too."""


class UpdateRandom(Uniforms):
    """Random numbers of one update, a function of its seed.

    NumPy's generators are several times faster than torch's, and leave the interpreter to others.
    """

    def __init__(self, seed: int, device: torch.device) -> None:
        self._seed, self._device = seed, device
        self._generator: torch.Generator | None = None

    @cached_property
    def _numbers(self) -> np.random.Generator:
        return np.random.Generator(np.random.SFC64(self._seed % 2**64))

    @property
    def generator(self) -> torch.Generator:
        """For all that is not uniform."""
        if self._generator is None:
            self._generator = torch.Generator(self._device).manual_seed(self._seed ^ OTHER)
        return self._generator

    def uniform(self, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        """Numbers from [0, 1), which nobody else gets: they may be overwritten."""
        drawn = self._numbers.random(shape, np.float32 if dtype == torch.float32 else np.float64)
        return torch.from_numpy(drawn).to(self._device, dtype)

    def fill_(self, tensor: Tensor) -> Tensor:
        """Put such numbers into a tensor on a CPU, without a gap between its entries."""
        numbers = tensor.numpy()
        self._numbers.random(out=numbers, dtype=numbers.dtype)
        return tensor
