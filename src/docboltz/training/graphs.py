"""CUDA graphs: what an update does is recorded once and replayed, without Python in between."""

from __future__ import annotations

import gc
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from docboltz import kernels


class Replay:
    """Calls functions of fixed shapes, by replay where the device can.

    A function must change tensors in place only, and draw random numbers from `generator` only.
    Functions with the same key must do the same. `possible` tells whether anything is replayed.
    """

    def __init__(self, generator: torch.Generator, tensors: dict[str, Tensor]) -> None:
        self._generator, self._tensors = generator, tensors
        self._graphs: dict[Hashable, torch.cuda.CUDAGraph] = {}
        self.possible = all(kernels.available(t) for t in tensors.values())
        self._memory = torch.cuda.graph_pool_handle() if self.possible else None

    def __call__(self, key: Hashable, function: Callable[[], None]) -> None:
        """Do what `function` does."""
        if not self.possible:
            function()
            return
        with torch.cuda.device(self._generator.device):
            if key not in self._graphs:
                self._graphs[key] = self._record(function)
            self._graphs[key].replay()

    def _record(self, function: Callable[[], None]) -> torch.cuda.CUDAGraph:
        before = {name: t.clone() for name, t in self._tensors.items()}
        state = self._generator.get_state()
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):  # compiles kernels and fills caches, for real
            function()
        torch.cuda.current_stream().wait_stream(stream)
        for name, t in self._tensors.items():  # as if nothing had happened
            t.copy_(before[name])
        graph = torch.cuda.CUDAGraph()
        if not torch.equal(self._generator.get_state(), state):  # else a replay need not tell it
            self._generator.set_state(state)
            graph.register_generator_state(self._generator)
        with _nothing_freed(), torch.cuda.graph(graph, pool=self._memory):
            function()
        return graph


@contextmanager
def _nothing_freed() -> Iterator[None]:
    """Let garbage wait: to free a graph, of a run that failed, spoils what is recorded now."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
