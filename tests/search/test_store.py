from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from docboltz.errors import InvalidModelFile, InvalidParameter
from docboltz.search import store as module
from docboltz.search.documents import DOCUMENTS, RECORDS, StoredDocuments
from docboltz.search.store import WEIGHTS, WORDS_PER_FEATURE_COSINE, SearchStore
from docboltz.search.words import FILES as WORD_FILES
from docboltz.search.writer import STORE
from tests.search.stores import N_WORDS, data_file, forge, random_counts, store_of, write

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


def test_queries_are_centred_as_documents_are(tmp_path: Path, vectors: np.ndarray) -> None:
    store = store_of(tmp_path, vectors, mean=vectors.mean(0))
    rows, scores, words = store.search(vectors, random_counts(50), 3, by="features")
    np.testing.assert_array_equal(rows[:, 0], np.arange(50))
    np.testing.assert_array_equal(words, 0)
    np.testing.assert_allclose(scores[:, 0], 1, atol=1e-6)
    centred = vectors - vectors.mean(0)
    expected = (centred[rows[:, 1]] * centred).sum(1)
    expected /= np.linalg.norm(centred[rows[:, 1]], axis=1) * np.linalg.norm(centred, axis=1)
    np.testing.assert_allclose(scores[:, 1], expected, atol=1e-6)


def test_scores_weigh_features_and_words(
    tmp_path: Path, vectors: np.ndarray, counts: csr_array
) -> None:
    for name, weights in WEIGHTS.items():
        assert sum(weights) == 1, name
    both = WEIGHTS["both"]
    assert both.words / both.features == pytest.approx(WORDS_PER_FEATURE_COSINE)
    # By features the first document is the best, by words the second, and by both the third.
    features, words = [[1, 0], [0, 1], [0.95, 0.3]], [[1, 0], [0, 1], [1, 2]]
    store = store_of(tmp_path, features, words)
    best = {by: store.search([[1, 0]], csr_array([[0, 1]]), 3, by=by) for by in WAYS}
    assert {by: found.rows[0].tolist() for by, found in best.items()} == {
        "features": [0, 2, 1],
        "words": [1, 2, -1],
        "both": [2, 0, 1],
    }
    scores = best["both"].scores(both)
    expected = (best["both"].features + WORDS_PER_FEATURE_COSINE * best["both"].words) / 1.3
    np.testing.assert_allclose(scores, expected, atol=1e-15)


@pytest.mark.parametrize("by", WAYS)
def test_documents_without_a_known_word_are_no_hits(
    tmp_path: Path, vectors: np.ndarray, by: Any
) -> None:
    counts = random_counts(50).toarray()
    empty = [0, 17, 49]
    counts[empty] = 0
    store = store_of(tmp_path, vectors, counts)
    assert store.n_wordless == 3
    rows = store.search(vectors, csr_array(counts), 50, by=by).rows
    assert rows.shape == (50, 47)
    assert not np.isin(rows, empty).any()
    others = store.similar([5], 50, by=by).rows
    assert others.shape == (1, 46)
    assert not np.isin(others, [5, *empty]).any()
    nothing = store_of(tmp_path, vectors[:3], np.zeros((3, 2)))
    assert nothing.search(vectors[:1], csr_array([[1, 0]]), 3, by=by).rows.shape == (1, 0)
    assert nothing.similar([0], 3, by=by).rows.shape == (1, 0)


def test_excluded_rows_may_come_twice(
    tmp_path: Path, vectors: np.ndarray, counts: csr_array
) -> None:
    store = store_of(tmp_path, vectors)
    rows = store.search(vectors[:3], counts[:3], 50, exclude_rows=[7, 3, 7]).rows
    assert rows.shape == (3, 48)
    assert not np.isin(rows, [3, 7]).any()


@pytest.mark.parametrize("by", WAYS)
@pytest.mark.parametrize("mean", [None, np.full(8, 0.25)])
def test_similar_is_search_without_oneself(
    tmp_path: Path, vectors: np.ndarray, counts: csr_array, mean: np.ndarray | None, by: Any
) -> None:
    store = store_of(tmp_path, vectors, counts, mean=mean)
    own = [4, 0, 4]
    found = store.similar(own, 5, by=by)
    for i, row in enumerate(own):
        alone = store.search(vectors[[row]], counts[[row]], 5, by=by, exclude_rows=[row])
        np.testing.assert_array_equal(found.rows[i], alone.rows[0])
        np.testing.assert_allclose(found.features[i], alone.features[0], atol=1e-6)
        np.testing.assert_allclose(found.words[i], alone.words[0], atol=1e-6)


