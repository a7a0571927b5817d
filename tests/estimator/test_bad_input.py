"""What the estimators say to input and settings that make no sense."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import docboltz.inference
from docboltz import (
    LatentWordsUpTo,
    OverReplicatedSoftmax,
    Pretraining,
)
from docboltz.errors import (
    EmptyDocumentsWarning,
    FewDocumentsWarning,
    FractionalCountsWarning,
    InvalidCounts,
    InvalidParameter,
    TrainingDiverged,
)
from docboltz.model.conditionals import mean_field
from tests.test_laws import corpus

QUICK = Pretraining(updates=20)


def test_negative_counts_name_the_place(fitted) -> None:
    X = corpus(3).toarray()
    X[2, 7] = -4
    with pytest.raises(InvalidCounts, match=r"got -4 at row 2, column 7.*raw counts"):
        fitted.transform(X)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_nan_and_infinity_name_the_place(value, kind) -> None:
    X = corpus(3).toarray().astype(float)
    X[1, 4] = value
    with pytest.raises(InvalidCounts, match=rf"finite.*got {value} at row 1, column 4"):
        OverReplicatedSoftmax(4, pretraining=QUICK).fit(kind(X))


def test_wrong_number_of_columns(fitted) -> None:
    with pytest.raises(InvalidCounts, match=r"31 features.*expecting 30(.|\n)*vocabulary"):
        fitted.transform(np.ones((2, 31)))


def test_no_documents(fitted) -> None:
    empty = sparse.csr_array((0, 30))
    for method in (OverReplicatedSoftmax(4).fit, fitted.transform):
        with pytest.raises(InvalidCounts, match=r"0 sample\(s\)(.|\n)*one row per document"):
            method(empty)


def test_no_words_at_all() -> None:
    with pytest.raises(InvalidCounts, match=r"3 document.* without a single word"):
        OverReplicatedSoftmax(4).fit(np.zeros((3, 5)))


def test_empty_documents_are_counted_and_left_out() -> None:
    X = corpus()
    padded = sparse.vstack([X, sparse.csr_array((2, 30), dtype=X.dtype)])
    with pytest.warns(EmptyDocumentsWarning, match="2 of 62 documents have no words"):
        model = OverReplicatedSoftmax(4, pretraining=QUICK, random_state=0).fit(padded)
    plain = OverReplicatedSoftmax(4, pretraining=QUICK, random_state=0).fit(X)
    assert np.array_equal(model.components_, plain.components_)


def test_an_empty_document_is_undecided(fitted) -> None:
    assert (fitted.transform(np.zeros((1, 30))) == 0.5).all()


def test_fractional_counts_warn_but_work() -> None:
    X = corpus().toarray() / 3
    with pytest.warns(FractionalCountsWarning, match="tf-idf"):
        model = OverReplicatedSoftmax(
            4, pretraining=Pretraining(updates=20, more_steps_every=5)
        ).fit(X)
    with pytest.warns(FractionalCountsWarning, match=r"OverReplicatedSoftmax.transform"):
        assert np.isfinite(model.transform(X)).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.transform(corpus().astype(float))


def test_before_fit() -> None:
    for method in ("transform", "predict_words"):
        with pytest.raises(NotFittedError, match="fit"):
            getattr(OverReplicatedSoftmax(4), method)(corpus())
    with pytest.raises(NotFittedError):
        OverReplicatedSoftmax(4).sample([3])
    with pytest.raises(NotFittedError):
        OverReplicatedSoftmax(4).save("never")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_components": 0}, "'n_components' parameter of OverReplicatedSoftmax must be"),
        ({"n_components": 2.5}, "'n_components'"),
        ({"latent_words": -3}, "'latent_words'.*from 0 to 1,000,000"),
        ({"latent_words": "many"}, "'latent_words'.*Got 'many' instead"),
        ({"latent_words": 900_000}, "at most .* for these documents of .* words"),
        ({"latent_words": LatentWordsUpTo(1_000_000)}, "at most .* for these documents"),
        ({"inference": "slow"}, "'fast' or 'mean_field'. Got 'slow'"),
        ({"pretraining": {"updates": 3}}, "docboltz.Pretraining or None"),
        ({"device": "cuda:99"}, "'device' parameter .*'cuda:99'"),
        ({"device": "toaster"}, "'device' parameter .*'toaster'"),
        ({"device": "meta"}, "'device' parameter .*'meta'"),
        ({"n_components": True}, "'n_components'"),
        ({"latent_words": np.array([1, 2])}, "'latent_words'"),
    ],
    ids=str,
)
def test_settings_that_make_no_sense(settings, message) -> None:
    with pytest.raises(InvalidParameter, match=message):
        OverReplicatedSoftmax(**settings).fit(corpus())


@pytest.mark.parametrize("lengths", [3, [-1], [2.5], [[1, 2]], [10**9], [3, 10**12]], ids=str)
def test_lengths_that_make_no_sense(fitted, lengths) -> None:
    with pytest.raises(InvalidParameter, match=r"'lengths' parameter .* whole numbers"):
        fitted.sample(lengths)


@pytest.mark.parametrize("top", [0, 31, 1.5, True])
def test_top_words_that_make_no_sense(fitted, top) -> None:
    with pytest.raises(InvalidParameter, match=r"'top' parameter .* from 1 to 30"):
        fitted.predict_words(corpus(), top=top)


def test_divergence_leaves_no_model_behind() -> None:
    """Not even the one an earlier fit on other data had made: its columns no longer fit."""
    model = OverReplicatedSoftmax(4, pretraining=QUICK).fit(corpus())
    model.set_params(pretraining=Pretraining(updates=200, learning_rate=1e38))
    with pytest.raises(TrainingDiverged, match="Lower the learning rate"):
        model.fit(corpus(words=31))
    with pytest.raises(NotFittedError):
        model.transform(corpus())


def test_too_large_counts_are_refused(fitted) -> None:
    X = corpus(2).toarray().astype(float)
    X[1, 3] = 1e39
    with pytest.raises(InvalidCounts, match=r"at most 16,777,216.*got 1e\+39 at row 1, column 3"):
        fitted.transform(X)


def test_documents_of_a_billion_words_are_refused_before_anything_is_allocated(fitted) -> None:
    X = np.full((1, 30), 2**24)
    for method in (fitted.transform, OverReplicatedSoftmax(4).fit):
        with pytest.raises(InvalidCounts, match=r"a document of 503,316,480 words; the longest"):
            method(X)


def test_units_that_no_memory_holds_are_refused_before_anything_is_allocated() -> None:
    with pytest.raises(
        InvalidParameter, match=r"'n_components' .* at most .* GB of memory here\. Got"
    ):
        OverReplicatedSoftmax(10**12).fit(corpus())


def test_a_policy_that_reaches_no_document_is_refused() -> None:
    X = corpus()[corpus().sum(axis=1) > 5]
    with pytest.raises(InvalidParameter, match="as long as the shortest document"):
        OverReplicatedSoftmax(4, latent_words=LatentWordsUpTo(3)).fit(X)


def test_warnings_point_at_the_users_line(fitted) -> None:
    with pytest.warns(FractionalCountsWarning) as caught:
        fitted.transform(np.full((1, 30), 0.5))
    assert caught[0].filename == __file__
    with pytest.warns(EmptyDocumentsWarning) as caught:
        OverReplicatedSoftmax(2, pretraining=QUICK).fit(np.eye(30)[:3] * [[1], [0], [2]])
    assert caught[0].filename == __file__
    with pytest.warns(FewDocumentsWarning) as caught:
        OverReplicatedSoftmax(4, pretraining=QUICK).fit(np.eye(30)[:3])
    assert caught[0].filename == __file__


def test_more_units_than_documents_are_warned_of_once_and_as_many_are_not() -> None:
    X = corpus(5)
    with pytest.warns(
        FewDocumentsWarning, match=r"5 documents .* 6 units.*\(n_components\)"
    ) as all_of:
        OverReplicatedSoftmax(6, pretraining=QUICK).fit(X)
    assert len(all_of) == 1
    OverReplicatedSoftmax(5, pretraining=QUICK).fit(X)  # a warning would be an error
    OverReplicatedSoftmax(6, pretraining=QUICK).partial_fit(X)  # more may come


def test_mean_field_says_when_it_did_not_settle(fitted, monkeypatch) -> None:
    monkeypatch.setattr(docboltz.inference, "mean_field", partial(mean_field, max_steps=1))
    with pytest.warns(ConvergenceWarning, match="for .* of 60 documents"):
        fitted.transform(corpus(), "mean_field")


@pytest.mark.parametrize(
    "texts", [["a cat", "a dog"], [["a", "cat"]], np.array(["a cat"]), np.array([["a"]], object)]
)
def test_texts_are_not_counts(texts) -> None:
    with pytest.raises(InvalidCounts, match="expects raw word counts and got texts"):
        OverReplicatedSoftmax(2).fit(texts)


def test_a_model_that_training_could_not_hold_is_refused_before_it_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Fuzzing took 22 GB: the weights fitted into memory, what training makes of them did not."""
    counts = np.ones((20, 50), np.int64)
    monkeypatch.setattr("docboltz.device.os.sysconf", lambda name: 5 if "PHYS" in name else 4000)
    with pytest.raises(InvalidParameter, match="must be at most 12, by the 0 GB of memory here"):
        OverReplicatedSoftmax(100).fit(counts)
