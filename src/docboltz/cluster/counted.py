"""The second pass: counts of parts in files on shared storage, and those files read back.

A file has a line for each document: all that was read of it, and its words as columns of the
vocabulary with their counts. Nobody reads more than some blocks of it at a time but
a training worker, which reads the counts of its own documents.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from scipy.sparse import csr_array

from docboltz.cluster.ids import NewIds
from docboltz.cluster.parts import STAMP, Job
from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.corpus import Vocabulary
from docboltz.corpus.counting import count
from docboltz.corpus.document import Document
from docboltz.errors import NoDocuments
from docboltz.indexing import BLOCK_DOCUMENTS, WaitingDocuments
from docboltz.storage import replacing

SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("labels", pa.list_(pa.string())),
        ("date", pa.string()),
        ("text", pa.string()),
        ("title", pa.string()),
        ("columns", pa.string()),  # as JSON
        ("words", pa.list_(pa.int32())),
        ("counts", pa.list_(pa.int32())),
    ]
)

_NONE = np.zeros(0, np.int32)


class Counted(NamedTuple):
    """How many documents a part has."""

    documents: int
    with_words: int


class CountPart:
    """Counts parts with a fixed vocabulary."""

    def __init__(self, analysis: TextAnalysis, vocabulary: Vocabulary) -> None:
        self._analysis, self._vocabulary = analysis, vocabulary

    def __call__(self, job: Job) -> Counted:
        """Write the part's counts, unless they are there."""
        if not job.is_done:
            self._write(job)
        counts = parquet.read_table(job.file, columns=["words"])["words"]
        with_words = sum(int(np.count_nonzero(np.diff(c.offsets))) for c in counts.chunks)
        return Counted(len(counts), with_words)

    def _write(self, job: Job) -> None:
        schema = SCHEMA.with_metadata({STAMP: job.stamp})
        how: Any = {"vocabulary": self._vocabulary, "n_jobs": 1}
        with (
            WaitingDocuments() as waiting,
            replacing(job.file) as draft,
            parquet.ParquetWriter(draft, schema, compression="zstd") as writer,
        ):
            try:
                corpus = count(job.part.documents, self._analysis, on_document=waiting.add, **how)
            except NoDocuments:
                return
            documents = iter(waiting)
            for begin in range(0, len(corpus), BLOCK_DOCUMENTS):
                rows = slice(begin, begin + BLOCK_DOCUMENTS)
                counts = corpus.counts[rows]
                starts = pa.array(counts.indptr.astype(np.int32))
                lists = [
                    pa.ListArray.from_arrays(starts, pa.array(values.astype(np.int32)))
                    for values in (counts.indices, counts.data)
                ]
                some = list(islice(documents, counts.shape[0]))
                labels = pa.array([list(d.labels) for d in some], SCHEMA.field("labels").type)
                date, text = [d.date for d in some], [d.text for d in some]
                title, more = [d.title for d in some], [json.dumps(dict(d.columns)) for d in some]
                strings = [pa.array(each, pa.string()) for each in (date, text, title, more)]
                columns = [pa.array([d.id for d in some], pa.string()), labels, *strings, *lists]
                writer.write_table(pa.table(columns, schema=schema))


class CountedCorpus:
    """All counted documents, in order: like a `Corpus` to whoever goes through it block by block.

    Memory holds a block at a time. Files have ids as they were given; `new_ids` are those of
    documents whose id was taken, file by file.
    """

    def __init__(
        self,
        files: Sequence[Path],
        sizes: Sequence[int],
        vocabulary: Vocabulary,
        new_ids: Sequence[NewIds] = (),
    ) -> None:
        self.vocabulary = vocabulary
        self.files = list(files)
        self._sizes, self._starts = sizes, [0, *accumulate(sizes)]
        pairs = zip(self._starts, new_ids, strict=False)
        self._new_ids = {start + row: id for start, new in pairs for row, id in new.items()}

    def __len__(self) -> int:
        return self._starts[-1]

    @property
    def counts(self) -> CountedCorpus:
        """What gives counts for a slice of documents."""
        return self

    def __getitem__(self, rows: slice) -> csr_array:
        """Counts of documents one after the other: (n, K)."""
        begin, end, _ = rows.indices(len(self))
        lengths, words, counts = [np.zeros(1, np.int64)], [_NONE], [_NONE]
        for table in self._tables(begin, end, ["words", "counts"]):
            for batch in table.to_batches():
                lengths.append(np.diff(batch["words"].offsets.to_numpy()))
                words.append(batch["words"].flatten().to_numpy())
                counts.append(batch["counts"].flatten().to_numpy())
        starts = np.cumsum(np.concatenate(lengths), dtype=np.int64)
        if starts[-1] <= np.iinfo(np.int32).max:
            starts = starts.astype(np.int32)
        arrays = np.concatenate(counts), np.concatenate(words), starts
        return csr_array(arrays, shape=(end - begin, len(self.vocabulary)))

    def named(self, new_ids: Sequence[NewIds]) -> CountedCorpus:
        """The same with new ids."""
        return CountedCorpus(self.files, self._sizes, self.vocabulary, new_ids)

    def shard(self, rank: int, size: int) -> csr_array:
        """Counts of one worker's documents: as many for each, in order."""
        return self[len(self) * rank // size : len(self) * (rank + 1) // size]

    @property
    def ids(self) -> Iterator[str]:
        """Ids, no two alike."""
        return (self._new_ids.get(row, id) for row, id in enumerate(self._column("id")))

    @property
    def documents(self) -> Iterator[Document]:
        """The documents, with ids no two of which are alike."""
        row = 0
        for begin in range(0, len(self), BLOCK_DOCUMENTS):
            for table in self._tables(begin, begin + BLOCK_DOCUMENTS, SCHEMA.names[:6]):
                for each in table.to_pylist():
                    id, labels = self._new_ids.get(row, each["id"]), tuple(each["labels"])
                    columns = json.loads(each["columns"])
                    yield Document(id, each["text"], labels, each["date"], each["title"], columns)
                    row += 1

    def _column(self, name: str) -> Iterator[Any]:
        for begin in range(0, len(self), BLOCK_DOCUMENTS):
            for table in self._tables(begin, begin + BLOCK_DOCUMENTS, [name]):
                yield from table[name].to_pylist()

    def _tables(self, begin: int, end: int, columns: list[str]) -> Iterator[pa.Table]:
        """Columns of the documents from begin to end, piece by piece."""
        end = min(end, len(self))
        while begin < end:
            number = bisect_right(self._starts, begin) - 1
            start = self._starts[number]
            stop = min(end, self._starts[number + 1])
            first, last = (begin - start) // BLOCK_DOCUMENTS, (stop - 1 - start) // BLOCK_DOCUMENTS
            with parquet.ParquetFile(self.files[number]) as file:
                table = file.read_row_groups([*range(first, last + 1)], columns=columns)
            yield table.slice(begin - start - first * BLOCK_DOCUMENTS, stop - begin)
            begin = stop
