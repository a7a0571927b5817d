"""What is special about a collection in Milvus."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from docboltz.errors import InvalidModelFile, InvalidParameter
from docboltz.search import milvus as module
from docboltz.search.milvus import (
    MilvusStore,
    address_of,
    connect,
    forget_milvus,
    manifest_folder,
    names_milvus,
)
from docboltz.search.store import SearchStore
from tests.search.stores import (
    Place,
    answers,
    ask,
    blocks_of,
    documents,
    features_of,
    forge,
    hits,
    questions,
)


@pytest.fixture
def place(tmp_path: Path, milvus: str) -> Place:
    made = Place(tmp_path / "store", milvus)
    made.write(documents(30))
    return made


def collections(place: Place) -> set[str]:
    return set(connect(address_of(str(place.address))).list_collections())


def count(store: Any) -> int:
    """Entities in the collection, whether they are documents or not."""
    found = store.about.call("query", filter="key >= 0", output_fields=["count(*)"])
    return int(found[0]["count(*)"])


def test_addresses(tmp_path: Path) -> None:
    assert address_of("milvus+http://host:19530") == "http://host:19530"
    assert address_of("milvus+a.db") == str(Path("a.db").absolute())
    with pytest.raises(InvalidParameter, match="ends in"):
        address_of("milvus+a")
    assert not names_milvus(tmp_path)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymilvus", None)
    with pytest.raises(InvalidParameter, match=r"needs the package pymilvus.*docboltz\[milvus\]"):
        connect("nowhere.db")


@pytest.mark.parametrize("candidates", [9, 3000])
def test_answers_are_those_of_a_store_in_files(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, candidates: int
) -> None:
    """With few candidates, all by features, and most by features and words."""
    monkeypatch.setattr(module, "CANDIDATES", candidates)
    given, mean = documents(60), np.full(8, 0.125)
    stores = [Place(tmp_path / str(to), to).store(given, mean=mean) for to in (place.address, None)]
    asked = [*questions(6), ask("goal -rain label:l2", np.ones(8)), ask('"goal match"')]
    for by in ("features", "both", "words"):
        mine, theirs = (store.search(asked, 2, by) for store in stores)
        if by == "features" or candidates == 3000:
            np.testing.assert_array_equal(mine.rows, theirs.rows)
            np.testing.assert_allclose(mine.features, theirs.features, atol=1e-12)
            np.testing.assert_allclose(mine.words, theirs.words, atol=1e-6)
        assert (mine.rows == theirs.rows).mean() > 0.8


def test_a_collection_that_is_gone_is_a_clear_error(place: Place) -> None:
    store = place.open()
    assert isinstance(store, MilvusStore)
    store.about.drop()
    with pytest.raises(InvalidModelFile, match="is not there"):
        place.open()
    with pytest.raises(InvalidParameter, match=r"Milvus at .* fails"):
        store.search(questions(1), 3)
    place.write(documents(3))  # into a collection of its own
    assert len(place.open()) == 3


def test_a_rebuild_leaves_one_collection(place: Place, tmp_path: Path) -> None:
    before = collections(place)
    place.write(documents(5))
    assert len(collections(place)) == len(before)
    Place(place.folder).write(documents(4))
    assert names_milvus(place.folder)
    forget_milvus(place.folder)
    forget_milvus(place.folder)
    assert len(collections(place)) == len(before) - 1
    assert isinstance(place.open(), SearchStore)
    place.write(documents(3))
    assert not (place.folder / "store.json").exists()
    assert isinstance(place.open(), MilvusStore)


@pytest.mark.parametrize("end", ["adding", "committing", "committed"])
def test_an_interrupted_build_leaves_the_old_collection_or_the_new(
    place: Place, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    before, replace = collections(place), os.replace

    def interrupted(source: Any, target: Any) -> None:
        ours = str(target).endswith("milvus.json")  # Milvus Lite replaces files, too
        if not ours or end == "committed":
            replace(source, target)
        if ours:
            raise KeyboardInterrupt

    def blocks() -> Iterator[Any]:
        yield from blocks_of(documents(2), features_of(documents(2)), 9)
        if end == "adding":
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            place.write(blocks=blocks(), features=np.ones((1, 8)))
    store = place.open()
    assert len(store.search([ask("", np.ones(8))], 99).rows[0]) == (2 if end == "committed" else 30)
    assert len(collections(place)) == len(before)


def test_copies_name_the_same_collection(place: Place, tmp_path: Path) -> None:
    copy = place._replace(folder=tmp_path / "copy")
    place.open().copy_to(copy.folder)
    reader = copy.open()
    place.changed(documents(32)[30:], drop=["d1", "d2"])
    assert set(answers(reader, [ask("", np.ones(8))])[0]) <= {d.id for d in documents(30)}
    with pytest.raises(InvalidModelFile, match=r"were deleted .* since it was opened\. Open"):
        reader.documents([3, 1])
    assert reader.rows_of(["d1", "d3"]).tolist() == [3]
    copy.write(documents(3))
    with pytest.raises(InvalidModelFile, match="is not there"):
        place.open()  # which has to be indexed anew
    Place(tmp_path / "files").store(documents(4)).copy_to(copy.folder)
    assert isinstance(copy.open(), SearchStore)


def test_what_an_interrupted_change_has_left_is_not_found(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Documents to drop, after the manifest was replaced, and to add, before that."""
    given = documents(40)
    with monkeypatch.context() as patch:
        patch.setattr(module, "_delete_others", lambda store: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            place.changed(drop=[f"d{i}" for i in range(20)])

    def failing() -> Iterator[Any]:
        yield from blocks_of(given[30:], features_of(given[30:]), 99)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        place.write(blocks=failing(), features=np.ones((1, 8)), append=True)
    store, left = place.open(), [f"d{i}" for i in range(20, 30)]
    assert (len(store), count(store)) == (10, 40)
    monkeypatch.setattr(module, "CANDIDATES", 40)
    both = (hits(store, ask("", vector), "features") for vector in (np.ones(8), -np.ones(8)))
    assert {id for some in both for id in some} == {*left}
    assert {*hits(store, ask("goal match rain oven"))} <= {*left}
    assert store.rows_of(["d3", "d25", "d35"]).tolist() == [5]
    store = place.changed(given[30:33])
    assert [document.id for document in store.documents(range(13))] == [*left, "d30", "d31", "d32"]
    assert count(store) == 13
    fresh = place._replace(folder=place.folder.with_name("fresh")).store(given[20:33])
    for mine, theirs in zip(
        *(answers(s, questions(3), "words") for s in (store, fresh)), strict=True
    ):
        assert mine == pytest.approx(theirs, abs=0.2)  # of another mean length


KILLED = """
import os, sys
from pymilvus import MilvusClient
from docboltz.search import milvus as module
from tests.search.stores import *
place = Place(Path(sys.argv[1]), sys.argv[3])
place.write(documents(8))
left, replace = int(sys.argv[2]), os.replace
def dying(real):
    def call(*given, **named):
        global left
        left -= real is not replace or str(given[1]).endswith("milvus.json")
        if left < 0:
            os._exit(9)
        return real(*given, **named)
    return call
MilvusClient.upsert, MilvusClient.delete = dying(MilvusClient.upsert), dying(MilvusClient.delete)
os.replace = dying(replace)
module.AT_ONCE = 2
place.changed(documents(11)[8:], drop=["d1", "d4", "d5"])
"""


def test_a_kill_at_any_step_leaves_the_old_documents_or_the_new(tmp_path: Path) -> None:
    """Killed before each call that changes something, one after the other."""
    pytest.importorskip("milvus_lite", reason="needs pip install 'docboltz[milvus]'")
    root, seen = str(Path(__file__).parents[2]), []
    for step in range(7):
        place = Place(tmp_path / str(step), f"milvus+{tmp_path / f'{step}.db'}")
        command = [sys.executable, "-c", KILLED, str(place.folder), str(step), str(place.address)]
        ended = subprocess.run(command, check=False, cwd=root).returncode
        store = place.open()
        ids = [document.id for document in store.documents(range(len(store)))]
        assert {*hits(store, ask("", np.ones(8))), *hits(store, ask("", -np.ones(8)))} == {*ids}
        seen.append((ended, len(ids), "d4" in ids))
        gone = [id for id in ids if id in ("d1", "d4", "d5")]  # goes on as if nothing had been
        store = place.changed(documents(11)[8:], drop=[*gone, "d8", "d9", "d10"])
        assert [d.id for d in store.documents(range(8))] == [
            f"d{i}" for i in (0, 2, 3, 6, 7, 8, 9, 10)
        ]
        assert len(store) == count(store) == 8  # nothing is left of what was killed
        known = store.terms.find(["goal", "match", "rain", "42"])
        assert {word: store.terms.df[number] for word, (number, _) in known.items()} == {
            word: len(hits(store, ask(word), "words")) for word in known
        }
    # Adds twice, publishes, and deletes three times.
    assert seen == [*3 * [(9, 8, True)], *3 * [(9, 8, False)], (0, 8, False)]


@pytest.mark.parametrize(
    "content",
    [
        *({name: value} for name in ("end", "n_documents") for value in (-1, 0, 29, 1.5, None)),
        {"mean_length": "x"},
        {"mean": [1.0]},
        {"address": None},
        {"collection": 7},
        {"more": 1},
    ],
    ids=str,
)
def test_a_manifest_of_wrong_content_is_refused(place: Place, content: dict[str, Any]) -> None:
    forge(manifest_folder(place.folder) / "milvus.json", **content)
    with pytest.raises(InvalidModelFile, match=r"TextModel\.index"):
        place.open()
    place.write(documents(3))
    assert len(place.open()) == 3


@pytest.mark.parametrize("name", module.MILVUS.files)
def test_damaged_files_are_refused(place: Place, name: str) -> None:
    (file,) = manifest_folder(place.folder).glob(f"build-*/{name}")
    data = file.read_bytes()
    for other, message in ((data[:-8], "instead of"), (bytes(len(data)), "was changed")):
        file.write_bytes(other)
        with pytest.raises(InvalidModelFile, match=message):
            place.open()
    forge(manifest_folder(place.folder) / "milvus.json")
    if name != module.DF:
        with pytest.raises(InvalidModelFile, match=r"TextModel\.index"):
            place.open()
