import numpy as np
import pytest
from scipy.sparse import csr_array

from docboltz.corpus.corpus import Corpus, Vocabulary, split_rows, without_empty
from docboltz.errors import InvalidCorpus, InvalidParameter


def corpus(n=10):
    counts = np.arange(3 * n, dtype=np.int32).reshape(n, 3) % 4
    labels = tuple(("even",) if i % 2 == 0 else () for i in range(n))
    dates = tuple(f"20{i:02}" for i in range(n))
    ids = tuple(map(str, range(n)))
    return Corpus(csr_array(counts), ids, labels, Vocabulary("abc"), dates=dates)


def test_rows_take_ids_labels_and_dates_along():
    picked = corpus().rows([4, 1])
    assert picked.ids == ("4", "1")
    assert picked.labels == (("even",), ())
    assert picked.dates == ("2004", "2001")
    assert corpus().columns([0]).dates == corpus().dates
    assert np.array_equal(picked.counts.toarray(), corpus().counts.toarray()[[4, 1]])
    assert corpus().rows(np.arange(10) < 2).ids == ("0", "1")


def test_columns_count_what_they_drop():
    whole = corpus()
    picked = whole.columns([2, 0])
    assert picked.vocabulary.words == ("c", "a")
    assert np.array_equal(picked.counts.toarray(), whole.counts.toarray()[:, [2, 0]])
    assert picked.n_outside == whole.counts.toarray()[:, 1].sum()
    assert picked.counts.has_sorted_indices


def test_most_frequent_words_come_first():
    counts = csr_array(np.array([[1, 5, 5, 0]], dtype=np.int32))
    whole = Corpus(counts, ("1",), ((),), Vocabulary(["d", "c", "b", "a"]))
    assert whole.most_frequent(3).vocabulary.words == ("b", "c", "d")


def test_empty_documents_are_counted_and_can_be_left_out():
    counts = csr_array(np.array([[0, 0], [1, 2]], dtype=np.int32))
    whole = Corpus(counts, ("1", "2"), ((), ()), Vocabulary("ab"))
    assert whole.n_empty == 1
    assert whole.without_empty().ids == ("2",)
    assert whole.dates == ("", "")
    assert whole.without_empty().dates == ("",)
    assert whole.lengths.tolist() == [0, 3]


def test_counts_are_not_copied_to_leave_empty_documents_out():
    whole = csr_array(np.array([[0, 0], [1, 2], [0, 0], [0, 3], [0, 0]], dtype=np.int32))
    found = without_empty(whole)
    assert found.toarray().tolist() == [[1, 2], [0, 3]]
    assert np.shares_memory(found.data, whole.data)
    assert np.shares_memory(found.indices, whole.indices)


def test_a_split_is_seeded_and_loses_nothing():
    train, test = map(list, split_rows(10, 0.3, seed=1))
    assert (len(train), len(test)) == (7, 3)
    assert (sorted(train), sorted(test)) == (train, test)
    assert sorted(train + test) == list(range(10))
    assert list(split_rows(10, 3, seed=1)[1]) == test
    assert any(list(split_rows(10, 3, seed=s)[1]) != test for s in range(2, 6))


@pytest.mark.parametrize("test_size", [0, 10, 1.0, 0.0, -1, 0.01, True])
def test_a_split_leaves_some_on_each_side(test_size):
    with pytest.raises(InvalidParameter, match="test_size"):
        split_rows(10, test_size)


def test_shapes_must_agree():
    with pytest.raises(InvalidCorpus, match="shape"):
        Corpus(csr_array((2, 3), dtype=np.int32), ("1",), ((),), Vocabulary("abc"))
    with pytest.raises(InvalidCorpus, match="1 labels and 2 dates"):
        Corpus(csr_array((1, 1)), ("1",), ((),), Vocabulary("a"), dates=("2013", "2014"))
