"""Saved models: what comes back, and what is refused."""

import copy
import json
import pickle
import shutil

import numpy as np
import pytest

import docboltz
from docboltz import Pretraining, ReplicatedSoftmax
from docboltz.corpus.analysis import TextAnalysis
from docboltz.errors import (
    InvalidModelFile,
    InvalidParameter,
)
from docboltz.storage import digest, save_model

from .text_models import TEXTS, estimator, fitted


@pytest.fixture(scope="module")
def text_model():
    return fitted()


@pytest.mark.parametrize(
    "analysis",
    [TextAnalysis(), TextAnalysis(pretokenised=True), TextAnalysis("german", min_letters=3)],
    ids=["english", "pretokenised", "german"],
)
def test_save_and_open_change_nothing(tmp_path, analysis):
    saved = fitted(model=estimator(latent_words=5), analysis=analysis)
    new = ["Butter und Brot", "players of hockey", ""]
    before = saved.transform(new)
    saved.save(tmp_path / "model")
    opened = docboltz.open(tmp_path / "model", device="cpu")
    assert opened.vocabulary == saved.vocabulary
    assert opened.vocabulary.forms == saved.vocabulary.forms
    assert opened.units() == saved.units()
    assert opened.topics() == saved.topics()
    assert opened.analysis == saved.analysis.resolved()
    assert opened.fingerprint == saved.fingerprint
    assert np.array_equal(opened.transform(new), before)
    assert np.array_equal(saved.transform(new), before)
    assert opened.search("hockey") == saved.search("hockey")


def test_a_saved_model_can_be_saved_elsewhere_with_its_collection(tmp_path, text_model):
    text_model.save(tmp_path / "one")
    opened = docboltz.open(tmp_path / "one")
    opened.save(tmp_path / "two")
    opened.save(tmp_path / "two")  # onto itself
    assert docboltz.open(tmp_path / "two").search("bread") == text_model.search("bread")
    assert (tmp_path / "one" / "model.json").exists()


def test_the_collection_of_another_model_is_not_searched(tmp_path, text_model):
    text_model.save(tmp_path / "model")
    arrays, settings = describe_model(text_model)
    save_model(tmp_path / "model", {**arrays, "components": arrays["components"] + 1}, settings)
    with pytest.raises(InvalidModelFile, match="made with another model"):
        docboltz.open(tmp_path / "model").search("bread")
    assert "nothing to search" in repr(docboltz.open(tmp_path / "model"))


def describe_model(model):
    return model._arrays, model._settings


def test_models_that_take_turns_in_a_folder_keep_their_collections(tmp_path):
    one, other = fitted(), fitted(model=estimator().set_params(random_state=1))
    expected = one.search("bread")
    for model in (one, other, one):
        model.save(tmp_path / "model")
        assert model.search("bread")
    assert docboltz.open(tmp_path / "model").search("bread") == expected


def test_a_damaged_collection_is_neither_copied_nor_dropped(tmp_path):
    model = fitted(folder=tmp_path / "model")
    file = next((tmp_path / "model" / "search").glob("build-*/features.f32"))
    data = bytearray(file.read_bytes())
    data[5] ^= 1
    file.write_bytes(data)
    with pytest.raises(InvalidModelFile, match="was changed"):
        model.save(tmp_path / "copy")
    file.write_bytes(data[:-4])
    with pytest.raises(InvalidModelFile, match="bytes"):
        docboltz.open(tmp_path / "model").save(tmp_path / "copy")


def test_a_collection_elsewhere_is_not_followed(tmp_path):
    fitted(folder=tmp_path / "victim")
    trap = fitted(folder=tmp_path / "trap")
    shutil.rmtree(tmp_path / "trap" / "search")
    (tmp_path / "trap" / "search").symlink_to(tmp_path / "victim" / "search")
    for use in (
        lambda: trap.index(TEXTS),
        lambda: docboltz.open(tmp_path / "trap").search("bread"),
    ):
        with pytest.raises(InvalidModelFile, match="is a link"):
            use()


