"""What the updates to come need beside the model: documents, random numbers, rates.

On a device a plan lies in tensors at fixed addresses, so that replayed updates can read it. On a
CPU with cores enough a thread makes the next updates ready while others are computed: it takes off
their way what only one core can do.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from docboltz import kernels
from docboltz.model.parameters import Parameters
from docboltz.randomness import Random, Seeds
from docboltz.scratch import Scratch
from docboltz.training.batches import batches_of
from docboltz.training.documents import Batch, Documents, Shuffle, own
from docboltz.training.update_random import UpdateRandom

CHUNK = 20
"""Updates that are planned at once."""
MOST_NUMBERS = 1 << 20
"""Words of documents and units of the model, for each document, that are made ready at once."""
ENOUGH_THREADS = 8
"""Threads of torch's from which on one of them makes the next updates ready."""
MOST_THREADS = 12
"""Threads that compute what SMALL_WORK is, or less: 15 take as long on an idle machine, and twice
as long where others use its cores. More work has more of them."""
SMALL_WORK = 128 * 2000 * 128
"""Documents of an update times words times units."""


class Step(NamedTuple):
    """What one update needs."""

    batch: Batch
    random: Random
    rate: Tensor
    """The learning rate: a tensor without axes."""
    share: Tensor
    """Its part of the average of parameters: a tensor without axes."""


class Chunk(NamedTuple):
    """Updates that are made ready at once."""

    batches: Sequence[Batch]
    variants: Sequence[Any]
    random: Sequence[UpdateRandom]
    scratch: Scratch
    """Memory that nobody else uses before these updates are over."""


class Schedule(Protocol):
    """What a plan has to know of a phase."""

    updates: int
    batch_size: int
    average_from: int
    """The first update whose parameters go into the average that is kept."""
    draws_words: bool
    """Whether updates draw as many words as their documents have."""

    def rate(self, update: int) -> float:
        """The learning rate of an update."""

    def variant(self, update: int) -> Hashable:
        """Updates of one variant are made of the same operations."""

    def prepare(self, chunk: Chunk) -> None:
        """Work out beforehand what of updates takes no parameters that they change; a thread may do
        it."""


class Plan(Protocol):
    """The updates to come."""

    size: int
    """Documents of a batch."""
    ahead: bool
    """Whether a thread makes updates ready ahead."""

    def stage(self, first: int, updates: int) -> None:
        """Make the updates first, first + 1, … ready, at most CHUNK."""

    def next(self) -> Step:
        """The next of them."""

    def tensors(self) -> dict[str, Tensor]:
        """What `next` changes."""


def plan_updates(
    schedule: Schedule, documents: Documents, p: Parameters, random: torch.Generator, *, first: int
) -> Plan:
    """Plan the updates of a phase from the first one on, for these parameters.

    The seed of the generator is that of all updates.
    """
    if documents.device.type == "cpu" and not documents.streamed:
        return HostPlan(schedule, documents, p, random.initial_seed(), first)
    return DevicePlan(schedule, documents, p.W.dtype, random, first)


class HostPlan:
    """Steps of some updates at a time, made while those before are computed where there are threads
    enough, and else when they are asked for: the steps are the same."""

    def __init__(
        self, schedule: Schedule, documents: Documents, p: Parameters, seed: int, first: int
    ) -> None:
        self._schedule, self._documents = schedule, documents
        self._first, self._end = first, first + schedule.updates
        self._seed, self._dtype = seed, p.W.dtype
        self._shuffle = Shuffle(len(documents), documents.part_of_batch(schedule.batch_size), seed)
        self.size = self._shuffle.size
        n = own(documents.n, documents.rows)
        numbers = self.size * (float(n.double().mean()) + p.n_topics)
        self._at_once = min(max(1, int(MOST_NUMBERS / numbers)), CHUNK)
        self.work = self.size * p.n_words * p.n_topics
        self.ahead, self._scratch = False, Scratch()  # which updates write into
        self._rooms = Scratch(), Scratch()  # what was made ready for some, and for those after them
        self._thread: ThreadPoolExecutor | None = None
        self._ahead: tuple[range, Future[list[Step]]] | None = None
        self._update, self._ready = first, deque[Step]()

    def stage(self, first: int, updates: int) -> None:
        """Go on from there."""
        if first != self._update:
            self._update, self._ready = first, deque()

    def next(self) -> Step:
        """The next of them."""
        if not self._ready:
            self._ready.extend(self._some(self._update))
        self._update += 1
        return self._ready.popleft()

    def tensors(self) -> dict[str, Tensor]:
        """None."""
        return {}

    def _some(self, first: int) -> list[Step]:
        """Steps of the updates first, first + 1, …; has those after them made meanwhile."""
        now = self._updates_from(first)
        if not self.ahead:
            if self._ahead is not None:  # it writes where we want to
                self._ahead[1].exception()
                self._ahead = None
            return self._make(now)
        self._thread = self._thread or thread_of_its_own()
        if self._ahead is None or self._ahead[0] != now:
            self._ahead = now, self._thread.submit(self._make, now)
        steps, self._ahead = self._ahead[1].result(), None
        if now.stop != self._end:
            after = self._updates_from(now.stop)
            self._ahead = after, self._thread.submit(self._make, after)
        return steps

    def _updates_from(self, first: int) -> range:
        """Those that are made at once; none beyond the last, unless the phase is prolonged."""
        stop = first + self._at_once
        return range(first, min(stop, self._end) if first < self._end else stop)

    def _make(self, updates: range) -> list[Step]:
        """Steps of these updates."""
        # In few and large operations: each holds the interpreter, which the updates need, too.
        order = self._shuffle(updates.start - self._first, len(updates))
        chunk = self._documents.pick(order.view(-1))
        batches = chunk.split(self.size, self._scratch, draws=self._schedule.draws_words)
        variants = [self._schedule.variant(t) for t in updates]
        device = self._documents.device
        random = [UpdateRandom(seed_of_update(self._seed, t), device) for t in updates]
        self._rooms = self._rooms[::-1]
        self._schedule.prepare(Chunk(batches, variants, random, self._rooms[0]))
        rates = rates_of(self._schedule, updates, self._dtype).view(-1).unbind()
        return list(map(Step, batches, random, rates[::2], rates[1::2]))


