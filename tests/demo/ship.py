"""Makes again what ships of the demo's answers:

    make answers        python -m tests.demo.ship build/demo

Builds the demo from nothing, opens each page once, so that whatever it asks at first is kept, and
copies what is fresh to `data/demo`.
"""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path

from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.pages_manager import PagesManager
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from core.demo.building import answer_demo, build_demo, measure_demo
from core.demo.shipping import ship
from core.settings import ROOT
from pages._parts.experiments import patience
from tests.navigation import PAGES


def visit(store: Path) -> None:
    """Open each page over a store, and wait for whatever it shows; raises if one is in error."""
    os.environ["PLATOSCOPE_STORE"] = str(store)
    patience.PATIENCE = math.inf
    manifest_scanner.scan_component_manifests = list  # type: ignore[assignment]
    make = PagesManager.__init__

    def make_without_discovery(manager: PagesManager, *parts: object, **more: object) -> None:
        make(manager, *parts, **more)
        PagesManager.uses_pages_directory = False

    PagesManager.__init__ = make_without_discovery
    for page in PAGES:
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=7200)
        app._page_hash = calc_hash(page.path)
        app.run()
        if app.exception or app.error:
            raise RuntimeError(
                f"{page.path}: {[one.value for one in (*app.exception, *app.error)]}"
            )
        print(page.path, file=sys.stderr)


def main(store: Path) -> None:
    """Build the demo from nothing, visit it and ship its answers."""
    build_demo(store)
    measure_demo(store)
    answer_demo(store)
    visit(store)
    ship(store)


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
