"""`python -m pages._server.serve run app.py`: Streamlit's own command, mended and guarded."""

import os
import sys
from contextlib import ExitStack

import pandas as pd
from streamlit.web.cli import main

from core.files.userfile import MB, UPLOAD
from core.machine.processes import exit_now
from core.settings import is_read_only
from pages._server.beside import DEMO, running_beside
from pages._server.jobs import watch_jobs
from pages._server.mends import mend

HOSTS = ("localhost", "127.0.0.1", "::1")


def guards() -> list[str]:
    """Return the options of Streamlit that nothing in the environment may loosen.

    Only this machine reaches the server, and only under a name of its own: a page elsewhere whose
    name was pointed here would count as this one.
    """
    options = {
        "server.address": "localhost",
        "server.enableXsrfProtection": "true",
        "server.enableCORS": "true",
        "server.enableStaticServing": "false",
        "server.enableAgentApi": "false",
        "global.developmentMode": "false",
        "server.maxUploadSize": "0" if is_read_only() else str(UPLOAD // MB),
    }
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    return [*words, *(word for host in HOSTS for word in ("--server.allowedHosts", host))]


def serve() -> int:
    """Serve the dashboard until it is stopped, and return its exit code."""
    mend()
    pd.options.mode.string_storage = "python"  # Arrow's texts are slow to cut into many small parts
    if is_read_only():
        os.environ["HF_HUB_OFFLINE"] = "1"  # before anything asks the hub: no visitor fetches
    else:
        watch_jobs()
    with ExitStack() as beside:
        if "--demo" in sys.argv:
            sys.argv.remove("--demo")
            beside.enter_context(running_beside(DEMO))
        try:
            main([*sys.argv[1:], *guards()], prog_name="streamlit")
        except SystemExit as end:
            return end.code if isinstance(end.code, int) else 0
    return 0


if __name__ == "__main__":
    exit_now(serve())
