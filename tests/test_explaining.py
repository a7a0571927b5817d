"""Why a model answers as it does: parts add up to what they are parts of."""

import json

import numpy as np
import pytest

from docboltz.corpus.document import Document
from docboltz.errors import InvalidParameter
from docboltz.explaining import HELD
from docboltz.search.score import WAYS
from docboltz.search.vectors import unit_vectors
from docboltz.text_model import TextModel
from tests.test_topic_verbs import THEMES, texts

QUERIES = ["ship and captain", "soup with salt, soup", "moon", "star captain onion"]
OTHERS = [
    "ship klingon", "klingon", "klingon qapla", "qapla ship", "with", '"the and" ship',
    "ship -moon", 'ship "captain harbour"', '"moon" ship', 'klingon -ship "moon orbit"',
    "soup -salt label:kitchen",
]  # fmt: skip
"""With words that the model or no document knows, stop words, phrases, words left out, a filter."""


@pytest.fixture(scope="module")
def model():
    found = TextModel.fit(texts(), units=16, updates=300, language=None)
    found.topics(3)
    nothing = Document("nothing", "klingon with it")
    found.index([*texts(), nothing, Document("x", "ship " * 900 + "klingon")])
    return found


def total(reasons):
    return sum(part.score for part in (*reasons.words, *reasons.topics)) + reasons.other


@pytest.mark.parametrize("query", QUERIES)
def test_contributions_of_words_add_up_to_the_input_of_a_unit(model, query):
    features = model.transform([query], "fast")[0]
    found = model.explain(query)
    assert len(found.units) == 8
    for unit in found.units:
        parts = [each.value for each in unit.contributions]
        assert sum(parts) + unit.bias == pytest.approx(unit.input, abs=1e-12)
        assert unit.probability == pytest.approx(1 / (1 + np.exp(-unit.input)), abs=1e-6)
        assert unit.probability == pytest.approx(features[unit.unit], abs=1e-6)
        assert {each.word for each in unit.contributions} == set(found.known)
        assert np.abs(parts).tolist() == sorted(np.abs(parts), reverse=True)


