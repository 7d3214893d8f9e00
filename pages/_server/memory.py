"""What Python's collector need not look at again: imported modules, half a million objects.

Streamlit collects garbage after each run of a page, which would walk over all of them: a third of
a second once torch, UMAP and Plotly are there.
"""

from __future__ import annotations

import gc
import sys

_modules_seen = 0


def freeze_imports() -> None:
    """Take what is alive out of the collector's sight, each time that modules were imported."""
    global _modules_seen
    if len(sys.modules) != _modules_seen:
        _modules_seen = len(sys.modules)
        gc.collect()
        gc.freeze()