def test_a_damaged_manifest_can_be_replaced(tmp_path, text_model):
    text_model.save(tmp_path / "model")
    (tmp_path / "model" / "model.json").write_text('{"format": "docbo')
    text_model.save(tmp_path / "model")
    assert docboltz.open(tmp_path / "model").search("bread")


def test_a_model_can_be_pickled_and_copied(tmp_path):
    model = fitted(folder=tmp_path / "model")
    hits = model.search("bread")
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert twin.search("bread") == hits
        assert np.array_equal(twin.transform(TEXTS), model.transform(TEXTS))


def test_saved_reading_options_hold_for_frames_and_for_what_read_was_not_told(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"title": TEXTS, "body": ["flour"] * 4})
    model = fitted(docboltz.read(frame, text=["title", "body"]))
    expected = model.count(model.read(frame)).counts
    assert expected.sum() > model.count(docboltz.read(frame, text="title")).counts.sum()
    assert (model.count(frame).counts != expected).nnz == 0
    frame.to_csv(tmp_path / "x.csv", index=False)
    documents = docboltz.read(tmp_path / "x.csv")
    assert (model.count(documents).counts != expected).nnz == 0
    assert documents.report.documents == 4


def test_either_kind_of_model_comes_back_as_it_was(tmp_path):
    model = ReplicatedSoftmax(2, pretraining=Pretraining(updates=3), random_state=0)
    fitted(model=model).save(tmp_path / "model")
    assert type(docboltz.open(tmp_path / "model").estimator) is ReplicatedSoftmax


def test_a_model_of_counts_cannot_read_text(tmp_path):
    estimator().fit([[1, 2], [3, 0], [1, 1]]).save(tmp_path / "model")
    with pytest.raises(InvalidModelFile, match="trained on counts"):
        docboltz.open(tmp_path / "model")


def test_a_device_that_is_not_there(tmp_path, text_model):
    text_model.save(tmp_path / "model")
    opened = docboltz.open(tmp_path / "model", device="abacus")
    assert opened.search("bread")  # needs none
    for use in (lambda: opened.transform(TEXTS), lambda: opened.index(TEXTS)):
        with pytest.raises(InvalidParameter, match="'abacus'"):
            use()


def hostile(text):
    """Ways to spoil what a model says of its texts."""
    yield "vocabulary", [*text["vocabulary"][:-1]]
    yield "vocabulary", [*text["vocabulary"], "more"]
    yield "vocabulary", text["vocabulary"][:1] * len(text["vocabulary"])
    yield "vocabulary", [1] * len(text["vocabulary"])
    yield "vocabulary", {"a": 1}
    yield "forms", None
    yield "units", text["units"][:1]
    yield "units", [{**text["units"][0], "unit": "x"}] * len(text["units"])
    yield "units", [{**text["units"][0], "activity": float("nan")}] * len(text["units"])
    yield "units", 7
    yield "analysis", {"language": ["english"]}
    yield "analysis", {"unknown": 1}
    yield "analysis", []
    yield "reading", {"text": 7}
    yield "reading", {"unknown": 7}
    yield "reading", None


def test_a_hostile_description_is_refused(tmp_path, text_model):
    text_model.save(tmp_path / "model")
    file = tmp_path / "model" / "model.json"
    whole = json.loads(file.read_text())
    for name, value in hostile(whole["content"]["text"]):
        for missing in (False, True):
            text = {**whole["content"]["text"], name: value}
            if missing:
                del text[name]
            content = {**whole["content"], "text": text}
            inner = {"build": whole["build"], "files": whole["files"], "content": content}
            file.write_text(json.dumps({**whole, **inner, "checksum": digest(inner)}))
            with pytest.raises(InvalidModelFile):
                docboltz.open(tmp_path / "model")
