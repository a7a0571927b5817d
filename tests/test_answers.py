"""Hits, topics, units and words as lines, tables and HTML."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from docboltz.answers import (
    Example,
    ExpectedWord,
    ExpectedWords,
    Hit,
    Hits,
    Topic,
    Topics,
    Unit,
    Units,
    best_window,
)
from docboltz.asking import distinct_units


def hit(text, matches=(), id="7", labels=("a",)):
    return Hit(id, 0.5, text, labels, 0.4, 0.1, tuple(matches))


def topic(number, name="a, b", parent=None, **more):
    level = 0 if parent is None else 1
    rest = {"words": ("a", "b", "c"), "expected": ("d",), "labels": (("x", 0.25),), **more}
    return Topic(
        number, name, parent=parent, level=level, documents=3, share=0.5,
        examples=(Example("7", f"text of {number}"),), **rest,
    )  # fmt: skip


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
    topics = Topics(
        [
            replace(
                topic(0, evil, words=(evil,), labels=((evil, 1.0),)), examples=(Example("7", evil),)
            )
        ]
    )
    units = Units([Unit(0, (evil,), 1.0, 0.5)])
    words = ExpectedWords([ExpectedWord(evil, 0.1, 2.0)])
    for answer, times in ((topics, 3), (units, 1), (words, 1)):
        page = Tags(answer._repr_html_())
        assert page.names == {"table", "thead", "tbody", "tr", "th", "td"}
        assert page.text.count(evil) == times


def test_a_table_as_text_has_a_line_for_each_item_and_no_control_characters():
    hits = Hits([hit("red \x1b[31m\nblue"), hit("plain")], title="'x'")
    header, first, second = str(hits).splitlines()
    assert header.split() == ["score", "id", "labels", "text"]
    assert first.split()[:3] == ["0.500", "7", "a"]
    assert "\x1b" not in first
    assert second.endswith("plain")
    assert repr(hits) == "Hits('x': 2)"
    assert str(Hits()) == "score  id  date  labels  title  text"


def test_json_has_the_names_of_the_table():
    hits = Hits([hit("text")]).to_dicts()
    assert set(Hits.columns) <= hits[0].keys()
    assert hits[0]["date"] == ""
    units = Units([Unit(3, ("a",), 1.0, 0.5)]).to_dicts()
    assert set(Units.columns) == units[0].keys()
    assert Unit.of_dict(units[0]) == Unit(3, ("a",), 1.0, 0.5)
    words = ExpectedWords([ExpectedWord("a", 0.1, 2.0)]).to_dicts()
    assert set(ExpectedWords.columns) == words[0].keys()


def test_a_topic_in_json_has_the_names_programs_count_on():
    (found,) = Topics([topic(3, "sea, ship", parent=9)]).to_dicts()
    assert found == {
        "topic": 3,
        "name": "sea, ship",
        "parent": 9,
        "level": 1,
        "documents": 3,
        "share": 0.5,
        "words": ["a", "b", "c"],
        "expected": ["d"],
        "labels": [{"label": "x", "share": 0.25}],
        "examples": [{"id": "7", "text": "text of 3"}],
    }
    assert Topic.of_dict(json.loads(json.dumps(found))) == topic(3, "sea, ship", parent=9)


def test_a_broader_topic_stands_before_its_own_and_names_are_not_repeated():
    broad, alone = topic(5, "broad"), topic(6, "alone")
    topics = Topics([broad, topic(1, "a, b", 5), topic(2, "c", 5), alone, topic(3, "z", 6)])
    header, *rows = str(topics).splitlines()
    names = ["topic", "share", "name", "more words", "labels", "typical document"]
    assert re.split(r"  +", header) == names
    cells = [re.split(r"  +", row.strip()) for row in rows]
    # The topic that holds one topic alone says no more than that one does.
    assert [(row[0], row[2]) for row in cells] == [
        ("5", "broad"), ("1", "a, b"), ("2", "c"), ("3", "z"),
    ]  # fmt: skip
    assert [row[3] for row in cells] == ["a b c", "c", "a b", "a b c"]
    assert cells[0][1:2] + cells[0][4:] == ["50.0%", "x 25%", "text of 5"]
    at = [row.index(name) for row, name in zip(rows, ["broad", "a, b", "c", "z"], strict=True)]
    assert at[1] == at[2] == at[0] + 2 > at[0] == at[3]


def test_units_that_repeat_each_other_are_shown_once():
    units = [Unit(n, tuple(words), 1.0 - n, 0.5) for n, words in enumerate(["abcde", "abcfg"])]
    assert [unit.number for unit in distinct_units(units, 5)] == [0]
    assert [unit.number for unit in distinct_units(units, None)] == [0, 1]


def test_a_long_id_is_cut_in_the_middle():
    long = Hit("https://" + "x" * 300 + "/17", 0.5, "A text.", (), 0.5, 0.0)
    line = str(Hits([long])).splitlines()[-1]
    assert "https://" in line
    assert "/17" in line
    assert len(line) < 80
