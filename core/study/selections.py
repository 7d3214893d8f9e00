"""Sets of stimuli: the ends or random draws of a ranking, and their codes in links."""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float64, Int64

from core.errors import StimuliError
from core.statistics.nulls import draw_orders

Chosen = Int64[np.ndarray, " m"]


def ends(values: Float64[np.ndarray, " n"], m: int) -> tuple[Chosen, Chosen]:
    """Return the m stimuli with the lowest and the m with the highest values, each by rising index;
    ties by index. Raise StimuliError for m outside 1 … n/2 and for NaN.
    """
    check_ends(len(values), m)
    if np.isnan(values).any():
        raise StimuliError(
            "stimuli cannot be ranked by a value that some of them lack; choose another summary"
        )
    ranked = np.argsort(values, kind="stable")
    return np.sort(ranked[:m]), np.sort(ranked[-m:])


def check_ends(n: int, m: int) -> None:
    if not 1 <= m <= n // 2:
        raise StimuliError(
            f"sets of 1 … {n // 2} of {n} stimuli expected, so that low and high share none; got"
            f" {m}"
        )


def random_sets(n: int, m: int, *, count: int, seed: int) -> list[Chosen]:
    return [np.sort(order[:m]) for order in draw_orders(n, count=count, seed=seed)]


def without(values: Float64[np.ndarray, " n"], m: int) -> tuple[Chosen, Chosen]:
    low, high = ends(values, m)
    every = np.arange(len(values))
    return np.setdiff1d(every, high), np.setdiff1d(every, low)


def count_share(share: float, n: int) -> int:
    """Return how many of n stimuli a share is; raise StimuliError for none or more than half."""
    count = round(share * n) if np.isfinite(share) else 0
    if not 1 <= count <= n // 2:
        raise StimuliError(
            f"expected a share of at most a half that is 1 … {n // 2} of {n} stimuli; got {share}"
        )
    return count


def encode(indices: Sequence[int] | Chosen, n: int) -> str:
    """Write a set of stimuli as text for a link: n, a point, then a checksum and a bit per stimulus
    in URL-safe base 64, deflated if shorter. Raise StimuliError for no index or one out of range.
    """
    chosen = np.asarray(indices, dtype=np.int64)
    if chosen.size == 0:
        raise StimuliError("a set holds at least one stimulus; got none: choose some")
    if chosen.min() < 0 or chosen.max() >= n:
        raise StimuliError(
            f"stimuli are counted from 0 to {n - 1}; got {chosen.min()} to {chosen.max()}"
        )
    marks = np.zeros(n, dtype=bool)
    marks[chosen] = True
    bits = np.packbits(marks).tobytes()
    packed = min(bits, zlib.compress(bits, 9), key=len)
    return f"{n}.{base64.urlsafe_b64encode(_checksum(bits, n) + packed).decode().rstrip('=')}"


def decode(text: str, n: int) -> Chosen:
    """Read the rising indices that `encode` wrote; raise StimuliError for another number of stimuli
    or a damaged text.
    """
    size, point, body = text.partition(".")
    if not (point and size.isascii() and size.isdigit()):
        raise StimuliError(
            f"a set of stimuli is written as {n}.… with its code after the point; got {text[:40]!r}"
        )
    if size != str(n):
        raise StimuliError(
            f"this set was chosen from {size[:20]} stimuli, here are {n}; open it on the dataset it"
            " was chosen from"
        )
    bits = _unpacked(body, -(-n // 8))
    marks = np.unpackbits(np.frombuffer(bits[2:], dtype=np.uint8))
    if bits[:2] != _checksum(bits[2:], n) or len(marks) < n or marks[n:].any() or not marks.any():
        raise StimuliError(
            "this text for a set of stimuli is damaged or cut short; copy the whole link again"
        )
    return np.flatnonzero(marks)


def _checksum(bits: bytes, n: int) -> bytes:
    return binascii.crc_hqx(bits, n % 2**16).to_bytes(2, "big")


def _unpacked(body: str, size: int) -> bytes:
    try:
        raw = base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True)
        if len(raw) == size + 2:
            return raw
        return raw[:2] + zlib.decompressobj().decompress(raw[2:], size + 1)  # never gigabytes
    except (binascii.Error, ValueError, zlib.error):
        return b""
