"""What is undone when a process ends, also when it leaves by `os._exit`, which no `atexit` sees."""

from __future__ import annotations

import atexit
from contextlib import ExitStack

endings = ExitStack()  # what is called last in, first out
atexit.register(endings.close)
