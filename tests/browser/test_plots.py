"""A plot in a real Chromium: its legend hides and isolates, its files keep their texts."""

from __future__ import annotations

import json
from contextlib import suppress
from io import BytesIO

import numpy as np
import plotly.graph_objects as go
import pytest
from PIL import Image
from playwright.sync_api import TimeoutError

from core.figures.exports import to_html
from core.recipe import Recipe
from tests.browser.seen import chart, download

pytestmark = pytest.mark.browser
WIDTHS = "texts => texts.map(one => [one.textContent, one.getComputedTextLength()])"


def entry(page, key: str, name: str):
    items = page.locator(f".st-key-chart-{key} .legend .traces")
    return items.filter(has_text=name).locator(".legendtoggle")


def dots(page, key: str) -> list[str]:
    """Return the color of every dot that is drawn."""
    return page.locator(f".st-key-chart-{key} .scatterlayer .points path").evaluate_all(
        "dots => dots.map(dot => dot.style.fill)"
    )


def wait_for_dots(page, key: str, count: int, *, timeout: int = 90_000) -> None:
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
    for _ in range(3):
        entry(page, key, name).dblclick()
        with suppress(TimeoutError):
            wait_for_dots(page, key, count, timeout=5_000)
            return
    raise AssertionError(f"a double click on {name} does not isolate it")


@pytest.mark.parametrize(("link", "key"), [("/align", "trend"), ("/", "headline")])
def test_a_legend_hides_a_family_and_a_double_click_isolates_it(visit, link, key):
    page = visit(link)
    chart(page, key)
    page.locator("[data-testid=stStatusWidget]").wait_for(state="detached")
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


def test_a_saved_vector_graphic_sets_its_texts_as_the_page_does(visit, tmp_path):
    page = visit("/align")
    chart(page, "trend")
    shown = page.locator(".st-key-chart-trend .legendtext").evaluate_all(WIDTHS)
    name, svg = download(page, "trend", "SVG")
    assert name.endswith(".svg")
    assert b"@font-face" in svg
    assert b"data:font/woff2;base64," in svg
    assert b"<title>Alignment and competence</title>" in svg
    assert b"mutual_knn" in svg.split(b"</metadata>")[0]
    path = tmp_path / name
    path.write_bytes(svg)
    alone = page.context.new_page()
    alone.goto(path.as_uri())
    alone.evaluate("document.fonts.ready")
    saved = alone.locator(".legendtext").evaluate_all(WIDTHS)
    assert [text for text, _ in saved] == [text for text, _ in shown]
    assert [width for _, width in saved] == pytest.approx([width for _, width in shown], abs=0.1)
    edge = alone.locator("svg").first.bounding_box()
    for text in alone.locator("text").all():
        box = text.bounding_box()
        assert edge["x"] - 1 <= box["x"]
        assert box["x"] + box["width"] <= edge["x"] + edge["width"] + 1


def test_a_saved_image_is_the_vector_graphic_at_three_times_its_size(visit, browser, tmp_path):
    page = visit("/align")
    chart(page, "trend")
    _, svg = download(page, "trend", "SVG")
    _, png = download(page, "trend", "PNG")
    image = Image.open(BytesIO(png)).convert("RGB")
    (tmp_path / "plot.svg").write_bytes(svg)
    width, height = image.width // 3, image.height // 3
    context = browser.new_context(
        viewport={"width": width, "height": height}, device_scale_factor=3
    )
    alone = context.new_page()
    alone.goto((tmp_path / "plot.svg").as_uri())
    alone.evaluate("document.fonts.ready")
    size = alone.locator("svg").first.bounding_box()
    assert (size["width"], size["height"]) == (width, height)
    drawn = Image.open(BytesIO(alone.screenshot())).convert("RGB")
    context.close()
    assert drawn.size == image.size
    difference = np.abs(np.asarray(drawn, np.int16) - np.asarray(image, np.int16))
    assert (difference.max(axis=2) > 64).mean() < 0.002


def test_an_exported_page_is_drawn_without_a_network(browser, tmp_path):
    attack = "</script></pre></title><script>document.title = 'owned'</script>"
    recipe = Recipe.of("alignment", k=10, models=["a", attack, "ü"])
    dots = go.Scattergl(x=[1, 2, 3], y=[0.1, 0.2, 0.15], mode="markers", text=[attack, "b", "c"])
    file = tmp_path / "page.html"
    file.write_bytes(to_html(go.Figure(dots).update_layout(title=attack), recipe, title=attack))
    page = browser.new_page()
    complaints: list[str] = []
    requests: list[str] = []
    page.on(
        "console",
        lambda said: complaints.append(said.text) if said.type == "error" else None,
    )
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(file.as_uri())
    page.wait_for_selector("#chart .gl-canvas")
    content = json.loads(page.text_content("#recipe") or "")
    assert content["digest"] == recipe.digest
    assert page.title() == attack
    assert complaints == []
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []
    page.close()
