"""Stimuli as a workspace, in a real Chromium: pointing, choosing, opening, walking and keys."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from core.study.selections import decode
from tests.browser.seen import aim, chart, choose, picture, press, rest, strike, tiles
from tests.browser.server import PATIENCE

pytestmark = pytest.mark.browser
FIVE = "/[?&]stimulus=5(&|$)/.test(location.search)"
MAP = "/stimuli?map=residuals"
DOTS = """() => {
  const chart = document.querySelector(".st-key-chart-stimulus-map .js-plotly-plot");
  if (!chart?._fullLayout) return [];  // it is drawn anew in this moment
  const { xaxis, yaxis } = chart._fullLayout, { left, top } = chart.getBoundingClientRect();
  return chart._fullData.filter((one) => one.customdata).flatMap((trace) =>
    trace.customdata.map(([id], i) => ({ id,
      x: left + xaxis._offset + xaxis.d2p(trace.x[i]),
      y: top + yaxis._offset + yaxis.d2p(trace.y[i]) })));
}"""

INSIDE = """card => {
  const { top, bottom } = card.getBoundingClientRect();
  return card.querySelector("img").naturalWidth > 0 && top >= 0 && bottom <= innerHeight;
}"""
# how many colors the dots have, more than two, once the legend names as many
COLORS = """() => {
  const all = part => [...document.querySelectorAll(`.st-key-chart-stimulus-map ${part}`)];
  const colors = new Set(all(".points path").map(dot => dot.style.fill)).size;
  return all(".legendtext").length === colors && colors > 2 && colors;
}"""


def dots(page) -> list[dict]:
    chart(page, "stimulus-map")
    rest(page)
    page.wait_for_timeout(1000)  # until the chart is heard
    return page.evaluate(DOTS)


def lone(page) -> dict | None:
    """Return the dot that is farthest from all others, None while there is none."""
    every = dots(page)

    def room(dot: dict) -> float:
        return min(
            (dot["x"] - one["x"]) ** 2 + (dot["y"] - one["y"]) ** 2
            for one in every
            if one["id"] != dot["id"]
        )

    return max(every, key=room, default=None)


def brushed(page) -> list[int]:
    code = re.search(r"brushed=([^&]+)", page.url)
    return decode(code.group(1), 80).tolist() if code else []


def test_pointing_at_a_dot_shows_its_picture_and_caption(visit):
    page = visit(MAP)
    dot = aim(page, "stimulus-map", lambda: lone(page))
    card = page.locator(".st-key-card-stimulus-map .card")
    assert card.locator("b").inner_text().startswith(f"stimulus {dot['id']} · dispersion")
    assert f"event {dot['id']}" in card.locator("span").inner_text()
    page.wait_for_function(INSIDE, arg=card.element_handle())
    page.mouse.move(5, 5)
    card.wait_for(state="hidden")
    assert "?map=residuals" in page.url  # nothing else has changed
    assert "stimulus=" not in page.url


def test_shift_chooses_on_the_map_and_in_the_pictures_and_escape_chooses_none(visit):
    page = visit(MAP)
    chosen = "location.search.includes('brushed=')"
    dot = press(page, "stimulus-map", lambda: lone(page), until=chosen, held="Shift")
    assert brushed(page) == [dot["id"]]
    tiles(page, "all").nth(1).wait_for(state="detached")
    expect(tiles(page, "all")).to_have_class("tile chosen")
    page.locator(".st-key-drop-brushed").get_by_text("1 of 80 chosen").first.wait_for()
    picture(page, "all", dot["id"]).click(modifiers=["Shift"])
    page.wait_for_url(lambda url: "brushed=" not in url)
    picture(page, "all", 3).click(modifiers=["Shift"])
    page.wait_for_url("**brushed=*")
    strike(page, "Escape", until="!location.search.includes('brushed=')")
    assert "stimulus=" not in page.url


def test_a_search_leaves_its_dots_colored_and_the_others_gray(visit):
    page = visit(MAP)
    dots(page)
    field = page.get_by_label("Search the captions")
    field.fill("event 7")
    field.press("Enter")
    page.wait_for_url("**search=event*")
    page.wait_for_function(f"({DOTS})().length === 11")
    expect(page.locator(".st-key-chart-stimulus-map .points path")).to_have_count(80)


def test_a_factor_colors_the_map(visit):
    page = visit(MAP)
    dots(page)
    choose(page, "Color", "scene")
    page.wait_for_url("**color=f-scene*")
    colors = page.wait_for_function(COLORS)  # a legend may stand before its dots
    assert colors.json_value() >= 3


def test_keys_walk_between_stimuli_and_back_to_all(visit):
    page = visit("/stimuli?stimulus=5&map=residuals")
    tiles(page, "a").first.wait_for()
    chart(page, "residuals")
    strike(page, "ArrowRight", until="location.search.includes('stimulus=6')")
    chart(page, "residuals")
    strike(page, "ArrowLeft", until=FIVE)
    chart(page, "residuals")
    tiles(page, "a").first.locator("button").click()
    page.wait_for_function(f"location.search.includes('stimulus=') && !{FIVE}")
    chart(page, "residuals")
    strike(page, "Escape", until="!location.search.includes('stimulus=')")
    expect(chart(page, "stimulus-map")).to_be_visible()


def test_the_map_stands_beside_its_pictures_and_above_them_on_a_phone(visit):
    page = visit(MAP)
    assert comes_to(page, lies_beside)
    phone = visit(MAP, width=390, height=844)
    chart(phone, "stimulus-map")
    tiles(phone, "all").first.wait_for()
    phone.get_by_text("Controls", exact=True).wait_for()  # it knows that it is narrow
    rest(phone)
    assert comes_to(phone, lies_below)


def comes_to(page, lies: Callable[[dict, dict], bool]) -> bool:
    """Wait until the map and the first picture lie so, and return whether they ever do."""
    for _ in range(PATIENCE // 1000):
        shown = chart(page, "stimulus-map").bounding_box()
        first = tiles(page, "all").first.bounding_box()
        if shown and first and lies(shown, first):
            return True
        page.wait_for_timeout(1000)
    return False


def lies_beside(shown: dict, first: dict) -> bool:
    return shown["x"] + shown["width"] <= first["x"] and first["y"] < 700


def lies_below(shown: dict, first: dict) -> bool:
    return first["y"] > shown["y"] + shown["height"]
