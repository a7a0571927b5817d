"""A Ray cluster, joined for as long as a verb needs it, its tasks, and what went wrong on it."""

from __future__ import annotations

import logging
import os
import socket
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from docboltz.errors import DocboltzError, InvalidParameter, require
from docboltz.progress import progress_bar

INSTALL = "pip install 'docboltz[ray]'"
LOCAL_STORE = 1 << 28
"""Bytes of memory that Ray on this machine shares among its processes; more goes to disk."""
LEVEL, STDERR = "RAY_BACKEND_LOG_LEVEL", 2
REACHED_SECONDS = 10.0
"""Time to wait for the head of a cluster to answer."""
MOST_FAILURES = 10
"""Times that a worker is replaced before its work is given up: more is no accident."""
AHEAD = 2
"""Tasks for each processor that are handed to Ray at a time."""
GOES_ON = "the same call goes on where this one stopped."


@contextmanager
def joined(address: str, owner: str) -> Iterator[None]:
    """Join a cluster, and leave it in the end; one that the caller has joined is used as it is.

    `address` is "local", to start Ray on this machine, "auto", for the cluster that RAY_ADDRESS
    names or that runs on this machine, or the address of a cluster's head, "host:6379".
    """
    ok = isinstance(address, str) and address != ""
    require(ok, owner, "ray", "'local', 'auto' or a cluster's address", address)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
        import ray.train.torch
    except ImportError as error:
        raise DocboltzError(f"The package {error.name} is missing.", hint=INSTALL) from error
    if ray.is_initialized():
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
        yield
    finally:
        ray.shutdown()


def _require_reachable(address: str) -> None:
    """Find out in seconds that nothing listens there: Ray itself tries for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=REACHED_SECONDS).close()


@contextmanager
def _silently() -> Iterator[None]:
    """Keep what Ray's compiled part writes at its start out of the progress, unless a level is set.

    It also reports that level to the file behind standard error, before it heeds it.
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
def own_errors() -> Iterator[None]:
    """Raise docboltz's own error where Ray has packed one of a worker into errors of its own."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(GOES_ON) from None
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


def run_tasks(
    function: Callable[..., Any],
    arguments: Iterable[tuple[Any, ...]],
    n: int,
    *,
    label: str,
    shown: bool,
    **options: Any,
) -> list[Any]:
    """Call a function on the cluster n times, each with its arguments; what it gives, in order.

    A task whose worker dies is given to another one. Options are Ray's.
    """
    import ray

    task = ray.remote(function).options(num_cpus=1, max_retries=MOST_FAILURES, **options)
    found: dict[int, Any] = {}
    left, running = enumerate(arguments), dict[Any, int]()
    most = AHEAD * max(1, sum(processors_of_nodes()))
    with own_errors(), progress_bar(label, "files", shown=shown) as update:
        try:
            while len(found) < n:
                for number, given in islice(left, most - len(running)):
                    running[task.remote(*given)] = number
                for each in ray.wait(list(running))[0]:
                    found[running[each]] = ray.get(each)
                    del running[each]
                update(len(found), n)
        finally:
            for each in running:  # after an error or Ctrl-C
                ray.cancel(each, force=True)
    return [found[number] for number in range(n)]
