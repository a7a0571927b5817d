"""Words are found where they stand."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docboltz.corpus.analysis import TextAnalysis
from docboltz.search.places import PlaceFinder

SCRIPTS = st.text(
    alphabet=st.one_of(
        st.sampled_from("aAbBzZ19 _-'.@:/\n\t\x00\x1c"),
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
    TextAnalysis(None, numbers=True, min_letters=1, links=True),
    TextAnalysis("turkish", stem=False, stop_words=False),
    TextAnalysis(None, lowercase=False),
    TextAnalysis(pretokenised=True, ngrams=2),
    TextAnalysis(function=lambda text: text.lower().split()),
]
NAMES = ["english", "every word", "turkish", "case kept", "pairs", "a function"]


def found_in(text, places):
    return [text[begin:end] for spans in places.values() for begin, end in spans]


@pytest.mark.parametrize("analysis", ANALYSES, ids=NAMES)
@given(text=SCRIPTS)
def test_places_are_in_the_text_in_order_and_apart(analysis, text):
    terms = set(analysis.tokens(text))
    places = PlaceFinder(analysis).find(text, terms)
    assert places.keys() <= terms
    for spans in places.values():
        assert all(0 <= begin < end <= len(text) for begin, end in spans)
        assert all(one[1] <= other[0] for one, other in pairwise(spans))


@pytest.mark.parametrize("analysis", ANALYSES[:-1], ids=NAMES[:-1])
@given(text=st.text(st.sampled_from("aAbBsS19 _-'.@:/\n")))
def test_every_word_of_an_ascii_text_is_found(analysis, text):
    counts = Counter(term for term in analysis.tokens(text) if " " not in term)
    places = PlaceFinder(analysis).find(text, set(counts))
    assert {term: len(spans) for term, spans in places.items()} == counts
    for term in list(counts)[:2]:
        assert PlaceFinder(analysis).find(text, {term}) == {term: places[term]}


@pytest.mark.parametrize(
    ("analysis", "query", "text", "expected"),
    [
        (TextAnalysis(), "battery", "Batteries die. BATTERY!", ["Batteries", "BATTERY"]),
        (TextAnalysis(), "cafe", "a café, a cafe", ["cafe"]),
        (TextAnalysis(stem=False), "art", "art party art, artart art", ["art", "art", "art"]),
        (TextAnalysis("german"), "Häuser", "Das Haus, die Häuser", ["Haus", "Häuser"]),
        (TextAnalysis(None), "हिन्दी", "यह हिन्दी है", ["हिन्दी"]),
        (TextAnalysis(None), "東京", "私は東京に住む、東京東京", ["東京", "東京", "東京"]),
        (TextAnalysis(None), "iphone", "iPhone東京", ["iPhone"]),
        (TextAnalysis(pretokenised=True), "a.b", "x a.b y", ["a.b"]),
        (TextAnalysis(), "the", "the the", []),
        (TextAnalysis(), "ship", "http://ship.org ship@sea.org Ships", ["Ships"]),
        (TextAnalysis(links=True), "ship", "http://ship.org Ships", ["ship", "Ships"]),
        (TextAnalysis(function=lambda t: t.lower().split()), "ship", "(Ship) ships", ["Ship"]),
        (TextAnalysis(function=lambda t: list(t)), "東", "東京の東", ["東", "東"]),
    ],
)
def test_words_of_the_query_are_found_in_every_form(analysis, query, text, expected):
    terms = frozenset(analysis.tokens(query))
    assert found_in(text, PlaceFinder(analysis).find(text, terms)) == expected
