"""What a Parquet footer says of sizes, read here: asked of a hostile footer, pyarrow ends the
process.

The footer is a struct in Thrift's compact protocol; see parquet.thrift of the Apache project.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from core.files import limits
from core.files.userfile import UserFile

MAGIC = b"PAR1"
FIXED = 7  # the type of a column whose values have a stated width
WIDTHS = {3: 1, 7: 8, 13: 16}  # bytes of a byte, a float and a UUID in a struct
LEAST = 8  # bytes that any other value takes in memory

Wanted = Mapping[int, Any]  # fields by their numbers, with those wanted of what is in them
# the schema's elements: type, width, number of children; of each group its columns and rows, and
# of each column its values and their bytes unpacked
FOOTER: Wanted = {
    2: {1: {}, 2: {}, 5: {}},
    3: {},
    4: {1: {3: {5: {}, 6: {}}}, 3: {}},
}


@dataclass(frozen=True)
class Sizes:
    """rows: of the table. columns: of numbers and texts, those within others too. groups: the bytes
    that each group of rows takes in memory.
    """

    rows: int
    columns: int
    groups: tuple[int, ...]


def read_sizes(opened: BinaryIO, file: UserFile) -> Sizes:
    """Return the sizes that a footer states; raises the file's error for one that is too long, and
    others for what is none.
    """
    opened.seek(max(0, file.size - 8))
    end = opened.read(8)
    length = int.from_bytes(end[:4], "little")
    if end[4:] != MAGIC or length > file.size - 12:
        raise ValueError("its end is missing")
    if length > limits.FOOTER:
        raise file.raising(
            f"{file.path} has a footer of {length:,} bytes; expected a Parquet table whose columns"
            f" and groups of rows are listed in at most {limits.FOOTER:,}"
        )
    opened.seek(file.size - 8 - length)
    footer = _Compact(opened.read(length), file).struct(FOOTER)
    opened.seek(0)
    leaves = [part for part in footer[2] if not part.get(5)]
    widths = [max(LEAST, part.get(2, 0) if part.get(1) == FIXED else 0) for part in leaves]
    groups = [_size([part[3] for part in group[1]], widths) for group in footer.get(4, [])]
    return Sizes(footer[3], len(leaves), tuple(groups))


def _size(columns: list[Any], widths: list[int]) -> int:
    """Return the bytes that one group of rows takes; raises ValueError for what cannot be."""
    if min((min(column[5], column[6]) for column in columns), default=0) < 0:
        raise ValueError("a column of negative size")
    return sum(
        max(column[6], column[5] * width) for column, width in zip(columns, widths, strict=True)
    )


class _Compact:
    """Bytes in Thrift's compact protocol, read from the front; whatever lies beyond their end
    raises IndexError.
    """

    def __init__(self, data: bytes, file: UserFile) -> None:
        self._data, self._file, self._at = data, file, 0

    def struct(self, wanted: Wanted) -> dict[int, Any]:
        """Return the wanted fields of a struct."""
        values, number = {}, 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._whole()
            value = self._value(head & 15, wanted.get(number))
            if number in wanted:
                values[number] = value
        return values

    def _value(self, kind: int, wanted: Wanted | None) -> Any:
        if kind in (1, 2):  # true, false
            return kind == 1
        if kind in (4, 5, 6):
            return self._whole()
        if kind in (9, 10):
            return self._list(wanted)
        if kind == 12:
            return self.struct(wanted or {})
        if kind == 11:
            return self._map()
        self._skip(self._number() if kind == 8 else WIDTHS[kind])
        return None

    def _list(self, wanted: Wanted | None) -> list[Any]:
        head = self._byte()
        count = head >> 4 if head >> 4 < 15 else self._number()
        values = (self._value(_kept_as(head & 15), wanted) for _ in range(count))
        if wanted is not None:
            return list(values)
        for _ in values:
            pass
        return []

    def _map(self) -> None:
        if count := self._number():
            kinds = self._byte()
            for _ in range(count):
                self._value(_kept_as(kinds >> 4), None)
                self._value(_kept_as(kinds & 15), None)

    def _byte(self) -> int:
        value = self._data[self._at]
        self._skip(1)
        return value

    def _skip(self, width: int) -> None:
        before, self._at = self._at, self._at + width
        if self._at > len(self._data):
            raise IndexError("a value goes on beyond the end")
        if before // 4096 < self._at // 4096:
            self._file.tick()

    def _number(self) -> int:
        """Return a number in parts of seven bits, the lowest first."""
        value = 0
        for shift in range(0, 70, 7):
            part = self._byte()
            value |= (part & 127) << shift
            if part < 128:
                return value
        raise ValueError("a number of over 64 bits")

    def _whole(self) -> int:
        """Return a number whose lowest bit is its sign."""
        value = self._number()
        return -(value + 1 >> 1) if value & 1 else value >> 1


def _kept_as(kind: int) -> int:
    """Return the kind that a value within a list or a map is kept as: there a truth value takes a
    byte, which is in the field's own head elsewhere.
    """
    return 3 if kind in (1, 2) else kind
