"""What is Milvus' own; tests/search/test_laws.py has what holds of every store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from docboltz.corpus.document import Document
from docboltz.errors import InvalidModelFile, InvalidParameter
from docboltz.files import digest
from docboltz.search import milvus as module
from docboltz.search.interface import By
from docboltz.search.milvus import MILVUS, MilvusStore, address_of, manifest_folder
from docboltz.search.milvus_writer import build_milvus_store, update_milvus_store
from docboltz.search.writer import Block
from tests.search.stores import milvus_store_of, random_counts, store_of


def test_addresses() -> None:
    assert address_of("milvus+http://host:19530") == "http://host:19530"
    assert address_of("milvus+a.db") == str(Path("a.db").absolute())
    with pytest.raises(InvalidParameter, match="ends in"):
        address_of("milvus+a")


def test_hits_are_those_of_the_exact_store(
    tmp_path: Path, milvus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With fewer candidates than documents: all by features, 0.98 by features and words."""
    rng = np.random.default_rng(0)
    monkeypatch.setattr(module, "CANDIDATES", 60)
    X, counts = rng.random((300, 16)).astype(np.float32), random_counts(300)
    mean = X.mean(0)
    exact = store_of(tmp_path / "files", X, counts, mean=mean)
    store = milvus_store_of(tmp_path / "milvus", milvus, X, counts, mean=mean)
    queries, asked = rng.random((5, 16)), random_counts(5, seed=1)
    ways: tuple[By, ...] = ("features", "words", "both")
    for by in ways:
        mine, theirs = (each.search(queries, asked, 10, by=by) for each in (store, exact))
        if by == "features":
            np.testing.assert_array_equal(mine.rows, theirs.rows)
            np.testing.assert_array_equal(mine.features, theirs.features)
        pairs = zip(mine.rows, theirs.rows, strict=True)
        assert np.mean([len(np.intersect1d(*pair)) / 10 for pair in pairs]) >= 0.98, by


def test_a_collection_that_is_gone_is_a_clear_error(
    tmp_path: Path, milvus: str, vectors: np.ndarray
) -> None:
    store = milvus_store_of(tmp_path, milvus, vectors)
    store.client.drop_collection(store.collection)
    with pytest.raises(InvalidModelFile, match="is gone from"):
        MilvusStore.open(tmp_path)


def test_a_rebuild_leaves_one_collection(tmp_path: Path, milvus: str, vectors: np.ndarray) -> None:
    first = milvus_store_of(tmp_path, milvus, vectors)
    second = milvus_store_of(tmp_path, milvus, vectors[:5])
    assert not second.client.has_collection(first.collection)
    assert len(second) == 5

    def blocks() -> Any:
        yield Block(vectors[:1], random_counts(1), [Document("a", "")])
        raise ZeroDivisionError

    before = set(second.client.list_collections())
    with pytest.raises(ZeroDivisionError):
        build_milvus_store(tmp_path, milvus, 8, 12, blocks(), model="m")
    assert set(second.client.list_collections()) == before
    assert len(MilvusStore.open(tmp_path)) == 5


def test_words_are_counted_again_after_a_crash(
    tmp_path: Path, milvus: str, vectors: np.ndarray, counts: csr_array
) -> None:
    """Documents were added, and the manifest does not know of them."""
    milvus_store_of(tmp_path, milvus, vectors[:30], counts[:30])

    def block(rows: slice) -> Block:
        numbers = range(50)[rows]
        return Block(vectors[rows], counts[rows], [Document(f"d{i}", "") for i in numbers])

    def stopped() -> Any:
        yield block(slice(30, 40))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        update_milvus_store(tmp_path, model="m", drop=(), blocks=stopped())
    assert MILVUS.open(manifest_folder(tmp_path)).content["n_documents"] == 30
    again = [f"d{i}" for i in range(30, 50)]
    update_milvus_store(tmp_path, model="m", drop=again, blocks=[block(slice(30, 50))])
    content = MILVUS.open(manifest_folder(tmp_path)).content
    assert content["n_documents"] == len(MilvusStore.open(tmp_path)) == 50
    assert content["df"] == (counts.toarray() > 0).sum(0).tolist()


def test_a_collection_that_another_process_let_go_is_searched(tmp_path: Path, milvus: str) -> None:
    store = milvus_store_of(tmp_path, milvus, np.ones((3, 2)), np.ones((3, 3), np.int64))
    store.client.release_collection(store.collection)
    again = MilvusStore.open(store.path)
    assert len(again.similar([0], 2).rows[0]) == 2


def test_counts_come_back(tmp_path: Path, milvus: str) -> None:
    counts = np.array([[1, 2, 0], [0, 0, 0], [100_000, 0, 7]])
    store = milvus_store_of(tmp_path, milvus, np.ones((3, 2)), counts)
    np.testing.assert_array_equal(store.words.counted().toarray(), counts)
    assert store.n_wordless == 1
    assert store.wordless.tolist() == [1]


@pytest.mark.parametrize(
    "content", [{"df": [1]}, {"df": None}, {"mean": [1.0]}, {"n_words": "x"}, {"address": None}]
)
def test_a_manifest_of_wrong_content_is_refused(
    tmp_path: Path, milvus: str, vectors: np.ndarray, content: dict[str, Any]
) -> None:
    milvus_store_of(tmp_path, milvus, vectors[:2])
    file = manifest_folder(tmp_path) / "milvus.json"
    saved = json.loads(file.read_text())
    inner = {"build": saved["build"], "files": {}, "content": saved["content"] | content}
    file.write_text(json.dumps(saved | inner | {"checksum": digest(inner)}))
    with pytest.raises((InvalidModelFile, InvalidParameter)):
        MilvusStore.open(tmp_path)


def test_large_collections_of_a_cluster_are_asked_by_bits(
    tmp_path: Path, milvus: str, vectors: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    if module.is_lite(address_of(milvus)):
        pytest.skip("Milvus Lite has no binary vectors: set MILVUS_URI to a cluster's address")
    monkeypatch.setattr("docboltz.search.store.EXACT_DOCUMENTS", 0)
    store = milvus_store_of(tmp_path, milvus, vectors)
    assert not store.is_exact
    found = store.search(vectors, random_counts(50), 1, by="features")
    np.testing.assert_array_equal(found.rows[:, 0], np.arange(50))
