"""`platoscope`, and `python -m core`, which is the same."""

from __future__ import annotations

import sys
import threading
from contextlib import suppress
from io import TextIOWrapper
from typing import NoReturn

from core.errors import INTERRUPTED, UNEXPECTED, PlatoscopeError
from core.machine.processes import exit_now
from core.visible import visible


def run() -> NoReturn:
    """Run one command, and end the process."""
    threading.excepthook = _end_thread
    if isinstance(sys.stdout, TextIOWrapper):  # None where it was closed
        sys.stdout.reconfigure(errors="backslashreplace")  # as stderr has it
    exit_now(_run())


def _run() -> int:
    try:
        from core.cli import main  # seconds, in which a person may interrupt

        return main()
    except SystemExit as end:  # the parser's: help, or a mistake
        return end.code if isinstance(end.code, int) else 0
    except KeyboardInterrupt:
        print("platoscope: stopped", file=sys.stderr)
        return INTERRUPTED
    except BaseException as error:
        _say(error)
        return UNEXPECTED


def _end_thread(ended: threading.ExceptHookArgs) -> None:
    """Say what ended a thread, but for SystemExit, which Python passes over too."""
    if not issubclass(ended.exc_type, SystemExit):
        _say(ended.exc_value)


def _say(error: BaseException | None) -> None:
    from core.unexpected import tell_unexpected  # what is imported above, no interrupt may find

    expected = isinstance(error, PlatoscopeError)
    sentence = str(error) if expected else tell_unexpected(error or SystemError())
    with suppress(OSError):  # stderr is closed
        print(f"platoscope: {visible(sentence)}", file=sys.stderr)


if __name__ == "__main__":
    run()
