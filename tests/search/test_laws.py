"""What holds of every store, whoever keeps the vectors: the laws of the interface."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from docboltz.corpus.document import Document
from docboltz.errors import InvalidModelFile, InvalidParameter
from docboltz.search import store as module
from docboltz.search.filters import Filter
from docboltz.search.growing import update_store
from docboltz.search.interface import (
    WEIGHTS,
    WORDS_PER_FEATURE_COSINE,
    model_of_store,
    open_store,
)
from docboltz.search.milvus import MilvusStore
from docboltz.search.milvus_writer import update_milvus_store
from docboltz.search.writer import Block
from tests.search.stores import N_WORDS, milvus_store_of, random_counts, store_of

WAYS = list(WEIGHTS)
Make = Callable[..., Any]


@pytest.fixture(params=["exact", "bits", "milvus"])
def make(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Gives a store of features and counts, as `store_of` does."""
    if request.param == "milvus":
        address = request.getfixturevalue("milvus")
        return lambda *what, **options: milvus_store_of(tmp_path, address, *what, **options)
    if request.param == "bits":
        monkeypatch.setattr(module, "EXACT_DOCUMENTS", 0)
    return lambda *what, **options: store_of(tmp_path, *what, **options)


def test_queries_are_centred_as_documents_are(make: Make, vectors: np.ndarray) -> None:
    store = make(vectors, mean=vectors.mean(0))
    rows, scores, words = store.search(vectors, random_counts(50), 3, by="features")
    np.testing.assert_array_equal(rows[:, 0], np.arange(50))
    np.testing.assert_array_equal(words, 0)
    np.testing.assert_allclose(scores[:, 0], 1, atol=1e-6)
    centred = vectors - vectors.mean(0)
    expected = (centred[rows[:, 1]] * centred).sum(1)
    expected /= np.linalg.norm(centred[rows[:, 1]], axis=1) * np.linalg.norm(centred, axis=1)
    np.testing.assert_allclose(scores[:, 1], expected, atol=1e-6)


def test_scores_weigh_features_and_words(
    make: Make, vectors: np.ndarray, counts: csr_array
) -> None:
    for name, weights in WEIGHTS.items():
        assert sum(weights) == 1, name
    both = WEIGHTS["both"]
    assert both.words / both.features == pytest.approx(WORDS_PER_FEATURE_COSINE)
    # By features the first document is the best, by words the second, and by both the third.
    features, words = [[1, 0], [0, 1], [0.95, 0.3]], [[1, 0], [0, 1], [1, 2]]
    store = make(features, words)
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
    make: Make, vectors: np.ndarray, by: Any
) -> None:
    counts = random_counts(50).toarray()
    empty = [0, 17, 49]
    counts[empty] = 0
    store = make(vectors, counts)
    assert store.n_wordless == 3
    rows = store.search(vectors, csr_array(counts), 50, by=by).rows
    assert rows.shape == (50, 47)
    assert not np.isin(rows, empty).any()
    others = store.similar([5], 50, by=by).rows
    assert others.shape == (1, 46)
    assert not np.isin(others, [5, *empty]).any()
    nothing = make(vectors[:3], np.zeros((3, 2)))
    assert nothing.search(vectors[:1], csr_array([[1, 0]]), 3, by=by).rows.shape == (1, 0)
    assert nothing.similar([0], 3, by=by).rows.shape == (1, 0)


def test_excluded_rows_may_come_twice(make: Make, vectors: np.ndarray, counts: csr_array) -> None:
    store = make(vectors)
    rows = store.search(vectors[:3], counts[:3], 50, exclude_rows=[7, 3, 7]).rows
    assert rows.shape == (3, 48)
    assert not np.isin(rows, [3, 7]).any()


