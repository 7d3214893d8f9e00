"""What SECURITY.md says of the server: whom it listens to, and what an address gives away."""

from __future__ import annotations

import socket
from contextlib import closing
from http import HTTPStatus
from http.client import HTTPConnection, HTTPMessage
from typing import NamedTuple

import psutil
import pytest

from core.settings import ROOT

pytestmark = pytest.mark.slow  # a dashboard is started

SECRET = "NOBODY SHALL READ THIS"
KEY = "dGhlIHNhbXBsZSBub25jZQ=="  # of the handshake, any 16 bytes
UPLOAD = "/_stcore/upload_file/somebody/1"


def own_addresses() -> list[str]:
    """Return the addresses under which other machines reach this one, and one of its own that the
    server does not take.
    """
    every = [one for several in psutil.net_if_addrs().values() for one in several]
    theirs = [one.address for one in every if one.family == socket.AF_INET]
    return [one for one in theirs if not one.startswith("127.")] + ["127.0.0.2"]


def test_only_this_machine_reaches_it(port):
    socket.create_connection(("localhost", port), timeout=60).close()
    for address in own_addresses():
        with pytest.raises(OSError, match=r"refused|assign|timed out"):
            socket.create_connection((address, port), timeout=2)


class Answer(NamedTuple):
    """What the server says."""

    status: int
    headers: HTTPMessage
    body: bytes


def ask(port: int, path: str, *, method: str = "GET", **headers: str) -> Answer:
    """Send a request as it stands: no client tidies its address up."""
    with closing(HTTPConnection("localhost", port, timeout=60)) as connection:
        connection.putrequest(method, path, skip_host=True)
        for name, value in {"Host": f"localhost:{port}", **headers}.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        body = b"" if answer.status == HTTPStatus.SWITCHING_PROTOCOLS else answer.read()
        return Answer(answer.status, answer.headers, body)


@pytest.fixture(scope="module")
def secrets(store):
    """Put a secret where an address might lead: next to the store's data, into it, and behind a
    link.
    """
    secret = store / "uploads" / "aa" / "secret.txt"
    secret.parent.mkdir(parents=True)
    secret.write_text(SECRET)
    (store / "link.txt").symlink_to(secret)
    return [secret, store / "link.txt"]


PLACES = ("", "/", "/static/", "/app/static/", "/media/", "/component/", "/component/x/")
PLACES += ("/_stcore/bidi-components/", "/_stcore/", "/data/", "/_stcore/upload_file/a/")
WAYS = ("../" * 12, "..%2f" * 12, "%2e%2e/" * 12, "....//" * 12, "..%5c" * 12, "//", "%00/")


def test_no_address_gives_a_file_away(port, secrets):
    """Files of the store, of the project and of the machine, by every way out that is known."""
    files = [*secrets, ROOT / "pyproject.toml", ROOT / ".streamlit" / "config.toml", "/etc/passwd"]
    marks = (SECRET.encode(), b"[build-system]", b"gatherUsageStats", b"root:x:0:0")
    for place in PLACES:
        for way in ("", *WAYS):
            for file in files:
                status, _, body = ask(port, f"{place}{way}{str(file).lstrip('/')}")
                assert not any(mark in body for mark in marks), (place, way, file)
                assert status in (200, 400, 403, 404, 405), (place, way, file)


def test_sources_and_data_have_no_address(port):
    shell = ask(port, "/").body
    for path in ("/app.py", "/pages/data.py", "/data/icon.png", "/.streamlit/config.toml"):
        status, _, body = ask(port, path)
        assert status >= 400 or body == shell, path


def shake(port: int, **headers: str) -> int:
    """Ask for a websocket as a browser does, and return the answer's status."""
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    named = {"Sec-WebSocket-Key": KEY, **headers}
    return ask(port, "/_stcore/stream", **upgrade, **named).status


def test_a_page_of_another_site_cannot_drive_the_dashboard(port):
    assert shake(port, Origin=f"http://localhost:{port}") == 101
    assert shake(port, Origin="http://evil.example") == 403
    assert shake(port, Origin="null") == 403


def test_a_name_that_was_pointed_here_does_not_count_as_this_machine(port):
    """A site may give its name this machine's address: its pages then are of the same origin."""
    evil = f"evil.example:{port}"
    assert shake(port, Host=evil, Origin=f"http://{evil}") == 403
    assert shake(port, Host=f"127.0.0.1:{port}", Origin=f"http://127.0.0.1:{port}") == 101


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_an_upload_without_its_token_is_refused(port, method):
    answer = ask(port, UPLOAD, method=method, Cookie="_streamlit_xsrf=guess")
    assert (answer.status, b"XSRF" in answer.body) == (403, True)


def test_the_token_comes_as_a_cookie_for_this_site_alone(port):
    cookie = ask(port, "/_stcore/health").headers["Set-Cookie"]
    assert "_streamlit_xsrf=" in cookie
    assert "SameSite=Lax" in cookie
