"""How seldom Python's collector has to look, and at how little.

Streamlit collects garbage after each run of a page, before the browser gets the last of it: this
would walk over half a million objects of imported modules, a third of a second once torch, UMAP and
Plotly are there, and over all that is held of stores.
"""

from __future__ import annotations

import gc
import sys
import time

REST = 10  # seconds from one look at everything to the next; what is new is looked at all the time

_modules_seen = 0
_looked = 0.0


def freeze_imports() -> None:
    """Take what is alive out of the collector's sight, each time that modules were imported."""
    global _modules_seen
    if len(sys.modules) != _modules_seen:
        _modules_seen = len(sys.modules)
        gc.collect()
        gc.freeze()


def collect_seldom(generation: int) -> None:
    """Collect garbage as `gc.collect` does, unless that was done a moment ago."""
    global _looked
    if time.monotonic() - _looked > REST:
        _looked = time.monotonic()
        gc.collect(generation)
