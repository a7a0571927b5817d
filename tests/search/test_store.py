from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from docboltz.errors import InvalidModelFile
from docboltz.search import store as module
from docboltz.search.documents import StoredDocuments
from docboltz.search.filters import Filter
from docboltz.search.interface import WEIGHTS
from docboltz.search.store import SearchStore
from docboltz.search.writer import FEATURES, STORE
from tests.search.stores import data_file, forge, store_of, write

WAYS = list(WEIGHTS)


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


def test_importing_it_loads_nothing_slow() -> None:
    code = (
        "import sys, types; sys.modules['docboltz'] = p = types.ModuleType('d');"
        "p.__path__ = [sys.argv[1]]; import docboltz.search.store, docboltz.search.writer;"
        "sys.exit(bool({'torch', 'sklearn', 'pandas', 'pyarrow'} & set(sys.modules)))"
    )
    package = str(Path(module.__file__).parent.parent)
    assert subprocess.run([sys.executable, "-c", code, package], check=False).returncode == 0


def damage(path: Path) -> Iterator[tuple[str, Any]]:
    yield "There is no docboltz search index", (path / "store.json").unlink
    for name in STORE.files:
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
        assert "Build it again with TextModel.index." in str(caught.value)
        for file, content in whole.items():
            file.write_bytes(content)
    SearchStore.open(tmp_path)
    with pytest.raises(InvalidModelFile, match="There is no docboltz search index"):
        SearchStore.open(tmp_path / "elsewhere")


