"""`platoscope`, and `python -m core`, which is the same."""

from __future__ import annotations

import os
from typing import NoReturn

from core.cli import main


def run() -> NoReturn:
    """Run one command and leave at once: at a slow exit DuckDB's bindings report leaks, a page of
    them, that harm nobody.
    """
    os._exit(main())  # main has flushed the results, and stderr has no buffer


if __name__ == "__main__":
    run()
