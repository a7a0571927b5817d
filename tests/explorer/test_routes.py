"""Every path answers what the verb of its name answers, and says in a sentence what it cannot."""

import gzip
import json
from dataclasses import replace

import numpy as np
import pytest

import docboltz
from docboltz.corpus.document import Document
from docboltz.text_model import TextModel
from tests.explorer.collections import HOSTILE, documents, fitted
from tests.explorer.conftest import serving


@pytest.fixture(scope="module")
def model(saved):
    return TextModel.open(saved)


@pytest.fixture
def editor(folder):
    with serving(folder, edit=True) as found:
        yield found


def plain(value):
    """As JSON holds it."""
    return json.loads(json.dumps(value))


def get(client, path, **query):
    response = client.get(path, params=query)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/json"
    return response.json()


def post(client, path, **body):
    response = client.post(path, json=body)
    assert response.status_code == 200, response.text
    return response.json()


def refused(response, status):
    assert response.status_code == status
    assert set(response.json()) == {"detail"}
    detail = response.json()["detail"]
    assert isinstance(detail, str)
    assert detail.endswith((".", "?"))
    return detail


def test_health(client):
    found = {"status": "ok", "version": docboltz.__version__, "documents": 93}
    assert get(client, "/health") == found


def test_the_collection(client, model):
    found = get(client, "/api/collection")
    assert found["documents"] == len(model.store)
    assert (found["units"], found["words"]) == (model.n_units, len(model.vocabulary))
    assert (found["has_labels"], found["has_dates"], found["has_map"]) == (True, True, True)
    assert (found["edit"], found["map_progress"], found["name"]) == (False, None, "model")


def test_search_is_that_of_the_model(client, model):
    found = get(client, "/api/search", q="rocket launch unheard", limit=5)
    hits = model.search("rocket launch unheard", 5)
    assert found["unknown"] == list(hits.unknown) == ["unheard"]
    assert found["suggestions"] == plain(hits.suggestions)
    assert found["phrases"] == []
    for got, hit in zip(found["hits"], hits, strict=True):
        assert got.pop("topic") in (None, *model.tree.numbers.tolist())
        assert (got.pop("begin"), got.pop("whole")) == (0, True)
        assert got == plain(hit.to_dict())
        assert documents()[got["row"]].id == got["id"]


@pytest.mark.parametrize("by", ["both", "features", "words"])
def test_reasons_add_up_to_the_score(client, by):
    found = get(client, "/api/search", q="moon bread", by=by, reasons=True)
    assert found["hits"]
    for hit in found["hits"]:
        why = hit["reasons"]
        parts = sum(part["score"] for part in why["words"] + why["topics"]) + why["other"]
        assert parts == pytest.approx(hit["score"], abs=1e-9)


@pytest.mark.parametrize(
    ("q", "message"),
    [
        ("", "There is no word to search for."),
        ("  ", "There is no word to search for."),
        ("unheard", "No document has: unheard."),
        ("rockett", "No document has: rockett. Did you mean: rocket?"),
        ('"unheard words"', 'No document has the phrase "unheard words".'),
        ("label:space", "No document answers this."),
    ],
)
def test_a_search_for_nothing_says_why_there_are_no_hits(client, q, message):
    found = get(client, "/api/search", q=q)
    assert found["hits"] == []
    assert found["message"].startswith(message)


FILTERS = [
    {"label": "space"},
    {"label": ["space", "food"]},
    {"since": "2012-03", "until": "2014"},
    {"label": "space", "since": "2012-03-02"},
]


@pytest.mark.parametrize("asked", FILTERS, ids=str)
def test_a_filter_is_that_of_the_model(client, model, asked):
    def ids(hits):
        return [hit["id"] for hit in hits]

    expected = ids(model.search("moon bread", 50, **asked).to_dicts())
    assert 0 < len(expected) < 50
    assert ids(get(client, "/api/search", q="moon bread", limit=50, **asked)["hits"]) == expected
    label = asked.get("label", [])
    body = {**asked, "label": [label] if isinstance(label, str) else label}
    (found,) = post(client, "/api/search", queries=["moon bread"], limit=50, **body)["answers"]
    assert ids(found["hits"]) == expected
    like = ids(model.similar("space/1", 50, **asked).to_dicts())
    assert ids(get(client, "/api/similar", id="space/1", limit=50, **asked)["hits"]) == like


@pytest.mark.parametrize(
    ("asked", "status", "detail"),
    [
        ({"label": "none"}, 400, "No document has the label 'none'"),
        ({"since": "2040"}, 400, "No document has a date from 2040"),
        ({"since": "soon"}, 400, "'since' must be a date"),
        ({"where": "author=me"}, 400, "No column 'author' was kept"),
        ({"where": "author"}, 422, "where"),
        ({"label": ["a"] * 101}, 422, "label"),
    ],
)
def test_a_filter_that_cannot_be_met_says_so(client, asked, status, detail):
    for path, query in (("search", {"q": "moon"}), ("similar", {"id": "space/1"})):
        response = client.get(f"/api/{path}", params={**query, **asked})
        assert detail in refused(response, status)


