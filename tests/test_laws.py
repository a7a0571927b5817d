"""The laws every model of the project obeys. A new model joins by one line in MODELS."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import docboltz
from docboltz import (
    Finetuning,
    LatentWordsUpTo,
    OverReplicatedSoftmax,
    Pretraining,
    ProportionalLatentWords,
    ReplicatedSoftmax,
)

QUICK = {"pretraining": Pretraining(updates=30), "random_state": 0}

MODELS: dict[str, Callable[[], Any]] = {
    "ors": lambda: OverReplicatedSoftmax(6, **QUICK),
    "ors fixed": lambda: OverReplicatedSoftmax(6, latent_words=20, **QUICK),
    "ors cN": lambda: OverReplicatedSoftmax(
        6, latent_words=ProportionalLatentWords(0.7), inference="mean_field", **QUICK
    ),
    "ors N_max": lambda: OverReplicatedSoftmax(6, latent_words=LatentWordsUpTo(40), **QUICK),
    "rs": lambda: ReplicatedSoftmax(6, **QUICK),
    "ors fine-tuned": lambda: OverReplicatedSoftmax(
        6, finetuning=Finetuning(updates=5, rungs=16, bridge=4, sweeps=1), **QUICK
    ),
}


def corpus(documents: int = 60, words: int = 30, seed: int = 0) -> sparse.csr_array:
    """Counts with two kinds of documents of uneven length."""
    rng = np.random.default_rng(seed)
    kinds = rng.dirichlet(np.full(words, 0.2), 2)
    lengths = rng.integers(1, 60, documents)
    kind = rng.integers(0, 2, documents)
    counts = [rng.multinomial(n, kinds[k]) for n, k in zip(lengths, kind, strict=True)]
    return sparse.csr_array(np.array(counts))


@pytest.fixture(params=MODELS, scope="module")
def make(request: pytest.FixtureRequest) -> Callable[[], Any]:
    return MODELS[request.param]


@pytest.fixture(scope="module")
def fitted(make: Callable[[], Any]) -> Any:
    return make().fit(corpus())


def test_same_seed_same_bits(make: Callable[[], Any], fitted: Any) -> None:
    again = make().fit(corpus())
    assert np.array_equal(again.transform(corpus()), fitted.transform(corpus()))


def test_fit_transform_is_fit_then_transform(make: Callable[[], Any], fitted: Any) -> None:
    assert np.array_equal(make().fit_transform(corpus()), fitted.transform(corpus()))


def test_a_clone_learns_the_same(make: Callable[[], Any], fitted: Any) -> None:
    copy = clone(fitted).fit(corpus())
    assert np.array_equal(copy.transform(corpus()), fitted.transform(corpus()))


def test_sparse_dense_and_any_integer_or_float_type_are_the_same(fitted: Any) -> None:
    X = corpus()
    expected = fitted.transform(X)
    for same in (
        X.toarray(),
        X.toarray().tolist(),
        X.astype(np.float32),
        X.astype(np.uint8),
        X.toarray().astype(np.float16),
        X.toarray().astype(object),
        X.tocsc(),
        X.tocoo(),
        sparse.csr_matrix(X),
        np.asfortranarray(X.toarray().astype(float)),
    ):
        assert np.array_equal(fitted.transform(same), expected)


def test_unsorted_and_stored_zero_entries_change_nothing(fitted: Any) -> None:
    X = corpus(5)
    shuffled = sparse.csr_array(
        (
            np.concatenate(
                [[*X.data[a:b][::-1], 0] for a, b in zip(X.indptr, X.indptr[1:], strict=False)]
            ),
            np.concatenate(
                [[*X.indices[a:b][::-1], 29] for a, b in zip(X.indptr, X.indptr[1:], strict=False)]
            ),
            X.indptr + np.arange(6),
        ),
        shape=X.shape,
    )
    assert not shuffled.has_sorted_indices
    np.testing.assert_allclose(fitted.transform(shuffled), fitted.transform(X), atol=1e-6)


def test_a_documents_features_do_not_depend_on_its_company(fitted: Any) -> None:
    X = corpus()
    together = fitted.transform(X)
    order = np.random.default_rng(1).permutation(X.shape[0])
    alone = np.vstack([fitted.transform(X[[i]]) for i in range(X.shape[0])])
    if getattr(fitted, "inference", "fast") == "fast":
        assert np.array_equal(alone, together)
        assert np.array_equal(fitted.transform(X[order]), together[order])
    # Mean field multiplies whole batches by W, and a BLAS rounds by the shape of the batch: in
    # float64, so that float32 features differ by their last bit at most.
    np.testing.assert_allclose(alone, together, atol=1e-7)
    np.testing.assert_allclose(fitted.transform(X[order]), together[order], atol=1e-7)


def test_features_are_finite_float32_probabilities(fitted: Any) -> None:
    features = fitted.transform(corpus(seed=9))
    assert features.dtype == np.float32
    assert features.shape == (60, 6)
    assert ((features >= 0) & (features <= 1)).all()


def test_an_empty_document_is_finite_and_alike_anywhere(fitted: Any) -> None:
    X = corpus(4).tolil()
    X[1] = 0
    X[3] = 0
    features = fitted.transform(X.tocsr())
    assert np.isfinite(features).all()
    np.testing.assert_allclose(features[1], features[3], atol=1e-6)


def test_saved_loaded_and_pickled_models_are_the_same(fitted: Any, tmp_path: Path) -> None:
    X = corpus()
    fitted.save(tmp_path / "model")
    for copy in (
        docboltz.load(tmp_path / "model"),
        type(fitted).load(tmp_path / "model"),
        pickle.loads(pickle.dumps(fitted)),
    ):
        assert type(copy) is type(fitted)
        assert np.array_equal(copy.transform(X), fitted.transform(X))
        assert np.array_equal(copy.predict_words(X), fitted.predict_words(X))
        assert clone(copy).get_params().keys() == fitted.get_params().keys()


def test_next_words_are_distributions(fitted: Any) -> None:
    X = corpus(7)
    full = fitted.predict_words(X)
    np.testing.assert_allclose(full.sum(1), 1, atol=1e-5)
    columns, probabilities = fitted.predict_words(X, top=3)
    assert np.array_equal(np.take_along_axis(full, columns, 1), probabilities)
    assert (np.diff(probabilities) <= 0).all()


def test_sampled_documents_have_the_lengths_asked_for(fitted: Any) -> None:
    drawn = fitted.sample([0, 3, 500], sweeps=5, random_state=0)
    assert drawn.sum(axis=1).tolist() == [0, 3, 500]
    again = fitted.sample([0, 3, 500], sweeps=5, random_state=0)
    assert (drawn != again).nnz == 0


def test_partial_fit_goes_on_where_it_stopped(make: Callable[[], Any]) -> None:
    X = corpus(300)
    model = make().partial_fit(X)
    first = model.components_.copy()
    model.partial_fit(X)
    assert model.n_updates_ == 6
    assert not np.array_equal(model.components_, first)
    assert np.isfinite(model.transform(X)).all()
