"""TF-IDF, LSI and NMF against their formulas."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import nnls

from docboltz.baselines import LSI, NMF, TfIdf
from tests.test_laws import corpus


def tf_idf(train: np.ndarray, X: np.ndarray) -> np.ndarray:
    idf = 1 + np.log((1 + len(train)) / (1 + (train > 0).sum(0)))
    return X * idf / np.linalg.norm(X * idf, axis=1, keepdims=True)


def test_tf_idf_is_its_formula_and_sparse() -> None:
    train, X = corpus(), corpus(20, seed=1)
    found = TfIdf().fit(train).transform(X)
    assert sparse.issparse(found)
    assert found.nnz == X.nnz
    np.testing.assert_allclose(found.toarray(), tf_idf(train.toarray(), X.toarray()), rtol=1e-5)


def test_lsi_spans_the_leading_singular_vectors() -> None:
    train, X = corpus(), corpus(20, seed=1)
    vectors = np.linalg.svd(tf_idf(train.toarray(), train.toarray()))[2][:2]
    model = LSI(2, random_state=0).fit(train)
    weighted = tf_idf(train.toarray(), X.toarray())
    # Signs are free, cosines are not.
    expected = (weighted @ vectors.T) @ (weighted @ vectors.T).T
    found = model.transform(X)
    np.testing.assert_allclose(found @ found.T, expected, atol=1e-4)


def test_lsi_has_no_more_features_than_words_or_documents() -> None:
    assert LSI(50, random_state=0).fit(corpus()).transform(corpus()).shape == (60, 30)
    assert LSI(50, random_state=0).fit(corpus(7)).transform(corpus()).shape == (60, 7)
    assert LSI(50, random_state=0).fit([[3], [1]]).transform([[2]]).shape == (1, 1)


def test_documents_without_words_get_zeros() -> None:
    X = np.zeros((1, 30))
    assert not TfIdf().fit(corpus()).transform(X).toarray().any()
    assert not LSI(4, random_state=0).fit(corpus()).transform(X).any()
    assert not NMF(4, random_state=0).fit(corpus()).transform(X).any()


def test_nmf_infers_the_best_weights_that_are_not_negative() -> None:
    """Against an exact solver, document by document."""
    train, X = corpus(), corpus(20, seed=1)
    model = NMF(5, random_state=0).fit(train)
    assert model.components_.min() >= 0
    weighted = tf_idf(train.toarray(), X.toarray())
    exact = np.array([nnls(model.components_.T.astype(float), row)[0] for row in weighted])
    assert (exact == 0).any()
    np.testing.assert_allclose(model.transform(X), exact, atol=1e-4)


def test_nmf_finds_the_factors_of_a_matrix_that_has_them() -> None:
    """Documents of one topic each, of words that no other topic has."""
    counts = np.kron(np.eye(3, dtype=int), np.full((4, 5), 2))
    features = NMF(3, random_state=0).fit_transform(counts)
    topics = features.argmax(1).reshape(3, 4)
    assert (topics == topics[:, :1]).all()
    assert len({*topics[:, 0].tolist()}) == 3
    assert ((features > 1e-3).sum(1) == 1).all()


def test_nmf_has_no_more_topics_than_words_or_documents() -> None:
    assert NMF(50, random_state=0).fit(corpus()).transform(corpus()).shape == (60, 30)
    assert NMF(50, random_state=0).fit(corpus(7)).transform(corpus()).shape == (60, 7)
