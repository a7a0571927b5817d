"""Classification (section 4.5): logistic regression on the features.

n documents to learn from, T to test on, F features, L labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from docboltz.device import choose_device
from docboltz.errors import require
from docboltz.evaluation.labels import label_matrix, require_same_labels
from docboltz.evaluation.logistic import fit_logistic

# Inverse strength of the L2 penalty. On RCV1 (25,000 documents, 103 labels) mean average precision
# at .003, .01, .03 and .1 was .710, .713, .702, .689 for LSI 512 and .684, .702, .710, .706 for
# Over-Replicated Softmax 512: no value is best for both.
C = 0.01


def evaluate_classification(
    features: ArrayLike, labels: ArrayLike, test_features: ArrayLike, test_labels: ArrayLike
) -> float:
    """Accuracy on the test part of a classifier trained on standardised features of the other."""
    classifier = make_pipeline(StandardScaler(), LogisticRegression(C=C, max_iter=200, tol=1e-3))
    classifier.fit(features, labels)
    return float(np.mean(classifier.predict(test_features) == np.asarray(test_labels)))


def evaluate_multilabel_classification(
    features: ArrayLike,
    labels: Any,
    test_features: ArrayLike,
    test_labels: Any,
    *,
    device: str = "cpu",
) -> float:
    """Mean over the labels of the average precision on the test part, a classifier a label.

    Features are (n, F) and (T, F), standardised by the first; labels are 0/1 matrices (n, L) and
    (T, L), dense or sparse. Left out are labels that no document of a part carries, and those that
    leave nothing to learn because all n carry them. `device` is 'cpu', 'cuda' or 'auto'.
    """
    owner = "evaluate_multilabel_classification"
    place = choose_device(device, owner)
    scaler = StandardScaler().fit(np.asarray(features))
    X, X_test = (
        torch.as_tensor(scaler.transform(np.asarray(part)), dtype=torch.float32, device=place)
        for part in (features, test_features)
    )
    known = label_matrix(labels, len(X), owner, "labels")
    truth = label_matrix(test_labels, len(X_test), owner, "test_labels")
    require_same_labels(known, truth, owner, "test_labels")
    n_carriers = known.sum(0)
    kept = (n_carriers > 0) & (n_carriers < len(X)) & (truth.sum(0) > 0)
    require(kept.any(), owner, "test_labels", "labels that can be learned", "none of both parts")
    Y = torch.as_tensor(known[:, kept].toarray(), dtype=torch.float32, device=place)
    W, c = fit_logistic(X, Y, C)
    score = (X_test @ W + c).cpu().numpy()  # (T, kept labels)
    return float(average_precision_score(truth[:, kept].toarray(), score, average="macro"))
