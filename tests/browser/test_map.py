"""The convergence map in a browser: where its marks are, its keys, its movement."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow

DOTS = "svg.canvas circle[data-model]"


def places(page: Page) -> dict[str, tuple[float, float]]:
    """Return where the marks are, by their titles."""
    read = """dots => dots.map(dot => [dot.getAttribute("aria-label").split(":")[0],
        +dot.getAttribute("cx"), +dot.getAttribute("cy")])"""
    return {title: (x, y) for title, x, y in page.locator(DOTS).evaluate_all(read)}


def test_the_exported_svg_is_the_figure_on_the_page(visit, tmp_path: Path) -> None:
    page = visit("/")
    expect(page.locator(DOTS)).to_have_count(12)
    page.get_by_role("button", name="Download").first.click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="SVG", exact=True).click()
    file = tmp_path / "map.svg"
    saved.value.save_as(file)
    space = "{http://www.w3.org/2000/svg}"
    group = ElementTree.parse(file).getroot().find(f"{space}g")
    exported = {
        dot.find(f"{space}title").text: (float(dot.get("cx")), float(dot.get("cy")))
        for dot in group.findall(f"{space}circle")
        if dot.find(f"{space}title") is not None
    }
    assert exported == {title: pytest.approx(at, abs=0.11) for title, at in places(page).items()}


def test_keys_move_choose_and_change_the_metric(visit) -> None:
    page = visit("/")
    first = page.locator(f"{DOTS}[tabindex='0']")
    first.focus()
    name = first.get_attribute("data-model")
    page.keyboard.press("ArrowRight")
    second = page.locator(f"{DOTS}[tabindex='0']")
    expect(second).not_to_have_attribute("data-model", name)
    expect(second).to_be_focused()
    chosen = second.get_attribute("data-model")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"chosen={chosen}"))
    expect(page.locator(f"{DOTS}[data-model='{chosen}']")).to_have_attribute("aria-pressed", "true")
    before = places(page)
    page.locator(f"{DOTS}[tabindex='0']").focus()
    page.keyboard.press("3")
    expect(page).to_have_url(re.compile("metric=cknna"))
    button = page.get_by_role("button", name="CKNNA", exact=True)
    expect(button).to_have_attribute("aria-pressed", "true")
    assert places(page) != before


def test_play_and_the_slider_move_models_from_chance_inwards(visit) -> None:
    page = visit("/")  # reduced motion is asked for: one step, no animation
    expect(page.locator(DOTS)).to_have_count(12)
    end = places(page)
    page.get_by_role("button", name="Training").click()
    expect(page.locator(".when")).to_have_text("0%")
    page.get_by_role("button", name="Training").click()
    expect(page.locator(".when")).to_have_text("end of training")
    assert places(page) == end
