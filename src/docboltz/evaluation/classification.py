"""Classification (section 4.5): logistic regression on the features.

n documents to learn from, T to test on, F features, L labels. Dense features are standardised by
the n documents. Sparse ones stay sparse and are taken as they are: to make every column's spread 1
would make the rarest words the loudest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.preprocessing import StandardScaler

from docboltz.corpus.corpus import check_structure
from docboltz.device import choose_device
from docboltz.errors import is_number, require
from docboltz.evaluation.labels import label_matrix, label_names, require_same_labels
from docboltz.evaluation.logistic import fit_logistic, logits

FIXED_C = 0.01
"""The inverse strength of the L2 penalty behind the figures in the lab notes on training.

On RCV1 (25,000 documents, 103 labels) mean average precision at .003, .01, .03 and .1 was .710,
.713, .702, .689 for LSI 512 and .684, .702, .710, .706 for Over-Replicated Softmax 512: no value is
best for both, which is why a comparison of models should have C chosen for each."""

FIXED_FOR = 10_000

C_GRID = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""What C is chosen from. Sparse features, not standardised, are that much smaller and need more."""
SPARSE_FACTOR = 100
SPARSE_C_GRID = tuple(SPARSE_FACTOR * C for C in C_GRID)
HELD_OUT_SHARE = 0.2


def fixed_penalty(features: Any) -> float:
    """C for so many features (n, F) where it is not chosen.

    It is FIXED_C for ten thousand documents and more. For fewer it is larger, or the penalty would
    weigh more than all of them and everything be taken for the most frequent label.

    >>> fixed_penalty(np.ones((20_000, 3))), fixed_penalty(np.eye(50))
    (0.01, 2.0)
    >>> fixed_penalty(csr_array(np.eye(50)))
    200.0
    """
    C = FIXED_C * max(1, FIXED_FOR / _n_rows(features))
    return C * SPARSE_FACTOR if issparse(features) else C


@dataclass(frozen=True, eq=False)
class Classification:
    """What a classifier made of the test documents, one label each."""

    predicted: NDArray[Any]
    """The label it gave to each (T,)."""
    correct: NDArray[np.bool_]
    """Whether that is the document's own (T,)."""
    C: float
    """Inverse strength of the penalty, as given or chosen."""

    @property
    def score(self) -> float:
        """Accuracy: the share of the test documents with the right label."""
        return float(self.correct.mean())


@dataclass(frozen=True, eq=False)
class MultilabelClassification:
    """How well one classifier a label ranks the test documents. L' labels could be learned."""

    label: NDArray[np.int64]
    """Columns of the labels that could be learned and tested (L',)."""
    average_precision: NDArray[np.float64]
    """Average precision of each over the test documents (L',)."""
    C: float
    """Inverse strength of the penalty, as given or chosen; one for all labels."""

    @property
    def score(self) -> float:
        """Mean average precision, over the labels."""
        return float(self.average_precision.mean())


Classified = Classification | MultilabelClassification


