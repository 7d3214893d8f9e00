"""How long pages take when many visitors come at once, and what memory the server holds then.

    python -m tests.benchmarks.crowd STORE [VISITORS] [ROUNDS]

Each visitor is a session of its own: a WebSocket that speaks Streamlit's protocol, asks for a page
as a browser does, and reads until the server has sent all of it. All of a round begin at once, each
at the next of the pages, and stay until its last one is done. A real Chromium opens a page among
those of the last round. PLATOSCOPE_READ_ONLY=1 and all other settings reach the server.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
from playwright.async_api import async_playwright
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from core.figures.numbers import counted
from tests.benchmarks.clicks import busy, resident
from tests.browser.seen import DRAWN
from tests.browser.server import CHROMIUM, FLAGS, serve
from tests.navigation import PAGES

PATIENCE = 180.0  # seconds until a visitor gives up, which counts as an error
LINKS = [f"/{page.path}" for page in PAGES]
MOST = 100  # visitors: more than this machine would ever serve
AS_BROWSERS: dict[str, Any] = {  # which ask for no sign of life
    "subprotocols": ["streamlit"],
    "max_size": 2**28,
    "ping_interval": None,
}


@dataclass(frozen=True)
class Visit:
    """What came of a visit: the page, the seconds until all of it was sent, the bytes of it, and
    what went wrong; "" for nothing.
    """

    page: str
    seconds: float
    size: int
    error: str


@dataclass(frozen=True)
class Round:
    """What came of a round: its visits, the server's MB while all stay, the seconds that its
    processors worked, and those until a Chromium among them has drawn its page; NaN without one.
    """

    visits: Sequence[Visit]
    memory: int
    worked: float
    drawn: float


async def visit(address: str, page: str, *, leave: asyncio.Event, sent: asyncio.Event) -> Visit:
    """Open a page as a browser would and stay until the others are done; sent: set once all of it
    has come.
    """
    began = time.perf_counter()
    stream = f"{address.replace('http', 'ws', 1)}/_stcore/stream"
    try:
        async with connect(stream, **AS_BROWSERS) as socket:
            await socket.send(asking(address, page))
            size, error = await asyncio.wait_for(_read(socket), PATIENCE)
            seconds = time.perf_counter() - began
            sent.set()
            await leave.wait()
    except (OSError, TimeoutError, WebSocketException) as trouble:
        return Visit(page, time.perf_counter() - began, 0, f"{type(trouble).__name__} {trouble}")
    finally:
        sent.set()
    return Visit(page, seconds, size, error)


async def _read(socket: ClientConnection) -> tuple[int, str]:
    """Read until a page is whole; return its bytes and what was wrong first."""
    size, error = 0, ""
    async for data in socket:
        size += len(data)
        message = ForwardMsg.FromString(data)
        error = error or _error_of(message)
        if message.WhichOneof("type") == "script_finished":
            return size, error
    return size, "the server hung up"


def asking(address: str, page: str) -> bytes:
    """Return what a browser sends when its address is entered."""
    message = BackMsg()
    path, _, message.rerun_script.query_string = page.strip("/").partition("?")
    message.rerun_script.page_name = path
    context = message.rerun_script.context_info
    context.url, context.timezone, context.locale = address + page, "UTC", "en-US"
    context.color_scheme = "light"
    return message.SerializeToString()


def _error_of(message: ForwardMsg) -> str:
    """Return what is wrong in a message; "" for nothing."""
    element = message.delta.new_element
    if element.WhichOneof("type") == "exception":
        return element.exception.message or "an exception"
    failed = ForwardMsg.ScriptFinishedStatus.FINISHED_WITH_COMPILE_ERROR
    is_end = message.WhichOneof("type") == "script_finished"
    return "the page did not compile" if is_end and message.script_finished == failed else ""


async def come(
    address: str, visitors: int, *, links: Sequence[str] = LINKS, browse: bool = False
) -> Round:
    """Let visitors come at once, each to the next of the pages; browse: with a Chromium."""
    leave, before = asyncio.Event(), busy(address)
    done = [asyncio.Event() for _ in range(visitors)]
    visits = [
        asyncio.create_task(visit(address, page, leave=leave, sent=sent))
        for page, sent in zip(cycle(links), done, strict=False)
    ]
    drawn = await _draw(address) if browse else float("nan")
    await asyncio.gather(*(sent.wait() for sent in done))
    memory, worked = resident(address), (busy(address) - before) / 1000
    leave.set()
    return Round(await asyncio.gather(*visits), memory, worked, drawn)


async def _draw(address: str) -> float:
    """Return the seconds until a Chromium has drawn the first plot of a page."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        page, began = await browser.new_page(), time.perf_counter()
        await page.goto(f"{address}/alignment", timeout=1000 * PATIENCE)
        await page.locator(DRAWN).first.wait_for(timeout=1000 * PATIENCE)
        seconds = time.perf_counter() - began
        await browser.close()
    return seconds


def describe(round_: Round) -> str:
    """Say what came of a round, in a line, and of its errors in one each."""
    errors = [f"{one.page}: {one.error}" for one in round_.visits if one.error]
    half, most, last = np.percentile([one.seconds for one in round_.visits], (50, 95, 100))
    line = (
        f"{counted(len(round_.visits), 'visitor', 'visitors')}: all of a page sent after"
        f" {half:.1f} s (median), {most:.1f} s (95%), {last:.1f} s (last);"
        f" {counted(len(errors), 'error', 'errors')}; the server worked {round_.worked:.0f} s"
        f" and holds {round_.memory} MB"
    )
    chromium = "" if round_.drawn != round_.drawn else f"; a Chromium drew in {round_.drawn:.1f} s"
    return "\n".join([line + chromium, *errors])


async def crowd(address: str, visitors: int, rounds: int) -> list[Round]:
    """Let one visitor come, then many, round after round; print a line for each."""
    told = [await come(address, 1)]
    print(describe(told[0]), flush=True)
    for number in range(rounds):
        told.append(await come(address, visitors, browse=number == rounds - 1))
        print(describe(told[-1]), flush=True)
    return told


def main(store: Path, visitors: int = 50, rounds: int = 3) -> None:
    """Print what each round took, and what memory is held once everybody has left."""
    log = Path(tempfile.mkdtemp()) / "server.log"
    with serve(store, log=log) as address:
        asyncio.run(crowd(address, min(visitors, MOST), rounds))
        time.sleep(10)
        print(f"{resident(address)} MB held when all have left")
    problems = log.read_text().count("Traceback")
    print(f"{problems} tracebacks in the server's log{f', {log}' if problems else ''}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
