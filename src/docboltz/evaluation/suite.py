"""All measures of a model's features at once, on documents to learn from and others to test on.

n training documents, T test documents, F features, L labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from docboltz.corpus.counts import Corpus
from docboltz.errors import require
from docboltz.evaluation.by_length import ByLength, by_length
from docboltz.evaluation.classification import (
    Classification,
    MultilabelClassification,
    evaluate_classification,
    evaluate_multilabel_classification,
)
from docboltz.evaluation.labels import label_matrix, of_documents, require_same_labels
from docboltz.evaluation.retrieval import (
    MultilabelRetrieval,
    Retrieval,
    evaluate_multilabel_retrieval,
    evaluate_retrieval,
)


@dataclass(frozen=True, eq=False)
class LabelledSplit:
    """Counted documents to learn from and to test on, with labels.

    Labels are names, one a document; or sparse 0/1 matrices with a row for each document, for
    documents with any number of them.
    """

    train: csr_array
    """Counts (n, K)."""
    train_labels: Any
    """Names (n,), or a matrix (n, L)."""
    test: csr_array
    """Counts (T, K)."""
    test_labels: Any
    """Names (T,), or a matrix (T, L): of the same kind as the others."""
    n_unlabelled: tuple[int, int] = (0, 0)
    """Documents that were left out for want of labels: of training, of test."""

    def __post_init__(self) -> None:
        owner, sizes = "LabelledSplit", (self.train.shape[0], self.test.shape[0])
        same_words = self.train.shape[1] == self.test.shape[1]
        expected = f"of {self.train.shape[1]} columns, as the training documents"
        require(same_words, owner, "test", expected, self.test.shape)
        alike = issparse(self.test_labels) == self.multilabel
        require(alike, owner, "test_labels", "of the kind of train_labels", type(self.test_labels))
        labels = (("train_labels", self.train_labels), ("test_labels", self.test_labels))
        for (name, values), n in zip(labels, sizes, strict=True):
            if self.multilabel:
                checked: Any = label_matrix(values, n, owner, name)
            else:
                checked = np.asarray(values)
                require(checked.shape == (n,), owner, name, f"of shape ({n},)", checked.shape)
            object.__setattr__(self, name, checked)
        if self.multilabel:
            require_same_labels(self.train_labels, self.test_labels, owner, "test_labels")

    @classmethod
    def of(cls, train: Corpus, test: Corpus) -> Self:
        """Take the documents of two corpora that have labels; `n_unlabelled` counts the others.

        Labels are names if no document of either has more than one, else matrices.
        """
        (rows, labels), (test_rows, test_labels) = of_documents(train.labels, test.labels)
        left_out = len(train) - len(rows), len(test) - len(test_rows)
        return cls(train.counts[rows], labels, test.counts[test_rows], test_labels, left_out)

    @property
    def multilabel(self) -> bool:
        """Whether labels are matrices."""
        return bool(issparse(self.train_labels))

    @property
    def test_lengths(self) -> NDArray[np.int64]:
        """Number of words of each test document: (T,)."""
        return np.asarray(self.test.sum(axis=1), np.int64).reshape(-1)


@dataclass(frozen=True, eq=False)
class FeatureScores:
    """How good a model's features are on a split."""

    retrieval: Retrieval | MultilabelRetrieval
    """Training documents ranked for every test document."""
    classification: Classification | MultilabelClassification
    """Test documents classified after training documents."""
    retrieval_by_length: ByLength
    """Average precision of the test documents by their length."""
    classification_by_length: ByLength | None
    """Correctness (0 or 1) of the test documents by length; None for documents of many labels."""

    @property
    def mean_average_precision(self) -> float:
        """MAP of retrieval."""
        return self.retrieval.mean_average_precision

    @property
    def precision_at_10(self) -> float:
        """Mean P@10 of retrieval."""
        return self.retrieval.mean_precision_at_10

    @property
    def precision_at_recall(self) -> NDArray[np.float64]:
        """The precision–recall curve of retrieval, at each of RECALL_POINTS."""
        return self.retrieval.mean_precision_at_recall

    @property
    def classification_score(self) -> float:
        """Accuracy; or, for documents of many labels, mean average precision."""
        if isinstance(self.classification, Classification):
            return self.classification.accuracy
        return self.classification.mean_average_precision


def evaluate_features(
    features: Any,
    test_features: Any,
    split: LabelledSplit,
    *,
    device: str = "cpu",
    C: float | None = None,
) -> FeatureScores:
    """Measure features (n, F) of a split's training and (T, F) of its test documents.

    Features are arrays or sparse matrices. Without `C`, the classifiers' penalty is chosen on
    training documents. `device`, where documents are ranked and the classifiers of many labels
    trained, is 'cpu', 'cuda' or 'auto'.
    """
    parts = features, split.train_labels, test_features, split.test_labels
    if split.multilabel:
        found = evaluate_multilabel_retrieval(*parts, device=device)
        ranked = by_length(found.query_average_precision, split.test_lengths)
        classified = evaluate_multilabel_classification(*parts, C=C, device=device)
        return FeatureScores(found, classified, ranked, None)
    single = evaluate_retrieval(*parts, device=device)
    ranked = by_length(single.query_average_precision, split.test_lengths)
    answers = evaluate_classification(*parts, C=C)
    return FeatureScores(single, answers, ranked, by_length(answers.correct, split.test_lengths))
