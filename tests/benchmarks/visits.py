"""What memory a server holds after many visits.

    python -m tests.benchmarks.visits STORE [VISITS]

Visits go round the pages, each by a visitor of its own, as a Chromium makes them; every twentieth
the server's resident memory is printed.
"""

from __future__ import annotations

import sys
import tempfile
from itertools import cycle, islice
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.benchmarks.clicks import PAGES, resident, visit
from tests.browser.server import CHROMIUM, FLAGS, serve


def main(store: Path, visits: int = 200) -> None:
    """Print the memory after the first visit, and how much more it is after every twentieth."""
    log = Path(tempfile.mkdtemp()) / "server.log"
    with serve(store, log=log) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        start = 0
        for number, link in enumerate(islice(cycle(PAGES), visits), start=1):
            context = browser.new_context(viewport={"width": 1280, "height": 800})
            visit(context.new_page(), address + link)
            context.close()
            start = start or resident(address)
            if number == 1 or number % 20 == 0:
                print(
                    f"visit {number:4}: {resident(address)} MB, {resident(address) - start:+} MB",
                    flush=True,
                )
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