def test_a_contribution_is_the_weight_times_the_count_times_the_replication(model):
    (unit, *_) = model.explain("soup with salt, soup").units
    W, a = model.estimator.components_, model.estimator.intercept_hidden_
    n = 3
    m = model.estimator.latent_words_(np.array([float(n)]))[0]
    counts = {"soup": 2, "salt": 1}
    for each in unit.contributions:
        weight = float(W[unit.unit, model.vocabulary.column(each.word)])
        assert each.value == pytest.approx((1 + m / n) * weight * counts[each.word], rel=1e-6)
    assert unit.bias == pytest.approx((1 + m / n) * n * float(a[unit.unit]), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("by", WAYS)
@pytest.mark.parametrize("query", QUERIES + OTHERS)
def test_reasons_of_a_hit_add_up_to_its_score(model, query, by):
    hits = model.search(query, 20, by=by)
    for hit, why in zip(hits, model.reasons(query, hits, by=by), strict=True):
        assert total(why) == pytest.approx(hit.score, abs=1e-12)
        assert sum(word.score for word in why.words) == pytest.approx(hit.words, abs=1e-12)
        assert all(word.word in hit.text for word in why.words)


def test_queries_with_operators_have_hits_to_give_reasons_for(model):
    found = {query: len(model.search(query, 20)) for query in OTHERS}
    assert all(found.values()), found


@pytest.mark.parametrize("by", WAYS)
@pytest.mark.parametrize("id", ["7", "x", "nothing"])
def test_reasons_of_a_similar_document_add_up_to_its_score(model, id, by):
    hits = model.similar(id, 20, by=by)
    for hit, why in zip(hits, model.similar_reasons(id, hits, by=by), strict=True):
        assert total(why) == pytest.approx(hit.score, abs=1e-12)


def test_the_topic_of_the_query_is_the_main_reason(model):
    hits = model.search("soup salt oven", 5, by="features")
    own = model.assign(["soup salt oven"]).topic[0]
    for why in model.reasons("soup salt oven", hits, by="features"):
        assert why.topics[0].topic == own
        assert why.words == ()


def test_no_direction_is_counted_against_the_query(model):
    """Shares of topics in the query are those of the nearest non-negative combination."""
    query = "star captain onion"
    hits = model.search(query, 150, by="features")
    vector = unit_vectors(model.search_features(model.count([query]).counts), model.activity)[0]
    directions = model.tree.mixture.directions.astype(np.float64)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    X = model.store.features[[hit.row for hit in hits]].astype(np.float64)
    reasons = model.reasons(query, hits, by="features")
    numbers = model.tree.numbers.tolist()
    parts = [{each.topic: each.score for each in why.topics} for why in reasons]
    shares = np.array([
        np.median([own.get(t, 0.0) / (X[i] @ directions[k]) for i, own in enumerate(parts)])
        for k, t in enumerate(numbers)
    ])  # fmt: skip
    assert (shares >= 0).all()
    rest = vector - shares @ directions
    # Of |query − shares · directions|² + |HELD · shares|².
    slope = directions @ rest - HELD**2 * shares
    assert (slope <= 1e-6).all()  # no topic could take more of it
    assert np.abs(slope[shares > 0]).max() < 1e-6


def test_topics_that_cancel_each_other_do_not_grow(model):
    for row in range(0, 150, 10):
        hits = model.similar(str(row), 5)
        for why in model.similar_reasons(str(row), hits):
            assert sum(abs(each.score) for each in why.topics) < 3


def test_the_probabilities_of_a_texts_topics_are_those_it_is_assigned_by(model):
    for query in QUERIES:
        assigned, found = model.assign([query]), model.explain(query)
        assert found.topic == (None if assigned.topic[0] < 0 else assigned.topic[0])
        if found.topic is not None:
            assert found.topics[0].topic == found.topic
            sure = float(assigned.probability[0])
            assert found.topics[0].probability == pytest.approx(sure, abs=1e-6)
    assert model.explain(QUERIES[0]).topic is not None


def test_a_document_is_explained_as_its_topics_were_found(model):
    tree = model.tree
    for row in range(0, 150, 10):
        found = model.document(str(row))
        assert (found.row, found.id, found.topic) == (row, str(row), tree.assignment.topic[row])
        assert found.topics[0].topic == found.topic
        sure = float(tree.assignment.probability[row])
        assert found.topics[0].probability == pytest.approx(sure, abs=1e-6)
        assert {found.text[b:e] for each in found.matches for b, e in each.matches} == set(
            found.text.split()
        )
        json.dumps(found.to_dict())


def test_all_of_a_long_document_explains_its_units(model):
    found = model.document("x")
    assert found.text == "ship " * 900 + "klingon"
    assert found.units == model.explain(found.text).units
    assert len(found.matches[0].matches) == 900


def test_probabilities_of_merged_topics_are_added(model, tmp_path):
    model.save(tmp_path / "model")
    changed = TextModel.open(tmp_path / "model")
    numbers = model.tree.numbers
    changed.merge_topics(numbers[:2].tolist())
    vectors, presence = np.asarray(model.store.features), model.store.presence()
    before = model.tree.mixture.probabilities(vectors, presence, numbers)
    after = model.tree.mixture.probabilities(vectors, presence, changed.tree.numbers)
    assert before.sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert after[:, 0] == pytest.approx(before[:, 0] + before[:, 1], abs=1e-6)
    assert after[:, 1:] == pytest.approx(before[:, 2:], abs=1e-6)
    hits = changed.search("ship salt", 9)
    for hit, why in zip(hits, changed.reasons("ship salt", hits), strict=True):
        assert total(why) == pytest.approx(hit.score, abs=1e-12)
        assert {each.topic for each in why.topics} <= set(changed.tree.numbers.tolist())


def test_nothing_is_known_of_unknown_words(model):
    found = model.explain("klingon qapla")
    assert (found.known, found.topics, found.units, found.expected) == ((), (), (), ())
    assert found.unknown == ("klingon", "qapla")
    assert model.explain("").to_dict()["known"] == []
    assert model.reasons("klingon", []) == []
    about = model.document("nothing")
    assert (about.topic, about.topics, about.units) == (None, (), ())


def test_wrong_questions_are_refused(model):
    with pytest.raises(InvalidParameter, match="No document has the id"):
        model.document("none")
    with pytest.raises(InvalidParameter, match="rows from 0"):
        model.documents([100_000])
    with pytest.raises(InvalidParameter, match="rows from 0"):
        model.region([-1])
    with pytest.raises(InvalidParameter, match="string"):
        model.explain(7)


def test_documents_come_in_the_order_asked_for(model):
    found = model.documents([5, 3, 5])
    assert [each.row for each in found] == [5, 3, 5]
    assert [each.id for each in found] == ["5", "3", "5"]
    assert found[0].labels == texts()[5].labels


def test_a_region_has_the_words_labels_and_topics_of_its_documents(model):
    rows = [row for row in range(150) if row % 3 == 1]
    found = model.region(np.array(rows))
    assert found.documents == 50
    assert {each.word for each in found.words} <= set(THEMES["kitchen"])
    stored = [set(document.text.split()) for document in model.documents(rows)]
    everywhere = [set(document.text.split()) for document in model.documents(range(152))]
    for each in found.words:
        share = sum(each.word in words for words in stored) / len(stored)
        of_all = sum(each.word in words for words in everywhere) / len(everywhere)
        assert each.share == pytest.approx(share)
        assert each.lift == pytest.approx(share / of_all)
    assert [(each.label, each.share) for each in found.labels] == [("kitchen", 1.0)]
    assert found.topics[0].share > 0.9
    json.dumps(found.to_dict())


def test_a_region_counts_each_document_once_and_may_be_empty(model):
    assert model.region([3, 3, 6]) == model.region([3, 6])
    empty = model.region([])
    assert (empty.documents, empty.words, empty.labels, empty.topics) == (0, (), (), ())


def test_a_region_of_all_documents_has_no_words_of_its_own(model):
    found = model.region(range(152))
    assert all(each.lift == pytest.approx(1) for each in found.words)


def test_many_searches_are_those_made_one_by_one(model):
    asked = [*QUERIES, "klingon", "", "ship klingon"]
    together = model.search_many(asked, 7)
    for text, hits in zip(asked, together, strict=True):
        if not text:
            assert hits == []
            continue
        alone = model.search(text, 7)
        assert hits == alone  # to the last bit
        assert hits.unknown == alone.unknown
    assert together[-1].unknown == ()
    assert model.search_many(["qapla ship"])[0].unknown == ("qapla",)
    assert model.search_many([]) == []
    with pytest.raises(InvalidParameter):
        model.search_many("ship")
