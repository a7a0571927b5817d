"""What every store can do, whoever keeps the vectors; and which one a folder names."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from docboltz.bundles import Opened
from docboltz.corpus.document import Document
from docboltz.errors import require
from docboltz.files import StrPath
from docboltz.search.documents import END_OF_NUMBERS
from docboltz.search.filters import ANY, Filter
from docboltz.search.nearest import Best, Weights
from docboltz.search.vectors import Floats
from docboltz.search.words import Rows, WordIndex

By = Literal["both", "features", "words"]

WORDS_PER_FEATURE_COSINE = 0.3
"""What the words' cosine counts for beside that of features. Chosen on validation documents of
seven collections, whole ones and three or six of their words as queries:
benchmarks/search_score.py."""
WEIGHTS: dict[str, Weights] = {
    "both": Weights(1 / (1 + WORDS_PER_FEATURE_COSINE), 1 - 1 / (1 + WORDS_PER_FEATURE_COSINE)),
    "features": Weights(1.0, 0.0),
    "words": Weights(0.0, 1.0),
}


class Store(Protocol):
    """A collection to search, n documents by their rows, from 0. tests/search/test_laws.py."""

    @property
    def opened(self) -> Opened:
        """Its manifest; a new `build` whenever the collection changes."""

    @property
    def model(self) -> str:
        """Fingerprint of the model the features come from."""

    @property
    def n_features(self) -> int:
        """F."""

    @property
    def n_words(self) -> int:
        """K."""

    @property
    def mean(self) -> Floats | None:
        """What is subtracted from features before they are normalised: (F,)."""

    @property
    def next_number(self) -> int:
        """Behind all numbers that are, or ever were, ids: for documents that have none."""

    @property
    def features(self) -> Floats:
        """Unit vectors of all documents: (n, F)."""

    @property
    def words(self) -> WordIndex:
        """The words of all documents."""

    @property
    def wordless(self) -> Rows:
        """Rows of documents without a known word: never a hit."""

    @property
    def n_wordless(self) -> int:
        """Number of them."""

    @property
    def is_exact(self) -> bool:
        """Whether the best documents are found for certain."""

    def __len__(self) -> int: ...

    def search(
        self,
        features: ArrayLike,
        counts: csr_array,
        k: int,
        *,
        by: By = "both",
        exclude_rows: ArrayLike = (),
        wanted: Filter = ANY,
    ) -> Best:
        """The k best documents for each query."""

    def similar(self, rows: ArrayLike, k: int, *, by: By = "both", wanted: Filter = ANY) -> Best:
        """As `search`, for documents of the collection."""

    def words_of(self, rows: ArrayLike) -> csr_array:
        """tf-idf weights of documents: (len(rows), K)."""

    def documents(self, rows: ArrayLike) -> list[Document]:
        """Id, labels, date and text of each of the rows."""

    def labels_and_dates(self) -> tuple[list[tuple[str, ...]], list[str]]:
        """Labels and date of every document."""

    def row_of(self, id: str) -> int:
        """The row of the document with this id."""

    def rows_of(self, ids: Collection[str]) -> Rows:
        """Rows of the documents that have one of these ids, in order."""

    def copy_to(self, folder: StrPath) -> None:
        """Make it the store of another folder."""


def checked_mean(values: list[float] | None, n_features: int) -> Floats | None:
    """The mean of a manifest, or ValueError."""
    if values is None:
        return None
    mean = np.array(values, np.float64)
    if mean.shape != (n_features,) or not (np.abs(mean) <= np.finfo(np.float32).max).all():
        raise ValueError("its mean is not that of its features")
    return mean.astype(np.float32)


def checked_number(value: object) -> int:
    """A number that ids may go on from, or ValueError."""
    if not (isinstance(value, int) and 0 <= value <= END_OF_NUMBERS):
        raise ValueError("its ids cannot be numbered on")
    return value


def checked_rows(rows: ArrayLike, n: int, method: str, name: str) -> Rows:
    """Rows of n documents, or an error that says what rows there are."""
    array = np.asarray(rows)
    whole = array.ndim == 1 and (array.dtype.kind in "iu" or not array.size)
    fits = whole and bool(((array >= 0) & (array < n)).all())
    require(fits, f"SearchStore.{method}", name, f"a list of rows from 0 to {n - 1}", rows)
    return array.astype(np.int64)


def open_store(folder: Path, *, model: str | None = None) -> Store:
    """Open the store that a folder holds or names; with `model`, only if that made it."""
    from docboltz.search.milvus import MilvusStore
    from docboltz.search.milvus_place import MILVUS, manifest_folder
    from docboltz.search.store import SearchStore

    if MILVUS.exists(manifest_folder(folder)):
        return MilvusStore.open(folder, model=model)
    return SearchStore.open(folder, model=model)


def hold_store(folder: Path) -> AbstractContextManager[None]:
    """Keep others from changing the store of a folder; who holds it may."""
    from docboltz.search.milvus_place import MILVUS, manifest_folder
    from docboltz.search.writer import STORE

    place = manifest_folder(folder)
    return MILVUS.locked(place) if MILVUS.exists(place) else STORE.locked(folder)


def own_milvus(folder: Path) -> None:
    """Make the collection in Milvus that a folder names, if it does, that folder's own."""
    from docboltz.search.milvus_place import MILVUS, manifest_folder, owner_name

    if MILVUS.exists(place := manifest_folder(folder)):
        with MILVUS.saving(place) as build:
            build.publish({**MILVUS.open(place).content, "owner": owner_name(folder)})


def forget_milvus(folder: StrPath) -> None:
    """Let a folder name a store in Milvus no more; what is there stays there."""
    from docboltz.search.milvus_place import MILVUS, manifest_folder

    MILVUS.remove(manifest_folder(Path(folder)))


def model_of_store(folder: Path) -> object:
    """Fingerprint of the model that made the store of a folder; None if there is no store."""
    from docboltz.search.milvus_place import MILVUS, manifest_folder
    from docboltz.search.writer import STORE

    for kind, place in ((MILVUS, manifest_folder(folder)), (STORE, folder)):
        if kind.exists(place):
            return kind.open(place).content.get("model")
    return None
