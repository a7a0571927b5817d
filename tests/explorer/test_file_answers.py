"""The single file answers as the server does: by node, on a small collection."""

import json
from dataclasses import replace

import numpy as np
import pytest

from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.document import Document
from docboltz.explorer.archive import unpack
from docboltz.explorer.snapshot import Snapshot
from tests.explorer.collections import documents, fitted
from tests.explorer.file_answers import answers, ask, differences, needs_node, packed

pytestmark = needs_node

TOLERANCE = 2e-3
"""Weights are float16, of 11 bits: sums of ten are off by a thousandth of the largest or less."""
QUERIES = [
    "hockey goals and rockets",
    "xyzzy",
    "12 rockets",
    "naïve document.title",
    "Launch!",
    "bread, butter and a shuttle: the team's oven",
    "hockey hockey hockey unheard words",
    "東京都 naïve 🏒",
]


@pytest.fixture(scope="module")
def model():
    return fitted()


@pytest.fixture(scope="module")
def data(model):
    return packed(model)


def found_by_server(model, text):
    snapshot = Snapshot(model)
    (hits,) = snapshot.search([text], 10, "both", {})
    return snapshot.found(text, hits, model.reasons(text, hits) if hits else ())


def compare(got, expected):
    expected = json.loads(json.dumps(expected))
    if isinstance(expected, dict) and "build" not in got:
        expected.pop("build", None)  # a file has one state, and no need to name it with each answer
    assert differences(got, expected, TOLERANCE) == []


def test_searches(model, data, tmp_path):
    questions = [["search", text, {"reasons": True}] for text in QUERIES]
    for text, got in zip(QUERIES, answers(data, questions, tmp_path), strict=True):
        expected = found_by_server(model, text)
        scores = [hit["score"] for hit in expected["hits"]]
        np.testing.assert_allclose([h["score"] for h in got["hits"]], scores, atol=TOLERANCE)
        compare(got, expected)


def test_searches_for_nothing(model, data, tmp_path):
    texts = ["", "  ", "unheard", "the and of"]
    found = answers(data, [["search", text] for text in texts], tmp_path)
    for text, got in zip(texts, found, strict=True):
        compare(got, found_by_server(model, text))


OPERATORS = [
    '"alert(1)"',
    '"left & hockey"',
    "“right to LEFT”",
    '"LEFT   hockey" goal',
    '"goal rocket oven shuttle"',
    "moon -rocket",
    "hockey -goal -team",
    'naïve -"left & hockey"',
    "moon label:space",
    "moon label:space label:food",
    "bread since:2012",
    "bread until:2012-06",
    "bread since:2011-02-03 until:2013",
    "bread since:2011-02-03T04:05 label:food -butter",
    "bread unheard:me",
    "moon kind:odd",
    "kind:odd",
    "the",
    '"of their own"',
    "- -- moon",
    "rocket moon\nlabel:none -moon",
    "moon " * 70 + "label:none",
]


@pytest.fixture(scope="module")
def kept():
    """A collection with titles, columns and line breaks."""
    given = [
        replace(
            each,
            text=each.text.replace(" ", "\n  ", 1),
            title=f"On {each.labels[0]}" if each.labels and i % 4 == 0 else "",
            columns={"kind": "odd" if i % 2 else "even"},
        )
        for i, each in enumerate(documents())
    ]
    return fitted([*given, Document("words", "It was of\ntheir own, and of the.", ("none",))])


@pytest.mark.parametrize("reasons", [False, True])
def test_searches_with_operators(kept, tmp_path, reasons):
    questions = [["search", text, {"reasons": reasons}] for text in OPERATORS]
    for text, got in zip(OPERATORS, answers(packed(kept), questions, tmp_path), strict=True):
        expected = found_by_server(kept, text)
        for hit in [] if reasons else expected["hits"]:
            del hit["reasons"]
        compare(got, expected)


def test_titles_and_columns_are_those_of_the_server(kept, tmp_path):
    rows = list(range(0, 94, 3))
    (got,) = answers(packed(kept), [["documents", {"rows": rows}]], tmp_path)
    compare(got, [each.to_dict() for each in kept.documents(rows)])
    assert {each["title"] for each in got} >= {"On hockey"}
    assert "\n" in got[0]["text"]


def test_of_a_long_text_a_hit_has_the_best_piece(tmp_path):
    filler = " ".join(["it was of the"] * 200)
    long = Document("long", f"{filler} moon {filler} 🏒 rocket moon {filler} {filler}")
    model = fitted([*documents(30), long])
    (got,) = answers(packed(model, 100_000), [["search", "rocket 🏒 moon"]], tmp_path)
    expected = found_by_server(model, "rocket 🏒 moon")
    for hit in expected["hits"]:
        del hit["reasons"]
    compare(got, expected)
    (hit,) = (hit for hit in got["hits"] if hit["id"] == "long")
    assert hit["whole"] is False
    assert "rocket moon" in hit["text"]
    assert len(hit["text"]) == 2000


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("moon since:soon", "since: must be a date such as"),
        ("moon label:unheard", "No document has the label 'unheard'. Labels are "),
        ("moon since:2040", "No document has a date from 2040"),
        ("moon label:unheard kind:none", "No document has the label 'unheard' and kind 'none'."),
    ],
)
def test_filters_that_cannot_be_met_are_said_in_words(kept, tmp_path, query, words):
    (got,) = ask(packed(kept), [["search", query]], tmp_path)
    assert words in got["error"]


