"""The page of a small collection in a real browser: every view, and every way to it."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import pytest

from tests.browser.conftest import TELEPHONE, THEMES, Open, Server

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")


def heading(page: Any) -> str:
    return page.locator("#view h2").inner_text()


def wait_for_heading(page: Any, pattern: str) -> None:
    playwright.expect(page.locator("#view h2")).to_have_text(re.compile(pattern))


def search(page: Any, text: str) -> None:
    page.locator("#query").fill(text)
    wait_for_heading(page, f"Results for “{text}”")


def test_opened(server: Server, open_page: Open) -> None:
    page = open_page(server.url).page
    assert page.title() == "hobbies · docboltz"
    assert heading(page) == "Topics"
    assert "240 documents" in page.locator(".facts").inner_text()
    assert page.locator("#view .topic:not(.broad)").count() == 6
    names = page.locator(".name:not([hidden])")
    assert names.count() >= 3
    cards = page.locator("#map > .card:visible")
    boxes = [each.nth(i).bounding_box() for each in (names, cards) for i in range(each.count())]
    for i, a in enumerate(boxes):  # no name over another, or under a card
        for b in boxes[:i]:
            apart = (
                a["x"] + a["width"] <= b["x"]
                or b["x"] + b["width"] <= a["x"]
                or a["y"] + a["height"] <= b["y"]
                or b["y"] + b["height"] <= a["y"]
            )
            assert apart, (a, b)


def test_points_are_drawn_where_documents_are(server: Server, open_page: Open) -> None:
    page = open_page(server.url).page
    shot = page.locator("#map .area").screenshot()
    hidden = "() => (document.querySelector('#map canvas').style.visibility = 'hidden')"
    page.evaluate(hidden)
    assert page.locator("#map .area").screenshot() != shot  # what is gone was points


def test_search_as_one_types(server: Server, open_page: Open) -> None:
    page = open_page(server.url).page
    page.locator("#query").press_sequentially("rocket orbit", delay=15)
    wait_for_heading(page, "Results for “rocket orbit”")
    hits = page.locator(".hit")
    assert hits.count() == 20
    assert "rocket" in hits.first.locator("mark").all_inner_texts()
    assert page.locator(".mark.found").count() == 20  # on the map
    assert "20 documents" in page.locator("[role=status]").inner_text()
    assert page.evaluate("() => document.activeElement.id") == "query"


def test_reasons_add_up_to_the_score(server: Server, open_page: Open) -> None:
    page = open_page(server.url + "#/search?q=violin+concert").page
    hit = page.locator(".hit").first
    hit.locator("summary").click()
    numbers = [
        float(text.replace("−", "-")) for text in hit.locator("table .number").all_inner_texts()
    ]
    *parts, score = numbers
    assert sum(parts) == pytest.approx(score, abs=0.0005 * (len(parts) + 1))  # each is rounded
    assert len(parts) > 2
    assert float(hit.locator(".hit-head .number").inner_text()) == score


def test_from_a_hit_to_its_neighbours(server: Server, open_page: Open) -> None:
    page = open_page(server.url + "#/search?q=knight").page
    page.locator(".hit").first.get_by_text("Documents like it").click()
    wait_for_heading(page, "Most like About chess")
    assert page.locator(".hit .title").first.inner_text().startswith("About chess")


def test_late_answers_are_dropped(server: Server, open_page: Open) -> None:
    page = open_page(server.url).page
    late = []
    page.route(re.compile(r"q=bread&"), lambda route: late.append(route))
    page.locator("#query").fill("bread")
    page.wait_for_timeout(400)
    search(page, "knight")
    assert late
    late[0].continue_()
    page.wait_for_timeout(500)
    assert heading(page) == "Results for “knight”"


def test_topic_clicked(server: Server, open_page: Open) -> None:
    page = open_page(server.url).page
    topic = page.locator("#view .topic:not(.broad) .title").first
    name = topic.inner_text()
    topic.click()
    wait_for_heading(page, re.escape(name))
    sections = page.locator("#view h3").all_inner_texts()
    assert {"Words", "Over time", "By label", "Typical documents"} <= set(sections)
    assert page.locator(".chart circle").count() == 24  # months
    assert page.locator(".bars .number").first.inner_text() in ("100 %", "98 %", "95 %")
    title = page.locator(".documents .title").first.inner_text()
    assert title.startswith("About ")
    page.locator(".documents .title").first.click()
    wait_for_heading(page, re.escape(title))


def test_topic_clicked_on_the_map(server: Server, open_page: Open) -> None:
    page = open_page(server.url).page
    name = page.locator(".name:not([hidden])").first
    text = name.inner_text()
    name.click()
    wait_for_heading(page, re.escape(text))


def free_mark(page: Any) -> tuple[float, float]:
    """Where a hit is on the map that lies under no name."""
    page.wait_for_selector(".mark.found")
    for mark in page.locator(".mark.found").all():
        box = mark.bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        covered = "([x, y]) => document.elementFromPoint(x, y).closest('a, section, header, aside')"
        if not page.evaluate(covered, [x, y]):
            return x, y
    raise AssertionError("every hit lies under a name")


def test_hover_shows_the_text_and_a_click_opens_it(server: Server, open_page: Open) -> None:
    page = open_page(server.url + "#/search?q=bread+flour").page
    x, y = free_mark(page)
    page.mouse.move(x, y)
    playwright.expect(page.locator(".hover")).to_be_visible()
    assert "About baking" in page.locator(".hover .title").inner_text()
    assert "baking/" in page.locator(".hover .id").inner_text()
    page.mouse.click(x, y)
    wait_for_heading(page, "About baking")


def test_document_says_which_words_do_what(server: Server, open_page: Open) -> None:
    page = open_page(server.url + "#/document/music%2F4").page
    wait_for_heading(page, "About music, no. 4")
    assert page.locator("#view > .id").inner_text() == "music/4"
    about = page.locator("#view > .about").inner_text()
    assert "music" in about
    assert "2020-01-05" in about
    assert "author: you" in about
    text = page.locator(".text").inner_text()
    assert text.endswith(".")
    assert len(text.split()) == 800  # all of it
    assert "\n\n" in text
    numbers = page.locator(".unit table .number").all_inner_texts()
    *parts, total = [float(text.replace("−", "-")) for text in numbers]
    assert sum(parts) == pytest.approx(total, abs=0.005 * (len(parts) + 1))
    assert page.locator(".text mark").count() > 0
    before = page.locator(".unit caption").inner_text()
    page.locator(".units button").nth(1).click()
    assert page.locator(".unit caption").inner_text() != before
    assert page.locator(".mark.self").count() == 1


def test_a_text_is_pasted(server: Server, open_page: Open) -> None:
    page = open_page(server.url).page
    page.get_by_role("link", name="Ask with a text").click()
    page.wait_for_selector("#ask-text:focus")  # one may write at once
    page.locator("#ask-text").fill("The astronaut saw the moon from the shuttle. Qwertyuiop!")
    page.get_by_role("button", name="Ask", exact=True).click()
    page.wait_for_selector(".hits")
    assert page.locator(".hit .title").first.inner_text().startswith("About space")
    assert page.locator(".chips .chip").count() > 3  # words that are expected
    assert "qwertyuiop" in page.locator("#view").inner_text().lower()
    assert page.locator(".mark.self").count() == 1


def lasso(page: Any, corners: list[tuple[float, float]]) -> None:
    page.get_by_role("button", name="Lasso").click()
    page.mouse.move(*corners[0])
    page.mouse.down()
    for corner in corners[1:]:
        page.mouse.move(*corner, steps=6)
    page.mouse.up()
    wait_for_heading(page, "in the region")


def test_region_is_lassoed_and_saved(server: Server, open_page: Open) -> None:
    page = open_page(server.url).page
    lasso(page, [(60, 90), (740, 90), (740, 780), (60, 780)])
    documents = int(heading(page).split()[0])
    assert 0 < documents <= 240
    assert {"Words", "By label", "By topic", "Documents"} <= set(
        page.locator("#view h3").all_inner_texts()
    )
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as CSV").click()
    with open(download.value.path(), encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == documents
    assert {row["labels"] for row in rows} <= set(THEMES)
    assert all(row["text"] and row["date"] for row in rows)
    assert any(row["topic_name"] for row in rows)  # some belong to no topic


def test_csv_never_holds_a_formula(server: Server, open_page: Open) -> None:
    page = open_page(server.url).page
    cells = [["=1+1", "+2"], ["-3", "@x"], [-4.5, 'say "hi", all'], ["\t=1", "a\nb"]]
    script = "(cells) => import('/csv.js').then(({ table }) => table(['a', 'b'], cells))"
    rows = list(csv.reader(io.StringIO(page.evaluate(script, cells))))
    assert rows == [
        ["a", "b"], ["'=1+1", "'+2"], ["'-3", "'@x"], ["-4.5", 'say "hi", all'],
        ["'\t=1", "a\nb"],
    ]  # fmt: skip


def test_colours_and_legend(server: Server, open_page: Open) -> None:
    page = open_page(server.url).page
    page.locator("#colour").select_option("label")
    assert page.locator(".legend-list li").count() == 6
    assert "color=label" in page.url
    page.locator(".legend-list button").first.click()
    assert page.locator(".legend-list [aria-pressed=true]").count() == 1
    page.locator("#colour").select_option("date")
    assert "2020-01-01" in page.locator(".legend").inner_text()


def test_renamed_topic_stays_so_after_a_restart(own_server: Server, open_page: Open) -> None:
    page = open_page(own_server.url + "#/topic/0").page
    page.get_by_role("button", name="Rename").click()
    page.get_by_label("Name of the topic").fill("my <b>favourite</b>")
    page.get_by_role("button", name="Save").click()
    wait_for_heading(page, "my <b>favourite</b>")
    playwright.expect(page.locator(".names")).to_contain_text("my <b>favourite</b>")
    own_server.stop()
    own_server.start()
    again = open_page(own_server.url + "#/topic/0").page
    wait_for_heading(again, "my <b>favourite</b>")


def test_topics_merged(own_server: Server, open_page: Open) -> None:
    page = open_page(own_server.url).page
    page.get_by_role("button", name="Merge topics…").click()
    boxes = page.get_by_role("checkbox")
    boxes.nth(0).check()
    assert page.get_by_role("button", name="Merge", exact=True).is_disabled()
    boxes.nth(1).check()
    page.get_by_role("button", name="Merge 2 topics").click()
    page.wait_for_url(re.compile("#/topic/"))
    playwright.expect(page.locator("#view")).to_contain_text("80 documents")
    page.get_by_role("tab", name="Topics").click()
    playwright.expect(page.locator("#view")).to_contain_text("5 topics")


def test_back_and_forward(server: Server, open_page: Open) -> None:
    page = open_page(server.url).page
    search(page, "tulip")
    page.locator(".hit .title").first.click()
    wait_for_heading(page, "About garden")
    page.go_back()
    wait_for_heading(page, "Results for “tulip”")
    assert page.locator("#query").input_value() == "tulip"
    page.go_back()
    wait_for_heading(page, "Topics")
    page.go_forward()
    wait_for_heading(page, "Results for “tulip”")
    page.reload()
    wait_for_heading(page, "Results for “tulip”")


def test_an_address_says_what_is_seen(server: Server, open_page: Open) -> None:
    first = open_page(server.url + "#/topics?color=label").page
    first.locator("#map .area").focus()
    for key in ["+", "+", "ArrowRight", "ArrowUp"]:
        first.keyboard.press(key)
    first.wait_for_url(re.compile(r"zoom=1\.8"))
    second = open_page(first.url).page
    names = first.locator(".name:not([hidden])").count()  # more when the map is at rest
    playwright.expect(second.locator(".name:not([hidden])")).to_have_count(names)
    shown = [
        page.locator(".name:not([hidden])").evaluate_all(
            "(all) => all.map((e) => e.getBoundingClientRect()).flatMap(({ x, y }) => [x, y])"
        )
        for page in (first, second)
    ]
    assert shown[0] == pytest.approx(shown[1], abs=1)  # pixels: addresses are rounded
    assert shown[0]
    assert second.locator("#colour").input_value() == "label"


def test_keyboard_alone(server: Server, open_page: Open) -> None:
    page = open_page(server.url).page
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.className") == "skip"
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.getAttribute('role')") == "application"
    page.keyboard.press("+")
    page.keyboard.press("v")  # the documents in view
    wait_for_heading(page, "in the region")
    page.keyboard.press("/")
    page.keyboard.type("pawn")
    wait_for_heading(page, "Results for “pawn”")
    for _ in range(3):  # past "Ask with a text" and the tabs into the results
        page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.classList.contains('title')")
    page.keyboard.press("Enter")
    wait_for_heading(page, "About chess")
    assert (
        page.evaluate("() => document.activeElement.tagName") == "H2"
    )  # where one was: in the view
    page.get_by_role("tab", name="Document").focus()
    page.keyboard.press("ArrowLeft")
    wait_for_heading(page, "Results for “pawn”")


def test_telephone(server: Server, open_page: Open) -> None:
    page = open_page(server.url, viewport=TELEPHONE, has_touch=True, is_mobile=True).page
    assert page.evaluate("() => document.documentElement.scrollWidth") == 390
    panel = page.locator("#panel").bounding_box()
    assert panel["y"] > 300
    assert panel["width"] == 390
    search(page, "moon")
    page.get_by_role("button", name="Fold the panel").click()
    assert not page.locator("#view").is_visible()
    page.get_by_role("button", name="Unfold the panel").tap()
    assert page.locator(".hit").first.is_visible()


def test_light_and_dark(server: Server, open_page: Open) -> None:
    paper = "() => getComputedStyle(document.body).backgroundColor"
    page = open_page(server.url, dark=True).page
    dark = page.evaluate(paper)
    page.get_by_role("button", name="Light or dark").click()
    light = page.evaluate(paper)
    assert dark != light
    page.reload()
    assert page.evaluate(paper) == light  # it is remembered
    assert open_page(server.url).page.evaluate(paper) == light


def test_empty_results_are_said_in_words(server: Server, open_page: Open) -> None:
    page = open_page(server.url).page
    search(page, "qwertyuiop")
    assert "qwertyuiop" in page.locator("#view").inner_text()
    assert page.locator("#view .problem").inner_text() == "No document has: qwertyuiop."
    assert page.locator("[role=status]").inner_text().startswith("No documents for")
    page.goto(server.url + "#/region?shape=0.9,0.9;0.91,0.9;0.91,0.91")
    wait_for_heading(page, "An empty region")


def test_what_may_have_been_meant_is_a_link(server: Server, open_page: Open) -> None:
    page = open_page(server.url).page
    search(page, "shutle launch")
    told = page.locator("#view .remark").inner_text()
    assert told == "No document has: shutle. Did you mean: shuttle?"
    assert page.locator(".hit").count() == 20
    page.locator(".remark a").click()
    wait_for_heading(page, "Results for “shuttle launch”")
    assert page.locator("#query").input_value() == "shuttle launch"
    assert page.locator(".remark").count() == 0


def test_operators(server: Server, open_page: Open) -> None:
    page = open_page(server.url).page
    search(page, "rocket label:space author:me since:2021 -moon")
    assert set(page.locator(".hit .about .chip").all_inner_texts()) == {"space"}
    assert "moon" not in page.locator(".hits").inner_text()
    assert all("author: me" in text for text in page.locator(".hit .about").all_inner_texts())
    page.locator("#query").fill('"rocket knight bread"')
    playwright.expect(page.locator(".remark")).to_have_text(
        "No document has the phrase “rocket knight bread”. These are about its words."
    )
    assert page.locator(".hit").count() > 0


def test_a_filter_half_typed_is_said_in_words(server: Server, open_page: Open) -> None:
    opened = open_page(server.url)
    opened.expected.append("400")
    search(opened.page, "rocket label:spa")
    told = opened.page.locator("#view .problem")
    playwright.expect(told).to_contain_text("No document has the label 'spa'.")
    search(opened.page, "rocket label:space")
    assert opened.page.locator(".hit").count() > 5


def test_a_slow_answer_is_said_in_words(server: Server, open_page: Open) -> None:
    page = open_page(server.url).page
    held = []
    page.route(re.compile("api/search"), lambda route: held.append(route))
    page.locator("#query").fill("loaf")
    playwright.expect(page.locator("[role=status]")).to_have_text("Loading…")
    playwright.expect(page.locator("[role=status]")).to_contain_text("longer than usual")
    held[0].continue_()
    wait_for_heading(page, "Results for “loaf”")


def test_a_missing_document_is_said_in_words(server: Server, open_page: Open) -> None:
    opened = open_page(server.url + "#/document/nobody")
    opened.expected.append("404")
    wait_for_heading(opened.page, "That did not work")
    assert "no document" in opened.page.locator("#view").inner_text()


def test_a_stopped_server_is_said_in_words(own_server: Server, open_page: Open) -> None:
    opened = open_page(own_server.url)
    opened.expected.append("net::ERR_CONNECTION_REFUSED")
    page = opened.page
    own_server.stop()
    page.locator("#query").fill("oven")
    wait_for_heading(page, "The server does not answer")
    assert "start it again" in page.locator("#view .problem").inner_text()
    own_server.start()
    page.get_by_role("button", name="Retry").click()
    wait_for_heading(page, "Results for “oven”")


def test_a_map_that_is_being_made_is_said_in_words(server: Server, open_page: Open) -> None:
    page = open_page(server.url).page
    ready = page.request.get(server.url + "api/collection").json()
    answers = [{**ready, "has_map": False, "map_progress": 0.37}]
    page.route(
        re.compile("api/collection"),
        lambda route: route.fulfill(json=answers.pop() if answers else ready),
    )
    page.reload()
    playwright.expect(page.locator(".map-message")).to_have_text("The map is being made: 37 %")
    assert page.locator("#view .topic").count() > 0  # all else can be used meanwhile
    playwright.expect(page.locator(".map-message")).to_be_hidden()
    assert page.locator(".name:not([hidden])").count() > 0


def test_tabs_without_anything_yet_say_what_to_do(server: Server, open_page: Open) -> None:
    page = open_page(server.url).page
    for tab, told in [
        ("Results", "Type words"),
        ("Document", "Choose a document"),
        ("Region", "Choose documents on the map"),
    ]:
        page.get_by_role("tab", name=tab).click()
        playwright.expect(page.locator("#view")).to_contain_text(told)
        assert page.get_by_role("tab", name=tab).get_attribute("aria-selected") == "true"
        assert tab.lower().replace("results", "search") in page.url
