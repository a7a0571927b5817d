"""A collection that grows, shrinks, and may be kept elsewhere, as a person meets it."""

import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from filelock import FileLock, Timeout

import docboltz
from docboltz import indexing
from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.document import Document
from docboltz.corpus.reading import as_documents
from docboltz.errors import InvalidModelFile, InvalidParameter
from docboltz.fitting import prepare_folder
from docboltz.indexing import counting_beside
from docboltz.search.milvus import MILVUS, MilvusStore
from docboltz.search.store import STORE, open_store
from docboltz.storage import save_model
from tests.test_topic_verbs import THEMES, fitted, texts  # noqa: F401  (a fixture)


@pytest.fixture(params=["files", "milvus"])
def model(request, fitted, tmp_path):  # noqa: F811
    """One of 150 documents, that may be changed, with either store."""
    fitted.save(tmp_path / "model")
    found = docboltz.open(tmp_path / "model")
    if request.param == "milvus":
        pytest.importorskip("milvus_lite", reason="needs pip install 'docboltz[milvus]'")
        found.index(texts(), store=f"milvus+{tmp_path / 'm.db'}")
    return found


def new(*ids, text="ship sail harbour", label="new", date="2020-01-01"):
    return [Document(str(id), text, (label,), date) for id in ids]


def test_appended_documents_are_found_and_have_topics_and_places(model):
    sea = model.search("ship sail harbour", 1)[0]
    counted = model.index(new("a", "b"), append=True)
    assert (len(counted), len(model.store)) == (2, 152)
    hits = model.search("ship sail harbour", 2, by="words")
    assert {hit.id for hit in hits} == {"a", "b"}
    tree, row = model.tree, model.store.row_of("a")
    assert len(tree.assignment.topic) == 152
    assert tree.assignment.topic[row] == tree.assignment.topic[model.store.row_of(sea.id)]
    again = docboltz.open(model.path)
    assert len(again.store) == 152
    assert again.search("ship sail harbour", 1, label="new")[0].date == "2020-01-01"
    assert again.search("ship sail harbour", 9, since="2020", until="2020")[1:][0].id in "ab"
    assert not {"a", "b"} & {hit.id for hit in again.similar("a", 99, label=list(THEMES))}


def test_documents_of_the_same_id_are_replaced_and_that_is_said(model, capsys):
    before = {document.id for document in model.store.documents(range(150))}
    model.index(new("7", "x"), append=True, verbose=True)
    assert "1 document has replaced one of the same id" in capsys.readouterr().err
    assert {d.id for d in model.store.documents(range(151))} == {*before, "x"}
    assert model.store.documents([model.store.row_of("7")])[0].labels == ("new",)


def test_deleted_documents_are_gone_from_hits_and_topics(model):
    gone = [hit.id for hit in model.search("ship sail", 5)]
    assert model.delete(gone) == 5
    assert not {*gone} & {hit.id for hit in model.search("ship sail", 145)}
    left = {document.id for document in model.store.documents(range(145))}
    assert left == {str(i) for i in range(150)} - {*gone}
    assert len(model.tree.assignment.topic) == len(model.store) == 145
    assert sum(topic.documents for topic in model.topics(level=-1)) <= 145
    assert model.topics_by("label").documents.sum() == 145
    with pytest.raises(InvalidParameter, match=f"No document has the id '{gone[0]}'"):
        model.delete([gone[0], "3"])
    with pytest.raises(InvalidParameter, match="a list of ids"):
        model.delete("3")
    assert len(docboltz.open(model.path).store) == 145