@pytest.mark.parametrize("by", WAYS)
@pytest.mark.parametrize("mean", [None, np.full(8, 0.25)])
def test_similar_is_search_without_oneself(
    make: Make, vectors: np.ndarray, counts: csr_array, mean: np.ndarray | None, by: Any
) -> None:
    store = make(vectors, counts, mean=mean)
    own = [4, 0, 4]
    found = store.similar(own, 5, by=by)
    for i, row in enumerate(own):
        alone = store.search(vectors[[row]], counts[[row]], 5, by=by, exclude_rows=[row])
        np.testing.assert_array_equal(found.rows[i], alone.rows[0])
        np.testing.assert_allclose(found.features[i], alone.features[0], atol=1e-6)
        np.testing.assert_allclose(found.words[i], alone.words[0], atol=1e-6)


@pytest.mark.parametrize("by", WAYS)
def test_similar_among_many_equal_documents(make: Make, by: Any) -> None:
    """Too many equals come before row 9 for it to be found among its own nearest."""
    store = make(np.ones((10, 2)), np.ones((10, 3)))
    rows = store.similar([0, 2, 9], 3, by=by).rows
    np.testing.assert_array_equal(rows, [[1, 2, 3], [0, 1, 3], [0, 1, 2]])
    rows = make(np.zeros((4, 2)), np.ones((4, 3))).similar([0, 3], 2, by=by).rows
    np.testing.assert_array_equal(rows, [[1, 2], [0, 1]])


@pytest.mark.parametrize("by", WAYS)
def test_more_hits_than_documents_are_cut(
    make: Make, vectors: np.ndarray, counts: csr_array, by: Any
) -> None:
    store = make(vectors)
    assert store.search(vectors[:2], counts[:2], 1000, by=by).rows.shape == (2, 50)
    assert store.similar([0], 1000, by=by).rows.shape == (1, 49)
    assert store.search(np.empty((0, 8)), counts[:0], 3, by=by).rows.shape == (0, 3)
    assert store.similar([], 3, by=by).rows.shape == (0, 3)
    assert make(vectors[:1]).similar([0], 3, by=by).rows.shape == (1, 0)


def test_an_unknown_id_is_a_clear_error(make: Make, vectors: np.ndarray) -> None:
    store = make(vectors)
    assert store.row_of("d49") == 49
    for id_ in ("id", "\udcff"):
        with pytest.raises(InvalidParameter, match=r"No document has the id .* 50, such as 'd0'"):
            store.row_of(id_)


@pytest.mark.parametrize("by", WAYS)
def test_threads_may_share_a_store(
    make: Make, vectors: np.ndarray, counts: csr_array, by: Any
) -> None:
    store = make(vectors)
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


def test_bad_questions_are_refused(make: Make, vectors: np.ndarray, counts: csr_array) -> None:
    store = make(vectors)
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


@pytest.mark.parametrize("by", WAYS)
def test_filters_leave_documents_out(
    make: Make, vectors: np.ndarray, counts: csr_array, by: Any
) -> None:
    """Each document has a label of its own, and the label "x"."""
    store = make(vectors, counts)
    found = store.search(vectors[:9], counts[:9], 50, by=by, wanted=Filter(("d3", "d8", "d40")))
    everything = store.search(vectors[:9], counts[:9], 50, by=by)
    assert found.rows.shape == (9, 3)
    for i in range(9):
        mine, all_rows = found.rows[i], everything.rows[i]
        expected = all_rows[np.isin(all_rows, [3, 8, 40])]
        np.testing.assert_array_equal(mine[mine >= 0], expected)
    rows = store.similar([3, 5], 9, by="both", wanted=Filter(("d3", "d8", "d40"))).rows
    assert [sorted(own) for own in rows.tolist()] == [[-1, 8, 40], [3, 8, 40]]
    with pytest.raises(InvalidParameter, match="No document has the label 'y'"):
        store.search(vectors, counts, 3, wanted=Filter(("y",)))
    with pytest.raises(InvalidParameter, match="No document has a date"):
        store.search(vectors, counts, 3, by=by, wanted=Filter(since="2013"))


def change(store: Any, **what: Any) -> Any:
    """The store after documents of it were dropped and others added."""
    on_milvus = isinstance(store, MilvusStore)
    update = update_milvus_store if on_milvus else update_store
    what["blocks"] = [what.pop("block")] if "block" in what else []
    assert update(store.path, model="m", **what) == len(what["drop"])
    return open_store(store.path, model="m")


