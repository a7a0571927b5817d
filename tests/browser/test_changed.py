"""The collection changes while its page is open: what is shown belongs together all the same."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import pytest

import docboltz
from tests.browser.conftest import Open, Opened, Server, sentences, write_table
from tests.browser.test_page import free_mark, lasso, wait_for_heading

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")

CHANGED = "The collection has changed: the map and its topics were loaded anew."


def reindex(server: Server, page: Any) -> dict[str, str]:
    """Other documents in another order, with a map; gives texts by ids once the server has them."""
    before = build(server, page)
    texts = [text for _, text in sentences(7)][:150]
    random.Random(3).shuffle(texts)
    documents = {f"new/{i}": text for i, text in enumerate(texts)}
    rows = [[id, text] for id, text in documents.items()]
    table = write_table(server.folder.parent / "new.csv", ["id", "text"], rows)
    model = docboltz.open(server.folder)
    model.index(docboltz.read(table, text="text", id="id"))
    model.map()
    wait_for(page, lambda: about(server, page)["has_map"] and build(server, page) != before)
    return documents


def about(server: Server, page: Any) -> dict[str, Any]:
    found: dict[str, Any] = page.request.get(server.url + "api/collection").json()
    return found


def build(server: Server, page: Any) -> str:
    return str(about(server, page)["build"])


def wait_for(page: Any, holds: Callable[[], bool]) -> None:
    for _ in range(150):
        if holds():
            return
        page.wait_for_timeout(100)
    raise AssertionError("it does not come true")


def opened_page(server: Server, open_page: Open, address: str = "") -> Opened:
    """A page whose browser may complain of refusals, and of nothing else."""
    opened = open_page(server.url + address)
    opened.expected.append("409")
    return opened


def assert_told(page: Any) -> None:
    playwright.expect(page.locator("[role=status]")).to_contain_text(CHANGED)
    playwright.expect(page.locator("#view .problem")).to_contain_text(CHANGED)
    playwright.expect(page.locator(".facts")).to_contain_text("150 documents")


def test_a_click_opens_the_document_of_the_point(own_server: Server, open_page: Open) -> None:
    page = opened_page(own_server, open_page, "#/search?q=bread+flour").page
    wait_for_heading(page, "Results for “bread flour”")
    documents = reindex(own_server, page)
    page.mouse.click(*free_mark(page))  # of the map before
    assert_told(page)
    wait_for_heading(page, "Results for “bread flour”")  # nothing else was opened
    assert all(id in documents for id in page.locator(".hit .id").all_inner_texts())
    x, y = free_mark(page)  # of the map that is shown now
    page.mouse.move(x + 40, y + 40)
    page.mouse.move(x, y)
    playwright.expect(page.locator(".hover .about")).to_contain_text("new/")
    id = page.locator(".hover .id").inner_text()
    page.mouse.click(x, y)
    playwright.expect(page.locator("#view > .id")).to_have_text(id)
    assert page.locator("#view .text").inner_text() == documents[id]


def test_a_search_takes_up_what_is_new(own_server: Server, open_page: Open) -> None:
    page = opened_page(own_server, open_page).page
    documents = reindex(own_server, page)
    page.locator("#query").fill("rocket orbit")
    wait_for_heading(page, "Results for “rocket orbit”")
    assert_told(page)
    hits = page.locator(".hit .id").all_inner_texts()
    assert len(hits) == 20
    assert all("rocket" in documents[id] or "orbit" in documents[id] for id in hits[:5])
    assert page.locator(".mark.found").count() == 20
    page.locator("#query").fill("rocket")
    wait_for_heading(page, "Results for “rocket”")
    assert page.locator("#view .problem").count() == 0  # said once


def test_a_lasso_gives_the_documents_inside(own_server: Server, open_page: Open) -> None:
    page = opened_page(own_server, open_page).page
    documents = reindex(own_server, page)
    lasso(page, [(60, 90), (740, 90), (740, 780), (60, 780)])
    assert_told(page)
    count = int(page.locator("#view h2").inner_text().split()[0])
    assert 0 < count <= 150
    shown = page.locator("#view .document-item")
    for item in shown.all()[:10]:
        id = item.locator(".id").inner_text()
        assert documents[id].startswith(item.locator(".snippet").inner_text().rstrip("…")[:40])


def test_a_document_that_is_gone_is_said_in_words(own_server: Server, open_page: Open) -> None:
    opened = opened_page(own_server, open_page, "#/search?q=violin")
    opened.expected.append("404")
    page = opened.page
    link = page.locator(".hit .title").first
    playwright.expect(link).to_be_visible()
    reindex(own_server, page)
    link.click()
    wait_for_heading(page, "That did not work")
    assert "no document" in page.locator("#view").inner_text()
    playwright.expect(page.locator(".facts")).to_contain_text("150 documents")


def test_a_rename_of_other_topics_is_refused(own_server: Server, open_page: Open) -> None:
    page = opened_page(own_server, open_page, "#/topic/0").page
    page.get_by_role("button", name="Rename").click()
    field = page.get_by_label("Name of the topic")
    field.fill("my own name")
    before = build(own_server, page)
    docboltz.open(own_server.folder).topics(4)
    wait_for(page, lambda: build(own_server, page) != before)
    page.get_by_role("button", name="Save").click()
    told = page.locator("#view .problem")
    playwright.expect(told).to_contain_text("topics have changed meanwhile")
    playwright.expect(page.locator("[role=status]")).to_contain_text("have changed meanwhile")
    playwright.expect(field).to_have_value("my own name")
    playwright.expect(page.locator(".facts")).to_contain_text("4 topics")
    now = page.request.get(own_server.url + "api/topics").json()
    assert "my own name" not in [topic["name"] for topic in now]
    page.get_by_role("button", name="Save").click()  # of the topic that is seen now
    wait_for_heading(page, "my own name")
    now = page.request.get(own_server.url + "api/topics").json()
    assert [t["topic"] for t in now if t["name"] == "my own name"] == [0]


def test_topics_that_are_others_are_not_merged(own_server: Server, open_page: Open) -> None:
    page = opened_page(own_server, open_page).page
    page.get_by_role("button", name="Merge topics…").click()
    for i in range(2):
        page.get_by_role("checkbox").nth(i).check()
    before = build(own_server, page)
    docboltz.open(own_server.folder).topics(4)
    wait_for(page, lambda: build(own_server, page) != before)
    page.get_by_role("button", name="Merge 2 topics").click()
    told = page.locator("#view .problem")
    playwright.expect(told).to_contain_text("topics have changed meanwhile")
    assert page.locator("#view .topic:not(.broad)").count() == 4
    assert "#/topic/" not in page.url


def test_a_map_that_is_made_anew_is_waited_for(own_server: Server, open_page: Open) -> None:
    page = opened_page(own_server, open_page).page
    now = {**about(own_server, page), "build": "another", "has_map": False, "map_progress": 0.5}
    state = {"collection": now, "map": {"build": "another"}}

    def other(route: Any) -> None:
        name = route.request.url.rsplit("/", 1)[1]
        route.fulfill(json={**route.fetch().json(), **state[name]})

    page.route(re.compile("api/(collection|map)$"), other)
    page.route(
        re.compile("api/search"),
        lambda route: route.fulfill(json={**route.fetch().json(), "build": now["build"]}),
    )
    page.locator("#query").fill("pawn")
    playwright.expect(page.locator(".map-message")).to_have_text("The map is being made: 50 %")
    wait_for_heading(page, "Results for “pawn”")
    assert page.locator(".name:not([hidden])").count() == 0  # nothing of the map before
    assert page.locator(".mark").count() == 0
    page.unroute_all()
    playwright.expect(page.locator(".map-message")).to_be_hidden()
    playwright.expect(page.locator(".mark.found")).to_have_count(20)


def test_two_states_in_turn_end_in_words(own_server: Server, open_page: Open) -> None:
    page = opened_page(own_server, open_page).page
    asked: list[str] = []

    def never_the_same(route: Any) -> None:
        asked.append(route.request.url)
        route.fulfill(json={**route.fetch().json(), "build": f"state {len(asked)}"})

    page.route(re.compile("api/search"), never_the_same)
    page.locator("#query").fill("oven")
    wait_for_heading(page, "The collection has changed")
    page.wait_for_timeout(500)
    assert len(asked) == 2
    page.unroute_all()
    page.get_by_role("button", name="Retry").click()
    wait_for_heading(page, "Results for “oven”")


def test_an_address_with_a_colour_of_no_meaning(server: Server, open_page: Open) -> None:
    page = open_page(server.url + "#/topics?color=toString").page
    assert page.locator("#colour").input_value() == "topic"
    assert page.locator(".name:not([hidden])").count() >= 3


def test_whoever_comes_back_sees_a_new_name(own_server: Server, open_page: Open) -> None:
    page = opened_page(own_server, open_page, "#/topics").page
    wait_for_heading(page, "Topics")
    before = build(own_server, page)
    docboltz.open(own_server.folder).rename_topic(0, "named in a shell")
    wait_for(page, lambda: build(own_server, page) != before)
    page.evaluate("() => void window.dispatchEvent(new Event('focus'))")
    playwright.expect(page.locator("#view .topics")).to_contain_text("named in a shell")
