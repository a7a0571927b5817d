"""Parts of a collection, worked on one by one by the processes of a cluster.

What comes of a part is a Parquet file of its own, which carries a stamp: a hash of all it was made
of. A file with the right stamp is not made again, and as files appear whole or not at all, a part
whose worker died is simply done once more: nothing is there twice, and nothing is missing.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from docboltz import __version__
from docboltz.cluster.connection import own_errors, processors_of_nodes
from docboltz.corpus.readers import Part
from docboltz.errors import InvalidCorpus
from docboltz.progress import progress_bar
from docboltz.storage import digest

STAMP = b"docboltz.stamp"
"""Where a file's metadata has it."""


@dataclass(frozen=True)
class Job:
    """A part of the collection, and the file to make of it."""

    number: int
    part: Part
    file: Path
    stamp: str

    @property
    def is_done(self) -> bool:
        """Whether the file is there, made of this part in the same way."""
        return self.file.exists() and stamp_of(self.file) == self.stamp


class Work(Protocol):
    """What an actor of the cluster does; it is made once and then called for every part."""

    def __call__(self, job: Job) -> Any:
        """Make the job's file, unless it is done; give something small."""


def jobs_of(parts: list[Part], folder: Path, made_by: Any) -> list[Job]:
    """A job for each part; `made_by` is all that decides what comes of it, as JSON can hold it."""
    return [
        Job(
            number,
            part,
            folder / f"part-{number:05d}.parquet",
            digest([identity(part), made_by, __version__]),
        )
        for number, part in enumerate(parts)
    ]


def identity(part: Part) -> list[Any]:
    """What tells the files of a part, and how they are read, from others or from newer ones."""
    try:
        files = [
            [source.format, source.location.state() if source.location else None]
            for source in part.sources
        ]
    except OSError as error:
        raise InvalidCorpus(f"{part.documents!r} could not be read: {error}.") from error
    return [files, part.documents.options.to_dict()]


def stamp_of(file: Path) -> str | None:
    """The stamp of a Parquet file, None if it has none."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        metadata = parquet.read_schema(file).metadata or {}
    except (pa.ArrowInvalid, OSError):  # somebody else's
        return None
    return metadata.get(STAMP, b"").decode() or None


def do_jobs(
    jobs: list[Job], work: type[Work], *arguments: Any, label: str, shown: bool, gpu: bool = False
) -> Iterator[tuple[int, Any]]:
    """Do all jobs by `work(*arguments)`, an actor for each processor; what each gives, as it comes.

    Ray Data replaces an actor that dies, and gives the job it was at to another one.
    """
    import ray.data

    items = [{"job": pickle.dumps(job)} for job in jobs]
    actors = min(len(jobs), max(1, sum(processors_of_nodes())))
    with own_errors(), progress_bar(label, "parts", shown=shown) as update:
        rows = ray.data.from_items(items, override_num_blocks=len(items)).map(
            _Actor,
            fn_constructor_args=(work, arguments),
            compute=ray.data.ActorPoolStrategy(min_size=1, max_size=actors),
            num_cpus=1,
            num_gpus=1 if gpu else None,
        )
        for done, row in enumerate(rows.iter_rows(), 1):
            yield pickle.loads(row["found"])
            update(done, len(jobs))


class _Actor:
    """Passes jobs on to the work: Ray Data's rows hold plain values."""

    def __init__(self, work: type[Work], arguments: tuple[Any, ...]) -> None:
        self._work = work(*arguments)

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        job = pickle.loads(row["job"])
        return {"found": pickle.dumps((job.number, self._work(job)))}
