"""What changes on disk is taken up, and no answer is of two states."""

import json
import shutil
import threading
import time

import pytest

from docboltz.errors import InvalidModelFile
from docboltz.explorer.live import Live
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
                right[query].add(client.get("/api/search", params={"q": query}).content)
    assert all(len(answers) == 2 for answers in right.values())
    wrong, seen, stop = [], set(), threading.Event()

    def ask(client):
        while not stop.is_set():
            for query in queries:
                got = client.get("/api/search", params={"q": query})
                seen.add(got.content)
                if got.status_code != 200 or got.content not in right[query]:
                    wrong.append((query, json.loads(got.content)))

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