def evaluate_classification(
    features: Any,
    labels: Any,
    test_features: Any,
    test_labels: Any,
    *,
    C: float | None = None,
    seed: int = 0,
    device: str = "cpu",
) -> Classified:
    """Train a classifier on features (n, F), and test it on others (T, F).

    Features are arrays or sparse matrices. With labels that are names (n,) and (T,), the classifier
    is multinomial, and a label that no training document has is never right. With 0/1 matrices
    (n, L) and (T, L), dense or sparse, there is a classifier a label, which ranks the test
    documents; left out are labels that no document of a part carries, and those that leave nothing
    to learn because all n carry them.

    Without `C`, the value from a grid that does best on a held-out part of the n documents, by
    accuracy or by mean average precision, is taken, and the classifier trained anew on all; `seed`
    says which part. `device`, for the classifiers of matrices, is 'cpu', 'cuda' or 'auto'; sparse
    features stay on the CPU.
    """
    owner = "evaluate_classification"
    place = choose_device(device, owner)
    for given in (features, test_features):
        check_structure(given, owner)
    multilabel = np.ndim(labels) == 2
    read = label_matrix if multilabel else label_names
    known = read(labels, _n_rows(features), owner, "labels")
    truth = read(test_labels, _n_rows(test_features), owner, "test_labels")
    if multilabel:
        require_same_labels(known, truth, owner, "test_labels")
    expected = "of at least two kinds that can be learned and tested"
    require(_can_learn(known, truth), owner, "labels", expected, "others")
    judge: Callable[..., Any] = partial(_rank, place=place) if multilabel else _predict
    if C is None:
        fitting, held_out = _parts(_n_rows(features), seed)
        fitted, wanted = known[fitting], known[held_out]
        enough = _can_learn(fitted, wanted)
        require(enough, owner, "C", "a number where there are too few documents to choose it", C)
        values = csr_array(features) if issparse(features) else np.asarray(features)
        X, X_held_out = _prepared(values[fitting], values[held_out])
        grid = SPARSE_C_GRID if issparse(X) else C_GRID
        # The strongest penalty of several that do equally well.
        C = max(grid, key=lambda C: float(judge(X, fitted, X_held_out, wanted, C).score))
    require(is_number(C) and C > 0, owner, "C", "None or a number above 0", C)
    X, X_test = _prepared(features, test_features)
    found: Classified = judge(X, known, X_test, truth, C)
    return found


def _predict(
    X: Any, known: NDArray[Any], X_test: Any, truth: NDArray[Any], C: float
) -> Classification:
    """The likeliest label of each test document.

    scikit-learn's solver, not one like `fit_logistic`: for 11,293 documents of 20 kinds and 512
    features it takes 0.6 s on one core at C = .01 and 1.3 s at 1, where L-BFGS in torch took
    1.9 s and 3.9 s for an accuracy within .003.
    """
    classifier = LogisticRegression(C=C, max_iter=1000, tol=1e-3).fit(X, known)
    predicted = np.asarray(classifier.predict(X_test))
    return Classification(predicted, np.asarray(predicted == truth, bool), C)


def _rank(
    X: Any, known: csr_array, X_test: Any, truth: csr_array, C: float, place: torch.device
) -> MultilabelClassification:
    """Average precision of each label over the test documents."""
    kept = _learnable(known, truth)
    X, X_test = (part.astype(np.float32) for part in (X, X_test))
    if issparse(X):
        place = torch.device("cpu")
    else:
        X, X_test = (torch.as_tensor(part, device=place) for part in (X, X_test))
    Y = torch.as_tensor(known[:, kept].toarray(), dtype=torch.float32, device=place)
    z = logits(X_test, *fit_logistic(X, Y, C))  # (T, labels)
    scores = average_precision_score(truth[:, kept].toarray(), z.cpu().numpy(), average=None)
    return MultilabelClassification(kept, np.reshape(scores, -1), C)


def _can_learn(known: Any, truth: Any) -> bool:
    if issparse(known):
        return _learnable(known, truth).size > 0
    return len(truth) > 0 and len(np.unique(known)) > 1


def _learnable(known: csr_array, truth: csr_array) -> NDArray[np.int64]:
    """Labels that some but not all documents to learn from carry, and some to test on."""
    n_carriers = known.sum(0)
    return np.flatnonzero((n_carriers > 0) & (n_carriers < known.shape[0]) & (truth.sum(0) > 0))


def _parts(n: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows to fit and rows held out, at random.

    Not scikit-learn's train_test_split, which would hold out other documents for a seed than those
    that all figures in the documentation come from.
    """
    order = np.random.default_rng(seed).permutation(n)
    n_held_out = round(HELD_OUT_SHARE * n)
    return np.sort(order[n_held_out:]), np.sort(order[:n_held_out])


def _prepared(features: Any, others: Any) -> tuple[Any, Any]:
    """Both parts standardised by the first; or sparse, as they are."""
    if issparse(features) or issparse(others):
        return csr_array(features), csr_array(others)
    scaler = StandardScaler().fit(np.asarray(features))
    return scaler.transform(np.asarray(features)), scaler.transform(np.asarray(others))


def _n_rows(features: Any) -> int:
    return int(features.shape[0] if issparse(features) else len(features))
