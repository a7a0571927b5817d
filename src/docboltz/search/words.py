"""Which documents have which words: tf-idf weights of a collection, by document and by word.

n documents, K words, Q queries. A document's weights are (1 + log count) · idf, normalised, with
scikit-learn's smoothed idf = 1 + log((1 + n) / (1 + documents with the word)). Both orders are kept
on disk and memory-mapped: by word to score all documents that share a word with a query, by
document to compute the scores of the best exactly and to ask with a document.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array

from docboltz.corpus.checks import check_structure

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]

# Unsigned, so that no number, whoever wrote the file, counts from an array's end.
DTYPES = {
    "idf": "<f8", "starts": "<i8", "columns": "<u4", "weights": "<f4",
    "word_starts": "<i8", "rows": "<u4", "row_weights": "<f4",
}  # fmt: skip
FILES = tuple(f"words-{name.replace('_', '-')}.{dtype[1:]}" for name, dtype in DTYPES.items())
"""Files of the arrays, which hold their numbers and nothing else."""


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
    weights: Floats
    """Their weights."""
    word_starts: NDArray[np.int64]
    """(K + 1,): the same entries word by word."""
    rows: NDArray[np.uint32]
    """Documents of the words, in order."""
    row_weights: Floats
    """Their weights."""

    @classmethod
    def of(cls, counts: csr_array) -> Self:
        """Weigh the words of counted documents, (n, K)."""
        n, K = counts.shape
        counts = _in_order(counts)
        df = np.bincount(counts.indices, minlength=K)
        idf = 1 + np.log((1 + n) / (1 + df))
        by_document = weighted(counts, idf)
        by_word = by_document.tocsc()
        orders = ((each.indptr, each.indices, each.data) for each in (by_document, by_word))
        arrays = zip((idf, *chain(*orders)), DTYPES.values(), strict=True)
        return cls(*(array.astype(dtype, copy=False) for array, dtype in arrays))

    @classmethod
    def load(cls, folder: Path, n: int, K: int) -> Self:
        """Map the arrays that `save` wrote of n documents and K words, or raise ValueError."""
        files = zip(FILES, DTYPES.values(), strict=True)
        index = cls(*(mapped(folder / file, dtype) for file, dtype in files))
        entries = len(index.columns)
        fits = (
            (len(index.idf), len(index.starts), len(index.word_starts)) == (K, n + 1, K + 1)
            and len(index.weights) == len(index.rows) == len(index.row_weights) == entries
            and _partition(index.starts, entries)
            and _partition(index.word_starts, entries)
            and bool(((index.idf >= 1) & np.isfinite(index.idf)).all())
        )
        if not fits:
            raise ValueError(f"its words are not those of {n} documents")
        return index

    def save(self, folder: Path) -> None:
        """Write each array to a file."""
        for name, file in zip(DTYPES, FILES, strict=True):
            (folder / file).write_bytes(getattr(self, name).data)

    def vectors(self, counts: csr_array) -> csr_array:
        """Weights of queries, (Q, K), as those of the documents."""
        return weighted(_in_order(counts), self.idf)

    def of_documents(self, rows: Rows) -> csr_array:
        """Weights of documents of the collection, (len(rows), K)."""
        entries, starts = self._entries(rows)
        columns, K = self.columns[entries], len(self.idf)
        if columns.max(initial=0) >= K:
            raise ValueError(f"there is no word {columns.max()}")
        return csr_array((self.weights[entries], columns, starts), shape=(len(rows), K))

    def presence(self) -> csr_array:
        """1 for each word of a document: (n, K). A copy in memory."""
        ones, shape = np.ones(len(self.columns), np.float32), (len(self.starts) - 1, len(self.idf))
        columns = self.columns.astype(np.int32)
        if len(columns) and not 0 <= columns.min() <= columns.max() < shape[1]:
            raise ValueError("a document has words that the vocabulary lacks")
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
        entries, starts = self._entries(rows)
        products = self.weights[entries] * query[self.columns[entries]]
        # reduceat has no empty sums: what it gives for documents without a word is not theirs.
        # Where such come last, a zero behind all products is their first, and in nobody's sum.
        first, empty = starts[:-1], starts[:-1] == starts[1:]
        if len(rows) and empty[-1]:
            products = np.append(products, 0.0)
        cosines: NDArray[np.float64] = np.add.reduceat(products, first)
        cosines[empty] = 0.0
        return cosines

    def _entries(self, rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the entries of documents are, and where each document's begin among them."""
        lengths = self.starts[rows + 1] - self.starts[rows]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        first = np.repeat(self.starts[rows] - starts[:-1], lengths)
        return first + np.arange(starts[-1]), starts


def weighted(counts: csr_array, idf: NDArray[np.float64]) -> csr_array:
    """(1 + log count) · idf, each row normalised, float32; a row without words stays 0."""
    values = (1 + np.log(counts.data)) * idf[counts.indices]
    owner = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    norm = np.sqrt(np.bincount(owner, values**2, minlength=counts.shape[0]))
    data = (values / norm[owner]).astype(np.float32)
    return csr_array((data, counts.indices, counts.indptr), shape=counts.shape)


def _in_order(counts: csr_array) -> csr_array:
    """Each word of a document once and in the order of words: equal documents get equal bits."""
    check_structure(counts, "SearchStore.search")
    counts = csr_array(counts, dtype=np.float64, copy=True)
    counts.sum_duplicates()
    counts.eliminate_zeros()
    return counts


def mapped(file: Path, dtype: DTypeLike) -> NDArray[Any]:
    """The numbers of a file that holds nothing else."""
    if not file.stat().st_size:  # which cannot be mapped
        return np.empty(0, dtype)
    return np.asarray(np.memmap(file, dtype, mode="r"))


def _partition(starts: NDArray[np.int64], entries: int) -> bool:
    """Tell whether `starts` cuts that many entries into pieces."""
    whole = starts[0] == 0 and starts[-1] == entries
    return bool(whole and (starts[1:] >= starts[:-1]).all())
