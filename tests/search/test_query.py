from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docboltz.errors import InvalidParameter
from docboltz.search.query import LONGEST, Filter, Phrase, Query, parse


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("battery screen", Query("battery screen")),
        ('"refs #420"', Query("refs #420", ("refs #420",))),
        ("-cracked", Query("", (), ("cracked",))),
        ('-"no signal" phone', Query("phone", (), ("no signal",))),
        ("label:phone", Query("", wanted=Filter(("phone",)))),
        ('label:"old phone" label:b', Query("", wanted=Filter(("old phone", "b")))),
        ("LABEL:phone x", Query("x", wanted=Filter(("phone",)))),
        (
            "since:2013-08 until:2014 rain",
            Query("rain", wanted=Filter(since="2013-08", until="2014")),
        ),
        ('since:"2013-05-02"', Query("", wanted=Filter(since="2013-05-02"))),
        ("author:smith a", Query("a", wanted=Filter(columns=(("author", "smith"),)))),
        ('author:"j smith"', Query("", wanted=Filter(columns=(("author", "j smith"),)))),
        # Without a special meaning:
        ("reader:smith", Query("reader:smith")),
        ("16:9 http://host a:b:c", Query("16:9 http://host a:b:c")),
        ("well-known - -- -> -", Query("well-known - -- -> -")),
        ('6"', Query('6"')),
        ('the 6" nail and 7"', Query('the 6" nail and 7"')),
        ('say"so" "so"on', Query('say"so" "so"on')),
        ('""', Query('""')),
        ('" "', Query(" ")),
        ("label: label:", Query("label: label:")),
        ("", Query("")),
        # Typographers' quotes, several at once, and operators inside a phrase:
        ("“left side” „so“", Query("left side so", ("left side", "so"))),
        ('"a -b label:c"', Query("a -b label:c", ("a -b label:c",))),
        ('-"C++" -#1 -"++"', Query("", (), ("C++", "#1", "++"))),
        # Of several lines, or long: a text.
        ('first\n-second "third"', Query('first\n-second "third"')),
        ("-a " * LONGEST, Query("-a " * LONGEST)),
        ("-a \n", Query("", (), ("a",))),
    ],
)
def test_a_query_is_taken_apart(text: str, query: Query) -> None:
    assert parse(text, ("author",)) == query


def test_filters_of_a_query_join_those_that_are_given() -> None:
    given = Filter(("a",), "2012", "2014", (("author", "me"),))
    found = parse("label:b since:2013 author:you", ("author",), given).wanted
    assert found == Filter(("a", "b"), "2013", "2014", (("author", "me"), ("author", "you")))
    assert parse("a\nb", (), given).wanted == given
    with pytest.raises(InvalidParameter, match="'since'"):
        parse("since:yesterday")
    with pytest.raises(InvalidParameter, match="no later than 2012"):
        parse("since:2013 until:2012")


@given(st.text('ab":- \n“„”ü1#', max_size=30), st.booleans())
def test_any_query_is_taken_apart(text: str, columns: bool) -> None:
    query = parse(text, ("a", "ab") if columns else ())
    for phrase in (*query.phrases, *query.without):
        Phrase(phrase, ()).is_in(text)


@pytest.mark.parametrize(
    ("phrase", "texts", "others"),
    [
        ("refs #420", ["Refs  #420:", "(refs\n#420)"], ["refs #4200", "xrefs #420", "refs 420"]),
        ("c++", ["C++ and", "xC++? c++", "c+++"], ["c+ +", "abc++"]),
        ("to be", ["To\tbe.", "_ to be"], ["tobe", "to bee", "into be"]),
        ("straße", ["STRASSE", "Straße"], ["strasse1"]),
        ("ﬁn", ["FIN", "the fin"], ["fine"]),
        ("京都", ["東京都庁"], ["京 都x"]),
        ("é", ["e\u0301", "É"], ["e", "né"]),
        (".*", ["a.*b"], ["abc"]),
        ("👩‍🚀", ["a👩‍🚀b"], ["👩"]),
    ],
)
def test_phrases_stand_in_texts_as_whole_words(
    phrase: str, texts: list[str], others: list[str]
) -> None:
    for text in texts:
        assert Phrase(phrase, ()).is_in(text), text
    for text in others:
        assert not Phrase(phrase, ()).is_in(text), text


def test_a_filter_says_what_it_wants() -> None:
    wanted = Filter(("a", "b"), "2013", "2014", (("author", "me"),))
    expected = "the label 'a' or 'b', a date from 2013 to 2014 and author 'me'"
    assert (str(wanted), str(Filter(until="2014"))) == (expected, "a date to 2014")
