"""A plot in a real Chromium: its legend hides and isolates, its files keep their texts."""

from __future__ import annotations

import re
from contextlib import suppress
from io import BytesIO

import pytest
from PIL import Image
from playwright.sync_api import TimeoutError

from tests.browser.seen import chart, rest, save
from tests.browser.server import PATIENCE

pytestmark = pytest.mark.browser
# plots that were seen, and new ones that Plotly drew again: a first drawing ends before it is seen
COUNT_REDRAWS = """
  window.counted = 0;
  window.redraws = [];
  const WATCHED = ".st-key-chart-trend, .st-key-chart-layer-map";
  const count = plot => {
    if (plot.seen || !plot.on) return;
    plot.seen = true;
    counted += 1;
    plot.on("plotly_beforeplot", () => {
      if (plot.closest(WATCHED) && !("old" in plot.dataset)) redraws.push(plot.data.length);
    });
  };
  new MutationObserver(() => document.querySelectorAll(".js-plotly-plot").forEach(count))
    .observe(document, { subtree: true, childList: true, attributes: true });
"""
START_COUNTING = """() => {
  redraws = [];
  document.querySelectorAll(".js-plotly-plot").forEach(plot => plot.dataset.old = "");
}"""
# how much more than its margins a plot's labels, legend and color bar have taken
ROOM = """key => {
  const plot = document.querySelector(`.st-key-chart-${key} .js-plotly-plot`);
  const { margin, _size } = plot._fullLayout;
  return ["l", "b", "r"].map(side => _size[side] - margin[side]);
}"""
WIDTHS = "texts => texts.map(one => [one.textContent, one.getComputedTextLength()])"


def entry(page, key: str, name: str):
    items = page.locator(f".st-key-chart-{key} .legend .traces")
    return items.filter(has_text=name).locator(".legendtoggle")


def dots(page, key: str) -> list[str]:
    """Return the color of every dot that is drawn."""
    return page.locator(f".st-key-chart-{key} .scatterlayer .points path").evaluate_all(
        "dots => dots.map(dot => dot.style.fill)"
    )


def wait_for_dots(page, key: str, count: int, *, timeout: int = PATIENCE) -> None:
    page.wait_for_function(
        "([key, count]) => document.querySelectorAll("
        "`.st-key-chart-${key} .scatterlayer .points path`).length === count",
        arg=[key, count],
        timeout=timeout,
    )


def isolate(page, key: str, name: str, count: int) -> None:
    """Double-click an entry, again where a busy machine took it for two clicks, which undo each
    other.
    """
    for patience in (20_000, 60_000, PATIENCE):
        entry(page, key, name).dblclick()
        with suppress(TimeoutError):
            wait_for_dots(page, key, count, timeout=patience)
            return
    raise AssertionError(f"a double click on {name} does not isolate it")


@pytest.mark.parametrize(("link", "key"), [("/alignment", "trend"), ("/", "headline")])
def test_a_legend_hides_a_family_and_a_double_click_isolates_it(visit, link, key):
    page = visit(link)
    chart(page, key)
    rest(page)
    page.locator(f".st-key-chart-{key} .scatterlayer .points path").first.wait_for()
    every = dots(page, key)
    color = page.locator(f".st-key-chart-{key} .legend .traces").filter(has_text="GPT-2")
    color = color.locator(".legendpoints path").evaluate("dot => dot.style.fill")
    assert 0 < every.count(color) < len(every)
    entry(page, key, "GPT-2").click()
    wait_for_dots(page, key, len(every) - every.count(color))
    assert color not in dots(page, key)
    page.wait_for_timeout(600)  # sooner, two clicks are a double click
    entry(page, key, "GPT-2").click()
    wait_for_dots(page, key, len(every))
    page.wait_for_timeout(600)
    isolate(page, key, "GPT-2", every.count(color))
    assert set(dots(page, key)) == {color}


