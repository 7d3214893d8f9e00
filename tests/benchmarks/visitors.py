"""How long visitors wait who come at once.

    python -m tests.benchmarks.visitors STORE [VISITORS]

Each opens one of the pages over a connection of its own, as a browser does, and leaves when it is
drawn. Prints the median and the longest wait, the seconds that the server's processors worked, and
its memory: of a first visitor, then of all of them.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import connect

from tests.benchmarks.clicks import busy, resident
from tests.browser.server import serve
from tests.navigation import PAGES

PATIENCE = 300.0  # seconds


async def visit(address: str, path: str) -> float:
    """Open a page; return the seconds until all of it is drawn."""
    began = time.perf_counter()
    asked, told = BackMsg(), ForwardMsg()
    asked.rerun_script.page_name = path
    async with connect(
        f"{address.replace('http', 'ws')}/_stcore/stream",
        subprotocols=["streamlit"],  # type: ignore[list-item]
        origin=address,  # type: ignore[arg-type]
        max_size=None,
        open_timeout=PATIENCE,
    ) as page:
        await page.send(asked.SerializeToString())
        while told.WhichOneof("type") != "script_finished":
            answered = await asyncio.wait_for(page.recv(decode=False), PATIENCE)
            told.ParseFromString(answered)
    return time.perf_counter() - began


async def visit_all(address: str, visitors: int) -> list[float]:
    paths = [PAGES[number % len(PAGES)].path for number in range(visitors)]
    return await asyncio.gather(*(visit(address, path) for path in paths))


def main(store: Path, visitors: int = 50) -> None:
    log = Path(tempfile.mkdtemp()) / "server.log"
    with serve(store, log=log) as address:
        for count in (1, visitors):
            before = busy(address)
            waits = asyncio.run(visit_all(address, count))
            worked = (busy(address) - before) / 1000
            print(
                f"{count} visitors: {statistics.median(waits):.1f} s, at most {max(waits):.1f} s;"
                f" processors {worked:.1f} s, memory {resident(address)} MB"
            )


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
