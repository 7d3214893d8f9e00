"""What a store of one's own features costs:

    python -m tests.benchmarks.large_store [MODELS] [STIMULI]

Half of the models see, half read; each has one layer of 384 dimensions. Prints the disk, the
seconds of import, of all pairs by mutual k-NN, and of the first page of a new server.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

import platoscope as ps
from tests.benchmarks.clicks import resident, visit
from tests.browser.server import CHROMIUM, FLAGS, serve

WIDTH = 384


def main(models: int, stimuli: int) -> None:
    """Build such a store, measure it, and delete it."""
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(stimuli, 32))
    with tempfile.TemporaryDirectory() as folder:
        store, ids, began = Path(folder) / "store", Path(folder) / "ids.csv", time.perf_counter()
        ids.write_text("\n".join(["id", *(f"s{each:06d}" for each in range(stimuli))]) + "\n")
        opened = ps.open_store(store)
        ps.add_dataset(opened, "mine", ids=str(ids))
        for each in range(models):
            noise = rng.normal(size=(stimuli, WIDTH))
            features = (shared @ rng.normal(size=(32, WIDTH)) + noise).astype(np.float32)
            modality = ("vision", "language")[each % 2]
            ps.import_features(opened, "mine", f"net-{each}", features, modality=modality)
        print(f"import {time.perf_counter() - began:.0f} s, {_size(store)}", flush=True)
        began = time.perf_counter()
        table = ps.ask("align", opened, dataset="mine").table
        seconds = time.perf_counter() - began
        print(f"{len(table):,} pairs {seconds:.0f} s, {_size(store)} with neighbors", flush=True)
        with (
            serve(store, log=Path(folder) / "log") as address,
            sync_playwright() as playwright,
        ):
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            for name in ("first", "second"):
                seconds = visit(page, address)
                print(f"{name} page drawn after {seconds:.1f} s, {resident(address)} MB of memory")
            browser.close()


def _size(folder: Path) -> str:
    total = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return f"{total / 1e6:,.0f} MB of disk"


if __name__ == "__main__":
    main(*(int(word) for word in (sys.argv[1:] + ["50", "10000"][len(sys.argv) - 1 :])))
