"""Starting the dashboard: this process becomes its server, which builds the demo beside itself."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from core.settings import ROOT


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_the_demo_is_built_beside_the_server_and_no_longer(
    tmp_path: Path, end: signal.Signals
) -> None:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
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
        assert build.nice() == min(os.nice(0) + 5, 19)
        server.send_signal(end)
        server.wait(60)
        assert not build.is_running()
        assert "Traceback" not in log.read_text()
    finally:
        for one in (*own.children(recursive=True), own) if own.is_running() else ():
            one.kill()
        server.wait(60)
