"""A collection that would like to run: all of it is shown as text, and nothing else happens."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import HOSTILE, Open, serving
from tests.browser.test_page import free_mark

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")


def assert_nothing_ran(page: Any) -> None:
    assert page.evaluate("() => window.__hacked") is None
    assert page.locator(":is(#panel, #map) :is(script, img, iframe, object, embed)").count() == 0
    assert page.locator("script").count() == 1  # main.js


def test_nothing_runs(hostile: Path, open_page: Open) -> None:
    with serving(hostile) as server:
        page = open_page(server.url).page
        assert page.locator("h1").inner_text() == "<img src=x onerror=x>"
        assert_nothing_ran(page)

        page.locator("#colour").select_option("label")
        shown = page.locator(".legend-list bdi").all_inner_texts()
        assert HOSTILE[0] in shown
        assert HOSTILE[1] in shown

        page.locator("#view .topic:not(.broad) .title").first.click()
        page.wait_for_selector(".documents")
        assert_nothing_ran(page)

        page.get_by_role("button", name="Rename").click()
        page.get_by_label("Name of the topic").fill(HOSTILE[1])
        page.get_by_role("button", name="Save").click()
        playwright.expect(page.locator("#view h2")).to_have_text(HOSTILE[1])
        playwright.expect(page.locator(".names")).to_contain_text(HOSTILE[1])

        page.locator("#query").fill(HOSTILE[0] + " rocket moon")
        page.wait_for_selector(".hit")
        titles = page.locator(".hit .title").all_inner_texts()
        assert any("__hacked" in title for title in titles)
        page.locator(".hit summary").first.click()
        assert_nothing_ran(page)

        page.get_by_role("button", name="Zoom to the hits").click()
        page.wait_for_timeout(300)
        page.mouse.move(*free_mark(page))
        playwright.expect(page.locator(".hover")).to_be_visible()
        assert_nothing_ran(page)

        for row in range(
            5
        ):  # titles and ids with slashes, quotes, control characters and marks of direction
            title = page.locator(".hit .title").nth(row)
            id = title.text_content()
            title.click()
            playwright.expect(page.locator("#view h2")).to_have_text(id, use_inner_text=False)
            page.wait_for_selector(".unit")
            assert_nothing_ran(page)
            page.go_back()
            playwright.expect(page.locator("#view h2")).to_have_text(re.compile("Results"))

        page.keyboard.press("Escape")
        page.get_by_role("button", name="Take the documents in view").first.click()
        playwright.expect(page.locator("#view h2")).to_have_text(re.compile("in the region"))
        with page.expect_download() as download:
            page.get_by_role("button", name="Save as CSV").click()
        with open(download.value.path(), encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
        assert any(row["id"].startswith("'=cmd") for row in rows)
        assert not any(row[name][:1] in "=+@" for row in rows for name in row if row[name])
        assert_nothing_ran(page)


def test_addresses_made_by_others(server: Any, open_page: Open) -> None:
    page = open_page(server.url + "#/search?q=%3Cimg%20src%3Dx%20onerror%3Dx%3E%20bread").page
    page.wait_for_selector(".hit")
    assert "<img src=x onerror=x>" in page.locator("h2").inner_text()
    for address in [
        "#/topic/x",
        "#/%",
        "#/region?shape=1,2;x",
        "#/ask?text=%00",
        "#/__proto__",
        "#/topics?x=NaN&zoom=-1",
    ]:
        page.goto(server.url + address)
        page.wait_for_selector("#view h2")
    assert_nothing_ran(page)