def test_columns_are_given_and_asked_for(tmp_path):
    given = [
        replace(each, title=f"No. {i}", columns={"kind": str(i % 3)})
        for i, each in enumerate(documents(30))
    ]
    filler = "it was of the\n" * 300
    text = f"{filler}rocket moon\n{filler}"
    fitted([*given, Document("long", text, columns={"kind": "a=b"})]).save(tmp_path / "model")
    with serving(tmp_path / "model") as client:
        hits = get(client, "/api/search", q="rocket moon bread", where="kind=1")["hits"]
        assert hits
        assert {hit["columns"]["kind"] for hit in hits} == {"1"}
        assert {hit["title"] for hit in hits} <= {f"No. {i}" for i in range(1, 33, 3)}
        assert get(client, "/api/search", q="rocket moon bread kind:1")["hits"] == hits
        asked = {"queries": ["rocket moon bread"], "where": {"kind": "1"}}
        assert post(client, "/api/search", **asked)["answers"][0]["hits"] == hits
        (hit,) = get(client, "/api/search", q="moon", where="kind=a=b")["hits"]
        assert hit["id"] == "long"
        (hit,) = get(client, "/api/search", q='"rocket moon"')["hits"]
        assert (hit["id"], hit["title"], hit["whole"]) == ("long", "it was of the", False)
        assert len(hit["text"]) == 2000
        assert hit["text"] == text[hit["begin"] :][:2000]
        assert {hit["text"][b:e] for b, e in hit["matches"]} >= {"rocket", "moon"}
        assert get(client, "/api/documents/long")["text"] == text


def test_many_searches_are_those_made_one_by_one(client):
    queries = ["moon", "butter and bread", "", "xyzzy"]
    found = post(client, "/api/search", queries=queries, limit=3)["answers"]
    assert found == [get(client, "/api/search", q=q, limit=3) for q in queries]


def test_similar(client, model):
    found = get(client, "/api/similar", id="space/1", limit=4, reasons=True)
    assert [hit["id"] for hit in found["hits"]] == [hit.id for hit in model.similar("space/1", 4)]
    assert found["hits"][0]["reasons"]["topics"]
    assert get(client, "/api/similar", id="empty")["message"] == "No document is like it."
    assert "no document" in refused(client.get("/api/similar", params={"id": "none"}), 404)


def test_words(client, model):
    assert get(client, "/api/words", q="moon", limit=3) == model.words("moon", 3).to_dicts()
    assert get(client, "/api/words", q="xyzzy") == []


def test_explain(client, model):
    found = post(client, "/api/explain", text="A rocket to the moon, xyzzy", limit=2)
    own = plain(model.explain("A rocket to the moon, xyzzy").to_dict())
    assert {name: found[name] for name in own} == own
    assert len(found["hits"]) == 2
    assert -1 <= found["x"] <= 1
    unknown = post(client, "/api/explain", text="xyzzy")
    assert (unknown["x"], unknown["topics"]) == (None, [])
    assert [hit["id"] for hit in unknown["hits"]] == ["empty"]  # the document with this word
    assert post(client, "/api/explain", text=" ")["hits"] == []


def test_transform(client, model):
    texts = ["moon rocket", "xyzzy"]
    found = post(client, "/api/transform", texts=texts)
    assert np.float32(found["features"]).tolist() == model.transform(texts).tolist()
    assert found["topic"] == [int(model.assign(["moon rocket"]).topic[0]), None]
    assert post(client, "/api/transform", texts=[])["features"] == []


def test_features_stream_as_lines(client):
    texts = [f"moon {i}" for i in range(150)]
    whole = post(client, "/api/transform", texts=texts)
    accept = {"accept": "application/x-ndjson"}
    with client.stream("POST", "/api/transform", json={"texts": texts}, headers=accept) as response:
        assert response.headers["content-type"].startswith("application/x-ndjson")
        lines = [json.loads(line) for line in response.iter_lines()]
    assert [line["features"] for line in lines] == whole["features"]
    assert [line["topic"] for line in lines] == whole["topic"]


@pytest.mark.parametrize("document", documents(), ids=lambda document: repr(document.id))
def test_every_document_is_found_by_its_id_whatever_that_is(client, model, document):
    from urllib.parse import quote

    path = f"/api/documents/{quote(document.id, safe='')}"
    found = get(client, path)
    assert (found["id"], found["labels"]) == (document.id, list(document.labels))
    own = plain(model.document(document.id).to_dict())
    assert {name: found[name] for name in own} == own
    assert (found["x"] is None) == (document.id == "empty")


