"""docboltz datasets."""

import json

import pytest

from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.datasets import DATASETS, TextDataset
from docboltz.corpus.document import Document


@pytest.fixture
def two_posts(monkeypatch):
    """20 Newsgroups with one post in either part."""
    data = TextDataset(
        DATASETS["20newsgroups"],
        (Document("train/1", "Größe", ("a",)),),
        (Document("test/1", "test", ()),),
        TextAnalysis(),
        10,
    )

    def load(name, *, path, log):
        log("Fetching")
        return data

    monkeypatch.setattr("docboltz.corpus.datasets.load_dataset", load)


def test_the_list(docboltz):
    table = docboltz("datasets").out
    assert all(name in table for name in DATASETS)
    assert [info["name"] for info in docboltz("datasets", "--json").json] == list(DATASETS)


@pytest.mark.usefixtures("two_posts")
def test_parts_are_written_as_json_lines(docboltz, tmp_path):
    out = tmp_path / "posts.jsonl"
    outcome = docboltz("datasets", "20newsgroups", "--part", "train", "--out", out)
    assert outcome == (0, "", f"Fetching\n1 document written to {out}\n")
    written = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert written == [{"id": "train/1", "text": "Größe", "labels": ["a"]}]
    docboltz("datasets", "20newsgroups", "--out", out)
    assert len(out.read_text(encoding="utf-8").splitlines()) == 2


@pytest.mark.usefixtures("two_posts")
def test_sizes(docboltz):
    outcome = docboltz("datasets", "20newsgroups", "--json", "--quiet")
    assert outcome.json == {"name": "20newsgroups", "train": 1, "test": 1}
    assert outcome.err == ""
    assert "1 training and 1 test" in docboltz("datasets", "20newsgroups").err
