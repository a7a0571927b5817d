"""Minibatches for the updates to come: of counts on the device, or streamed from the host.

Streamed counts are gathered a chunk of updates at a time, by a thread, while the device still
computes on the last chunk, and copied by a stream of their own. Each chunk lies in one half of
buffers whose addresses never change, so that CUDA graphs can read them; the other half is filled
meanwhile. Which documents a batch holds is the same in both ways, and so is every bit.
"""

from __future__ import annotations

import math
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from docboltz.model.counts import SparseCounts
from docboltz.training.documents import Batch, Documents, Shuffle, own, pick

THREADS = 8
"""Threads that fetch documents. They wait for memory more than they compute."""


class Batches(Protocol):
    """Where an update gets its documents."""

    size: int
    """Documents of a batch."""

    def stage(self, first: int, updates: int) -> Tensor:
        """Make the batches of the updates first, first + 1, … ready: (updates, size) indices."""

    def pick(self, index: Tensor) -> Batch:
        """Take the documents of staged indices (size,)."""


def batches_of(documents: Documents, batch_size: int, seed: int, *, at_once: int) -> Batches:
    """Minibatches in random order, staged for at most so many updates at once."""
    shuffle = Shuffle(len(documents), documents.part_of_batch(batch_size), seed)
    if documents.streamed:
        return StreamedBatches(documents, shuffle, at_once)
    return ResidentBatches(documents, shuffle)


class ResidentBatches:
    """All documents are where the arithmetic is."""

    def __init__(self, documents: Documents, shuffle: Shuffle) -> None:
        self.size, self.pick = shuffle.size, documents.pick
        self.stage = shuffle.__call__


class Buffers(NamedTuple):
    """Counts of some documents, with N and D of each."""

    counts: SparseCounts
    n: Tensor
    d: Tensor


