"""docboltz search, similar, show and index."""

import csv
import io
import sys

import numpy as np
import pytest

from docboltz.search.score import BM25_WEIGHT, SHARE_POWER, SHARE_WEIGHT
from docboltz.search.store import SearchStore
from docboltz.text_model import TextModel

from .conftest import SMALL, write_json_lines
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
    above = [cosine for cosine in sorted(cosines)[::-1] if cosine > 0]  # no other is a hit
    assert [hit["score"] for hit in hits] == pytest.approx(above, abs=1e-5)
    by_id = {record["id"]: cosine for record, cosine in zip(records(ENGLISH), cosines, strict=True)}
    assert all(hit["score"] == pytest.approx(by_id[hit["id"]], abs=1e-5) for hit in hits)
    assert {"id", "score", "labels", "text"} < hits[0].keys()


def test_the_score_joins_features_and_words(docboltz, model):
    def search(by):
        options = ("--by", by, "--json", "-k", N_DOCUMENTS)
        return docboltz("search", model, "a football match", *options).json

    features, words = (
        {hit["id"]: hit["score"] for hit in search(by)} for by in ("features", "words")
    )
    whole = BM25_WEIGHT + SHARE_WEIGHT + 1
    idf, count = ({} for _ in range(2))
    for record in records(ENGLISH):
        count[record["id"]] = [word in record["text"] for word in ("football", "match")]
    df = np.sum(list(count.values()), axis=0)
    idf = np.log1p((N_DOCUMENTS - df + 0.5) / (df + 0.5))
    assert max(words.values()) == 1
    for hit in search("both"):
        share = float(np.dot(count[hit["id"]], idf) / idf.sum())
        bm25 = words.get(hit["id"], 0)
        expected = (BM25_WEIGHT + SHARE_WEIGHT * share**SHARE_POWER) * bm25 / whole
        assert hit["words"] == pytest.approx(expected, abs=1e-9)
        if hit["id"] in features:
            assert hit["features"] == pytest.approx(features[hit["id"]] / whole, abs=1e-6)
        assert hit["score"] == pytest.approx(hit["features"] + hit["words"], abs=1e-12)
        assert hit["score"] > 0
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
    assert len(similar) > 5
    scores = {hit["id"]: hit["features"] for hit in searched}
    assert all(hit["features"] == pytest.approx(scores[hit["id"]], abs=1e-5) for hit in similar)
    said = docboltz("similar", model, "space-1").err
    assert said == f"Documents like: {text}\n"


def test_unknown_words_and_ids(docboltz, model):
    assert docboltz("search", model, "xyzzy") == (0, "", "No document has: xyzzy.\n")
    assert docboltz("search", model, "xyzzy", "--json").json == []
    assert "The query is empty." in docboltz("search", model, "").complaint
    unquoted = docboltz("search", model, "football", "match", "--json").json
    assert unquoted == docboltz("search", model, "football match", "--json").json
    found = docboltz("search", model, "football xyzzy")
    assert found.err == "No document has: xyzzy.\n"
    assert "sport-1" in found.out
    for command in ("similar", "show"):
        said = docboltz(command, model, "xyzzy").complaint
        assert "No document has the id 'xyzzy'" in said
        assert "'sport-1'" in said


def test_words_that_are_spelt_like_others_are_offered(docboltz, model):
    code, out, err = docboltz("search", model, "rokcet")
    assert (code, out) == (0, "")
    assert err == "No document has: rokcet. Did you mean: rocket?\n"
    found = docboltz("search", model, "rokcet satelite launch")
    assert (found.code, "space-4" in found.out) == (0, True)
    assert found.err == "No document has: rokcet, satelite. Did you mean: rocket, satellite?\n"


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("launch -satellite", {"space-4", "space-7"}),
        ('launch -"rocket engine"', {"space-6", "space-7"}),
        ('"the launch of"', {"space-6"}),
        ("goal label:even", {"sport-2", "sport-4"}),
        ('"the coach" label:odd', {"sport-3"}),
        ("“rocket engine”", {"space-4"}),
        ("into a", {"space-1"}),
    ],
)
def test_a_query_may_hold_operators(docboltz, model, query, ids):
    found = docboltz("search", model, query, "--by", "words", "--json")
    assert ({hit["id"] for hit in found.json}, found.err) == (ids, "")


