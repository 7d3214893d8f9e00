"""A page over a store that is still being filled, in a real Chromium."""

from __future__ import annotations

import pytest

from core.store import add_dataset
from tests.browser.seen import chart
from tests.browser.server import new_page, serve
from tests.pages.world import LANGUAGE, VISION, PaintedDataset, build

pytestmark = pytest.mark.browser
CARDS = """() => (document.querySelector(".st-key-chart-trend .js-plotly-plot")?._fullData ?? [])
  .flatMap(one => one.hovertext ?? []).join()"""


def test_a_page_that_waits_for_models_fills_and_one_that_shows_some_offers_more(browser, tmp_path):
    dataset = PaintedDataset(40)
    add_dataset(tmp_path, dataset)
    with serve(tmp_path, log=tmp_path / "server.log") as address:
        page = new_page(browser)
        page.goto(f"{address}/alignment")
        page.get_by_text("is embedded over this dataset yet").wait_for()
        build(tmp_path, dataset, vision=VISION[1:3], language=LANGUAGE[2:3], reality=False)
        chart(page, "trend")  # nobody has clicked
        build(tmp_path, dataset, vision=(), language=LANGUAGE[4:5], reality=False)
        more = page.get_by_role("button", name="4 models now: show them")
        more.wait_for()
        assert "LLaMA" not in page.evaluate(CARDS)
        more.click()
        page.wait_for_function(f"({CARDS})().includes('LLaMA')")
        page.close()
