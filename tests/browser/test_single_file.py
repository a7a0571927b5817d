"""The explorer as one file, opened from disk in a real browser: it works, and asks nobody."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest

import docboltz
from docboltz.errors import InvalidCorpus
from docboltz.explorer.single_file import write_page
from tests.browser.conftest import HOSTILE, Open

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")


@pytest.fixture(scope="module")
def file(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Its address on disk."""
    path = tmp_path_factory.mktemp("file") / "hobbies & more.html"
    write_page(docboltz.open(trained), path)
    return path.as_uri()


@pytest.fixture
def page(file: str, open_page: Open) -> Any:
    return open_page(file, offline=True).page


def shows(page: Any, heading: str) -> None:
    playwright.expect(page.locator("#view h2")).to_have_text(re.compile(heading))


def fetched(page: Any) -> list[str]:
    """What was asked for beside the file itself."""
    found = page.evaluate("() => performance.getEntriesByType('resource').map((each) => each.name)")
    return [name for name in found if not name.startswith(("data:", "blob:"))]


def test_opened_searched_and_read(page: Any, trained: Path) -> None:
    assert page.title() == "hobbies · docboltz"
    assert "240 documents" in page.locator(".facts").inner_text()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))

    page.locator("#query").fill("rocket orbit")
    shows(page, "Results for “rocket orbit”")
    titles = page.locator(".hit .title").all_inner_texts()
    expected = docboltz.open(trained).search("rocket orbit", len(titles))
    assert titles[:10] == [hit.title for hit in expected[:10]]
    page.locator(".hit summary").first.click()
    assert page.locator(".hit mark").count() > 0

    page.locator(".hit .title").first.click()
    shows(page, re.escape(titles[0]))
    assert page.locator("#view .bars li").count() >= 1
    assert page.locator(".hit").count() >= 5
    assert asked == fetched(page) == []


def test_a_state_has_an_address(page: Any, file: str, open_page: Open) -> None:
    page.locator("#query").fill("bread oven")
    shows(page, "Results for “bread oven”")
    first = page.locator(".hit .title").first.inner_text()
    again = open_page(page.url, offline=True).page
    shows(again, "Results for “bread oven”")
    assert again.locator(".hit .title").first.inner_text() == first
    page.reload()
    shows(page, "Results for “bread oven”")


def test_a_text_is_pasted(page: Any) -> None:
    page.get_by_role("link", name="Ask with a text").click()
    page.locator("#ask-text").fill("A knight takes the bishop, and the queen gives checkmate.")
    page.get_by_role("button", name="Ask", exact=True).click()
    page.wait_for_selector(".hit")
    assert page.locator(".hit .title").first.inner_text().startswith("About chess")
    assert page.locator(".mark.self").count() == 1


def test_topics_and_a_region(page: Any) -> None:
    assert page.locator("#view .topic:not(.broad)").count() == 6
    page.locator("#view .topic:not(.broad) .title").first.click()
    page.wait_for_selector(".documents")
    assert page.get_by_role("button", name="Rename").count() == 0  # nowhere to keep it
    page.locator("#map .area").press("v")
    shows(page, "documents|Region")
    assert "240" in page.locator("#view").inner_text()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as CSV").click()
    with open(download.value.path(), encoding="utf-8-sig", newline="") as saved:
        assert len(list(csv.DictReader(saved))) == 240


def test_empty_and_unknown_are_said_in_words(page: Any) -> None:
    page.locator("#query").fill("unheardof")
    playwright.expect(page.locator("#view .problem")).to_have_text("No document has: unheardof. ")
    page.locator("#query").fill("shutle launch")
    playwright.expect(page.locator(".remark a")).to_have_text("shuttle")
    page.locator(".remark a").click()
    shows(page, "Results for “shuttle launch”")
    page.locator("#query").fill("rocket since:yesterday")
    playwright.expect(page.locator("#view .problem")).to_contain_text("since: must be a date")


def test_the_grammar_is_that_of_the_server(page: Any, trained: Path) -> None:
    asked = "rocket label:space author:me since:2021 -moon"
    page.locator("#query").fill(asked)
    shows(page, "Results for “rocket label:space")
    titles = page.locator(".hit .title").all_inner_texts()
    expected = [hit.title for hit in docboltz.open(trained).search(asked, 20)]
    assert set(titles) == set(expected)  # scores that differ by less than a thousandth may swap
    assert titles[0] == expected[0]


def test_hostile_texts_run_nothing(hostile: Path, tmp_path: Path, open_page: Open) -> None:
    path = tmp_path / "hostile.html"
    write_page(docboltz.open(hostile), path)
    opened = open_page(path.as_uri(), offline=True)
    page = opened.page
    assert page.locator("h1").inner_text() == "<img src=x onerror=x>"
    page.locator("#query").fill(HOSTILE[0] + " rocket moon")
    page.wait_for_selector(".hit")
    for row in range(5):
        title = page.locator(".hit .title").nth(row)
        name = title.inner_text()
        title.click()
        playwright.expect(page.locator("#view h2")).to_have_text(name)
        page.go_back()
        page.wait_for_selector(".hit")
    made = "() => document.querySelectorAll('#view :is(script, img, iframe)').length"
    assert page.evaluate(made) == 0
    assert page.evaluate("() => window.__hacked") is None
    assert fetched(page) == []


def test_the_policy_lets_nothing_else_run(file: str, open_page: Open) -> None:
    opened = open_page(file)
    opened.expected.append("Content Security Policy")
    refused = opened.page.evaluate(
        """async () => {
          const script = document.createElement("script");
          script.textContent = "window.__hacked = 1";
          document.body.append(script);
          const image = new Image();
          const loaded = new Promise((resolve) => (image.onerror = () => resolve("no image")));
          image.src = "http://127.0.0.1:9/x.png";
          const asked = await fetch("http://127.0.0.1:9/").catch(() => "no fetch");
          return [window.__hacked ?? "no script", await loaded, asked];
        }"""
    )
    assert refused == ["no script", "no image", "no fetch"]
    assert any("Content Security Policy" in each for each in opened.complaints)


@pytest.mark.slow
def test_twenty_newsgroups(tmp_path: Path, open_page: Open) -> None:
    """11,293 documents, as large a model as `docboltz fit` makes: what can still be mailed."""
    try:
        documents = docboltz.load_dataset("20newsgroups").train
    except InvalidCorpus as error:
        pytest.skip(str(error))
    model = docboltz.TextModel.fit(documents, device="cpu")
    path = tmp_path / "news.html"
    write_page(model, path)
    assert path.stat().st_size <= 15_000_000
    page = open_page(path.as_uri(), offline=True).page
    page.locator("#query").fill("space shuttle launch")
    page.wait_for_selector(".hit")
    assert "sci.space" in page.locator(".hit").first.inner_text()
    assert fetched(page) == []
