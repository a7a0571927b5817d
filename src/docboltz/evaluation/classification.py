"""Classification (section 4.5): multinomial logistic regression on the features."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


def evaluate_classification(
    features: ArrayLike, labels: ArrayLike, test_features: ArrayLike, test_labels: ArrayLike
) -> float:
    """Accuracy on the test part of a classifier trained on standardised features of the other."""
    classifier = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=200, tol=1e-3))
    classifier.fit(features, labels)
    return float(np.mean(classifier.predict(test_features) == np.asarray(test_labels)))
