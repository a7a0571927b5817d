"""What is Milvus' own; tests/search/test_laws.py has what holds of every store."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from docboltz.corpus.document import Document
from docboltz.errors import InvalidModelFile, InvalidParameter
from docboltz.files import digest
from docboltz.search import milvus as module
from docboltz.search import milvus_writer as writer
from docboltz.search.filters import Filter
from docboltz.search.interface import By
from docboltz.search.milvus import MilvusStore
from docboltz.search.milvus_place import address_of, manifest_folder
from docboltz.search.milvus_writer import (
    build_milvus_store,
    forget_milvus_store,
    update_milvus_store,
)
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


@pytest.mark.parametrize("end", ["adding", "committing", "committed"])
def test_an_interrupted_build_leaves_the_old_collection_or_the_new(
    tmp_path: Path, milvus: str, vectors: np.ndarray, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    old = milvus_store_of(tmp_path, milvus, vectors[:5])
    before, replace = set(old.client.list_collections()), os.replace

    def interrupted(source: Any, target: Any) -> None:
        ours = str(target).endswith("milvus.json")  # Milvus Lite replaces files, too
        if not ours or end == "committed":
            replace(source, target)
        if ours:
            raise KeyboardInterrupt

    def blocks() -> Any:
        yield Block(vectors[:1], random_counts(1), [Document("a", "")])
        if end == "adding":
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            build_milvus_store(tmp_path, milvus, 8, 12, blocks(), model="m")
    store = MilvusStore.open(tmp_path)
    assert len(store.similar([0], 9).rows[0]) == (0 if end == "committed" else 4)
    now = set(store.client.list_collections())
    assert now == before - {old.collection} | {store.collection}


def test_a_collection_is_dropped_by_the_folder_that_made_it(
    tmp_path: Path, milvus: str, vectors: np.ndarray
) -> None:
    original = milvus_store_of(tmp_path / "original", milvus, vectors)
    original.copy_to(tmp_path / "copy")
    rebuilt = milvus_store_of(tmp_path / "copy", milvus, vectors[:5])
    assert len(MilvusStore.open(tmp_path / "original").similar([0], 50).rows[0]) == 49
    rebuilt.copy_to(tmp_path / "original")  # and one that was copied over
    forget_milvus_store(tmp_path / "original")
    assert len(MilvusStore.open(tmp_path / "copy").similar([0], 50).rows[0]) == 4
    forget_milvus_store(tmp_path / "copy")
    assert not rebuilt.client.has_collection(rebuilt.collection)


def test_a_copy_at_the_same_path_in_another_container_is_not_the_owner(
    tmp_path: Path, milvus: str, vectors: np.ndarray
) -> None:
    """Both would add documents under the same keys."""
    here, first, second = (tmp_path / name for name in ("here", "first", "second"))
    original = milvus_store_of(here, milvus, vectors[:3])

    def appended(id: str) -> MilvusStore:
        block = Block(vectors[3:4], random_counts(1), [Document(id, "")])
        update_milvus_store(here, model="m", drop=[], blocks=[block])
        return MilvusStore.open(here)

    shutil.copytree(here, second)
    assert appended("of the first").collection == original.collection
    here.rename(first)
    second.rename(here)  # what the other container sees
    assert not MilvusStore.open(here).is_owned
    other = appended("of the second")
    assert other.is_owned
    assert consistent(other) == ["d0", "d1", "d2", "of the second"]
    here.rename(second)
    first.rename(here)
    assert consistent(appended("more")) == ["d0", "d1", "d2", "of the first", "more"]


def test_a_folder_that_was_moved_keeps_its_collection(
    tmp_path: Path, milvus: str, vectors: np.ndarray
) -> None:
    """Otherwise nobody would ever drop it."""
    made = milvus_store_of(tmp_path / "made", milvus, vectors)
    moved = (tmp_path / "made").rename(tmp_path / "moved")
    shutil.copytree(moved, tmp_path / "copy")
    assert not MilvusStore.open(tmp_path / "copy").is_owned
    update_milvus_store(moved, model="m", drop=["d1"])
    (tmp_path / "made").mkdir()  # of something else: the folder is known by its new path
    store = MilvusStore.open(moved)
    assert (store.is_owned, store.collection, len(store)) == (True, made.collection, 49)
    again = moved.rename(tmp_path / "again")
    milvus_store_of(again, milvus, vectors[:5])
    assert not made.client.has_collection(made.collection)


CHANGED = """
import os, sys
from pathlib import Path
from pymilvus import MilvusClient
from docboltz.search import milvus_writer as module
from tests.search.test_milvus import milvus_store_of, np, updated
milvus_store_of(Path(sys.argv[1]), sys.argv[3], np.random.default_rng(1).random((8, 4)))
left, replace = int(sys.argv[2]), os.replace
def dying(real):
    def call(*given, **named):
        global left
        left -= real is not replace or str(given[1]).endswith("milvus.json")
        if left < 0:
            os._exit(9)
        return real(*given, **named)
    return call