def test_a_figure_for_paper_sets_its_texts_as_the_page_does(visit, tmp_path):
    page = visit("/alignment", theme="dark")
    chart(page, "trend")
    name, svg = save(page, "trend", "SVG")
    shown = page.locator(".st-key-chart-print-trend .legendtext").evaluate_all(WIDTHS)
    assert name.endswith(".svg")
    assert b"data:font/woff2;base64," in svg
    assert b"<title>Alignment and competence</title>" in svg
    assert b"n = 12 models, 80 stimuli" in svg.split(b"</desc>")[0]
    assert b"mutual_knn" in svg.split(b"</metadata>")[0]
    root = svg.split(b"<title>")[0]
    assert b'width="175mm"' in root
    assert b"255, 255, 255" in svg  # paper is white, whatever the theme
    path = tmp_path / name
    path.write_bytes(svg)
    alone = page.context.new_page()
    alone.goto(path.as_uri())
    alone.evaluate("document.fonts.ready")
    saved = alone.locator(".legendtext").evaluate_all(WIDTHS)
    assert [text for text, _ in saved] == [text for text, _ in shown]
    assert [width for _, width in saved] == pytest.approx([width for _, width in shown], rel=0.005)
    edge = alone.locator("svg").first.bounding_box()
    for text in alone.locator("text").all():
        box = text.bounding_box()
        assert edge["x"] - 1 <= box["x"]
        assert box["x"] + box["width"] <= edge["x"] + edge["width"] + 1


def test_a_figure_is_as_wide_as_a_column_in_every_format(visit):
    page = visit("/alignment")
    chart(page, "trend")
    for width in (175, 85):
        _, png = save(page, "trend", "PNG")
        image = Image.open(BytesIO(png))
        assert image.width == round(width / 25.4 * 300)
        assert image.info["dpi"] == pytest.approx((300, 300), abs=0.01)
        assert image.convert("RGB").getpixel((2, 2)) == (255, 255, 255)
        name, pdf = save(page, "trend", "PDF")
        assert name.endswith(".pdf")
        across = float(re.search(rb"MediaBox ?\[0 0 ([\d.]+)", pdf)[1])
        assert across == pytest.approx(width / 25.4 * 72, abs=0.01)
        assert b"+PlatoscopeSans-Regular" in pdf
        if width == 175:
            rest(page)
            button = page.get_by_role("dialog").get_by_role("button", name="PNG").element_handle()
            button.evaluate("button => { window.wide = button.onclick; }")
            page.get_by_role("dialog").get_by_role("radio", name="85 mm").click()
            page.wait_for_function(
                "document.querySelector('.st-key-chart-print-trend .main-svg')?.clientWidth < 400"
            )
            page.wait_for_function("button => button.onclick !== wide", arg=button)


def test_a_transparent_figure_has_no_ground(visit):
    page = visit("/alignment")
    chart(page, "trend")
    save(page, "trend", "PNG")
    page.get_by_role("dialog").get_by_role("radio", name="Transparent").click()
    page.wait_for_function(  # while the plot is drawn anew there is none
        "document.querySelector('.st-key-chart-print-trend .js-plotly-plot')"
        "?._fullLayout?.paper_bgcolor === 'rgba(0,0,0,0)'"
    )
    _, png = save(page, "trend", "PNG")
    assert Image.open(BytesIO(png)).convert("RGBA").getpixel((2, 2))[3] == 0


def test_a_plot_is_drawn_once(visit):
    page = visit("/alignment")
    chart(page, "trend")
    page.context.clear_cookies()  # that of another width
    page.reload()
    page.wait_for_function("document.cookie.includes('platoscope-width=')")
    page.add_init_script(COUNT_REDRAWS)
    page.reload()
    chart(page, "trend")
    chart(page, "layer-map")
    rest(page)
    page.evaluate("document.fonts.ready")
    page.wait_for_timeout(1000)
    page.evaluate(START_COUNTING)  # fonts that come late may change what labels need
    page.locator(".st-key-k [data-testid=stNumberInputStepUp]").click()
    for key in ("trend", "layer-map"):
        page.locator(f".st-key-chart-{key} .js-plotly-plot:not([data-old])").wait_for()
    rest(page)
    page.wait_for_timeout(1000)
    assert page.evaluate("counted") >= 3
    assert page.evaluate("redraws") == []
    for key in ("trend", "layer-map"):
        assert page.evaluate(ROOM, key) == [0, 0, 0]
