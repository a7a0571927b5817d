"""Which words a feature stands for. What they are by hand is tested with `describe_topics`."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array

from docboltz.corpus.counts import Corpus
from docboltz.corpus.vocabulary import Vocabulary
from docboltz.errors import InvalidParameter
from docboltz.evaluation import topic_words as module
from docboltz.evaluation.topic_words import topic_words
from docboltz.fitting import describe_topics


def data(seed, n=50, n_words=8, n_features=3):
    """Documents with words, and features between 0 and 1."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(1.0, size=(n, n_words))
    counts[:, 0] += 1
    return rng.random((n, n_features)), csr_array(counts)


def test_each_feature_has_the_words_of_its_documents():
    counts = csr_array([[4, 1, 0, 1], [5, 0, 0, 1], [0, 1, 6, 1], [0, 0, 3, 1]])
    features = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    assert topic_words(features, counts, 1).tolist() == [[0], [2]]


def test_describes_topics_as_the_model_does():
    features, counts = data(0)
    words = tuple("abcdefgh")
    ids = tuple(map(str, range(50)))
    model = SimpleNamespace(components_=np.zeros((3, 8)), transform=lambda counts, *_: features)
    described = describe_topics(model, Corpus(counts, ids, ((),) * 50, Vocabulary(words)))
    for topic, best in zip(described, topic_words(features, counts, 8), strict=True):
        assert topic.words == tuple(words[k] for k in best[: len(topic.words)])


def test_sparse_features_and_blocks_change_nothing(monkeypatch):
    features, counts = data(1)
    features[features < 0.6] = 0
    whole = topic_words(features, counts, 5)
    assert np.array_equal(whole, topic_words(csr_array(features), counts, 5))
    monkeypatch.setattr(module, "BLOCK_DOCUMENTS", 7)
    assert np.array_equal(whole, topic_words(features, counts, 5))


def test_documents_without_words_change_nothing():
    features, counts = data(2)
    padded = csr_array(np.vstack([np.zeros((1, 8), int), counts.toarray()]))
    with_more = np.vstack([np.ones((1, 3)), features])
    assert np.array_equal(topic_words(features, counts, 8), topic_words(with_more, padded, 8))


def test_features_beyond_1_are_scaled():
    features, counts = data(3)
    features /= features.max(0)
    assert np.array_equal(topic_words(features, counts, 8), topic_words(features * 7, counts, 8))


def test_what_is_no_feature():
    features, counts = data(4)
    for wrong in (-features, np.where(features > 0.9, np.nan, features)):
        with pytest.raises(InvalidParameter, match="0 or more"):
            topic_words(wrong, counts, 3)
    with pytest.raises(InvalidParameter, match=r"\(50, n_features\)"):
        topic_words(features[1:], counts, 3)
    with pytest.raises(InvalidParameter, match="from 1 to 8"):
        topic_words(features, counts, 9)
