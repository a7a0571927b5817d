"""Ranking by cosine, against hand computation and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_matrix
from sklearn.metrics import average_precision_score

from docboltz.errors import InvalidParameter
from docboltz.evaluation import retrieval
from docboltz.evaluation.retrieval import (
    RECALL_POINTS,
    evaluate_retrieval,
)


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
    assert found.precision_at[10] == pytest.approx([3 / 5, 2 / 5])  # there are only five
    assert found.mean_average_precision == pytest.approx(np.mean(by_hand))
    assert found.mean_precision_at_10 == pytest.approx(0.5)


def test_only_the_first_ten_count():
    labels = ["x"] * 4 + ["y"] * 6 + ["x"] * 5
    found = evaluate_retrieval(angles(*range(15)), labels, angles(-1), ["x"])
    assert found.precision_at[10] == pytest.approx([0.4])


def test_precision_at_any_rank():
    labels = ["y", "x", "y", "x", "x"]
    found = evaluate_retrieval(angles(*range(5)), labels, angles(-1, 5), ["x", "x"], ks=(1, 2, 9))
    assert list(found.precision_at) == [1, 2, 9]
    assert found.precision_at[1].tolist() == [0, 1]
    assert found.precision_at[2].tolist() == [1 / 2, 1]
    assert found.precision_at[9] == pytest.approx([3 / 5, 3 / 5])  # there are only five
    assert found.mean_precision_at(2) == pytest.approx(3 / 4)
    with pytest.raises(InvalidParameter, match=r"one of the ks measured, \(1, 2, 9\)"):
        found.mean_precision_at_10  # noqa: B018
    for wrong in (0, 1.5):
        with pytest.raises(InvalidParameter, match=r"'ks'.*whole numbers from 1"):
            evaluate_retrieval(angles(1), ["x"], angles(1), ["x"], ks=[wrong])


def test_precision_at_recall_by_hand():
    # 125 relevant documents, each behind one that is not, from rank 2 on; r · 125 is 0.025, 0.125,
    # 0.5, 2, 8, 32 and 125: the first three are reached with the first. All precisions are 1/2.
    half = evaluate_retrieval(angles(*np.arange(250) / 3), ["y", "x"] * 125, angles(-1), ["x"])
    assert half.precision_at_recall == pytest.approx(np.full((1, 7), 0.5))
    # The same number in one block after 100 others: number j is at rank 100 + j.
    labels = ["y"] * 100 + ["x"] * 125
    found = evaluate_retrieval(angles(*np.arange(225) / 3), labels, angles(-1), ["x"])
    number = np.array([1, 1, 1, 2, 8, 32, 125])
    assert found.precision_at_recall[0] == pytest.approx(number / (100 + number))
    assert found.mean_precision_at_recall == pytest.approx(number / (100 + number))


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 40))
def test_precision_at_recall_is_read_at_the_first_rank_that_reaches_it(seed, n):
    relevant = np.random.default_rng(seed).random(n) < 0.4
    relevant[-1] = True
    found = evaluate_retrieval(angles(*np.arange(n) * 4.0), relevant, angles(-1), [True])
    hits = np.cumsum(relevant)
    # Whole numbers: r is a number of ten-thousandths.
    reached = [
        np.flatnonzero(10_000 * hits >= round(10_000 * r) * hits[-1])[0] for r in RECALL_POINTS
    ]
    by_hand = [hits[rank] / (rank + 1) for rank in reached]
    assert found.precision_at_recall[0] == pytest.approx(by_hand)


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
    # Short sorts keep the order by themselves; long ones have to be asked to.
    rng = np.random.default_rng(0)
    labels = rng.permutation(["x"] * 50 + ["y"] * 450)
    many = evaluate_retrieval(np.ones((500, 2)), labels, angles(0), ["x"])
    rank = np.flatnonzero(labels == "x") + 1
    assert many.average_precision == pytest.approx([np.mean(np.arange(1, 51) / rank)])


@pytest.mark.parametrize("unknown", ["a", "w", "z"])  # before, between and after the known ones
def test_a_query_without_a_relevant_document_is_left_out_of_map(unknown):
    found = evaluate_retrieval(angles(10, 20), ["v", "x"], angles(0, 0), [unknown, "x"])
    assert np.isnan(found.average_precision[0])
    assert found.precision_at[10][0] == 0
    assert found.mean_average_precision == pytest.approx(1 / 2)
    assert found.mean_precision_at_10 == pytest.approx(1 / 4)
    assert np.isnan(found.precision_at_recall[0]).all()
    assert found.mean_precision_at_recall == pytest.approx([1 / 2] * len(RECALL_POINTS))


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


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 40))
def test_agrees_with_scikit_learn(seed, n):
    rng = np.random.default_rng(seed)
    # Well apart, so that float32 cannot make ties: scikit-learn treats those as one rank.
    database = angles(*rng.permutation(n) * 4.0)
    labels, asked = rng.integers(0, 3, n), rng.integers(0, 3, 5)
    asked[0] = labels[0]
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
    assert np.array_equal(whole.precision_at[10], blocks.precision_at[10])
    assert np.array_equal(whole.precision_at_recall, blocks.precision_at_recall)


def test_features_must_be_of_one_kind():
    with pytest.raises(InvalidParameter, match=r"\(any, 2\)"):
        evaluate_retrieval(angles(1, 2), ["x", "y"], [[1, 2, 3]], ["x"])


def test_features_have_two_dimensions_and_documents():
    with pytest.raises(InvalidParameter, match=r"'database'.*\(any, 2\)"):
        evaluate_retrieval([1, 2], ["x", "y"], angles(1), ["x"])
    with pytest.raises(InvalidParameter, match=r"'queries'.*at least one document"):
        evaluate_retrieval(angles(1, 2), ["x", "y"], np.zeros((0, 2)), [])


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
    found = evaluate_retrieval(
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
    assert found.precision_at[10] == pytest.approx([3 / 5] * 3)


def test_means_are_over_the_queries_of_a_label_and_then_over_labels():
    # Label 0 is asked for at ranks 1 and 3, label 2 at rank 2; no query has label 1.
    found = evaluate_retrieval(
        angles(10, 20, 30),
        [[1, 1, 0], [0, 0, 1], [0, 0, 0]],
        angles(0, 40, 0),
        [[1, 0, 1], [1, 0, 0], [0, 0, 0]],
    )
    assert found.mean_average_precision == pytest.approx(((1 + 1 / 3) / 2 + 1 / 2) / 2)
    assert found.mean_precision_at_10 == pytest.approx(1 / 3)
    assert found.mean_precision_at_recall == pytest.approx(
        [found.mean_average_precision] * len(RECALL_POINTS)  # one relevant document each
    )
    by_query = [(1 + 1 / 2) / 2, 1 / 3, np.nan]
    assert found.query_average_precision == pytest.approx(by_query, nan_ok=True)


def test_multilabel_ties_come_in_the_order_of_rows(device):
    first_and_last = [[1, 0], [0, 0], [0, 0], [0, 1]]
    found = evaluate_retrieval(
        angles(5, 5, 5, 5), first_and_last, angles(0), [[1, 1]], device=device
    )
    assert found.average_precision == pytest.approx([1, 1 / 4])


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 40), n_labels=st.integers(1, 6))
def test_multilabel_agrees_with_scikit_learn(seed, n, n_labels):
    rng = np.random.default_rng(seed)
    # Well apart, as above: no ties.
    database, queries = angles(*rng.permutation(n) * 4.0), angles(*[-1.0] * 5)
    labels, asked = rng.random((n, n_labels)) < 0.4, rng.random((5, n_labels)) < 0.6
    labels[0, 0] = asked[0, 0] = True
    found = evaluate_retrieval(database, labels, queries, asked)
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
    multi = evaluate_retrieval(database, np.eye(4)[labels], queries, np.eye(4)[asked], center=True)
    assert np.array_equal(multi.query, np.arange(12))
    assert np.array_equal(multi.label, asked)
    assert np.array_equal(multi.average_precision, single.average_precision)
    assert np.array_equal(multi.precision_at[10], single.precision_at[10])
    assert np.array_equal(multi.precision_at_recall, single.precision_at_recall)
    assert np.array_equal(multi.query_average_precision, single.query_average_precision)


@pytest.mark.parametrize("sparse", [csr_matrix, coo_array])
def test_sparse_labels_are_dense_labels(sparse):
    database, labels, queries, asked = multilabel_data(0)
    dense = evaluate_retrieval(database, labels, queries, asked)
    found = evaluate_retrieval(database, sparse(labels), queries, sparse(asked))
    assert np.array_equal(found.query, dense.query)
    assert np.array_equal(found.label, dense.label)
    assert np.array_equal(found.average_precision, dense.average_precision)


@pytest.mark.parametrize("entries", [1, 70, 200])  # one query, two and six queries at a time
def test_blocks_change_nothing_for_many_labels(monkeypatch, entries):
    arguments = multilabel_data(1)
    whole = evaluate_retrieval(*arguments)
    monkeypatch.setattr("docboltz.evaluation.retrieval.BLOCK_ENTRIES", entries)
    blocks = evaluate_retrieval(*arguments)
    assert np.array_equal(whole.query, blocks.query)
    assert np.array_equal(whole.label, blocks.label)
    assert np.array_equal(whole.average_precision, blocks.average_precision)
    assert np.array_equal(whole.precision_at[10], blocks.precision_at[10])
    assert np.array_equal(whole.precision_at_recall, blocks.precision_at_recall)


def test_a_block_is_never_larger_than_it_may_be(monkeypatch):
    sizes = []
    measure = retrieval._measure
    monkeypatch.setattr(retrieval, "BLOCK_ENTRIES", 70)
    monkeypatch.setattr(
        retrieval,
        "_measure",
        lambda blocks, ks: measure((sizes.append(b.numel()) or b for b in blocks), ks),
    )
    found = evaluate_retrieval(*multilabel_data(1))
    assert max(sizes) <= 70
    assert sum(sizes) == 30 * len(found.query)


@pytest.mark.parametrize("sparse", [csr_matrix, coo_array])
def test_sparse_features_are_dense_features(sparse, device):
    database, labels, queries, asked = multilabel_data(2)
    for features in (database, queries):
        features[np.abs(features) < 0.7] = 0
    queries[1], database[4] = 0, 0
    dense = evaluate_retrieval(database, labels, queries, asked)
    for documents, wanted in (
        (sparse(database), sparse(queries)),
        (sparse(database), queries),
        (database, sparse(queries)),
    ):
        found = evaluate_retrieval(documents, labels, wanted, asked, device=device)
        # Zeros make ties, and so do documents that share no word with a query.
        assert found.average_precision == pytest.approx(dense.average_precision)
        assert found.precision_at_recall == pytest.approx(dense.precision_at_recall)


def test_sparse_features_are_not_changed_and_not_centred():
    database = csr_matrix(np.array([[3.0, 4.0], [0.0, 2.0]]))
    before = database.copy()
    evaluate_retrieval(database, ["x", "y"], database, ["x", "y"])
    assert (database != before).nnz == 0
    with pytest.raises(InvalidParameter, match=r"'center'.*False for sparse"):
        evaluate_retrieval(database, ["x", "y"], database, ["x", "y"], center=True)


def test_no_label_in_common_is_an_error():
    with pytest.raises(InvalidParameter, match="labels the database has"):
        evaluate_retrieval(angles(1, 2), ["x", "y"], angles(1), ["z"])
    with pytest.raises(InvalidParameter, match="labels the database has"):
        evaluate_retrieval(angles(1, 2), [[1, 0], [1, 0]], angles(1), [[0, 1]])
    with pytest.raises(InvalidParameter, match="of 2 columns"):
        evaluate_retrieval(angles(1, 2), [[1, 0], [1, 0]], angles(1), [[1, 0, 0]])
