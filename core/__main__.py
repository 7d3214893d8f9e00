"""`platoscope`, and `python -m core`, which is the same."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from core.cli import main


def run() -> NoReturn:
    """Run one command and leave at once: at a slow exit DuckDB's bindings report leaks, a page of them, that harm nobody."""
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    run()
