"""What changes on disk is taken up, and no answer is of two states."""

import json
import shutil
import threading
import time

import pytest

from docboltz.errors import InvalidModelFile
from docboltz.explorer.live import Live, StateChanged
from docboltz.explorer.log import Log
from docboltz.text_model import TextModel
from tests.explorer.collections import documents, fitted
from tests.explorer.conftest import serving


def wait_until(what, seconds=20.0):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def test_a_new_collection_is_taken_up_without_a_restart(folder):
    with serving(folder) as client:
        before = client.get("/api/collection").json()
        TextModel.open(folder).index(documents()[:40])
        wait_until(lambda: client.get("/health").json()["documents"] == 40)
        hits = client.get("/api/search", params={"q": "moon", "limit": 90}).json()["hits"]
        assert {hit["row"] for hit in hits} <= set(range(40))
        assert client.get("/api/collection").json()["build"] != before["build"]


def test_a_name_given_by_another_process_is_taken_up(folder):
    with serving(folder) as client:
        number = client.get("/api/topics").json()[-1]["topic"]
        TextModel.open(folder).rename_topic(number, "elsewhere")
        wait_until(lambda: "elsewhere" in {t["name"] for t in client.get("/api/topics").json()})


def test_a_map_is_made_in_the_background_and_its_progress_told(folder, monkeypatch):
    shutil.rmtree(folder / "map")
    go = threading.Event()
    made = TextModel.map

    def slow(self, progress=None):
        if progress is not None:
            progress(37, 100)
            go.wait(20)
        return made(self, progress)

    monkeypatch.setattr(TextModel, "map", slow)
    with serving(folder) as client:
        assert client.get("/api/topics").json()[0]["x"] is None
        wait_until(lambda: client.get("/api/collection").json()["map_progress"] == 0.37)
        waiting = client.get("/api/map/points")
        assert (waiting.status_code, waiting.json()["progress"]) == (503, 0.37)
        assert waiting.headers["retry-after"] == "1"
        assert client.post("/api/explain", json={"text": "moon"}).json()["x"] is None
        assert client.get("/api/search", params={"q": "moon"}).status_code == 200
        go.set()
        wait_until(lambda: client.get("/api/map/points").status_code == 200)
        assert client.get("/api/collection").json()["map_progress"] is None
        assert client.get("/api/topics").json()[0]["x"] is not None


def test_a_map_that_cannot_be_made_is_not_tried_for_ever(folder, monkeypatch):
    shutil.rmtree(folder / "map")
    tried = []

    def fails(self, progress=None):
        tried.append(1)
        raise InvalidModelFile("no map today")

    monkeypatch.setattr(TextModel, "map", fails)
    with serving(folder) as client:
        wait_until(lambda: tried)
        time.sleep(0.8)
        assert len(tried) == 1
        assert client.get("/api/map/points").status_code == 503


def test_half_of_a_change_is_not_taken_up(folder):
    live = Live(folder)
    live.start()
    try:
        before = live.snapshot
        manifest = folder / "search" / "store.json"
        text = manifest.read_text()
        manifest.write_text(text[:100])
        time.sleep(0.7)
        assert live.snapshot is before
        manifest.write_text(text)
        TextModel.open(folder).index(documents()[:30])
        wait_until(lambda: len(live.snapshot) == 30)
    finally:
        live.stop()


def test_another_model_in_the_folder_is_taken_up(folder):
    with serving(folder) as client:
        other = fitted(documents(60, seed=5))
        other.save(folder)
        wait_until(lambda: client.get("/health").json()["documents"] == 63)
        hits = client.get("/api/search", params={"q": "moon"}).json()["hits"]
        expected = [hit.id for hit in TextModel.open(folder).search("moon")]
        assert [hit["id"] for hit in hits] == expected


@pytest.mark.parametrize("missing", ["search", "all"])
def test_what_cannot_be_opened_is_said_at_once(folder, missing):
    shutil.rmtree(folder / "search" if missing == "search" else folder)
    with pytest.raises(InvalidModelFile):
        Live(folder)