MilvusClient.upsert, MilvusClient.delete = dying(MilvusClient.upsert), dying(MilvusClient.delete)
os.replace = dying(replace)
module.AT_ONCE = 2
updated(Path(sys.argv[1]))
"""
OLD = [f"d{i}" for i in range(8)]
NEW = ["d0", "d2", "d3", "d6", "d7", "d4", "d5", "d8"]


def updated(folder: Path) -> None:
    """Drop d1, replace d4 and d5, add d8."""
    X, counts = np.random.default_rng(0).random((3, 4)), random_counts(3, seed=5)
    block = Block(X, counts, [Document(id, "new") for id in ("d4", "d5", "d8")])
    update_milvus_store(folder, model="m", drop=["d1", "d4", "d5", "d8"], blocks=[block])


def consistent(store: MilvusStore) -> list[str]:
    """The ids of a store that holds each once, finds each, and knows how many have each word."""
    rows = np.arange(len(store))
    ids = [document.id for document in store.documents(rows)]
    found = store.search(store.features[:1], store.words.counted(0, 1), 99).rows[0]
    assert sorted(found.tolist()) == rows.tolist()
    assert store.rows_of(ids).tolist() == rows.tolist()
    assert (store.words.presence().sum(axis=0) == store.df).all()
    return ids


def test_a_kill_at_any_step_leaves_the_old_documents_or_the_new(tmp_path: Path) -> None:
    """Killed before each call that changes something, one after the other."""
    pytest.importorskip("milvus_lite", reason="needs pip install 'docboltz[milvus]'")
    root, seen = str(Path(__file__).parents[2]), []
    for step in range(8):
        folder, file = tmp_path / str(step), f"milvus+{tmp_path / f'{step}.db'}"
        command = [sys.executable, "-c", CHANGED, str(folder), str(step), file]
        ended = subprocess.run(command, check=False, cwd=root).returncode
        ids = consistent(MilvusStore.open(folder))
        seen.append((ended, ids))
        updated(folder)  # goes on as if nothing had been
        assert consistent(MilvusStore.open(folder)) == NEW
        store = MilvusStore.open(folder)
        total = store.client.query(store.collection, filter="", output_fields=["count(*)"])
        assert total[0]["count(*)"] == 8  # nothing is left of what was killed
    # Deletes what others left, adds twice, commits, deletes twice, commits that.
    assert seen == [*4 * [(9, OLD)], *3 * [(9, NEW)], (0, NEW)]


def test_a_search_while_documents_are_deleted_finds_the_others(
    tmp_path: Path, milvus: str, vectors: np.ndarray, counts: csr_array
) -> None:
    store = milvus_store_of(tmp_path, milvus, vectors, counts)
    client, asked = store.client, []

    class Deleting:
        """Deletes the first documents right after they were found, for a while."""

        def search(self, *given: Any, **named: Any) -> Any:
            found = client.search(*given, **named)
            if len(asked) < 3:
                gone = [f"d{len(asked)}"]
                asked.append(update_milvus_store(tmp_path, model="m", drop=gone))
            return found

        def __getattr__(self, name: str) -> Any:
            return getattr(client, name)

    store.client = Deleting()
    rows = store.search(vectors[:3], counts[:3], 47, by="features").rows
    assert asked == [1, 1, 1]
    assert all(sorted(own) == list(range(3, 50)) for own in rows.tolist())
    with pytest.raises(InvalidParameter, match=r"were deleted .* while it was read. Open"):
        store.documents([3, 0])


def test_a_copy_can_be_changed_after_its_owner_has_deleted_documents(
    tmp_path: Path, milvus: str
) -> None:
    X, counts = np.random.default_rng(1).random((8, 4)), random_counts(8)
    milvus_store_of(tmp_path / "original", milvus, X, counts).copy_to(tmp_path / "copy")
    update_milvus_store(tmp_path / "original", model="m", drop=["d0", "d7"])
    copy = MilvusStore.open(tmp_path / "copy")
    assert len(copy.search(X[:1], counts[:1], 8).rows[0]) == 6
    with pytest.raises(InvalidParameter, match=r"by its owner. Append .* collection of its own"):
        copy.documents([0])
    with pytest.raises(InvalidParameter, match=r"No document has the id 'd7'.* such as 'd1', 'd2'"):
        copy.row_of("d7")
    with pytest.raises(InvalidParameter, match="label"):
        copy.search(X[:1], counts[:1], 8, wanted=Filter(labels=("d0",)))
    with pytest.raises(InvalidParameter, match="No document would be left"):
        update_milvus_store(tmp_path / "copy", model="m", drop=OLD)
    updated(tmp_path / "copy")
    assert consistent(MilvusStore.open(tmp_path / "copy")) == ["d2", "d3", "d6", "d4", "d5", "d8"]


@pytest.mark.parametrize("most", [16, 51])
def test_questions_do_not_list_the_many_documents_that_are_being_deleted(
    tmp_path: Path, milvus: str, vectors: np.ndarray, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """All are there still, as after a crash. If 16 hits are not enough, they are listed."""
    counts = random_counts(50)
    milvus_store_of(tmp_path, milvus, vectors, counts)
    left = [f"d{i}" for i in range(50) if i % 10 > 7]
    gone = [f"d{i}" for i in range(50) if i % 10 <= 7]
    with monkeypatch.context() as patch:
        patch.setattr(writer, "_delete_keys", lambda store, keys: 1 / (not len(keys)))
        with pytest.raises(ZeroDivisionError):
            update_milvus_store(tmp_path, model="m", drop=gone)
    store = MilvusStore.open(tmp_path)
    listing = store.search(vectors, counts, 2)
    for name, value in {"LISTED": 39, "CANDIDATES": 4, "MOST": most}.items():
        monkeypatch.setattr(module, name, value)
    client, asked = store.client, []

    class Listening:
        """Keeps what is asked."""

        def __getattr__(self, name: str) -> Any:
            def call(*given: Any, **named: Any) -> Any:
                asked.append(named.get("filter", ""))
                return getattr(client, name)(*given, **named)

            return call

    store.client = Listening()
    np.testing.assert_array_equal(store.search(vectors, counts, 2), listing)
    assert store.rows_of([*gone, "d8", "d49"]).tolist() == [0, 9]
    assert consistent(store) == left
    assert any("not in" in filter for filter in asked) == (most == 16)


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
    "content",
    [
        {"df": [1]},
        {"gone": [[5, 4]]},
        {"leaving": "x"},
        {"next_number": -1},
        {"df": None},
        {"mean": [1.0]},
        {"n_words": "x"},
        {"address": None},
    ],
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
