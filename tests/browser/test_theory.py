"""The theory page in a real Chromium: the layers play over training, and a row opens its run."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from core.theory.deep_linear.question import preset_of
from tests.browser.seen import settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]
SMALL = "/theory?inputs=3&labels=3&rank=2&a=3&b=3&c=2&d=4"


WATCH = """() => {
  const chart = document.querySelector(".st-key-chart-layers");
  window.steps = new Set();
  new MutationObserver(() => steps.add(chart.textContent))
    .observe(chart, {subtree: true, childList: true, characterData: true});
}"""


def test_the_layers_are_played_over_training(visit):
    page = visit(SMALL)
    settle(page)
    chart = page.locator(".st-key-chart-layers")
    shown = chart.get_by_text("steps of training: 100,000")
    expect(shown).to_be_visible()
    page.evaluate(WATCH)
    chart.locator(".updatemenu-button").click()
    page.wait_for_function("steps.size > 2")
    expect(shown).to_be_visible()  # it ends where it was


def test_a_row_of_the_table_opens_its_run(visit):
    page = visit(SMALL)
    settle(page)
    table = page.locator("[data-testid=stDataFrame]:has(canvas)").last
    table.scroll_into_view_if_needed()
    expect(page.locator("h3")).to_have_count(0)
    for row, across, name in ((0, 60, "weight-decay"), (3, 500, "saddle")):  # whatever the cell
        table.locator(".dvn-scroller").click(position={"x": across, "y": 52 + 35 * row})
        expect(page.locator("h3")).to_have_text(preset_of(name).title)
        expect(page).to_have_url(re.compile(f"breaker={name}"))
        expect(page.locator(f".st-key-chart-broken-{name} .js-plotly-plot")).to_be_visible()
