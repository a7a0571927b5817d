"""LDA against sums over all topic assignments."""

from __future__ import annotations

import sys
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from scipy.special import gammaln, logsumexp

from docboltz.baselines import LatentDirichletAllocation, Unigram
from docboltz.baselines.lda import learn_by_gibbs, learn_by_variation
from docboltz.baselines.lda_gibbs import _Evidence, infer_topics, left_to_right
from docboltz.errors import InvalidParameter, MissingPackageWarning
from docboltz.model.counts import SparseCounts
from tests.baselines.test_docnade_network import as_sequences
from tests.test_laws import corpus

PHI = np.array([[0.7, 0.2, 0.05, 0.05], [0.05, 0.1, 0.25, 0.6]])
ALPHA = np.array([0.3, 0.5])
DOCUMENT = (0, 3, 3, 0, 1)


def assignments(document: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """All z and log p(z, v) with θ integrated out: (2^N, N), (2^N,)."""
    z = np.array(list(product(range(2), repeat=len(document))), int)
    n = np.stack([(z == t).sum(1) for t in range(2)], 1)
    prior = gammaln(ALPHA.sum()) - gammaln(ALPHA.sum() + len(document))
    prior = prior + (gammaln(ALPHA + n) - gammaln(ALPHA)).sum(1)
    return z, prior + np.log(PHI)[z, np.array(document, int)].sum(1)


def many(document: tuple[int, ...], times: int) -> SparseCounts:
    return as_sequences([document] * times, 4)


def estimates(document: tuple[int, ...], times: int, **effort) -> np.ndarray:
    """Independent estimates of p(v)."""
    words = many(document, 1)
    found = [left_to_right(words, PHI, ALPHA, seed=seed, **effort)[0][0] for seed in range(times)]
    return np.exp(found)


def test_the_error_of_few_particles_is_told_in_full() -> None:
    """One step, no resampling: the mean of the variances told is that of the estimates."""
    rng = np.random.default_rng(0)
    variances = []
    for _ in range(4000):
        evidence = _Evidence(1, 3)
        evidence.add(np.log(rng.uniform(0.9, 1.1, (1, 3))))
        variances.append(evidence.close()[1] ** 2)
    assert np.mean(variances) == pytest.approx(0.2**2 / 12 / 3, rel=0.05)


def test_a_single_particle_knows_no_error() -> None:
    with pytest.raises(InvalidParameter, match="must be a whole number of at least 2"):
        LatentDirichletAllocation(2, particles=1).fit(np.eye(3, dtype=int))


@pytest.mark.parametrize(("particles", "moves"), [(1, 0), (1, 2), (2, 0), (3, 1)])
def test_left_to_right_is_unbiased(particles: int, moves: int) -> None:
    """The mean of 700 estimates is within 4 standard errors of the exact p(v)."""
    exact = np.exp(logsumexp(assignments(DOCUMENT)[1]))
    found = estimates(DOCUMENT, 700, particles=particles, moves=moves)
    assert abs(found.mean() - exact) < 4 * found.std() / np.sqrt(len(found))


def test_resampling_happens_and_stays_unbiased(monkeypatch) -> None:
    """With resampling at every word; the bound as above."""
    monkeypatch.setattr("docboltz.baselines.lda_gibbs.FEWEST_EFFECTIVE", 1.1)
    exact = np.exp(logsumexp(assignments(DOCUMENT)[1]))
    found = estimates(DOCUMENT, 700, particles=3, moves=1)
    assert abs(found.mean() - exact) < 4 * found.std() / np.sqrt(len(found))


def test_many_particles_are_nearly_exact_and_tell_their_error() -> None:
    documents = [(0,), (3, 0), DOCUMENT, ()]
    exact = [logsumexp(assignments(document)[1]) for document in documents]
    value, error = left_to_right(
        as_sequences(documents, 4), PHI, ALPHA, particles=3000, moves=2, seed=0
    )
    assert value[0] == pytest.approx(exact[0])  # one word: every particle predicts it alike
    assert value[3] == 0
    assert (np.abs(value - exact) < 4 * error + 1e-12).all()
    spread = np.log(estimates(DOCUMENT, 100, particles=50, moves=2)).std()
    told = left_to_right(many(DOCUMENT, 1), PHI, ALPHA, particles=50, moves=2, seed=0)[1][0]
    # The error told is itself an estimate, and ignores what one word's particles owe another's.
    assert 0.5 < told / spread < 2


def test_order_changes_the_estimate_but_not_its_mean() -> None:
    means = []
    for order in (DOCUMENT, DOCUMENT[::-1]):
        found = estimates(order, 700, particles=2, moves=1)
        means.append((found.mean(), found.std() / np.sqrt(len(found))))
    (one, one_error), (other, other_error) = means
    assert abs(one - other) < 4 * np.hypot(one_error, other_error)


def test_inferred_topics_are_the_posterior_mean() -> None:
    z, log_p = assignments(DOCUMENT)
    p = np.exp(log_p - logsumexp(log_p))
    n = np.stack([(z == t).sum(1) for t in range(2)], 1)
    expected = p @ (n + ALPHA) / (len(DOCUMENT) + ALPHA.sum())
    chains = np.stack(
        [
            infer_topics(many(DOCUMENT, 1), PHI, ALPHA, sweeps=100, seed=seed)[0]
            for seed in range(25)
        ]
    )
    error = chains.std(0) / np.sqrt(len(chains))
    assert (np.abs(chains.mean(0) - expected) < 4 * error).all()
    np.testing.assert_allclose(chains.sum(1), 1, atol=1e-6)


def test_without_words_topics_are_the_prior() -> None:
    found = infer_topics(many((), 1), PHI, ALPHA, sweeps=3, seed=0)
    np.testing.assert_allclose(found[0], ALPHA / ALPHA.sum(), rtol=1e-6)


def test_blocks_are_the_whole(monkeypatch) -> None:
    documents = as_sequences([(0, 1), DOCUMENT, (), (3,), (2, 2, 1)], 4)
    effort = {"particles": 3, "moves": 1, "seed": 0}
    whole = left_to_right(documents, PHI, ALPHA, **effort)
    topics = infer_topics(documents, PHI, ALPHA, sweeps=4, seed=0)
    monkeypatch.setattr("docboltz.baselines.lda_gibbs.BLOCK_ENTRIES", 1)
    for found, expected in zip(left_to_right(documents, PHI, ALPHA, **effort), whole, strict=True):
        assert np.array_equal(found, expected)
    assert np.array_equal(infer_topics(documents, PHI, ALPHA, sweeps=4, seed=0), topics)


@pytest.mark.parametrize("learn", [learn_by_gibbs, learn_by_variation])
def test_two_kinds_of_documents_give_two_topics(learn) -> None:
    """Half the documents have words 0–4 only, half 5–9; word 10 never occurs."""
    rng = np.random.default_rng(0)
    X = np.zeros((60, 11), np.float32)
    X[:30, :5], X[30:, 5:10] = rng.poisson(3, (2, 30, 5))
    phi, alpha = learn(sparse.csr_array(X), 2, alpha=0.1, eta=0.01, sweeps=60, seed=1)
    np.testing.assert_allclose(phi.sum(1), 1)
    assert (phi > 0).all()
    first = phi[:, :5].sum(1)
    assert first.max() > 0.98
    assert first.min() < 0.02
    assert alpha.shape == (2,)


def test_it_beats_the_unigram_on_other_documents() -> None:
    train, test = corpus(360)[:300], corpus(360)[300:]
    model = LatentDirichletAllocation(4, sweeps=100, random_state=0).fit(train)
    found, unigram = model.perplexity(test), Unigram().fit(train).perplexity(test)
    assert found.value < unigram.value - 3 * found.error
    assert 0 < found.numerator_error < found.documents_error
    np.testing.assert_allclose(model.transform(test).sum(1), 1, atol=1e-5)


def test_without_tomotopy(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "tomotopy", None)
    with pytest.warns(MissingPackageWarning, match=r"pip install 'docboltz\[lda\]'"):
        model = LatentDirichletAllocation(3, sweeps=5, random_state=0).fit(corpus())
    assert model.components_.shape == (3, 30)
    with pytest.raises(InvalidParameter, match=r"pip install 'docboltz\[lda\]'"):
        LatentDirichletAllocation(3, method="gibbs").fit(corpus())


def test_seeds_matter() -> None:
    one, other = (
        LatentDirichletAllocation(4, sweeps=10, random_state=seed).fit(corpus()) for seed in (0, 1)
    )
    assert not np.array_equal(one.components_, other.components_)
    X = corpus(5, seed=1)
    assert not np.array_equal(one.score_samples(X), one.score_samples(X, random_state=1))