def as_dictionary(store: Any, queries: np.ndarray, counts: csr_array, by: Any) -> list[dict]:
    """Scores of documents by their ids, for each query: rows may have another order."""
    found = store.search(queries, counts, len(store), by=by)
    answers = []
    for rows, scores in zip(found.rows, found.scores(WEIGHTS[by]), strict=True):
        taken = rows >= 0
        ids = [document.id for document in store.documents(rows[taken])]
        answers.append(dict(zip(ids, np.round(scores[taken], 6).tolist(), strict=True)))
    return answers


def test_documents_join_are_replaced_and_go(
    make: Make, vectors: np.ndarray, counts: csr_array, tmp_path: Path
) -> None:
    """And the store then answers as one that was made of what is left."""
    store = make(vectors[:40], counts[:40])
    new = [Document(f"d{i}", f"new {i}", ("new",), "2013-08-11") for i in range(35, 50)]
    block = Block(vectors[35:][::-1], counts[35:][::-1], new)
    store = change(store, drop=[f"d{i}" for i in range(35, 40)], block=block)
    assert len(store) == 50
    store = change(store, drop=["d0", "d36", "d49", "d7"])
    assert len(store) == 46
    ids = [document.id for document in store.documents(range(46))]
    assert sorted(ids) == sorted({f"d{i}" for i in range(50)} - {"d0", "d36", "d49", "d7"})
    assert [store.row_of(id) for id in ids] == list(range(46))
    assert store.rows_of(["d0", "d35", "d1"]).tolist() == sorted(map(ids.index, ("d35", "d1")))
    (document,) = store.documents([store.row_of("d35")])
    assert document == Document("d35", "new 35", ("new",), "2013-08-11")
    wanted = Filter(("new",), "2013-08", "2013")
    assert store.search(vectors, counts, 50, wanted=wanted).rows.shape == (50, 13)
    assert store.search(vectors, counts, 50, wanted=Filter(until="2012")).rows.shape == (50, 0)
    labels, dates = store.labels_and_dates()
    assert (labels.count(("new",)), dates.count("2013-08-11")) == (13, 13)
    kept = [*(i for i in range(35) if i not in (0, 7)), *(i for i in range(35, 50))]
    features = np.concatenate([vectors[:35], vectors[35:][::-1]])
    words = np.concatenate([counts.toarray()[:35], counts.toarray()[35:][::-1]])
    kept = [i for i in kept if i not in (36, 49)]
    (tmp_path / "other").mkdir()
    plain = store_of(tmp_path / "other", features[kept], words[kept])
    names = {f"d{place}": f"d{i}" for place, i in enumerate(kept)}
    for by in WAYS:
        mine = as_dictionary(store, vectors[:5], counts[:5], by)
        expected = as_dictionary(plain, vectors[:5], counts[:5], by)
        assert mine == [
            {names[id]: pytest.approx(score, abs=3e-6) for id, score in each.items()}
            for each in expected
        ]
    np.testing.assert_allclose(
        store.features[[store.row_of("d40")]], plain.features[[plain.row_of(f"d{kept.index(40)}")]]
    )
    assert store.words.n_words().sum() == plain.words.n_words().sum()


def ids_of(store: Any) -> list[str]:
    return [document.id for document in store.documents(range(len(store)))]


def block_of(ids: list[str], vectors: np.ndarray) -> Block:
    documents = [Document(id, f"text of {id}") for id in ids]
    return Block(vectors[: len(ids)], random_counts(len(ids)), documents)


