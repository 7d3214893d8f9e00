"""Sets of stimuli: the ends, the middle or random draws of a ranking, and a short text for a set that a link can carry."""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Sequence

import numpy as np
from jaxtyping import Int64

from core.errors import StimuliError

Chosen = Int64[np.ndarray, " m"]


def encode(indices: Sequence[int] | Chosen, n: int) -> str:
    """Write a set of stimuli as text for a link: n, a point, then a checksum and a bit per stimulus in URL-safe base 64.

    The bits are deflated where that is shorter; of 1,024 stimuli any set takes at most 179 characters. Order and repetition are
    lost.
    Raises StimuliError for no index and for one outside 0 … n − 1.
    """
    chosen = np.asarray(indices, dtype=np.int64)
    if chosen.size == 0:
        raise StimuliError("a set holds at least one stimulus; given none: choose some")
    if chosen.min() < 0 or chosen.max() >= n:
        raise StimuliError(f"stimuli are counted from 0 to {n - 1}; given {chosen.min()} to {chosen.max()}")
    marks = np.zeros(n, dtype=bool)
    marks[chosen] = True
    bits = np.packbits(marks).tobytes()
    packed = min(bits, zlib.compress(bits, 9), key=len)
    return f"{n}.{base64.urlsafe_b64encode(_checksum(bits, n) + packed).decode().rstrip('=')}"


def decode(text: str, n: int) -> Chosen:
    """Read a set of n stimuli that `encode` wrote: its indices, rising.

    Raises StimuliError where the text is of another number of stimuli, cut short, changed, or no such text at all.
    """
    size, point, body = text.partition(".")
    if not (point and size.isascii() and size.isdigit()):
        raise StimuliError(f"a set of stimuli is written as {n}.… with its code after the point; given {text[:40]!r}")
    if size != str(n):
        raise StimuliError(f"this set was chosen from {size[:20]} stimuli, here are {n}; open it on the dataset it was chosen from")
    bits = _unpacked(body, -(-n // 8))
    marks = np.unpackbits(np.frombuffer(bits[2:], dtype=np.uint8))
    if bits[:2] != _checksum(bits[2:], n) or len(marks) < n or marks[n:].any() or not marks.any():
        raise StimuliError("this text for a set of stimuli is damaged or cut short; copy the whole link again")
    return np.flatnonzero(marks)


def _checksum(bits: bytes, n: int) -> bytes:
    return binascii.crc_hqx(bits, n % 2**16).to_bytes(2, "big")


def _unpacked(body: str, size: int) -> bytes:
    """Return the checksum's two bytes and the bits; nothing where the text cannot be read."""
    try:
        raw = base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True)
        if len(raw) == size + 2:
            return raw
        return raw[:2] + zlib.decompressobj().decompress(raw[2:], size + 1)  # never gigabytes
    except (binascii.Error, ValueError, zlib.error):
        return b""
