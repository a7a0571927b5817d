"""The mixture against formulas written out, and its laws."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import iv
from scipy.stats import vonmises_fisher

from docboltz.topics.mixture import (
    FEATURES_WEIGHT,
    _log_density_at_0,
    mixture_of,
    normalised,
    tally,
)

from .worlds import world


def shares_of(topic, T):
    return np.eye(T, dtype=np.float32)[topic]


@pytest.fixture
def fitted():
    vectors, presence, topic = world()
    return vectors, presence, topic, mixture_of(tally(vectors, presence, shares_of(topic, 4)))


def test_scores_are_log_ratios_of_densities(fitted):
    """Of SciPy's von Mises-Fisher density and of a multinomial, to those of any document."""
    vectors, presence, topic, mixture = fitted
    n, F, K, T = 240, 16, 40, 4
    sums = np.stack([vectors[topic == t].sum(0, dtype=np.float64) for t in range(T)])
    lengths = np.linalg.norm(sums, axis=1)
    mean = lengths.sum() / n
    kappa = mean * (F - mean**2) / (1 - mean**2)
    uniform = vonmises_fisher(sums[0] / lengths[0], 1e-9).logpdf(vectors[0].astype(float))
    counts = np.stack([presence[topic == t].sum(0) for t in range(T)])  # (T, K)
    usual = counts.sum(0) / counts.sum()
    words = (counts + K * usual) / (counts.sum(1) + K)[:, None]
    for i in (0, 7, 100):
        for t in range(T):
            x = vectors[i].astype(float) / np.linalg.norm(vectors[i].astype(float))
            density = vonmises_fisher(sums[t] / lengths[t], kappa).logpdf(x) - uniform
            own = presence[[i]].indices
            expected = np.log((60 + 1) / (n + T)) + FEATURES_WEIGHT * density
            expected += np.log(words[t, own] / usual[own]).sum()
            assert mixture.scores(vectors[[i]], presence[[i]])[0, t] == pytest.approx(
                expected, abs=1e-3
            )


def test_the_density_is_a_ratio_to_the_uniform_one_where_bessel_functions_vanish():
    """κ far below F: I_ν(κ) is 0 in float64, and the density is nearly uniform."""
    assert iv(500, 1.0) == 0
    assert _log_density_at_0(5.0, 500) == pytest.approx(-(5.0**2) / 1000, rel=0.01)
    assert _log_density_at_0(300.0, 2048) == pytest.approx(-(300.0**2) / 4096, rel=0.02)
    vectors = np.random.default_rng(0).normal(size=(50, 1002)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    presence = csr_array(np.ones((50, 2), np.float32))
    mixture = mixture_of(tally(vectors, presence, np.full((50, 2), 0.5, np.float32)))
    assert np.isfinite(mixture.scores(vectors, presence)).all()


def test_documents_find_their_topics_and_those_without_words_belong_nowhere(fitted):
    vectors, presence, topic, mixture = fitted
    found = mixture.assign(vectors, presence)
    assert (found.topic == topic).mean() > 0.99
    assert ((found.probability > 0) & (found.probability <= 1)).all()
    empty = mixture.assign(np.zeros((2, 16), np.float32), csr_array((2, 40), dtype=np.float32))
    assert empty.topic.tolist() == [-1, -1]
    assert empty.probability.tolist() == [1, 1]


def test_words_that_fit_less_well_than_they_must_belong_nowhere(fitted):
    """With a limit of its own for each number of words; between two, on the line through them."""
    vectors, presence, topic, mixture = fitted
    fit = mixture.fit(presence)
    expected = np.stack([presence @ mixture.words[:, t] for t in range(4)]).max(0)
    np.testing.assert_allclose(fit, expected, rtol=1e-6)
    n = np.diff(presence.indptr)
    middle = float(np.median(fit))
    limits = np.array([middle - 1, middle + 1], np.float32)
    strict = replace(mixture, lengths=np.array([4, 6], np.float32), limits=limits)
    found = strict.assign(vectors, presence).topic
    nowhere = fit < middle + np.clip(n, 4, 6) - 5
    assert 0.1 < nowhere.mean() < 0.9
    assert np.array_equal(found, np.where(nowhere, -1, mixture.assign(vectors, presence).topic))
    none = replace(strict, limits=limits - 1000)
    assert np.array_equal(none.assign(vectors, presence).topic, topic)


def test_blocks_change_nothing(fitted, monkeypatch):
    vectors, presence, _, mixture = fitted
    whole = mixture.assign(vectors, presence)
    monkeypatch.setattr("docboltz.topics.mixture.BLOCK_DOCUMENTS", 7)
    parts = mixture.assign(vectors, presence)
    assert np.array_equal(whole.topic, parts.topic)
    np.testing.assert_allclose(whole.probability, parts.probability, rtol=1e-5)


def test_temperature_flattens_and_changes_no_topic(fitted):
    vectors, presence, _, mixture = fitted
    cool, hot = (replace(mixture, temperature=t) for t in (1.0, 20.0))
    one, other = cool.assign(vectors, presence), hot.assign(vectors, presence)
    assert np.array_equal(one.topic, other.topic)
    assert (other.probability < one.probability).all()
    rows = np.exp(hot.log_probabilities(vectors, presence)).sum(1)
    np.testing.assert_allclose(rows, 1, rtol=1e-5)


def test_normalised_rows_sum_to_1_however_large():
    logs, total = normalised(np.array([[1000.0, 1001.0], [-5.0, -5.0]], np.float32))
    np.testing.assert_allclose(np.exp(logs).sum(1), 1, rtol=1e-6)
    np.testing.assert_allclose(total, [1001 + np.log1p(np.exp(-1)), -5 + np.log(2)], rtol=1e-6)


def test_topics_of_one_number_are_one_topic(fitted):
    vectors, presence, _, mixture = fitted
    apart = np.exp(mixture.log_probabilities(vectors, presence))
    found = mixture.assign(vectors, presence, np.array([7, 3, 7, 5]))
    together = np.stack([apart[:, 1], apart[:, 3], apart[:, 0] + apart[:, 2], apart[:, 4]], axis=1)
    assert np.array_equal(found.topic, np.array([3, 5, 7, -1])[together.argmax(1)])
    np.testing.assert_allclose(found.probability, together.max(1), rtol=1e-5)


def test_numbers_in_another_order_are_those_of_their_topics(fitted):
    vectors, presence, _, mixture = fitted
    usual = mixture.assign(vectors, presence)
    order = np.array([20, 1, 11, 3])
    found = mixture.assign(vectors, presence, order)
    assert np.array_equal(found.topic, np.append(order, -1)[usual.topic])
    np.testing.assert_allclose(found.probability, usual.probability, rtol=1e-6)


@pytest.mark.filterwarnings("error")
def test_a_mixture_of_no_document_is_one_without_a_warning() -> None:
    vectors, presence = np.zeros((0, 3), np.float32), csr_array((0, 5), dtype=np.float32)
    mixture = mixture_of(tally(vectors, presence, np.zeros((0, 2), np.float32)))
    assert np.isfinite(mixture.prior).all()
