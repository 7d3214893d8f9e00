"""The dashboard's server; `streamlit run app.py` starts it, `platoscope app` with its guards."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from threading import Event, Thread

import pandas as pd
import psutil
import streamlit as st
from streamlit.runtime import app_session
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue

from core.errors import PlatoscopeError
from core.machine.processes import exit_now
from core.settings import ROOT, is_read_only, store_path
from core.unexpected import tell_unexpected

DEMO = (sys.executable, "-m", "core", "demo")
NICER = 19  # the dashboard goes first, and embedding takes what it leaves
GRACE = 10.0  # seconds that a command has to end
PAUSE = 5.0  # seconds between two looks at the queue


@asynccontextmanager
async def work_beside(_: st.App) -> AsyncIterator[None]:
    """Run unfinished jobs for as long as the server lives, and complete the demo if asked."""
    pd.options.mode.string_storage = "python"  # Arrow's texts are slow to cut into small parts
    with ExitStack() as work:
        if is_read_only():
            os.environ["HF_HUB_OFFLINE"] = "1"  # no visitor fetches anything
        else:
            work.callback(watch_jobs().set)
        if "--demo" in sys.argv:
            work.enter_context(running_beside(DEMO))
        yield
    exit_now(0)


def watch_jobs(pause: float = PAUSE) -> Event:
    """Start a worker now and later on whenever the store has unfinished jobs and no worker; return
    what ends the watch.
    """
    end = Event()

    def watch() -> None:
        from core.jobs.queue import ensure_worker  # duckdb: the server listens meanwhile

        trouble = ""
        while not end.is_set():
            before, trouble = trouble, ""
            try:
                ensure_worker(store_path())
            except PlatoscopeError as error:
                trouble = str(error)
            except Exception as error:  # else no worker would ever be started again
                trouble = tell_unexpected(error)
            if trouble and trouble != before:
                print(f"platoscope: {trouble}", file=sys.stderr)
            end.wait(pause)

    Thread(target=watch, daemon=True).start()
    return end


@contextmanager
def running_beside(command: Sequence[str]) -> Iterator[None]:
    """Run a command at a lower priority while the block runs, and end it with the block."""
    process = subprocess.Popen(command, cwd=ROOT)
    with suppress(psutil.Error):  # it has ended already, or the system has no priorities
        own = psutil.Process(process.pid)
        own.nice(own.nice() + NICER)
    Thread(target=process.wait, daemon=True).start()  # as soon as it ends: no zombie is left
    try:
        yield
    finally:
        process.terminate()  # whatever is finished is kept
        try:
            process.wait(GRACE)
        except subprocess.TimeoutExpired:
            process.kill()


def show_unexpected(error: Exception) -> bool:
    """Show a sentence where Streamlit would show an error, and print it for the server's owner."""
    from pages._shared.frame import plain  # most of Platoscope: the server listens meanwhile

    sentence = tell_unexpected(error)
    print(f"platoscope: {sentence}", file=sys.stderr)
    st.error(plain(sentence), icon=":material/error:")
    return True


class WholeQueue(ForwardMsgQueue):  # type: ignore[misc]
    """The messages to a browser. If a fragment is drawn again before its last drawing was sent,
    Streamlit drops that drawing but keeps the fragments within it, which then reach the browser
    before what holds them: the page stays blank. Here nothing is dropped. The cause is
    https://github.com/streamlit/streamlit/pull/9381; tests/browser/test_server.py shows it.
    """

    def clear(
        self, retain_lifecycle_msgs: bool = False, fragment_ids_this_run: list[str] | None = None
    ) -> None:
        """Drop messages of the page, none of fragments."""
        super().clear(retain_lifecycle_msgs, None if fragment_ids_this_run is None else [])


app_session.ForwardMsgQueue = WholeQueue
# the traceback is in the file that the sentence names
logging.getLogger("streamlit.error_util").addFilter(
    lambda record: record.getMessage() != "Uncaught app execution"
)
app = st.App("pages/frame.py", lifespan=work_beside, on_script_error=show_unexpected)
