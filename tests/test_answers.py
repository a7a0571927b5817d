"""Hits, topics and words as lines, tables and HTML; where words of a query stand in a text."""

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docboltz.answers import (
    ExpectedWord,
    ExpectedWords,
    Hit,
    Hits,
    Topic,
    Topics,
    best_window,
    find_matches,
)
from docboltz.asking import distinct_topics
from docboltz.corpus.text import TextAnalysis


def hit(text, matches=(), id="7", labels=("a",)):
    return Hit(id, 0.5, text, labels, 0.4, 0.1, tuple(matches))


def shown(text, spans):
    return [text[begin:end] for begin, end in spans]


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
    assert shown(text, find_matches(analysis, text, terms)) == expected


@given(st.text(max_size=80), st.text(max_size=20))
def test_matches_are_inside_the_text_and_in_order(text, query):
    analysis = TextAnalysis(None)
    spans = find_matches(analysis, text, frozenset(analysis.tokens(query)))
    assert all(0 <= begin < end <= len(text) for begin, end in spans)
    assert list(spans) == sorted(spans)


def test_a_snippet_shows_the_piece_with_most_words_of_the_query():
    text = "filler " * 100 + "rocket and rocket" + " filler" * 100
    at = text.index("rocket")
    matches = [(0, 6), (at, at + 6), (at + 11, at + 17)]
    piece = hit(text, matches).snippet(60, ("[", "]"))
    assert "[rocket] and [rocket]" in piece
    assert piece.startswith("…")
    assert piece.endswith("…")
    assert len(piece) <= 60 + 2 + 4
    assert hit("short", [(0, 5)]).snippet(60, ("[", "]")) == "[short]"


@given(st.integers(0, 300), st.integers(1, 50), st.integers(10, 100))
def test_the_best_window_holds_the_match(begin, length, width):
    length = min(length, width // 2)
    window = best_window(((begin, begin + length),), width)
    assert window <= begin
    assert begin + length <= window + width


class Tags(HTMLParser):
    def __init__(self, html):
        super().__init__()
        self.names, self.text = set(), ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)

    def handle_data(self, data):
        self.text += data


def test_no_text_is_taken_for_markup():
    evil = '<script>alert("x")</script> & <img onerror=1>'
    hits = Hits([hit(evil, [(0, 8)], id=evil, labels=(evil,))], title=evil)
    page = Tags(hits._repr_html_())
    assert page.names == {"table", "caption", "thead", "tbody", "tr", "th", "td", "mark"}
    assert page.text.count(evil) == 4
    topics = Topics([Topic(0, (evil,), 1.0, 0.5)])
    words = ExpectedWords([ExpectedWord(evil, 0.1, 2.0)])
    for answer in (topics, words):
        assert Tags(answer._repr_html_()).names == {"table", "thead", "tbody", "tr", "th", "td"}


def test_a_table_as_text_has_a_line_for_each_item_and_no_control_characters():
    hits = Hits([hit("red \x1b[31m\nblue"), hit("plain")], title="'x'")
    header, first, second = str(hits).splitlines()
    assert header.split() == ["score", "id", "labels", "text"]
    assert first.split()[:3] == ["0.500", "7", "a"]
    assert "\x1b" not in first
    assert second.endswith("plain")
    assert repr(hits) == "Hits('x': 2)"
    assert str(Hits()) == "score  id  labels  text"


def test_json_has_the_names_of_the_table():
    hits = Hits([hit("text")]).to_dicts()
    assert set(Hits.columns) <= hits[0].keys()
    assert hits[0]["date"] == ""
    topics = Topics([Topic(3, ("a",), 1.0, 0.5)]).to_dicts()
    assert set(Topics.columns) == topics[0].keys()
    assert Topic.of_dict(topics[0]) == Topic(3, ("a",), 1.0, 0.5)
    words = ExpectedWords([ExpectedWord("a", 0.1, 2.0)]).to_dicts()
    assert set(ExpectedWords.columns) == words[0].keys()


def test_topics_that_repeat_each_other_are_shown_once():
    topics = [Topic(n, tuple(words), 1.0 - n, 0.5) for n, words in enumerate(["abcde", "abcfg"])]
    assert [topic.number for topic in distinct_topics(topics, 5)] == [0]
    assert [topic.number for topic in distinct_topics(topics, None)] == [0, 1]
