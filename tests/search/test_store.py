from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from docboltz.errors import InvalidModelFile, InvalidParameter
from docboltz.search import store as module
from docboltz.search.manifest import Manifest
from docboltz.search.store import SearchStore
from tests.search.stores import data_file, store_of, write


def test_features_are_mapped_unit_vectors(tmp_path: Path, vectors: np.ndarray) -> None:
    store = store_of(tmp_path, vectors, mean=vectors.mean(0), model="sha256:abc")
    assert isinstance(store.features, np.memmap)
    assert store.features.dtype == np.float32
    assert not store.features.flags.writeable
    np.testing.assert_allclose(np.linalg.norm(store.features, axis=1), 1, atol=1e-6)
    assert (store.model, store.n_documents, store.n_features) == ("sha256:abc", 50, 8)
    assert len(store) == 50
    assert store.mean is not None
    np.testing.assert_array_equal(store.mean, vectors.mean(0))
    store.verify()


def test_queries_are_centred_as_documents_are(tmp_path: Path, vectors: np.ndarray) -> None:
    store = store_of(tmp_path, vectors, mean=vectors.mean(0))
    rows, scores = store.search(vectors, 3)
    np.testing.assert_array_equal(rows[:, 0], np.arange(50))
    np.testing.assert_allclose(scores[:, 0], 1, atol=1e-6)
    centred = vectors - vectors.mean(0)
    expected = (centred[rows[:, 1]] * centred).sum(1)
    expected /= np.linalg.norm(centred[rows[:, 1]], axis=1) * np.linalg.norm(centred, axis=1)
    np.testing.assert_allclose(scores[:, 1], expected, atol=1e-6)


def test_excluded_rows_may_come_twice(tmp_path: Path, vectors: np.ndarray) -> None:
    store = store_of(tmp_path, vectors)
    rows, _ = store.search(vectors[:3], 50, exclude_rows=[7, 3, 7])
    assert rows.shape == (3, 48)
    assert not np.isin(rows, [3, 7]).any()


@pytest.mark.parametrize("mean", [None, np.full(8, 0.25)])
def test_similar_is_search_without_oneself(
    tmp_path: Path, vectors: np.ndarray, mean: np.ndarray | None
) -> None:
    store = store_of(tmp_path, vectors, mean=mean)
    rows, scores = store.similar([4, 0, 4], 5)
    for row, found, score in zip([4, 0, 4], rows, scores, strict=True):
        expected = store.search(vectors[[row]], 5, exclude_rows=[row])
        np.testing.assert_array_equal(found, expected[0][0])
        np.testing.assert_allclose(score, expected[1][0], atol=1e-6)


def test_similar_among_many_equal_documents(tmp_path: Path) -> None:
    """Too many equals come before row 9 for it to be found among its own nearest."""
    store = store_of(tmp_path, np.ones((10, 2)))
    rows, _ = store.similar([0, 2, 9], 3)
    np.testing.assert_array_equal(rows, [[1, 2, 3], [0, 1, 3], [0, 1, 2]])
    rows, _ = store_of(tmp_path, np.zeros((4, 2))).similar([0, 3], 2)
    np.testing.assert_array_equal(rows, [[1, 2], [0, 1]])


def test_more_hits_than_documents_are_cut(tmp_path: Path, vectors: np.ndarray) -> None:
    store = store_of(tmp_path, vectors)
    assert store.search(vectors[:2], 1000)[0].shape == (2, 50)
    assert store.similar([0], 1000)[0].shape == (1, 49)
    assert store.search(np.empty((0, 8)), 3)[0].shape == (0, 3)
    assert store.similar([], 3)[0].shape == (0, 3)
    assert store_of(tmp_path, vectors[:1]).similar([0], 3)[0].shape == (1, 0)


def test_an_unknown_id_is_a_clear_error(tmp_path: Path, vectors: np.ndarray) -> None:
    store = store_of(tmp_path, vectors)
    assert store.row_of("d49") == 49
    for id_ in ("id", "\udcff"):
        with pytest.raises(InvalidParameter, match=r"No document has the id .* 50, such as 'd0'"):
            store.row_of(id_)


