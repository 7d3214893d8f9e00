"""Characters that are obeyed rather than shown, by terminals, browsers and files of drawings:
control characters, those that turn the direction of what follows, and halves of pairs.

Letters of scripts that run from right to left, and characters of no width, are left as they are.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO, cast

_CONTROLS = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029"
_TURNS = r"\u202a-\u202e\u2066-\u2069"
_ANY = re.compile(rf"[{_CONTROLS}{_TURNS}\ud800-\udfff\ufffe\uffff]")
# progress bars begin or end what they write at once with a carriage return
_AROUND = re.compile(r"(\r?)(.*?)(\r?)", re.DOTALL)


def visible(text: str) -> str:
    r"""Write each character that is obeyed as Python would; tabs and line feeds stay.

    >>> visible("\x1b[31mred\u202e")
    '\\x1b[31mred\\u202e'
    """
    return _ANY.sub(lambda match: ascii(match[0])[1:-1], text)


def visible_json(text: str) -> str:
    r"""Write them as JSON does, within a JSON text that keeps other characters as they are.

    >>> visible_json('"\u202e"')
    '"\\u202e"'
    """
    return _ANY.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


class VisibleStream:
    """A stream that writes control characters out."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text; carriage returns at its ends are a progress bar's."""
        before, between, after = cast(re.Match[str], _AROUND.fullmatch(text)).groups()
        return self._stream.write(f"{before}{visible(between)}{after}")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def visible_output() -> Iterator[None]:
    """Write out control characters of all that is printed; a closed stream stays closed."""
    with ExitStack() as stack:
        if sys.stdout:
            stack.enter_context(redirect_stdout(cast(TextIO, VisibleStream(sys.stdout))))
        if sys.stderr:
            stack.enter_context(redirect_stderr(cast(TextIO, VisibleStream(sys.stderr))))
        yield
