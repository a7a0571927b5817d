"""docboltz compare, as it is typed."""

import csv
import json

import pytest

from docboltz.experiments.models import TRAININGS

from .texts import ENGLISH

QUICK = ("--recipe", "quick", "--updates", 10, "--units", 4, "--device", "cpu")


@pytest.fixture
def reviews(tmp_path):
    """One-sentence documents with labels in a CSV."""
    path = tmp_path / "reviews.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        rows = csv.writer(stream)
        rows.writerow(["text", "label"])
        for number in range(3):
            for theme, texts in ENGLISH.items():
                rows.writerows([f"{text} {number}", theme] for text in texts)
    return path


def test_a_table_and_a_report(docboltz, reviews, tmp_path):
    outcome = docboltz("compare", reviews, "--out", tmp_path / "new", *QUICK)
    assert outcome.code == 0, outcome.err
    for title in ("ORS", "RS", "DocNADE", "LDA", "NMF", "LSI", "TF-IDF"):
        assert any(line.startswith(f"{title} ") for line in outcome.out.splitlines())
    assert "MAP" in outcome.out.splitlines()[0]
    assert "[4/7] LDA, 4 units …" in outcome.err
    assert f"The report is in {tmp_path / 'new' / 'report.html'}" in outcome.err
    names = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert names == ["report.html", "report.json", "trials"]
    again = docboltz("compare", reviews, "--out", tmp_path / "new", *QUICK)
    assert "0 trials" in again.err
    assert again.out == outcome.out


def test_no_option_but_the_file(docboltz, reviews, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    from docboltz.experiments import models

    few = models.Training.with_updates
    monkeypatch.setattr(models.Settings, "training", property(lambda s: few(TRAININGS["quick"], 5)))
    assert docboltz("compare", reviews).code == 0
    assert (tmp_path / "compare" / "report.html").is_file()


def test_json_is_the_report(docboltz, reviews, tmp_path):
    options = ("--models", "tfidf, LSI", "--out", tmp_path / "new", "--json", "--number", 3, *QUICK)
    outcome = docboltz("compare", reviews, *options)
    assert outcome.err == ""
    written = json.loads((tmp_path / "new" / "report.json").read_text(encoding="utf-8"))
    assert [record["trial"]["model"] for record in written["records"]] == ["tfidf", "lsi"]
    assert [len(record["topics"]["words"]) for record in written["records"]] == [3, 3]
    assert written.items() <= outcome.json.items()


def test_a_test_corpus_of_its_own(docboltz, corpus, reviews, tmp_path):
    options = ("--models", "tfidf", "--out", tmp_path / "new", "--json", "--min-df", 1)
    found = docboltz("compare", reviews, "--test", corpus, *options).json
    assert found["n_train"] == 72
    assert found["n_test"] == 24


def test_documents_without_labels(docboltz, reviews, tmp_path):
    lines = tmp_path / "lines.txt"
    with reviews.open(encoding="utf-8") as stream:
        lines.write_text("\n".join(row["text"] for row in csv.DictReader(stream)))
    outcome = docboltz("compare", lines, "--models", "lda", "--out", tmp_path / "new", *QUICK)
    assert outcome.code == 0
    assert "MAP" not in outcome.out
    assert "no labels. Retrieval and classification were not measured" in outcome.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--models", "ors,bert"), "ors, rs, docnade, lda, nmf, lsi, tfidf, unigram. Got ['bert']"),
        (("--models", ","), "Got None"),
        (("--recipe", "slow"), "'slow' is not one of"),
        (("--latent-words", "some"), "--latent-words must be"),
        (("--test", "nowhere.csv"), "no file or folder 'nowhere.csv'"),
        (("--test-share", 0), "'--test-share'"),
        (("--number", 1), "'--number'"),
        (("--language", "klingon"), "'klingon'"),
        (("--device", "abacus"), "'abacus'"),
        (("--out", "reviews.csv"), "reviews.csv: it is a file"),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_wrong_usage_is_one_line(docboltz, reviews, monkeypatch, options, said):
    monkeypatch.chdir(reviews.parent)
    assert said in docboltz("compare", reviews.name, "-q", *options).complaint
    assert list(reviews.parent.iterdir()) == [reviews]
