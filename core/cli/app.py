"""`platoscope demo` and `app`: the embedded store, and the dashboard over a store."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from core.cli.command import Command
from core.errors import InputError, StoreError, quoted
from core.files.userfile import MB, UPLOAD
from core.options import option
from core.settings import READ_ONLY, ROOT, check_writable, is_read_only

HOSTS = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class Demo(Command):
    """Build the embedded demo store: the Cave and the models trained in it."""

    command = "demo"
    is_job = True

    def run(self, store: Path) -> None:
        from core.cave import demo  # pandas, for which the dashboard should not wait

        demo.install(store)  # the answers that ship; what does not follow from them is made
        if demo.missing_specs(store):
            demo.build_demo(store)
        if demo.missing_values(store):
            demo.measure_demo(store)
        demo.answer_demo(store)
        print(f"the demo store in {store} is complete", file=sys.stderr)


@dataclass(frozen=True)
class App(Command):
    """Serve the dashboard over a store, on localhost."""

    command = "app"

    port: int = option(
        8501, metavar="PORT", least=1_024, most=65_535, help="the port it listens on"
    )
    demo: bool = option(False, help="build the missing parts of the demo in the background")
    read_only: bool = option(
        False,
        help="only show the store: no jobs, no uploads, nothing written (PLATOSCOPE_READ_ONLY=1)",
    )
    behind: str = option(
        "",
        metavar="NAME",
        help="host, and path if any, at which a proxy serves it: example.org/platoscope",
    )

    def run(self, store: Path) -> None:
        os.environ["PLATOSCOPE_STORE"] = str(store.resolve())
        if self.read_only:
            os.environ[READ_ONLY] = "1"
        if is_read_only() and not store.is_dir():
            raise StoreError(f"there is no store in {store} to show; name one with --store")
        if self.demo:
            from core.cave.demo import install

            check_writable(store)
            install(store)
        proxy: list[str] = []
        if self.behind:
            if not re.fullmatch(r"\w[\w.-]*(/[\w./-]*)?", self.behind):
                raise InputError(
                    "--behind is a host, and a path if any, such as example.org/platoscope; got"
                    f" {quoted(self.behind)}: leave out https:// and the port"
                )
            host, _, path = self.behind.partition("/")
            proxy = ["--server.allowedHosts", host, "--server.baseUrlPath", path]
        command = serve_command(self.port, *proxy) + (["--", "--demo"] if self.demo else [])
        print(f"Platoscope over {store} on http://localhost:{self.port}", file=sys.stderr)
        os.chdir(ROOT)  # where app.py, pages/ and .streamlit/config.toml are
        os.execv(sys.executable, command)


def serve_command(port: int, *options: str, script: str = "app.py") -> list[str]:
    """Return the command of the dashboard's server. Only this machine reaches it, and only by the
    names in HOSTS; nothing in the environment changes that.
    """
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
