"""Words are found where they stand: quickly, and where every word is cut on its own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docboltz.corpus import places
from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.places import PlaceFinder

SCRIPTS = st.text(
    alphabet=st.one_of(
        st.sampled_from("aAbBzZ19 _-'.\n\t\x00\x1c"),
        st.sampled_from("äÄßéİIıẞſﬁ²½Ⅷ"),
        st.sampled_from("e\u0301\u200d\u200c\u00a0\u2028"),
        st.sampled_from("東京タワー한국กขคสวัสดี"),
        st.sampled_from("हिन्दी😀👍🏽\U0001f468\u200d\U0001f469"),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=40,
)
ANALYSES = [
    TextAnalysis(),
    TextAnalysis(None, numbers=True, min_letters=1),
    TextAnalysis("turkish", stem=False, stop_words=False),
    TextAnalysis(None, lowercase=False),
]


@pytest.mark.parametrize("analysis", ANALYSES, ids=str)
@given(texts=st.lists(SCRIPTS, min_size=1, max_size=4))
def test_places_are_those_of_words_cut_one_by_one(analysis, texts):
    finder = PlaceFinder(analysis)  # which knows words of the texts before
    for text in texts * 2:
        terms = {term for each in texts for term in analysis.tokens(each)}
        assert finder.find(text, terms) == finder.find_word_by_word(text, terms)
        some = set(sorted(terms)[::2])
        assert finder.find(text, some) == finder.find_word_by_word(text, some)


@pytest.mark.parametrize("analysis", ANALYSES, ids=str)
@given(text=SCRIPTS)
def test_a_lined_up_text_has_the_words_of_the_text(analysis, text):
    lined_up = analysis.lined_up(text)
    if lined_up is not None:
        assert lined_up.split() == [word for words in analysis.words(text) for word in words]
        assert len(lined_up) <= len(text)


def find(analysis, text, terms):
    return PlaceFinder(analysis).find(text, terms)


def test_a_word_inside_another_is_not_found():
    found = find(TextAnalysis(stem=False), "art party art, artart art", {"art"})
    assert found == {"art": [(0, 3), (10, 13), (22, 25)]}


def test_words_of_texts_beyond_ascii_are_found_in_their_places():
    text = "Über Äpfel und äpfel"
    analysis = TextAnalysis("german", stem=False)
    assert analysis.lined_up(text) == "über äpfel und äpfel"
    assert find(analysis, text, {"äpfel"}) == {"äpfel": [(5, 10), (15, 20)]}


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(places, "REMEMBERED", 5)
    finder = PlaceFinder(TextAnalysis(None))
    for i in range(1, 50):
        word = f"word{i}"
        assert finder.find(f"a {word} and word0", {word, "word0"})[word] == [(2, 2 + len(word))]
        assert finder.find("the word0", {"word0"}) == {"word0": [(4, 9)]}
        assert len(finder._words) <= 10


def shown(text, places):
    return [text[begin:end] for spans in places.values() for begin, end in spans]


@pytest.mark.parametrize(
    ("analysis", "query", "text", "expected"),
    [
        (TextAnalysis(), "battery", "Batteries die. BATTERY!", ["Batteries", "BATTERY"]),
        (TextAnalysis(), "cafe", "a café, a cafe", ["cafe"]),
        (TextAnalysis("german"), "Häuser", "Das Haus, die Häuser", ["Haus", "Häuser"]),
        (TextAnalysis(None), "हिन्दी", "यह हिन्दी है", ["हिन्दी"]),
        (TextAnalysis(None), "東京", "私は東京に住む", ["東京"]),
        (TextAnalysis(pretokenised=True), "a.b", "x a.b y", ["a.b"]),
        (TextAnalysis(), "the", "the the", []),
    ],
)
def test_words_of_the_query_are_found_in_every_form(analysis, query, text, expected):
    terms = frozenset(analysis.tokens(query))
    assert shown(text, find(analysis, text, terms)) == expected


@given(st.text(max_size=80), st.text(max_size=20))
def test_matches_are_inside_the_text_and_in_order(text, query):
    analysis = TextAnalysis(None)
    for spans in find(analysis, text, frozenset(analysis.tokens(query))).values():
        assert all(0 <= begin < end <= len(text) for begin, end in spans)
        assert spans == sorted(spans)
