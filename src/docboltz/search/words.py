"""Which documents have which words: tf-idf weights of a collection, by document and by word.

n documents, K words, Q queries. A document's weights are (1 + log count) · idf, normalised, with
scikit-learn's smoothed idf = 1 + log((1 + n) / (1 + documents with the word)). Both orders are kept
on disk and memory-mapped: weights by word to score all documents that share a word with a query,
counts by document to compute the scores of the best exactly and to ask with a document.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from docboltz.corpus.checks import check_structure
from docboltz.corpus.stored import mapped

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]

# Unsigned, so that no number, whoever wrote the file, counts from an array's end.
DTYPES = {
    "idf": "<f8", "starts": "<i8", "columns": "<u4", "counts": "<u4",
    "word_starts": "<i8", "rows": "<u4", "row_weights": "<f4",
}  # fmt: skip
FILES = {name: f"words-{name.replace('_', '-')}.{dtype[1:]}" for name, dtype in DTYPES.items()}
"""Files of the arrays, which hold their numbers and nothing else."""
ENTRIES_AT_ONCE = 1 << 21
"""Words of documents that are put in the order of words in memory: some 150 MB."""


class WordWriter(ExitStack):
    """Writes the words of documents to a folder, block by block: a context that closes its files.

    By document as they come; then, by a counting sort, by word. Memory holds one block.
    """

    def __init__(self, folder: Path, n_words: int) -> None:
        super().__init__()
        self._folder, self._n, self._entries = folder, 0, 0
        self._df = np.zeros(n_words, np.int64)
        names = ("starts", "columns", "counts")
        self._files = {
            name: self.enter_context((folder / FILES[name]).open("xb")) for name in names
        }
        self._write(starts=np.zeros(1))

    def append(self, counts: csr_array) -> None:
        """Add counted documents at the end: (B, K); ValueError if these are no counts."""
        counts = _in_order(counts)
        whole = counts.data.astype("<u4")
        if not np.array_equal(whole, counts.data):
            raise ValueError("counts are whole numbers")
        starts = self._entries + counts.indptr[1:].astype(np.int64)
        self._write(starts=starts, columns=counts.indices, counts=whole)
        self._df += np.bincount(counts.indices, minlength=len(self._df))
        self._n += counts.shape[0]
        self._entries += counts.nnz

    def finish(self) -> None:
        """Weigh the words, and write them word by word."""
        self.close()
        idf = idf_of(self._n, self._df)
        places = np.concatenate([[0], np.cumsum(self._df)])
        for name, array in (("idf", idf), ("word_starts", places)):
            (self._folder / FILES[name]).write_bytes(array.astype(DTYPES[name]).data)
        with (
            (self._folder / FILES["rows"]).open("xb") as rows,
            (self._folder / FILES["row_weights"]).open("xb") as weights,
        ):
            for first, block in _weighted_blocks(self._folder, idf):
                by_word = block.tocsc()
                theirs = (by_word.indices + first).astype("<u4")
                for k in np.flatnonzero(np.diff(by_word.indptr)).tolist():
                    own = slice(by_word.indptr[k], by_word.indptr[k + 1])
                    # Not through a map: of a full disk that would be told by a signal that kills.
                    for file, data in ((rows, theirs), (weights, by_word.data)):
                        file.seek(4 * int(places[k]))
                        file.write(data[own].data)
                    places[k] += own.stop - own.start

    def _write(self, **arrays: NDArray[Any]) -> None:
        for name, array in arrays.items():
            self._files[name].write(array.astype(DTYPES[name], copy=False).data)


@dataclass(frozen=True, eq=False)
class WordIndex:
    """Seven arrays, each a file. Entry e of document i: starts[i] ≤ e < starts[i + 1].

    Whatever the files hold, a method gives an answer, or IndexError or ValueError.
    """

    idf: NDArray[np.float64]
    """(K,)"""
    starts: NDArray[np.int64]
    """(n + 1,)"""
    columns: NDArray[np.uint32]
    """Words of the documents, one document after the other."""
    counts: NDArray[np.uint32]
    """How often they come."""
    word_starts: NDArray[np.int64]
    """(K + 1,): the same entries word by word."""
    rows: NDArray[np.uint32]
    """Documents of the words, in order."""
    row_weights: Floats
    """Their weights."""

    @classmethod
    def of(cls, counts: csr_array) -> Self:
        """Weigh the words of counted documents in memory: (n, K)."""
        n, K = counts.shape
        counts = _in_order(counts)
        idf = idf_of(n, np.bincount(counts.indices, minlength=K))
        by_word = weighted(counts, idf).tocsc()
        orders = ((each.indptr, each.indices, each.data) for each in (counts, by_word))
        arrays = zip((idf, *chain(*orders)), DTYPES.values(), strict=True)
        return cls(*(array.astype(dtype, copy=False) for array, dtype in arrays))

    @classmethod
    def weighing(cls, idf: NDArray[np.float64]) -> Self:
        """Of no documents, to weigh queries by."""
        return replace(cls.of(csr_array((1, len(idf)))), idf=idf)

    @classmethod
    def load(cls, folder: Path, n: int, K: int) -> Self:
        """Map the arrays that `save` wrote of n documents and K words, or raise ValueError."""
        index = cls(*(mapped(folder / FILES[name], dtype) for name, dtype in DTYPES.items()))
        entries = len(index.columns)
        fits = (
            (len(index.idf), len(index.starts), len(index.word_starts)) == (K, n + 1, K + 1)
            and len(index.counts) == len(index.rows) == len(index.row_weights) == entries
            and _partition(index.starts, entries)
            and _partition(index.word_starts, entries)
            and bool(((index.idf >= 1) & np.isfinite(index.idf)).all())
        )
        if not fits:
            raise ValueError(f"its words are not those of {n} documents")
        return index

    def save(self, folder: Path) -> None:
        """Write each array to a file."""
        for name, file in FILES.items():
            (folder / file).write_bytes(getattr(self, name).data)

    def vectors(self, counts: csr_array) -> csr_array:
        """Weights of queries, (Q, K), as those of the documents."""
        return weighted(_in_order(counts), self.idf)

    def of_documents(self, rows: Rows) -> csr_array:
        """Weights of documents of the collection, (len(rows), K)."""
        weights, columns, starts = self._weights(rows)
        return csr_array((weights, columns, starts), shape=(len(rows), len(self.idf)))

    def counted(self, begin: int = 0, end: int | None = None) -> csr_array:
        """How often documents have each word, (n, K), or those from `begin` to `end`."""
        starts = np.asarray(self.starts[begin : None if end is None else end + 1])
        own = slice(int(starts[0]), int(starts[-1]))
        columns = self._known(self.columns[own]).astype(np.int32)
        shape = (len(starts) - 1, len(self.idf))
        return csr_array((self.counts[own].astype(np.int32), columns, starts - starts[0]), shape)

    def presence(self) -> csr_array:
        """1 for each word of a document: (n, K). A copy in memory."""
        ones, shape = np.ones(len(self.columns), np.float32), (len(self.starts) - 1, len(self.idf))
        columns = self._known(self.columns).astype(np.int32)
        return csr_array((ones, columns, np.asarray(self.starts)), shape=shape)

    def n_words(self, rows: slice | Rows = slice(None)) -> NDArray[np.int64]:
        """Number of different known words of each document."""
        counts: NDArray[np.int64] = np.diff(self.starts)[rows]
        return counts

    def scores(self, queries: csr_array) -> Floats:
        """Cosines with all documents, in float32: (Q, n)."""
        found = np.zeros((queries.shape[0], len(self.starts) - 1), np.float32)
        for i in range(queries.shape[0]):
            own = slice(queries.indptr[i], queries.indptr[i + 1])
            for k, weight in zip(queries.indices[own], queries.data[own], strict=True):
                entries = slice(self.word_starts[k], self.word_starts[k + 1])
                # Three times as fast as found[i, rows] += ….
                np.add.at(found[i], self.rows[entries], weight * self.row_weights[entries])
        return found

    def exact(self, rows: Rows, query: NDArray[np.float64]) -> NDArray[np.float64]:
        """Cosines of one query (K,) with some documents, in float64."""
        weights, columns, starts = self._weights(rows)
        products = weights * query[columns]
        # reduceat has no empty sums: what it gives for documents without a word is not theirs.
        # Where such come last, a zero behind all products is their first, and in nobody's sum.
        first, empty = starts[:-1], starts[:-1] == starts[1:]
        if len(rows) and empty[-1]:
            products = np.append(products, 0.0)
        cosines: NDArray[np.float64] = np.add.reduceat(products, first)
        cosines[empty] = 0.0
        return cosines

    def _weights(self, rows: Rows) -> tuple[Floats, NDArray[np.uint32], NDArray[np.int64]]:
        """Weights of the words of documents, the words, and where each document's begin."""
        lengths = self.starts[rows + 1] - self.starts[rows]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        entries = np.repeat(self.starts[rows] - starts[:-1], lengths) + np.arange(starts[-1])
        columns, counts = self._known(self.columns[entries]), self.counts[entries]
        if not counts.all():
            raise ValueError("a document has a word no times")
        return _normalised(counts, columns, starts, self.idf), columns, starts

    def _known(self, columns: NDArray[np.uint32]) -> NDArray[np.uint32]:
        if columns.max(initial=0) >= len(self.idf):
            raise ValueError("a document has words that the vocabulary lacks")
        return columns


