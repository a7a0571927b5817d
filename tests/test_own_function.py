"""Models whose words are found by a function of the user's own, and the arguments beside it."""

import json
import pickle

import pytest

import docboltz
from docboltz import TextAnalysis, TextModel
from docboltz.errors import InvalidParameter

TEXTS = ["Cats chase mice.", "Mice fear cats.", "Stocks fell.", "Stocks and bonds fell."]
HOW = {"units": 4, "updates": 30, "min_df": 1}


def lowered(text):
    return text.lower().strip(".").split()


def test_a_model_is_fitted_searched_saved_and_opened_with_a_function(tmp_path):
    model = TextModel.fit(TEXTS, analysis=lowered, folder=tmp_path / "model", **HOW)
    assert {"and", "cats", "stocks"} <= set(model.vocabulary)
    (first, *_) = model.search("FELL bonds")
    assert (first.text, first.matches) == (TEXTS[3], ((11, 16), (17, 21)))
    opened = docboltz.open(tmp_path / "model", analysis=lowered)
    assert opened.search("FELL bonds")[0] == first
    assert (opened.transform(["cats"]) == model.transform(["cats"])).all()
    assert opened.fingerprint == model.fingerprint
    opened.save(tmp_path / "again")
    assert docboltz.open(tmp_path / "again", analysis=lowered).search("mice")
    assert pickle.loads(pickle.dumps(opened)).search("mice")


def test_without_its_function_a_model_says_what_to_pass(tmp_path):
    TextModel.fit(TEXTS, analysis=lowered, folder=tmp_path, replace=True, **HOW)
    model = docboltz.open(tmp_path)
    assert model.topics()
    assert model.units()
    for verb in (model.search, model.words, model.count, model.unknown_words):
        with pytest.raises(InvalidParameter, match=r"docboltz\.open\(folder, analysis=function\)"):
            verb("cats") if verb != model.count else verb(["cats"])
    for wrong in (3, TextAnalysis()):
        with pytest.raises(InvalidParameter, match="must be a function"):
            docboltz.open(tmp_path, analysis=wrong)


def test_nothing_that_a_folder_names_is_imported(tmp_path, monkeypatch):
    from docboltz.storage import load_model, save_model

    TextModel.fit(TEXTS, analysis=lowered, folder=tmp_path / "model", **HOW)
    arrays, settings = load_model(tmp_path / "model")
    settings = json.loads(json.dumps(settings))
    settings["text"]["analysis"]["function"] = "trap:sprung"
    (tmp_path / "trap.py").write_text("raise SystemExit('was imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    save_model(tmp_path / "hostile", arrays, settings)
    with pytest.raises(InvalidParameter, match="trap:sprung"):
        docboltz.open(tmp_path / "hostile").count(["cats"])


def test_a_model_without_a_function_takes_none(tmp_path):
    TextModel.fit(TEXTS, folder=tmp_path, replace=True, **HOW)
    with pytest.raises(InvalidParameter, match="for a model that was made with one"):
        docboltz.open(tmp_path, analysis=lowered)


def test_stop_words_and_pairs_are_arguments_of_fit():
    model = TextModel.fit(TEXTS, stop_words=["cats"], ngrams=2, **HOW)
    assert "stock fell" in model.vocabulary
    assert not {"cat", "and"} & set(model.vocabulary)
    assert "and" in TextModel.fit(TEXTS, stop_words=False, **HOW).vocabulary
    with pytest.raises(InvalidParameter, match="Leave out"):
        TextModel.fit(TEXTS, analysis=TextAnalysis(), ngrams=2, **HOW)


def test_a_function_that_gives_nothing_is_refused():
    with pytest.raises(InvalidParameter, match=r"must give a list of words.*NoneType"):
        TextAnalysis.of(lambda text: None).tokens("a text")  # type: ignore[arg-type, return-value]
