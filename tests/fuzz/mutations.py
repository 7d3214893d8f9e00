"""Ways to damage a valid file: of any bytes, of text, and of the grammar of each format, so that
what follows a length, a checksum or a name still fits it.
"""

from __future__ import annotations

import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from random import Random
from typing import Any

Mutation = Callable[[bytes, Random], bytes]

NUMBERS = (0, 1, -1, 127, 128, 255, 256, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1)
WORDS = (
    *(
        "",
        " ",
        ",",
        '"',
        '""',
        "\n",
        "\r",
        "\t",
        "\0",
        "'",
        "[",
        "]",
        "{",
        "}",
        ":",
        "=",
        "#",
        "\\",
    ),
    *("0", "-1", "1e999", "NaN", "Infinity", "-0", "007", "9" * 30, "9" * 5_000, "1" * 70_000),
    *("null", "true", "None", "\ufeff", "\u202e", "\u2028", "\x1b[31m", "🦙", "\\ud800", "\\u0000"),
    *("../../etc/passwd", "/dev/zero", "a.png", "image", "caption", "x" * 3_000, "[" * 3_000),
    *("2021-13-45", "1979-05-27T07:32:00Z", "0x_", '"""', "a.b.c.d", "=1+1", "<b>", "$x$", "%s"),
)


def damage(data: bytes, dice: Random) -> bytes:
    """Change any bytes, one to four times."""
    for _ in range(dice.randint(1, 4)):
        data = dice.choice(ANY)(data, dice)
    return data


def flip(data: bytes, dice: Random) -> bytes:
    if not data:
        return data
    at = _near_an_end(data, dice)
    return data[:at] + bytes([data[at] ^ 1 << dice.randrange(8)]) + data[at + 1 :]


def overwrite(data: bytes, dice: Random) -> bytes:
    """Put a number that lengths and counts are seldom tried with over what is there."""
    width, at = dice.choice((1, 2, 4, 8)), _near_an_end(data, dice)
    number = (dice.choice(NUMBERS) + dice.randint(-1, 1)) % (1 << 8 * width)
    return data[:at] + number.to_bytes(width, dice.choice(("little", "big"))) + data[at + width :]


def truncate(data: bytes, dice: Random) -> bytes:
    return data[: dice.randint(0, len(data))]


def drop(data: bytes, dice: Random) -> bytes:
    start, stop = _slice(data, dice)
    return data[:start] + data[stop:]


def repeat(data: bytes, dice: Random) -> bytes:
    start, stop = _slice(data, dice)
    return data[:stop] + data[start:stop] * dice.randint(1, 3) + data[stop:]


def swap(data: bytes, dice: Random) -> bytes:
    a, b, c = sorted(dice.randint(0, len(data)) for _ in range(3))
    return data[:a] + data[b:c] + data[a:b] + data[c:]


def insert(data: bytes, dice: Random) -> bytes:
    at = _near_an_end(data, dice)
    return data[:at] + dice.randbytes(dice.randint(1, 16)) + data[at:]


def blank(data: bytes, dice: Random) -> bytes:
    start, stop = _slice(data, dice)
    return data[:start] + bytes(stop - start) + data[stop:]


ANY: tuple[Mutation, ...] = (flip, flip, overwrite, truncate, drop, repeat, swap, insert, blank)


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
        change = dice.choice((_replace, _replace, _repeat, _swap, _remove))
        change(parts, at, dice)
    text = "".join(parts)
    if dice.random() < 0.1:
        return text.encode(dice.choice(("utf-16", "utf-8-sig", "latin-1")), errors="replace")
    encoded = text.encode(errors="surrogatepass")
    return damage(encoded, dice) if dice.random() < 0.15 else encoded


def _replace(parts: list[str], at: int, dice: Random) -> None:
    parts[at] = dice.choice(WORDS)


def _repeat(parts: list[str], at: int, dice: Random) -> None:
    stop = at + dice.choice((1, 5, 20))
    parts[at:stop] = parts[at:stop] * dice.choice((2, 3, 50))


