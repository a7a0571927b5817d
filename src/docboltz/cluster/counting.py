"""Files counted by tasks of a cluster, which write parts to a folder that all nodes share."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import chdir, nullcontext, suppress
from pathlib import Path

from docboltz.cluster.connection import run_tasks
from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.corpus import Vocabulary
from docboltz.corpus.counting import Parts, stamp_of
from docboltz.corpus.disk import Part
from docboltz.corpus.reading import Documents, ReadReport
from docboltz.errors import NoDocuments


def count_files(
    parts: Parts,
    documents: Documents,
    analysis: TextAnalysis,
    kept: Sequence[str],
    *,
    verbose: bool,
) -> None:
    """Count each file in a task, and add the parts that it writes.

    Ray is joined. Parts that an interrupted call has left are not counted again.
    """
    how = Path.cwd(), parts.folder, analysis, parts.vocabulary, tuple(kept)
    jobs = [(number, own, *how) for number, own in enumerate(documents.parts())]
    documents.report = ReadReport()
    parts.files = []  # those of a count on one machine are of the same documents
    for paths, report in run_tasks(count_file, jobs, len(jobs), label="Reading", shown=verbose):
        parts.files += map(Part, paths)
        documents.report.add(report)
    if not parts.files:
        raise NoDocuments("There are no documents in any of the files.")


def count_file(
    number: int,
    documents: Documents,
    caller: Path,
    folder: Path,
    analysis: TextAnalysis,
    vocabulary: Vocabulary | None,
    kept: Sequence[str],
) -> tuple[list[Path], ReadReport]:
    """Write parts of a file to the folder, but for those that are there.

    Relative paths begin in the working folder of the caller.
    """
    with chdir(caller) if caller.is_dir() else nullcontext():
        stamp = stamp_of(documents, analysis, vocabulary)
        parts = Parts(vocabulary, folder, stamp, name=f"part-{number:05d}")
        with suppress(NoDocuments):  # other files have some
            parts.count(documents, analysis, n_jobs=1, kept=kept)
        parts.write()
    return [part.path for part in parts.files], documents.report
