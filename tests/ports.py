"""Ports for the servers that tests start."""

from __future__ import annotations

import random
import socket

PORTS = range(20_000, 32_000)  # neither handed out by the system nor kept by Ray for its workers


def find_free_port() -> int:
    """Return a port on which nobody listens, drawn so that no test next to this one meets it."""
    drawn = random.SystemRandom()
    while True:
        port = drawn.choice(PORTS)
        with socket.socket() as free:
            try:
                free.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
