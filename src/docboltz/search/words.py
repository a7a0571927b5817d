"""Which documents have which words: tf-idf weights of a collection, by document and by word.

n documents, K words, Q queries. A document's weights are (1 + log count) · idf, normalised, with
scikit-learn's smoothed idf = 1 + log((1 + n) / (1 + documents with the word)). Both orders are kept
on disk and memory-mapped: by word to score all documents that share a word with a query, by
document to settle the scores of the best exactly and to ask with a document.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class WordIndex:
    """Six arrays, each a file. Entry e of document i: starts[i] ≤ e < starts[i + 1]."""

    idf: NDArray[np.float64]
    """(K,)"""
    starts: NDArray[np.int64]
    """(n + 1,)"""
    columns: NDArray[np.int32]
    """Words of the documents, one document after the other."""
    weights: Floats
    """Their weights."""
    word_starts: NDArray[np.int64]
    """(K + 1,): the same entries word by word."""
    rows: NDArray[np.int32]
    """Documents of the words, in order."""
    row_weights: Floats
    """Their weights."""

    @classmethod
    def of(cls, counts: csr_array) -> Self:
        """Weigh the words of counted documents, (n, K)."""
        n, K = counts.shape
        df = np.bincount(counts.indices, minlength=K)
        idf = 1 + np.log((1 + n) / (1 + df))
        by_document = weighted(counts, idf)
        by_word = by_document.tocsc()
        return cls(
            idf,
            by_document.indptr.astype(np.int64),
            by_document.indices.astype(np.int32),
            by_document.data,
            by_word.indptr.astype(np.int64),
            by_word.indices.astype(np.int32),
            by_word.data,
        )

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Map the arrays that `save` wrote."""
        return cls(*(_mapped(folder / file) for file in FILES))

    def save(self, folder: Path) -> None:
        """Write each array to a file."""
        for field, file in zip(fields(self), FILES, strict=True):
            np.save(folder / file, getattr(self, field.name))

    def require_shape(self, n: int, K: int) -> None:
        """Raise ValueError unless these are arrays about n documents and K words."""
        arrays = [getattr(self, field.name) for field in fields(self)]
        entries = len(self.columns)
        fits = (
            [array.dtype.str for array in arrays] == DTYPES
            and all(array.ndim == 1 for array in arrays)
            and (len(self.idf), len(self.starts), len(self.word_starts)) == (K, n + 1, K + 1)
            and len(self.weights) == len(self.rows) == len(self.row_weights) == entries
            and self.starts[0] == self.word_starts[0] == 0
            and self.starts[-1] == self.word_starts[-1] == entries
        )
        if not fits:
            raise ValueError(f"its words are not those of {n} documents")

    def vectors(self, counts: csr_array) -> csr_array:
        """Weights of queries, (Q, K), as those of the documents."""
        return weighted(counts, self.idf)

    def of_documents(self, rows: Rows) -> csr_array:
        """Weights of documents of the collection, (len(rows), K)."""
        entries, starts = self._entries(rows)
        shape = (len(rows), len(self.idf))
        return csr_array((self.weights[entries], self.columns[entries], starts), shape=shape)

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
                found[i, self.rows[entries]] += weight * self.row_weights[entries]
        return found

    def exact(self, rows: Rows, query: NDArray[np.float64]) -> NDArray[np.float64]:
        """Cosines of one query (K,) with some documents, in float64."""
        entries, starts = self._entries(rows)
        products = self.weights[entries] * query[self.columns[entries]]
        # reduceat has no empty sums: a zero behind each document's products stands for them.
        padded = np.insert(products, starts[1:], 0.0)
        return np.add.reduceat(padded, starts[:-1] + np.arange(len(rows))).clip(-1, 1)

    def _entries(self, rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the entries of documents are, and where each document's begin among them."""
        lengths = self.starts[rows + 1] - self.starts[rows]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        first = np.repeat(self.starts[rows] - starts[:-1], lengths)
        return first + np.arange(starts[-1]), starts


DTYPES = ["<f8", "<i8", "<i4", "<f4", "<i8", "<i4", "<f4"]
FILES = tuple(f"words-{field.name.replace('_', '-')}.npy" for field in fields(WordIndex))


def weighted(counts: csr_array, idf: NDArray[np.float64]) -> csr_array:
    """(1 + log count) · idf, each row normalised, float32; a row without words stays 0."""
    values = (1 + np.log(counts.data.astype(np.float64))) * idf[counts.indices]
    owner = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    norm = np.sqrt(np.bincount(owner, values**2, minlength=counts.shape[0]))
    data = (values / norm[owner]).astype(np.float32)
    return csr_array((data, counts.indices, counts.indptr), shape=counts.shape)


def _mapped(file: Path) -> NDArray[Any]:
    # An empty array cannot be mapped, and a small one need not be.
    mode: Any = "r" if file.stat().st_size > 4096 else None
    array: NDArray[Any] = np.load(file, mmap_mode=mode, allow_pickle=False)
    return array
