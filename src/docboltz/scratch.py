"""Memory that is written over and over: to ask for it anew each time costs as much as the work."""

from __future__ import annotations

import torch
from torch import Tensor


class Scratch:
    """Tensors by name, for what is needed no longer when the same name is asked for again."""

    def __init__(self) -> None:
        self._held: dict[str, Tensor] = {}

    def __call__(
        self, name: str, shape: tuple[int, ...], like: Tensor, dtype: torch.dtype
    ) -> Tensor:
        """A tensor of this shape and type, where `like` is, with anything in it."""
        held = self._held.get(name)
        if held is None or (held.shape, held.dtype, held.device) != (shape, dtype, like.device):
            held = self._held[name] = torch.empty(shape, dtype=dtype, device=like.device)
        return held

    def numbers(self, name: str, size: int, dtype: torch.dtype) -> Tensor:
        """So many numbers on a CPU, with anything in them, in memory that grows as it must."""
        held = self._held.get(name)
        if held is None or len(held) < size or held.dtype != dtype:
            held = self._held[name] = torch.empty(size + size // 4, dtype=dtype)
        return held[:size]
