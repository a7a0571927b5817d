import numpy as np
import pytest

from docboltz.evaluation.classification import evaluate_classification


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
