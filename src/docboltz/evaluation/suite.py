"""All measures of a model's features at once, on documents to learn from and others to test on.

n training documents, T test documents, F features. Those of the split without labels are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from docboltz.corpus.split import Split
from docboltz.evaluation.by_length import ByLength, by_length
from docboltz.evaluation.classification import Classification, Classified, evaluate_classification
from docboltz.evaluation.labels import labels_of
from docboltz.evaluation.retrieval import Retrieval, evaluate_retrieval


@dataclass(frozen=True, eq=False)
class FeatureScores:
    """How good a model's features are on a split."""

    retrieval: Retrieval
    """Training documents ranked for every test document."""
    classification: Classified
    """Test documents classified after training documents."""
    retrieval_by_length: ByLength
    """Average precision of the test documents by their length."""
    classification_by_length: ByLength | None
    """Correctness (0 or 1) of the test documents by length; None for documents of many labels."""


def evaluate_features(
    features: Any, test_features: Any, split: Split, *, device: str = "cpu", C: float | None = None
) -> FeatureScores:
    """Measure features (n, F) of a split's training and (T, F) of its test documents.

    Features are arrays or sparse matrices. Without `C`, the classifiers' penalty is chosen on
    training documents. `device`, where documents are ranked and the classifiers of many labels
    trained, is 'cpu', 'cuda' or 'auto'.
    """
    ranked, by_query = rank(features, test_features, split, device=device)
    answers = classify(features, test_features, split, device=device, C=C)
    correct = None
    if isinstance(answers, Classification):
        correct = by_length(answers.correct, _test_lengths(split))
    return FeatureScores(ranked, answers, by_query, correct)


def rank(
    features: Any, test_features: Any, split: Split, *, device: str = "cpu"
) -> tuple[Retrieval, ByLength]:
    """Rank the training documents for each test document; its average precision by length too."""
    found = evaluate_retrieval(*_labelled(features, test_features, split), device=device)
    return found, by_length(found.query_average_precision, _test_lengths(split))


def classify(
    features: Any, test_features: Any, split: Split, *, device: str = "cpu", C: float | None = None
) -> Classified:
    """Classify the test documents after the training documents."""
    parts = _labelled(features, test_features, split)
    return evaluate_classification(*parts, C=C, device=device)


def _labelled(features: Any, test_features: Any, split: Split) -> tuple[Any, Any, Any, Any]:
    labels = labels_of(split)
    return features[labels.rows], labels.train, test_features[labels.test_rows], labels.test


def _test_lengths(split: Split) -> Any:
    return split.test.lengths[labels_of(split).test_rows]