def test_threads_may_share_a_store(tmp_path: Path, vectors: np.ndarray) -> None:
    store = store_of(tmp_path, vectors)
    right: list[int] = []

    def look_up(i: int) -> None:
        row = store.row_of(f"d{i}")
        if row == store.search(vectors[[i]], 1)[0] and store.documents([row])[0].id == f"d{i}":
            right.append(i)

    threads = [threading.Thread(target=look_up, args=(i,)) for i in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(right) == list(range(50))


def test_importing_it_loads_neither_torch_nor_pyarrow() -> None:
    code = (
        "import sys, types; sys.modules['docboltz'] = p = types.ModuleType('d');"
        "p.__path__ = [sys.argv[1]]; import docboltz.search.store, docboltz.search.writer;"
        "sys.exit(bool({'torch', 'pyarrow'} & set(sys.modules)))"
    )
    package = str(Path(module.__file__).parent.parent)
    assert subprocess.run([sys.executable, "-c", code, package], check=False).returncode == 0


def damage(path: Path) -> Iterator[tuple[str, Any]]:
    yield "not there", (path / "store.json").unlink
    for name in ("features.f32", "documents.parquet"):
        file = data_file(path, name)
        data = file.read_bytes()
        yield "is missing", file.unlink
        yield "instead of", lambda file=file, data=data: file.write_bytes(data[:-1])
        yield "instead of", lambda file=file, data=data: file.write_bytes(data + b"\0")


def test_damaged_stores_are_refused(tmp_path: Path, vectors: np.ndarray) -> None:
    write(tmp_path, vectors)
    whole = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    for message, harm in damage(tmp_path):
        harm()
        with pytest.raises(InvalidModelFile, match=message) as caught:
            SearchStore.open(tmp_path)
        assert "`docboltz index MODEL CORPUS`" in str(caught.value)
        for file, content in whole.items():
            file.write_bytes(content)
    SearchStore.open(tmp_path)
    with pytest.raises(InvalidModelFile, match="not there"):
        SearchStore.open(tmp_path / "elsewhere")


def test_features_changed_in_place_are_found(tmp_path: Path, vectors: np.ndarray) -> None:
    for value in (np.nan, 7.0):
        write(tmp_path, vectors)
        features = np.memmap(data_file(tmp_path, "features.f32"), "<f4", "r+", shape=(50, 8))
        features[17] = value
        features.flush()
        store = SearchStore.open(tmp_path)
        with pytest.raises(InvalidModelFile, match="not unit vectors"):
            store.search(np.ones((1, 8)), 3)
        with pytest.raises(InvalidModelFile, match=r"checksum of features\.f32 differs"):
            store.verify()


def test_documents_changed_in_place_are_found(tmp_path: Path, vectors: np.ndarray) -> None:
    for place in (60, -60):  # in a page of ids, and in the footer
        write(tmp_path, vectors)
        file = data_file(tmp_path, "documents.parquet")
        data = bytearray(file.read_bytes())
        data[place] ^= 0xFF
        file.write_bytes(data)
        with pytest.raises(InvalidModelFile, match=r"checksum of documents\.parquet differs"):
            SearchStore.open(tmp_path).verify()


def test_another_models_store_is_refused(tmp_path: Path, vectors: np.ndarray) -> None:
    write(tmp_path, vectors, model="sha256:abc")
    assert SearchStore.open(tmp_path, model="sha256:abc").model == "sha256:abc"
    with pytest.raises(InvalidModelFile, match="another model"):
        SearchStore.open(tmp_path, model="sha256:def")


def test_opening_during_a_rebuild_finds_the_new_store(
    tmp_path: Path, vectors: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, vectors, model="old")
    real = Manifest.load
    rebuilds = iter([True])

    def load_then_rebuild(folder: Path) -> Any:
        manifest = real(folder)
        if next(rebuilds, False):
            write(tmp_path, vectors[:5], model="new")
        return manifest

    monkeypatch.setattr(Manifest, "load", load_then_rebuild)
    assert SearchStore.open(tmp_path).model == "new"


def test_bad_questions_are_refused(tmp_path: Path, vectors: np.ndarray) -> None:
    store = store_of(tmp_path, vectors)
    for k in (0, -1, 2.0, True):
        with pytest.raises(InvalidParameter, match="'k' parameter"):
            store.search(vectors, k)  # type: ignore[arg-type]
    for queries in (vectors[0], vectors[:, :7], vectors[None]):
        with pytest.raises(InvalidParameter, match=r"numbers of shape \(n, 8\)"):
            store.search(queries, 1)
    with pytest.raises(InvalidParameter, match="nan at row 0, column 0"):
        store.search(np.full((1, 8), np.nan), 1)
    for rows in ([50], [-1], [0.5], 3):
        with pytest.raises(InvalidParameter, match="rows from 0 to 49"):
            store.documents(rows)
        with pytest.raises(InvalidParameter, match="rows from 0 to 49"):
            store.similar(rows, 1)
        with pytest.raises(InvalidParameter, match="rows from 0 to 49"):
            store.search(vectors, 1, exclude_rows=rows)
