"""tf-idf weights against scikit-learn's, and scores against dense products."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfTransformer

from docboltz.search import words as module
from docboltz.search.words import DTYPES, FILES, WordIndex, WordWriter
from tests.search.stores import N_WORDS, random_counts

many_examples = settings(max_examples=100, deadline=None)
tables = st.tuples(st.integers(1, 20), st.integers(1, 8)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.sampled_from([0, 0, 0, 1, 2, 1000]))
)


def dense(index: WordIndex) -> np.ndarray:
    """Weights of all documents in float64: (n, K)."""
    return index.of_documents(np.arange(len(index.starts) - 1)).toarray().astype(np.float64)


@many_examples
@given(tables)
def test_weights_are_those_of_scikit_learn(counts: np.ndarray) -> None:
    index, theirs = WordIndex.of(csr_array(counts)), TfidfTransformer(sublinear_tf=True)
    expected = theirs.fit_transform(counts).toarray()
    np.testing.assert_allclose(index.idf, theirs.idf_, rtol=1e-12)
    np.testing.assert_allclose(dense(index), expected, atol=1e-6)
    queries = np.roll(counts, 1, axis=1)
    mine = index.vectors(csr_array(queries))
    assert mine.dtype == np.float32
    np.testing.assert_allclose(mine.toarray(), theirs.transform(queries).toarray(), atol=1e-6)


@many_examples
@given(tables)
def test_both_orders_hold_the_same_weights(counts: np.ndarray) -> None:
    index = WordIndex.of(csr_array(counts))
    by_word = csr_array((index.row_weights, index.rows, index.word_starts), counts.T.shape)
    np.testing.assert_array_equal(by_word.toarray().T, dense(index))
    np.testing.assert_array_equal(index.n_words(), (counts > 0).sum(1))
    for k in range(counts.shape[1]):
        assert (np.diff(index.rows[index.word_starts[k] : index.word_starts[k + 1]]) > 0).all()


@many_examples
@given(tables)
def test_scores_are_dense_products(counts: np.ndarray) -> None:
    index = WordIndex.of(csr_array(counts))
    queries = index.vectors(csr_array(np.roll(counts, 1, axis=1)))
    expected = queries.toarray().astype(np.float64) @ dense(index).T
    np.testing.assert_allclose(index.scores(queries), expected, atol=1e-6)
    rows = np.arange(len(counts))[::-1]
    for i, query in enumerate(queries.toarray().astype(np.float64)):
        np.testing.assert_allclose(index.exact(rows, query), expected[i, rows], atol=1e-15)


@many_examples
@given(tables, st.lists(st.integers(0, 19)))
def test_documents_may_be_asked_for_in_any_order(counts: np.ndarray, wanted: list[int]) -> None:
    index = WordIndex.of(csr_array(counts))
    rows = np.array([row % len(counts) for row in wanted], np.int64)
    found = index.of_documents(rows)
    assert found.shape == (len(rows), counts.shape[1])
    np.testing.assert_array_equal(found.toarray(), dense(index)[rows])
    query = np.linspace(0, 1, counts.shape[1])
    together = index.exact(rows, query) if len(rows) else []
    # To the bit, whoever the neighbours are.
    np.testing.assert_array_equal(together, [index.exact(r[None], query)[0] for r in rows])


def test_documents_without_words_score_zero() -> None:
    index = WordIndex.of(csr_array([[0, 0], [1, 2], [0, 0]]))
    np.testing.assert_array_equal(index.n_words(), [0, 2, 0])
    queries = index.vectors(csr_array([[1, 0], [0, 0]]))
    scores = index.scores(queries)
    np.testing.assert_array_equal(scores[:, [0, 2]], 0)
    np.testing.assert_array_equal(scores[1], 0)
    assert index.exact(np.array([0, 2]), np.ones(2)).tolist() == [0, 0]
    assert index.of_documents(np.array([0, 2])).nnz == 0
    assert not dense(WordIndex.of(csr_array((3, 2)))).any()


def test_how_counts_are_stored_does_not_matter() -> None:
    """Words out of order, twice, or with a count of 0; sums beyond their integers."""
    plain = np.array([[3, 0, 200], [0, 400, 0]])
    data, columns = [200, 1, 2, 200, 0, 200], [2, 0, 0, 1, 2, 1]
    odd = csr_array((np.array(data, np.uint8), columns, [0, 3, 6]), shape=(2, 3))
    before = odd.copy()
    mine, usual = WordIndex.of(odd), WordIndex.of(csr_array(plain))
    for name in DTYPES:
        np.testing.assert_array_equal(getattr(mine, name), getattr(usual, name))
    asked = usual.vectors(odd)
    np.testing.assert_array_equal(asked.toarray(), usual.vectors(csr_array(plain)).toarray())
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(odd, part), getattr(before, part))


@pytest.mark.parametrize("n", [1, 3000])
def test_it_comes_back_as_it_went_in(tmp_path: Path, n: int) -> None:
    counts = csr_array((n, N_WORDS), dtype=np.int64) if n == 1 else random_counts(n)
    saved = WordIndex.of(counts)
    saved.save(tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == set(FILES.values())
    loaded = WordIndex.load(tmp_path, n, N_WORDS)
    for name in DTYPES:
        np.testing.assert_array_equal(getattr(loaded, name), getattr(saved, name))
        assert getattr(loaded, name).dtype == getattr(saved, name).dtype == DTYPES[name]
        assert not getattr(loaded, name).size or not getattr(loaded, name).flags.writeable
    for wrong in ((n + 1, N_WORDS), (n, N_WORDS + 1), (n - 1, N_WORDS)):
        with pytest.raises(ValueError, match="words are not those of"):
            WordIndex.load(tmp_path, *wrong)


@pytest.mark.parametrize("entries", [1, 5, 1000])
def test_words_written_block_by_block_are_those_of_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entries: int
) -> None:
    monkeypatch.setattr(module, "ENTRIES_AT_ONCE", entries)
    counts = random_counts(100)
    counts = csr_array(np.where(np.arange(100)[:, None] % 9 == 0, 0, counts.toarray()))
    with WordWriter(tmp_path, N_WORDS) as writer:
        for begin in range(0, 100, 13):
            writer.append(counts[begin : begin + 13])
        writer.finish()
    written, usual = WordIndex.load(tmp_path, 100, N_WORDS), WordIndex.of(counts)
    for name in DTYPES:
        np.testing.assert_array_equal(getattr(written, name), getattr(usual, name))
