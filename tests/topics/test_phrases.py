"""Phrases in texts: what is side by side, how often, and how it is written."""

import math

import pytest

from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.corpus import Vocabulary
from docboltz.corpus.counting import count
from docboltz.corpus.document import Document
from docboltz.topics import phrases as module
from docboltz.topics.phrases import find_phrases

PLAIN = TextAnalysis(language=None)
WORDS = Vocabulary(["super", "bowl", "soup", "care"])


def forms(texts, analysis=PLAIN, vocabulary=WORDS, **options):
    found = find_phrases(texts, analysis, vocabulary, **options)
    return {phrase.form: phrase.count for phrase in found.values()}


def test_counts_shares_and_association_by_hand():
    # 30 words: "super" 6 and "bowl" 10 times, 5 times together.
    texts = ["super bowl"] * 5 + ["super"] + ["bowl"] * 5 + ["other"] * 14
    [(columns, phrase)] = find_phrases(texts, PLAIN, WORDS).items()
    assert columns == (0, 1)
    assert (phrase.form, phrase.count, phrase.shares) == ("super bowl", 5, (5 / 6, 5 / 10))
    npmi = math.log((5 / 30) / (6 / 30 * 10 / 30)) / -math.log(5 / 30)
    assert phrase.association == pytest.approx(npmi)


@pytest.mark.parametrize(
    "between", [". ", ", ", " (", " - ", "\n\n", "/", " other ", " the ", "。", " “"]
)
def test_punctuation_and_other_words_part_neighbours(between):
    analysis = TextAnalysis(language="english", stem=False)
    assert forms([f"super{between}bowl"] * 9 + ["x"] * 50, analysis) == {}


@pytest.mark.parametrize("between", [" ", "-", "\n", "  "])
def test_spaces_hyphens_and_line_breaks_do_not(between):
    assert forms([f"super{between}bowl"] * 9 + ["xx"] * 50) == {"super bowl": 9}


def test_texts_are_parted():
    assert forms(["super", "bowl"] * 9) == {}


def test_chance_and_few_are_no_phrases():
    assert forms(["super bowl"] * (module.LEAST_COUNT - 1) + ["xx"] * 50) == {}
    by_chance = ["super bowl", "bowl super", "super super", "bowl bowl"] * 20
    assert forms(by_chance) == {}


def test_is_written_as_most_write_it():
    analysis = TextAnalysis()
    vocabulary = Vocabulary(["team", "sport"], ["team", "sports"])
    texts = ["Sports team!"] * 4 + ["Sports teams"] * 6 + ["Sport team"] + ["nothing"] * 30
    [(columns, phrase)] = find_phrases(texts, analysis, vocabulary).items()
    assert (columns, phrase.form, phrase.count) == ((1, 0), "sports teams", 11)


def test_pretokenised_words_are_taken_as_they_are():
    words = Vocabulary(["C++", "lib."])
    texts = ["C++ lib."] * 6 + ["x"] * 20
    assert forms(texts, TextAnalysis(pretokenised=True), words) == {"C++ lib.": 6}


def test_pairs_of_characters_are_no_phrases():
    corpus = count([Document(str(i), "東京都", ()) for i in range(9)], PLAIN)
    assert set(corpus.vocabulary) == {"東京", "京都"}
    assert forms(["東京都"] * 9 + ["xx"] * 50, PLAIN, corpus.vocabulary) == {}


def test_a_vocabulary_with_pairs_has_the_same_phrases():
    texts = ["super bowl"] * 9 + ["xx"] * 50
    pairs = Vocabulary([*WORDS, "super bowl"])
    assert forms(texts, TextAnalysis(language=None, ngrams=2), pairs) == {"super bowl": 9}


def test_of_many_texts_some_are_read_evenly():
    assert module._spread(map(str, range(8)), 8) == list("01234567")
    assert module._spread(map(str, range(9)), 8) == list("02468")
    assert module._spread(map(str, range(40)), 8) == ["0", "8", "16", "24", "32"]
    texts = (["super bowl"] * 10 + ["xx"] * 50) * 4
    assert 10 <= forms(texts, most_texts=120)["super bowl"] <= 30


def test_no_texts_have_no_phrases():
    assert find_phrases([], PLAIN, WORDS) == {}
