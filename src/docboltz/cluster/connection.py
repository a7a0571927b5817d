"""A Ray cluster, joined for as long as a verb needs it, and what went wrong on it."""

from __future__ import annotations

import logging
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from docboltz.errors import DocboltzError, InvalidParameter, require

INSTALL = "pip install 'docboltz[ray]'"
LOCAL_STORE = 1 << 28
"""Bytes of memory that Ray on this machine shares among its processes; more goes to disk."""

LEVEL, STDERR = "RAY_BACKEND_LOG_LEVEL", 2
REACHED_SECONDS = 10.0
"""Time to wait for the head of a cluster to answer."""


@contextmanager
def joined(address: str, owner: str) -> Iterator[None]:
    """Join a cluster, and leave it in the end; one that the caller has joined is used as it is.

    `address` is "local", to start Ray on this machine, "auto", for the cluster that RAY_ADDRESS
    names or that runs on this machine, or the address of a cluster's head, "host:6379".
    """
    require(
        isinstance(address, str) and address != "",
        owner,
        "ray",
        "'local', 'auto' or a cluster's address",
        address,
    )
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is told to anybody
    try:
        import ray
        import ray.data
        import ray.train.torch
    except ImportError as error:
        raise DocboltzError(f"The package {error.name} is missing.", hint=INSTALL) from error
    if ray.is_initialized():
        with _quietly():
            yield
        return
    own: dict[str, Any] = {}
    if address == "local":
        own = {"include_dashboard": False, "object_store_memory": LOCAL_STORE}
    try:
        _require_reachable(address)
        with _silently():
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **own)
    except Exception as error:  # Ray raises plain ones, too
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise InvalidParameter(
            f"There is no Ray cluster to join ({address!r}): {reason}.",
            hint="Start one with 'ray start --head' and name its address, or use {ray=local}.",
            settings=("ray=local",),
        ) from error
    try:
        with _quietly():
            yield
    finally:
        ray.shutdown()


def _require_reachable(address: str) -> None:
    """Find out in seconds that nobody listens there: Ray itself tries for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=REACHED_SECONDS).close()


@contextmanager
def _silently() -> Iterator[None]:
    """Let Ray's compiled part, which would write into progress, start without a word.

    A user who wants to hear more has set its level. That it was set it says as well, to the file
    behind standard error, before it heeds it.
    """
    if LEVEL in os.environ or sys.stderr is None:
        yield
        return
    os.environ[LEVEL] = "fatal"
    sys.stderr.flush()
    kept = os.dup(STDERR)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), STDERR)
    try:
        yield
    finally:
        os.dup2(kept, STDERR)
        os.close(kept)
        del os.environ[LEVEL]


@contextmanager
def _quietly() -> Iterator[None]:
    """Let Ray's libraries report nothing but errors: what is under way, docboltz itself says."""
    import ray.data

    context = ray.data.DataContext.get_current()
    loggers = [logging.getLogger(name) for name in ("ray.data", "ray.train")]
    before = [logger.level for logger in loggers], context.enable_progress_bars
    context.enable_progress_bars = False
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        context.enable_progress_bars = before[1]
        for logger, level in zip(loggers, before[0], strict=True):
            logger.setLevel(level)


@contextmanager
def own_errors() -> Iterator[None]:
    """Raise docboltz's own error where Ray has packed one of a worker into errors of its own."""
    try:
        yield
    except Exception as error:
        found: Any = error
        while found is not None:
            if isinstance(cause := getattr(found, "cause", found), DocboltzError):
                raise cause from None
            found = found.__cause__ or found.__context__
        raise


def processors_of_nodes() -> list[int]:
    """The number of processors of each node of the cluster."""
    import ray

    return [int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]]


def processors_per_worker(workers: int, nodes: list[int]) -> int:
    """The most processors that each of so many workers can have, a worker on one node.

    >>> processors_per_worker(3, [8, 4])
    4
    >>> processors_per_worker(1, [2])
    2
    """
    for each in range(max(nodes, default=0), 0, -1):
        if sum(node // each for node in nodes) >= workers:
            return each
    have = sum(nodes)
    expected = f"at most {have}, the number of processors of the cluster"
    raise InvalidParameter(owner="TextModel.fit", name="workers", expected=expected, got=workers)


def start(function: Any, *arguments: Any, **options: Any) -> Any:
    """Have a function called on the cluster; `get` gives what it returns. Options are Ray's."""
    import ray

    return ray.remote(function).options(**options).remote(*arguments)


def get(reference: Any) -> Any:
    """What a task of Ray gives, or the error of docboltz it raised."""
    import ray

    with own_errors():
        return ray.get(reference)