def test_there_is_no_document_of_an_unknown_id(client):
    for id in ("none", "..%2f..%2fetc%2fpasswd", "%00", "%ff", "a" * 9000, ""):
        refused(client.get(f"/api/documents/{id}"), 404)


def test_documents_by_row_and_by_id(client, model):
    found = post(client, "/api/documents", rows=[4, 2])
    assert found == [plain(each.to_dict()) for each in model.documents([4, 2])]
    assert post(client, "/api/documents", ids=[each["id"] for each in found]) == found
    assert post(client, "/api/documents", rows=[]) == []
    accept = {"accept": "application/x-ndjson"}
    rows = list(range(93))
    lines = client.post("/api/documents", json={"rows": rows}, headers=accept).text.splitlines()
    assert [json.loads(line)["row"] for line in lines] == rows
    for wrong, status in (({"rows": [93]}, 404), ({"ids": ["none"]}, 404), ({}, 422),
                          ({"rows": [1], "ids": ["a"]}, 422), ({"rows": [-1]}, 422),
                          ({"rows": [1.5]}, 422), ({"rows": [True]}, 422)):  # fmt: skip
        refused(client.post("/api/documents", json=wrong), status)


def test_a_region(client, model):
    rows = list(range(0, 90, 3))
    assert post(client, "/api/region", rows=rows) == plain(model.region(rows).to_dict())
    refused(client.post("/api/region", json={"rows": [10**6]}), 404)


def test_topics_are_those_of_the_command_and_lie_on_the_map(client, model):
    found = get(client, "/api/topics")
    for got, topic in zip(found, model.topics(), strict=True):
        assert -1 <= got.pop("x") <= 1
        assert -1 <= got.pop("y") <= 1
        assert got == plain(topic.to_dict())


def test_topics_by_label_and_over_time(client, model):
    found = get(client, "/api/topics/by", by="label")
    shares = model.topics_by("label").to_dicts()
    assert [each["groups"] for each in found] == [each["groups"] for each in shares]
    names = {topic.number: topic.name for topic in model.topics()}
    assert all(each["name"] == names[each["topic"]] for each in found)
    years = get(client, "/api/topics/by", by="date", period="year")
    assert {group["group"] for group in years[0]["groups"]} >= {"2010", "2016"}
    refused(client.get("/api/topics/by", params={"by": "colour"}), 422)


def test_topics_are_changed_only_where_they_may_be(client):
    detail = refused(client.post("/api/topics/0/name", json={"name": "x"}), 403)
    assert "--edit" in detail
    refused(client.post("/api/topics/merge", json={"topics": [0, 1]}), 403)


def test_a_new_name_is_seen_at_once_and_kept(editor, folder):
    number = get(editor, "/api/topics")[-1]["topic"]
    found = post(editor, f"/api/topics/{number}/name", name=HOSTILE)
    assert {topic["name"] for topic in found if topic["topic"] == number} == {HOSTILE}
    assert get(editor, "/api/topics") == found
    kept = {topic.number: topic.name for topic in TextModel.open(folder).topics()}
    assert kept[number] == HOSTILE
    detail = refused(editor.post("/api/topics/999/name", json={"name": "x"}), 400)
    assert detail.startswith("'topic' must be the number of a topic")
    refused(editor.post(f"/api/topics/{number}/name", json={"name": "x" * 201}), 422)


def test_merged_topics_are_one(editor, folder):
    own = sorted({topic.number for topic in TextModel.open(folder).topics(level=-1)})
    found = post(editor, "/api/topics/merge", topics=own[:2])
    assert own[1] not in {topic["topic"] for topic in found}
    assert own[1] not in {topic.number for topic in TextModel.open(folder).topics()}
    hits = get(editor, "/api/search", q="moon bread hockey", limit=90)["hits"]
    assert own[1] not in {hit["topic"] for hit in hits}
    refused(editor.post("/api/topics/merge", json={"topics": [own[0], own[0]]}), 400)
    refused(editor.post("/api/topics/merge", json={"topics": [own[0]]}), 422)


def columns(data, n):
    assert len(data) == 16 * n
    types = ("<f4", "<f4", "<u2", "<u2", "<f4")
    ends = np.cumsum([0] + [n * np.dtype(each).itemsize for each in types])
    return [np.frombuffer(data[a:b], t) for a, b, t in zip(ends, ends[1:], types, strict=False)]