def test_documents_that_are_only_numbered_replace_nothing(model):
    """They go on behind the highest number there ever was, whatever is deleted in between."""
    before = {document.id for document in model.store.documents(range(150))}
    given = ["150", "151", "152", "153", "154", "155"]
    for first in (0, 2, 4):
        counted = model.index(["ship sail", "soup"], append=True)
        assert list(counted.ids) == given[first : first + 2]
        model.delete([given[first + 1], str(first)])
        before.remove(str(first))
    ids = {document.id for document in model.store.documents(range(len(model.store)))}
    assert ids == before | {"150", "152", "154"}
    model.index(new("9" * 18), append=True)
    with pytest.raises(InvalidParameter, match=r"no numbers are left behind 9+, .*id=…"):
        model.index(["soup"], append=True)


def test_two_appends_at_once_do_not_give_the_same_numbers(model, monkeypatch):
    """Who has chosen numbers has the store, and another waits, or is told so."""
    choose, refused = indexing._next_numbers, []

    def choosing(*given):
        monkeypatch.undo()
        with ThreadPoolExecutor(1) as another:
            other = docboltz.open(model.path)
            refused.append(another.submit(other.index, ["soup"], append=True).exception())
        return choose(*given)

    monkeypatch.setattr(indexing, "_next_numbers", choosing)
    assert list(model.index(["ship sail"], append=True).ids) == ["150"]
    assert "Another process is writing" in str(refused[0])


def test_a_copy_answers_as_the_original_and_what_is_changed_is_the_copy(model, tmp_path):
    docboltz.open(model.path).save(tmp_path / "copy")
    copy = docboltz.open(tmp_path / "copy")
    hits = model.search("ship klingon", 9)
    assert copy.search("ship klingon", 9) == hits
    copy.index(new("a", "b"), append=True)
    copy.delete(["3"])
    assert len(copy.store) == 151
    if isinstance(copy.store, MilvusStore):  # which both name
        with pytest.raises(InvalidModelFile, match="has to be indexed anew"):
            docboltz.open(model.path).documents(range(150))
    else:
        assert docboltz.open(model.path).search("ship klingon", 9) == hits
    copy.index(texts(20))
    again = docboltz.open(model.path)
    again.index(texts(30), store="files")
    again.index(new("c"), append=True)
    assert (len(docboltz.open(copy.path).store), len(again.store)) == (20, 31)


def test_a_model_that_is_saved_keeps_its_collection(fitted, tmp_path):  # noqa: F811
    """It was made in memory, and its temporary folder goes."""
    pytest.importorskip("milvus_lite", reason="needs pip install 'docboltz[milvus]'")
    made = pickle.loads(pickle.dumps(fitted))
    made.path = None
    made.index(texts(), store=f"milvus+{tmp_path / 'm.db'}")
    made.save(tmp_path / "saved")
    collection = made.store.about.collection
    made.index(new("a"), append=True)
    assert (len(made.store), made.store.about.collection) == (151, collection)


def test_documents_are_whole_with_titles_and_columns_in_either_store(model):
    text = "".join(f"ship {i}\r\n\n" for i in range(9000))
    odd = Document("o", text, ("new", "a, b"), "2013-08", "A title", {"who": "ann", "in": "é\n"})
    model.index([odd], append=True)
    opened = docboltz.open(model.path)
    (hit,) = opened.search("8999")
    assert (hit.text, hit.labels, hit.title) == (text, odd.labels, "A title")
    assert (hit.date, hit.columns) == ("2013-08", odd.columns)
    assert opened.store.documents([hit.row]) == [odd]
    for query in ("ship who:ann", 'ship label:"a, b"', "ship since:2013 until:2013", '"ship 8999"'):
        assert [hit.id for hit in opened.search(query)] == ["o"]
    assert "o" not in {hit.id for hit in opened.search("ship -8999", 151)}
    assert opened.store.columns == ("who", "in")


