"""Saved views in a real Chromium: kept beyond a session, opened, brought back, side by side."""

from __future__ import annotations

from urllib.parse import parse_qs, urljoin, urlsplit

import pytest

from tests.browser.seen import chart, rest

pytestmark = pytest.mark.browser
SHELF = ".st-key-shelf"


def open_shelf(page):
    page.get_by_role("button", name="Views").click()
    page.locator(SHELF).wait_for()
    return page.locator(SHELF)


def test_a_saved_view_is_opened_in_another_session_and_removed_and_brought_back(visit):
    page = visit("/models?layout=mds&k=5")
    chart(page, "model-map")
    open_shelf(page)
    page.get_by_role("textbox", name="Name").fill("Nearest <five>")
    page.get_by_role("button", name="Save this view").click()
    page.get_by_role("link", name="Nearest <five>").wait_for()

    other = visit("/captions")
    open_shelf(other).get_by_role("link", name="Nearest <five>").click()
    other.wait_for_url("**/models?dataset=cave&k=5&layout=mds")
    chart(other, "model-map")
    other.locator(SHELF).wait_for(state="detached")  # another page closes it
    rest(other)
    shelf = open_shelf(other)
    shelf.locator("[class*=st-key-remove] button").first.click()  # the other one is in a tooltip
    shelf.get_by_role("link", name="Nearest <five>").wait_for(state="detached")
    other.get_by_role("button", name="Undo").click()
    again = shelf.get_by_role("link", name="Nearest <five>")
    again.wait_for()
    link = urlsplit(urljoin(other.url, again.get_attribute("href")))
    assert link.path == "/models"
    assert parse_qs(link.query) == {"dataset": ["cave"], "k": ["5"], "layout": ["mds"]}


def test_two_views_stand_side_by_side_and_work(visit):
    page = visit("/models?layout=mds", theme="dark")
    chart(page, "model-map")
    open_shelf(page)
    page.get_by_role("link", name="Two side by side").click()
    page.wait_for_url("**/views?left=%2Fmodels%3Fdataset%3Dcave%26layout%3Dmds")
    sides = [page.frame_locator("iframe").nth(side) for side in (0, 1)]
    sides[0].locator(".st-key-chart-model-map .main-svg").first.wait_for()
    sides[1].locator("[class*=st-key-chart] .main-svg").first.wait_for()
    paper = "getComputedStyle(document.querySelector('.stApp')).backgroundColor"
    assert {frame.evaluate(paper) for frame in page.frames} == {"rgb(21, 24, 29)"}
    sides[0].get_by_text("Table", exact=True).click()
    sides[0].locator("[data-testid=stDataFrame]").first.wait_for()
    page.frames[1].wait_for_url("**view=table*")
    tops = "[...document.querySelectorAll('iframe')].map(one => one.getBoundingClientRect().y)"
    first, second = page.evaluate(tops)
    assert first == second
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_function(
        "() => { const [a, b] = [...document.querySelectorAll('iframe')].map(one =>"
        " one.getBoundingClientRect()); return a.bottom < b.top && a.width <= 390; }"
    )
