"""What the estimators take in: raw word counts, checked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils.validation import check_is_fitted, validate_data

from docboltz.corpus.corpus import check_counts, check_structure, row_sums, without_empty
from docboltz.corpus.reading import is_frame
from docboltz.errors import EmptyDocumentsWarning, InvalidCounts, warn_user
from docboltz.inference import to_torch
from docboltz.model.counts import SparseCounts


class ReadsCounts:
    """Reading of word counts, for the estimators."""

    def _nonempty_counts(self, X: ArrayLike, method: str, *, reset: bool) -> sparse.csr_array:
        """Check X to learn from; leave documents without words out."""
        counts = self._validate(X, method, reset=reset)
        n = row_sums(counts)
        empty = int((n == 0).sum())
        if empty == len(n):
            raise InvalidCounts(
                f"{type(self).__name__} got {len(n)} document(s) without a single word: every "
                "count is 0. Check the vocabulary and the minimum document frequency of the "
                "counting step."
            )
        if empty:
            warn_user(
                f"{empty} of {len(n)} documents have no words and were left out of training.",
                EmptyDocumentsWarning,
            )
            counts = _without_rows(counts, n == 0)
        return counts

    @contextmanager
    def _unchanged_if_refused(self) -> Iterator[None]:
        """Put all attributes back if something is refused: a fitted model stays what it was."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    def _fitted_counts(self, X: ArrayLike, method: str) -> SparseCounts:
        """Check X against the fitted model."""
        check_is_fitted(self)
        return to_torch(self._validate(X, method, reset=False))

    def _validate(self, X: ArrayLike, method: str, *, reset: bool) -> sparse.csr_array:
        owner = f"{type(self).__name__}.{method}"
        if _holds_text(X):
            raise InvalidCounts(
                f"{owner} expects raw word counts and got texts.",
                hint="Count their words first, as scikit-learn's CountVectorizer does, or use "
                "TextModel, which takes texts.",
            )
        if getattr(X, "format", "csr") != "csr":  # before anybody converts it
            check_structure(X, owner)
        try:
            X = validate_data(self, X, accept_sparse="csr", ensure_all_finite=False, reset=reset)
        except ValueError as error:
            raise InvalidCounts(
                f"{error}\n{owner} expects raw word counts, one row per document and one column "
                "per word of the vocabulary the model was trained with."
            ) from error
        return check_counts(X, owner)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]  # scikit-learn's mixins come after
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.non_deterministic = False
        if tags.transformer_tags is not None:
            tags.transformer_tags.preserves_dtype = []  # features are float32, whatever counts are
        return tags


def _without_rows(counts: sparse.csr_array, empty: Any) -> sparse.csr_array:
    """Leave out documents whose counts are all 0."""
    if np.diff(counts.indptr)[empty].any():  # zeros that are written out
        return counts[~empty]
    return without_empty(counts)


def _holds_text(X: Any) -> bool:
    """Tell whether somebody passed texts, or numbers spelled as texts, where counts should be.

    scikit-learn would take "7" for a number.
    """
    first = X
    for _ in range(2):
        if isinstance(first, list | tuple | np.ndarray) and len(first):
            first = first[0]
    if isinstance(first, str):
        return True
    if sparse.issparse(X):
        return False
    try:  # of a data frame without its rows: the type is all that is asked
        kind = np.asarray(X[:0] if is_frame(X) else X).dtype.kind
        values = np.asarray(X).flat if kind == "O" else ()
    except (TypeError, ValueError):  # not even an array: scikit-learn says so better
        return False
    return kind in "US" or any(isinstance(value, str | bytes) for value in values)
