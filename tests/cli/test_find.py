"""docboltz search, similar and index."""

import io
import sys

import numpy as np
import pytest

from docboltz.search.store import SearchStore
from docboltz.text_model import TextModel

from .conftest import write_json_lines
from .texts import ENGLISH, GERMAN, records

N_DOCUMENTS = sum(map(len, ENGLISH.values()))


def test_search_gives_the_cosines_of_centred_features(docboltz, model):
    text_model = TextModel.open(model)
    query, *documents = text_model.transform(
        ["a football match", *(record["text"] for record in records(ENGLISH))]
    )
    centred = np.array(documents) - text_model.activity
    centred /= np.linalg.norm(centred, axis=1, keepdims=True)
    asked = query - text_model.activity
    cosines = centred @ (asked / np.linalg.norm(asked))
    options = ("--by", "features", "--json", "-k", N_DOCUMENTS)
    hits = docboltz("search", model, "a football match", *options).json
    assert [hit["score"] for hit in hits] == pytest.approx(sorted(cosines)[::-1], abs=1e-5)
    by_id = {record["id"]: cosine for record, cosine in zip(records(ENGLISH), cosines, strict=True)}
    assert all(hit["score"] == pytest.approx(by_id[hit["id"]], abs=1e-5) for hit in hits)
    assert {"id", "score", "labels", "text"} < hits[0].keys()


def test_the_score_joins_features_and_words(docboltz, model):
    features, words, both = (
        {hit["id"]: hit for hit in docboltz("search", model, "a football match", *options).json}
        for options in (
            ("--by", by, "--json", "-k", N_DOCUMENTS) for by in ("features", "words", "both")
        )
    )
    assert words.keys() < both.keys() == features.keys()
    for id, hit in both.items():
        shared = words[id]["score"] if id in words else 0
        assert hit["score"] == pytest.approx((features[id]["score"] + 0.3 * shared) / 1.3, abs=1e-6)
        assert hit["score"] == pytest.approx(hit["features"] + hit["words"], abs=1e-6)
    complaint = docboltz("search", model, "football", "--by", "magic").complaint
    assert "'magic' is not one of" in complaint


def test_words_of_the_query_are_marked(docboltz, model):
    for hit in docboltz("search", model, "goals", "--by", "words", "--json").json:
        assert {hit["text"][b:e].lower() for b, e in hit["matches"]} <= {"goal", "goals"}
        assert hit["matches"]


def test_tables_have_a_row_for_each_hit(docboltz, model):
    outcome = docboltz("search", model, "football", "--top", "3")
    assert (outcome.code, outcome.err) == (0, "")
    header, *rows = outcome.out.splitlines()
    assert header.split() == ["score", "id", "labels", "text"]
    assert len(rows) == 3


def test_similar_is_a_search_without_the_document_itself(docboltz, model):
    text = ENGLISH["space"][0]
    similar = docboltz("similar", model, "space-1", "--json", "-k", N_DOCUMENTS).json
    searched = docboltz("search", model, text, "--json", "-k", N_DOCUMENTS).json
    assert "space-1" not in {hit["id"] for hit in similar}
    assert len(similar) == N_DOCUMENTS - 1
    scores = {hit["id"]: hit["score"] for hit in searched}
    assert all(hit["score"] == pytest.approx(scores[hit["id"]], abs=1e-5) for hit in similar)


def test_unknown_words_and_ids(docboltz, model):
    assert "knows none of these words: 'xyzzy'" in docboltz("search", model, "xyzzy").complaint
    assert "no word to ask with" in docboltz("search", model, "").complaint
    unquoted = docboltz("search", model, "football", "match", "--json").json
    assert unquoted == docboltz("search", model, "football match", "--json").json
    assert docboltz("search", model, "football xyzzy").err == "Not in the vocabulary: xyzzy\n"
    said = docboltz("similar", model, "xyzzy").complaint
    assert "No document has the id 'xyzzy'" in said
    assert "'sport-1'" in said


def test_index_replaces_the_collection_and_leaves_the_model(docboltz, model, tmp_path):
    before = (model / "model.json").read_bytes()
    rows = records({"new": ["The oven is hot.", "Rockets orbit the moon.", "Völlig unbekannt."]})
    other = write_json_lines(tmp_path / "new.jsonl", rows)
    how, empty, what = docboltz("index", model, other).err.splitlines()
    assert how == "Read as JSON Lines: text 'text', id 'id', label 'labels'"
    assert empty == "1 document has no word of the vocabulary"
    assert what == f"3 documents can be searched in {model}"
    assert (model / "model.json").read_bytes() == before
    hits = docboltz("search", model, "the moon", "--json").json
    # A document without a known word is like nothing: it is no hit.
    assert {hit["id"] for hit in hits} == {"new-1", "new-2"}
    assert docboltz("index", model, other, "--json").json["documents"] == 3
    assert docboltz("index", model, other, "--quiet") == (0, "", "")


def test_a_bad_corpus_leaves_the_old_index(docboltz, model, tmp_path):
    (tmp_path / "empty.txt").write_text("")
    assert "no documents" in docboltz("index", model, tmp_path / "empty.txt").complaint
    assert len(docboltz("search", model, "moon", "--json", "-k", 99).json) == N_DOCUMENTS


