"""Documents → counts: a sparse matrix, its vocabulary, and the documents' ids, labels and dates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from docboltz.corpus.checks import check_structure, row_sums
from docboltz.corpus.stored import folder_of
from docboltz.corpus.text import TextAnalysis
from docboltz.corpus.vocabulary import Vocabulary
from docboltz.errors import InvalidCorpus, is_whole, require

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Corpus:
    """Counted documents. Row i of `counts` is the document `ids[i]`.

    Counts, ids, labels and dates of many documents are on disk, and read when they are asked for.
    """

    counts: csr_array
    """How often each word occurs in each document: (documents, words), 32-bit integers."""
    ids: Sequence[str]
    """A name for each document, no two alike."""
    labels: Sequence[tuple[str, ...]]
    """The labels of each document; often none or one."""
    vocabulary: Vocabulary
    """The words of the columns."""
    analysis: TextAnalysis | None = None
    """How text became words; None if the counts did not come from text."""
    n_outside: int = 0
    """Words of the texts that have no column: unknown, too rare or too common ones."""
    dates: Sequence[str] = ()
    """The date of each document by ISO 8601, "" where there is none. Left out, none has one."""

    def __post_init__(self) -> None:
        check_structure(self.counts, "Corpus")
        shape = (len(self.ids), len(self.vocabulary))
        if not len(self.dates):
            object.__setattr__(self, "dates", ("",) * shape[0])
        n_about = len(self.labels), len(self.dates)
        if self.counts.shape != shape or n_about != (shape[0], shape[0]):
            raise InvalidCorpus(
                f"A corpus of {shape[0]} ids and {shape[1]} words needs counts of shape {shape} "
                f"and as many labels and dates; got counts of shape {self.counts.shape}, "
                f"{n_about[0]} labels and {n_about[1]} dates."
            )

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"Corpus({len(self):,} documents, {len(self.vocabulary):,} words)"

    @property
    def on_disk(self) -> bool:
        """Whether counts are read from a file."""
        return folder_of(self.counts.data) is not None

    @property
    def n_empty(self) -> int:
        """Documents without a single word of the vocabulary."""
        return int(np.count_nonzero(np.diff(self.counts.indptr) == 0))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of counted words of each document: N of the model."""
        lengths: NDArray[np.int64] = row_sums(self.counts).astype(np.int64)
        return lengths

    @property
    def label_names(self) -> tuple[str, ...]:
        """Every label that occurs, in alphabetical order."""
        return tuple(sorted({label for labels in self.labels for label in labels}))

    def rows(self, index: ArrayLike) -> Corpus:
        """Pick documents by number or mask, in the order given."""
        picked = np.arange(len(self))[np.asarray(index)]
        return replace(
            self,
            counts=self.counts[picked],
            ids=tuple(self.ids[i] for i in picked),
            labels=tuple(self.labels[i] for i in picked),
            dates=tuple(self.dates[i] for i in picked),
        )

    def without_empty(self) -> Corpus:
        """The documents that have at least one word."""
        return self.rows(np.diff(self.counts.indptr) > 0) if self.n_empty else self

    def most_frequent(self, n_words: int) -> Corpus:
        """Keep the most frequent words, by falling frequency."""
        order = by_frequency(total_counts(self.counts), self.vocabulary)[:n_words]
        return self.columns(order)

    def columns(self, index: ArrayLike) -> Corpus:
        """Pick words by number, in the order given; what is dropped counts as outside."""
        picked = np.arange(len(self.vocabulary))[np.asarray(index)]
        counts = select_columns(self.counts, picked)
        dropped = int(self.counts.sum()) - int(counts.sum())
        words, forms = self.vocabulary.words, self.vocabulary.forms
        vocabulary = Vocabulary([words[i] for i in picked], [forms[i] for i in picked])
        return replace(
            self, counts=counts, vocabulary=vocabulary, n_outside=self.n_outside + dropped
        )


def split_rows(n: int, test_size: int | float, seed: int = 0) -> tuple[Rows, Rows]:
    """Split n documents at random into rows to learn from and to test on: so many or that share."""
    whole = is_whole(test_size)
    n_test = int(test_size) if whole else round(test_size * n)
    sensible = (whole or 0 < test_size < 1) and 0 < n_test < n
    expected = f"a share between 0 and 1 or a number below {n}, leaving some on each side"
    require(sensible, "split_rows", "test_size", expected, test_size)
    order = np.random.default_rng(seed).permutation(n)
    return np.sort(order[: n - n_test]), np.sort(order[n - n_test :])


def total_counts(counts: csr_array) -> NDArray[np.int64]:
    """How often each word occurs in all documents together."""
    sums = np.bincount(counts.indices, weights=counts.data, minlength=counts.shape[1])
    return sums.astype(np.int64)  # whole numbers up to 2⁵³ are exact in float64


def by_frequency(totals: NDArray[np.int64], words: Sequence[str]) -> NDArray[np.int64]:
    """Columns by falling frequency, ties in alphabetical order: the same in every run."""
    alphabetical = np.array(sorted(range(len(words)), key=words.__getitem__), dtype=np.int64)
    return alphabetical[np.argsort(-totals[alphabetical], kind="stable")]


def select_columns(counts: csr_array, picked: NDArray[np.int64]) -> csr_array:
    """counts[:, picked] with sorted indices, in one pass over the entries."""
    new_column = np.full(counts.shape[1], -1, np.int32)
    new_column[picked] = np.arange(len(picked), dtype=np.int32)
    columns = new_column[counts.indices]
    kept = columns >= 0
    starts = starts_of(kept)[counts.indptr]
    shape = (counts.shape[0], len(picked))
    result = csr_array((counts.data[kept], columns[kept], starts), shape=shape)
    result.sort_indices()
    return result


def without_empty(counts: csr_array) -> csr_array:
    """Leave out documents without an entry. Nothing of theirs is there, so nothing is copied."""
    starts = counts.indptr[np.append(True, np.diff(counts.indptr) > 0)]
    shape = (len(starts) - 1, counts.shape[1])
    return csr_array((counts.data, counts.indices, starts), shape=shape)


def starts_of(sizes: NDArray[Any]) -> NDArray[Any]:
    """Where each of pieces of these sizes begins, and where the last ends: in as few bytes as do.

    SciPy gives the columns of a matrix the type of these.
    """
    starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    return starts.astype(index_type(int(starts[-1])), copy=False)


def index_type(largest: int) -> type[np.int32] | type[np.int64]:
    """The type of numbers up to the largest."""
    return np.int32 if largest <= np.iinfo(np.int32).max else np.int64
