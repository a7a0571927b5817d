"""Processes of this machine that share work, and end with the process that started them."""

from __future__ import annotations

import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Thread, current_thread, main_thread
from typing import Any, TypeVar

from docboltz.errors import DocboltzError

Item = TypeVar("Item")
Result = TypeVar("Result")


@contextmanager
def pool_of(n: int, initializer: Callable[..., None], *arguments: Any) -> Iterator[Any]:
    """Start n fresh processes, each of which calls the initializer; end them whatever happens.

    They end after the tasks that they have begun, which should be short.
    """
    from joblib.externals.loky import ProcessPoolExecutor
    from joblib.externals.loky.process_executor import BrokenProcessPool

    started = (os.getpid(), initializer, arguments)
    pool = ProcessPoolExecutor(n, initializer=begin, initargs=started)
    try:
        with _ctrl_c_ignored():
            pool.submit(os.getpid)  # which starts all of them
        yield pool
    except BrokenProcessPool as error:
        raise DocboltzError(
            "A process that shared the work ended unexpectedly, perhaps for lack of memory.",
            hint="Try again with fewer processes.",
        ) from error
    finally:
        pool.shutdown()


def in_order(
    pool: Any,
    function: Callable[[Any], Result],
    here: Callable[[Any], Result],
    items: Iterable[tuple[Item, Any]],
    most: int,
) -> Iterator[tuple[Item, Result]]:
    """Each item with the function of its argument, in order.

    While `most` arguments are with the pool, this process calls `here` for the next itself.
    """
    waiting: deque[tuple[Item, Future[Result]]] = deque()
    try:
        for item, argument in items:
            if sum(not future.done() for _, future in waiting) < most:
                future = pool.submit(function, argument)
            else:
                future = Future()
                future.set_result(here(argument))
            waiting.append((item, future))
            while waiting and (waiting[0][1].done() or len(waiting) >= 4 * most):
                first, future = waiting.popleft()
                yield first, future.result()
        for first, future in waiting:
            yield first, future.result()
    finally:
        for _, future in waiting:
            future.cancel()


@contextmanager
def _ctrl_c_ignored() -> Iterator[None]:
    """Ignore Ctrl-C for a moment: processes that are started meanwhile go on ignoring it."""
    if current_thread() is not main_thread():  # where no handler can be set
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def begin(parent: int, initializer: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    """What a process does first: leave Ctrl-C to its parent, and end when that is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with, args=(parent,), daemon=True).start()
    initializer(*arguments)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)
