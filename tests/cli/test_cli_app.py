"""Starting the dashboard: this process becomes its server, which builds the demo next to itself."""

from __future__ import annotations

import os
import signal
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


def test_a_dashboard_that_is_stopped_says_only_that(tmp_path):
    log = tmp_path / "log"
    with serve(tmp_path / "store", log=log, end=signal.SIGINT) as address:
        pass
    assert log.read_text().split()[-2:] == ["URL:", address]


@pytest.mark.slow
def test_the_demo_is_built_beside_the_server_and_no_longer(tmp_path: Path) -> None:
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
        until = time.monotonic() + 1200  # the build gets what others leave
        while not list(store.glob("demo.json")):
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.1)
        (build,) = [one for one in own.children() if one.cmdline()[-2:] == ["core", "demo"]]
        assert build.nice() == min(os.nice(0) + NICER, 19)
        server.send_signal(signal.SIGINT)
        server.wait(180)
        assert not build.is_running()
        assert "Traceback" not in log.read_text()
    finally:
        for one in (*own.children(recursive=True), own) if own.is_running() else ():
            one.kill()
        server.wait(180)
