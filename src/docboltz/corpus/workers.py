"""Worker processes that count texts, and read them if asked to.

Workers are started as fresh interpreters rather than by multiprocessing. Forking a process in which
torch has threads can deadlock, and spawning imports the caller's main module again, torch with it:
seconds and hundreds of megabytes for each worker. A worker here imports numpy and the analysis.
"""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import BinaryIO, Protocol, TypeVar

from docboltz.corpus.chunks import ChunkCounter, ChunkCounts
from docboltz.errors import DocboltzError

T = TypeVar("T")

MOST_WAITING = 50
"""Counted chunks that wait for one before them, should its worker be slow: a few megabytes each."""

# A worker must find docboltz.corpus without running docboltz/__init__.py, which may load torch, and
# everything else where this process finds it.
_START = """
import sys, types
sys.path[:] = sys.argv[2:]
package = types.ModuleType("docboltz")
package.__path__ = [sys.argv[1]]
sys.modules["docboltz"] = package
from docboltz.corpus.workers import work
work(sys.stdin.buffer, sys.stdout.buffer)
"""


class Request(Protocol):
    """What a worker does beside counting texts; pickled, it comes to it with the code it needs."""

    def answers(self, counter: ChunkCounter) -> Iterator[object]:
        """Do it, with any number of answers."""


def work(requests: BinaryIO, replies: BinaryIO) -> None:
    """Answer requests until they end: the life of a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    counter = ChunkCounter(*pickle.load(requests))
    while True:
        try:
            request = pickle.load(requests)
        except EOFError:
            return
        for reply in _answers(counter, request):
            pickle.dump(reply, replies, pickle.HIGHEST_PROTOCOL)
            replies.flush()


def _answers(counter: ChunkCounter, request: Sequence[str] | Request) -> Iterator[object]:
    try:
        if isinstance(request, Sequence):
            yield counter.count(request)
        else:
            yield from request.answers(counter)
    except Exception as error:
        yield error


@contextmanager
def started(
    own: ChunkCounter, n_workers: int
) -> Iterator[Callable[[Callable[[Worker], T]], Future[T]]]:
    """Start workers that count as `own` does; end them whatever happens.

    Gives a function that lets a thread do something with the next worker that is idle. Things that
    one worker does begin in the order in which they were handed in.
    """
    analysis, vocabulary = own.settings
    # Resolved, so that a worker need not read all lists of stop words for one of them.
    settings = (analysis.resolved(), None if vocabulary is None else tuple(vocabulary))
    workers = [Worker((*settings, number)) for number in range(n_workers)]
    idle: SimpleQueue[Worker] = SimpleQueue()
    for worker in workers:
        idle.put(worker)

    def do(task: Callable[[Worker], T]) -> T:
        worker = idle.get()
        try:
            return task(worker)
        finally:
            idle.put(worker)

    pool = ThreadPoolExecutor(n_workers)  # threads only wait for pipes
    try:
        yield lambda task: pool.submit(do, task)
    finally:
        for worker in workers:
            worker.stop()
        pool.shutdown(cancel_futures=True)


def count_with_workers(
    chunks: Iterable[Sequence[str]], own: ChunkCounter, n_workers: int
) -> Iterator[ChunkCounts]:
    """Count chunks in `n_workers` processes and, when those have enough to do, with `own` here.

    The counts come in the order of the chunks. As this process takes what the others leave, it
    reads ahead for them when reading is slow and counts as much as they do when it is fast.
    """
    waiting: deque[Future[ChunkCounts]] = deque()
    with started(own, n_workers) as submit:
        for chunk in chunks:
            # A second chunk lies ready for each worker; more would only fill memory.
            if sum(not future.done() for future in waiting) < 2 * n_workers:
                waiting.append(submit(partial(_count, chunk)))
            else:
                waiting.append(Future())
                waiting[-1].set_result(own.count(chunk))
            while waiting and (waiting[0].done() or len(waiting) > MOST_WAITING):
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _count(texts: Sequence[str], worker: Worker) -> ChunkCounts:
    worker.ask(texts)
    counts = worker.reply()
    assert isinstance(counts, ChunkCounts)
    return counts


class Worker:
    """A process that counts, and the pipes to it."""

    def __init__(self, settings: object) -> None:
        package = str(Path(__file__).parents[1])
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START, package, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C in a terminal reaches the parent only
        )
        self._settings: tuple[object, ...] = (settings,)

    def ask(self, request: Sequence[str] | Request) -> None:
        """Have texts counted, or something else done."""
        assert self._process.stdin is not None
        with _explained():
            # Settings not before: large ones fill the pipe and would wait for the worker to start.
            for message in (*self._settings, request):
                pickle.dump(message, self._process.stdin, pickle.HIGHEST_PROTOCOL)
            self._settings = ()
            self._process.stdin.flush()

    def reply(self) -> object:
        """Wait for the next answer; an error is raised here."""
        assert self._process.stdout is not None
        with _explained():
            reply = pickle.load(self._process.stdout)
        if isinstance(reply, Exception):
            raise reply
        return reply

    def stop(self) -> None:
        """End it, whatever it does."""
        self._process.kill()
        self._process.communicate()


@contextmanager
def _explained() -> Iterator[None]:
    """Say what it means that a pipe is broken."""
    try:
        yield
    except (EOFError, OSError, pickle.UnpicklingError) as error:
        raise DocboltzError(
            "A process that counts words ended unexpectedly, perhaps for lack of memory.",
            hint="Try again with {n_jobs=1}.",
            settings=("n_jobs=1",),
        ) from error
