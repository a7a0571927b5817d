"""Accuracy and average precision of classifiers on the features."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.preprocessing import StandardScaler

from docboltz.errors import InvalidParameter
from docboltz.evaluation import classification
from docboltz.evaluation.classification import (
    C_GRID,
    FIXED_C,
    SPARSE_C_GRID,
    evaluate_classification,
)


def blobs(seed, n=60):
    """Three groups far apart; one feature is a thousand times as large as the other."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(["a", "b", "c"], n // 3)
    centres = np.repeat([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]], n // 3, axis=0)
    return (centres + rng.normal(size=(n, 2))) * [1, 1000], labels


def test_groups_far_apart_are_told_apart():
    found = evaluate_classification(*blobs(0), *blobs(1), C=FIXED_C)
    assert found.score == 1.0
    assert found.predicted.tolist() == blobs(1)[1].tolist()
    assert found.C == FIXED_C


def test_accuracy_is_the_share_of_right_answers():
    features, labels = blobs(0)
    test_features, test_labels = blobs(1)
    wrong = test_labels.copy()
    wrong[:15] = "never seen in training"
    found = evaluate_classification(features, labels, test_features, wrong, C=FIXED_C)
    assert found.score == pytest.approx(45 / 60)
    assert found.correct.tolist() == [False] * 15 + [True] * 45


def topics(seed, n=600, n_features=10, n_labels=7):
    """Features on very different scales, one of them constant; labels from 3 % to 50 %."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, n_features))
    x[:, -1] = 1
    weights = np.random.default_rng(0).normal(size=(n_features, n_labels))
    weights[-1] = np.linspace(-6, 0, n_labels)
    labels = x @ weights + rng.logistic(size=(n, n_labels)) > 0
    return x * np.geomspace(0.01, 100, n_features), labels.astype(int)


def one_by_one(features, labels, test_features, test_labels):
    """Average precision of one scikit-learn classifier a label."""
    scaler = StandardScaler().fit(features)
    features, test_features = scaler.transform(features), scaler.transform(test_features)
    scores = []
    for truth, test_truth in zip(labels.T, test_labels.T, strict=True):
        classifier = LogisticRegression(C=FIXED_C, tol=1e-8, max_iter=1000).fit(features, truth)
        z = classifier.decision_function(test_features)
        scores.append(average_precision_score(test_truth, z))
    return scores


def test_multilabel_agrees_with_one_classifier_a_label(device):
    train, test = topics(1), topics(2)
    found = evaluate_classification(*train, *test, C=FIXED_C, device=device)
    by_label = one_by_one(*train, *test)
    assert found.label.tolist() == list(range(7))
    # Decision values agree to some 1e-3, which may swap a few neighbours among 600.
    assert found.average_precision == pytest.approx(by_label, abs=5e-3)
    assert found.score == pytest.approx(np.mean(by_label), abs=1e-3)


def test_sparse_labels_are_dense_labels():
    (features, labels), (test_features, test_labels) = topics(1), topics(2)
    dense = evaluate_classification(features, labels, test_features, test_labels, C=FIXED_C)
    sparse = evaluate_classification(
        features, csr_array(labels), test_features, csr_array(test_labels), C=FIXED_C
    )
    assert np.array_equal(sparse.average_precision, dense.average_precision)


def test_labels_missing_in_a_part_or_nowhere_missing_are_left_out():
    (features, labels), (test_features, test_labels) = topics(1), topics(2)
    plain = evaluate_classification(features, labels, test_features, test_labels, C=FIXED_C)
    none, all_, some = np.zeros(600), np.ones(600), labels[:, 0]
    more = np.column_stack([none, labels, some, all_])
    test_more = np.column_stack([some, test_labels, none, some])
    found = evaluate_classification(features, more, test_features, test_more, C=FIXED_C)
    assert found.label.tolist() == list(range(1, 8))
    assert found.average_precision == pytest.approx(plain.average_precision, abs=1e-6)


def test_one_label_is_enough_and_none_is_an_error():
    (features, labels), (test_features, test_labels) = topics(1), topics(2)
    one, test_one = labels[:, :1], test_labels[:, :1]
    found = evaluate_classification(features, one, test_features, test_one, C=FIXED_C)
    alone = one_by_one(features, one, test_features, test_one)
    assert found.average_precision == pytest.approx(alone, abs=1e-3)
    with pytest.raises(InvalidParameter, match="that can be learned"):
        evaluate_classification(features, one, test_features, 0 * test_one)
    with pytest.raises(InvalidParameter, match="of 1 columns"):
        evaluate_classification(features, one, test_features, test_labels)


# ---- C ----


def noisy(seed, n, n_features=40):
    """Two labels, one informative feature and much noise: a strong penalty is best."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    return X, np.where(X[:, 0] + rng.normal(size=n) > 0, "x", "y")