def test_a_phrase_that_no_document_has_is_said(docboltz, model):
    found = docboltz("search", model, '"goal easy"', "--by", "words", "--json")
    assert found.err == 'No document has the phrase "goal easy". These are about its words.\n'
    assert found.json[0]["id"] == "sport-7"
    found = docboltz("search", model, '"goal cake" label:chess')
    assert "label 'chess'" in found.complaint


def test_a_document_is_shown_whole(docboltz, model, tmp_path):
    text = "".join(f"Line {i} of the cake.\n" for i in range(6000))[:100_000] + "end"
    row = {"id": "long", "text": text, "labels": ["a", "b"], "date": "2013-08", "title": "A cake"}
    docboltz("index", model, write_json_lines(tmp_path / "new.jsonl", [row]), "--append", "-q")
    head = "id: long\ntitle: A cake\nlabels: a, b\ndate: 2013-08\n\n"
    assert docboltz("show", model, "long") == (0, f"{head}{text}\n", "")
    assert docboltz("show", model, "long", "--json").json == {**row, "columns": {}}
    assert docboltz("show", model, "sport-1").out.startswith("id: sport-1\nlabels: sport, odd\n\n")
    (hit,) = docboltz("search", model, '"line 4321"', "--json").json
    assert hit["text"] == text


POSTS = [
    ("1", "The rocket carried\nfour\r\nsatellites.", "Launch", "ann", "2013-08-11"),
    ("2", "The rocket failed.", "", "bob", "2014-01-02"),
    ("3", "Bake the bread\tslowly.", "Two\nlines", "ann", "2014-05-01"),
    ("4", "Bread, butter and a rocket.", "Lunch", "Eve = me", "2015-01-01"),
]


def test_titles_and_kept_columns_go_from_a_csv_to_the_hits(docboltz, tmp_path):
    file, model = tmp_path / "posts.csv", tmp_path / "model"
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["nr", "post", "subject", "who", "day"])
        writer.writerows(POSTS)
    columns = {"id": "nr", "text": "post", "title": "subject", "keep": "who", "date": "day"}
    read = [each for name, column in columns.items() for each in (f"--{name}", column)]
    assert docboltz("fit", file, "-o", model, "-q", *SMALL, "--units", 2, *read).code == 0

    def ids(*arguments):
        hits = docboltz("search", model, *arguments, "--by", "words", "--json").json
        return [hit["id"] for hit in hits]

    assert {*ids("rocket")} == {"1", "2", "4"}
    assert ids("rocket", "--where", "who=ann") == ids("rocket who:ann") == ["1"]
    assert ids("rocket", "--where", "who=Eve = me") == ids('rocket who:"Eve = me"') == ["4"]
    assert ids("bread", "--since", "2014-05", "--until", "2014") == ids("bread until:2014") == ["3"]
    shown = docboltz("show", model, "1", "--json").json
    assert (shown["title"], shown["columns"]) == ("Launch", {"who": "ann"})
    assert "title: Launch\ndate: 2013-08-11\nwho: ann\n\n" in docboltz("show", model, "1").out
    for arguments in (["rocket"], ["bread"], ["rocket bread", "--where", "who=ann"]):
        head, *rows = docboltz("search", model, *arguments).out.splitlines()
        assert head.split() == ["score", "id", "date", "title", "text"]
        assert len(rows) == len(docboltz("search", model, *arguments, "--json").json)
    said = docboltz("search", model, "rocket", "--where", "who=zoe").complaint
    assert "No document has who 'zoe'" in said
    assert (
        "--where must be a column and its value"
        in docboltz("search", model, "rocket", "--where", "who").complaint
    )
    assert docboltz("search", model, "oven", "--where", "who=bob").code == 0
    file.write_text("nr,post,subject,who,day,place\n9,A rocket to Mars.,,ann,2016,Mars\n")
    added = docboltz("index", model, file, "--append", "--keep", "who,place", "--json")
    assert added.json["documents"] == 1
    assert ids("rocket", "--where", "place=Mars") == ids("rocket place:Mars") == ["9"]
    assert {*ids("rocket who:ann")} == {"1", "9"}
    more = docboltz("similar", model, "9", "--where", "who=ann", "--json").json
    assert {hit["id"] for hit in more} <= {"1", "3"}


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
    assert hits[0]["id"] == "new-2"
    assert "new-3" not in {hit["id"] for hit in hits}
    # The model knows none of its words; they are found all the same.
    hits = docboltz("search", model, "unbekannt", "--json").json
    assert [hit["id"] for hit in hits] == ["new-3"]
    assert docboltz("index", model, other, "--json").json["documents"] == 3
    assert docboltz("index", model, other, "--quiet") == (0, "", "")


