"""Every page in a real Chromium, cold by its address: its headings, its words, its width on a
phone; and what pages owe to eyes, fingers, keyboards and screen readers.
"""

from __future__ import annotations

from itertools import pairwise

import pytest
from playwright.sync_api import expect

from tests.browser.seen import DRAWN, chart, rest, settle
from tests.navigation import PAGES, Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]
HEADINGS = "() => [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].map(h => +h.tagName[1])"
# what is open at a second visit, without tables, plots and what a dataset says
WORDS = """() => {
  const aside = `style, script, svg, table, .js-plotly-plot, .tile, .katex-mathml,
    [data-testid=stIconMaterial], [data-testid=stDataFrame], [data-testid=stImage],
    [data-testid=stText], [data-testid=stExpanderDetails]`;
  const walk = node => {
    if (node.nodeType === 3) return node.textContent + " ";
    if (node.nodeType !== 1 || node.matches(aside)) return "";
    return [...node.childNodes].map(walk).join("");
  };
  const text = walk(document.querySelector("[data-testid=stMain]"));
  return text.split(/\\s+/).filter(word => /[\\p{L}\\p{N}]/u.test(word)).length;
}"""
# whether nothing is wider than a phone
FITS = """drawn => {
  const shown = [...document.querySelectorAll(drawn)]
    .filter(element => !element.closest("details:not([open])"));
  const fits = element => element.clientWidth > 0 && element.clientWidth <= 390;
  const page = document.querySelector("[data-testid=stMain]");
  return page.scrollWidth <= 390 && shown.length > 0 && shown.every(fits);
}"""
# the color that is seen through each opacity, on the first ground that is not clear; WCAG 2.2
CONTRASTS = """selector => {
  const parse = color => color.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => [r, g, b].map(c => c / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  return [...document.querySelectorAll(selector)].filter(e => e.innerText?.trim()).map(e => {
    let opacity = 1, ground = null;
    for (let at = e; at instanceof Element; at = at.parentElement) {
      const style = getComputedStyle(at), back = parse(style.backgroundColor);
      if (!ground) opacity *= style.opacity;
      if (!ground && (back.length === 3 || back[3] === 1)) ground = back;
    }
    const ink = parse(getComputedStyle(e).color);
    const share = opacity * (ink[3] ?? 1);
    const seen = ink.slice(0, 3).map((c, i) => share * c + (1 - share) * ground[i]);
    const [low, high] = [luminance(seen), luminance(ground)].sort((a, b) => a - b);
    return [(high + 0.05) / (low + 0.05), e.innerText.slice(0, 40)];
  });
}"""
TOP = "document.querySelector('[data-testid=stMain]').scrollTop"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_page_opens_cold_and_fits_a_phone(visit, page: Page):
    window = visit(page.link, theme="dark" if page.path else "light")
    links = window.get_by_test_id("stSidebar").get_by_test_id("stPageLink")
    expect(links).to_have_count(len(PAGES))
    settle(window)
    settle(window)
    check_headings(window)
    assert 10 < window.evaluate(WORDS) <= 250
    window.set_viewport_size({"width": 390, "height": 844})
    settle(window)
    window.wait_for_function(FITS, arg=DRAWN)


def check_headings(window) -> None:
    """Check that there is one H1, which comes first, and that no level is left out."""
    levels = window.evaluate(HEADINGS)
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(low - high <= 1 for high, low in pairwise(levels))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_captions_stand_out_from_their_ground(visit, theme):
    page = visit("/trends", theme=theme)
    captions = "[data-testid=stCaptionContainer] p"
    page.locator(captions).first.wait_for()
    settle(page)
    contrasts = page.evaluate(CONTRASTS, captions)
    assert len(contrasts) >= 1  # the groups of pages, at least
    assert [text for contrast, text in contrasts if contrast < 4.5] == []


def test_a_swipe_over_a_plot_moves_the_page_of_a_phone(visit):
    page = visit("/trends", width=390, height=844)
    page.get_by_text("Settings", exact=True).wait_for()  # it knows that it is narrow
    chart(page, "trend")
    rest(page)
    page.locator(".st-key-chart-trend .js-plotly-plot").scroll_into_view_if_needed()
    page.wait_for_function("document.elementFromPoint(200, 500)?.closest('.js-plotly-plot')")
    before = page.evaluate(TOP)
    finger = page.context.new_cdp_session(page)
    for kind, y in (
        ("touchStart", 500),
        *(("touchMove", 500 - 15 * step) for step in range(1, 13)),
    ):
        points = [{"x": 200, "y": y}]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_function(f"{TOP} > {before + 100}")
    assert page.evaluate(TOP) > before + 100
