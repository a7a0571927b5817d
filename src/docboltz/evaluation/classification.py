"""Classification (section 4.5): logistic regression on the features.

n documents to learn from, T to test on, F features, L labels. Dense features are standardised by
the n documents. Sparse ones stay sparse and are taken as they are: to make every column's spread 1
would make the rarest words the loudest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.preprocessing import StandardScaler

from docboltz.device import choose_device
from docboltz.errors import is_number, require
from docboltz.evaluation.labels import label_matrix, require_same_labels
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
    def accuracy(self) -> float:
        """Share of the test documents with the right label."""
        return float(self.correct.mean())

    @property
    def score(self) -> float:
        """What classifiers of this kind are compared by: the accuracy."""
        return self.accuracy


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
    def mean_average_precision(self) -> float:
        """MAP over the labels."""
        return float(self.average_precision.mean())

    @property
    def score(self) -> float:
        """What classifiers of this kind are compared by: the mean average precision."""
        return self.mean_average_precision


def evaluate_classification(
    features: Any,
    labels: ArrayLike,
    test_features: Any,
    test_labels: ArrayLike,
    *,
    C: float | None = None,
    seed: int = 0,
) -> Classification:
    """Train a multinomial classifier on features (n, F), and test it on others (T, F).

    Features are arrays or sparse matrices. Without `C`, the value from a grid that classifies a
    held-out part of the n documents best is taken, and the classifier trained anew on all; `seed`
    says which part. A label that no training document has is never right.
    """
    owner = "evaluate_classification"
    known, truth = np.asarray(labels), np.asarray(test_labels)
    for given, name, part in ((known, "labels", features), (truth, "test_labels", test_features)):
        n = _n_rows(part)
        require(given.shape == (n,), owner, name, f"of shape ({n},)", given.shape)
    n_kinds = len(np.unique(known))
    require(n_kinds > 1, owner, "labels", "of at least two kinds", n_kinds)
    if C is None:
        fitting, held_out = _parts(len(known), seed)
        enough = len(held_out) > 0 and len(np.unique(known[fitting])) > 1
        require(enough, owner, "C", "a number where there are too few documents to choose it", C)
        X, X_held_out = _prepared(*_rows(features, fitting, held_out))
        C = _best(
            lambda C: np.mean(_predict(X, known[fitting], X_held_out, C) == known[held_out]), X
        )
    require(is_number(C) and C > 0, owner, "C", "None or a number above 0", C)
    X, X_test = _prepared(features, test_features)
    predicted = _predict(X, known, X_test, C)
    return Classification(predicted, np.asarray(predicted == truth, bool), C)


def evaluate_multilabel_classification(
    features: Any,
    labels: Any,
    test_features: Any,
    test_labels: Any,
    *,
    C: float | None = None,
    seed: int = 0,
    device: str = "cpu",
) -> MultilabelClassification:
    """Train a classifier a label on features (n, F), and let each rank the test documents (T, F).

    Labels are 0/1 matrices (n, L) and (T, L), dense or sparse. Left out are labels that no document
    of a part carries, and those that leave nothing to learn because all n carry them. `C` and
    `seed` are as for `evaluate_classification`; the best C is the one of the highest mean average
    precision. `device` is 'cpu', 'cuda' or 'auto'; sparse features stay on the CPU.
    """
    owner = "evaluate_multilabel_classification"
    place = choose_device(device, owner)
    known = label_matrix(labels, _n_rows(features), owner, "labels")
    truth = label_matrix(test_labels, _n_rows(test_features), owner, "test_labels")
    require_same_labels(known, truth, owner, "test_labels")
    kept = _learnable(known, truth)
    require(kept.size > 0, owner, "test_labels", "labels that can be learned", "none of both parts")
    if C is None:
        fitting, held_out = _parts(known.shape[0], seed)
        fitted, wanted = known[fitting], known[held_out]
        some = _learnable(fitted, wanted)
        enough = some.size > 0
        require(enough, owner, "C", "a number where there are too few documents to choose it", C)
        X, X_held_out = _prepared(*_rows(features, fitting, held_out))
        C = _best(
            lambda C: np.mean(_rank(X, fitted[:, some], X_held_out, wanted[:, some], C, place)), X
        )
    require(is_number(C) and C > 0, owner, "C", "None or a number above 0", C)
    X, X_test = _prepared(features, test_features)
    return MultilabelClassification(
        kept, _rank(X, known[:, kept], X_test, truth[:, kept], C, place), C
    )


def _predict(X: Any, labels: NDArray[Any], X_test: Any, C: float) -> NDArray[Any]:
    """The likeliest label of each test document.

    scikit-learn's solver, not one like `fit_logistic`: for 11,293 documents of 20 kinds and 512
    topic features it takes 0.6 s on one core at C = .01 and 1.3 s at 1, where L-BFGS in torch took
    1.9 s and 3.9 s for an accuracy within .003.
    """
    classifier = LogisticRegression(C=C, max_iter=1000, tol=1e-3).fit(X, labels)
    return np.asarray(classifier.predict(X_test))


def _rank(
    X: Any, known: csr_array, X_test: Any, truth: csr_array, C: float, place: torch.device
) -> NDArray[np.float64]:
    """Average precision of each label over the test documents."""
    X, X_test = (part.astype(np.float32) for part in (X, X_test))
    if issparse(X):
        place = torch.device("cpu")
    else:
        X, X_test = (torch.as_tensor(part, device=place) for part in (X, X_test))
    Y = torch.as_tensor(known.toarray(), dtype=torch.float32, device=place)
    z = logits(X_test, *fit_logistic(X, Y, C))  # (T, labels)
    scores = average_precision_score(truth.toarray(), z.cpu().numpy(), average=None)
    return np.reshape(scores, -1)


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


def _rows(features: Any, some: NDArray[np.int64], others: NDArray[np.int64]) -> tuple[Any, Any]:
    """Some rows of the features, and others."""
    values = csr_array(features) if issparse(features) else np.asarray(features)
    return values[some], values[others]


def _best(measure: Callable[[float], Any], X: Any) -> float:
    """The C of the highest measure; the strongest penalty of several."""
    grid = SPARSE_C_GRID if issparse(X) else C_GRID
    return grid[int(np.argmax([measure(C) for C in grid]))]


def _prepared(features: Any, others: Any) -> tuple[Any, Any]:
    """Both parts standardised by the first; or sparse, as they are."""
    if issparse(features) or issparse(others):
        return csr_array(features), csr_array(others)
    scaler = StandardScaler().fit(np.asarray(features))
    return scaler.transform(np.asarray(features)), scaler.transform(np.asarray(others))


def _n_rows(features: Any) -> int:
    return int(features.shape[0] if issparse(features) else len(features))
