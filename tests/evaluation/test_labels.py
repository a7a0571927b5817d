"""What is accepted as a matrix of labels."""

import numpy as np
import pytest
from scipy.sparse import coo_array, csc_matrix

from docboltz.corpus.split import Split
from docboltz.errors import InvalidCorpus, InvalidParameter
from docboltz.evaluation.labels import label_matrix, labels_of, require_same_labels
from tests.corpus.splits import corpus_of

CARRIED = np.array([[1, 0, 1], [0, 0, 0]])


@pytest.mark.parametrize(
    "values", [CARRIED, CARRIED.tolist(), CARRIED > 0, CARRIED / 1.0, csc_matrix(CARRIED)]
)
def test_any_kind_of_0_and_1_will_do(values):
    labels = label_matrix(values, 2, "f", "labels")
    assert labels.dtype == bool
    assert np.array_equal(labels.toarray(), CARRIED > 0)


def test_a_stored_zero_is_no_label_and_the_argument_stays_as_it_is():
    values = coo_array(([0, 1], ([0, 1], [2, 0])), shape=(2, 3)).tocsr()
    labels = label_matrix(values, 2, "f", "labels")
    assert list(zip(*labels.nonzero(), strict=True)) == [(1, 0)]
    assert values.nnz == 2


@pytest.mark.parametrize("wrong", [2, -1, 0.5, np.nan])
def test_other_numbers_are_named_with_their_place(wrong):
    values = [[0, 1, 0], [0, 0, wrong]]
    with pytest.raises(InvalidParameter, match=r"'labels' parameter of f .*row 1, column 2"):
        label_matrix(values, 2, "f", "labels")


@pytest.mark.parametrize("values", [[1, 0], CARRIED[:1], [["a"], ["b"]]])
def test_shape_and_kind_are_checked(values):
    with pytest.raises(InvalidParameter, match=r"numbers of shape \(2, n_labels\)"):
        label_matrix(values, 2, "f", "labels")


def test_both_parts_need_the_same_labels():
    one = label_matrix(CARRIED, 2, "f", "labels")
    require_same_labels(one, one, "f", "test_labels")
    with pytest.raises(InvalidParameter, match=r"of 3 columns.*\(2, 2\)"):
        require_same_labels(one, one[:, :2], "f", "test_labels")


def split_with(labels, test_labels):
    """Documents of one word each, with these labels."""
    return Split(*(corpus_of([[1]] * len(part), part) for part in (labels, test_labels)))


def test_one_label_each_makes_names():
    found = labels_of(split_with([("b",), ("a",), (), ("b", "b")], [(), ("a",)]))
    assert not found.multilabel
    assert found.rows.tolist() == [0, 1, 3]
    assert found.train.tolist() == ["b", "a", "b"]  # a label given twice is one label
    assert (found.test_rows.tolist(), found.test.tolist()) == ([1], ["a"])


def test_several_labels_in_any_part_make_matrices_of_the_same_columns():
    found = labels_of(split_with([("b",), (), ("a",)], [("c", "a"), ("b",)]))
    assert found.multilabel
    assert found.rows.tolist() == [0, 2]
    assert found.train.toarray().tolist() == [[0, 1, 0], [1, 0, 0]]
    assert found.test_rows.tolist() == [0, 1]
    assert found.test.toarray().tolist() == [[1, 0, 1], [0, 1, 0]]


@pytest.mark.parametrize(
    ("labels", "test_labels", "reason"),
    [
        ([(), ()], [()], "The documents have no labels."),
        ([("a",), ("b",)], [(), ()], "in one part only"),
        ([("a",), ("a",)], [("a",)], "one label only, 'a'"),
        ([("a",), ("b",)], [("c",)], "No label of a test document"),
    ],
)
def test_labels_by_which_nothing_can_be_measured(labels, test_labels, reason):
    with pytest.raises(InvalidCorpus, match=reason):
        labels_of(split_with(labels, test_labels))