def test_a_bad_corpus_leaves_the_old_index(docboltz, model, tmp_path):
    (tmp_path / "empty.txt").write_text("")
    assert "no documents" in docboltz("index", model, tmp_path / "empty.txt").complaint
    assert len(TextModel.open(model).store) == N_DOCUMENTS
    assert docboltz("search", model, "moon", "--json").json[0]["id"].startswith("space")


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
    hits = docboltz("search", model, "a moon, a goal", "--label", "sport", "--json").json
    assert {hit["labels"][0] for hit in hits} == {"sport"}
    both = ("--label", "sport", "--label", "space")
    hits = docboltz("search", model, "a goal of the rocket", *both, "-k", 99, "--json").json
    assert {hit["labels"][0] for hit in hits} == {"sport", "space"}
    hits = docboltz("similar", model, "sport-1", "--label", "space", "-k", 99, "--json").json
    assert {hit["labels"][0] for hit in hits} <= {"space"}
    assert "label 'chess'" in docboltz("search", model, "moon", "--label", "chess").complaint
    assert "--since" in docboltz("search", model, "moon", "--since", "soon").complaint
    said = docboltz("search", model, "moon", "--since", "2013").complaint
    assert said == "docboltz: No document has a date from 2013.\n"
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
    said = docboltz("search", model, "moon", "--since", "2020").complaint
    assert "No document has a date from 2020." in said
    said = docboltz("search", model, "moon", "--label", "sport", "--until", "2012").complaint
    assert "No document has the label 'sport' and a date to 2012." in said
    said = docboltz("search", model, "goal", "--by", "words", "--since", "2013")
    assert said == (0, "", "No document that fits the filters answers the query.\n")
    said = docboltz("delete", model, "new-3", "sport-1").err
    assert said == f"2 documents deleted, {N_DOCUMENTS} can be searched in {model}\n"
    (tmp_path / "ids.txt").write_text("new-4\n\n")
    told = docboltz("delete", model, "--file", tmp_path / "ids.txt", "--json").json
    assert (told["deleted"], told["documents"]) == (1, N_DOCUMENTS - 1)
    assert "No document has the id 'new-4'" in docboltz("delete", model, "new-4").complaint
    assert "Name the ids" in docboltz("delete", model).complaint
    (tmp_path / "ids.txt").write_bytes(b"\xff")
    assert "not UTF-8" in docboltz("delete", model, "--file", tmp_path / "ids.txt").complaint
    assert len(TextModel.open(model).store) == N_DOCUMENTS - 1
    assert "new-4" not in docboltz("search", model, "rocket moon", "-k", 99).out
    assert "1 document" not in docboltz("topics", model).err


def test_ids_to_delete_come_from_standard_input(docboltz, model, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"sport-1\r\nsport-2\n")))
    assert docboltz("delete", model, "--file", "-", "--json").json["deleted"] == 2
