"""Starting the dashboard: this process becomes its server, which builds the demo beside itself."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from app import NICER
from core.cli import main
from core.settings import ROOT
from tests.browser.server import serve
from tests.ports import find_free_port


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


def test_a_dashboard_that_is_stopped_says_only_that(tmp_path):
    log = tmp_path / "log"
    with serve(tmp_path / "store", log=log, end=signal.SIGINT) as address:
        pass
    assert log.read_text().split()[-2:] == ["URL:", address]


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_the_demo_is_built_beside_the_server_and_no_longer(
    tmp_path: Path, end: signal.Signals
) -> None:
    port = find_free_port()
    store = tmp_path / "store"
    words = ["app", "--demo", "--store", str(store), "--port", str(port)]
    log = tmp_path / "log"
    with log.open("w") as out:
        server = subprocess.Popen(
            [sys.executable, "-m", "core", *words], cwd=ROOT, stdout=out, stderr=out
        )
    own = psutil.Process(server.pid)
    try:
        until = time.monotonic() + 300
        while not list(store.glob("demo.json")):
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.1)
        (build,) = [one for one in own.children() if one.cmdline()[-2:] == ["core", "demo"]]
        assert build.nice() == min(os.nice(0) + NICER, 19)
        server.send_signal(end)
        server.wait(180)
        assert not build.is_running()
        assert "Traceback" not in log.read_text()
    finally:
        for one in (*own.children(recursive=True), own) if own.is_running() else ():
            one.kill()
        server.wait(180)