class StreamedBatches:
    """Documents are copied to the device for a chunk of updates."""

    def __init__(self, documents: Documents, shuffle: Shuffle, at_once: int) -> None:
        self.size, self._documents, self._shuffle = shuffle.size, documents, shuffle
        self._at_once, self._rows = at_once, at_once * shuffle.size
        sizes = own(documents.counts.starts.diff(), documents.rows)
        self._entries = most_entries(sizes, self._rows)
        device = documents.device
        cuda = device.type == "cuda"
        host = [self._buffers(1, torch.device("cpu"), pinned=cuda) for _ in range(2)]
        self._host, self._staged = host, self._buffers(2, device)
        self._stream = torch.cuda.Stream(device) if cuda else None  # type: ignore[no-untyped-call]
        self._copied: list[torch.cuda.Event | None] = [None, None]
        self._read: list[torch.cuda.Event | None] = [None, None]
        self._half = 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="docboltz-gather")
        self._helpers = ThreadPoolExecutor(THREADS, thread_name_prefix="docboltz-fetch")
        self._ahead: tuple[int, Future[int]] | None = None

    def _buffers(self, halves: int, device: torch.device, pinned: bool = False) -> Buffers:
        """Room for a chunk of documents in each half."""
        c = self._documents.counts

        def room(size: int, like: Tensor) -> Tensor:
            return torch.zeros(halves * size, dtype=like.dtype, device=device, pin_memory=pinned)

        counts = SparseCounts(
            room(self._rows + 1, c.starts),
            room(self._entries, c.words),
            room(self._entries, c.counts),
            c.n_words,
        )
        n, d = (room(self._rows + 1, each) for each in (self._documents.n, self._documents.d))
        return Buffers(counts, n, d)

    def stage(self, first: int, updates: int) -> Tensor:
        """Copy what was gathered for these updates, and have the next ones gathered meanwhile."""
        half = self._half
        if self._ahead is None or self._ahead[0] != first:  # at the beginning, or elsewhere
            if self._ahead is not None:
                self._ahead[1].result()  # it writes where we want to
            self._gather_ahead(first, half)
        assert self._ahead is not None
        entries = self._ahead[1].result()
        self._copy(half, entries)
        self._half = 1 - half
        self._gather_ahead(first + updates, self._half)
        begin = half * (self._rows + 1)
        return torch.arange(begin, begin + updates * self.size).view(updates, self.size)

    def pick(self, index: Tensor) -> Batch:
        """Take the documents of staged indices (size,)."""
        return pick(*self._staged, index)

    def _gather_ahead(self, first: int, half: int) -> None:
        copied = self._copied[half]
        if copied is not None:
            copied.synchronize()
        self._ahead = (first, self._thread.submit(self._gather, first, half))

    def _gather(self, first: int, half: int) -> int:
        """Put a chunk's documents together on the host, and nothing else: a thread that calls CUDA
        would spoil the recording of a graph. Returns the number of entries."""
        documents, buffers = self._documents, self._host[half]
        order = documents.at(self._shuffle(first, self._at_once).view(-1))
        begin = documents.counts.starts[order]
        size = documents.counts.starts[order + 1] - begin
        ends = size.cumsum(0, dtype=size.dtype)
        for target, source in (
            (buffers.counts.starts[1:], ends + half * self._entries),
            (buffers.n, documents.n[order]),
            (buffers.d, documents.d[order]),
        ):
            target[: len(order)] = source
        buffers.counts.starts[0] = half * self._entries
        # Rows lie far apart in memory: to fetch them is to wait, which several threads do at once.
        shift, step = begin - (ends - size), math.ceil(len(order) / THREADS)
        parts = [slice(at, at + step) for at in range(0, len(order), step)]
        list(self._helpers.map(partial(self._fetch, half, shift, size, ends), parts))
        return int(ends[-1])

    def _fetch(self, half: int, shift: Tensor, size: Tensor, ends: Tensor, rows: slice) -> None:
        """Fetch the entries of some rows of a chunk: entry e of row i is shift[i] + e in counts."""
        a, b = int(ends[rows][0] - size[rows][0]), int(ends[rows][-1])
        take = torch.repeat_interleave(shift[rows], size[rows], output_size=b - a)
        take += torch.arange(a, b, dtype=take.dtype)
        source, target = self._documents.counts, self._host[half].counts
        torch.index_select(source.words, 0, take, out=target.words[a:b])
        torch.index_select(source.counts, 0, take, out=target.counts[a:b])

    def _copy(self, half: int, entries: int) -> None:
        """Copy a gathered chunk to the device, once the updates that read its half are over."""
        if self._stream is None:
            self._copy_now(half, entries)
            return
        current = torch.cuda.current_stream(self._documents.device)
        self._read[1 - half] = current.record_event()  # all that was asked for has read that half
        read = self._read[half]
        with torch.cuda.stream(self._stream):
            if read is not None:
                self._stream.wait_event(read)
            self._copy_now(half, entries)
            copied = self._copied[half] = self._stream.record_event()
        current.wait_event(copied)

    def _copy_now(self, half: int, entries: int) -> None:
        source, target = self._host[half], self._staged
        a, b = source.counts, target.counts
        for here, there, used in (
            (a.starts, b.starts, self._rows + 1),
            (a.words, b.words, entries),
            (a.counts, b.counts, entries),
            (source.n, target.n, self._rows),
            (source.d, target.d, self._rows),
        ):
            begin = half * len(here)
            there[begin : begin + used].copy_(here[:used], non_blocking=True)


def most_entries(sizes: Tensor, rows: int) -> int:
    """The most entries that so many rows of a shuffle can have, for rows of these sizes.

    Consecutive rows touch at most ⌈rows / n⌉ + 1 passes, so no document is there more often.

    >>> most_entries(torch.tensor([1, 5, 2]), 2)
    10
    """
    times = math.ceil(rows / len(sizes)) + 1
    distinct = min(len(sizes), math.ceil(rows / times))
    return times * int(sizes.topk(distinct).values.sum())
