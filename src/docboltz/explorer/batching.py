"""Searches that wait are answered together: one product serves them all.

One thread searches. While it does, new questions wait, and all that wait go into the next batch;
whoever is alone waits for nobody. An answer has the same bits as if it had been asked for alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from docboltz.search.score import By

MOST_AT_ONCE = 8
"""Questions of a batch: more would save little, and the first would wait for the last."""


Wanted = dict[str, Any]
"""A filter, as the verbs of a model take it."""


class Question(NamedTuple):
    """What is searched for, and how."""

    text: str
    limit: int
    by: By
    reasons: bool
    wanted: Wanted


Answers = list[bytes]


class Batches:
    """Gathers questions; used by one event loop."""

    def __init__(self, answer: Callable[[list[Question]], Answers]) -> None:
        """`answer` is called in a thread of its own, once at a time."""
        self._answer = answer
        self._thread = ThreadPoolExecutor(1, "search")
        self._waiting: list[tuple[Question, asyncio.Future[bytes]]] = []
        self._alone: list[tuple[Question, asyncio.Future[bytes]]] = []
        self._busy = False

    async def ask(self, question: Question) -> bytes:
        """The answer to a question."""
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting.append((question, future))
        if not self._busy:
            self._next()
        return await future

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown()

    def _next(self) -> None:
        """Begin with a batch of those that wait."""
        if self._alone:
            batch, self._alone = self._alone[:1], self._alone[1:]
        else:
            batch, self._waiting = self._waiting[:MOST_AT_ONCE], self._waiting[MOST_AT_ONCE:]
        self._busy = bool(batch)
        if batch:
            questions = [question for question, _ in batch]
            work = asyncio.get_running_loop().run_in_executor(self._thread, self._answer, questions)
            work.add_done_callback(lambda done: self._done(batch, done))

    def _done(
        self,
        batch: list[tuple[Question, asyncio.Future[bytes]]],
        done: asyncio.Future[Answers],
    ) -> None:
        error = done.exception()
        if error is not None and len(batch) > 1:  # whose fault it is shows when each is alone
            self._alone += batch
        for i, (_, future) in enumerate(batch):
            if future.done() or (error is not None and len(batch) > 1):
                continue  # whoever asked has gone, or is answered yet
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(done.result()[i])
        self._next()
