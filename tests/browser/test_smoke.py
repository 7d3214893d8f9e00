"""Every page of the navigation, one after the other in one window: its question and its figure."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from core.settings import ROOT
from tests.navigation import PAGES, Page

pytestmark = pytest.mark.browser
FIGURE = ".js-plotly-plot .main-svg"
INSTEAD = {"data": ".st-key-library-models canvas"}  # of a figure, by the page's path
GO = """link => {
  history.pushState({}, "", link);
  dispatchEvent(new PopStateEvent("popstate"));
}"""


def question_of(page: Page) -> str | None:
    """Return the heading that a page's source states; None where it words it itself."""
    source = (ROOT / "pages" / f"{page.name.partition('/')[0]}.py").read_text()
    stated = re.search(r'^frame\.draw\w*\("([^"]+)"', source, re.MULTILINE)
    return stated and stated[1]


def test_every_page_asks_its_question_and_draws(visit):
    first, *others = PAGES
    window = visit(first.link)
    headings = [window.locator("h1").inner_text()]
    window.locator(FIGURE).first.wait_for()
    for page in others:
        window.evaluate(GO, page.link)  # loads no script again, as the Back button does
        expect(window.locator("h1")).not_to_have_text(headings[-1])
        headings.append(window.locator("h1").inner_text())
        drawn = window.get_by_test_id("stMain").locator(INSTEAD.get(page.path, FIGURE))
        drawn.filter(visible=True).first.wait_for()
    assert len(set(headings)) == len(PAGES)
    for page, heading in zip(PAGES, headings, strict=True):
        assert heading == question_of(page) or question_of(page) is None
