"""What a person sees of a page in the browser, and the files that it gives away."""

from __future__ import annotations

from pathlib import Path

RESTS = ".stApp[data-test-script-state=notRunning]"


def rest(page) -> None:
    """Wait until the page's script does not run."""
    page.locator(RESTS).wait_for()


def chart(page, key: str):
    found = page.locator(f".st-key-chart-{key} .js-plotly-plot .main-svg").first
    found.wait_for()
    return found


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
