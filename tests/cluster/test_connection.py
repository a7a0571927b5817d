"""Joining a cluster, and errors that come from one."""

from __future__ import annotations

import os
import socket
import sys

import pytest

from docboltz.cluster.connection import INSTALL, joined, own_errors
from docboltz.cluster.training import processors_per_worker
from docboltz.errors import DocboltzError, InvalidCorpus, InvalidParameter


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(DocboltzError, match="ray is missing") as caught, joined("local", "x"):
        pass
    assert caught.value.hint == INSTALL


@pytest.mark.parametrize("address", ["", 3, True])
def test_an_address_is_a_name(address: object) -> None:
    with (
        pytest.raises(InvalidParameter, match="'ray' parameter of fit"),
        joined(address, "fit"),  # type: ignore[arg-type]
    ):
        pass


def test_nobody_waits_for_a_cluster_that_is_not_there() -> None:
    pytest.importorskip("ray.train.torch", reason="needs docboltz[ray]")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # and nobody listens
        address = f"127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(InvalidParameter, match="no Ray cluster"), joined(address, "fit"):
            pass


@pytest.mark.parametrize("level", [None, "info"])
def test_ray_says_nothing_at_its_start_unless_it_was_asked_to(
    level: str | None, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    ray = pytest.importorskip("ray", reason="needs docboltz[ray]")
    pytest.importorskip("ray.train.torch", reason="needs docboltz[ray]")

    def init(**_: object) -> None:
        os.write(2, f"logging.cc: {os.environ['RAY_BACKEND_LOG_LEVEL']}\n".encode())

    fakes = {"init": init, "shutdown": lambda: None, "is_initialized": lambda: False}
    for name, fake in fakes.items():
        monkeypatch.setattr(ray, name, fake)
    monkeypatch.delenv("RAY_BACKEND_LOG_LEVEL", raising=False)
    if level is not None:
        monkeypatch.setenv("RAY_BACKEND_LOG_LEVEL", level)
    with joined("local", "fit"):
        os.write(2, b"progress\n")
    assert capfd.readouterr().err == ("logging.cc: info\n" if level else "") + "progress\n"
    assert os.environ.get("RAY_BACKEND_LOG_LEVEL") == level


@pytest.mark.parametrize(
    ("workers", "nodes", "each"), [(1, [2], 2), (2, [2], 1), (2, [8, 3], 4), (5, [4, 4, 4], 2)]
)
def test_workers_get_what_fits_on_nodes(workers: int, nodes: list[int], each: int) -> None:
    assert processors_per_worker(workers, nodes) == each


def test_more_workers_than_processors_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="at most 6, the number of processors"):
        processors_per_worker(7, [4, 2])


class Packed(Exception):
    """As Ray hands over what a task raised."""

    def __init__(self, cause: Exception) -> None:
        super().__init__("a long traceback")
        self.cause = cause


def test_a_workers_own_error_is_raised() -> None:
    with pytest.raises(InvalidCorpus, match=r"^no text$"), own_errors():
        raise RuntimeError("a job failed") from Packed(InvalidCorpus("no text"))


def test_what_is_not_ours_stays_as_it_is() -> None:
    with pytest.raises(RuntimeError, match="a job failed"), own_errors():
        raise RuntimeError("a job failed") from Packed(ValueError("x"))
