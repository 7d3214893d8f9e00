"""Starting the dashboard: what runs beside it is no child of it, and leaves no zombie."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from core.settings import ROOT

CODE = """
import os, sys, time
from core.cli.demo import start_beside
start_beside([sys.executable, "-c", "open(sys.argv[1], 'w').write('done')" , sys.argv[1]])
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("no child")
"""


def test_what_runs_beside_the_server_is_no_child_of_it(tmp_path: Path) -> None:
    code = CODE.replace("open(sys", "import sys; open(sys")
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "note")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout == "no child\n"
    until = time.monotonic() + 30
    while not (tmp_path / "note").exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert (tmp_path / "note").exists()
