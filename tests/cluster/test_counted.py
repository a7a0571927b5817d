"""Counts in files: written once for each part, read back as the corpus they are of."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import docboltz
from docboltz.cluster import counted
from docboltz.cluster.counted import Counted, CountedCorpus, CountPart
from docboltz.cluster.parts import jobs_of
from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.corpus import Corpus
from docboltz.corpus.counting import count


@pytest.fixture(params=[7, 100], ids=["small blocks", "one block"])
def both(
    request: pytest.FixtureRequest, files: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Corpus, CountedCorpus]:
    monkeypatch.setattr(counted, "BLOCK_DOCUMENTS", request.param)
    documents = docboltz.read(files)
    whole = count(documents, TextAnalysis())
    jobs = jobs_of(documents.parts(), tmp_path, "these words")
    work = CountPart(TextAnalysis(), whole.vocabulary)
    found = [work(job) for job in jobs]
    assert found == [Counted(80, 76), Counted(0, 0), Counted(80, 76)]
    written = {job.file: job.file.stat().st_mtime_ns for job in jobs}
    assert [work(job) for job in jobs] == found
    assert written == {job.file: job.file.stat().st_mtime_ns for job in jobs}
    sizes = [each.documents for each in found]
    return whole, CountedCorpus([job.file for job in jobs], sizes, whole.vocabulary)


def test_files_hold_the_corpus(both: tuple[Corpus, CountedCorpus]) -> None:
    whole, read = both
    assert len(read) == len(whole)
    documents = list(read.documents)
    assert tuple(read.ids) == tuple(document.id for document in documents) == whole.ids
    assert tuple(document.labels for document in documents) == whole.labels
    assert tuple(document.date for document in documents) == whole.dates
    assert documents[0].text == "the"
    for rows in (slice(0, 160), slice(0, 0), slice(70, 95), slice(79, 81), slice(150, 999)):
        one, other = whole.counts[rows], read.counts[rows]
        for part in ("indptr", "indices", "data"):
            assert np.array_equal(getattr(one, part), getattr(other, part))


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_every_document_is_one_workers(both: tuple[Corpus, CountedCorpus], size: int) -> None:
    whole, read = both
    shards = [read.shard(rank, size) for rank in range(size)]
    sizes = [shard.shape[0] for shard in shards]
    assert max(sizes) - min(sizes) <= 1
    assert np.array_equal(
        np.concatenate([shard.toarray() for shard in shards]), whole.counts.toarray()
    )
