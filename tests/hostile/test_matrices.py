"""Files with broken matrices, and what callers pass as counts."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import sparse

import docboltz.baselines as baselines
from docboltz import OverReplicatedSoftmax, Pretraining, ReplicatedSoftmax
from docboltz.corpus.corpus import load_matrix
from docboltz.errors import InvalidCounts
from docboltz.model.counts import SparseCounts, lengths

N, K = 6, 5
FAR = 2**30


def whole(seed: int = 0) -> sparse.csr_array:
    """Counts with nothing wrong about them."""
    counts = np.random.default_rng(seed).poisson(1.0, (N, K))
    counts[:, 0] += 1
    return sparse.csr_array(counts)


def _with(part: str, change: Callable[[Any], Any], format: str = "csr") -> Any:
    """Whole counts, one of whose arrays was changed behind SciPy's back."""
    X = whole().asformat(format).copy()
    setattr(X, part, change(getattr(X, part).copy()))
    return X


def put(place: int, value: int) -> Callable[[Any], Any]:
    """Put one number into an array."""

    def change(array: Any) -> Any:
        array[place] = value
        return array

    return change


COMPRESSED: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "an index far outside": ("indices", put(1, FAR)),
    "an index one too large": ("indices", put(1, max(N, K))),
    "a negative index": ("indices", put(1, -1)),
    "a very negative index": ("indices", put(0, -FAR)),
    "a start far outside": ("indptr", put(2, FAR)),
    "an end far outside": ("indptr", put(-1, FAR)),
    "a negative start": ("indptr", put(0, -FAR)),
    "a first start above 0": ("indptr", put(0, 1)),
    "falling starts": ("indptr", lambda a: a[::-1].copy()),
    "too few starts": ("indptr", lambda a: a[:-2]),
    "too many starts": ("indptr", lambda a: np.append(a, a[-1])),
    "no starts": ("indptr", lambda a: a[:0]),
    "starts in a table": ("indptr", lambda a: a[None]),
    "too few indices": ("indices", lambda a: a[:3]),
    "too little data": ("data", lambda a: a[:3]),
    "no data": ("data", lambda a: a[:0]),
    "too much data": ("data", lambda a: np.append(a, a)),
    "data in a table": ("data", lambda a: a[:, None]),
}
BROKEN: dict[str, Callable[[], Any]] = {
    f"{format}, {name}": partial(_with, *case, format)
    for format in ("csr", "csc")
    for name, case in COMPRESSED.items()
}


