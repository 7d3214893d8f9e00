"""Starting the dashboard: what runs beside it is no child of it, and leaves no zombie."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from core.cli import main
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


@pytest.mark.parametrize("port", ["-1", "80", "70000", "1e4", "８５０１"])
def test_a_port_that_cannot_be_is_refused_with_those_that_can(port, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["app", f"--port={port}"])
    said = f"--port: expected a whole number, 1,024 to 65,535; got '{port}'"
    assert said in capsys.readouterr().err


def test_a_port_that_is_taken_is_refused_with_one_that_is_free(tmp_path, capsys):
    with socket.socket() as taken:
        taken.bind(("localhost", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["app", "--port", f"{port}", "--store", f"{tmp_path}"]) == 2
        said = capsys.readouterr().err
        assert f"another program listens on {port}; take --port" in said
        other = int(re.findall(r"--port (\d+)", said)[0])
        with socket.socket() as free:
            free.bind(("localhost", other))
    assert other != port
