"""The map as a person meets it: made, saved, opened again, and new documents placed into it."""

import json
import pickle
import shutil
import subprocess
import sys

import numpy as np
import pytest

import docboltz
from docboltz import TextModel
from docboltz.corpus.document import Document
from docboltz.errors import InvalidModelFile, InvalidParameter
from docboltz.layout.document_map import DocumentMap
from tests.test_topic_verbs import texts
from tests.text_models import TEXTS
from tests.text_models import fitted as fit_few

UNKNOWN = Document("none", "klingon xyzzy")


@pytest.fixture(scope="module")
def mapped(tmp_path_factory):
    """150 documents of three themes, one of them twice, and one without a known word.

    Trained so little that documents of one theme are not all the same to it.
    """
    folder = tmp_path_factory.mktemp("map") / "model"
    documents = texts()
    documents += [Document("again", documents[7].text), UNKNOWN]
    model = TextModel.fit(documents, units=32, updates=30, language=None, folder=folder)
    assert not model.has_map
    model.map()
    return model


@pytest.fixture
def model(mapped, tmp_path):
    """One that may be changed."""
    docboltz.open(mapped.path).save(tmp_path / "model")
    return docboltz.open(tmp_path / "model")


def no_layout(*_, **__):
    pytest.fail("a map was made anew")


def test_every_document_with_a_known_word_has_a_place(mapped):
    positions = mapped.map().positions
    assert (positions.shape, positions.dtype) == ((152, 2), np.float32)
    assert np.isfinite(positions[:-1]).all()
    assert np.isnan(positions[-1]).all()


def test_neighbours_on_the_map_have_the_same_theme(mapped):
    positions = mapped.map().positions[:150]
    apart = np.linalg.norm(positions[:, None] - positions, axis=2)
    np.fill_diagonal(apart, np.inf)
    near = np.argsort(apart, axis=1)[:, :5]
    # A third by chance. Themes share no word, and all had theirs when this was written.
    assert (near % 3 == np.arange(150)[:, None] % 3).mean() > 0.97


def test_the_same_words_lie_in_the_same_place(mapped):
    positions = mapped.map().positions
    assert np.array_equal(positions[7], positions[150])


def test_a_map_is_made_once_and_kept(mapped, monkeypatch):
    monkeypatch.setattr(DocumentMap, "make", no_layout)
    opened = docboltz.open(mapped.path)
    assert opened.has_map
    assert np.array_equal(opened.map().positions, mapped.map().positions, equal_nan=True)


def test_a_map_is_saved_with_a_copy(mapped, model, monkeypatch):
    monkeypatch.setattr(DocumentMap, "make", no_layout)
    assert model.path != mapped.path
    assert model.store.opened.build != mapped.store.opened.build
    assert model.has_map
    assert np.array_equal(model.map().positions, mapped.map().positions, equal_nan=True)


def test_a_model_in_memory_has_a_map_and_takes_it_along(tmp_path):
    model = TextModel.fit(texts(60), units=8, updates=50, language=None)
    assert not model.has_map
    positions = model.map().positions
    assert model.has_map
    model.save(tmp_path / "model")
    assert model.has_map
    opened = docboltz.open(tmp_path / "model")
    assert opened.has_map
    assert np.array_equal(opened.map().positions, positions)
    assert not pickle.loads(pickle.dumps(fit_few())).has_map


def test_the_same_collection_has_the_same_map(model, mapped):
    made = DocumentMap.make(model.store, seed=0, progress=lambda *_: None)
    assert np.array_equal(made.positions, mapped.map().positions, equal_nan=True)


def test_documents_are_placed_where_they_lie(mapped):
    documents = [*texts(), UNKNOWN]
    positions = np.delete(mapped.map().positions, 150, axis=0)
    np.testing.assert_allclose(mapped.place(documents), positions, atol=0.01)


def test_new_texts_are_placed_among_those_of_their_theme(mapped):
    new = texts(90, seed=5)
    places, positions = mapped.place(new), mapped.map().positions[:150]
    assert (places.shape, places.dtype) == ((90, 2), np.float32)
    near = np.linalg.norm(places[:, None] - positions, axis=2).argmin(1)
    assert (near % 3 == np.arange(90) % 3).mean() > 0.97
    np.testing.assert_allclose(mapped.place([new[4]]), places[[4]], atol=1e-3)


def test_texts_without_known_words_have_no_place(mapped):
    found = mapped.place(["", "klingon", "ship sail"])
    assert np.isnan(found[:2]).all()
    assert np.isfinite(found[2]).all()


# ---- other documents ----


