"""A sample that speaks for a large collection."""

import numpy as np
import pytest

from docboltz import TextModel
from docboltz.corpus.document import Document
from docboltz.topics import description
from docboltz.topics.description import Collection

THEMES = [
    "ship sail harbour captain wave",
    "soup salt pan onion butter",
    "star moon comet orbit sun",
]


def model_of(n):
    rng = np.random.default_rng(0)
    words = [" ".join(rng.choice(THEMES[i % 3].split(), 4)) if i % 40 else "" for i in range(n)]
    documents = [Document(str(i), text, (f"l{i % 3}",)) for i, text in enumerate(words)]
    return TextModel.fit(documents, units=8, updates=200, language=None, min_df=1)


@pytest.fixture(scope="module")
def model():
    return model_of(240)


@pytest.fixture
def sampled(model, monkeypatch):
    monkeypatch.setattr(description, "MOST_LOOKED_AT", 120)
    monkeypatch.setattr(description, "BLOCK_DOCUMENTS", 50)
    model.find_topics(3, replace=True)
    return model


def test_a_sample_finds_the_topics_and_all_documents_are_assigned(sampled):
    store, tree = sampled.store, sampled.tree
    whole = tree.mixture.assign(store.features, store.presence(), tree.numbers)
    assert np.array_equal(tree.assignment.topic, whole.topic)
    assert np.allclose(tree.assignment.probability, whole.probability, atol=1e-6)
    finest = tree.of_level(-1)
    assert {frozenset(topic.words[:5]) for topic in finest} == {
        frozenset(theme.split()) for theme in THEMES
    }
    for topic in finest:
        assert topic.documents == np.count_nonzero(whole.topic == topic.number)
        assert topic.share == topic.documents / 240
        assert topic.labels[0][1] == 1.0  # of those of the sample
        own = [store.row_of(example.id) for example in topic.examples]
        assert (whole.topic[own] == topic.number).all()


def test_what_is_looked_at_is_a_seeded_sample(sampled):
    one, two = (sampled._collection for _ in range(2))
    assert len(one.rows) == 120
    assert np.array_equal(one.rows, two.rows)
    assert np.array_equal(one.vectors, sampled.store.features[one.rows])
    assert (one.presence != sampled.store.presence()[one.rows]).nnz == 0
    labels = sampled.store.labels_and_dates()[0]
    assert one.labels() == [labels[row] for row in one.rows]


def test_a_sampled_topic_can_be_split(sampled):
    number = sampled.tree.of_level(-1)[0].number
    sampled.split_topic(number)
    assert len(sampled.tree.assignment.topic) == 240
    assert sampled.tree.n_topics == 4


def test_up_to_the_limit_all_documents_are_looked_at(model, monkeypatch):
    monkeypatch.setattr(description, "MOST_LOOKED_AT", 240)
    collection: Collection = model._collection
    assert np.array_equal(collection.rows, np.arange(240))
    assert collection.vectors is model.store.features
