"""Every page in a real Chromium, cold by its deep link: its heading, its words, its width on a
phone.
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.browser.seen import rest

pytestmark = pytest.mark.browser
PAGES = {
    "/": "converge",
    "/library": "in the store",
    "/alignment": "agree more",
    "/competence": "better models",
    "/convergence": "come together",
    "/benefits": "models buy",
    "/models": "are alike",
    "/metrics": "depend on the metric",
    "/dispersion": "carry over",
    "/captions": "says more",
    "/adapters": "linear adapters",
    "/reading": "read another",
    "/neurons": "neurons recur",
    "/translation": "no pairs given",
    "/color": "geometry of color",
    "/stimuli": "models agree on",
    "/theory-contrastive": "sees in pieces",
    "/theory-deep-linear": "come to see the same",
}

OFFERED = "[class*=st-key-here-]"  # what takes long is drawn once it is asked for
DRAWN = (
    ".js-plotly-plot .main-svg, [data-testid=stImage] img, .st-key-library-models canvas,"
    f" {OFFERED}"
)
HEADINGS = "() => [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].map(h => +h.tagName[1])"
# what stands open at a second visit, without tables, plots and what a dataset says
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
FITS = """() => {
  const drawn = `.js-plotly-plot, [data-testid=stImage] img, .st-key-library-models,
    [class*=st-key-here-]`;
  const shown = [...document.querySelectorAll(drawn)];
  const fits = element => element.clientWidth > 0 && element.clientWidth <= 390;
  const page = document.querySelector("[data-testid=stMain]");
  return page.scrollWidth <= 390 && shown.length > 0 && shown.every(fits);
}"""


@pytest.mark.parametrize(
    ("link", "theme"),
    [
        (link, "light" if link == "/" else "dark")
        for link in ("/stimuli?stimulus=3", *reversed(PAGES))
    ],  # a deep link is the first of a fresh server
)
def test_every_page_opens_cold_and_fits_a_phone(visit, link, theme):
    page = visit(link, theme=theme)
    assert PAGES[link.partition("?")[0]] in page.inner_text("h1")
    links = page.get_by_test_id("stSidebar").get_by_test_id("stPageLink")
    links.nth(len(PAGES) - 1).wait_for()
    page.locator(DRAWN).first.wait_for()
    rest(page)
    page.locator(".st-key-stop").wait_for(state="detached")  # a simulation has ended
    rest(page)
    check_headings(page)
    assert 10 < count_words(page) <= 250
    resize_to_phone(page)


def count_words(page) -> int:
    """Return how many words the page shows once nothing more comes."""
    before, now = -1, page.evaluate(WORDS)
    while now != before:
        page.wait_for_timeout(1000)
        before, now = now, page.evaluate(WORDS)
    return now


def check_headings(page) -> None:
    """Check that there is one H1, which comes first, and that no level is left out."""
    levels = page.evaluate(HEADINGS)
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(low - high <= 1 for high, low in pairwise(levels))


def resize_to_phone(page) -> None:
    """Make the window a phone's, and wait until nothing is wider than it."""
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_timeout(500)
    rest(page)
    page.locator(".st-key-stop").wait_for(state="detached")  # a simulation's plots move to its end
    page.wait_for_function(FITS)
