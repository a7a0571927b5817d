"""Ranking by cosine, against hand computation and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_matrix
from sklearn.metrics import average_precision_score

from docboltz.errors import InvalidParameter
from docboltz.evaluation import retrieval
from docboltz.evaluation.retrieval import evaluate_multilabel_retrieval, evaluate_retrieval


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


def test_every_document_needs_a_label():
    with pytest.raises(InvalidParameter, match=r"'database_labels'.*\(2,\)"):
        evaluate_retrieval(angles(1, 2), ["x", "y", "z"], angles(1), ["x"])
    with pytest.raises(InvalidParameter, match=r"'query_labels'.*\(1,\)"):
        evaluate_retrieval(angles(1, 2), ["x", "y"], angles(1), ["x", "y"])


def multilabel_data(seed):
    """30 documents and 8 queries; the first of both carry all of the 5 labels."""
    rng = np.random.default_rng(seed)
    database, queries = rng.normal(size=(30, 6)), rng.normal(size=(8, 6))
    labels, asked = rng.random((30, 5)) < 0.3, rng.random((8, 5)) < 0.5
    labels[0] = asked[0] = True
    return database, labels, queries, asked


def test_multilabel_measures_by_hand(device):
    found = evaluate_multilabel_retrieval(
        angles(10, 20, 30, 40, 50),
        [[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]],
        angles(0, 90),
        [[1, 1, 0], [1, 0, 1]],
        device=device,
    )
    assert found.query.tolist() == [0, 0, 1]  # the third label has no document
    assert found.label.tolist() == [0, 1, 0]
    # Label 0 is at ranks 1, 3, 5 from both sides, label 1 at ranks 2, 3, 4.
    ends, middle = (1 / 1 + 2 / 3 + 3 / 5) / 3, (1 / 2 + 2 / 3 + 3 / 4) / 3
    assert found.average_precision == pytest.approx([ends, middle, ends])
    assert found.precision_at_10 == pytest.approx([3 / 5] * 3)


def test_means_are_over_the_queries_of_a_label_and_then_over_labels():
    # Label 0 is asked for at ranks 1 and 3, label 2 at rank 2; no query has label 1.
    found = evaluate_multilabel_retrieval(
        angles(10, 20, 30),
        [[1, 1, 0], [0, 0, 1], [0, 0, 0]],
        angles(0, 40, 0),
        [[1, 0, 1], [1, 0, 0], [0, 0, 0]],
    )
    assert found.mean_average_precision == pytest.approx(((1 + 1 / 3) / 2 + 1 / 2) / 2)
    assert found.mean_precision_at_10 == pytest.approx(1 / 3)


def test_multilabel_ties_come_in_the_order_of_rows(device):
    first_and_last = [[1, 0], [0, 0], [0, 0], [0, 1]]
    found = evaluate_multilabel_retrieval(
        angles(5, 5, 5, 5), first_and_last, angles(0), [[1, 1]], device=device
    )
    assert found.average_precision == pytest.approx([1, 1 / 4])


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 40), n_labels=st.integers(1, 6))
def test_multilabel_agrees_with_scikit_learn(seed, n, n_labels):
    rng = np.random.default_rng(seed)
    # Well apart, as above: no ties.
    database, queries = angles(*rng.permutation(n) * 4.0), angles(*[-1.0] * 5)
    labels, asked = rng.random((n, n_labels)) < 0.4, rng.random((5, n_labels)) < 0.6
    labels[0, 0] = asked[0, 0] = True
    found = evaluate_multilabel_retrieval(database, labels, queries, asked)
    scores = {
        (query, label): average_precision_score(labels[:, label], database @ queries[query])
        for query, label in np.argwhere(asked & labels.any(0))
    }
    assert list(zip(found.query, found.label, strict=True)) == list(scores)
    assert found.average_precision == pytest.approx(list(scores.values()))
    by_label = [
        np.mean([score for (_, label), score in scores.items() if label == one])
        for one in {label for _, label in scores}
    ]
    assert found.mean_average_precision == pytest.approx(np.mean(by_label))


def test_one_label_each_is_single_label_retrieval():
    rng = np.random.default_rng(3)
    database, queries = rng.normal(size=(40, 6)), rng.normal(size=(12, 6))
    labels, asked = rng.integers(0, 4, 40), rng.integers(0, 4, 12)
    single = evaluate_retrieval(database, labels, queries, asked, center=True)
    multi = evaluate_multilabel_retrieval(
        database, np.eye(4)[labels], queries, np.eye(4)[asked], center=True
    )
    assert np.array_equal(multi.query, np.arange(12))
    assert np.array_equal(multi.label, asked)
    assert np.array_equal(multi.average_precision, single.average_precision)
    assert np.array_equal(multi.precision_at_10, single.precision_at_10)


@pytest.mark.parametrize("sparse", [csr_matrix, coo_array])
def test_sparse_labels_are_dense_labels(sparse):
    database, labels, queries, asked = multilabel_data(0)
    dense = evaluate_multilabel_retrieval(database, labels, queries, asked)
    found = evaluate_multilabel_retrieval(database, sparse(labels), queries, sparse(asked))
    assert np.array_equal(found.query, dense.query)
    assert np.array_equal(found.label, dense.label)
    assert np.array_equal(found.average_precision, dense.average_precision)


@pytest.mark.parametrize("entries", [1, 70, 200])  # one query, two and six queries at a time
def test_blocks_change_nothing_for_many_labels(monkeypatch, entries):
    arguments = multilabel_data(1)
    whole = evaluate_multilabel_retrieval(*arguments)
    monkeypatch.setattr("docboltz.evaluation.retrieval.BLOCK_ENTRIES", entries)
    blocks = evaluate_multilabel_retrieval(*arguments)
    assert np.array_equal(whole.query, blocks.query)
    assert np.array_equal(whole.label, blocks.label)
    assert np.array_equal(whole.average_precision, blocks.average_precision)
    assert np.array_equal(whole.precision_at_10, blocks.precision_at_10)


def test_a_block_is_never_larger_than_it_may_be(monkeypatch):
    sizes = []
    measure = retrieval._measure
    monkeypatch.setattr(retrieval, "BLOCK_ENTRIES", 70)
    monkeypatch.setattr(
        retrieval,
        "_measure",
        lambda blocks: measure(sizes.append(b.numel()) or b for b in blocks),
    )
    found = evaluate_multilabel_retrieval(*multilabel_data(1))
    assert max(sizes) <= 70
    assert sum(sizes) == 30 * len(found.query)


def test_no_label_in_common_is_an_error():
    with pytest.raises(InvalidParameter, match="labels the database has"):
        evaluate_multilabel_retrieval(angles(1, 2), [[1, 0], [1, 0]], angles(1), [[0, 1]])
    with pytest.raises(InvalidParameter, match="of 2 columns"):
        evaluate_multilabel_retrieval(angles(1, 2), [[1, 0], [1, 0]], angles(1), [[1, 0, 0]])