def test_known_documents_stay_and_new_ones_are_placed_among_them(model, monkeypatch):
    before = model.map().positions
    new = [Document(f"new {i}", each.text) for i, each in enumerate(texts(20, seed=3))]
    model.index([*new, UNKNOWN, *texts()])
    assert not model.has_map, "of other documents"
    monkeypatch.setattr(DocumentMap, "make", no_layout)
    for found in (model.map().positions, docboltz.open(model.path).map().positions):
        np.testing.assert_allclose(found[21:], before[:150], atol=1e-4)
        assert np.isnan(found[20]).all()
        np.testing.assert_allclose(found[:20], model.place(new), atol=0.01)
    assert model.has_map


def test_with_many_new_documents_the_map_is_made_anew(model):
    before = model.map()
    documents = texts(100, seed=3)
    model.index(documents)
    found = model.map()
    assert found.store == model.store.opened.build != before.store
    again = DocumentMap.make(model.store, seed=0, progress=lambda *_: None)
    assert np.array_equal(found.positions, again.positions)


def test_new_documents_do_not_add_up(model, monkeypatch):
    """Some here and some there: a map of mostly placed documents is none."""
    made = []
    make = DocumentMap.make
    monkeypatch.setattr(DocumentMap, "make", lambda *a, **k: made.append(0) or make(*a, **k))
    documents = texts()
    for more in range(1, 4):
        new = texts(25, seed=more)
        documents += [Document(f"{more} {i}", each.text) for i, each in enumerate(new)]
        model.index(documents)
        model.map()
    assert made == [0]


# ---- few and strange collections ----


@pytest.mark.parametrize("n", [1, 2, 3, 5, 10])
def test_few_documents_have_a_map(model, n):
    model.index(texts(n))
    found = model.map().positions
    assert found.shape == (n, 2)
    assert np.isfinite(found).all()
    assert model.place(["ship sail", "soup"]).shape == (2, 2)


def test_equal_documents_lie_in_one_place(model):
    model.index([Document(str(i), "ship sail") for i in range(30)])
    found = model.map().positions
    assert np.isfinite(found).all()
    assert len(np.unique(found, axis=0)) == 1


def test_documents_without_known_words_are_nowhere(model):
    model.index(["qqq www", "zzz yyy"])
    assert np.isnan(model.map().positions).all()
    assert np.isnan(model.place(["ship"])).all()
    assert docboltz.open(model.path).has_map


def test_without_documents_there_is_no_map(tmp_path):
    model = fit_few(TEXTS)
    model._store, model._temporary = None, None
    assert not model.has_map
    with pytest.raises(InvalidParameter, match="no documents"):
        model.map()


# ---- what may have happened to the folder ----


def test_a_damaged_map_is_told_with_what_to_do(model):
    build = json.loads((model.path / "map" / "map.json").read_text("utf-8"))["build"]
    file = model.path / "map" / build / "parameters.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    with pytest.raises(InvalidModelFile, match=r"map.*changed after it was saved.*Remove the fold"):
        docboltz.open(model.path).map()
    file.unlink()
    with pytest.raises(InvalidModelFile, match=r"is missing.*Remove the folder"):
        docboltz.open(model.path).map()


def test_a_map_of_another_model_is_not_used(model, tmp_path):
    other = TextModel.fit(
        texts(60), units=4, updates=9, language=None, folder=tmp_path / "other", random_state=1
    )
    (model.path / "map").rename(other.path / "map")
    opened = docboltz.open(other.path)
    assert not opened.has_map
    assert opened.map().positions.shape == (60, 2)
    assert docboltz.open(other.path).has_map


def test_what_cannot_be_saved_is_not_taken(model, monkeypatch):
    model.index(texts(30, seed=8))

    def fail(*_):
        raise InvalidParameter("no space")

    monkeypatch.setattr(DocumentMap, "save", fail)
    with pytest.raises(InvalidParameter, match="no space"):
        model.map()
    assert not model.has_map


def test_who_asks_for_a_known_map_waits_for_no_library(mapped):
    asked = (
        "import sys, docboltz; model = docboltz.open(sys.argv[1]); model.map(); "
        "model.place(['ship']); print(*{'openTSNE', 'sklearn', 'torch'} & {*sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", asked, mapped.path], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""


@pytest.mark.parametrize("value", [np.nan, np.inf, 7.0])
def test_features_that_were_changed_make_no_map(model, monkeypatch, value):
    """Fuzzing met a matrix without eigenvectors."""
    monkeypatch.setattr("docboltz.search.store.CHECKED_BYTES", 0)  # as in a large collection
    shutil.rmtree(model.path / "map")
    (file,) = model.path.glob("search/build-*/features.f32")
    features = np.fromfile(file, "<f4")
    features[5] = value
    file.write_bytes(features.tobytes())
    with pytest.raises(InvalidModelFile, match="features are not unit vectors"):
        docboltz.open(model.path).map()
