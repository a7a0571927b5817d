"""The harness itself: what takes all memory is a fault, and how a child ended is said."""

from __future__ import annotations

import sys

import pytest

from tests.fuzz import __main__ as harness
from tests.fuzz import runs


@pytest.mark.skipif(sys.platform != "linux", reason="others do not say how much a process had")
def test_an_input_that_takes_too_much_memory_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    @runs.one_input()
    def take(megabytes: int) -> None:
        bytearray(megabytes << 20)[:: 1 << 12] = b"x" * (megabytes << 8)

    before = runs.executions
    monkeypatch.setattr(runs, "MOST_MEMORY", 128 << 20)
    take(16)
    with pytest.raises(AssertionError, match=r"this input took 0\.\d GB of memory"):
        take(256)
    take(16)  # and no fault of those after it
    assert runs.executions == before + 3


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (3, "ended with code 3"),
        (-9, "was killed by SIGKILL, perhaps for its memory"),
        (-6, "was killed by SIGABRT"),
    ],
)
def test_a_child_that_is_killed_says_how(code: int, said: str) -> None:
    assert harness.ending(code) == said


def test_the_stack_of_a_child_that_is_killed_is_shown() -> None:
    said = "Fatal Python error" + "x" * 20_000 + "extension modules"
    shown = harness.ends(said)
    assert shown.startswith("Fatal Python error")
    assert shown.endswith("extension modules")
    assert len(shown) < 11_000
    assert harness.ends("short") == "short"


def test_coverage_that_is_not_installed_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert harness.main(0.0, coverage=True) == 2
    assert "pip install coverage" in capsys.readouterr().out
