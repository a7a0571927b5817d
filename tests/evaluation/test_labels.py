"""What is accepted as a matrix of labels."""

import numpy as np
import pytest
from scipy.sparse import coo_array, csc_matrix

from docboltz.errors import InvalidParameter
from docboltz.evaluation.labels import label_matrix, require_same_labels

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
