"""Unforeseen errors: a sentence that asks for a report, and a file with the traceback."""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import sys
import tempfile
import traceback
from contextlib import suppress
from pathlib import Path

from core.errors import shortened
from core.machine.memory import is_out_of_memory

KEPT = 100  # files of one folder, the newest
LONGEST = 200  # characters of an error's own message, or of a place


def tell_unexpected(error: BaseException) -> str:
    """Keep an unexpected error in a file, and return a sentence that names it and asks for a
    report; too little memory is no reason for one.

    The file is named by its content: the same error of the same command is kept once, and replaces
    no other.
    """
    if is_out_of_memory(error):
        return tell_too_little_memory(error)
    what = f"this was not expected: {summarize(error)}"
    try:
        file = _keep(error)
    except OSError as refusal:
        return (
            f"{what}; please report it, with the command: its traceback could not be kept"
            f" ({refusal.strerror or refusal})"
        )
    return f"{what}; please report it, with {file}, which holds the traceback"


def tell_too_little_memory(error: BaseException) -> str:
    """Return a sentence on what this machine, or its GPU, lacked."""
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
    """Write an error with its traceback into the folder of reports, or, if that cannot be, into a
    temporary file; raises OSError if neither can be.
    """
    about = [
        f"command: {shlex.join(sys.argv)}",
        f"Python {platform.python_version()} on {platform.platform()}",
    ]
    text = "\n".join([*about, "", *traceback.format_exception(error)])
    data = text.encode(errors="replace")
    path = report_folder() / f"traceback-{hashlib.sha256(data).hexdigest()[:12]}.txt"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        written = _write(data, path.parent)
        try:
            written.replace(path)
        except OSError:
            written.unlink(missing_ok=True)
            raise
    except OSError:
        return _write(data, Path(tempfile.gettempdir()))
    with suppress(OSError):  # another process may remove them, too
        reports = sorted(path.parent.glob("traceback-*.txt"), key=lambda one: one.stat().st_mtime)
        for old in reports[:-KEPT]:
            old.unlink(missing_ok=True)
    return path


def _write(data: bytes, folder: Path) -> Path:
    """Write a new file that its owner alone reads."""
    handle, name = tempfile.mkstemp(prefix="platoscope-", suffix=".txt", dir=folder)
    try:
        with open(handle, "wb") as file:
            file.write(data)
    except OSError:
        os.unlink(name)
        raise
    return Path(name)
