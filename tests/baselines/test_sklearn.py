"""scikit-learn's own suite on the baselines, and the laws they share with the estimators."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from docboltz.baselines import LSI, NMF, DocNADE, LatentDirichletAllocation, TfIdf, Unigram
from docboltz.errors import EmptyDocumentsWarning, InvalidCounts, InvalidParameter
from tests.sklearn_checks import with_scikit_learns_checks
from tests.test_laws import corpus

LDA = {"sweeps": 10, "inference_sweeps": 5, "particles": 4, "moves": 1}

MODELS: dict[str, Callable[[], Any]] = {
    "unigram": Unigram,
    "tf-idf": TfIdf,
    "lsi": lambda: LSI(4, random_state=0),
    "nmf": lambda: NMF(4, random_state=0),
    "lda": lambda: LatentDirichletAllocation(4, random_state=0, **LDA),
    "lda variational": lambda: LatentDirichletAllocation(
        4, method="variational", random_state=0, **LDA
    ),
    "docnade": lambda: DocNADE(4, updates=20, random_state=0),
    "docnade tree": lambda: DocNADE(
        4, output="tree", activation="sigmoid", orderings=3, updates=20, random_state=0
    ),
}


@with_scikit_learns_checks(*(make() for make in MODELS.values()))
def test_scikit_learns_checks(estimator, check) -> None:
    check(estimator)


@pytest.fixture(params=MODELS, scope="module")
def make(request: pytest.FixtureRequest) -> Callable[[], Any]:
    return MODELS[request.param]


@pytest.fixture(scope="module")
def fitted(make: Callable[[], Any]) -> Any:
    return make().fit(corpus())


def answers(model: Any, X: Any) -> np.ndarray:
    """Everything a model says about documents, a row each."""
    parts = []
    if hasattr(model, "transform"):
        features = model.transform(X)
        parts.append(features.toarray() if sparse.issparse(features) else features)
    if hasattr(model, "score_samples"):
        parts.append(model.score_samples(X)[:, None])
    return np.hstack(parts)


def test_a_seed_a_clone_and_a_pickle_give_the_same(make, fitted) -> None:
    X = corpus(20, seed=1)
    expected = answers(fitted, X)
    for same in (make().fit(corpus()), clone(fitted).fit(corpus())):
        assert np.array_equal(answers(same, X), expected)
    assert np.array_equal(answers(pickle.loads(pickle.dumps(fitted)), X), expected)


def test_sparse_dense_and_stored_zeros_are_the_same(fitted) -> None:
    X = corpus(20, seed=1)
    zeros = X.copy().astype(float)
    zeros.data[::3] = 0
    expected = answers(fitted, zeros.toarray())
    assert np.array_equal(answers(fitted, X), answers(fitted, X.toarray()))
    np.testing.assert_allclose(answers(fitted, zeros), expected, rtol=1e-6, atol=1e-6)


def test_a_documents_answer_does_not_depend_on_its_company(fitted) -> None:
    X = corpus(20, seed=1)
    together = answers(fitted, X)
    alone = np.vstack([answers(fitted, X[[i]]) for i in range(20)])
    # Sums over a whole batch round by what came before: float32's last bit in features, less in
    # float64 likelihoods.
    np.testing.assert_allclose(alone, together, rtol=1e-6, atol=1e-7)


def test_documents_without_words(make, fitted) -> None:
    X = corpus(10, seed=4).toarray()
    X[[2, 5]] = 0
    said = answers(fitted, X)
    assert np.isfinite(said).all()
    assert np.array_equal(said[2], said[5])
    with pytest.warns(EmptyDocumentsWarning, match="2 of 10 documents"):
        make().fit(X)
    with pytest.raises(InvalidCounts, match="without a single word"):
        make().fit(0 * X)
    if hasattr(fitted, "perplexity"):
        assert fitted.score_samples(X)[2] == 0
        found = fitted.perplexity(X)
        assert (found.n_documents, found.n_empty) == (8, 2)
        with pytest.raises(InvalidCounts, match="nothing to predict"):
            fitted.perplexity(0 * X)


def test_perplexity_and_score_are_means_over_documents(fitted) -> None:
    if not hasattr(fitted, "perplexity"):
        assert not hasattr(fitted, "score_samples")
        return
    X = corpus(30, seed=2)
    per_word = fitted.score_samples(X) / X.sum(axis=1)
    found = fitted.perplexity(X)
    assert found.value == pytest.approx(np.exp(-per_word.mean()))
    assert found.documents_error == pytest.approx(found.value * per_word.std(ddof=1) / np.sqrt(30))
    assert found.error >= found.documents_error
    assert found.partition_error == 0
    assert found.log_partition is None
    assert fitted.score(X) == pytest.approx(per_word.mean())


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (LSI(0), "n_components"),
        (NMF(0), "n_components"),
        (LatentDirichletAllocation(1.5), "n_components"),
        (LatentDirichletAllocation(method="guess"), "method"),
        (LatentDirichletAllocation(alpha=0), "alpha"),
        (LatentDirichletAllocation(moves=-1), "moves"),
        (DocNADE(activation="relu"), "activation"),
        (DocNADE(output="list"), "output"),
        (DocNADE(dropout=1), "dropout"),
        (DocNADE(validation=-0.1), "validation"),
        (DocNADE(rate=0), "rate"),
        (DocNADE(weight_decay=-1), "weight_decay"),
        (DocNADE(orderings=0), "orderings"),
        (DocNADE(device="abacus"), "device"),
    ],
)
def test_nonsense_is_refused(model, name: str) -> None:
    with pytest.raises(InvalidParameter, match=f"'{name}' parameter of {type(model).__name__}"):
        model.fit(corpus())