def test_rows_keep_their_order(make: Make, vectors: np.ndarray) -> None:
    store = make(vectors[:9])
    store = change(store, drop=["d0", "d4", "d5"], block=block_of(["a", "b"], vectors))
    assert ids_of(store) == ["d1", "d2", "d3", "d6", "d7", "d8", "a", "b"]
    store = change(store, drop=["a", "d6"], block=block_of(["c"], vectors))
    assert ids_of(store) == ["d1", "d2", "d3", "d7", "d8", "b", "c"]
    assert [store.row_of(id) for id in ids_of(store)] == list(range(7))
    assert store.rows_of(["b", "d2", "a", "c"]).tolist() == [1, 5, 6]
    found = store.similar([5], 9, wanted=Filter(("d2", "d8")))
    assert sorted(found.rows[0].tolist()) == [1, 4]


def test_who_has_it_open_finds_nothing_that_was_added_or_moved_since(
    make: Make, vectors: np.ndarray, counts: csr_array
) -> None:
    reader = make(vectors[:9])
    change(reader, drop=["d0", "d4"], block=block_of(["a", "b", "c"], vectors))
    assert len(reader) == 9
    rows = reader.search(vectors[:9], counts[:9], 9).rows
    assert set(rows.ravel().tolist()) - {-1, 0, 4} == {1, 2, 3, 5, 6, 7, 8}
    assert [d.id for d in reader.documents([8, 1])] == ["d8", "d1"]
    assert reader.rows_of(["a", "d7"]).tolist() == [7]


def test_a_changed_copy_leaves_the_original_as_it_was(
    make: Make, vectors: np.ndarray, counts: csr_array, tmp_path: Path
) -> None:
    original = make(vectors[:9], counts[:9])
    before = original.search(vectors[:3], counts[:3], 9)
    original.copy_to(tmp_path / "copy")
    copy = open_store(tmp_path / "copy")
    copy = change(copy, drop=["d0", "d8"], block=block_of(["a"], vectors))
    copy = change(copy, drop=["d3"])
    again = open_store(original.path)
    assert ids_of(again) == [f"d{i}" for i in range(9)]
    for mine, now in zip(before, again.search(vectors[:3], counts[:3], 9), strict=True):
        np.testing.assert_array_equal(mine, now)
    assert ids_of(copy) == ["d1", "d2", "d4", "d5", "d6", "d7", "a"]
    change(again, drop=["d1"])
    assert len(open_store(tmp_path / "copy")) == 7


def test_no_number_is_given_twice(make: Make, vectors: np.ndarray) -> None:
    """Not even those of documents that are gone."""
    store = make(vectors[:3])
    assert store.next_number == 0
    store = change(store, drop=[], block=block_of(["4", "7", "9" * 19, "-1", "1.5"], vectors))
    assert store.next_number == 8
    store = change(store, drop=["7", "4"])
    assert store.next_number == 8
    store = change(store, drop=["d0"], block=block_of(["5", "8"], vectors))
    assert store.next_number == 9


def test_a_store_is_not_emptied(make: Make, vectors: np.ndarray, counts: csr_array) -> None:
    store = make(vectors[:3], counts[:3])
    with pytest.raises(InvalidParameter, match="No document would be left"):
        change(store, drop=["d0", "d1", "d2"])
    assert len(open_store(store.path)) == 3


def test_a_store_of_another_model_is_refused(make: Make, vectors: np.ndarray) -> None:
    store = make(vectors)
    with pytest.raises(InvalidModelFile, match="another model"):
        open_store(store.path, model="n")
    assert model_of_store(store.path) == store.model == "m"


def test_ids_and_labels_may_hold_anything(make: Make, vectors: np.ndarray) -> None:
    odd = ["it's", 'say "x"', "back\\slash", "Ωμέγα 𝄞", "a\tb", "%{}[]", " "]
    store = make(vectors[:3], np.ones((3, N_WORDS)))
    documents = [Document(id, "t", (id,)) for id in odd]
    counts = csr_array(np.ones((7, N_WORDS)))
    store = change(store, drop=[], block=Block(vectors[:7], counts, documents))
    for id in odd:
        row = store.row_of(id)
        assert store.documents([row])[0] == Document(id, "t", (id,))
        found = store.search(vectors[:1], counts[[0]], 9, wanted=Filter((id,)))
        assert found.rows.tolist() == [[row]]
    assert len(change(store, drop=odd)) == 3
