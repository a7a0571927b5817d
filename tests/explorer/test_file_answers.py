"""The single file answers as the server does: by node, on a small collection."""

import json

import numpy as np
import pytest

from docboltz.corpus.text import TextAnalysis
from docboltz.explorer.archive import unpack
from docboltz.explorer.snapshot import Snapshot
from tests.explorer.collections import documents, fitted
from tests.explorer.file_answers import answers, ask, differences, needs_node, packed

pytestmark = needs_node

TOLERANCE = 2e-3
"""Weights are float16, of 11 bits: sums of ten are off by a thousandth of the largest or less."""
QUERIES = [
    "hockey goals and rockets",
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
    (hits,) = snapshot.search([text], 10, "both")
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
        compare(got, snapshot.similar(id, 5, "both", reasons=True))


def test_nothing_is_like_a_document_without_known_words(data, tmp_path):
    (got,) = answers(data, [["similar", "empty"]], tmp_path)
    assert got["hits"] == got["unknown"] == []
    assert "none of the words" in got["message"]


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
