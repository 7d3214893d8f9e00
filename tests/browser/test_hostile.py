"""A real Chromium over a store whose texts would be obeyed, were they not shown as they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.visible import visible
from pages._shared.frame import UNSEEN
from tests.browser.seen import aim, settle
from tests.browser.server import serve
from tests.pages.hostile import MARKUP, build_hostile, hostile

pytestmark = [pytest.mark.browser, pytest.mark.slow]
VIEWS = {  # what a page shows of the store, by its link: forms, plots, a table, pictures, jobs
    "/data?model=vision-1": "title vision-1",
    "/trends?chosen=vision-1": "title vision-1",
    "/models?tab=table": "dataset",
    "/images?stimulus=1": "caption 1 of =1+1 level A",
    "/data?tab=jobs": "dataset",
}
MADE = """() => {
  const made = `img[src=x], img[alt='Streamlit logo'], a[href*=evil], a[href^=javascript],
    [onerror], main .katex:not([data-testid=stExpander] *)`;
  const bold = [...document.querySelectorAll("b, strong, tspan")].filter(one =>
    one.textContent === "b");
  return [...document.querySelectorAll(made), ...bold].map(one => one.outerHTML.slice(0, 300));
}"""
# the texts of a hover card and of its whole plot, while the card is there
CARD_AND_PLOT = """() => {
  const plot = document.querySelector(".st-key-chart-trend");
  const card = plot?.querySelector(".hoverlayer .hovertext");
  const texts = [...plot?.querySelectorAll("svg") ?? []].map(one => one.textContent);
  return card && [card.textContent, texts.join(" ")];
}"""
TEXTS = """() => {
  const texts = [];
  const walk = node => {
    if (node.value) texts.push(node.value);
    for (const attribute of ["aria-label", "title", "alt", "data-unformatted"])
      if (node.getAttribute?.(attribute)) texts.push(node.getAttribute(attribute));
    if (node.shadowRoot) walk(node.shadowRoot);
    for (const child of node.childNodes) walk(child);
    texts.push(node.innerText || node.textContent || "");
  };
  walk(document.body);
  return texts.join("\\n");
}"""


@pytest.fixture(scope="module")
def log(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("log") / "server.log"


@pytest.fixture(scope="module")
def address(tmp_path_factory, log) -> Iterator[str]:
    with serve(build_hostile(tmp_path_factory.mktemp("hostile")), log=log) as address:
        yield address


def flat(text: str) -> str:
    """Return a text as people read it: on one line, without what nobody sees."""
    return re.sub(r"\s+", " ", visible(text).replace(UNSEEN, "").replace("\xa0", " "))


@pytest.mark.parametrize("link", VIEWS)
def test_no_text_of_a_store_becomes_more_than_text(visit, link):
    """Look at each kind of thing that is shown; `tests.pages.test_hostile` reads every page."""
    dialogs = []
    page = visit(link)
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    settle(page)
    assert flat(hostile(VIEWS[link]))[:150] in flat(page.evaluate(TEXTS))
    assert page.evaluate(MADE) == []
    assert dialogs == []


def test_a_hover_card_and_a_legend_show_names_as_they_are(visit):
    page = visit("/trends")
    aim(page, "trend")
    card, shown = (flat(text) for text in page.wait_for_function(CARD_AND_PLOT).json_value())
    assert f"{MARKUP[:40]}" in card
    assert "%{meta.title} &lt; a -> b https://evil.example" in shown
    assert page.evaluate(MADE) == []
