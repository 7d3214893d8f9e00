"""Models are chosen where they are seen, stay chosen on other pages, and Escape drops them."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.seen import chart, press, rest, strike

pytestmark = pytest.mark.browser
PANEL = ".st-key-chosen-models"
PLACE = """([key, model]) => {
  const chart = document.querySelector(`.st-key-chart-${key} .js-plotly-plot`);
  if (!chart?._fullLayout) return null;  // it is drawn anew in this moment
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
    until = f"({RINGS})('{key}') === {rings}"
    press(page, key, lambda: page.evaluate(PLACE, [key, model]), until=until)


def wait_for_rings(page, key: str, count: int) -> None:
    page.wait_for_function(f"key => ({RINGS})(key) === {count}", arg=key)


def test_clicks_choose_models_and_drop_them(visit):
    page = visit("/models?layout=mds")
    click(page, "model-map", "gpt-2-m", rings=1)
    page.wait_for_url("**chosen=gpt-2-m*")
    click(page, "model-map", "vit-mae-m", rings=2)
    page.wait_for_url("**chosen=gpt-2-m&chosen=vit-mae-m*")
    click(page, "model-map", "gpt-2-m", rings=1)
    click(page, "model-map", "vit-mae-m", rings=0)
    page.wait_for_function("!location.search.includes('chosen')")
    expect(page.locator(PANEL)).to_have_count(0)


def test_a_choice_goes_along_and_escape_drops_it(visit):
    page = visit("/models?layout=mds&chosen=gpt-2-m")
    wait_for_rings(page, "model-map", 1)
    page.get_by_role("link", name="Overview").click()
    chart(page, "ranking")
    wait_for_rings(page, "ranking", 1)
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


def tick(page, row: int) -> None:
    """Click the box before a row of the table, counted from 1."""
    table = page.locator("[data-testid=stDataFrame]").first
    rest(page)
    table.locator("canvas tbody tr").nth(row - 1).wait_for(state="attached")  # it is drawn by now
    table.scroll_into_view_if_needed()
    box = table.bounding_box()
    page.mouse.click(box["x"] + 18, box["y"] + 35 * row + 17)


def test_ticked_rows_are_chosen_and_escape_clears_the_ticks(visit):
    page = visit("/models?view=table&family=GPT-2&chosen=vit-mae-m")
    page.locator("[data-testid=stDataFrame] canvas").first.wait_for()
    page.wait_for_timeout(1500)  # until it has drawn its rows
    tick(page, 1)
    page.wait_for_url("**chosen=vit-mae-m&chosen=gpt-2-m*")
    tick(page, 2)
    page.wait_for_url("**chosen=vit-mae-m&chosen=gpt-2-m&chosen=gpt-2-s*")
    tick(page, 1)
    page.wait_for_url(lambda url: "gpt-2-m" not in url)
    page.locator("h1").click()
    strike(page, "Escape", until="!location.search.includes('chosen')")
    page.wait_for_timeout(1500)
    tick(page, 2)
    page.wait_for_url(lambda url: "chosen=" in url)
    assert parse_qs(urlsplit(page.url).query)["chosen"] == ["gpt-2-s"]
