"""How long the server works on each page, without a browser: first and second run.

    python -m tests.benchmarks.page_times STORE [PAGE …] [--dataset D]

The second run is another visitor's, over what the first has made: answers in the store, and what
the server holds. Beside its seconds stand those that the processors worked on it, which do not
count what else the machine does; what the page sends to the browser; and the highest memory of the
server so far.
"""

from __future__ import annotations

import argparse
import logging
import os
import resource
import time
from pathlib import Path
from unittest import mock

from streamlit.runtime.pages_manager import PagesManager
from streamlit.testing.v1 import AppTest

from core.settings import ROOT
from tests.navigation import PAGES, Page

RUNS = 2


def main(store: Path, pages: list[str], dataset: str = "") -> None:
    """Print a row per page."""
    os.environ["PLATOSCOPE_STORE"] = str(store)
    logging.disable(logging.WARNING)  # else a line for each page that no browser has opened
    print(f"{'page':18} {'first':>8} {'second':>8} {'worked':>8} {'sent':>8} {'memory':>8}")
    with mock.patch.object(PagesManager, "uses_pages_directory", new=False, create=True):
        for page in [one for one in PAGES if not pages or one.name in pages]:
            runs = [open_page(page, dataset) for _ in range(RUNS)]
            (_, first, _), (app, second, worked) = runs
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            print(
                f"{page.name:18} {first:6.2f} s {second:6.2f} s {worked:6.2f} s"
                f" {sent(app) / 2**10:5.0f} kB {memory:5.2f} GB",
                flush=True,
            )
            for one in app.exception:
                print(f"    exception: {one.message}")
            for one in (*app.error, *app.warning, *app.info):
                print(f"    says: {one.value}")


def open_page(page: Page, dataset: str) -> tuple[AppTest, float, float]:
    """Open a page as a new visitor does; return it, the seconds that its script ran, and those that
    processors worked.
    """
    app = AppTest.from_file(str(ROOT / "pages" / "frame.py"), default_timeout=3600)
    if dataset:
        app.query_params["dataset"] = dataset
    if page.path:  # the first page comes first, and is not drawn
        with mock.patch("pages._shared.frame.draw"):
            app.run()
        app.switch_page(f"{page.name.partition('/')[0]}.py")
    began, worked = time.perf_counter(), time.process_time()
    app.run()
    return app, time.perf_counter() - began, time.process_time() - worked


def sent(app: AppTest) -> int:
    """Return the bytes of all elements of a page."""
    protos = (getattr(element, "proto", None) for element in app._tree)
    return sum(proto.ByteSize() for proto in protos if hasattr(proto, "ByteSize"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("pages", nargs="*")
    parser.add_argument("--dataset", default="")
    given = parser.parse_args()
    main(given.store, given.pages, given.dataset)
