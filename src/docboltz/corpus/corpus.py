"""Counted documents: a sparse matrix, its vocabulary, and the documents' ids, labels and dates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Self
from zipfile import ZipFile

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse import csr_array, load_npz

from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.disk import as_float32, file_of, index_type
from docboltz.errors import (
    FractionalCountsWarning,
    InvalidCorpus,
    InvalidCounts,
    is_whole,
    require,
    warn_user,
)
from docboltz.storage import StrPath, open_file


class Vocabulary(tuple[str, ...]):
    """The words of a document-term matrix, in the order of its columns: a tuple that can look up.

    >>> v = Vocabulary(["sea", "ship"])
    >>> v[1], v.column("ship"), v.column("sky"), "sea" in v, len(v)
    ('ship', 1, None, True, 2)

    A stem is no word: `forms` says how to show each to people. It does not count in comparisons.

    >>> Vocabulary(["hockei"], ["hockey"]).forms
    ('hockey',)
    """

    forms: tuple[str, ...]
    """Each word as it is shown to people."""
    _columns: dict[str, int]

    def __new__(cls, words: Iterable[str], forms: Iterable[str] | None = None) -> Self:
        """Take the words and, where they are not words as people write them, their forms."""
        self = super().__new__(cls, words)
        self.forms = self.words if forms is None else tuple(forms)
        self._columns = {word: column for column, word in enumerate(self)}
        if len(self.forms) != len(self):
            raise InvalidCorpus(
                f"A vocabulary of {len(self)} words needs as many forms; got {len(self.forms)}."
            )
        for column, word in enumerate(self):
            if not isinstance(word, str):
                raise InvalidCorpus(
                    f"A vocabulary holds words; got {word!r}.", hint="Pass str(...) of it."
                )
            if self._columns[word] != column:
                raise InvalidCorpus(f"A vocabulary holds each word once; {word!r} is there twice.")
        return self

    @property
    def words(self) -> tuple[str, ...]:
        """All words in the order of their columns."""
        return tuple(self)

    def column(self, word: str) -> int | None:
        """The word's column, or None if the vocabulary lacks it."""
        return self._columns.get(word)

    def columns(self) -> dict[str, int]:
        """The column of every word, in a new dictionary."""
        return dict(self._columns)

    def __contains__(self, word: object) -> bool:
        return word in self._columns

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self[:5]))
        return f"Vocabulary({len(self)} words: {shown}{', …' if len(self) > 5 else ''})"


MOST = 2**24
"""Float32 holds every whole number up to here."""


