"""A comparison as a table, as JSON and as a page."""

import json
import re
from dataclasses import replace

import pytest

from docboltz.experiments.comparison import DEFAULT_MODELS, compare
from docboltz.experiments.comparison_report import table, to_html, write
from docboltz.experiments.models import Settings
from docboltz.experiments.topics import TopicMeasures
from tests.corpus.splits import sentences, split_of


@pytest.fixture(scope="module")
def found():
    settings = Settings(units=4, recipe="quick", updates=20)
    models = [*DEFAULT_MODELS, "unigram"]
    return compare(split_of(sentences()), models, settings, device="cpu")


def test_json_holds_all_of_it(found, tmp_path):
    page, data = write(found, tmp_path / "new")
    assert json.loads(data.read_text(encoding="utf-8")) == found.to_dict()
    assert sorted(path.name for path in page.parent.iterdir()) == ["report.html", "report.json"]


def test_the_page_needs_nothing_else(found):
    page = to_html(found)
    assert page.startswith("<!DOCTYPE html>")
    assert not re.search(r"<(script|link|img|iframe|object)\b|url\(\s*['\"]?http|@import", page)
    assert not re.search(r"(href|src)\s*=\s*['\"]\s*(https?:)?//", page)
    assert page.count("<svg") == 2
    assert all(f"<td>{record.trial.info.title}</td>" in page for record in found.records)


def test_the_page_tells_how_it_was_measured(found):
    page = " ".join(to_html(found).split())
    assert "48 documents to learn from, 12 to test on; 21 words in the vocabulary" in page
    assert "3 labels, one a document" in page
    assert "one is relevant if it has the query's label." in page
    assert re.search(r"How: DocNADE: [\w ,-]+; LDA: [\w ,-]+; Unigram: exact\. </li>", page)
    assert "<b>Classification</b> (accuracy)" in page
    assert "updates: " in page or "&#39;updates&#39;: 20" in page
    assert len(re.findall("<ol>", page)) == 7  # models with features
    assert "the training documents in 3 groups, without their labels" in page


def test_the_page_shows_the_largest_topics_of_every_model_with_their_sizes(found):
    page = " ".join(to_html(found).split())
    for record in found.records:
        if record.topics:
            words, n = ", ".join(record.topics.words[0]), record.topics.sizes[0]
            assert f'<li>{words} <span class="small">({n})</span></li>' in page
    assert '<th scope="col">ARI</th>' in page
    assert "ARI" not in table(found)[0]


def test_what_looks_equal_is_equally_best(found):
    records = [
        replace(record, precision_at_10=0.28401 if record.trial.model == "ors" else 0.2839)
        for record in found.records
    ]
    page = to_html(replace(found, records=records))
    assert page.count('<td class="best">0.284</td>') == len(records)


def test_the_table_fits_eighty_columns(found):
    sides, rows = table(found)
    widths = [max(map(len, column)) for column in zip(sides, *rows, strict=True)]
    assert sum(widths) + 2 * (len(widths) - 1) <= 80


def test_the_page_shows_text_as_text(found):
    bad = "<script>alert(1)</script>"
    topics = TopicMeasures((1,), ((bad,),), 0.0, 0.0, 1.0, None, None)
    records = [
        replace(record, notes=(bad,), topics=topics, settings={bad: bad}, reason=bad)
        for record in found.records
    ]
    records[0] = replace(records[0], status="failed")
    page = to_html(replace(found, remarks=[bad], records=records))
    assert "<script>" not in page
    assert page.count("&lt;script&gt;") >= 4 * len(records)
