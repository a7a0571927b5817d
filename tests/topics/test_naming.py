"""The words of topics: exact scores, and the laws of lists that stand side by side."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.counting import count
from docboltz.corpus.document import Document
from docboltz.evaluation.topic_words import pairwise_npmi
from docboltz.topics import naming
from docboltz.topics.naming import (
    LEAST_TOGETHER,
    ROUNDS,
    choose_words,
    name_of,
    same_stem,
    scores_together,
    stems_of,
    word_scores,
)
from docboltz.topics.phrases import Phrase, find_phrases
from tests.cli.texts import ENGLISH

WORDS = [
    "apple",
    "bread",
    "candle",
    "dragon",
    "engine",
    "forest",
    "guitar",
    "hammer",
    "island",
    "jungle",
]


def data(seed, n=60, n_words=10, n_topics=4):
    """Documents with words, and their topics, -1 among them."""
    rng = np.random.default_rng(seed)
    presence = csr_array((rng.random((n, n_words)) < 0.4).astype(float))
    return presence, rng.integers(-1, n_topics, n)


def test_scores_by_hand():
    presence = csr_array([[1, 1], [1, 0], [0, 0], [0, 1], [1, 0]])
    topics = np.array([0, 0, 1, 1, -1])
    # Word 0: in 2 of 2 inside topic 0 and 1 of 3 outside; 3/5 of an average document on each side.
    p, q = (2 + 0.6) / 3, (1 + 0.6) / 4
    scores = word_scores(presence, topics, 2)
    assert scores[0, 0] == pytest.approx(p * np.log(p / q))
    p, q = (0 + 0.6) / 3, (3 + 0.6) / 4
    assert scores[1, 0] == pytest.approx(p * np.log(p / q))


def test_words_and_topics_without_documents_score_0():
    scores = word_scores(csr_array([[1, 0], [1, 0]]), np.array([0, 0]), 2)
    assert np.isfinite(scores).all()
    assert scores[:, 1].tolist() == [0, 0]


def test_order_of_documents_changes_nothing():
    presence, topics = data(0)
    order = np.random.default_rng(1).permutation(len(topics))
    permuted = word_scores(presence[order], topics[order], 4)
    assert np.allclose(permuted, word_scores(presence, topics, 4), rtol=1e-12)


def test_scores_are_multiplied_by_the_mean_npmi_with_the_other_words():
    presence, topics = data(0)
    scores = word_scores(presence, topics, 4)
    found = scores_together(scores, presence)
    npmi = pairwise_npmi((presence.T @ presence).toarray(), presence.shape[0])
    for own, row in zip(found, scores, strict=True):
        positive = [i for i in range(len(row)) if row[i] > 0]
        weight = {i: row[i] for i in positive}
        for _ in range(ROUNDS):  # by their scores, then by what these have become
            beside = {
                i: sum(weight[j] * npmi[i, j] for j in positive if j != i)
                / sum(weight[j] for j in positive if j != i)
                for i in positive
            }
            weight = {i: row[i] * max(beside[i], LEAST_TOGETHER) for i in positive}
        for i, score in enumerate(row):
            assert own[i] == pytest.approx(weight.get(i, score * LEAST_TOGETHER))


def test_a_word_that_meets_no_other_comes_last_and_is_not_lost():
    """Two subjects of three words; one topic has a word besides, in other documents of it."""
    rng = np.random.default_rng(0)
    topics = np.repeat([0, 1], 200)
    presence = np.zeros((400, 7))
    presence[:100, 6] = 1
    presence[100:200, :3], presence[300:, 3:6] = rng.random((2, 100, 3)) < 0.8
    documents = csr_array(presence)
    scores = word_scores(documents, topics, 2)
    assert choose_words(scores, WORDS[:7])[0][0] == "guitar"
    assert choose_words(scores_together(scores, documents), WORDS[:7])[0][-1] == "guitar"


def test_of_many_documents_some_tell_which_words_meet(monkeypatch):
    presence, topics = data(0)
    scores, twice = word_scores(presence, topics, 4), csr_array(np.repeat(presence.toarray(), 2, 0))
    monkeypatch.setattr(naming, "MEETINGS_IN", len(topics))
    np.testing.assert_allclose(scores_together(scores, twice), scores_together(scores, presence))


def test_a_word_goes_where_it_is_best():
    scores = np.array([[3.0, 1.0, 0.0], [2.0, 0.0, 1.0]])
    assert choose_words(scores, WORDS[:3]) == [("apple", "bread"), ("candle",)]


def test_words_that_others_have_more_are_not_shown():
    assert choose_words(np.array([[1.0, -1.0, 0.0]]), WORDS[:3]) == [("apple",)]


def test_a_weaker_twin_keeps_words_of_its_own():
    """All words are better in the first topic, which would take them all."""
    best = np.arange(10, 0, -1.0)
    strong, weak = choose_words(np.stack([best, best / 2]), WORDS, k=10)
    assert strong == (*WORDS[:3], *WORDS[6:])
    assert weak == tuple(WORDS[3:6])


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 8))
def test_laws_of_lists(seed, n_topics, k):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n_topics, 10))
    hidden = {WORDS[seed % 10]}
    pair = (int(rng.integers(0, 5)), int(rng.integers(5, 10)))
    phrases = {pair: Phrase(f"{WORDS[pair[0]]} {WORDS[pair[1]]}", 9, (0.9, 0.5), 0.9)}
    lists = choose_words(scores, WORDS, k=k, hidden=hidden, phrases=phrases)
    shown = [word for words in lists for item in words for word in item.split(" ")]
    assert len(shown) == len(set(shown))
    assert hidden.isdisjoint(shown)
    assert all(len(words) <= k for words in lists)
    names = [name_of(words) for words in lists if words]
    assert len(names) == len(set(names))
    order = rng.permutation(n_topics)
    permuted = choose_words(scores[order], WORDS, k=k, hidden=hidden, phrases=phrases)
    assert permuted == [lists[topic] for topic in order]


def test_no_two_forms_of_one_word():
    scores = np.array([[5.0, 4.0, 3.0, 2.0]])
    assert choose_words(scores, ["player", "players", "gun", "guns"]) == [("player", "gun")]


def test_words_of_one_stem_are_one_word_among_siblings():
    forms = ["cities", "city", "port"]
    scores = np.array([[2.0, 0.0, 0.0], [0.0, 1.0, 0.5]])
    stems = stems_of(forms, TextAnalysis(stem=False))
    assert choose_words(scores, forms) == [("cities",), ("city", "port")]
    assert choose_words(scores, forms, stems=stems) == [("cities",), ("port",)]


def test_stems_need_a_language_with_a_stemmer():
    words = ("case", "casa")
    assert stems_of(words, TextAnalysis(language="italian", stem=False)) == ("cas", "cas")
    for analysis in (
        TextAnalysis(language=None),
        TextAnalysis(pretokenised=True),
        TextAnalysis(language="japanese", stem=False),
    ):
        assert stems_of(words, analysis) == words


@pytest.mark.parametrize(
    ("one", "other"),
    [("car", "cars"), ("armenia", "armenian"), ("gatto", "gatti"), ("дома", "домам")],
)
def test_forms_of_a_word_look_alike(one, other):
    assert same_stem(one, other)
    assert same_stem(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [("win", "window"), ("car", "cat"), ("test", "testament"), ("東京", "東京都"), ("go", "god")],
)
def test_other_words_do_not(one, other):
    assert not same_stem(one, other)
    assert not same_stem(other, one)


PHRASES = {(2, 0): Phrase("candle apple", 9, (0.9, 0.5), 0.9)}


def test_a_phrase_stands_where_its_better_word_would():
    scores = np.array([[2.0, 3.0, 1.0, 0.5]])
    words = choose_words(scores, WORDS[:4], phrases=PHRASES)
    assert words == [("bread", "candle apple", "dragon")]


def test_a_phrase_needs_both_words_in_the_topic():
    scores = np.array([[2.0, 3.0, 0.0, 0.5]])
    assert choose_words(scores, WORDS[:4], phrases=PHRASES) == [("bread", "apple", "dragon")]


def test_a_phrase_that_is_rare_for_its_words_does_not_hide_them():
    rare = {(2, 0): Phrase("candle apple", 9, (0.05, 0.3), 0.6)}
    scores = np.array([[2.0, 3.0, 1.0, 0.5]])
    assert choose_words(scores, WORDS[:4], phrases=rare) == [("bread", "apple", "candle", "dragon")]


@pytest.mark.parametrize("hidden", ["candle", "candle apple"])
def test_a_phrase_can_be_hidden_whole_or_by_a_word(hidden):
    scores = np.array([[2.0, 3.0, 1.0]])
    [words] = choose_words(scores, WORDS[:3], hidden={hidden}, phrases=PHRASES)
    assert "candle apple" not in words
    assert hidden not in words
    assert "apple" in words


def test_pairs_of_the_vocabulary_are_not_repeated_by_their_words():
    forms = ["super bowl", "bowl", "anthem"]
    assert choose_words(np.array([[3.0, 2.0, 1.0]]), forms) == [("super bowl", "anthem")]
    assert choose_words(np.array([[3.0, 2.0, 1.0]]), forms, hidden={"bowl"}) == [("anthem",)]


def test_names_are_short():
    assert name_of(("god", "jesus", "bible", "sin")) == "god, jesus, bible"
    assert name_of(("law enforcement", "government", "amendment")) == "law enforcement, government"
    assert name_of(("god",)) == "god"
    assert name_of(()) == ""


SUPER_BOWL = [
    "Who won the Super Bowl?",
    "The Super Bowl is the final match of the football league.",
    "A super bowl, and a poor team.",
    "Super Bowl players sing.",
    "Fans love the Super Bowl.",
    "Our coach will see the super bowl.",
]


def test_names_the_themes_of_real_texts():
    themes = [[*ENGLISH["sport"], *SUPER_BOWL], ENGLISH["kitchen"], ENGLISH["space"]]
    texts = [text for theme in themes for text in theme]
    topics = np.array([topic for topic, theme in enumerate(themes) for _ in theme])
    corpus = count(Document(str(i), text, ()) for i, text in enumerate(texts))
    phrases = find_phrases(texts, corpus.analysis, corpus.vocabulary)
    presence = csr_array(corpus.counts > 0, dtype=np.float64)
    scores = word_scores(presence, topics, 3)
    sport, kitchen, space = choose_words(scores, corpus.vocabulary.forms, k=6, phrases=phrases)
    assert {"super bowl", "team", "players", "match"} <= set(sport)
    assert {"bread", "butter", "flour"} <= set(kitchen)
    assert {"orbit", "rocket", "launch"} <= set(space)
    assert "super bowl" in name_of(sport)
