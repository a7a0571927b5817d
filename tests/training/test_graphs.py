from __future__ import annotations

import gc

import pytest
import torch

from docboltz.training.graphs import Replay
from tests.training.fake_graphs import fake_cuda_graphs


@pytest.fixture
def graph_device(monkeypatch: pytest.MonkeyPatch) -> str:
    """Where functions are recorded and replayed."""
    if torch.cuda.is_available():
        return "cuda"
    fake_cuda_graphs(monkeypatch)
    return "cpu"


@pytest.fixture(params=["plain", "graphs"])
def device(request: pytest.FixtureRequest) -> str:
    """The CPU, where functions are just called, and a device with graphs."""
    return "cpu" if request.param == "plain" else request.getfixturevalue("graph_device")


def test_a_replayed_function_does_what_a_call_does(device: str) -> None:
    """Every call counts once, the first too; random numbers are those of plain calls; another key
    is another function."""
    g, plain = (torch.Generator(device).manual_seed(7) for _ in range(2))
    total, drawn = torch.zeros(3, device=device), torch.zeros(4, 3, device=device)
    place = torch.zeros(1, dtype=torch.long, device=device)
    replay = Replay(g, {"total": total, "drawn": drawn, "place": place})

    def add() -> None:
        total.add_(1)
        drawn.index_copy_(0, place, torch.rand(1, 3, generator=g, device=device))
        place.add_(1)

    for calls in range(1, 5):
        replay("add", add)
        assert total.tolist() == [calls] * 3
    expected = [torch.rand(1, 3, generator=plain, device=device) for _ in range(4)]
    assert torch.equal(drawn, torch.cat(expected))
    assert torch.equal(g.get_state(), plain.get_state())

    def double() -> None:
        total.mul_(2)

    replay("double", double)
    assert total.tolist() == [8] * 3


def test_a_function_is_called_twice_and_then_replayed(graph_device: str) -> None:
    """Once to warm up, once to record: Python has no part in what follows."""
    calls, total = [], torch.zeros(1, device=graph_device)
    replay = Replay(torch.Generator(graph_device), {"total": total})

    def add() -> None:
        calls.append(1)
        total.add_(1)

    for _ in range(10):
        replay("add", add)
    assert total.item() == 10
    assert len(calls) == 2


def test_garbage_is_not_collected_while_a_graph_is_recorded(graph_device: str) -> None:
    """Among it may be the graphs of a run that failed, and to free one spoils the recording."""
    total, calls, collected = torch.zeros(1, device=graph_device), [], []
    replay = Replay(torch.Generator(graph_device), {"total": total})

    def add() -> None:
        calls.append(1)
        before = len(collected)
        for _ in range(100):
            cycle: list[object] = []
            cycle.append(cycle)
        total.add_(1)
        assert len(calls) == 1 or len(collected) == before  # the second call is recorded

    def note(phase: str, info: dict[str, int]) -> None:
        collected.append(phase)

    thresholds = gc.get_threshold()
    gc.callbacks.append(note)
    gc.set_threshold(10)
    try:
        replay("add", add)
    finally:
        gc.callbacks.remove(note)
        gc.set_threshold(*thresholds)
    assert (len(calls), gc.isenabled()) == (2, True)
    assert collected  # it was in the first call
