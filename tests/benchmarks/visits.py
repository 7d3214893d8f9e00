"""What memory a server holds after many visits.

    python -m tests.benchmarks.visits STORE [VISITS]

Visits go round the pages, each by a visitor of its own, as a Chromium makes them. After the first
and every twentieth the server's resident memory is printed, once it has come to rest: after its
first page it goes on for seconds with what was asked and is not drawn yet.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.benchmarks.clicks import PAGES, busy, resident, visit
from tests.browser.server import CHROMIUM, FLAGS, serve

IDLE = 100  # milliseconds that it works in three seconds of rest, at most


def visit_pages(
    address: str, count: int, *, pages: Sequence[str] = PAGES
) -> Iterator[tuple[int, int]]:
    """Visit pages in a row; yield the number of the first visit and of every twentieth, and the
    server's MB then.
    """
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        for number, link in enumerate(islice(cycle(pages), count), start=1):
            context = browser.new_context(viewport={"width": 1280, "height": 800})
            visit(context.new_page(), address + link)
            if number == 1 or number % 20 == 0:
                rest(address)
                yield number, resident(address)
            context.close()
        browser.close()


def rest(address: str) -> None:
    """Wait until the server at an address has hardly worked for three seconds; a minute at most."""
    worked = 0.0
    for _ in range(20):
        if busy(address) - worked <= IDLE:
            return
        worked = busy(address)
        time.sleep(3)


def main(store: Path, count: int = 200) -> None:
    """Print the memory after the first visit, and how much more it is after every twentieth."""
    log, start = Path(tempfile.mkdtemp()) / "server.log", 0
    with serve(store, log=log) as address:
        for number, held in visit_pages(address, count):
            start = start or held
            print(f"visit {number:4}: {held} MB, {held - start:+} MB", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
