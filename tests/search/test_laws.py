"""What holds of every store, whatever keeps the documents."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import log
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from docboltz.corpus.document import Document
from docboltz.errors import DocboltzError, InvalidCorpus, InvalidModelFile, InvalidParameter
from docboltz.search.query import Filter, Phrase
from docboltz.search.score import SHARE_POWER, By
from docboltz.search.store import Store
from docboltz.search.words import K1, B
from tests.search.stores import (
    INDEXED,
    F,
    Place,
    answers,
    ask,
    blocks_of,
    documents,
    features_of,
    hits,
    names,
    questions,
)

WAYS: tuple[By, ...] = get_args(By)
CLOSE = {"atol": 2e-6, "rtol": 0}
"""Milvus keeps what BM25 makes of a count in float32, and so are all features kept."""


def of_texts(*given: str) -> list[Document]:
    return [Document(f"d{i}", text) for i, text in enumerate(given)]


def bm25(given: list[Document], terms: Counter[str]) -> tuple[np.ndarray, np.ndarray]:
    """BM25 straight from its definition, and the share of idf: (n,) each."""
    tokens = [INDEXED.tokens(document.searched) for document in given]
    mean_length = sum(map(len, tokens)) / len(tokens)
    scores, shares, n = np.zeros(len(tokens)), np.zeros(len(tokens)), len(tokens)
    df = {term: sum(term in own for own in tokens) for term in terms}
    idf = {term: log(1 + (n - df[term] + 0.5) / (df[term] + 0.5)) for term in terms if df[term]}
    for i, own in enumerate(tokens):
        for term, weight in idf.items():
            tf, norm = own.count(term), K1 * (1 - B + B * len(own) / mean_length)
            scores[i] += terms[term] * weight * tf * (K1 + 1) / (tf + norm)
            shares[i] += weight * (tf > 0) / sum(idf.values())
    return scores, shares


@pytest.mark.parametrize("center", [False, True])
def test_scores_are_those_of_the_formula(place: Place, center: bool) -> None:
    given = documents(60)
    X = features_of(given).astype(float)
    mean = X.mean(0).astype(np.float32).tolist() if center else None
    store = place.store(given, mean=mean)
    X = X - mean if center else X
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    np.testing.assert_allclose(store.features, X, atol=1e-6)
    for question in [*questions(5), ask("goal"), ask("goal goal rain nowhere", X[3])]:
        of_words, share = bm25(given, Counter(question.terms))
        for by in WAYS:
            weights = question.weights(by)
            parts = weights.bm25 + weights.share * share**SHARE_POWER
            words = parts * of_words / of_words.max()
            expected = weights.features * (X @ question.vector) + words
            best = store.search([question], 60, by)
            rows = best.rows[0][best.rows[0] >= 0]
            found = (best.features + best.words)[0]
            np.testing.assert_allclose(found[: len(rows)], expected[rows], **CLOSE)
            is_hit = (expected > 0) | (words > 0) & (by != "features")
            np.testing.assert_allclose(found[: len(rows)], -np.sort(-expected[is_hit]), **CLOSE)
            np.testing.assert_allclose(best.words[0, : len(rows)], words[rows], **CLOSE)


@pytest.mark.parametrize("unknown", [0, 0.5, 1])
def test_a_document_that_is_just_what_was_asked_for_scores_1(unknown: float) -> None:
    for by in WAYS:
        assert sum(ask("goal", np.ones(8), unknown=unknown).weights(by)) == pytest.approx(1)


@pytest.mark.parametrize("by", WAYS)
def test_parts_add_up_to_the_score(place: Place, by: By) -> None:
    store = place.store(documents(40))
    asked = [*questions(4), ask('goal "of the" rain', np.ones(8)), ask("42 x goal")]
    best = store.search(asked, 20, by)
    for question, rows, words in zip(asked, best.rows, best.words, strict=True):
        taken = rows >= 0
        parts = store.word_parts(question, rows[taken], by)[1]
        np.testing.assert_allclose(parts.sum(1), words[taken], rtol=0, atol=1e-9)
        reverse = store.word_parts(question, rows[taken][::-1], by)[1]
        np.testing.assert_allclose(reverse[::-1], parts, rtol=0, atol=1e-12)


def test_known_answers(place: Place) -> None:
    store = place.store(
        of_texts("A goal in the match", "Match after match", "Rain", "goal goal goal", "", "The"),
        [[1, 0], [0, 1], [1, 0.1], [-1, 0], [0, 0], [0, 0]],
    )
    nowhere = np.zeros(2)
    assert hits(store, ask("goal match", nowhere))[0] == "d0"
    assert set(hits(store, ask("goal match", nowhere))) == {"d0", "d1", "d3"}
    assert hits(store, ask("", [1, 0])) == ["d0", "d2"]
    assert hits(store, ask("match", [1, 0]), "features") == ["d0", "d2"]
    assert hits(store, ask("match", [1, 0]), "words") == ["d1", "d0"]
    assert hits(store, ask("match", [1, 0])) == ["d0", "d2", "d1"]
    assert hits(store, ask("nowhere", nowhere)) == hits(store, ask("", nowhere)) == []
    assert store.presence().sum(1).tolist() == [2, 1, 1, 1, 0, 0]
    assert store.presence(np.array([3, 0])).toarray()[:, :3].tolist() == [[1, 0, 0], [1, 1, 0]]


@pytest.mark.parametrize("by", WAYS)
def test_without_a_word_a_score_that_is_not_above_0_is_no_hit(place: Place, by: By) -> None:
    given = documents(30)
    store = place.store(given)
    for question in (ask("lamp", -features_of(given)[4]), ask("lamp"), ask("goal", np.ones(8))):
        best = store.search([question], 30, by)
        is_hit = (best.features + best.words > 0) | (best.words > 0)
        assert (is_hit == (best.rows >= 0)).all()
        if by != "features":
            with_words = [
                i for i, d in enumerate(given) if any(t in d.searched for t in question.terms)
            ]
            assert {*with_words} <= {*best.rows[0].tolist()}
        assert (np.diff((best.rows >= 0).astype(int)) <= 0).all()  # places are taken from the front
        assert len({*best.rows[0].tolist()} - {-1}) == (best.rows >= 0).sum()


def test_words_outside_the_models_vocabulary_are_found(place: Place) -> None:
    store = place.store(of_texts("goal", "rain 42", "x goal", "Straße Ωμέγα 🚀 東京都"))
    for query, id in {"42": "d1", "x": "d2", "straße": "d3", "ωμέγα": "d3", "🚀": "d3"}.items():
        assert hits(store, ask(query)) == [id]
    assert store.terms.find(["42", "goal", "nowhere"]).keys() == {"42", "goal"}
    assert [*store.terms.suggest("gaol")] == ["goal"]


@pytest.mark.parametrize("by", WAYS)
def test_equal_scores_come_in_the_order_of_the_rows(place: Place, by: By) -> None:
    given = [Document(f"d{i}", "goal rain" if i % 2 else "rain goal") for i in range(20)]
    store = place.store(given, np.tile([[1.0, 2.0], [2.0, 4.0]], (10, 1)))
    asked = ask("goal rain", [3, 1])
    assert store.search([asked], 7, by).rows.tolist() == [list(range(7))]
    asked = replace(asked, other_than=3)
    assert store.search([asked], 4, by).rows.tolist() == [[0, 1, 2, 4]]


@pytest.mark.parametrize("by", WAYS)
def test_a_batch_gives_the_bits_of_one_by_one(place: Place, by: By) -> None:
    store, asked = place.store(documents(80)), [*questions(30), ask('"goal" -rain')]
    whole = store.search(asked, 9, by)
    right: list[int] = []

    def look_up(i: int) -> None:
        alone = store.search([asked[i]], 9, by)
        if all((a[i] == b[0]).all() for a, b in zip(whole, alone, strict=True)):
            right.append(i)

    threads = [threading.Thread(target=look_up, args=(i,)) for i in range(len(asked))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(right) == list(range(len(asked)))


def test_sizes_of_answers(place: Place) -> None:
    store = place.store(documents(5))
    assert store.search(questions(3), 99).rows.shape == (3, 5)
    assert store.search([], 3).rows.shape == (0, 3)
    for k in (0, -1, 2.0, True):
        with pytest.raises(InvalidParameter, match="'n' parameter"):
            store.search(questions(1), k)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="'both' or 'features' or 'words'"):
        store.search(questions(1), 3, "letters")  # type: ignore[arg-type]


def test_filters(place: Place) -> None:
    """The documents d0 … d39 have labels l0 … l3 and x, dates of four kinds, authors a0 … a2."""
    given = documents(40)
    store, asked = place.store(given), ask("goal match rain", np.ones(8))
    everything = answers(store, [asked])[0]
    for wanted, lets in {
        Filter(("l1",)): lambda i: i % 4 == 1,
        Filter(("l1", "l2", "none")): lambda i: i % 4 in (1, 2),
        Filter(since="2014"): lambda i: i % 4 == 2,
        Filter(until="2013"): lambda i: i % 4 == 0,
        Filter(since="2013", until="2014-05-06"): lambda i: i % 4 in (0, 2),
        Filter(columns=(("author", "a2"),)): lambda i: i % 3 == 2,
        Filter(("l2", "l0"), "2013", "2013", (("author", "a0"),)): lambda i: i % 12 == 0,
    }.items():
        found = answers(store, [replace(asked, wanted=wanted)])[0]
        expected = {id: s for id, s in everything.items() if lets(int(id[1:]))}
        assert list(found) == list(expected)
        assert found == pytest.approx(expected, abs=1e-12)
    for wanted, message in {
        Filter(("y",)): "No document has the label 'y'. Labels are 'l0'",
        Filter(since="2015"): "No document has a date from 2015",
        Filter(columns=(("author", "me"),)): "No document has author 'me'",
        Filter(columns=(("reader", "a1"),)): "No document has reader 'a1'",
    }.items():
        with pytest.raises(InvalidParameter, match=message):
            store.search([replace(asked, wanted=wanted)], 3)


PHRASED = of_texts(
    "See refs #420: fixed.",
    "See refs  \n #420",
    "refs #4200 and refs # 420",
    "To be, or not to be",
    "what was to\tbe painted? C++ and C#",
    "unreadable; readable",
    "REFS #420 🚀 東京都庁",
    "nothing but rain",
)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ('"refs #420"', "016"),  # punctuation and digits, across white space, in any case
        ('"refs # 420"', "2"),
        ('"to be"', "34"),  # of stop words
        ('"to be" "not to"', "3"),
        ('"C++"', "4"),
        ('"#"', "01246"),  # of punctuation
        ('"readable"', "5"),
        ('"read able"', ""),
        ('"see refs"', "01"),
        ('"refs see"', ""),
        ('"see nowhere"', ""),
        ('"京都"', "6"),  # inside what has no spaces
        ('"🚀"', "6"),
        ('refs -"see refs #420:"', "126"),
        ('refs -"to be" -4200', "016"),
        ('refs -"refs # 420" -see', "6"),
        ('rain "to be"', "34"),
        ("refs -readable -nowhere", "0126"),
        ('"to be" -painted', "3"),
    ],
)
def test_phrases_and_exclusions(phrased: Store, query: str, found: str) -> None:
    ids = {f"d{i}" for i in found}
    assert {*hits(phrased, ask(query))} == ids
    both = (hits(phrased, ask(query, vector), "features") for vector in (np.ones(F), -np.ones(F)))
    likely = {id for some in both for id in some}  # each is like one of the two
    assert likely == ids or "-" in query
    assert likely & {*hits(phrased, ask(query.split(" -")[0]))} == ids


@pytest.fixture(scope="module", params=["files", "milvus"])
def phrased(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Store:
    address = None if request.param == "files" else request.getfixturevalue("milvus")
    return Place(tmp_path_factory.mktemp("phrased"), address).store(PHRASED)


def test_phrases_without_terms_count_like_a_word(phrased: Store) -> None:
    """Beside the words, and whatever else is asked for: as a count of 1."""
    question = ask('"to be" painted')
    (found,) = answers(phrased, [question], "words")
    df = {"paint": 1, "to be": 2}
    idf = {term: log(1 + (8 - n + 0.5) / (n + 0.5)) for term, n in df.items()}
    lengths = [len(INDEXED.tokens(document.searched)) for document in PHRASED]

    def score(i: int, *terms: str) -> float:
        norm = K1 * (1 - B + B * lengths[i] / np.mean(lengths))
        return sum(idf[term] * (K1 + 1) / (1 + norm) for term in terms)

    both, one = score(4, "paint", "to be"), score(3, "to be")
    assert found == pytest.approx({"d4": 1, "d3": one / max(both, one)}, abs=1e-6)
    narrowed = replace(question, without=[Phrase("painted", ("paint",))])
    assert answers(phrased, [narrowed], "words")[0] == pytest.approx({"d3": found["d3"]})


def test_documents_that_join_are_replaced_and_go(place: Place) -> None:
    """The store then answers as one that was made of what is left."""
    given = documents(50, length=9)
    new = [replace(document, text=f"{document.text} new") for document in given[30:35]]
    store = place.store(given[:40])
    store = place.changed([*given[40:], *new], drop=[document.id for document in new])
    store = place.changed(drop=["d0", "d31", "d49", "nobody", "\udcff"])
    left = [*given[:30], *given[35:], *new]
    left = [document for document in left if document.id not in ("d0", "d31", "d49")]
    fresh = place._replace(folder=place.folder.with_name("fresh")).store(left)
    assert store.documents(range(len(store))) == fresh.documents(range(len(fresh))) == left
    assert store.labels_and_dates() == fresh.labels_and_dates()
    np.testing.assert_allclose(store.features, fresh.features, atol=1e-7)
    np.testing.assert_array_equal(store.presence().toarray(), fresh.presence().toarray())
    assert [store.row_of(document.id) for document in left] == list(range(len(left)))
    assert store.rows_of(["d32", "d2", "d31", "d2"]).tolist() == [1, left.index(new[2])]
    asked = [*questions(5), ask("new"), ask('"goal match"'), ask("new label:l2 -oven")]
    for by in WAYS:
        for mine, theirs in zip(*(answers(s, asked, by) for s in (store, fresh)), strict=True):
            # Milvus goes on with the mean length of the documents that came first.
            assert mine == pytest.approx(theirs, abs=1e-6 if place.address is None else 0.02)


def test_who_has_it_open_sees_nothing_of_a_change(place: Place) -> None:
    given = documents(30)
    reader = place.store(given[:20])
    before = answers(reader, questions(3))

    def blocks() -> Iterator[object]:
        assert len(place.open()) == 20  # nor does one who opens it meanwhile
        yield from blocks_of(given[20:], features_of(given[20:]), 3)
        assert answers(reader, questions(3)) == before

    place.write(blocks=blocks(), append=True)
    assert len(place.open()) == 30
    assert answers(reader, questions(3)) == before
    assert reader.rows_of(["d7", "d25"]).tolist() == [7]


def test_what_goes_wrong_changes_nothing(place: Place) -> None:
    given = documents(10)
    before = answers(place.store(given), questions(2))

    @contextmanager
    def refusing() -> Iterator[None]:
        raise InvalidParameter("The model was replaced.")
        yield

    def failing() -> Iterator[object]:
        yield from blocks_of(given[:3], features_of(given[:3]), 2)
        raise ZeroDivisionError

    odd = Document("odd", "half a \udcff")
    ids = [document.id for document in given]
    for expected, message, what in (
        (InvalidParameter, "No document would be left", {"append": True, "drop": ids}),
        (InvalidParameter, "was replaced", {"append": True, "drop": ["d1"], "guard": refusing()}),
        (InvalidParameter, "was replaced", {"given": given[:1], "guard": refusing()}),
        (InvalidModelFile, "another model", {"append": True, "drop": ["d1"], "model": "n"}),
        (InvalidCorpus, "the id 'd1'", {"given": given[1:2] * 2}),
        (InvalidCorpus, "the id 'd1'", {"given": given[1:2], "append": True, "drop": ["d0"]}),
        (
            InvalidCorpus,
            "the id 'd'",
            {"given": [Document("d", "")] * 2, "append": True, "block": 1},
        ),
        (InvalidCorpus, "no document to index; nothing was written", {}),
        (DocboltzError, "surrogates not allowed", {"given": [odd], "append": True}),
        (ZeroDivisionError, None, {"blocks": failing()}),
        (ZeroDivisionError, None, {"blocks": failing(), "append": True, "drop": ids[:3]}),
    ):
        with pytest.raises(expected, match=message):
            place.write(**what)
        assert answers(place.open(), questions(2)) == before
    assert answers(place.changed(given[:2], drop=["d0", "d1"]), questions(2))


def test_nothing_is_left_of_a_store_that_was_not_finished(place: Place) -> None:
    with pytest.raises(InvalidCorpus, match="no document"):
        place.write([])
    assert not place.folder.is_dir() or not names(place.folder)


def test_no_number_is_given_twice(place: Place) -> None:
    """Not even those of documents that are gone."""
    store = place.store([Document("x", "goal")])
    assert store.about.next_number == 0
    more = [Document(id, "rain") for id in ("4", "7", "9" * 19, "-1", "1.5")]
    assert place.changed(more).about.next_number == 8
    assert place.changed(drop=["7", "4"]).about.next_number == 8
    assert place.changed([Document("8", "")], drop=["x"]).about.next_number == 9


def test_columns_and_whatever_else_a_document_holds(place: Place) -> None:
    odd = ["it's", 'say "x"', "back\\slash", "Ωμέγα 𝄞 🛰️", "a\tb\nc", "%{}[]", " ", "null", "1"]
    given = [
        Document(
            id, f"{id} \0 " + 20_000 * "long ", (id, ""), "2013", id, {"author": id, "b c": ""}
        )
        for id in odd
    ]
    store = place.store([Document("d", "")])
    assert store.columns == ()
    store = place.changed(given)
    assert store.columns == ("author", "b c")
    assert store.documents(range(10)) == [Document("d", ""), *given]
    for row, id in enumerate(odd, 1):
        assert store.row_of(id) == row
        for wanted in (Filter((id,)), Filter(columns=(("author", id), ("b c", "")))):
            assert hits(store, ask("long", wanted=wanted)) == [id]
    for unknown in ("id", "\udcff"):
        with pytest.raises(InvalidParameter, match=r"No document has the id .* 10, such as 'd', "):
            store.row_of(unknown)


def test_a_copy_answers_as_the_original(place: Place, tmp_path: Path) -> None:
    original = place.store(documents(20))
    copy = place._replace(folder=tmp_path / "copy")
    copy.write(documents(3))
    original.copy_to(copy.folder)
    assert answers(copy.open(), questions(3)) == answers(original, questions(3))
    original.copy_to(place.folder)
    assert answers(place.open(), questions(3)) == answers(original, questions(3))


def test_a_store_of_another_model_is_refused(place: Place) -> None:
    place.write(documents(3), model="n")
    with pytest.raises(InvalidModelFile, match="another model"):
        place.open()


def test_blocks_change_nothing(place: Place, tmp_path: Path) -> None:
    given = documents(30, length=7)
    stores = [Place(tmp_path / str(b), place.address).store(given, block=b) for b in (1, 30)]
    one, other = (answers(store, questions(4)) for store in stores)
    for mine, theirs in zip(one, other, strict=True):
        assert mine == pytest.approx(theirs, abs=1e-6)


def test_a_document_of_nothing(place: Place) -> None:
    store = place.store([Document("", "")], np.zeros((1, F)))
    asked = [ask("goal", np.ones(F)), ask(), ask('"."')]
    assert store.search(asked, 3).rows.tolist() == [[-1]] * 3
    assert (store.presence().nnz, store.documents([0])) == (0, [Document("", "")])
