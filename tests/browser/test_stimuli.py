"""Stimuli as a workspace, in a real Chromium: pointing, choosing, opening, walking and keys."""

from __future__ import annotations

import re

import pytest

from core.study.selections import decode
from tests.browser.seen import aim, chart, choose, picture, rest, tiles
from tests.browser.server import PATIENCE

pytestmark = pytest.mark.browser
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
COLORS = """new Set([...document.querySelectorAll(".st-key-chart-stimulus-map .points path")]
  .map(dot => dot.style.fill)).size"""


def dots(page) -> list[dict]:
    chart(page, "stimulus-map")
    rest(page)
    page.wait_for_timeout(1000)  # until the chart is heard
    return page.evaluate(DOTS)


def lone(page) -> dict:
    """Return the dot that is farthest from all others."""
    every = dots(page)

    def room(dot: dict) -> float:
        return min(
            (dot["x"] - one["x"]) ** 2 + (dot["y"] - one["y"]) ** 2
            for one in every
            if one["id"] != dot["id"]
        )

    return max(every, key=room)


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
    dot = aim(page, "stimulus-map", lambda: lone(page))
    page.keyboard.down("Shift")
    page.mouse.down()
    page.mouse.up()
    page.keyboard.up("Shift")
    page.wait_for_url("**brushed=*")
    assert brushed(page) == [dot["id"]]
    tiles(page, "all").nth(1).wait_for(state="detached")
    assert tiles(page, "all").get_attribute("class") == "tile chosen"
    page.locator(".st-key-drop-brushed").get_by_text("1 of 80 chosen").first.wait_for()
    picture(page, "all", dot["id"]).click(modifiers=["Shift"])
    page.wait_for_url(lambda url: "brushed=" not in url)
    picture(page, "all", 3).click(modifiers=["Shift"])
    page.wait_for_url("**brushed=*")
    rest(page)
    page.keyboard.press("Escape")
    page.wait_for_url(lambda url: "brushed=" not in url)
    assert "stimulus=" not in page.url


def test_a_search_leaves_its_dots_colored_and_the_others_gray(visit):
    page = visit(MAP)
    dots(page)
    field = page.get_by_label("Search the captions")
    field.fill("event 7")
    field.press("Enter")
    page.wait_for_url("**search=event*")
    page.wait_for_function(f"({DOTS})().length === 11")
    drawn = "document.querySelectorAll('.st-key-chart-stimulus-map .points path').length"
    page.wait_for_function(f"{drawn} === 80")
    assert page.evaluate(drawn) == 80


def test_a_factor_colors_the_map(visit):
    page = visit(MAP)
    dots(page)
    choose(page, "Color", "scene")
    page.wait_for_url("**color=f-scene*")
    legend = page.locator(".st-key-chart-stimulus-map .legendtext")
    legend.nth(2).wait_for()
    page.wait_for_function(f"{COLORS} === {legend.count()}")  # a legend may stand before its dots
    assert page.evaluate(COLORS) == legend.count()


def test_keys_walk_between_stimuli_and_back_to_all(visit):
    page = visit("/stimuli?stimulus=5&map=residuals")
    tiles(page, "a").first.wait_for()
    chart(page, "residuals")
    rest(page)  # keys are heard once a run has ended
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**stimulus=6*")
    chart(page, "residuals")
    rest(page)
    page.keyboard.press("ArrowLeft")
    page.wait_for_url("**stimulus=5*")
    chart(page, "residuals")
    tiles(page, "a").first.locator("button").click()
    page.wait_for_url("**trail=5*")
    page.get_by_role("button", name="stimulus 5", exact=True).wait_for()
    rest(page)
    page.keyboard.press("Escape")
    page.wait_for_url(lambda url: "stimulus=5" in url and "trail" not in url)
    rest(page)
    page.keyboard.press("Escape")
    page.wait_for_url(lambda url: "stimulus=" not in url)
    assert chart(page, "stimulus-map").is_visible()


def test_the_map_stands_beside_its_pictures_and_above_them_on_a_phone(visit):
    page = visit(MAP)
    shown = chart(page, "stimulus-map").bounding_box()
    first = tiles(page, "all").first.bounding_box()
    assert shown["x"] + shown["width"] <= first["x"]
    assert first["y"] < 700
    phone = visit(MAP, width=390, height=844)
    chart(phone, "stimulus-map")
    tiles(phone, "all").first.wait_for()
    phone.get_by_text("Controls", exact=True).wait_for()  # it knows that it is narrow
    rest(phone)
    for _ in range(PATIENCE // 1000):
        if lies_below(phone):
            return
        phone.wait_for_timeout(1000)
    raise AssertionError("the pictures do not lie below the map")


def lies_below(phone) -> bool:
    """Return whether the first picture lies below the map."""
    shown = chart(phone, "stimulus-map").bounding_box()
    first = tiles(phone, "all").first.bounding_box()
    return bool(shown and first) and first["y"] > shown["y"] + shown["height"]