def test_an_index_of_another_model_is_refused(docboltz, model, corpus):
    docboltz("fit", corpus, "-o", model.parent / "other", "-q", "--units", 4, "--updates", 3)
    store = model.parent / "other" / "search"
    (model / "search").rename(model / "aside")
    store.rename(model / "search")
    said = docboltz("search", model, "moon").complaint
    assert "another model" in said or "index" in said


def test_a_model_without_index_says_what_to_do(docboltz, model, tmp_path):
    (model / "search").rename(tmp_path / "aside")
    assert "index" in docboltz("similar", model, "sport-1").complaint


def test_documents_may_hold_anything(docboltz, model, tmp_path):
    rows = [{"id": "\x1b[31mred", "text": ":smile: [bold]moon[/bold]\x07 \x1b[2J"}]
    other = write_json_lines(tmp_path / "odd.jsonl", [*rows, *records(GERMAN)])
    docboltz("index", model, other, "-q")
    table = docboltz("search", model, "moon").out
    assert "\x1b" not in table
    assert "\x07" not in table
    assert ":smile: [bold]moon[/bold]" in table
    store = SearchStore.open(model / "search")
    assert store.documents([0])[0].id == "\x1b[31mred"


@pytest.mark.parametrize("store", ["files", "milvus"])
def test_a_collection_is_kept_filtered_added_to_and_taken_from(
    docboltz, model, corpus, tmp_path, store
):
    """The commands as a user types them, on both stores."""
    where = "files"
    if store == "milvus":
        pytest.importorskip("milvus_lite", reason="needs pip install 'docboltz[milvus]'")
        where = f"milvus+{tmp_path / 'documents.db'}"
    assert docboltz("index", model, corpus, "--store", where, "-q") == (0, "", "")
    hits = docboltz("search", model, "the moon", "--label", "sport", "--json").json
    assert {hit["labels"][0] for hit in hits} == {"sport"}
    both = ("--label", "sport", "--label", "space")
    hits = docboltz("similar", model, "space-1", *both, "-k", 99, "--json").json
    assert {hit["labels"][0] for hit in hits} == {"sport", "space"}
    assert "label 'chess'" in docboltz("search", model, "moon", "--label", "chess").complaint
    assert "--since" in docboltz("search", model, "moon", "--since", "soon").complaint
    said = docboltz("search", model, "moon", "--since", "2013").complaint
    assert said.endswith(
        "No document has a date. Name their column when they are read: "
        "'docboltz index' with --date.\n"
    )
    more = write_json_lines(
        tmp_path / "more.jsonl",
        [{"id": f"new-{i}", "text": "A rocket to the moon.", "date": f"201{i}-05"} for i in (3, 4)]
        + [{"id": "sport-1", "text": "Another moon."}],
    )
    said = docboltz("index", model, more, "--append").err
    assert "1 document has replaced one of the same id" in said
    assert f"{N_DOCUMENTS + 2} documents can be searched in {model}" in said
    dated = ("search", model, "moon", "--json", "--since", "2013")
    assert {hit["id"] for hit in docboltz(*dated).json} == {"new-3", "new-4"}
    assert [hit["id"] for hit in docboltz(*dated, "--until", "2013-05").json] == ["new-3"]
    said = docboltz("search", model, "moon", "--since", "2013", "--until", "2012").complaint
    assert "--since must be a date no later than 2012" in said
    said = docboltz("search", model, "moon", "--since", "2020").err
    assert said == "There is no document of 2020 or later to be found.\n"
    said = docboltz("search", model, "moon", "--label", "sport", "--until", "2012").err
    assert said == "There is no document with the label sport and of 2012 or earlier to be found.\n"
    said = docboltz("search", model, "football", "--by", "words", "--since", "2013").err
    assert said == "There is no document of 2013 or later to be found.\n"
    said = docboltz("delete", model, "new-3", "sport-1").err
    assert said == f"2 documents deleted, {N_DOCUMENTS} can be searched in {model}\n"
    (tmp_path / "ids.txt").write_text("new-4\n\n")
    told = docboltz("delete", model, "--file", tmp_path / "ids.txt", "--json").json
    assert (told["deleted"], told["documents"]) == (1, N_DOCUMENTS - 1)
    assert "No document has the id 'new-4'" in docboltz("delete", model, "new-4").complaint
    assert "Name the ids" in docboltz("delete", model).complaint
    (tmp_path / "ids.txt").write_bytes(b"\xff")
    assert "not UTF-8" in docboltz("delete", model, "--file", tmp_path / "ids.txt").complaint
    hits = docboltz("search", model, "moon", "-k", 99, "--json").json
    assert len(hits) == N_DOCUMENTS - 1
    assert "1 document" not in docboltz("topics", model).err


def test_ids_to_delete_come_from_standard_input(docboltz, model, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"sport-1\r\nsport-2\n")))
    assert docboltz("delete", model, "--file", "-", "--json").json["deleted"] == 2
