"""docboltz demo on a handful of documents; on the real ones it takes minutes."""

import pytest

from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.datasets import DATASETS, TextDataset
from docboltz.corpus.document import Document
from docboltz.errors import InvalidCorpus

from .texts import ENGLISH

QUERIES = {"20newsgroups": ("football match",), "docstrings": ("rocket launch",)}


def dataset(name):
    documents = [
        Document(f"{theme}/{n}", text, (theme,))
        for theme, texts in ENGLISH.items()
        for n, text in enumerate(texts)
    ]
    return TextDataset(
        DATASETS[name], tuple(documents[::2]), tuple(documents[1::2]), TextAnalysis(), 50
    )


@pytest.fixture(autouse=True)
def _small(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCBOLTZ_CACHE", str(tmp_path))
    monkeypatch.setattr("docboltz.demo.QUERIES", QUERIES)
    monkeypatch.setattr("docboltz.demo.load_dataset", lambda name, **_: dataset(name))


def test_the_demo_shows_topics_hits_figures_and_times(docboltz, tmp_path):
    outcome = docboltz("demo", "--units", 4, "--updates", 20, "--quiet")
    assert outcome.code == 0
    for shown in (
        "topics",
        "typical document",
        '"football match"',
        "LSI",
        "MAP",
        "accuracy",
        "total",
    ):
        assert shown in outcome.out
    assert str(tmp_path / "demo-20newsgroups") in outcome.out
    assert docboltz("search", tmp_path / "demo-20newsgroups", "football", "--json").json


def test_without_a_network_it_takes_docstrings(docboltz, monkeypatch):
    def load(name, **_):
        if name == "20newsgroups":
            raise InvalidCorpus("There is no network.")
        return dataset(name)

    monkeypatch.setattr("docboltz.demo.load_dataset", load)
    outcome = docboltz("demo", "--units", 2, "--updates", 5, "--quiet")
    assert "There is no network. Going on with" in outcome.err
    assert '"rocket launch"' in outcome.out


def test_an_interrupt_says_where_the_model_is(docboltz, monkeypatch, tmp_path):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("docboltz.demo.measure", interrupted)
    outcome = docboltz("demo", "--units", 2, "--updates", 5, "--quiet")
    where = tmp_path / "demo-20newsgroups"
    assert outcome.code == 130
    assert (
        outcome.err.splitlines(keepends=True)[-1]
        == f"docboltz: interrupted: the model in {where} is usable as it is.\n"
    )
