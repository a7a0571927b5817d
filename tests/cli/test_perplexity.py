"""docboltz perplexity."""

import json

import pytest

from docboltz.baselines import Unigram
from docboltz.text_model import TextModel

from .conftest import write_json_lines
from .texts import ENGLISH, records


def test_perplexity_is_a_table_or_json(docboltz, model, corpus):
    found = docboltz("perplexity", model, corpus, "--yes", "--json").json
    assert 1 < found["perplexity"] < 200
    counts = TextModel.open(model).count(record["text"] for record in records(ENGLISH)).counts
    same = Unigram().fit(counts).perplexity(counts).value  # the model was trained on them
    assert found["unigram"] == pytest.approx(same, rel=1e-3)
    assert found["error"] >= found["errors"]["documents"] > 0
    assert (found["method"], found["documents"]) == ("exact", found["read"]["documents"])
    table = docboltz("perplexity", model, corpus, "--yes", "-q").out
    assert f"{found['perplexity']:,.1f}" in table
    assert "unigram" in table


@pytest.mark.parametrize("method", ["bound", "importance"])
def test_methods_and_numbers_of_documents(docboltz, model, corpus, method):
    options = ("--method", method, "--documents", 5, "--seed", 3, "--json")
    found = docboltz("perplexity", model, corpus, "--yes", *options).json
    assert (found["method"], found["documents"]) == (method, 5)
    whole = docboltz("perplexity", model, corpus, "--yes", "--json").json
    assert found["unigram"] != whole["unigram"]  # it is that of the same five documents


def test_unknown_and_empty_documents_are_counted(docboltz, model, tmp_path):
    rows = [*records(ENGLISH), {"id": "x", "text": "zyzzyva qwertz", "labels": []}]
    corpus = write_json_lines(tmp_path / "more.jsonl", rows)
    outcome = docboltz("perplexity", model, corpus, "--yes", "--json")
    assert json.loads(outcome.out)["without_words"] == 1
    assert "1 document has no word of the vocabulary" in outcome.err


def test_a_model_without_a_density_is_said(docboltz, model, corpus):
    outcome = docboltz("perplexity", model, corpus, "--yes", "--documents", "3", "--json")
    assert outcome.json["contrastive_divergence_only"] is True
    assert "Fit with --recipe density" in outcome.err
    assert not docboltz("perplexity", model, corpus, "--yes", "--documents", "3", "-q").err


def test_a_figure_that_means_little_is_asked_for_first(docboltz, model, corpus):
    outcome = docboltz("perplexity", model, corpus, "-q")
    assert outcome == (
        2,
        "",
        "docboltz: Nothing was measured. Add --yes for a figure all the same.\n",
    )


def test_nothing_to_measure_is_said(docboltz, model, tmp_path):
    corpus = write_json_lines(tmp_path / "none.jsonl", [{"id": "x", "text": "zyzzyva qwertz"}] * 2)
    assert "nothing to predict" in docboltz("perplexity", model, corpus, "--yes", "-q").complaint


def test_an_unknown_method_is_refused(docboltz, model, corpus):
    complaint = docboltz("perplexity", model, corpus, "--yes", "--method", "guess", "-q").complaint
    assert "'guess' is not one of" in complaint


def test_a_single_document_has_no_error(docboltz, model, tmp_path):
    """Said as a dash, and as null in JSON, which knows no NaN."""
    corpus = write_json_lines(tmp_path / "one.jsonl", records(ENGLISH)[:1])
    found = docboltz("perplexity", model, corpus, "--yes", "--json").json
    assert found["error"] is found["errors"]["documents"] is None
    assert "nan" not in docboltz("perplexity", model, corpus, "--yes", "-q").out
