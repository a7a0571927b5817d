"""The page of a real collection, 20 Newsgroups, and pictures of it.

DOCBOLTZ_20NEWS is the folder of its model, made by `docboltz fit` (it is copied, not changed);
DOCBOLTZ_PICTURES, if set, a folder for the pictures.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import TELEPHONE, Open, Server, serving
from tests.browser.test_accessible import faults
from tests.browser.test_page import heading, lasso, search, wait_for_heading

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
MODEL = os.environ.get("DOCBOLTZ_20NEWS", "")
WINDOW = {"width": 1440, "height": 900}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not MODEL, reason="needs a model of 20 Newsgroups in DOCBOLTZ_20NEWS"),
]


@pytest.fixture(scope="module")
def newsgroups(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    copy = shutil.copytree(MODEL, tmp_path_factory.mktemp("20news") / "20 Newsgroups")
    with serving(Path(copy), patience=300) as server:  # the map may have to be made
        yield server


def picture(page: Any, name: str) -> None:
    page.wait_for_timeout(700)  # fonts, and all points at rest
    if folder := os.environ.get("DOCBOLTZ_PICTURES"):
        page.screenshot(path=Path(folder) / f"{name}.png")


def test_used_as_people_do(newsgroups: Server, open_page: Open) -> None:
    page = open_page(newsgroups.url, viewport=WINDOW).page
    assert "11,314 documents" in page.locator(".facts").inner_text()
    search(page, "space shuttle launch")
    assert page.locator(".hit .id").first.inner_text().startswith("sci.space/")
    page.locator(".hit .topic-link").first.click()
    page.wait_for_selector(".documents")
    topic = heading(page)
    page.get_by_role("button", name="Zoom to it").click()
    lasso(page, [(300, 200), (700, 200), (700, 700), (300, 700)])
    assert "sci.space" in page.locator(".bar-name").all_inner_texts()
    page.get_by_role("link", name="Ask with a text").click()
    page.locator("#ask-text").fill("My motorcycle makes a strange noise when the engine is cold.")
    page.get_by_role("button", name="Ask", exact=True).click()
    page.wait_for_selector(".hit")
    assert any(
        label.startswith("rec.") for label in page.locator(".hit .about .chip").all_inner_texts()
    )
    page.get_by_role("tab", name="Topics").click()
    wait_for_heading(page, re.escape(topic))
    page.get_by_role("button", name="Rename").click()
    page.get_by_label("Name of the topic").fill("space flight")
    page.get_by_role("button", name="Save").click()
    wait_for_heading(page, "space flight")
    newsgroups.stop()
    newsgroups.start()
    again = open_page(page.url, viewport=WINDOW).page
    wait_for_heading(again, "space flight")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_pictures(newsgroups: Server, open_page: Open, dark: bool) -> None:
    kind = "dark" if dark else "light"
    page = open_page(newsgroups.url, dark=dark, viewport=WINDOW).page
    picture(page, f"map-{kind}")
    search(page, "space shuttle launch")
    page.locator(".hit summary").first.click()
    picture(page, f"search-{kind}")
    assert faults(page) == []
    page.locator(".hit .topic-link").first.click()
    page.wait_for_selector(".documents")
    picture(page, f"topic-{kind}")
    assert faults(page) == []
    page.locator(".documents .title").first.click()
    page.wait_for_selector(".unit")
    picture(page, f"document-{kind}")
    assert faults(page) == []
    page.locator("#colour").select_option("label")
    lasso(page, [(420, 420), (640, 400), (700, 560), (520, 640), (410, 540)])
    picture(page, f"region-{kind}")
    assert faults(page) == []
    phone = open_page(newsgroups.url, dark=dark, viewport=TELEPHONE, device_scale_factor=2).page
    picture(phone, f"telephone-{kind}")
