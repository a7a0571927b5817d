"""Text in; topics, features and words out."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array

from docboltz import OverReplicatedSoftmax, Pretraining, ReplicatedSoftmax
from docboltz.corpus.counts import Corpus
from docboltz.corpus.document import Document
from docboltz.corpus.text import TextAnalysis
from docboltz.corpus.vocabulary import Vocabulary
from docboltz.errors import InvalidCorpus, InvalidModelFile, InvalidParameter
from docboltz.text_model import WORDS_PER_TOPIC, TextModel, Topic, describe_topics

TEXTS = [
    "Hockey players skate fast.",
    "The hockey player scored.",
    "Bread needs flour and butter.",
    "Butter on bread.",
]


def estimator(**options):
    return OverReplicatedSoftmax(
        3, pretraining=Pretraining(updates=30), random_state=0, device="cpu", **options
    )


@pytest.fixture(scope="module")
def text_model():
    return TextModel.fit(TEXTS, estimator())


def corpus_of(counts, words):
    ids = tuple(map(str, range(len(counts))))
    return Corpus(csr_array(np.array(counts)), ids, ((),) * len(ids), Vocabulary(words))


def model_with(features):
    """A model that gives the documents, taken in order, these topic features."""
    features = np.array(features, np.float32)
    rows = iter(features)
    return SimpleNamespace(
        components_=np.zeros((features.shape[1], 2)),
        transform=lambda counts: np.array([next(rows) for _ in range(counts.shape[0])]),
    )


# ---- topics ----


def test_a_topic_by_hand():
    corpus = corpus_of([[2, 1], [0, 2]], ["a", "b"])
    (topic,) = describe_topics(model_with([[1], [0]]), corpus)
    # Shares of a and b: document 0 has (2/3, 1/3), document 1 (0, 1); the average is (1/3, 2/3).
    # With one average document on either side: with the topic (1/2, 1/2), without (1/6, 5/6).
    kl = 1 / 2 * np.log2(3) + 1 / 2 * np.log2(3 / 5)
    assert topic.sharpness == pytest.approx(kl)
    assert topic.activity == pytest.approx(0.5)
    assert topic.words == ("a",)  # b is less frequent with the topic than without


def test_a_topic_that_is_on_everywhere_alike_says_nothing():
    corpus = corpus_of([[2, 1], [0, 2], [5, 1]], ["a", "b"])
    topics = describe_topics(model_with([[0.3, 1.0], [0.3, 1.0], [0.3, 1.0]]), corpus)
    assert [topic.sharpness for topic in topics] == pytest.approx([0, 0], abs=1e-6)
    assert [topic.activity for topic in topics] == pytest.approx([0.3, 1.0])


def test_documents_without_words_and_blocks_change_nothing(monkeypatch):
    counts = [[2, 1], [0, 2], [1, 0], [3, 3]]
    features = [[0.9], [0.1], [0.8], [0.4]]
    expected = describe_topics(model_with(features), corpus_of(counts, ["a", "b"]))
    monkeypatch.setattr("docboltz.text_model.BLOCK_DOCUMENTS", 2)
    padded = corpus_of([[0, 0], *counts[:2], [0, 0], *counts[2:]], ["a", "b"])
    (topic,) = describe_topics(model_with(features), padded)
    assert topic.words == expected[0].words
    assert topic.sharpness == pytest.approx(expected[0].sharpness)
    assert topic.activity == pytest.approx(expected[0].activity)


def test_topics_show_forms_not_stems(text_model):
    shown = {word for topic in text_model.topics for word in topic.words}
    assert shown
    assert shown <= set(text_model.vocabulary.forms)
    assert "player" in text_model.vocabulary.forms
    assert "player" in text_model.vocabulary.words
    assert [topic.number for topic in text_model.topics] == [0, 1, 2]
    assert all(len(topic.words) <= WORDS_PER_TOPIC for topic in text_model.topics)


# ---- using ----


def test_new_text_is_treated_as_training_text_was(text_model):
    alike = text_model.transform(["HOCKEY, players!", "the hockey player", "player hockey unknown"])
    assert np.array_equal(alike[0], alike[1])
    assert np.array_equal(alike[0], alike[2])
    counts = text_model.count(TEXTS).counts
    assert np.array_equal(text_model.transform(TEXTS), text_model.model.transform(counts))


def test_documents_keep_their_ids():
    model = TextModel.fit([Document("x", text, ("l",)) for text in TEXTS], estimator())
    assert model.count([Document("y", "bread", ("m",))]).ids == ("y",)
    assert model.count(["bread", "butter"]).ids == ("0", "1")


def test_activity_is_the_mean_feature_of_the_training_documents(text_model):
    mean = text_model.transform(TEXTS).mean(0)
    assert text_model.activity == pytest.approx(mean, abs=1e-6)


def test_next_words_by_hand(text_model):
    (given,) = text_model.model.predict_words(text_model.count(["hockey"]).counts)
    usual = text_model.model.word_frequency_
    words = text_model.vocabulary.words
    found = text_model.next_words("hockey", 4)
    assert len(found) == 4
    columns = [text_model.vocabulary.forms.index(word) for word, _, _ in found]
    for column, (_, probability, lift) in zip(columns, found, strict=True):
        assert probability == pytest.approx(given[column])
        assert lift == pytest.approx(given[column] / usual[column], rel=1e-5)
    gain = given.astype(np.float64) * np.log(given.astype(np.float64) / usual)
    gain[words.index("hockey")] = -np.inf
    assert columns == np.argsort(-gain, kind="stable")[:4].tolist()


def test_next_words_are_never_those_asked_with(text_model):
    everything = text_model.next_words("hockey bread", 99)
    assert len(everything) == len(text_model.vocabulary) - 2
    assert not {"hockey", "bread"} & {word for word, _, _ in everything}


def test_a_query_needs_a_known_word(text_model):
    assert text_model.query("bread and xyzzy").sum() == 1
    for text in ("xyzzy", "", "the and"):
        with pytest.raises(InvalidCorpus, match="knows none of these words"):
            text_model.query(text)
    with pytest.raises(InvalidCorpus, match="It knows 9, such as"):
        text_model.next_words("xyzzy")


def test_nothing_known_is_zero_in_searches_and_nothing_else_is(text_model, monkeypatch):
    counts = text_model.count(["hockey", "xyzzy"]).counts
    known, unknown = text_model.search_features(counts)
    assert known == pytest.approx(text_model.model.transform(counts)[0])
    assert not unknown.any()
    # A document so long that every topic is off for sure has features, if tiny ones.
    off = np.zeros((2, 3), np.float32)
    monkeypatch.setattr(text_model.model, "transform", lambda counts: off, raising=False)
    known, unknown = text_model.search_features(counts)
    assert known.all()
    assert not unknown.any()


# ---- keeping ----


@pytest.mark.parametrize(
    "analysis",
    [TextAnalysis(), TextAnalysis(pretokenised=True), TextAnalysis("german", min_letters=3)],
    ids=["english", "pretokenised", "german"],
)
def test_save_and_load_change_nothing(tmp_path, analysis):
    saved = TextModel.fit(TEXTS, estimator(latent_words=5), analysis)
    saved.save(tmp_path / "model")
    loaded = TextModel.load(tmp_path / "model", device="cpu")
    assert loaded.vocabulary == saved.vocabulary
    assert loaded.vocabulary.forms == saved.vocabulary.forms
    assert loaded.topics == saved.topics
    assert loaded.analysis == saved.analysis.resolved()
    new = ["Butter und Brot", "players of hockey", ""]
    assert np.array_equal(loaded.transform(new), saved.transform(new))


def test_either_kind_of_model_comes_back_as_it_was(tmp_path):
    model = ReplicatedSoftmax(2, pretraining=Pretraining(updates=3), random_state=0)
    TextModel.fit(TEXTS, model).save(tmp_path / "model")
    assert type(TextModel.load(tmp_path / "model").model) is ReplicatedSoftmax


def test_a_model_of_counts_cannot_read_text(tmp_path):
    estimator().fit([[1, 2], [3, 0]]).save(tmp_path / "model")
    with pytest.raises(InvalidModelFile, match="trained on counts"):
        TextModel.load(tmp_path / "model")


def test_a_device_that_is_not_there(tmp_path, text_model):
    text_model.save(tmp_path / "model")
    with pytest.raises(InvalidParameter, match="'abacus'"):
        TextModel.load(tmp_path / "model", device="abacus")


def test_the_sharpest_topics_do_not_repeat_each_other(text_model):
    def topic(number, words, sharpness):
        return Topic(number, tuple(words), sharpness, 0.5)

    # Of the two that share a, b and c with the sharpest, neither brings enough that is new.
    topics = (topic(0, "abcde", 1.0), topic(1, "abcfg", 3.0), topic(2, "abchi", 2.0))
    more = (*topics, topic(3, "vwxyz", 0.1))
    assert [t.number for t in replace(text_model, topics=topics).sharpest_topics(3)] == [1]
    assert [t.number for t in replace(text_model, topics=more).sharpest_topics(3)] == [1, 3]
    assert [t.number for t in replace(text_model, topics=more).sharpest_topics()] == [1, 2, 0, 3]


def test_unknown_words_are_named_once(text_model):
    assert text_model.unknown_words("the zebra, a zebra and hockey") == ["zebra"]
