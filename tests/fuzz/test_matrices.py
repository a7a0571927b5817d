"""Sparse matrices with random parts: features, or a refusal; never anything that kills."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse

from docboltz.corpus.corpus import load_matrix
from docboltz.errors import InvalidCounts
from tests.fuzz.runs import examples, one_input
from tests.hostile.test_matrices import K, N, fitted, saved

INDEX = st.one_of(st.integers(-3, 8), st.sampled_from([2**31 - 1, -(2**31), 2**40, -(2**40)]))


FORMATS = {"csr": sparse.csr_array, "csc": sparse.csc_array, "matrix": sparse.csr_matrix}


def index_arrays(sizes: st.SearchStrategy[int]) -> st.SearchStrategy[Any]:
    """Arrays of 32 or 64 bits with indices of any kind, or with rising ones."""

    def of(size: int, bits: Any) -> st.SearchStrategy[Any]:
        limit = np.iinfo(bits)
        some = st.lists(
            INDEX.filter(lambda i: limit.min <= i <= limit.max), min_size=size, max_size=size
        )
        return st.one_of(some, some.map(sorted)).map(lambda values: np.array(values, bits))

    return st.tuples(sizes, st.sampled_from([np.int32, np.int64])).flatmap(lambda t: of(*t))


DATA = arrays.arrays(
    st.sampled_from([np.dtype(k) for k in ("f4", "f8", "i8", "u1", "?")]), st.integers(0, 12)
)
PARTS = st.tuples(
    st.sampled_from(sorted(FORMATS)),
    index_arrays(st.sampled_from([0, 1, K + 1, N + 1, N + 2])),
    index_arrays(st.integers(0, 12)),
    DATA,
)


def put_together(parts: Any) -> Any:
    """A matrix whose arrays are put there behind SciPy's back."""
    format, *own = parts
    X: Any = FORMATS[format]((N, K))
    X.indptr, X.indices, X.data = own
    return X


@settings(max_examples=examples(100, 3000))
@given(parts=PARTS)
@one_input()
def test_what_is_read_from_a_file_is_what_scipy_calls_whole(parts: Any) -> None:
    """SciPy's own full check is the oracle."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            X = load_matrix(saved(Path(folder, "counts.npz"), put_together(parts)))
        except ValueError:
            return
    X.check_format(full_check=True)


ANYTHING = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(),
    st.lists(st.lists(st.one_of(st.integers(-2, 2**70), st.floats(), st.text()), max_size=6)),
    arrays.arrays(arrays.scalar_dtypes(), arrays.array_shapes(max_dims=3, max_side=6)),
)  # fmt: skip


@settings(max_examples=examples(100, 3000))
@given(X=ANYTHING)
@one_input()
def test_anything_is_features_or_refused(X: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            assert np.isfinite(fitted("OverReplicatedSoftmax").transform(X)).all()
        except InvalidCounts:
            return
