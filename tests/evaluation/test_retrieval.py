"""Ranking by cosine, against hand computation and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from docboltz.errors import InvalidParameter
from docboltz.evaluation.retrieval import evaluate_retrieval


def angles(*degrees):
    """Unit vectors in the plane: the cosine of two is that of the angle between them."""
    radians = np.radians(degrees)
    return np.stack([np.cos(radians), np.sin(radians)], axis=1)


def test_average_precision_and_precision_at_10_by_hand():
    found = evaluate_retrieval(
        angles(10, 20, 30, 40, 50), ["x", "y", "x", "y", "x"], angles(0, 90), ["x", "y"]
    )
    # Relevant at ranks 1, 3, 5; seen from 90° the order is reversed and y is at ranks 2 and 4.
    by_hand = [(1 / 1 + 2 / 3 + 3 / 5) / 3, (1 / 2 + 2 / 4) / 2]
    assert found.average_precision == pytest.approx(by_hand)
    assert found.precision_at_10 == pytest.approx([3 / 5, 2 / 5])  # there are only five
    assert found.mean_average_precision == pytest.approx(np.mean(by_hand))
    assert found.mean_precision_at_10 == pytest.approx(0.5)


def test_only_the_first_ten_count():
    labels = ["x"] * 4 + ["y"] * 6 + ["x"] * 5
    found = evaluate_retrieval(angles(*range(15)), labels, angles(-1), ["x"])
    assert found.precision_at_10 == pytest.approx([0.4])


def test_length_does_not_matter_and_zeros_come_as_they_are():
    database = angles(10, 20, 30)
    labels = ["x", "y", "x"]
    plain = evaluate_retrieval(database, labels, angles(0), ["x"])
    scaled = evaluate_retrieval(database * [[1], [9], [0.1]], labels, 7 * angles(0), ["x"])
    assert np.array_equal(plain.average_precision, scaled.average_precision)
    # A query of zeros has cosine 0 with everything: rows in their order.
    blank = evaluate_retrieval(database, labels, [[0, 0]], ["x"])
    assert blank.average_precision == pytest.approx([(1 + 2 / 3) / 2])


def test_ties_come_in_the_order_of_rows():
    same = angles(5, 5, 5, 5)
    first = evaluate_retrieval(same, ["x", "y", "y", "y"], angles(0), ["x"])
    last = evaluate_retrieval(same, ["y", "y", "y", "x"], angles(0), ["x"])
    assert first.average_precision == pytest.approx([1])
    assert last.average_precision == pytest.approx([1 / 4])


@pytest.mark.parametrize("unknown", ["a", "w", "z"])  # before, between and after the known ones
def test_a_query_without_a_relevant_document_is_left_out_of_map(unknown):
    found = evaluate_retrieval(angles(10, 20), ["v", "x"], angles(0, 0), [unknown, "x"])
    assert np.isnan(found.average_precision[0])
    assert found.precision_at_10[0] == 0
    assert found.mean_average_precision == pytest.approx(1 / 2)
    assert found.mean_precision_at_10 == pytest.approx(1 / 4)


def test_centring_subtracts_the_mean_of_the_database():
    rng = np.random.default_rng(0)
    database, queries = rng.random((20, 3)) + 5, rng.random((6, 3)) + 5
    labels, asked = rng.integers(0, 3, 20), rng.integers(0, 3, 6)
    centred = evaluate_retrieval(database, labels, queries, asked, center=True)
    mean = database.mean(0)
    by_hand = evaluate_retrieval(database - mean, labels, queries - mean, asked)
    assert centred.average_precision == pytest.approx(by_hand.average_precision, nan_ok=True)
    plain = evaluate_retrieval(database, labels, queries, asked)
    assert not np.allclose(plain.average_precision, centred.average_precision, equal_nan=True)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 40))
def test_agrees_with_scikit_learn(seed, n):
    rng = np.random.default_rng(seed)
    # Well apart, so that float32 cannot make ties: scikit-learn treats those as one rank.
    database = angles(*rng.permutation(n) * 4.0)
    labels, asked = rng.integers(0, 3, n), rng.integers(0, 3, 5)
    queries = angles(*[-1.0] * 5)
    found = evaluate_retrieval(database, labels, queries, asked)
    for row in range(5):
        relevant = labels == asked[row]
        if relevant.any():
            score = average_precision_score(relevant, database @ queries[row])
            assert found.average_precision[row] == pytest.approx(score)
        else:
            assert np.isnan(found.average_precision[row])


def test_blocks_change_nothing(monkeypatch):
    rng = np.random.default_rng(1)
    arguments = rng.random((9, 4)), rng.integers(0, 2, 9), rng.random((7, 4)), [0, 1] * 3 + [0]
    whole = evaluate_retrieval(*arguments)
    monkeypatch.setattr("docboltz.evaluation.retrieval.BLOCK_ENTRIES", 20)
    blocks = evaluate_retrieval(*arguments)
    assert np.array_equal(whole.average_precision, blocks.average_precision)
    assert np.array_equal(whole.precision_at_10, blocks.precision_at_10)


def test_features_must_be_of_one_kind():
    with pytest.raises(InvalidParameter, match=r"\(any, 2\)"):
        evaluate_retrieval(angles(1, 2), ["x", "y"], [[1, 2, 3]], ["x"])
