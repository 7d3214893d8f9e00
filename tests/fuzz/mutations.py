"""Ways to damage a valid file: of any bytes, of text, and of what a zip holds."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from random import Random

Mutation = Callable[[bytes, Random], bytes]

NUMBERS = (0, 1, -1, 127, 255, 65535, 2**31 - 1, 2**32 - 1, 2**63 - 1)
WORDS = (
    *("", " ", ",", '"', "\n", "\r", "\0", "'", "[", "]", "{", "}", ":", "=", "#", "\\"),
    *("-1", "1e999", "NaN", "Infinity", "007", "9" * 30, "9" * 5_000, "null", "true", "None"),
    *("\ufeff", "\u2028", "\x1b[31m", "🦙", "\\ud800", "../../etc/passwd", "/dev/zero", "a.png"),
    *("x" * 3_000, "[" * 3_000, "2021-13-45", '"""', "a.b.c.d", "=1+1", "<b>", "$x$", "%s"),
)


def whole(data: bytes, _: Random) -> bytes:
    """Leave a file as it is: those of odd content are."""
    return data


def damage(data: bytes, dice: Random) -> bytes:
    """Change any bytes, one to four times."""
    for _ in range(dice.randint(1, 4)):
        data = dice.choice((flip, flip, overwrite, truncate, drop, repeat))(data, dice)
    return data


def flip(data: bytes, dice: Random) -> bytes:
    if not data:
        return data
    at = _near_an_end(data, dice)
    return data[:at] + bytes([data[at] ^ 1 << dice.randrange(8)]) + data[at + 1 :]


def overwrite(data: bytes, dice: Random) -> bytes:
    """Put a number that lengths and counts are seldom tried with over what is there."""
    width, at = dice.choice((1, 2, 4, 8)), _near_an_end(data, dice)
    number = dice.choice(NUMBERS) % (1 << 8 * width)
    return data[:at] + number.to_bytes(width, dice.choice(("little", "big"))) + data[at + width :]


def truncate(data: bytes, dice: Random) -> bytes:
    return data[: dice.randint(0, len(data))]


def drop(data: bytes, dice: Random) -> bytes:
    start, stop = _slice(data, dice)
    return data[:start] + data[stop:]


def repeat(data: bytes, dice: Random) -> bytes:
    start, stop = _slice(data, dice)
    return data[:stop] + data[start:stop] * dice.randint(1, 3) + data[stop:]


def _near_an_end(data: bytes, dice: Random) -> int:
    """Return a place, often near the start or the end, where headers and footers are."""
    last = max(0, len(data) - 1)
    near = min(last, dice.randint(0, 200))
    return dice.choice((near, last - near, dice.randint(0, last)))


def _slice(data: bytes, dice: Random) -> tuple[int, int]:
    start = dice.randint(0, len(data))
    return start, min(len(data), start + dice.choice((1, 4, 30, 300)))


def reword(data: bytes, dice: Random) -> bytes:
    """Change words and marks of a text, one to four times, and at times how it is encoded."""
    parts = re.split(r"(\W)", data.decode())
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(parts))
        match dice.randrange(4):
            case 0 | 1:
                parts[at] = dice.choice(WORDS)
            case 2:
                parts[at : at + 5] = parts[at : at + 5] * dice.choice((2, 50))
            case _:
                del parts[at + 1 : at + 1 + dice.choice((1, 5))]
    text = "".join(parts)
    if dice.random() < 0.1:
        return text.encode(dice.choice(("utf-16", "utf-8-sig", "latin-1")), errors="replace")
    encoded = text.encode(errors="surrogatepass")
    return damage(encoded, dice) if dice.random() < 0.15 else encoded


def rezip(data: bytes, dice: Random) -> bytes:
    """Change a member of a zip and pack it anew, checksums and all: what is inside, its name, how
    often it comes, how it is packed.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(entry.filename, archive.read(entry)) for entry in archive.infolist()]
    at = dice.randrange(len(members))
    name, content = members[at]
    match dice.randrange(4):
        case 0 | 1:
            members[at] = name, damage(content, dice)
        case 2:
            members[at] = dice.choice((*WORDS, "a.npy")).strip("\0") or "x", content
        case _:
            members.append(members[at])
    packed, method = io.BytesIO(), dice.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(packed, "w", method) as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return packed.getvalue()
