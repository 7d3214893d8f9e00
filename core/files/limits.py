"""How much of a person's file is read: far above what real data have, and low enough to keep the
machine's memory.
"""

from __future__ import annotations

from core.machine.memory import free_memory

MB, GB = 10**6, 10**9

SECONDS = 300.0  # for what is read in a process of its own
SHARE = 0.5  # of the free memory that one file may take
SMALL = 64 * MB  # in memory: as much is always read

NOTE = MB  # bytes that a person writes by hand: a plan, an instruction
CONFIG = 64 * MB  # bytes of a model's config, card or index: of 100,000 tensors, 14 MB
NOTES = 16 * MB  # bytes of titles: 10,000 of them
SHEET = 16 * MB  # bytes of a table of scores: 100,000 of them
TEXT = 2 * GB  # bytes of a caption table or a text: OpenWebText has 40 GB in 80 files
UPLOAD = 500 * MB  # bytes of a file that is uploaded: it is held in memory; more goes into a folder
IMAGE = GB  # bytes of an image file: twice the most pixels as RGB
FIELD = MB  # characters of a caption or any other cell: a long novel
RECORD = 16 * MB  # bytes of a line of JSON: a document of OpenWebText has 0.1 MB at most

ROWS = 20_000_000  # of a table
COLUMNS = 20_000  # of a table: the widest layers have 16,384 dims


def room() -> int:
    """Return how many bytes of memory one file may take just now."""
    return int(free_memory() * SHARE)