def weighted(counts: csr_array, idf: NDArray[np.float64]) -> csr_array:
    """(1 + log count) · idf, each row normalised, float32; a row without words stays 0."""
    data = _normalised(counts.data, counts.indices, counts.indptr, idf)
    return csr_array((data, counts.indices, counts.indptr), shape=counts.shape)


def _normalised(
    counts: NDArray[Any], columns: NDArray[Any], starts: NDArray[Any], idf: NDArray[np.float64]
) -> Floats:
    values = (1 + np.log(counts, dtype=np.float64)) * idf[columns]
    owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    norm = np.sqrt(np.bincount(owner, values**2, minlength=len(starts) - 1))
    weights: Floats = (values / norm[owner]).astype(np.float32)
    return weights


def _weighted_blocks(folder: Path, idf: NDArray[np.float64]) -> Iterator[tuple[int, csr_array]]:
    """The weights of some documents at a time, and the row of the first.

    Read, not mapped: what is read from a map stays in memory for as long as there is room.
    """
    starts = np.fromfile(folder / FILES["starts"], DTYPES["starts"])
    first, n = 0, len(starts) - 1
    while first < n:
        end = int(np.searchsorted(starts, starts[first] + ENTRIES_AT_ONCE, "right")) - 1
        end = max(end, first + 1)
        begin, entries = int(starts[first]), int(starts[end] - starts[first])
        columns, counts = (
            np.fromfile(folder / FILES[name], DTYPES[name], count=entries, offset=4 * begin)
            for name in ("columns", "counts")
        )
        block = (counts, columns.astype(np.int32), starts[first : end + 1] - begin)
        yield first, weighted(csr_array(block, shape=(end - first, len(idf))), idf)
        first = end


def idf_of(n: int, df: NDArray[np.int64]) -> NDArray[np.float64]:
    """What words weigh in a collection of n documents, `df` of which have each: (K,)."""
    idf: NDArray[np.float64] = 1 + np.log((1 + n) / (1 + df))
    return idf


def _in_order(counts: csr_array) -> csr_array:
    """Each word of a document once and in the order of words: equal documents get equal bits."""
    check_structure(counts, "SearchStore.search")
    counts = csr_array(counts, dtype=np.float64, copy=True)
    counts.sum_duplicates()
    counts.eliminate_zeros()
    return counts


def _partition(starts: NDArray[np.int64], entries: int) -> bool:
    """Tell whether `starts` cuts that many entries into pieces."""
    whole = starts[0] == 0 and starts[-1] == entries
    return bool(whole and (starts[1:] >= starts[:-1]).all())
