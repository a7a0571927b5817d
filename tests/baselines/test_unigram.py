"""The unigram in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from docboltz import Pretraining, ReplicatedSoftmax
from docboltz.baselines import Unigram
from docboltz.model.unigram import UNSEEN_WORD_COUNT
from tests.test_laws import corpus


def test_scores_are_the_words_shares() -> None:
    train = np.array([[3, 1, 0], [0, 2, 0]])
    shares = train.sum(0) + UNSEEN_WORD_COUNT * np.ones(3)
    shares /= shares.sum()
    X = np.array([[2, 1, 0], [0, 0, 4], [0, 0, 0]])
    expected = [np.log(shares) @ document for document in X]
    np.testing.assert_allclose(Unigram().fit(train).score_samples(X), expected, rtol=1e-6)


def test_it_is_the_one_the_estimators_compare_with() -> None:
    train, test = corpus(), corpus(20, seed=1)
    topics = ReplicatedSoftmax(3, pretraining=Pretraining(updates=5), random_state=0).fit(train)
    expected = Unigram().fit(train).perplexity(test).value
    assert topics.unigram_perplexity(test) == pytest.approx(expected, rel=1e-6)


def test_it_has_no_features() -> None:
    assert not hasattr(Unigram(), "transform")
