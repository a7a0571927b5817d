"""axe-core finds no serious fault in any view, light or dark."""

from __future__ import annotations

import pytest

from tests.browser.conftest import TELEPHONE, Open, Server

axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-core")

VIEWS = {  # addresses, and what is there when they are shown, and not in the view before
    "topics": ("#/topics", ".topics"),
    "topic": ("#/topic/0", ".documents"),
    "search": ("#/search?q=bread+yeast", ".hit"),
    "ask": ("#/ask?text=the+rocket+and+the+moon", ".chips"),
    "document": ("#/document/music%2F4", "h2:has-text('About music')"),
    "region": ("#/region?shape=-1,-1;1,-1;1,1;-1,1&color=label", "h2:has-text('in the region')"),
    "nothing": ("#/search?q=qwertyuiop", ".problem"),
}


def faults(page: object) -> list[str]:
    found = axe.Axe().run(page).response["violations"]
    serious = [each for each in found if each["impact"] in ("serious", "critical")]
    return [f"{each['id']}: {node['html']}" for each in serious for node in each["nodes"]]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_no_serious_fault(server: Server, open_page: Open, dark: bool) -> None:
    page = open_page(server.url, dark=dark).page
    for name, (address, there) in VIEWS.items():
        page.goto(server.url + address)
        page.wait_for_selector(f"#view:not(.waiting) {there}")
        for summary in page.locator("#view details:not([open]) summary").all()[:1]:
            summary.click()
        assert faults(page) == [], name


def test_no_serious_fault_on_a_telephone(server: Server, open_page: Open) -> None:
    page = open_page(server.url + VIEWS["search"][0], viewport=TELEPHONE).page
    page.wait_for_selector(".hit")
    assert faults(page) == []
