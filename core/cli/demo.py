"""`platoscope demo` and `app`: the embedded store, and the dashboard over a store."""

from __future__ import annotations

import argparse
import os
import re
import socket
import sys
from typing import Any

from core.cli.shared import add_command, add_number
from core.errors import InputError, StoreError, quoted
from core.options import Range
from core.settings import READ_ONLY, ROOT, check_writable, is_read_only

HOSTS = ("localhost", "127.0.0.1", "::1")
PORTS = Range(1_024, 65_535)  # those below are the system's


def add(commands: Any) -> None:
    """Add `demo` and `app`."""
    add_command(
        commands,
        "demo",
        run_demo,
        "build the embedded demo store: the Cave and the models trained in it",
        job=True,
    )
    app = add_command(commands, "app", run_app, "the dashboard over a store, on localhost")
    add_number(app, "--port", PORTS, "where it listens", default=8501)
    app.add_argument(
        "--demo", action="store_true", help="build what the demo store lacks meanwhile"
    )
    app.add_argument(
        "--read-only",
        action="store_true",
        help="only show the store: no jobs, no uploads, nothing written (PLATOSCOPE_READ_ONLY=1)",
    )
    app.add_argument(
        "--behind",
        metavar="NAME",
        help="host, and path if any, under which a proxy shows it: example.org/platoscope",
    )


def run_demo(arguments: argparse.Namespace) -> None:
    """Take the answers that ship, then embed the models, and measure and answer what does not
    follow from them any more; what is there is not made again.
    """
    from core.cave.demo import (
        answer_demo,
        build_demo,
        install,
        measure_demo,
        missing_specs,
        missing_values,
    )

    install(arguments.store)
    if missing_specs(arguments.store):
        build_demo(arguments.store)
    if missing_values(arguments.store):
        measure_demo(arguments.store)
    answer_demo(arguments.store)
    print(f"the demo store in {arguments.store} is complete", file=sys.stderr)


def run_app(arguments: argparse.Namespace) -> None:
    """Become the dashboard's server, on localhost, which completes the demo beside it if asked."""
    check_port(arguments.port)
    os.environ["PLATOSCOPE_STORE"] = str(arguments.store.resolve())
    if arguments.read_only:
        os.environ[READ_ONLY] = "1"
    if is_read_only() and not arguments.store.is_dir():
        raise StoreError(f"there is no store in {arguments.store} to show; name one with --store")
    if arguments.demo:
        from core.cave.demo import install

        check_writable(arguments.store)
        install(arguments.store)
    command = serve_command(arguments.port, *_place_behind(arguments.behind or ""))
    if arguments.demo:
        command += ["--", "--demo"]
    print(
        f"Platoscope over {arguments.store} on http://localhost:{arguments.port}", file=sys.stderr
    )
    os.chdir(ROOT)  # where app.py, pages/ and .streamlit/config.toml are
    os.execv(sys.executable, command)


def serve_command(port: int, *options: str, script: str = "app.py") -> list[str]:
    """Return the command of the dashboard's server, with the options of Streamlit that nothing in
    the environment may loosen.

    Only this machine reaches the server, and only under a name of its own: a page elsewhere whose
    name was pointed here would count as this one.
    """
    from core.files.userfile import MB, UPLOAD

    guards = {
        "address": "localhost",
        "port": str(port),
        "enableXsrfProtection": "true",
        "enableCORS": "true",
        "enableStaticServing": "false",
        "enableAgentApi": "false",
        "maxUploadSize": "0" if is_read_only() else str(UPLOAD // MB),
    }
    hosts = [word for host in HOSTS for word in ("--server.allowedHosts", host)]
    return [
        *(sys.executable, "-m", "streamlit", "run", script, "--global.developmentMode", "false"),
        *(word for name, value in guards.items() for word in (f"--server.{name}", value)),
        *hosts,
        *options,
    ]


def _place_behind(name: str) -> list[str]:
    """Return Streamlit's options for a dashboard that a proxy shows as HOST/PATH; none without a
    name. Raises InputError for what is no host and path.
    """
    if not name:
        return []
    if not re.fullmatch(r"\w[\w.-]*(/[\w./-]*)?", name):
        raise InputError(
            "--behind is a host, and a path if any, such as example.org/platoscope; got"
            f" {quoted(name)}: leave out https:// and the port"
        )
    host, _, path = name.partition("/")
    return ["--server.allowedHosts", host, "--server.baseUrlPath", path]


def check_port(port: int) -> None:
    """Refuse a port on which somebody listens already, and name the next free one; raises
    InputError.
    """
    if not is_free(port):
        others = (*range(port + 1, 65_536), *range(1_024, port))
        raise InputError(
            f"expected a free port, but another program listens on {port}; take --port"
            f" {next(filter(is_free, others))}, or end that program"
        )


def is_free(port: int) -> bool:
    """Return whether a server can listen on a port of localhost."""
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # else not while one closes
        try:
            server.bind(("localhost", port))
        except OSError:
            return False
    return True
