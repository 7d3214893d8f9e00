"""What a person sees of a page in the browser, and the files that it gives away."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.browser.server import PATIENCE

RESTS = ".stApp[data-test-script-state=notRunning]"


def rest(page) -> None:
    """Wait until the page's script does not run."""
    page.locator(RESTS).wait_for()


def chart(page, key: str):
    found = page.locator(f".st-key-chart-{key} .js-plotly-plot .main-svg").first
    found.wait_for()
    return found


def aim(page, key: str, find: Callable[[], dict[str, Any] | None]) -> dict[str, Any]:
    """Hold the pointer over a dot of a chart until its card shows, and return the dot: a chart that
    is just drawn anew hears nothing yet, and may still move. find: says where the dot is by now, if
    it is anywhere.
    """
    from playwright.sync_api import TimeoutError

    chart(page, key).scroll_into_view_if_needed()
    rest(page)
    cards = page.locator(f".st-key-chart-{key} .hovertext, .st-key-card-{key} .card")
    shown = cards.filter(visible=True)
    for _ in range(PATIENCE // 1000):
        if not (dot := find()):
            page.wait_for_timeout(1000)
            continue
        page.mouse.move(5, 5)  # a click may be that of the dot that was pointed at before
        try:
            shown.first.wait_for(state="hidden", timeout=1000)
            page.mouse.move(dot["x"], dot["y"])
            shown.first.wait_for(timeout=1000)
        except TimeoutError:
            continue
        return dot
    raise AssertionError(f"no dot of {key} shows its card")


def press(page, key: str, find: Callable[[], dict[str, Any] | None]) -> dict[str, Any]:
    """Click a dot of a chart, which hears it, and return the dot."""
    dot = aim(page, key, find)
    page.mouse.down()
    page.mouse.up()
    return dot


def first_dot(page, key: str) -> Callable[[], dict[str, Any] | None]:
    """Return what says where the first dot of a chart is."""
    dots = page.locator(f".st-key-chart-{key} .scatterlayer .points path")

    def find() -> dict[str, Any] | None:
        box = dots.first.bounding_box()
        return box and {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}

    return find


def tiles(page, key: str):
    return page.locator(f".st-key-tiles-{key} .tile")


def picture(page, key: str, index: int):
    return page.locator(f".st-key-tiles-{key} .tile[data-index='{index}'] button")


def framed(page, key: str) -> set[str]:
    tiles(page, key).first.wait_for()
    return set(
        page.locator(f".st-key-tiles-{key} .tile.marked").evaluate_all(
            "tiles => tiles.map(tile => tile.dataset.index)"
        )
    )


def download(page, key: str, kind: str) -> tuple[str, bytes]:
    bar = page.locator(f".st-key-bar-{key}")
    bar.scroll_into_view_if_needed()
    with page.expect_download() as waited:
        bar.get_by_role("button", name=kind, exact=True).click()
    return waited.value.suggested_filename, Path(waited.value.path()).read_bytes()


def save(page, key: str, kind: str) -> tuple[str, bytes]:
    """Open the figure of a chart as it will be printed, unless it is open, and save it."""
    dialog = page.get_by_role("dialog")
    if not dialog.count():
        bar = page.locator(f".st-key-bar-{key}")
        bar.scroll_into_view_if_needed()
        bar.get_by_role("button", name="Figure", exact=True).click()
        chart(page, f"print-{key}")
    with page.expect_download() as waited:
        dialog.get_by_role("button", name=kind, exact=True).click()
    return waited.value.suggested_filename, Path(waited.value.path()).read_bytes()


def field(page, label: str):
    return page.locator("[data-testid=stSelectbox]", has=page.get_by_text(label, exact=True))


def choose(page, label: str, text: str) -> None:
    rest(page)  # a run that ends closes the list
    field(page, label).locator("input").click()
    page.keyboard.type(text)  # a long list draws only what is in sight
    page.get_by_role("option", name=text).first.click()
