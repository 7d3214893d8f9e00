"""Models are chosen where they are seen, stay chosen on other pages, and Escape drops them."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.seen import chart, press, strike

pytestmark = [pytest.mark.browser, pytest.mark.slow]
PANEL = ".st-key-chosen-models"
PLACE = """([key, model]) => {
  const chart = document.querySelector(`.st-key-chart-${key} .js-plotly-plot`);
  if (!chart?._fullLayout) return null;  // it is drawn again in this moment
  const trace = chart._fullData.find(one => one.customdata?.some(names => names[0] === model));
  const place = trace.customdata.findIndex(names => names[0] === model);
  const { xaxis, yaxis } = chart._fullLayout, { left, top } = chart.getBoundingClientRect();
  return { x: left + xaxis._offset + xaxis.d2p(trace.x[place]),
           y: top + yaxis._offset + yaxis.d2p(trace.y[place]) };
}"""
RINGS = """key => document.querySelector(`.st-key-chart-${key} .js-plotly-plot`)?._fullData
  ?.filter(one => one.marker?.symbol === "circle-open").flatMap(one => [...one.x]).length"""


def click(page, key: str, model: str, *, rings: int) -> None:
    """Click the dot of a model, after which so many are ringed."""
    press(page, key, PLACE, [key, model], until=f"({RINGS})('{key}') === {rings}")


def wait_for_rings(page, key: str, count: int) -> None:
    page.wait_for_function(f"key => ({RINGS})(key) === {count}", arg=key)


def test_clicks_choose_models_that_the_tab_beside_compares_and_drop_them(visit):
    page = visit("/models?layout=mds")
    click(page, "model-map", "gpt-2-m", rings=1)
    page.wait_for_url("**chosen=gpt-2-m*")
    click(page, "model-map", "vit-mae-m", rings=2)
    page.wait_for_url("**chosen=gpt-2-m&chosen=vit-mae-m*")
    page.get_by_role("radio", name="Compare two").click()
    chart(page, "all-metrics")
    chart(page, "layer-map")
    tiles = page.locator(".st-key-tiles-a .tile")
    expect(tiles).to_have_count(10)
    second = tiles.nth(1).get_attribute("data-index")
    tiles.nth(1).get_by_role("button").click()  # its own neighbors
    page.wait_for_url(f"**stimulus={second}*")
    page.get_by_role("radio", name="Map").click()
    click(page, "model-map", "gpt-2-m", rings=1)
    click(page, "model-map", "vit-mae-m", rings=0)
    page.wait_for_function("!location.search.includes('chosen')")
    expect(page.locator(PANEL)).to_have_count(0)


def test_a_choice_goes_along_and_escape_drops_it(visit):
    page = visit("/models?layout=mds&chosen=gpt-2-m")
    wait_for_rings(page, "model-map", 1)
    page.get_by_role("link", name="Overview").click()
    page.locator("svg.canvas circle[data-model='gpt-2-m']").wait_for()
    assert "chosen=gpt-2-m" in page.url
    page.locator(PANEL).get_by_role("button", name="GPT-2 M").click()
    about = page.locator(".st-key-about-chosen")
    about.get_by_text("Aligned with").wait_for()
    page.get_by_role("link", name="Models", exact=True).click()  # the panel stays open
    wait_for_rings(page, "model-map", 1)
    about.wait_for()
    page.locator(PANEL).get_by_role("button", name="GPT-2 M").click()
    about.wait_for(state="detached")
    page.locator("h1").click()
    strike(page, "Escape", until="!location.search.includes('chosen')")
    wait_for_rings(page, "model-map", 0)
