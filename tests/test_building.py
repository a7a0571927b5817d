"""From a stream of documents to a folder with a model and a search store."""

from types import SimpleNamespace

import numpy as np
import pytest

from docboltz import OverReplicatedSoftmax, Pretraining, building
from docboltz.building import SNIPPET_CHARACTERS, build_model, index_documents, store_folder
from docboltz.corpus.document import Document
from docboltz.corpus.text import TextAnalysis
from docboltz.errors import InvalidCorpus, InvalidParameter
from docboltz.search.store import SearchStore
from docboltz.search.writer import StoreWriter
from docboltz.storage import fingerprint
from docboltz.text_model import TextModel

DOCUMENTS = [
    Document("a", "Hockey players\n\n  skate \t fast.", ("sport",)),
    Document("b", "The hockey player scored.", ("sport", "short")),
    Document("c", "the of and", ()),
    Document("d", "Butter on bread." + " More bread and butter." * 50, ("kitchen",)),
    Document("e", "", ()),
    Document("f", "Flour, butter, bread.", ("kitchen",)),
]


def estimator(updates=5):
    return OverReplicatedSoftmax(
        2, pretraining=Pretraining(updates=updates), random_state=0, device="cpu"
    )


def build(documents, out, model=None):
    return build_model(
        documents,
        model or estimator(),
        out,
        analysis=TextAnalysis(),
        min_df=1,
        max_df=1.0,
        max_words=100,
        shown=False,
    )


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("block", [1, 4, 100])
def test_the_store_holds_every_document_in_order(tmp_path, monkeypatch, block):
    monkeypatch.setattr("docboltz.building.BLOCK_DOCUMENTS", block)
    built = build(iter(DOCUMENTS), tmp_path / "model")
    assert (built.n_documents, built.n_empty, built.interrupted) == (6, 2, False)
    store = SearchStore.open(
        store_folder(tmp_path / "model"), model=fingerprint(tmp_path / "model")
    )
    hits = store.documents(range(6))
    assert [hit.id for hit in hits] == list("abcdef")
    assert [hit.labels for hit in hits] == [document.labels for document in DOCUMENTS]
    assert hits[0].snippet == "Hockey players skate fast."
    assert len(hits[3].snippet) == SNIPPET_CHARACTERS
    assert hits[3].snippet == DOCUMENTS[3].text[:SNIPPET_CHARACTERS]
    assert hits[4].snippet == ""


def test_features_are_centred_and_documents_without_words_are_zero(tmp_path):
    built = build(DOCUMENTS, tmp_path / "model")
    store = SearchStore.open(store_folder(tmp_path / "model"))
    centred = built.text_model.transform(DOCUMENTS) - built.text_model.activity
    expected = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    expected[[2, 4]] = 0
    assert store.features == pytest.approx(expected, abs=1e-5)


def test_the_saved_model_is_the_built_one(tmp_path):
    built = build(DOCUMENTS, tmp_path / "model")
    loaded = TextModel.load(tmp_path / "model")
    assert np.array_equal(loaded.transform(["hockey"]), built.text_model.transform(["hockey"]))


def test_index_replaces_the_collection_and_counts_with_the_models_words(tmp_path):
    text_model = build(DOCUMENTS, tmp_path / "model").text_model
    before = files(tmp_path / "model")
    corpus = index_documents(
        text_model, [Document("x", "Bread, xyzzy", ("new",))], tmp_path / "model", shown=False
    )
    assert corpus.n_outside == 1
    store = SearchStore.open(store_folder(tmp_path / "model"), model=text_fingerprint(tmp_path))
    assert [hit.id for hit in store.documents([0])] == ["x"]
    unchanged = {path for path in before if path.parent == tmp_path / "model"}
    assert all(path.read_bytes() == before[path] for path in unchanged)


def text_fingerprint(tmp_path):
    return fingerprint(tmp_path / "model")


# ---- what can go wrong ----


def test_one_document_is_not_enough(tmp_path):
    with pytest.raises(InvalidCorpus, match="One document is not enough"):
        build(DOCUMENTS[:1], tmp_path / "model")
    with pytest.raises(InvalidCorpus, match="no documents"):
        build([], tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_an_unusable_folder_is_refused_before_anything_is_read(tmp_path):
    def never():
        raise AssertionError("read")
        yield

    (tmp_path / "file").touch()
    with pytest.raises(InvalidParameter, match="it is a file"):
        build(never(), tmp_path / "file")


def test_an_interrupt_while_reading_leaves_nothing(tmp_path):
    def stream():
        yield from DOCUMENTS
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(stream(), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


class Interrupted(OverReplicatedSoftmax):
    """Stopped by Ctrl-C after its training, or before the first update."""

    learnt_something = True

    def fit_keeping_checkpoint(self, X):
        if self.learnt_something:
            super().fit_keeping_checkpoint(X)
        raise KeyboardInterrupt


def test_an_interrupt_while_training_keeps_what_was_learnt(tmp_path, monkeypatch):
    model = Interrupted(2, pretraining=Pretraining(updates=3), random_state=0, device="cpu")
    built = build(DOCUMENTS, tmp_path / "model", model)
    assert built.interrupted
    store = SearchStore.open(store_folder(tmp_path / "model"))
    assert len(store) == 6
    assert np.isfinite(built.text_model.transform(["hockey"])).all()


def test_an_interrupt_leaves_the_model_that_was_there_alone(tmp_path):
    build(DOCUMENTS, tmp_path / "model")
    before = fingerprint(tmp_path / "model")
    model = Interrupted(2, pretraining=Pretraining(updates=3), random_state=1, device="cpu")
    built = build(DOCUMENTS, tmp_path / "model", model)
    assert built.folder == tmp_path / "model-interrupted"
    assert fingerprint(tmp_path / "model") == before
    assert len(SearchStore.open(store_folder(built.folder))) == 6


def test_an_interrupt_before_the_first_update_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(Interrupted, "learnt_something", False)
    with pytest.raises(KeyboardInterrupt):
        build(DOCUMENTS, tmp_path / "model", Interrupted(2))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt(), InvalidParameter("The disk is full.")])
def test_a_model_that_could_not_be_indexed_is_kept_and_said_to_be(tmp_path, monkeypatch, error):
    def refuse(*_):
        raise error

    monkeypatch.setattr(StoreWriter, "append", refuse)
    with pytest.raises(type(error), match="is complete, but its documents cannot") as raised:
        build(DOCUMENTS, tmp_path / "model")
    assert str(raised.value).startswith(f"{error} The" if str(error) else "the")
    assert TextModel.load(tmp_path / "model").topics


def test_a_full_disk_is_noticed_before_training(tmp_path, monkeypatch):
    monkeypatch.setattr(
        building.shutil, "disk_usage", lambda _: SimpleNamespace(total=10**9, free=1000)
    )
    model = estimator()
    with pytest.raises(InvalidParameter, match=r"takes about .* MB and the disk has 0 MB left"):
        build(DOCUMENTS, tmp_path / "model", model)
    assert not hasattr(model, "components_")
    assert not (tmp_path / "model").exists()
