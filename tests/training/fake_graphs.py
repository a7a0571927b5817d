"""CUDA graphs on the CPU: operations of torch are written down, and done again on replay."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from docboltz import kernels


class FakeGraph(TorchDispatchMode):
    """Like the real one, it changes nothing while it records, and replays into the same memory."""

    def __init__(self) -> None:
        super().__init__()
        self._calls: list[tuple[Any, Any, Any, Any]] = []
        self._generators: list[torch.Generator] = []

    def register_generator_state(self, generator: torch.Generator) -> None:
        self._generators.append(generator)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out = args[0] if func._schema.is_mutable else func(*args, **kwargs)
        self._calls.append((func, args, kwargs, out))
        return out

    @contextmanager
    def recording(self) -> Iterator[None]:
        states = [generator.get_state() for generator in self._generators]
        with self:
            yield
        for generator, state in zip(self._generators, states, strict=True):
            generator.set_state(state)

    def replay(self) -> None:
        for func, args, kwargs, out in self._calls:
            found = func(*args, **kwargs)
            if isinstance(out, Tensor) and not func._schema.is_mutable:
                out.copy_(found)


def fake_cuda_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a Replay record and replay on the CPU."""
    monkeypatch.setattr(kernels, "available", lambda tensor: True)
    stream = SimpleNamespace(wait_stream=lambda other: None)
    fakes = {
        "graph_pool_handle": lambda: None,
        "device": lambda device: nullcontext(),
        "Stream": lambda: stream,
        "current_stream": lambda: stream,
        "stream": lambda stream: nullcontext(),
        "CUDAGraph": FakeGraph,
        "graph": lambda graph, pool: graph.recording(),
    }
    for name, fake in fakes.items():
        monkeypatch.setattr(torch.cuda, name, fake)
