"""Marks that need a reason to run, and the small models every exact test shares."""

from __future__ import annotations

import os
import signal
from pathlib import Path

# Two test processes on two cores, or one: sums are taken in the same order, and nobody waits.
os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch looks

import hypothesis
import pytest
import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # before the kernels look

from docboltz import kernels
from docboltz.model.latent_words import (
    FixedLatentWords,
    LatentWords,
    LatentWordsUpTo,
    ProportionalLatentWords,
)
from docboltz.model.parameters import Parameters

POLICIES = [
    FixedLatentWords(0),
    FixedLatentWords(3),
    ProportionalLatentWords(1.5),
    LatentWordsUpTo(9),
]

hypothesis.settings.register_profile("busy", deadline=None)  # other tests run meanwhile
hypothesis.settings.load_profile("busy")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell's background job ignores Ctrl-C, and so would every command the tests interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="also run tests that take minutes")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if "slow" in item.keywords and not config.getoption("--slow"):
            item.add_marker(pytest.mark.skip(reason="takes minutes; run with --slow"))
        if "gpu" in item.keywords and not torch.cuda.is_available():
            item.add_marker(pytest.mark.skip(reason="needs a CUDA device; this machine has none"))


@pytest.fixture(params=POLICIES, ids=str)
def policy(request: pytest.FixtureRequest) -> LatentWords:
    return request.param


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def kernel_device(monkeypatch: pytest.MonkeyPatch) -> str:
    """Where Triton's kernels run: on a GPU, or else on the CPU, interpreted line by line."""
    if torch.cuda.is_available():
        return "cuda"
    pytest.importorskip("triton")
    monkeypatch.setattr(kernels, "available", lambda tensor: True)
    return "cpu"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("DOCBOLTZ_CACHE", str(folder))
    return folder


def random_parameters(F: int, K: int, *, seed: int = 0, scale: float = 1.0) -> Parameters:
    """A float64 model with weights large enough that nothing factorises by accident."""
    g = torch.Generator().manual_seed(seed)
    W, a, b = (
        scale * torch.randn(*shape, generator=g, dtype=torch.float64)
        for shape in ((F, K), (F,), (K,))
    )
    return Parameters(W, a / 4, b)


def random_counts(B: int, K: int, *, seed: int = 0, most: int = 4) -> torch.Tensor:
    """Dense float64 counts; every document has at least one word."""
    g = torch.Generator().manual_seed(seed)
    counts = torch.randint(0, most, (B, K), generator=g).double()
    counts[:, 0] += counts.sum(1) == 0
    return counts
