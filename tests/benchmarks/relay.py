"""A relay between a browser and a server that knows when the page last asked and was answered.

A browser that is busy drawing takes an answer late; the relay sees it when the server sends it.
What a page asks by the way, such as its icon, is passed on alone: only its web socket counts.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from urllib.parse import urlsplit

from tests.browser.server import PATIENCE

CHUNK = 1 << 16


class Relay:
    """When the browser first sent since a click began, and the server last, in seconds."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.asked = self.answered = 0.0
        self._is_asked, self._is_answered = Event(), Event()

    def begin(self) -> None:
        """Listen for what the next click asks."""
        self._is_asked.clear()
        self._is_answered.clear()

    def wait(self) -> None:
        """Wait until the server has begun to answer."""
        if not self._is_answered.wait(PATIENCE / 1000):
            raise TimeoutError("nothing was asked, or it was not answered")

    async def accept(self, up: asyncio.StreamReader, down: asyncio.StreamWriter) -> None:
        """Pass on one connection of the browser."""
        answers, asks = await asyncio.open_connection("localhost", self.port)
        first = await up.read(CHUNK)
        socket = b"upgrade: websocket" in first.lower()
        asks.write(first)
        with suppress(ConnectionError):  # a page that is left
            await asyncio.gather(
                _pass_on(up, asks, self._ask if socket else _nothing),
                _pass_on(answers, down, self._answer if socket else _nothing),
            )

    def _ask(self) -> None:
        if not self._is_asked.is_set():
            self.asked = time.perf_counter()
            self._is_asked.set()

    def _answer(self) -> None:
        self.answered = time.perf_counter()
        if self._is_asked.is_set():
            self._is_answered.set()


def _nothing() -> None:
    pass


async def _pass_on(
    source: asyncio.StreamReader, sink: asyncio.StreamWriter, note: Callable[[], None]
) -> None:
    while data := await source.read(CHUNK):
        note()
        sink.write(data)
    sink.close()


@contextmanager
def relayed(address: str) -> Iterator[tuple[Relay, str]]:
    """Relay a server; yield the relay and its address."""
    relay, loop = Relay(urlsplit(address).port or 80), asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, daemon=True)
    thread.start()
    start = asyncio.start_server(relay.accept, "localhost", 0)
    server = asyncio.run_coroutine_threadsafe(start, loop).result()
    try:
        yield relay, f"http://localhost:{server.sockets[0].getsockname()[1]}"
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
