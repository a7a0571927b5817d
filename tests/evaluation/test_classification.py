"""Accuracy and average precision of classifiers on the features."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.preprocessing import StandardScaler

from docboltz.errors import InvalidParameter
from docboltz.evaluation.classification import (
    C,
    evaluate_classification,
    evaluate_multilabel_classification,
)


def blobs(seed, n=60):
    """Three groups far apart; one feature is a thousand times as large as the other."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(["a", "b", "c"], n // 3)
    centres = np.repeat([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]], n // 3, axis=0)
    return (centres + rng.normal(size=(n, 2))) * [1, 1000], labels


def test_groups_far_apart_are_told_apart():
    assert evaluate_classification(*blobs(0), *blobs(1)) == 1.0


def test_accuracy_is_the_share_of_right_answers():
    features, labels = blobs(0)
    test_features, test_labels = blobs(1)
    wrong = test_labels.copy()
    wrong[:15] = "never seen in training"
    found = evaluate_classification(features, labels, test_features, wrong)
    assert found == pytest.approx(45 / 60)


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
        classifier = LogisticRegression(C=C, tol=1e-8, max_iter=1000).fit(features, truth)
        z = classifier.decision_function(test_features)
        scores.append(average_precision_score(test_truth, z))
    return scores


def test_multilabel_agrees_with_one_classifier_a_label(device):
    train, test = topics(1), topics(2)
    found = evaluate_multilabel_classification(*train, *test, device=device)
    # Decision values agree to some 1e-3, which may swap two neighbours among 600.
    assert found == pytest.approx(np.mean(one_by_one(*train, *test)), abs=1e-3)


def test_sparse_labels_are_dense_labels():
    (features, labels), (test_features, test_labels) = topics(1), topics(2)
    dense = evaluate_multilabel_classification(features, labels, test_features, test_labels)
    sparse = evaluate_multilabel_classification(
        features, csr_array(labels), test_features, csr_array(test_labels)
    )
    assert sparse == dense


def test_labels_missing_in_a_part_or_nowhere_missing_are_left_out():
    (features, labels), (test_features, test_labels) = topics(1), topics(2)
    plain = evaluate_multilabel_classification(features, labels, test_features, test_labels)
    none, all_, some = np.zeros(600), np.ones(600), labels[:, 0]
    more = np.column_stack([labels, none, some, all_])
    test_more = np.column_stack([test_labels, some, none, some])
    found = evaluate_multilabel_classification(features, more, test_features, test_more)
    assert found == pytest.approx(plain, abs=1e-6)


def test_one_label_is_enough_and_none_is_an_error():
    (features, labels), (test_features, test_labels) = topics(1), topics(2)
    found = evaluate_multilabel_classification(
        features, labels[:, :1], test_features, test_labels[:, :1]
    )
    alone = one_by_one(features, labels[:, :1], test_features, test_labels[:, :1])
    assert found == pytest.approx(alone[0], abs=1e-3)
    with pytest.raises(InvalidParameter, match="that can be learned"):
        evaluate_multilabel_classification(
            features, labels[:, :1], test_features, 0 * test_labels[:, :1]
        )
    with pytest.raises(InvalidParameter, match="of 1 columns"):
        evaluate_multilabel_classification(features, labels[:, :1], test_features, test_labels)
