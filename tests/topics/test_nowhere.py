"""Documents of words drawn at random belong nowhere; nearly all others keep their topics."""

import numpy as np

from docboltz.topics.grouping import find_topics
from docboltz.topics.nowhere import documents_of, with_limits

from .worlds import world


def drawn(presence, n, n_words, seed=1):
    """Documents of words drawn from a collection, each once, that have no features."""
    rng = np.random.default_rng(seed)
    words = presence.indices[rng.integers(presence.nnz, size=(n, n_words))]
    found = documents_of(words, presence.shape[1])
    found.sum_duplicates()
    found.data[:] = 1
    return np.zeros((n, 16), np.float32), found


def test_words_drawn_at_random_belong_nowhere_and_documents_do_not():
    """Failure rate: of 1,200 documents, 1 % and three standard deviations may be lost."""
    vectors, presence, _ = world(n_per_topic=300, mixed=0.2, K=400, n_words=20)
    mixture = with_limits(find_topics(vectors, presence, 4, starts=2), vectors, presence)
    assert mixture.lengths.tolist() == [1, 2, 4, 8, 16]
    assert (mixture.assign(vectors, presence).topic < 0).mean() < 0.01 + 3 * 0.003
    assert (mixture.assign(*drawn(presence, 500, 16)).topic < 0).mean() > 0.9


def test_documents_that_nothing_was_learnt_from_keep_their_topics():
    """Of few documents and many words, where each knows its own words best. 1 % of 500 have a
    standard error of .0045, and so has the limit, which comes from 500: three of both together."""
    vectors, presence, _ = world(n_per_topic=250, mixed=0.5, K=2000, n_words=20)
    learnt, others = ((vectors[i::2], presence[i::2]) for i in range(2))
    mixture = with_limits(find_topics(*learnt, 4, starts=2), *learnt)
    assert (mixture.assign(*others).topic < 0).mean() < 0.01 + 3 * 0.0064
    naive = np.quantile(mixture.fit(learnt[1]), 0.01)
    assert (mixture.fit(others[1]) < naive).mean() > 0.1, "by those that topics were learnt from"


def test_documents_of_few_words_are_not_lost_among_long_ones():
    """A topic may be found for two words of a document, though long ones fit much better."""
    vectors, presence, _ = world(n_per_topic=300, mixed=0.2, K=400, n_words=20)
    mixture = with_limits(find_topics(vectors, presence, 4, starts=2), vectors, presence)
    first = np.stack([presence.indices[begin : begin + 2] for begin in presence.indptr[:-1]])
    short = documents_of(first, presence.shape[1])
    assert (mixture.fit(short) < mixture.limits[-1]).mean() > 0.3, "by the limit of long ones"
    assert (mixture.assign(vectors, short).topic < 0).mean() < 0.03


def test_of_one_topic_or_of_few_documents_none_belongs_nowhere():
    vectors, presence, _ = world(n_per_topic=30)
    one = with_limits(find_topics(vectors, presence, 1), vectors, presence)
    few = with_limits(find_topics(vectors[:90], presence[:90], 4), vectors[:90], presence[:90])
    for mixture in (one, few):
        assert mixture.lengths.shape == mixture.limits.shape == (0,)
        assert (mixture.assign(vectors, presence).topic >= 0).all()
