"""Groups against labels: by hand, by trying every matching, and what cannot be compared."""

from itertools import permutations

import numpy as np
import pytest
from scipy.sparse import csr_array

from docboltz.errors import InvalidParameter
from docboltz.evaluation.groups import compare_groups, match_groups, stability

GROUPS = np.array([0, 0, 0, 1, 1, 2])
LABELS = np.array(["a", "a", "b", "b", "b", "b"])


def test_by_hand():
    found = compare_groups(GROUPS, LABELS)
    # Groups 0 and 1 go with a and b; group 2 goes with nothing.
    assert match_groups(GROUPS, LABELS) == {0: "a", 1: "b"}
    assert found.accuracy == 4 / 6
    # H(labels | groups): group 0 has 2 of a and 1 of b, the others one label each.
    left = 3 / 6 * -(2 / 3 * np.log(2 / 3) + 1 / 3 * np.log(1 / 3))
    of_labels = -(1 / 3 * np.log(1 / 3) + 2 / 3 * np.log(2 / 3))
    of_groups = -(1 / 2 * np.log(1 / 2) + 1 / 3 * np.log(1 / 3) + 1 / 6 * np.log(1 / 6))
    assert found.nmi == pytest.approx(2 * (of_labels - left) / (of_labels + of_groups))
    # Pairs: 2 together in both, 4 together by groups, 7 by labels, of 15.
    assert found.ari == pytest.approx((2 - 4 * 7 / 15) / ((4 + 7) / 2 - 4 * 7 / 15))
    assert found.n_documents == 6


def test_names_of_groups_mean_nothing():
    renamed = np.array([7, 0, 3])[GROUPS]
    assert compare_groups(renamed, LABELS) == compare_groups(GROUPS, LABELS)
    assert match_groups(renamed, LABELS) == {7: "a", 0: "b"}


@pytest.mark.parametrize("seed", range(5))
def test_no_other_matching_is_better(seed):
    rng = np.random.default_rng(seed)
    groups, labels = rng.integers(4, size=30), rng.integers(3, size=30)
    best = max(
        sum(np.sum((groups == group) & (labels == label)) for label, group in enumerate(chosen))
        for chosen in permutations(range(4), 3)
    )
    assert compare_groups(groups, labels).accuracy == best / 30


def test_what_belongs_nowhere_is_wrong_and_a_group_of_its_own():
    groups = np.array([0, 0, 1, 1, -1, -1])
    labels = np.array([0, 0, 1, 1, 2, 2])
    found = compare_groups(groups, labels)
    assert found.accuracy == 4 / 6
    assert (found.nmi, found.ari) == (1, 1)
    nothing = compare_groups(np.full(6, -1), labels)
    assert (nothing.accuracy, nothing.nmi, nothing.ari) == (0, 0, 0)
    assert match_groups(np.full(6, -1), labels) == {}


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_of_a_matrix_documents_with_one_label_count(kind):
    matrix = np.array([[1, 0], [1, 1], [0, 1], [0, 0], [0, 1]])
    groups = np.array([3, 3, 5, 5, 3])
    found = compare_groups(groups, kind(matrix))
    assert found == compare_groups(groups[[0, 2, 4]], [0, 1, 1])
    assert found.n_documents == 3
    assert match_groups(groups, kind(matrix)) == {3: 0, 5: 1}


def test_stability_is_that_of_the_same_documents():
    rng = np.random.default_rng(0)
    one, other = rng.integers(5, size=(2, 4000))
    assert stability(one, (one + 3) % 5) == 1
    # Independent groups: 0 on average. Its standard deviation over 300 such draws is .0004.
    assert abs(stability(one, other)) < 0.003
    assert stability([0, 0, -1, -1], [1, 1, 0, 0]) == 1


@pytest.mark.parametrize(
    ("groups", "labels", "message"),
    [
        ([0.5, 1.0], ["a", "b"], "whole numbers"),
        ([0, -2], ["a", "b"], "-1 for nowhere"),
        ([], [], "whole numbers"),
        ([0, 1], ["a"], r"of shape \(2,\)"),
        ([0, 1], [[1, 1], [0, 0]], "exactly one label"),
        ([0, 1], [[2, 0], [0, 1]], "1 where a document carries"),
    ],
)
def test_what_cannot_be_compared(groups, labels, message):
    with pytest.raises(InvalidParameter, match=message):
        compare_groups(groups, labels)
    with pytest.raises(InvalidParameter, match=message):
        match_groups(groups, labels)


def test_groups_of_other_documents():
    with pytest.raises(InvalidParameter, match=r"of shape \(2,\), as 'one' is"):
        stability([0, 1], [0, 1, 1])
