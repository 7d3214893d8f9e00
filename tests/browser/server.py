"""A dashboard on a free port of localhost, and the Chromium that opens it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.cli.app import serve_command
from core.settings import ROOT
from tests.ports import find_free_port

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = os.environ.get("PLATOSCOPE_CHROMIUM") or shutil.which("chromium")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
    # Playwright's own, and the pages of Chromium's address bar, which cost a second in each window
    "--disable-features=AvoidUnnecessaryBeforeUnloadCheckSync,DestroyProfileOnBrowserClose,"
    "HttpsUpgrades,LensOverlay,MediaRouter,PaintHolding,ThirdPartyStoragePartitioning,"
    "OptimizationHints,NetworkTimeServiceQuerying,AimEnabled,PreconnectToSearch,"
    "WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup",
)
PATIENCE = 300_000  # milliseconds: colors are compared for a minute of a machine that is free


@contextmanager
def serve(
    store: Path,
    *,
    log: Path,
    end: signal.Signals = signal.SIGTERM,
    script: str = "app.py",
    **variables: str,
) -> Iterator[str]:
    """Start the dashboard over a store, yield its address and end it by a signal. script: what is
    served in the app's place. variables: of its environment.
    """
    port = find_free_port()
    command = serve_command(port, script=script)
    environment = os.environ | {"PLATOSCOPE_STORE": str(store.absolute()), **variables}
    with (
        log.open("w") as out,
        subprocess.Popen(command, cwd=ROOT, env=environment, stdout=out, stderr=out) as server,
    ):
        try:
            _wait(f"http://localhost:{port}/_stcore/health")
            yield f"http://localhost:{port}"
        finally:
            server.send_signal(end)


def new_page(browser: Browser, **options: Any) -> Page:
    """Open an empty page in a context of its own, which waits as long as a busy machine takes."""
    page = browser.new_page(reduced_motion="reduce", **options)
    page.set_default_timeout(PATIENCE)
    return page


def _wait(url: str) -> None:
    end = time.monotonic() + PATIENCE / 1000
    while time.monotonic() < end:
        try:
            urllib.request.urlopen(url, timeout=10).close()
            return
        except OSError:
            time.sleep(0.2)
    raise AssertionError(f"{url} does not answer after {PATIENCE // 60_000} minutes")
