"""A relay between a browser and a server that knows when bytes were last asked for and answered.

A browser that is busy drawing takes an answer late; the relay sees it when the server sends it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from urllib.parse import urlsplit

CHUNK = 1 << 16


class Relay:
    """When the browser first sent since `asked` was None, and the server last, in seconds."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.asked: float | None = None
        self.answered = 0.0

    async def accept(self, up: asyncio.StreamReader, down: asyncio.StreamWriter) -> None:
        """Pass on one connection of the browser."""
        answers, asks = await asyncio.open_connection("localhost", self.port)
        with suppress(ConnectionError):  # a page that is left
            await asyncio.gather(self._ask(up, asks), self._answer(answers, down))

    async def _ask(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(CHUNK):
            if self.asked is None:
                self.asked = time.perf_counter()
            sink.write(data)
        sink.close()

    async def _answer(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(CHUNK):
            self.answered = time.perf_counter()
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