def test_without_c_the_best_on_held_out_documents_is_taken_and_all_are_learned_from():
    train, test = noisy(0, 150), noisy(1, 200)
    found = evaluate_classification(*train, *test, seed=3)
    fitting, held_out = classification._parts(150, 3)
    assert (len(fitting), len(held_out)) == (120, 30)
    assert sorted([*fitting, *held_out]) == list(range(150))
    X, labels = train
    on_held_out = [
        evaluate_classification(
            X[fitting], labels[fitting], X[held_out], labels[held_out], C=C
        ).score
        for C in C_GRID
    ]
    assert len(set(on_held_out)) > 1  # or there would be nothing to choose
    assert C_GRID[np.argmax(on_held_out)] == found.C
    refitted = evaluate_classification(*train, *test, C=found.C)
    assert np.array_equal(found.predicted, refitted.predicted)


def test_without_c_many_labels_are_judged_by_mean_average_precision():
    (X, Y), test = topics(1, n=200, n_features=30), topics(2, n=200, n_features=30)
    found = evaluate_classification(X, Y, *test, seed=1)
    fitting, held_out = classification._parts(200, 1)
    on_held_out = [
        evaluate_classification(X[fitting], Y[fitting], X[held_out], Y[held_out], C=C).score
        for C in C_GRID
    ]
    assert C_GRID[np.argmax(on_held_out)] == found.C
    refitted = evaluate_classification(X, Y, *test, C=found.C)
    assert np.array_equal(found.average_precision, refitted.average_precision)


def test_sparse_features_are_taken_as_they_are():
    (X, labels), (X_test, test_labels) = noisy(0, 200), noisy(1, 100)
    X[np.abs(X) < 1], X_test[np.abs(X_test) < 1] = 0, 0
    sparse, test = csr_array(X), csr_array(X_test)
    found = evaluate_classification(sparse, labels, test, test_labels, C=0.3)
    plain = LogisticRegression(C=0.3, tol=1e-3, max_iter=1000).fit(X, labels).predict(X_test)
    assert np.mean(found.predicted == plain) > 0.98  # rounding may tip a document on the border
    assert evaluate_classification(sparse, labels, test, test_labels).C in SPARSE_C_GRID
    Y, Y_test = ((of == "x")[:, None].astype(int) for of in (labels, test_labels))
    many = evaluate_classification(sparse, Y, test, Y_test, C=0.3)
    scores = LogisticRegression(C=0.3, tol=1e-8, max_iter=1000).fit(X, labels).predict_proba(X_test)
    by_hand = average_precision_score(Y_test[:, 0], scores[:, 0])
    assert many.average_precision == pytest.approx([by_hand], abs=5e-3)


@pytest.mark.parametrize("wrong", [0, -1, np.inf, "much"])
def test_c_is_a_positive_number(wrong):
    with pytest.raises(InvalidParameter, match="None or a number above 0"):
        evaluate_classification(*blobs(0), *blobs(1), C=wrong)
    with pytest.raises(InvalidParameter, match="None or a number above 0"):
        evaluate_classification(*topics(1), *topics(2), C=wrong)


def test_too_little_to_learn_from():
    X = np.array([[0.0], [1.0]])
    with pytest.raises(InvalidParameter, match="too few documents to choose it"):
        evaluate_classification(X, ["x", "y"], X, ["x", "y"])
    with pytest.raises(InvalidParameter, match="too few documents to choose it"):
        evaluate_classification(X, [[0], [1]], X, [[0], [1]])
    with pytest.raises(InvalidParameter, match="of at least two kinds"):
        evaluate_classification(X, ["x", "x"], X, ["x", "y"], C=FIXED_C)
    with pytest.raises(InvalidParameter, match=r"'test_labels'.*\(2,\)"):
        evaluate_classification(X, ["x", "y"], X, ["x"], C=FIXED_C)
