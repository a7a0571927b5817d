import numpy as np
import pytest
from scipy.sparse import csr_array

from docboltz.corpus.document import Document
from docboltz.explorer.stored_counts import MOST, stored_counts
from docboltz.search.store import SearchStore
from docboltz.search.writer import Block, build_store

K, F = 30, 4
MEAN = np.full(F, 0.5, np.float32)


def features(counts):
    """Some that depend on every count, as a model's do that is sure of nothing."""
    weights = np.random.default_rng(0).normal(size=(F, K))
    found = 1 / (1 + np.exp(0.5 - 0.03 * (counts @ weights.T)))
    return np.where(np.diff(counts.indptr)[:, None] > 0, found, 0).astype(np.float32)


@pytest.fixture
def stored(tmp_path):
    def store(rows):
        counts = csr_array(np.array(rows, np.int32))
        documents = [Document(str(i), "") for i in range(len(rows))]
        blocks = [Block(features(counts), counts, documents)]
        build_store(tmp_path, F, K, blocks, model="test", mean=MEAN)
        return SearchStore.open(tmp_path)

    return store


def test_counts_are_those_that_were_indexed(stored):
    rows = np.random.default_rng(1).poisson(0.3, size=(200, K))
    rows[:5] = 0
    rows[1, 3] = 1
    rows[2, 3] = 2  # the weights of these three are the same, their features are not
    rows[3, 3] = MOST
    rows[4, [5, 6, 7]] = 2, 3, 300
    found = stored_counts(stored(rows), features)
    np.testing.assert_array_equal(found.toarray(), rows)


def test_features_that_tell_nothing_do_not_make_counts_of_fractions(stored, monkeypatch):
    rows = np.random.default_rng(2).integers(2, 6, size=(50, K))
    store = stored(rows)
    equal = np.asarray(store.features)
    monkeypatch.setattr(
        "docboltz.explorer.stored_counts.unit_vectors", lambda found, mean: equal[: len(found)] * 0
    )
    monkeypatch.setattr(store, "features", equal * 0)
    found = stored_counts(store, lambda counts: np.zeros((counts.shape[0], F), np.float32))
    np.testing.assert_array_equal(found.toarray(), rows)


def test_the_least_counts_where_features_do_not_tell(stored):
    rows = np.zeros((2, K), int)
    rows[0, [3, 4]] = 10 * MOST
    rows[1, 5] = 1
    found = stored_counts(stored(rows), features).toarray()
    assert found[0, [3, 4]].tolist() == [1, 1]
    assert found[1, 5] == 1
