"""Files that workers read and count, each one of them by one.

What comes of a file waits in a temporary file until all before it have been merged: documents keep
their order, workers need not wait for each other, and memory holds one chunk of each.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count, islice, repeat
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, NamedTuple

from docboltz.corpus.chunks import ChunkCounter, ChunkCounts, cut
from docboltz.corpus.naming import Fields
from docboltz.corpus.report import ReadReport
from docboltz.corpus.rows import Row
from docboltz.corpus.workers import Worker, started
from docboltz.storage import temporary_folder

if TYPE_CHECKING:
    from docboltz.corpus.readers import Part  # which a question can do without


class End(NamedTuple):
    """The last answer about a file: what was met in it, and why it ends if not at its end."""

    report: ReadReport
    error: Exception | None = None


@dataclass(frozen=True)
class ReadPart:
    """Asks a worker to read and count a part, chunk by chunk."""

    part: Part
    file: Path
    """Where chunks go; of each that lies there, None is the answer."""
    chunk_characters: int
    chunk_documents: int

    def answers(self, counter: ChunkCounter) -> Iterator[End | None]:
        """Do it."""
        report = ReadReport()
        rows = self.part.documents.rows(report)
        limits = self.chunk_characters, self.chunk_documents
        try:
            with self.file.open("wb") as out:
                for chunk in cut(rows, _size, *limits):
                    # By column, which is read back faster. Of several files nothing is numbered:
                    # what has no id is called after its file.
                    _, *about, _ = zip(*chunk, strict=True)
                    found = about, counter.count(about[1])
                    pickle.dump(found, out, pickle.HIGHEST_PROTOCOL)
                    out.flush()
                    yield None
        except Exception as error:
            yield End(report, error)
        else:
            yield End(report)


def _size(row: Row) -> int:
    """The characters of a row, of which a chunk has only so many."""
    return len(row.text) + len(row.title) + sum(map(len, row.columns.values()))


def read_with_workers(
    parts: Iterable[Part],
    own: ChunkCounter,
    n_workers: int,
    report: ReadReport,
    chunk_limits: tuple[int, int],
    place: Path | None = None,
) -> Iterator[tuple[Iterable[Fields], ChunkCounts]]:
    """Rows of all parts, in order, with their counts, by workers that count as `own` does.

    What readers met is added to the report. Temporary files are in a folder of their own in
    `place`.
    """
    with (
        temporary_folder("docboltz-reading", place) as folder,
        started(own, n_workers) as submit,
    ):

        def begin(number: int, part: Part) -> _Answers:
            file, answers = folder / str(number), _Answers()
            submit(partial(answers.follow, ReadPart(part, file, *chunk_limits)))
            return answers

        begun = map(begin, count(), parts)
        # A second part for each worker, so that none waits for this process to merge; more would
        # only fill the disk.
        waiting = deque(islice(begun, 2 * n_workers))
        while waiting:
            end = yield from waiting.popleft().chunks()
            report.add(end.report)
            if end.error is not None:
                raise end.error
            waiting.extend(islice(begun, 1))


class _Answers:
    """What a worker finds in a part."""

    def __init__(self) -> None:
        self._come: SimpleQueue[Path | End] = SimpleQueue()

    def follow(self, request: ReadPart, worker: Worker) -> None:
        """Have a worker read, and wait for its answers: what a thread does."""
        try:
            worker.ask(request)
            while not isinstance(answer := worker.reply(), End):
                self._come.put(request.file)
            self._come.put(answer)
        except Exception as error:
            self._come.put(End(ReadReport(), error))

    def chunks(self) -> Generator[tuple[Iterable[Fields], ChunkCounts], None, End]:
        """The chunks as they come; the file is removed after the last."""
        answer = self._come.get()
        if isinstance(answer, End):
            return answer
        file = answer
        with file.open("rb") as found:
            while not isinstance(answer, End):
                about, counts = pickle.load(found)
                yield zip(count(1), *about, repeat(False)), counts
                answer = self._come.get()
        file.unlink()
        return answer