def found(client, query):
    """The answer to a search, without the name of the state, which is another each time."""
    got = client.get("/api/search", params={"q": query})
    assert got.status_code == 200
    return json.dumps({**got.json(), "build": ""})


def test_rows_and_topics_of_another_state_are_refused(folder):
    with serving(folder, edit=True) as client:
        before = client.get("/api/collection").json()["build"]
        rows = {"rows": [0, 1], "build": before}
        assert client.post("/api/documents", json=rows).status_code == 200
        assert client.post("/api/region", json=rows).status_code == 200
        TextModel.open(folder).index(documents()[10:40])
        wait_until(lambda: client.get("/health").json()["documents"] == 30)
        for path in ("/api/documents", "/api/region"):
            got = client.post(path, json=rows)
            assert got.status_code == 409
            assert "have changed" in got.json()["detail"]
            assert client.post(path, json={"rows": [0, 1]}).status_code == 200
        edits = {"/api/topics/0/name": {"name": "x"}, "/api/topics/merge": {"topics": [0, 1]}}
        for path, asked in edits.items():
            assert client.post(path, json={**asked, "build": before}).status_code == 409
        now = client.get("/api/search", params={"q": "moon"}).json()["build"]
        assert now == client.get("/api/collection").json()["build"] != before
        got = client.post("/api/topics/0/name", json={"name": "x", "build": now})
        assert got.status_code == 200


def test_a_change_for_topics_that_were_looked_for_again_is_refused(folder):
    live = Live(folder, edit=True)
    before = live.snapshot.build
    TextModel.open(folder).find_topics(2, replace=True)
    with pytest.raises(StateChanged):
        live.change(lambda model: model.rename_topic(0, "x"), before)
    names = [topic.name for topic in TextModel.open(folder).topics()]
    assert "x" not in names


def test_nobody_who_only_looks_finds_topics_anew(folder):
    live = Live(folder)
    before = live.snapshot
    shutil.rmtree(folder / "topics")
    with pytest.raises(InvalidModelFile, match="no topics yet"):
        live.refresh()
    assert live.snapshot is before
    assert not (folder / "topics").exists()


def test_the_files_are_followed_after_any_failure(folder, monkeypatch):
    monkeypatch.setattr("docboltz.explorer.live.RETRY_SECONDS", 0.1)
    live = Live(folder, log=Log(quiet=True))
    monkeypatch.setattr(live, "_take_up", failing := FailsOnce(live._take_up))
    live.start()
    try:
        TextModel.open(folder).rename_topic(0, "renamed")
        wait_until(lambda: "renamed" in [t["name"] for t in live.snapshot.topics])
        assert failing.failed
    finally:
        live.stop()


class FailsOnce:
    def __init__(self, does):
        self.does, self.failed = does, False

    def __call__(self):
        if not self.failed:
            self.failed = True
            raise ValueError("half a file")
        return self.does()


def test_every_answer_is_wholly_of_one_collection_while_it_is_replaced(folder):
    """Two collections with the same ids and other texts, replaced in turn under load."""
    one = documents()[:60]
    two = [type(d)(d.id, d.text + " moon moon", d.labels, d.date) for d in reversed(one)]
    queries = ["moon", "bread butter", "hockey puck ice"]
    model = TextModel.open(folder)
    right = {query: set() for query in queries}
    for collection in (two, one):
        model.index(collection)
        with serving(folder) as client:
            for query in queries:
                right[query].add(found(client, query))
    assert all(len(answers) == 2 for answers in right.values())
    wrong, seen, stop = [], set(), threading.Event()

    def ask(client):
        while not stop.is_set():
            for query in queries:
                got = found(client, query)
                seen.add(got)
                if got not in right[query]:
                    wrong.append((query, got))

    with serving(folder) as client:
        threads = [threading.Thread(target=ask, args=(client,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for i in range(6):
            TextModel.open(folder).index((two, one)[i % 2])
            time.sleep(0.6)
        stop.set()
        for thread in threads:
            thread.join()
    assert wrong == []
    assert seen == set().union(*right.values())
