"""`platoscope`, and `python -m core`, which is the same."""

from __future__ import annotations

import sys
import threading
from contextlib import suppress
from typing import NoReturn

from core.errors import INTERRUPTED, UNEXPECTED
from core.machine.endings import leave


def run() -> NoReturn:
    """Run one command, and end the process."""
    threading.excepthook = lambda ended: _say(ended.exc_value)
    leave(_run())


def _run() -> int:
    """Return the exit code of a command, also of one whose parser or imports end it."""
    try:
        from core.cli import main  # seconds, in which a person may interrupt

        return main()
    except SystemExit as end:  # the parser's: help, or a mistake that it has told
        return _flushed(end.code)
    except KeyboardInterrupt:
        print("platoscope: stopped", file=sys.stderr)
        return INTERRUPTED
    except BaseException as error:
        _say(error)
        return UNEXPECTED


def _flushed(code: object) -> int:
    with suppress(OSError):  # `platoscope --help | head` is no mistake
        sys.stdout.flush()
    return code if isinstance(code, int) else 0


def _say(error: BaseException | None) -> None:
    from core.unexpected import tell_unexpected  # what is imported above, no interrupt may find

    with suppress(OSError):  # nobody reads stderr
        print(f"platoscope: {tell_unexpected(error or SystemError())}", file=sys.stderr)


if __name__ == "__main__":
    run()