def _swap(parts: list[str], at: int, dice: Random) -> None:
    other = dice.randrange(len(parts))
    parts[at], parts[other] = parts[other], parts[at]


def _remove(parts: list[str], at: int, dice: Random) -> None:
    del parts[at + 1 : at + 1 + dice.choice((1, 5))]


def rezip(data: bytes, dice: Random, inside: Mutation = damage) -> bytes:
    """Change a zip's members and pack them anew, checksums and all: what is inside, names, order,
    how often they come, how they are packed.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(entry.filename, archive.read(entry)) for entry in archive.infolist()]
    for _ in range(dice.randint(1, 3)):
        at = dice.randrange(len(members))
        name, content = members[at]
        choice = dice.randrange(6)
        if choice < 3:
            members[at] = name, inside(content, dice)
        elif choice == 3:
            members[at] = dice.choice((*WORDS, "a.npy", f"{name}.npy")).strip("\0")[:60000], content
        elif choice == 4:
            members.insert(dice.randint(0, len(members)), members[at])
        elif len(members) > 1:
            del members[at]
    packed = io.BytesIO()
    method = dice.choice((0, 8, 8, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    with zipfile.ZipFile(packed, "w", method) as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name or "x"), content, method)
    return packed.getvalue()


def rehead_npy(data: bytes, dice: Random) -> bytes:
    """Change what an .npy header says of its array, its length kept right."""
    length = int.from_bytes(data[8:10], "little")
    header, values = data[10 : 10 + length].decode("latin-1"), data[10 + length :]
    parts = {
        r"'descr': '[^']*'": [f"'descr': {kind}" for kind in DESCRIPTIONS],
        r"'shape': \([^)]*\)": [f"'shape': {shape}" for shape in SHAPES],
        "(True|False)": ["1", "None", "True", "False", "'x'"],
        "'fortran_order'": ["'descr'", "'order'", "1"],
        r"\}": ["", "}}", "} + 1", "(" * 200, "\n'"],
    }
    for pattern in dice.sample(list(parts), dice.randint(1, 2)):
        text = dice.choice(parts[pattern])
        header = re.sub(pattern, lambda _, text=text: text, header)
    version = dice.choice((b"\1\0", b"\1\0", b"\2\0", b"\3\0", b"\7\7"))
    size = len(header.encode("utf-8"))
    lengths = struct.pack("<H" if version == b"\1\0" else "<I", size)
    return data[:6] + version + lengths + header.encode("utf-8") + values


DESCRIPTIONS = (
    *(
        "'<f2'",
        "'>f8'",
        "'<f16'",
        "'|O'",
        "'<c8'",
        "'|b1'",
        "'<U5'",
        "'<M8[ns]'",
        "'<m8[D]'",
        "'|V0'",
    ),
    *(
        "'|S2000000000'",
        "'(3,)<f4'",
        "[('a', '<f4')]",
        "[('a', '|O'), ('a', '<f4')]",
        "None",
        "7",
        "''",
    ),
    *("'<f4', 'descr': '<f8'", "'<i1'", "'<u8'", "('<f4', (1000000000,))", "[]", "'<f5'", "'é'"),
)
SHAPES = (
    *("()", "(0,)", "(-1, 3)", "(3, -1)", "(4611686018427387904, 4)", "(99999999999999999999, 0)"),
    *(
        "(1,) * 70",
        "'x'",
        "(True, 3)",
        "(2.0, 3)",
        "None",
        "(4,",
        "(" * 90 + ")" * 90,
        "(10**9, 8)",
    ),
    *("(12,)", "(4, 3)", "(3, 2, 2)", "(2, 2, 3, 1)", "(1, 12)", "(12, 1)", "(4, 3L)", "(0, 5)"),
)


def rehead_safetensors(data: bytes, dice: Random) -> bytes:
    """Change what a safetensors header says of its tensors, its length kept right."""
    length = int.from_bytes(data[:8], "little")
    header, values = json.loads(data[8 : 8 + length]), data[8 + length :]
    name = dice.choice([one for one in header if one != "__metadata__"])
    tensor = header[name]
    change = dice.randrange(6)
    if change == 0:
        tensor["dtype"] = dice.choice(TENSOR_TYPES)
    elif change == 1:
        shape: list[Any] = [
            [],
            [0],
            [-1, 3],
            [2**62, 4],
            [12],
            [2**64, 0],
            "x",
            None,
            [1.5],
            [4, 3, 1],
        ]
        tensor["shape"] = dice.choice(shape)
    elif change == 2:
        tensor["data_offsets"] = dice.choice([[0, 0], [0, 2**63], [48, 0], [-1, 48], [1, 49], [0]])
    elif change == 3:
        header[dice.choice(WORDS)] = dict(tensor)
    elif change == 4:
        header["__metadata__"] = dice.choice([{"a": 1}, [], None, {"a": {}}, {"a": "x" * 9999}])
    else:
        del tensor[dice.choice(list(tensor))]
    text = json.dumps(header).encode(errors="surrogatepass")
    if dice.random() < 0.3:
        text = reword(text, dice)
    return struct.pack("<Q", len(text)) + text + values


TENSOR_TYPES = (
    *(
        "F64",
        "F16",
        "BF16",
        "I8",
        "U64",
        "BOOL",
        "C64",
        "F4",
        "F6_E2M3",
        "F8_E4M3",
        "F8_E8M0",
        "I4",
    ),
    *("", 3, None, "F32 ", "f32"),
)


def rechunk_png(data: bytes, dice: Random) -> bytes:
    """Change the chunks of a PNG, checksums kept right: its size, its kind, their order."""
    chunks, at = [], 8
    while at < len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        chunks.append((data[at + 4 : at + 8], data[at + 8 : at + 8 + length]))
        at += 12 + length
    for _ in range(dice.randint(1, 2)):
        place = dice.randrange(len(chunks))
        kind, content = chunks[place]
        choice = dice.randrange(4)
        if choice == 0:
            chunks[place] = kind, damage(content, dice)
        elif choice == 1:
            chunks[place] = (
                dice.choice((b"IDAT", b"tEXt", b"zTXt", b"iCCP", b"acTL", b"PLTE")),
                content,
            )
        elif choice == 2:
            chunks.insert(dice.randint(0, len(chunks)), chunks[place])
        elif kind == b"IHDR" and len(content) >= 10:
            sides = struct.pack(">II", dice.choice(NUMBERS[:11]) % 2**32, dice.choice((1, 40_000)))
            mode = bytes((dice.choice((1, 2, 8, 16, 99)), dice.randrange(8)))
            chunks[place] = kind, sides + mode + content[10:]
    return data[:8] + b"".join(
        struct.pack(">I", len(content))
        + kind
        + content
        + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in chunks
    )


def refoot_parquet(data: bytes, dice: Random) -> bytes:
    """Change bytes of a Parquet footer, which has no checksum, its length kept right."""
    length = int.from_bytes(data[-8:-4], "little")
    start = max(4, len(data) - 8 - length)
    footer = damage(data[start:-8], dice) if dice.random() < 0.5 else data[start:-8]
    for _ in range(dice.randint(1, 3)):
        footer = dice.choice((flip, overwrite))(footer, dice)
    return data[:start] + footer + struct.pack("<I", len(footer)) + b"PAR1"


def resum_tar(data: bytes, dice: Random) -> bytes:
    """Change a field of a tar's header, its checksum kept right."""
    start = 512 * dice.randrange(max(1, len(data) // 512))
    block = bytearray(data[start : start + 512].ljust(512, b"\0"))
    at, width = dice.choice(((0, 100), (124, 12), (156, 1), (100, 8), (345, 155), (257, 8)))
    block[at : at + width] = dice.choice(
        (b"", b"7" * 12, b"\x80" + b"\xff" * 11, b"x", b"L", b"S", b"-1", dice.randbytes(width))
    )[:width].ljust(width, b"\0")
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return data[:start] + bytes(block) + data[start + 512 :]
