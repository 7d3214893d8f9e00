"""The theory page in a real Chromium: the layers play over training, and a row opens its run."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.seen import settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]
SMALL = "/theory?inputs=3&labels=3&rank=2&a=3&b=3&c=2&d=4"


def test_the_layers_are_played_over_training(visit):
    page = visit(SMALL)
    settle(page)
    chart = page.locator(".st-key-chart-layers")
    shown = chart.get_by_text("steps of training: 100,000")
    expect(shown).to_be_visible()
    chart.locator(".updatemenu-button").click()
    expect(chart.get_by_text("steps of training: 30", exact=True)).to_be_visible()
    expect(shown).to_be_visible()  # it ends where it was


def test_a_row_of_the_table_opens_its_run(visit):
    page = visit(SMALL)
    settle(page)
    table = page.locator("[data-testid=stDataFrame]:has(canvas)").last
    table.scroll_into_view_if_needed()
    expect(page.locator("h3")).to_have_count(0)
    table.locator(".dvn-scroller").click(position={"x": 18, "y": 52})  # the first row's box
    expect(page.locator("h3").first).to_be_visible()
    expect(page).to_have_url(re.compile(r"breaker="))
    expect(page.locator("[class*=chart-broken]").first).to_be_visible()