def check_structure(X: Any, owner: str) -> None:
    """Refuse a sparse matrix whose index arrays do not fit together, as SciPy finds it."""
    if not sparse.issparse(X):
        return
    try:
        # A shallow copy, as the check cuts what is behind the last entry.
        compressed = copy(X) if X.format in ("csr", "csc") else X.tocsr()
        compressed.check_format(full_check=True)
    except (AttributeError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise InvalidCounts(
            f"{owner} got a sparse matrix of shape {X.shape} that cannot be read: {error}.",
            hint="Build it anew, as in scipy.sparse.csr_array((data, (rows, columns)), shape).",
        ) from error


def check_counts(X: Any, owner: str) -> sparse.csr_array:
    """Return X, a finite 2-d array or sparse matrix, as CSR float32 counts in column order.

    X itself stays as it is.

    `owner` names the caller in messages, as in "OverReplicatedSoftmax.transform".
    """
    dtype = X.dtype if hasattr(X, "dtype") else np.asarray(X).dtype
    kind = dtype.kind
    if kind not in "buif":
        raise InvalidCounts(
            f"{owner} expects raw word counts and got values of type {dtype}.",
            hint="Pass whole numbers, for example from CountVectorizer.",
        )
    check_structure(X, owner)
    if (kind, dtype.itemsize) == ("f", 2) or not dtype.isnative:
        X = X.astype(np.float64)  # SciPy has neither half precision nor other machines' numbers
    counts = sparse.csr_array(X)
    if not counts.has_canonical_format or counts.indptr[-1] != len(counts.data):
        counts = counts.copy()  # which is ours to put in order
        counts.sum_duplicates()
        counts.prune()
    values = counts.data
    if values.dtype.kind == "f":
        _refuse(counts, ~np.isfinite(values), owner, "finite word counts", "contains NaN or inf")
        if (np.rint(values) != values).any():
            example = values[np.rint(values) != values][0]
            warn_user(
                f"{owner} got counts that are not whole numbers, such as {example:g}. If these are "
                "tf-idf weights, pass the raw counts: the model's lengths and likelihoods mean "
                "nothing otherwise.",
                FractionalCountsWarning,
            )
    # Extremes first: to look for the place costs more, and there is one only if something is wrong.
    if values.dtype.kind not in "ub" and values.min(initial=0) < 0:
        _refuse(counts, values < 0, owner, "word counts of 0 or more", "Negative values in data")
    largest = float(values.max(initial=0))
    if largest > MOST:
        most = f"word counts of at most {MOST:,}"
        _refuse(counts, values > MOST, owner, most, "Too large values in data")
    if largest * np.diff(counts.indptr).max(initial=0) > MOST:
        longest = row_sums(counts).max()
        if longest > MOST:
            raise InvalidCounts(
                f"{owner} got a document of {longest:,.0f} words; the longest may have {MOST:,}.",
                hint="Cut it into several.",
            )
    return as_float32(counts)


BLOCK_ROWS = 1 << 18


def row_sums(counts: sparse.csr_array) -> NDArray[Any]:
    """The sum of each row, some rows at a time: SciPy copies what it adds up."""
    rows = range(0, counts.shape[0], BLOCK_ROWS)
    sums = [counts[begin : begin + BLOCK_ROWS].sum(axis=1) for begin in rows]
    return np.concatenate([np.asarray(part).reshape(-1) for part in sums] or [np.zeros(0)])


def _refuse(counts: sparse.csr_array, bad: Any, owner: str, expected: str, finding: str) -> None:
    """Raise InvalidCounts for the first bad entry, if there is one."""
    if not bad.any():
        return
    entry = int(np.argmax(bad))
    row = int(np.searchsorted(counts.indptr, entry, side="right")) - 1
    raise InvalidCounts(
        f"{finding} passed to {owner}, which expects {expected} of shape "
        f"(n_documents, {counts.shape[1]}); got {counts.data[entry]} at row {row}, column "
        f"{counts.indices[entry]}.",
        hint="Pass the raw counts, for example from CountVectorizer.",
    )


LARGEST = 1 << 34
"""Bytes of a matrix, unpacked: a few of a zip file may say that there are more than any memory."""


def load_matrix(path: StrPath) -> csr_array:
    """The sparse matrix in a file; OSError or ValueError for anything else."""
    with open_file(path) as stream:
        try:
            with ZipFile(stream) as archive:
                size = sum(entry.file_size for entry in archive.infolist())
            if size > LARGEST:
                raise ValueError(f"it would take {size:,} bytes")
            stream.seek(0)
            matrix = load_npz(stream)  # which refuses pickles
            if matrix.format not in ("csr", "csc", "coo"):  # others are not checked to the end
                raise ValueError(f"the format {matrix.format} is not read")
            check_structure(matrix, "docboltz")
            return csr_array(matrix)
        except Exception as error:  # zipfile, zlib, NumPy and SciPy have a dozen kinds
            raise ValueError(f"{path} holds no matrix ({error})") from error


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
        return file_of(self.counts.data) is not None

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
        places = np.full(len(self.vocabulary), -1, np.int32)
        places[picked] = np.arange(len(picked), dtype=np.int32)
        counts = renumbered(self.counts, places, len(picked))
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


def renumbered(counts: csr_array, places: NDArray[np.int32], n_columns: int) -> csr_array:
    """The counts with column j at places[j], where that is not −1; indices are sorted."""
    columns = places[counts.indices]
    kept = columns >= 0
    starts = starts_of(kept)[counts.indptr]
    shape = (counts.shape[0], n_columns)
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
