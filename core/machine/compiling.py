"""UMAP, with what it compiles kept on the disk."""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import cache
from importlib import import_module
from types import ModuleType


@cache
def load_umap() -> ModuleType:
    """Import UMAP, and have all that it compiles kept on the disk: the first layout of each process
    would take ten seconds otherwise. If no folder can be written, each process compiles again.
    """
    umap = import_module("umap")  # seconds that no other analysis must pay
    from numba import core as numba_core

    parts = [
        module
        for name, module in sys.modules.items()
        if name.partition(".")[0] in ("umap", "pynndescent")
    ]
    for value in (value for part in parts for value in vars(part).values()):
        if isinstance(value, numba_core.dispatcher.Dispatcher):
            with suppress(RuntimeError):  # no folder can be written
                value.enable_caching()
    return umap