def test_reasons_add_up_to_the_score(data, tmp_path):
    for got in answers(data, [["search", t, {"reasons": True}] for t in QUERIES], tmp_path):
        for hit in got["hits"]:
            why = hit["reasons"]
            parts = [each["score"] for each in (*why["words"], *why["topics"])]
            assert sum(parts) + why["other"] == pytest.approx(hit["score"], abs=1e-6)


def test_documents_and_their_likes(model, data, tmp_path):
    snapshot = Snapshot(model)
    ids = [document.id for document in documents()]
    shown, similar = ids[:5] + ids[-2:], [*ids[:5], ids[-2]]
    questions = [["document", id] for id in shown]
    questions += [["similar", id, {"limit": 5, "reasons": True}] for id in similar]
    found = answers(data, questions, tmp_path)
    for id, got in zip(shown, found, strict=False):
        compare(got, snapshot.document(id))
    for id, got in zip(similar, found[len(shown) :], strict=True):
        compare(got, snapshot.similar(id, 5, "both", {}, reasons=True))


def test_nothing_is_like_a_document_whose_words_no_other_has(model, data, tmp_path):
    (got,) = answers(data, [["similar", "empty"]], tmp_path)
    compare(got, Snapshot(model).similar("empty", 10, "both", {}, reasons=False))
    assert got["message"] == "No document is like it."


def test_explains_texts(model, data, tmp_path):
    texts = [*QUERIES, "", "unheard"]
    snapshot = Snapshot(model)
    for text, got in zip(
        texts, answers(data, [["explain", t] for t in texts], tmp_path), strict=True
    ):
        compare(got, snapshot.explain(text, 10))


def test_contributions_add_up_to_the_input(data, tmp_path):
    (got,) = answers(data, [["explain", QUERIES[2]]], tmp_path)
    for unit in got["units"]:
        parts = sum(each["value"] for each in unit["contributions"])
        assert unit["bias"] + parts == pytest.approx(unit["input"], abs=1e-9)
        assert 1 / (1 + np.exp(-unit["input"])) == pytest.approx(unit["probability"])


def test_expects_words(model, data, tmp_path):
    texts = [*QUERIES, "unheard"]
    found = answers(data, [["words", text] for text in texts], tmp_path)
    for text, got in zip(texts, found, strict=True):
        compare(got, Snapshot(model).words(text, 15))


def test_regions_and_lists(model, data, tmp_path):
    rows = [[], [0], list(range(0, 60, 3)), [5, 5, 91, 92]]
    questions = [["region", some] for some in rows]
    questions += [["documents", {"rows": [3, 1]}], ["documents", {"ids": ["food/2"]}]]
    *regions, by_rows, by_ids = answers(data, questions, tmp_path)
    for some, got in zip(rows, regions, strict=True):
        compare(got, model.region(some).to_dict())
    compare(by_rows, [each.to_dict() for each in model.documents([3, 1])])
    compare(by_ids, [each.to_dict() for each in model.documents([2])])


def test_the_collection_its_map_and_its_topics(model, data, tmp_path):
    snapshot = Snapshot(model)
    shares = [["topicsBy", by, period] for by, period in (("label", None), ("date", None))]
    about, state, *by = answers(data, [["collection"], ["state"], *shares], tmp_path)
    assert about["edit"] is False
    assert state["collection"] == about
    map_, points, topics = state["map"], state["columns"], state["topics"]
    assert {**about, **snapshot.collection} == about
    compare(map_, snapshot.map())
    compare(topics, snapshot.topics)
    compare(by[0], snapshot.topics_by("label", None))
    compare(by[1], snapshot.topics_by("date", None))
    # JSON has objects of indices for typed arrays, and null for NaN.
    x = [points["x"][str(i)] for i in range(len(snapshot))]
    assert x[:-1] == pytest.approx(snapshot.positions[:-1, 0].tolist())
    assert x[-1] is None


def test_refuses_what_it_cannot_do(data, tmp_path):
    questions = [["document", "no such"], ["similar", "no such"], ["renameTopic", 0, "x"]]
    questions += [["mergeTopics", [0, 1]], ["topicsBy", "colour"]]
    for question, got in zip(questions, ask(data, questions, tmp_path), strict=True):
        assert got.get("error", "").endswith("."), question


@pytest.mark.parametrize(
    "analysis",
    [TextAnalysis(ngrams=2), TextAnalysis(pretokenised=True), TextAnalysis(language=None)],
    ids=["pairs", "pretokenised", "no language"],
)
def test_other_ways_to_cut_text(analysis, tmp_path):
    model = fitted(documents(50), analysis=analysis)
    data = packed(model)
    texts = ["goal team coach", "Shuttle orbit launch moon.", "bread butter bread butter"]
    for text, got in zip(
        texts, answers(data, [["search", t] for t in texts], tmp_path), strict=True
    ):
        expected = found_by_server(model, text)
        for hit in expected["hits"]:
            del hit["reasons"]
        compare(got, expected)


def test_no_text_ends_the_element_it_stands_in(data):
    assert set(data) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")
    assert "</script>" in " ".join(unpack(data)[0]["documents"]["text"])
