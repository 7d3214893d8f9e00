"""Stimuli as a workspace, in a real Chromium: pointing, choosing, opening, walking and keys."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from core.study.selections import decode
from tests.browser.seen import (
    aim,
    chart,
    framed,
    picture,
    press,
    rest,
    settle,
    strike,
    tiles,
)

pytestmark = [pytest.mark.browser, pytest.mark.slow]
SIZE = 60
MAP = "/images?map=pca"
FIVE = "/[?&]stimulus=5(&|$)/.test(location.search)"
OPENED = "location.search.includes('stimulus=')"
TOP = "document.querySelector('[data-testid=stMain]').scrollTop"
DOTS = """() => {
  const chart = document.querySelector(".st-key-chart-stimulus-map .js-plotly-plot");
  if (!chart?._fullLayout) return [];  // it is drawn again in this moment
  const { xaxis, yaxis } = chart._fullLayout, { left, top } = chart.getBoundingClientRect();
  return chart._fullData.filter((one) => one.customdata).flatMap((trace) =>
    trace.customdata.map(([id], i) => ({ id,
      x: left + xaxis._offset + xaxis.d2p(trace.x[i]),
      y: top + yaxis._offset + yaxis.d2p(trace.y[i]) })));
}"""
# the dot that is farthest from all others
LONE = f"""() => {{
  const dots = ({DOTS})(), near = (a, b) => (a.x - b.x) ** 2 + (a.y - b.y) ** 2;
  const room = dot => Math.min(...dots.filter(one => one !== dot).map(one => near(one, dot)));
  return dots.length ? dots.reduce((best, dot) => room(dot) > room(best) ? dot : best) : null;
}}"""
INSIDE = """card => {
  const { top, bottom } = card.getBoundingClientRect();
  return card.querySelector("img").naturalWidth > 0 && top >= 0 && bottom <= innerHeight;
}"""


def brushed(page) -> list[int]:
    code = re.search(r"brushed=([^&]+)", page.url)
    return decode(code.group(1), SIZE).tolist() if code else []


def test_pointing_shows_a_picture_and_caption_and_shift_chooses_until_escape(visit):
    page = visit(MAP)
    dot = aim(page, "stimulus-map", LONE)
    card = page.locator(".st-key-card-stimulus-map .card")
    assert card.locator("b").inner_text().startswith(f"image {dot['id']} · disagreement of models")
    assert f"event {dot['id']}" in card.locator("span").inner_text()
    page.wait_for_function(INSIDE, arg=card.element_handle())
    page.mouse.move(5, 5)
    card.wait_for(state="hidden")
    assert "?map=pca" in page.url  # nothing else has changed
    assert "stimulus=" not in page.url

    chosen = "location.search.includes('brushed=')"
    dot = press(page, "stimulus-map", LONE, until=chosen, held="Shift")
    assert brushed(page) == [dot["id"]]
    tiles(page, "all").nth(1).wait_for(state="detached")
    expect(tiles(page, "all")).to_have_class("tile chosen")
    page.locator(".st-key-drop-brushed").get_by_text(f"1 of {SIZE} selected").first.wait_for()
    picture(page, "all", dot["id"]).click(modifiers=["Shift"])
    page.wait_for_url(lambda url: "brushed=" not in url)
    picture(page, "all", 3).click(modifiers=["Shift"])
    page.wait_for_url("**brushed=*")
    strike(page, "Escape", until="!location.search.includes('brushed=')")
    assert "stimulus=" not in page.url


@pytest.mark.parametrize("mode", ["lasso", "box", "zoom"])
def test_a_click_on_a_dot_of_the_map_opens_its_stimulus(visit, mode):
    page = visit(MAP)
    chart(page, "stimulus-map")
    titles = {"box": "Box Select", "zoom": "Pan"}
    if mode in titles:
        page.locator(f".st-key-chart-stimulus-map [data-title='{titles[mode]}']").click()
    dot = press(page, "stimulus-map", LONE, until=OPENED)
    page.wait_for_url(f"**stimulus={dot['id']}*")
    page.get_by_role("button", name="Next").wait_for()
    expect(page.get_by_text(f"image {dot['id']} of {SIZE}")).to_be_visible()


def test_stimuli_brushed_on_the_map_are_shown_and_studied(visit):
    page = visit(MAP)
    aim(page, "stimulus-map")
    box = page.locator(".st-key-chart-stimulus-map .nsewdrag").first.bounding_box()
    left, top, width, height = box["x"], box["y"], box["width"], box["height"]
    corners = [(0.02, 0.02), (0.98, 0.02), (0.98, 0.98), (0.02, 0.98), (0.02, 0.05)]
    page.mouse.move(left + corners[0][0] * width, top + corners[0][1] * height)
    page.mouse.down()
    for x, y in corners[1:]:
        page.mouse.move(left + x * width, top + y * height, steps=5)
    page.mouse.up()
    page.wait_for_url(f"**brushed={SIZE}.*")
    page.locator(".st-key-drop-brushed").wait_for()
    shown = len(brushed(page))
    chart(page, "stimulus-map")
    page.locator("[class*=st-key-offer-]").get_by_role("link", name="Measure alignment").click()
    page.wait_for_url(f"**/trends*stimuli={SIZE}.*")
    assert shown > 0
    expect(page.locator(".st-key-drop-stimuli")).to_contain_text(f"{shown} of {SIZE} stimuli")


def test_a_stimulus_opens_from_the_gallery_and_its_neighbor_in_sight(visit):
    page = visit("/images?map=gallery")
    picture(page, "all", 5).click()
    page.wait_for_url("**stimulus=5*")
    tiles(page, "b").first.wait_for()
    assert len(framed(page, "a")) > 0
    assert framed(page, "a") == framed(page, "b")
    near = tiles(page, "a").first
    near.wait_for()
    rest(page)  # the page begins at its top
    into_view = "tile => (tile.scrollIntoView(), " + TOP + " > 200)"
    page.wait_for_function(into_view, arg=near.element_handle())
    near.locator("button").click()
    page.wait_for_function(f"{OPENED} && !{FIVE}")
    page.wait_for_function(f"{TOP} === 0")
    page.get_by_role("button", name=re.compile("^Back")).click()
    picture(page, "all", 5).wait_for()
    page.wait_for_url(lambda url: "stimulus=" not in url)


def test_keys_walk_between_stimuli_and_back_to_all(visit):
    page = visit("/images?stimulus=5&map=pca")
    tiles(page, "a").first.wait_for()
    chart(page, "residuals")
    strike(page, "ArrowRight", until="location.search.includes('stimulus=6')")
    chart(page, "residuals")
    strike(page, "ArrowLeft", until=FIVE)
    chart(page, "residuals")
    tiles(page, "a").first.locator("button").click()
    page.wait_for_function(f"{OPENED} && !{FIVE}")
    chart(page, "residuals")
    strike(page, "Escape", until=f"!{OPENED}")
    expect(chart(page, "stimulus-map")).to_be_visible()


def test_the_map_stands_beside_its_pictures_and_above_them_on_a_phone(visit):
    page = visit(MAP)
    plot, first = boxes(page)
    assert plot["x"] + plot["width"] <= first["x"]
    assert first["y"] < 700
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_text("Settings", exact=True).wait_for()  # it knows that it is narrow
    plot, first = boxes(page)
    assert first["y"] > plot["y"] + plot["height"]


def boxes(page) -> tuple[dict, dict]:
    """Return where the map and the first picture lie, once nothing moves."""
    shown, first = chart(page, "stimulus-map"), tiles(page, "all").first
    first.wait_for()
    settle(page)
    return shown.bounding_box(), first.bounding_box()