@pytest.mark.parametrize("by", WAYS)
def test_similar_among_many_equal_documents(tmp_path: Path, by: Any) -> None:
    """Too many equals come before row 9 for it to be found among its own nearest."""
    store = store_of(tmp_path, np.ones((10, 2)), np.ones((10, 3)))
    rows = store.similar([0, 2, 9], 3, by=by).rows
    np.testing.assert_array_equal(rows, [[1, 2, 3], [0, 1, 3], [0, 1, 2]])
    rows = store_of(tmp_path, np.zeros((4, 2)), np.ones((4, 3))).similar([0, 3], 2, by=by).rows
    np.testing.assert_array_equal(rows, [[1, 2], [0, 1]])


@pytest.mark.parametrize("by", WAYS)
def test_more_hits_than_documents_are_cut(
    tmp_path: Path, vectors: np.ndarray, counts: csr_array, by: Any
) -> None:
    store = store_of(tmp_path, vectors)
    assert store.search(vectors[:2], counts[:2], 1000, by=by).rows.shape == (2, 50)
    assert store.similar([0], 1000, by=by).rows.shape == (1, 49)
    assert store.search(np.empty((0, 8)), counts[:0], 3, by=by).rows.shape == (0, 3)
    assert store.similar([], 3, by=by).rows.shape == (0, 3)
    assert store_of(tmp_path, vectors[:1]).similar([0], 3, by=by).rows.shape == (1, 0)


def test_an_unknown_id_is_a_clear_error(tmp_path: Path, vectors: np.ndarray) -> None:
    store = store_of(tmp_path, vectors)
    assert store.row_of("d49") == 49
    for id_ in ("id", "\udcff"):
        with pytest.raises(InvalidParameter, match=r"No document has the id .* 50, such as 'd0'"):
            store.row_of(id_)


@pytest.mark.parametrize("by", WAYS)
def test_threads_may_share_a_store(
    tmp_path: Path, vectors: np.ndarray, counts: csr_array, by: Any
) -> None:
    store = store_of(tmp_path, vectors)
    alone = store.search(vectors, counts, 9, by=by)
    right: list[int] = []

    def look_up(i: int) -> None:
        row = store.row_of(f"d{i}")
        found = store.search(vectors[[i]], counts[[i]], 9, by=by)
        same = all((a[i] == b[0]).all() for a, b in zip(alone, found, strict=True))
        if same and store.documents([row])[0].id == f"d{i}":
            right.append(i)

    threads = [threading.Thread(target=look_up, args=(i,)) for i in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(right) == list(range(50))


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
    for name in ("features.f32", DOCUMENTS, RECORDS, *WORD_FILES):
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
    tmp_path: Path, vectors: np.ndarray, counts: csr_array
) -> None:
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


@pytest.mark.parametrize("name", [DOCUMENTS, RECORDS, *WORD_FILES])
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


@pytest.mark.parametrize("name", ["features.f32", DOCUMENTS, RECORDS, *WORD_FILES])
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
        store.documents(store.search(vectors[:1], counts[[0]], 3).rows[0])

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
            for name in ("words-weights.f4", "words-row-weights.f4")
            for harm in (lambda a: a[:-1], lambda a: a.astype("<f8"))
        ),
        ("words-weights.f4", lambda a: a * np.nan),
        ("words-weights.f4", lambda a: a * 9),
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


def test_bad_questions_are_refused(tmp_path: Path, vectors: np.ndarray, counts: csr_array) -> None:
    store = store_of(tmp_path, vectors)
    for k in (0, -1, 2.0, True):
        with pytest.raises(InvalidParameter, match="'k' parameter"):
            store.search(vectors, counts, k)  # type: ignore[arg-type]
    for queries in (vectors[0], vectors[:, :7], vectors[None]):
        with pytest.raises(InvalidParameter, match=r"numbers of shape \(n, 8\)"):
            store.search(queries, counts, 1)
    for asked in (counts[:49], counts[:, :11]):
        with pytest.raises(InvalidParameter, match=rf"counts of shape \(50, {N_WORDS}\)"):
            store.search(vectors, asked, 1)
    with pytest.raises(InvalidParameter, match="'both' or 'features' or 'words'"):
        store.search(vectors, counts, 1, by="letters")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="nan at row 0, column 0"):
        store.search(np.full((1, 8), np.nan), counts[[0]], 1)
    for rows in ([50], [-1], [0.5], 3):
        for ask in (store.documents, store.words_of, lambda rows: store.similar(rows, 1)):
            with pytest.raises(InvalidParameter, match="rows from 0 to 49"):
                ask(rows)  # type: ignore[operator]
        with pytest.raises(InvalidParameter, match="rows from 0 to 49"):
            store.search(vectors, counts, 1, exclude_rows=rows)
