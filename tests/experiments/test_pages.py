"""Templates."""

from importlib.resources import files

import pytest
from jinja2 import DictLoader, UndefinedError

from docboltz.experiments import pages


@pytest.fixture
def templates(monkeypatch):
    texts = {"a.html": "<p>{{ text }}</p>", "a.md.jinja": "{{ text }}"}
    monkeypatch.setattr(pages, "_TEMPLATES", pages._TEMPLATES.overlay(loader=DictLoader(texts)))


def test_text_is_escaped_in_html_and_nowhere_else(templates):
    assert pages.render("a.html", text="<b>&") == "<p>&lt;b&gt;&amp;</p>"
    assert pages.render("a.md.jinja", text="<b>&") == "<b>&"


def test_what_a_template_does_not_get_is_an_error(templates):
    with pytest.raises(UndefinedError, match="'text' is undefined"):
        pages.render("a.html")


def test_templates_are_files_of_the_package():
    found = {file.name for file in (files("docboltz.experiments") / "templates").iterdir()}
    assert found == {"comparison.html", "results.md.jinja"}
