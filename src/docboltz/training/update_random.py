"""Random numbers of an update, drawn before it begins."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from docboltz.randomness import Uniforms

OTHER = 0x5DEECE66D
"""What sets the seed of torch's generator apart from those of the run's, by its low 32 bits too."""


class UpdateRandom(Uniforms):
    """Random numbers of one update, a function of its seed; some may be drawn ahead.

    NumPy's generators are several times faster than torch's, and leave the interpreter to others.
    """

    def __init__(self, seed: int, device: torch.device) -> None:
        self._seed, self._device = seed, device
        self._numbers = np.random.Generator(np.random.SFC64(seed % 2**64))
        self._generator: torch.Generator | None = None
        self._ready: dict[tuple[int, ...], list[Tensor]] = {}

    @property
    def generator(self) -> torch.Generator:
        """For all that is not uniform."""
        if self._generator is None:
            self._generator = torch.Generator(self._device).manual_seed(self._seed ^ OTHER)
        return self._generator

    def ahead(self, times: int, shape: tuple[int, ...], dtype: torch.dtype) -> None:
        """Draw now what will be asked for so many times, of this shape."""
        self._ready[shape] = list(self._draw((times, *shape), dtype).unbind())

    def uniform(self, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        """Numbers from [0, 1), which nobody else gets: they may be overwritten."""
        ready = self._ready.get(shape)
        return ready.pop() if ready and ready[-1].dtype == dtype else self._draw(shape, dtype)

    def _draw(self, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        drawn = self._numbers.random(shape, np.float32 if dtype == torch.float32 else np.float64)
        return torch.from_numpy(drawn).to(self._device, dtype)