def test_the_store_is_remembered_and_can_be_changed(model, tmp_path):
    milvus = isinstance(model.store, MilvusStore)
    hits = model.search("comet planet ship", 8)
    model.index(texts())
    assert isinstance(model.store, MilvusStore) == milvus
    if milvus:
        model.index(texts(), store="files")
        assert not MILVUS.exists(model.store_folder / "milvus")
    else:
        pytest.importorskip("milvus_lite", reason="needs pip install 'docboltz[milvus]'")
        model.index(texts(), store=f"milvus+{tmp_path / 'other.db'}")
        assert not STORE.exists(model.store_folder)
    assert isinstance(model.store, MilvusStore) != milvus
    found = docboltz.open(model.path).search("comet planet ship", 8)
    assert [hit.id for hit in found] == [hit.id for hit in hits]
    np.testing.assert_allclose([h.score for h in found], [h.score for h in hits], atol=1e-6)
    model.save(tmp_path / "copy")
    assert len(docboltz.open(tmp_path / "copy").store) == 150


def test_a_store_that_is_none_is_refused_before_the_work(model):
    for store in ("elastic", "milvus+name", "milvus"):
        with pytest.raises(InvalidParameter, match="store"):
            model.index(texts(), store=store)
    with pytest.raises(InvalidParameter, match="exclude each other"):
        model.index(new("a"), append=True, store="files")
    assert len(model.store) == 150


def test_an_index_begun_before_the_model_was_replaced_is_refused(model):
    """However late that happens: the model is held while its index takes its place."""

    def replaced_meanwhile():
        yield from texts(10)
        save_model(model.path, model._arrays, {**model._settings, "other": 1})

    with pytest.raises(InvalidParameter, match="was replaced while its documents were indexed"):
        model.index(replaced_meanwhile())
    with pytest.raises(InvalidParameter, match="was replaced while"):
        model.delete(["1"])
    with pytest.raises(InvalidModelFile, match="another model"):
        open_store(model.store_folder, model=docboltz.open(model.path).fingerprint)


def test_the_model_cannot_be_replaced_while_an_index_takes_its_place(model, monkeypatch):
    """Another process would wait: the lock is held when the manifest is."""
    held = []
    real = os.replace

    def replace(source, target):
        if str(target).endswith(("store.json", "milvus.json")):
            with ThreadPoolExecutor(1) as another, pytest.raises(Timeout):
                another.submit(FileLock(model.path / ".lock").acquire, timeout=0).result()
            held.append(True)
        real(source, target)

    monkeypatch.setattr("docboltz.storage.os.replace", replace)
    model.index(texts(20))
    assert held == [True]


def test_a_missing_package_is_named_with_what_to_install(fitted, monkeypatch, tmp_path):  # noqa: F811
    monkeypatch.setitem(__import__("sys").modules, "pymilvus", None)
    with pytest.raises(InvalidParameter, match=r"pip install 'docboltz\[milvus\]'"):
        fitted.index(texts(), store=f"milvus+{tmp_path / 'missing.db'}")


def test_two_processes_do_not_count_in_one_folder(tmp_path):
    code = (
        "import sys; from docboltz.storage import locked\n"
        f"with locked({str(tmp_path / 'model.counts')!r}, 'counts', 0):\n"
        "    print('locked', flush=True); sys.stdin.read()"
    )
    (tmp_path / "model.counts").mkdir()
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    stream, analysis = as_documents(["a ship"], "test"), TextAnalysis()
    with subprocess.Popen([sys.executable, "-c", code], **pipes) as other:
        assert other.stdout is not None
        other.stdout.readline()
        counting = counting_beside(tmp_path / "model", stream, analysis, patience=0.1)
        with (
            pytest.raises(InvalidParameter, match="Another process is writing the counts"),
            counting,
        ):
            pass
        assert (tmp_path / "model.counts" / ".lock").exists()
        with pytest.raises(InvalidParameter, match="Another process is writing"):
            prepare_folder(tmp_path / "model", [], replace=False, restart=True)
        other.communicate()
    with counting_beside(tmp_path / "model", stream, analysis):
        assert (tmp_path / "model.counts").is_dir()
    assert not (tmp_path / "model.counts").exists()