@cache
def fitted(name: str) -> Any:
    """A model that nobody changes."""
    quick = Pretraining(updates=3)
    models = {
        "OverReplicatedSoftmax": OverReplicatedSoftmax(2, pretraining=quick, random_state=0),
        "ReplicatedSoftmax": ReplicatedSoftmax(2, pretraining=quick, random_state=0),
        "LatentDirichletAllocation": baselines.LatentDirichletAllocation(
            2, sweeps=2, inference_sweeps=2, random_state=0
        ),
        "DocNADE": baselines.DocNADE(2, updates=3, random_state=0),
        "NMF": baselines.NMF(2),
        "LSI": baselines.LSI(2),
        "TfIdf": baselines.TfIdf(),
        "Unigram": baselines.Unigram(),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return models[name].fit(whole())


METHODS = (
    "OverReplicatedSoftmax", "ReplicatedSoftmax", "LatentDirichletAllocation", "DocNADE", "NMF",
    "LSI", "TfIdf", "Unigram",
)  # fmt: skip


def saved(file: Path, X: Any) -> Path:
    """A file as SciPy would write it, without a look at what is in it."""
    shape = np.array((N, K))
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": shape}
    np.savez(file, format=X.format.encode(), _is_array=True, **parts)
    return file


@pytest.mark.parametrize("case", BROKEN)
def test_no_file_with_a_broken_matrix_is_read(case: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="holds no matrix"):
        load_matrix(saved(tmp_path / "counts.npz", BROKEN[case]()))


@pytest.mark.parametrize("format", ["bsr", "dia"])
def test_formats_that_are_not_checked_are_not_read(format: str, tmp_path: Path) -> None:
    sparse.save_npz(tmp_path / "counts.npz", whole().asformat(format))
    with pytest.raises(ValueError, match=f"the format {format} is not read"):
        load_matrix(tmp_path / "counts.npz")


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_whole_matrices_are_read(format: str, tmp_path: Path) -> None:
    sparse.save_npz(tmp_path / "counts.npz", whole().asformat(format))
    assert (load_matrix(tmp_path / "counts.npz") != whole()).nnz == 0


@pytest.mark.parametrize("starts", [[0, FAR, 4], [0, 2, FAR], [-FAR, 2, 4], [0, 4, 2], [4, 2, 0]])
def test_torch_follows_no_broken_starts(starts: list[int]) -> None:
    words, counts = torch.tensor([0, 1, 2, 3]), torch.ones(4)
    with pytest.raises(ValueError, match="begin and end within the counts"):
        lengths(SparseCounts(torch.tensor(starts), words, counts, 5))


# ---- what is right is taken as it is, and stays as it is ----


def unsorted(seed: int = 0) -> sparse.csr_array:
    X = whole(seed)
    for begin, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        own = slice(begin, end)
        X.indices[own], X.data[own] = X.indices[own][::-1].copy(), X.data[own][::-1].copy()
    return X


def doubled() -> sparse.csr_array:
    """Every word of a document in two entries."""
    X = whole()
    data = np.repeat(X.data, 2).astype(float)
    data[::2], data[1::2] = np.ceil(data[::2] / 2), np.floor(data[1::2] / 2)
    return sparse.csr_array((data, np.repeat(X.indices, 2), X.indptr * 2), shape=X.shape)


def with_slack() -> sparse.csr_array:
    """Room behind the last entry, as SciPy leaves it, with anything in it."""
    X = whole()
    X.data, X.indices = np.append(X.data, [-7, 10**9]), np.append(X.indices, [0, 1])  # 64 bits
    return X


def read_only(X: Any) -> Any:
    arrays = [X] if isinstance(X, np.ndarray) else [X.data, X.indices, X.indptr]
    for array in arrays:
        array.flags.writeable = False
    return X


def wide_indices() -> sparse.csr_array:
    X = whole()
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def _frame(dtype: str) -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(whole().toarray(), columns=list("abcde")).astype(dtype)


GOOD: dict[str, Callable[[], Any]] = {
    "dense": lambda: whole().toarray(),
    "lists": lambda: whole().toarray().tolist(),
    "Fortran order": lambda: np.asfortranarray(whole().toarray()),
    "every second row": lambda: np.repeat(whole().toarray(), 2, axis=0)[::2],
    "backwards": lambda: whole().toarray()[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": lambda: read_only(whole().toarray()),
    "read-only csr": lambda: read_only(whole()),
    "read-only unsorted csr": lambda: read_only(unsorted()),
    "unsorted csr": unsorted,
    "csr with double entries": doubled,
    "csr with slack": with_slack,
    "csr of 64 bits": wide_indices,
    "a csr matrix": lambda: sparse.csr_matrix(whole()),
    **{f: partial(whole().asformat, f, True) for f in ("csc", "coo", "lil", "dok", "bsr", "dia")},
    **{
        str(np.dtype(d)): partial(whole().astype, d)
        for d in ("i1", "u1", "i2", "u4", "u8", "f4", "f8")
    },
    "half": lambda: whole().toarray().astype(np.float16),
    "another machine's": lambda: whole().toarray().astype(">i2"),
    "objects": lambda: whole().toarray().astype(object),
    **{
        f"frame of {d}": partial(_frame, d)
        for d in ("int64", "Int64", "UInt8", "Int32", "Float64", "float32", "object", "category")
    },
}


def spelled(X: Any) -> Any:
    """All of a matrix, to compare: values, types, and the arrays inside."""
    if sparse.issparse(X):
        inside = {name: np.array(part) for name, part in vars(X).items() if hasattr(part, "dtype")}
        return {name: (part.dtype, part.tolist()) for name, part in inside.items()}, X.toarray()
    if hasattr(X, "dtypes"):
        return list(map(str, X.dtypes)), X.to_numpy().tolist()
    return (getattr(X, "dtype", None), np.array(X).tolist())


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("kind", GOOD)
@pytest.mark.filterwarnings("ignore")
def test_what_holds_counts_is_taken_and_stays_as_it_is(name: str, kind: str) -> None:
    X, before = GOOD[kind](), spelled(GOOD[kind]())
    model = fitted(name)
    method = "transform" if hasattr(model, "transform") else "score_samples"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names of columns that a fit did not have
        found, expected = (getattr(model, method)(each) for each in (X, whole()))
    dense = [part.toarray() if sparse.issparse(part) else part for part in (found, expected)]
    assert np.array_equal(*dense)
    assert str(spelled(X)) == str(before)


@pytest.mark.parametrize("kind", GOOD)
def test_learning_leaves_its_documents_as_they_are(kind: str) -> None:
    X, before = GOOD[kind](), spelled(GOOD[kind]())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        OverReplicatedSoftmax(2, pretraining=Pretraining(updates=3)).fit(X)
    assert str(spelled(X)) == str(before)


# ---- what holds no counts ----

pandas = pytest.importorskip("pandas")
digits = pandas.DataFrame(whole().toarray(), columns=list("abcde"))
NO_COUNTS: dict[str, Any] = {
    "a frame of strings": digits.astype(str),
    "a frame of strings and numbers": digits.astype({"c": str}),
    "a frame with one string": digits.astype(object).mask(digits == digits.max().max(), "1"),
    "a frame of pandas's strings": digits.astype("string"),
    "a frame of bytes": digits.astype(str).map(str.encode),
    "a frame of kinds of strings": digits.astype(str).astype("category"),
    "a frame of dates": digits.astype("datetime64[ns]"),
    "a frame of times": digits.astype("timedelta64[ns]"),
    "a frame with gaps": digits.astype("Int64").mask(digits == 1),
    "strings": whole().toarray().astype(str),
    "strings that are objects": whole().toarray().astype(str).astype(object),
    "one string among numbers": np.array([[1, 2, 3, 4, "5"]] * 2, object),
    "bytes": whole().toarray().astype("S"),
    "lists of strings": whole().toarray().astype(str).tolist(),
    "complex numbers": whole().toarray() * 1j,
    "complex sparse numbers": whole() * 1j,
    "dates": whole().toarray().astype("datetime64[s]"),
    "records": np.zeros((2, 5), [("a", int)]),
    "lists of other lengths": [[1, 2, 3, 4, 5], [1]],
    "a row": np.ones(5),
    "a cube": np.ones((2, 5, 2)),
    "a number": 3,
    "nothing": None,
    "a text": "counts",
    "a mapping": {"a": 1},
    "an iterator": iter([[1] * 5]),
    "a function": len,
}


@pytest.mark.parametrize("kind", NO_COUNTS)
@pytest.mark.filterwarnings("ignore")
def test_what_holds_no_counts_is_refused(kind: str) -> None:
    for model in map(fitted, METHODS):
        method = "transform" if hasattr(model, "transform") else "score_samples"
        with pytest.raises(InvalidCounts):
            getattr(model, method)(NO_COUNTS[kind])
