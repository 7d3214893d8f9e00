"""What a hub does wrong, by name: other answers than the right one, or other ways of sending it."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from threading import Event

from tests.hub.answers import Answer, refusal


@dataclass(frozen=True)
class Wrong:
    """A fault. answered: what is answered in place of the right answer. sent: how it is sent, in
    place of at once.
    """

    answered: Callable[[Answer, str], Answer] = lambda right, _: right
    sent: Callable[[BaseHTTPRequestHandler, Answer, Event], None] | None = None


def head(handler: BaseHTTPRequestHandler, answer: Answer) -> None:
    """Send an answer's first lines."""
    handler.send_response(answer.status)
    for name, value in {"Content-Length": str(len(answer.body)), **answer.headers}.items():
        handler.send_header(name, value)
    handler.end_headers()


def body(handler: BaseHTTPRequestHandler, data: bytes) -> None:
    """Send an answer's body."""
    if handler.command != "HEAD":
        handler.wfile.write(data)


def _always(answer: Answer) -> Wrong:
    return Wrong(lambda *_: answer)


def _silent(_: BaseHTTPRequestHandler, __: Answer, closing: Event) -> None:
    closing.wait()


def _reset(handler: BaseHTTPRequestHandler, _: Answer, __: Event) -> None:
    linger = struct.pack("ii", 1, 0)  # close without a word: the other side sees a reset
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    handler.connection.close()


def _cut(handler: BaseHTTPRequestHandler, answer: Answer, _: Event) -> None:
    head(handler, answer)
    body(handler, answer.body[: len(answer.body) // 2])


def _page(*_: object) -> Answer:
    return Answer(200, b"<html>Log in first</html>", {"Content-Type": "text/html"})


FAULTS: Mapping[str, Wrong] = {
    "gated": _always(refusal(403, "GatedRepo", "Access to this model is restricted")),
    "forbidden": _always(refusal(403, "", "Your token has no access")),
    "no repository": _always(refusal(401, "RepoNotFound", "Repository not found")),
    "no revision": _always(refusal(404, "RevisionNotFound", "Invalid rev id")),
    "no file": _always(refusal(404, "EntryNotFound", "Entry not found")),
    "error 503": _always(refusal(503, "", "Service unavailable")),
    "redirects": Wrong(lambda _, address: Answer(302, b"", {"Location": address})),
    "page": Wrong(_page),
    "odd data": _always(Answer(200, b"[7]", {"Content-Type": "application/json"})),
    "silent": Wrong(sent=_silent),
    "reset": Wrong(sent=_reset),
    "cut": Wrong(sent=_cut),
}