def test_points_of_the_map(client, model):
    about = get(client, "/api/map")
    response = client.get("/api/map/points", params={"build": about["build"]})
    assert response.headers["content-type"] == "application/octet-stream"
    n = about["documents"]
    x, y, topic, label, day = columns(response.content, n)
    stored, assigned = documents(), model.tree.assignment.topic
    known = np.isfinite(x)
    assert known.tolist() == [document.id != "empty" for document in stored]
    assert max(np.abs(x[known]).max(), np.abs(y[known]).max()) == pytest.approx(1)
    for row in range(n):
        expected = 65535 if assigned[row] < 0 else about["topics"].index(assigned[row])
        assert topic[row] == expected
        own = stored[row].labels
        assert label[row] == (about["labels"].index(own[0]) if own else 65535)
    assert day[0] == (np.datetime64(stored[0].date) - np.datetime64("1970-01-01")).astype(int)
    assert np.isnan(day[-1])
    assert (about["first_day"], about["last_day"]) == (np.nanmin(day), np.nanmax(day))
    # The distances of documents are those of the model's own map, up to one scale.
    own = model.map().positions[known]
    ours = np.stack([x, y], 1)[known]
    scale = np.linalg.norm(own[0] - own[1]) / np.linalg.norm(ours[0] - ours[1])
    assert np.allclose(own - own[0], scale * (ours - ours[0]), atol=1e-3 * scale)


def test_points_are_packed_for_whom_can_unpack_them(client):
    with client.stream("GET", "/api/map/points", headers={"accept-encoding": "gzip"}) as response:
        packed = b"".join(response.iter_raw())
        assert response.headers["content-encoding"] == "gzip"
    plain_one = client.get("/api/map/points", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain_one.headers
    assert gzip.decompress(packed) == plain_one.content
    detail = refused(client.get("/api/map/points", params={"build": "0" * 16}), 409)
    assert "changed" in detail


def test_the_page_and_its_files(client):
    page = client.get("/")
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    same = client.get("/", headers={"if-none-match": page.headers["etag"]})
    assert (same.status_code, same.content) == (304, b"")
    style = client.get("/style.css")
    assert style.headers["content-type"].startswith("text/css")
    assert style.headers["content-encoding"] == "gzip"
    assert client.get("/server.js").headers["content-type"].startswith("text/javascript")
    assert client.head("/style.css").content == b""


@pytest.mark.parametrize(
    "path",
    ["/..%2fapp.py", "/%2e%2e/app.py", "/page/../app.py", "/app.py", "/etc/passwd", "//etc/passwd",
     "/index.html%00", "/.git/config", "/docs", "/redoc", "/api", "/api/none"],
)  # fmt: skip
def test_nothing_else_is_given(client, path):
    refused(client.get(path), 404)


def test_errors_are_one_sentence_whatever_is_wrong(client):
    for query in ({}, {"q": "a" * 10_001}, {"q": "a", "limit": 0}, {"q": "a", "limit": 1001},
                  {"q": "a", "by": "colour"}, {"q": "a", "limit": "many"}):  # fmt: skip
        refused(client.get("/api/search", params=query), 422)
    json_type = {"content-type": "application/json"}
    for body in (b"", b"{", b"[]", b"null", b"\xff", b'{"queries": "a"}', b'{"queries": [1]}',
                 b'{"queries": ["\\ud800"]}', b"[" * 100_000, b'{"queries": [], "more": 1}',
                 b'{"queries": [NaN]}', b'{"limit": 1e999, "queries": []}'):  # fmt: skip
        response = client.post("/api/search", content=body, headers=json_type)
        assert response.status_code in (400, 422)
        refused(response, response.status_code)
    many = {"queries": ["moon"] * 100, "limit": 1000}
    assert "10,000" in refused(client.post("/api/search", json=many), 422)
    refused(client.put("/api/search"), 405)
    refused(client.post("/api/region", data={"rows": "1"}), 422)


def test_a_text_of_half_a_surrogate_pair_is_refused(client):
    body = b'{"text": "moon \\ud800"}'
    response = client.post(
        "/api/explain", content=body, headers={"content-type": "application/json"}
    )
    refused(response, 422)


def test_hostile_text_is_given_as_text(client):
    found = post(client, "/api/explain", text=HOSTILE)
    assert "xyzzy" not in found["known"]
    (hit, *_) = get(client, "/api/search", q=HOSTILE)["hits"]
    assert hit["text"].startswith("</script>")
    for begin, end in hit["matches"]:
        assert 0 <= begin < end <= len(hit["text"])


def test_openapi_describes_every_path_with_its_answers(client):
    found = get(client, "/openapi.json")
    for path, methods in found["paths"].items():
        for method, about in methods.items():
            assert about["summary"], (path, method)
            assert "422" in about["responses"]
            assert about["responses"]["200"]["content"]
    assert found["components"]["schemas"]["SearchMany"]["properties"]["queries"]["examples"]
