"""A plot in a real Chromium: its legend hides and isolates, its files keep their texts."""

from __future__ import annotations

import re
from io import BytesIO

import pytest
from PIL import Image

from tests.browser.seen import chart, download, rest, save

pytestmark = [pytest.mark.browser, pytest.mark.slow]
WIDTHS = "texts => texts.map(one => [one.textContent, one.getComputedTextLength()])"


def test_a_figure_for_paper_sets_its_texts_as_the_page_does(visit, tmp_path):
    page = visit("/trends", theme="dark")
    chart(page, "trend")
    name, svg = save(page, "trend", "SVG")
    shown = page.locator(".st-key-chart-print-trend .legendtext").evaluate_all(WIDTHS)
    assert name.endswith(".svg")
    assert b"data:font/woff2;base64," in svg
    assert b"<title>Alignment and competence</title>" in svg
    counted = re.search(rb"n = (\d+) models, 60 stimuli", svg.split(b"</desc>")[0])
    assert int(counted[1]) == 6  # whose points are drawn
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


def set_print(page, label: str, shows: str) -> None:
    """Choose how the open figure is printed and wait until its files are made of that. shows: an
    expression of its plot that holds then.
    """
    rest(page)
    dialog = page.get_by_role("dialog")
    button = dialog.get_by_role("button", name="PNG").element_handle()
    button.evaluate("button => { window.former = button.onclick; }")
    dialog.get_by_role("radio", name=label).click()
    plot = "document.querySelector('.st-key-chart-print-trend .js-plotly-plot')"
    page.wait_for_function(f"{plot}?._fullLayout?.{shows}")  # while it is drawn again there is none
    page.wait_for_function("button => button.onclick !== former", arg=button)


def test_a_figure_is_as_wide_as_a_column_in_every_format_and_has_no_ground_where_none_is_asked(
    visit,
):
    page = visit("/trends")
    chart(page, "trend")
    for width in (175, 85):
        _, png = save(page, "trend", "PNG")
        image = Image.open(BytesIO(png))
        assert image.width == round(width / 25.4 * 300)
        assert image.convert("RGB").getpixel((2, 2)) == (255, 255, 255)
        name, pdf = save(page, "trend", "PDF")
        assert name.endswith(".pdf")
        across = float(re.search(rb"MediaBox ?\[0 0 ([\d.]+)", pdf)[1])
        assert across == pytest.approx(width / 25.4 * 72, abs=0.01)
        assert b"+PlatoscopeSans-Regular" in pdf
        if width == 175:
            set_print(page, "85 mm", "width < 400")
    set_print(page, "Transparent", "paper_bgcolor === 'rgba(0,0,0,0)'")
    _, png = save(page, "trend", "PNG")
    assert Image.open(BytesIO(png)).convert("RGBA").getpixel((2, 2))[3] == 0


def test_table_page_and_recipe_are_downloaded(visit):
    page = visit("/trends")
    chart(page, "trend")
    name, table = download(page, "trend", "CSV")
    assert name.endswith(".csv")
    assert b"vit-mae-s" in table
    _, html = download(page, "trend", "HTML")
    assert html.startswith(b"<!DOCTYPE html>")
    _, recipe = download(page, "trend", "Settings")
    assert b'"mutual_knn"' in recipe
