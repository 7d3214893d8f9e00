"""How long a click takes, by the clock of a real Chromium.

    python -m tests.benchmarks.clicks STORE [QUIET]

For each interaction with a page: the time of the server, from the first byte that the click sends
to the last one that answers it, and the time until nothing moves any more. Then the time from an
address entered to its first plot, page by page, and the server's memory before and after all of it.
What a page asks every few seconds by itself is no answer to a click, and rests. QUIET: for how many
milliseconds nothing has to move; more than a large store's answer may rest.
"""

from __future__ import annotations

import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from playwright.sync_api import Page, sync_playwright

from tests.benchmarks.relay import Relay, relayed
from tests.browser.seen import DRAWN, QUIET, settle
from tests.browser.server import CHROMIUM, FLAGS, PATIENCE, serve
from tests.navigation import PAGES

REST = """
const every = window.setInterval;
window.setInterval = (ask, rest, ...more) => rest < 1000 ? every(ask, rest, ...more) : 0;
"""

Click = Callable[[], None]
Act = Callable[[Page], Click]  # opens and types what comes before the click that is timed


def step(key: str) -> Act:
    """Add one to a number."""
    return press(f".st-key-{key} [data-testid=stNumberInputStepUp]")


def choose(key: str, text: str) -> Act:
    """Choose from a list that was opened and searched before."""

    def prepare(page: Page) -> Click:
        page.locator(f".st-key-{key} input").first.click()
        page.keyboard.type(text)
        option = page.get_by_role("option", name=text).first
        option.wait_for()
        return option.click

    return prepare


def within_more(act: Act) -> Act:
    """Open the controls that are seldom needed first."""

    def prepare(page: Page) -> Click:
        page.get_by_role("button", name="Options").first.click()
        return act(page)

    return prepare


def press(selector: str, *held: Literal["Shift"]) -> Act:
    """Press a button while keys are held."""
    return lambda page: lambda: page.locator(selector).first.click(modifiers=held)


CLICKS: list[tuple[str, str, Act]] = [
    ("/trends", "k + 1", step("k")),
    ("/trends", "last layers", within_more(choose("layers", "last layers"))),
    ("/trends", "one model", within_more(choose("y", "MAE"))),
    ("/trends?tab=training", "k + 1", step("k")),
    ("/trends?tab=within", "levels of size", choose("by", "size")),
    ("/models", "color by family", choose("color", "Family")),
    ("/models", "UMAP", choose("layout", "UMAP")),
    ("/models", "k + 1", step("k")),
    ("/robustness?k=10", "one k more", choose("k", "20")),
    ("/images?tab=language", "first component", within_more(choose("by", "First component"))),
    ("/images?tab=language", "larger sets", step("size")),
    ("/why", "k + 1", step("k")),
    ("/why?tab=captions", "a line per model", choose("by", "model")),
    ("/transfer?tab=adapters", "width + 64", within_more(step("width"))),
    ("/images", "a stimulus", press(".st-key-tiles-all .tile:nth-child(6) button")),
    ("/images", "choose a stimulus", press(".st-key-tiles-all .tile button", "Shift")),
    ("/images", "color by scene", choose("color", "scene")),
    ("/images", "next page", press("[data-testid=stPagination] button:has-text('2')")),
    ("/images", "pictures alone", choose("map", "Images only")),
    ("/images?stimulus=5", "next stimulus", press("button:has-text('Next')")),
    ("/images?stimulus=5", "k + 1", step("k")),
    ("/images?stimulus=5", "a neighbor", press(".st-key-tiles-b .tile button")),
]


def visit(page: Page, url: str, quiet: int = QUIET) -> float:
    """Enter an address; return the seconds until it has drawn."""
    began = time.perf_counter()
    page.goto(url)
    page.locator(DRAWN).first.wait_for(timeout=PATIENCE)
    seconds = time.perf_counter() - began
    settle(page, quiet)
    return seconds


def click(page: Page, relay: Relay, act: Act, quiet: int = QUIET) -> tuple[float, float, float]:
    """Do something to a page; return the server's milliseconds, those until nothing moves, and
    those that the server's processors worked.
    """
    press_it = act(page)
    relay.begin()
    worked = busy(f":{relay.port}")
    began = float(page.evaluate("performance.now()"))
    press_it()
    page.mouse.move(0, 0)  # else a tooltip opens half a second later, where the pointer is left
    relay.wait()
    settle(page, quiet)
    last = float(page.evaluate("window.changed"))
    return 1000 * (relay.answered - relay.asked), last - began, busy(f":{relay.port}") - worked


def server(address: str = "") -> Path:
    """Return where the system tells of the server's process: of the one at an address, of the
    latest without one.
    """
    port = address.rpartition(":")[2].encode()
    pids = [
        path.parent.name
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if b"streamlit" in (words := path.read_bytes()) and b"app.py" in words and port in words
    ]
    return Path("/proc") / max(pids, key=int)


def resident(address: str = "") -> int:
    """Return the MB of memory that the server holds; address: see `server`."""
    status = (server(address) / "status").read_text()
    return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) // 1024


def busy(address: str = "") -> float:
    """Return the milliseconds that the server's processors have worked; unlike the time that
    passes, they do not count what else the machine does. address: see `server`.
    """
    user, system = (server(address) / "stat").read_text().rpartition(")")[2].split()[11:13]
    return 1000 * (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def main(store: Path, quiet: int = QUIET, *, rounds: int = 3) -> None:
    """Print a row per interaction, then the first plots and the memory."""
    log = Path(tempfile.mkdtemp()) / "server.log"
    with (
        serve(store, log=log) as server_address,
        relayed(server_address) as (relay, address),
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.add_init_script(REST)
        visit(page, address)
        before = resident(server_address)
        servers, whole = [], []
        for link, name, act in CLICKS:
            times = []
            for _ in range(rounds):  # the first of them computes what no one has asked before
                visit(page, address + link, quiet)
                times.append(click(page, relay, act, quiet))
            first, warm = (
                times[0],
                [statistics.median(part) for part in zip(*times[1:], strict=True)],
            )
            servers.append(warm[0])
            whole.append(warm[1])
            print(
                f"{link:22} {name:20} server {first[0]:6.0f} then {warm[0]:6.0f} ms,"
                f" settled {first[1]:6.0f} then {warm[1]:6.0f} ms,"
                f" processor {first[2]:6.0f} then {warm[2]:6.0f} ms",
                flush=True,
            )
        quick = sum(time < 1000 for time in whole)
        print(f"median server time {statistics.median(servers):.0f} ms (at most 150)")
        print(f"{quick} of {len(whole)} settle within 1 s (all but one)")
        for link in (f"/{page.path}" for page in PAGES):
            print(f"{link:22} drawn after {visit(page, address + link):.2f} s (at most 1.5)")
        after = resident(server_address)
        print(f"memory {before} MB after one visit, {after} MB after all (at most 800)")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
