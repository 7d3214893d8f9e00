"""Why a job failed, in a sentence with its remedy."""

from __future__ import annotations

import re
import signal
from pathlib import Path

from core.errors import MISTAKE, UNEXPECTED

_SAID = re.compile(r"^platoscope(?: [a-z-]+)*: (?:error: )?(.+)$", re.MULTILINE)


def explain(code: int, output: str, log: Path) -> str:
    """Return why a command failed: what it said itself, or where to look.

    code: its exit code, below 0 the signal that ended it. output: what it printed.
    """
    said = list(dict.fromkeys(_SAID.findall(output)))
    if code == MISTAKE and said:
        return "; ".join(said)
    if code == UNEXPECTED and said:
        return f"{said[-1]}; retry continues where it stopped"
    if code == -signal.SIGKILL:
        return (
            "it was killed, as happens where memory runs out; free some or choose a smaller"
            " --batch-size, then retry: what is finished is kept"
        )
    names = {each.value: each.name for each in signal.Signals}  # those of real time have none
    how = f"signal {names.get(-code, -code)}" if code < 0 else f"exit code {code}"
    return f"it failed unexpectedly ({how}); retry continues where it stopped, and {log} says more"