class DevicePlan:
    """A row for each update: its documents, seed, rate and share of the average.

    The last two are bits of floats, so that one small kernel fetches all.
    """

    def __init__(
        self,
        schedule: Schedule,
        documents: Documents,
        dtype: torch.dtype,
        generator: torch.Generator,
        first: int,
    ) -> None:
        seed = generator.initial_seed()
        self._schedule, self._documents, self._generator = schedule, documents, generator
        self._first, self._seed, self._dtype = first, seed, dtype
        self._batches = batches_of(documents, schedule.batch_size, seed, at_once=CHUNK)
        self.size, self.ahead, device = self._batches.size, False, documents.device
        columns = self.size + 1 + 2 * dtype.itemsize // 8
        self._rows = torch.zeros((CHUNK, columns), dtype=torch.long, device=device)
        self._place = torch.zeros(1, dtype=torch.long, device=device)
        self._update = first

    def stage(self, first: int, updates: int) -> None:
        """Write the rows of these updates."""
        numbers = range(first, first + updates)
        order = self._batches.stage(first - self._first, updates)
        seeds = torch.tensor([[seed_of_update(self._seed, t)] for t in numbers])
        rates = rates_of(self._schedule, numbers, self._dtype)
        rows = torch.cat([order, seeds, rates.view(torch.long)], 1)
        self._rows[:updates] = rows.to(self._rows.device)
        self._place.zero_()
        self._update = first

    def next(self) -> Step:
        """Fetch the next row, by operations on tensors alone."""
        row = self._rows.index_select(0, self._place)[0]
        index, seed = row[: self.size], row[self.size : self.size + 1]
        rate, share = row[self.size + 1 :].view(self._dtype)
        batch, random = self._batches.pick(index), self._random(seed)
        if isinstance(random, UpdateRandom):  # or else it is recorded, and the update no number
            variant = self._schedule.variant(self._update)
            self._schedule.prepare(Chunk([batch], [variant], [random], Scratch()))
        self._place.add_(1)
        self._update += 1
        return Step(batch, random, rate, share)

    def _random(self, seed: Tensor) -> Random:
        if kernels.available(seed):
            return Seeds(self._generator, seed)
        return UpdateRandom(int(seed), self._documents.device)

    def tensors(self) -> dict[str, Tensor]:
        """The place in the rows."""
        return {"place": self._place}


@contextmanager
def one_thread_ahead(plan: Plan, schedule: Schedule) -> Iterator[None]:
    """Let one of torch's threads, if there are enough, make updates ready that take some doing,
    and as many of the others compute them as have something to do.

    Only from the main thread: torch's number of threads is one for all that begin later.
    """
    threads = torch.get_num_threads()
    alone = threading.current_thread() is threading.main_thread()
    enough = alone and threads >= ENOUGH_THREADS
    if not (isinstance(plan, HostPlan) and schedule.draws_words and enough):
        yield
        return
    torch.set_num_threads(min(threads - 1, most_threads(plan.work)))
    plan.ahead = True
    try:
        yield
    finally:
        plan.ahead = False
        torch.set_num_threads(threads)


def most_threads(work: int) -> int:
    """Threads that have something to do in an update of so many documents times words times units.

    >>> most_threads(SMALL_WORK // 2), most_threads(SMALL_WORK), most_threads(3 * SMALL_WORK)
    (12, 12, 36)
    """
    return max(MOST_THREADS, MOST_THREADS * work // SMALL_WORK)


def thread_of_its_own() -> ThreadPoolExecutor:
    """A thread whose operations of torch keep to it.

    With a team of OpenMP's for it too there would be more threads than cores, and then all of them
    sleep whenever they wait.
    """
    threads = torch.get_num_threads()
    thread = ThreadPoolExecutor(1, thread_name_prefix="docboltz-plan")
    try:
        thread.submit(torch.set_num_threads, 1).result()
        thread.submit(torch.get_num_threads).result()  # a thread takes the last number said, once
    finally:
        torch.set_num_threads(threads)
    return thread


def rates_of(schedule: Schedule, updates: range, dtype: torch.dtype) -> Tensor:
    """Rate and share of the average of each update: (updates, 2)."""
    begin = schedule.average_from
    rates = [[schedule.rate(t), 1 / max(t - begin + 1, 1)] for t in updates]
    return torch.tensor(rates, dtype=dtype)


def seed_of_update(seed: int, update: int) -> int:
    """The key of an update's random numbers: no two updates of a run share one.

    >>> seed_of_update(3, 1) == seed_of_update(3, 1) != seed_of_update(3, 2)
    True
    """
    golden = 0x9E3779B97F4A7C15  # odd, so that 2^64 updates have keys of their own
    return (seed + golden * update) % 2**64 - 2**63
