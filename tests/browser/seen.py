"""What a person sees of a page in the browser, and the files that it gives away."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from playwright.sync_api import TimeoutError

from tests.browser.server import PATIENCE

CHOSEN = "location.search.includes('chosen=')"
# what a page draws: plots, pictures, or in their place tables, jobs, an offer or a sentence
DRAWN = """.js-plotly-plot .main-svg, [data-testid=stImage] img, .tile, .st-key-library-models,
  .st-key-jobs, [class*=st-key-queue], [data-testid=stAlert]"""
RESTS = ".stApp[data-test-script-state=notRunning]"
HEARD = 3_000  # ms in which a page that hears the pointer shows it
QUIET = 700  # ms without a change: the page has settled
WATCH = """() => {
  if (window.changed) return;
  window.changed = performance.now();
  new MutationObserver(() => { window.changed = performance.now(); }).observe(
    document.body, { subtree: true, childList: true, attributes: true, characterData: true });
}"""
FIRST_DOT = """key => {
  const dot = document.querySelector(`.st-key-chart-${key} .scatterlayer .points path`);
  if (!dot) return null;
  const { x, y, width, height } = dot.getBoundingClientRect();
  return { x: x + width / 2, y: y + height / 2 };
}"""


def rest(page) -> None:
    """Wait until the page's script does not run."""
    page.locator(RESTS).wait_for()


def settle(page, quiet: int = QUIET) -> None:
    """Wait until the page's script does not run and nothing has changed for so many ms."""
    page.evaluate(WATCH)
    still = f"performance.now() - window.changed > {quiet} && document.querySelector('{RESTS}')"
    # seldom: each look makes the browser draw a frame, and the two work on the same cores
    page.wait_for_function(still, polling=100, timeout=PATIENCE)


def chart(page, key: str):
    found = page.locator(f".st-key-chart-{key} .js-plotly-plot .main-svg").first
    found.wait_for()
    return found


def aim(page, key: str, find: str = FIRST_DOT, arg: object = None) -> dict[str, Any]:
    """Hold the pointer over a dot of a chart until its card shows, and return the dot: a chart that
    is just drawn again hears nothing yet, and may still move. find: a function of the page that
    returns where the dot is by now, if it is anywhere. arg: what it is given, the key without.
    """
    chart(page, key).scroll_into_view_if_needed()
    rest(page)
    cards = page.locator(f".st-key-chart-{key} .hovertext, .st-key-card-{key} .card")
    shown, arg = cards.filter(visible=True).first, key if arg is None else arg
    for _ in range(PATIENCE // HEARD):
        dot: dict[str, Any] = page.wait_for_function(find, arg=arg).json_value()
        page.mouse.move(5, 5)  # a card may be that of the dot that was pointed at before
        with suppress(TimeoutError):
            shown.wait_for(state="hidden", timeout=HEARD)
            page.mouse.move(dot["x"], dot["y"])
            shown.wait_for(timeout=HEARD)
            if page.evaluate(find, arg) == dot:  # else it has moved: the card may be a neighbor's
                return dot
    raise AssertionError(f"no dot of {key} shows its card")


def press(
    page, key: str, find: str = FIRST_DOT, arg: object = None, *, until: str, held: str = ""
) -> dict[str, Any]:
    """Click a dot of a chart, found as by `aim`, and return it; a click that falls while the chart
    is drawn again is lost, and is made again. until: an expression that holds of the page once it
    has been heard. held: a key that is held down.
    """
    dot: dict[str, Any] = {}

    def click() -> None:
        dot.update(aim(page, key, find, arg))
        with holding(page, held):
            page.mouse.down()
            page.mouse.up()

    repeat_until(page, until, click)
    return dot


def strike(page, key: str, *, until: str) -> None:
    """Press a key, again where it was lost; until: as in `press`."""
    repeat_until(page, until, lambda: page.keyboard.press(key))


def repeat_until(page, until: str, act: Callable[[], None]) -> None:
    """Act when the page's script does not run, again where that was lost, until an expression holds
    of the page.
    """
    for patience in (45_000, 90_000, PATIENCE):
        rest(page)
        if page.evaluate(until):
            return
        act()
        with suppress(TimeoutError):
            page.wait_for_function(until, timeout=patience)
            return
    raise AssertionError(f"{until} never held")


@contextmanager
def holding(page, key: str) -> Iterator[None]:
    """Hold a key down, if any."""
    if key:
        page.keyboard.down(key)
    yield
    if key:
        page.keyboard.up(key)


def click_until(button, shown) -> None:
    """Click a button until something is shown: a click is lost where what is around the button was
    drawn again.
    """
    for attempt in range(PATIENCE // 45_000):
        if attempt and shown.is_visible():  # it was heard after all
            return
        with suppress(TimeoutError):  # a click that was heard late takes the button away
            button.click(timeout=45_000)
        with suppress(TimeoutError):
            shown.wait_for(timeout=45_000)
            return
    raise AssertionError(f"no click on {button} was heard")


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


def open_export(page, key: str):
    """Open what a chart's button “Download” offers, unless it is open, and return it."""
    offered = page.locator(f".st-key-export-{key}")
    if not offered.is_visible():
        button = page.locator(f".st-key-bar-{key}").get_by_role("button", name="Download")
        button.scroll_into_view_if_needed()
        button.click()
        offered.wait_for()
    return offered


def download(page, key: str, kind: str) -> tuple[str, bytes]:
    offered = open_export(page, key)
    with page.expect_download() as waited:
        offered.get_by_role("button", name=kind, exact=True).click()
    return waited.value.suggested_filename, Path(waited.value.path()).read_bytes()


def save(page, key: str, kind: str) -> tuple[str, bytes]:
    """Open the figure of a chart as it will be printed, unless it is open, and save it."""
    dialog = page.get_by_role("dialog")
    if not dialog.count():
        open_export(page, key).get_by_role("button", name="Figure").click()
        chart(page, f"print-{key}")
    page.evaluate("document.fonts.ready")  # the file takes what is loaded
    button = dialog.get_by_role("button", name=kind, exact=True)
    page.wait_for_function("button => button.onclick", arg=button.element_handle())
    with page.expect_download() as waited:
        button.click()
    return waited.value.suggested_filename, Path(waited.value.path()).read_bytes()


def field(page, label: str):
    return page.locator("[data-testid=stSelectbox]", has=page.get_by_text(label, exact=True))


def choose(page, label: str, text: str) -> None:
    """Choose what is listed under a label; a list that a redraw has closed is opened again."""
    option = page.get_by_role("option", name=text).first
    for patience in (10_000, 30_000, 60_000, PATIENCE):
        rest(page)
        field(page, label).locator("input").click()
        page.keyboard.type(text)  # a long list draws only what is in sight
        with suppress(TimeoutError):
            option.click(timeout=patience)
            return
        page.keyboard.press("Escape")
    raise AssertionError(f"{text} is not listed under {label}")