def test_features_changed_in_place_are_found(
    tmp_path: Path, vectors: np.ndarray, counts: csr_array, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHECKED_BYTES", 0)  # as in a large collection
    for value in (np.nan, 7.0):
        write(tmp_path, vectors)
        features = np.memmap(data_file(tmp_path, "features.f32"), "<f4", "r+", shape=(50, 8))
        features[17] = value
        features.flush()
        store = SearchStore.open(tmp_path)
        for by in ("features", "both"):
            with pytest.raises(InvalidModelFile, match="features are not unit vectors"):
                store.search(np.ones((1, 8)), counts[[17]], 3, by=by)
        with pytest.raises(InvalidModelFile, match=r"features\.f32 was changed"):
            store.verify()


@pytest.mark.parametrize("name", STORE.files)
def test_bytes_changed_in_a_small_file_are_noticed_by_a_search(
    tmp_path: Path, vectors: np.ndarray, name: str
) -> None:
    write(tmp_path, vectors)
    file = data_file(tmp_path, name)
    whole = file.read_bytes()
    for place in (0, len(whole) // 2, -1):
        data = bytearray(whole)
        data[place] ^= 1
        file.write_bytes(data)
        with pytest.raises(InvalidModelFile, match=f"{name} was changed after it was saved"):
            SearchStore.open(tmp_path)
    file.write_bytes(whole)
    SearchStore.open(tmp_path)


def test_a_store_that_is_replaced_while_it_is_opened_is_no_damaged_one(
    tmp_path: Path, vectors: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, vectors)
    plain, calls = STORE.__class__.verify, []

    def verify(*arguments: Any) -> None:
        calls.append(arguments)
        if len(calls) == 1:
            write(tmp_path, vectors[:20])
        plain(*arguments)

    monkeypatch.setattr(STORE.__class__, "verify", verify)
    assert len(SearchStore.open(tmp_path)) == 20


@pytest.mark.parametrize("name", sorted({*STORE.files} - {FEATURES}))
def test_files_changed_in_place_are_found(tmp_path: Path, vectors: np.ndarray, name: str) -> None:
    for place in (60, -1):
        write(tmp_path, vectors)
        file = data_file(tmp_path, name)
        data = bytearray(file.read_bytes())
        data[place] ^= 0xFF
        file.write_bytes(data)
        with pytest.raises(InvalidModelFile, match=f"{name} was changed"):
            STORE.verify(STORE.open(tmp_path))


SIZES = ("n_documents", "n_features", "n_words")


@pytest.mark.parametrize(
    "content",
    [
        *({name: value} for name in SIZES for value in (0, -1, 7, 49.0, "50", True, None, 10**30)),
        *({"mean": value} for value in (0, "x", [0] * 7, [[0] * 8], [None] * 8, ["x"] * 8)),
        *({"mean": [0] * 7 + [value]} for value in (float("nan"), float("inf"), 1e300, 10**400)),
    ],
    ids=str,
)
def test_a_manifest_of_wrong_content_is_refused(
    tmp_path: Path, vectors: np.ndarray, content: dict[str, Any]
) -> None:
    """Even with a checksum that fits."""
    write(tmp_path, vectors)
    forge(tmp_path)
    SearchStore.open(tmp_path).verify()
    forge(tmp_path, **content)
    with pytest.raises(InvalidModelFile, match=r"TextModel\.index"):
        SearchStore.open(tmp_path)


@pytest.mark.parametrize("name", STORE.files)
@pytest.mark.parametrize("content", [b"", b"x", b"PK\3\4", bytes(4096)], ids=lambda c: str(c[:4]))
def test_files_of_other_things_are_refused(
    tmp_path: Path, vectors: np.ndarray, counts: csr_array, name: str, content: bytes
) -> None:
    """Even with checksums that fit."""
    write(tmp_path, vectors)
    data_file(tmp_path, name).write_bytes(content)
    forge(tmp_path)

    def use() -> None:
        store = SearchStore.open(tmp_path)
        wanted = Filter(labels=("x",))
        store.documents(store.search(vectors[:1], counts[[0]], 3, wanted=wanted).rows[0])

    with pytest.raises(InvalidModelFile, match=r"TextModel\.index"):
        use()


@pytest.mark.parametrize(
    ("name", "harm"),
    [
        ("words-idf.f8", lambda a: a * np.nan),
        ("words-idf.f8", lambda a: a * 0),
        ("words-idf.f8", lambda a: -a),
        ("words-idf.f8", lambda a: a + np.inf),
        ("words-idf.f8", lambda a: a[:-1]),
        ("words-idf.f8", lambda a: a.astype("<f4")),
        *(
            (name, harm)
            for name in ("words-starts.i8", "words-word-starts.i8")
            for harm in (
                lambda a: a[:-1],
                lambda a: a[::-1],
                lambda a: a + 1,
                lambda a: a.astype("<i4"),
                lambda a: np.where(np.arange(len(a)) == 5, -(2**60), a),
                lambda a: np.where(np.arange(len(a)) == 5, 2**60, a),
                lambda a: np.where(np.arange(len(a)) == 5, a[-1] + 1, a),
            )
        ),
        *(
            (name, harm)
            for name in ("words-columns.u4", "words-rows.u4")
            for harm in (
                lambda a: a[:-1],
                lambda a: a + 50,
                lambda a: a * 0 - 1,
                lambda a: a.astype("<u8"),
            )
        ),
        *(
            (name, harm)
            for name in ("words-counts.u4", "words-row-weights.f4")
            for harm in (lambda a: a[:-1], lambda a: a.astype("<f8"))
        ),
        ("words-counts.u4", lambda a: a * 0),
    ],
)
def test_words_of_wrong_content_are_refused(
    tmp_path: Path, vectors: np.ndarray, counts: csr_array, name: str, harm: Any
) -> None:
    """Even with checksums that fit."""
    write(tmp_path, vectors)
    file = data_file(tmp_path, name)
    harm(np.fromfile(file, "<" + file.suffix[1:])).tofile(file)
    forge(tmp_path)

    def use() -> None:
        store = SearchStore.open(tmp_path)
        if name == "words-columns.u4":
            with pytest.raises(InvalidModelFile):
                store.words_of([0])
        for by in ("both", "words"):
            with pytest.raises(InvalidModelFile):
                store.search(vectors, counts, 3, by=by)  # type: ignore[arg-type]
        store.similar(range(50), 3)

    with pytest.raises(InvalidModelFile, match=r"TextModel\.index"):
        use()


def test_another_models_store_is_refused(tmp_path: Path, vectors: np.ndarray) -> None:
    write(tmp_path, vectors, model="sha256:abc")
    assert SearchStore.open(tmp_path, model="sha256:abc").model == "sha256:abc"
    with pytest.raises(InvalidModelFile, match="another model"):
        SearchStore.open(tmp_path, model="sha256:def")


def test_opening_during_a_rebuild_finds_the_new_store(
    tmp_path: Path, vectors: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, vectors, model="old")
    real = StoredDocuments.__init__
    rebuilds = iter([True])

    def rebuild_then_open(self: StoredDocuments, file: Path, *rest: Any) -> None:
        if next(rebuilds, False):
            write(tmp_path, vectors[:5], model="new")
        real(self, file, *rest)

    monkeypatch.setattr(StoredDocuments, "__init__", rebuild_then_open)
    assert SearchStore.open(tmp_path).model == "new"
