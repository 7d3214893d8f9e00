"""How much of a person's file is read. Each limit is far above what is honest, and low enough that
what lies beyond it costs neither the machine's memory nor a person's afternoon.
"""

from __future__ import annotations

from core.machine.memory import free_memory

MB, GB = 10**6, 10**9

SECONDS = 300.0  # for one file: 9 GB at 30 MB/s, as a slow network disk has
SHARE = 0.5  # of the free memory that one file may take
RATIO = 200  # unpacked to packed: features hardly compress; zeros do a thousandfold
SMALL = 64 * MB  # unpacked: below this no ratio does harm

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
CHUNKS = 200_000  # columns times row groups of a Parquet file: their list alone takes seconds
FOOTER = 32 * MB  # bytes of that list: 100 to 170 for each
MEMBERS = 2_000  # arrays in a file: a layer each, and no model has as many
HEADER = 16 * MB  # bytes that say what a file holds: 2,000 arrays take 0.3 MB
SCANS = 100  # of a progressive JPEG: encoders write 10, a bomb has thousands


def room() -> int:
    """Return how many bytes of memory one file may take just now."""
    return int(free_memory() * SHARE)
