"""What Streamlit is made to do otherwise, each as one function or class that takes the place of its
own.

Until the first visitor has reached `st.navigation`, Streamlit takes a folder called `pages` for its
old page discovery and answers the first deep link of a fresh server with "Page not found". Its
browser part looks for the server below the address of the page first, which costs every deep link
two requests that fail: here the page names its server. Where a part of a page redraws itself right
after the whole page, Streamlit forgets to send what holds the parts within it: here all is sent. A
file that was made for a click is forgotten as soon as two pages of anybody's have been drawn, which
may be before the browser has fetched it: here it stays for a minute. After each run of a page it
collects garbage: here seldom. Any browser may ask it for the names of files in the checkout that
git does not know: here nothing is told. An error that nobody foresaw is a sentence on page and
terminal, and a file with its traceback.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import SimpleNamespace

from starlette.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope
from streamlit import error_util
from streamlit.delta_generator_singletons import get_dg_singleton_instance
from streamlit.runtime import app_session, media_file_manager
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.media_file_manager import MediaFileKind, MediaFileMetadata
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import script_runner
from streamlit.web.server.starlette import starlette_static_routes as routes

from core.unexpected import tell_unexpected
from pages._server.memory import collect_seldom

NAMED = '<script>window.__streamlit = { BACKEND_BASE_URL: new URL("./", location).href };</script>'
_make = routes.create_streamlit_static_handler


def mend() -> None:
    """Put everything here in its place."""
    PagesManager.uses_pages_directory = False
    routes.create_streamlit_static_handler = name_server
    app_session.ForwardMsgQueue = WholeQueue
    media_file_manager.MediaFileMetadata = FetchableFile
    script_runner.gc = SimpleNamespace(collect=collect_seldom)
    app_session.AppSession._handle_git_information_request = tell_nothing
    error_util.show_uncaught_app_exception = show_unexpected
    error_util._log_uncaught_app_exception = log_unexpected


def tell_nothing(_: app_session.AppSession) -> None:
    """Answer no question about the git repository that the project lies in."""


def name_server(directory: str, base_url: str | None) -> StaticFiles:
    """Return Streamlit's handler of its own files, whose page names its server."""
    files = _make(directory, base_url)
    answer = files.get_response

    async def get_response(path: str, scope: Scope) -> Response:
        response = await answer(path, scope)
        if Path(getattr(response, "path", "")).name != "index.html":
            return response
        page = Path(directory, "index.html").read_text().replace("<head>", f"<head>{NAMED}", 1)
        return HTMLResponse(page, headers={"Cache-Control": "no-cache"})

    files.get_response = get_response
    return files


class WholeQueue(ForwardMsgQueue):  # type: ignore[misc]
    """The messages to a browser; a redraw of parts takes none back.

    Streamlit takes back what those parts have drawn and was not sent yet, but keeps the parts
    within them: these then reach the browser before what holds them, and the page stays blank.
    """

    def clear(
        self, retain_lifecycle_msgs: bool = False, fragment_ids_this_run: list[str] | None = None
    ) -> None:
        """Take messages back: all but those of the course of runs, where the whole page is drawn
        anew.
        """
        none: list[str] | None = None if fragment_ids_this_run is None else []
        super().clear(retain_lifecycle_msgs, none)


class FetchableFile(MediaFileMetadata):  # type: ignore[misc]
    """What Streamlit notes of a file: one that no page shows any more may still be fetched."""

    SECONDS = 60

    def __init__(self, kind: MediaFileKind = MediaFileKind.MEDIA) -> None:
        super().__init__(kind)
        self._made = time.monotonic()

    @property
    def kind(self) -> MediaFileKind:
        """Return what Streamlit marks before it deletes it: others it deletes at once."""
        return MediaFileKind.DOWNLOADABLE

    def mark_for_delete(self) -> None:
        """Let the file go the next time that Streamlit looks, unless it is new."""
        if time.monotonic() - self._made > self.SECONDS:
            super().mark_for_delete()


def show_unexpected(error: BaseException) -> None:
    """Show a sentence on the page where a traceback would be."""
    from pages._shared.frame import plain  # most of Platoscope: the server listens meanwhile

    main_part = get_dg_singleton_instance().main_dg
    main_part.error(plain(tell_unexpected(error)), icon=":material/error:")


def log_unexpected(error: BaseException) -> None:
    """Say the same on the server's terminal."""
    print(f"platoscope: {tell_unexpected(error)}", file=sys.stderr)
