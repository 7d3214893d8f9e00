"""What is undone when a process ends, also when it leaves by `os._exit`, which no `atexit` sees."""

from __future__ import annotations

import atexit
import os
import sys
from contextlib import ExitStack, suppress
from typing import NoReturn

endings = ExitStack()  # what is called last in, first out
atexit.register(endings.close)


def leave(code: int) -> NoReturn:
    """End this process at once, with all undone: at a slow exit DuckDB's bindings report leaks, a
    page of them, that harm nobody.
    """
    with suppress(Exception):  # what is undone is none of the process's results
        endings.close()
    for output in (sys.stdout, sys.stderr):
        with suppress(Exception):  # closed, or nobody reads it
            output.flush()
    os._exit(code)
