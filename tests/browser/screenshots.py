"""`python -m tests.browser.screenshots STORE FOLDER`: every page over a store, in both themes and
on a phone, as PNG files.

`make screenshots` renews the README's pictures from them.
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from core.settings import ROOT
from tests.browser.seen import DRAWN, settle
from tests.browser.server import CHROMIUM, FLAGS, PATIENCE, serve
from tests.navigation import PAGES, VIEWS, Page

QUIET = 2000  # ms without a change: a phone is told from its width, which draws plots again
LOOKS = {"light": (1280, 800, "light"), "dark": (1280, 800, "dark"), "phone": (390, 844, "light")}


def main(store: Path, folder: Path) -> None:
    """Open every page in every look and save what a person sees once it is quiet."""
    folder.mkdir(parents=True, exist_ok=True)
    with serve(store, log=folder / "server.log") as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        for look in LOOKS:
            for page in VIEWS:
                path = folder / f"{name_of(page)}-{look}.png"
                query = f"?tab={page.tab}" if page.tab else ""
                shoot(browser, f"{address}/{page.path}{query}", path, look=look)
        browser.close()


def name_of(page: Page) -> str:
    """Return what a tab's files are called."""
    return page.name.replace("/", "_")


def shoot(browser: Browser, url: str, path: Path, *, look: str) -> None:
    """Save one page in one look, after its spinner is gone and its charts are drawn."""
    width, height, theme = LOOKS[look]
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme)
    page = context.new_page()
    page.goto(url)
    page.wait_for_selector("h1")
    page.wait_for_selector(DRAWN, timeout=PATIENCE)
    settle(page, QUIET)
    page.screenshot(path=path)
    context.close()


def renew(folder: Path) -> None:
    """Put the README's pictures in their places: the overview whole, every page small."""
    data, small = ROOT / "data" / "screenshots", ROOT / "docs" / "pictures"
    for place in (data, small):
        place.mkdir(parents=True, exist_ok=True)
    for page in PAGES:
        picture = Image.open(folder / f"{name_of(page)}-light.png").convert("RGB")
        if page.name == "overview":
            picture.quantize(256).save(data / "overview.png", optimize=True)
        picture.crop((0, 0, 1280, 800)).resize((256, 160), Image.Resampling.LANCZOS).quantize(
            64
        ).save(small / f"{page.name.partition('/')[0]}.png", optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
    renew(Path(sys.argv[2]))
