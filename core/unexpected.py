"""Unforeseen errors: a sentence that asks for a report, and a file with the traceback."""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import sys
import traceback
from pathlib import Path

from core.errors import shortened
from core.machine.memory import is_out_of_memory

LONGEST = 200  # characters of an error's own message, or of a place


def tell_unexpected(error: BaseException) -> str:
    """Keep an unexpected error in a file named by its content, and return a sentence that asks for
    a report; too little memory is no reason for one.
    """
    if is_out_of_memory(error):
        return tell_too_little_memory(error)
    what = f"unexpected error: {summarize(error)}"
    try:
        file = _keep(error)
    except OSError as refusal:
        return (
            f"{what}; please report it, with the command: its traceback could not be kept"
            f" ({refusal.strerror or refusal})"
        )
    return f"{what}; please report it, with {file}, which holds the traceback"


def tell_too_little_memory(error: BaseException) -> str:
    return (
        f"there is too little memory for this ({summarize(error)}); free some, ask for less, or"
        " embed with a smaller --batch-size: what is finished is kept"
    )


def summarize(error: BaseException) -> str:
    """Return an error's kind and message on one line."""
    error = getattr(error, "cause", None) or error  # of an error in a worker of Ray
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {shortened(text, LONGEST)}" if text else type(error).__name__


def report_folder() -> Path:
    """Return where tracebacks are kept: the user's folder for the state of programs."""
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return Path(state, "platoscope")


def _keep(error: BaseException) -> Path:
    about = [
        f"command: {shlex.join(sys.argv)}",
        f"Python {platform.python_version()} on {platform.platform()}",
    ]
    text = "\n".join([*about, "", *traceback.format_exception(error)])
    data = text.encode(errors="replace")
    path = report_folder() / f"traceback-{hashlib.sha256(data).hexdigest()[:12]}.txt"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(handle, "wb") as file:
        file.write(data)
    return path
