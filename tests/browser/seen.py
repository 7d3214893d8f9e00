"""What a person sees of a page in the browser, and the files that it gives away."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from playwright.sync_api import TimeoutError

from tests.browser.server import PATIENCE

LONG_RUN = "/theory-deep-linear?preset=gradient-flow" + "".join(
    f"&strength={percent / 100}" for percent in range(1, 61)
)
CHOSEN = "location.search.includes('chosen=')"
RESTS = ".stApp[data-test-script-state=notRunning]"


def rest(page) -> None:
    """Wait until the page's script does not run."""
    page.locator(RESTS).wait_for()


class Wire:
    """What the server says to a page that is opened anew: while it is held back, it waits."""

    def __init__(self, page) -> None:
        self.waiting: list = []
        self.is_held = False
        self._page = page
        page.route_web_socket("**/_stcore/stream", self._relay)
        page.reload()

    def _relay(self, browser) -> None:
        self.waiting.clear()  # what an earlier connection has not heard
        self._send = browser.send
        browser.connect_to_server().on_message(
            lambda said: self.waiting.append(said) if self.is_held else self._send(said)
        )

    def release(self) -> None:
        """Let through all that waits, and all that comes later."""
        while self.waiting:
            self._send(self.waiting.pop(0))
        self.is_held = False

    def release_until(self, holds: str) -> None:
        """Let through one word after the other until an expression holds of the page, then the
        rest.
        """
        for _ in range(PATIENCE // 50):
            if self._page.evaluate(holds):
                break
            if self.waiting:
                self._send(self.waiting.pop(0))
            self._page.wait_for_timeout(50)
        else:
            raise AssertionError(f"{holds} never held")
        self.release()


def chart(page, key: str):
    found = page.locator(f".st-key-chart-{key} .js-plotly-plot .main-svg").first
    found.wait_for()
    return found


def aim(page, key: str, find: Callable[[], dict[str, Any] | None]) -> dict[str, Any]:
    """Hold the pointer over a dot of a chart until its card shows, and return the dot: a chart that
    is just drawn anew hears nothing yet, and may still move. find: says where the dot is by now, if
    it is anywhere.
    """
    chart(page, key).scroll_into_view_if_needed()
    rest(page)
    cards = page.locator(f".st-key-chart-{key} .hovertext, .st-key-card-{key} .card")
    shown = cards.filter(visible=True)
    for _ in range(PATIENCE // 1000):
        if not (dot := find()):
            page.wait_for_timeout(1000)
            continue
        page.mouse.move(5, 5)  # a click may be that of the dot that was pointed at before
        with suppress(TimeoutError):
            shown.first.wait_for(state="hidden", timeout=1000)
            page.mouse.move(dot["x"], dot["y"])
            shown.first.wait_for(timeout=1000)
            if find() == dot:  # else it has moved, and the card may be a neighbor's
                return dot
    raise AssertionError(f"no dot of {key} shows its card")


def press(
    page, key: str, find: Callable[[], dict[str, Any] | None], *, until: str, held: str = ""
) -> dict[str, Any]:
    """Click a dot of a chart and return it; a click that falls while the chart is drawn anew is
    lost, and is made again. until: an expression that holds of the page once it has been heard.
    held: a key that is held down.
    """
    dot: dict[str, Any] = {}

    def click() -> None:
        dot.update(aim(page, key, find))
        with holding(page, held):
            page.mouse.down()
            page.mouse.up()

    repeat_until(page, until, click)
    return dot


def strike(page, key: str, *, until: str) -> None:
    """Press a key, again where it was lost; until: as in `press`."""
    repeat_until(page, until, lambda: page.keyboard.press(key))


def repeat_until(page, until: str, act: Callable[[], None]) -> None:
    """Act once the page's run has ended, and again unless an expression then holds of the page."""
    for attempt, patience in enumerate((45_000, 90_000, PATIENCE)):
        rest(page)
        if attempt and page.evaluate(until):  # it was heard after all
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


def first_dot(page, key: str) -> Callable[[], dict[str, Any] | None]:
    """Return what says where the first dot of a chart is."""
    dots = page.locator(f".st-key-chart-{key} .scatterlayer .points path")

    def find() -> dict[str, Any] | None:
        box = dots.first.bounding_box()
        return box and {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}

    return find


def click_until(button, is_heard: Callable[[], bool]) -> None:
    """Click a button; where that was lost while what is around it was drawn anew, click again."""
    for _ in range(PATIENCE // 45_000):
        with suppress(TimeoutError):  # a click that was heard late takes the button away
            button.click(timeout=45_000)
        for _ in range(450):
            if is_heard():
                return
            button.page.wait_for_timeout(100)
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
