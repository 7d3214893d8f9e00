"""Which row of a file is of which stimulus."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Int64

from core.errors import FeatureError, shortened

SHOWN = 3  # ids that a message names
LONGEST = 80  # characters of one
ENDING = re.compile(
    r"\.(jpe?g|png|webp|gif|bmp|tiff?|ppm|pgm|jp2|heic|avif|exr|svg|txt|json|npy|npz|pt|wav|mp3|flac"
    r"|ogg|mid|mp4|avi|mov|webm)$",
    re.IGNORECASE,
)
Naming = Callable[[str], str]


# ways to name a stimulus, the strictest first: its id, the name of its file, that without its
# ending, without leading zeros, and without regard to case
NAMINGS: tuple[Naming, ...] = (
    str,
    lambda name: name.replace("\\", "/").rpartition("/")[2],
    lambda name: ENDING.sub("", NAMINGS[1](name)),
    lambda name: re.sub(r"^0+(?=.)", "", NAMINGS[2](name)),
    lambda name: NAMINGS[3](unicodedata.normalize("NFC", name.strip()).casefold()),
)


@dataclass(frozen=True)
class Rows:
    """rows: of a file, for each stimulus that has any. stimuli: the places of these in the dataset.
    strange: ids that name no stimulus. by_place: whether ids are places in the dataset, from 0.
    """

    rows: Int64[np.ndarray, "n times"]
    stimuli: Int64[np.ndarray, " n"]
    strange: list[str]
    by_place: bool


@lru_cache(maxsize=2)
def _namings(stimuli: tuple[str, ...]) -> list[tuple[Naming, dict[str, int]]]:
    """Return the ways in which no two stimuli have one name, and the place of each by name."""
    ways = [(way, {way(one): place for place, one in enumerate(stimuli)}) for way in NAMINGS]
    return [way for way in ways if len(way[1]) == len(stimuli)]


def places_of(ids: Sequence[str], stimuli: Sequence[str]) -> tuple[list[int], bool]:
    """Return the place in the dataset of the stimulus that each id names, −1 if there is none, and
    whether the ids are such places themselves: whole numbers of which one is 0, and none names a
    stimulus.
    """
    best, most, ways = [-1] * len(ids), 0, _namings(tuple(stimuli))
    if len(ways) == len(NAMINGS):  # what the last does not find, none does
        called, places = ways[-1]
        ways = ways if any(called(one) in places for one in ids) else []
    for called, places in ways:
        found = [places.get(called(one), -1) for one in ids]
        if (count := len({*found} - {-1})) > most:
            best, most = found, count
        if most == len({*ids}):
            break
    numbers = [one.removesuffix(".0") for one in ids]
    if not most and "0" in numbers and all(one.isdecimal() for one in numbers):
        counted = [int(one) if len(one) < LONGEST else len(stimuli) for one in numbers]
        if max(counted) < len(stimuli):
            return counted, True
    return best, False


def rows_of(
    ids: Sequence[str],
    stimuli: Sequence[str],
    *,
    file: str,
    by: str,
    some: bool = False,
    repeated: bool = False,
    remedy: str = "",
) -> Rows:
    """Return the rows of each stimulus, by ids (see NAMINGS), else by places (see `places_of`).

    some: whether stimuli may have no row. repeated: whether each may have several, equally many.
    remedy: what else can be done. Raise FeatureError for an empty id, missing or further rows of a
    stimulus, for numbers that count past the stimuli or from 1, and if no id is that of a stimulus.
    """
    if "" in ids:
        raise FeatureError(
            f"{file} names its rows by {by}, which is empty in row {ids.index('') + 1} of"
            f" {len(ids):,}; expected an id in each{remedy and f': fill it in{remedy}'}"
        )
    found, by_place = places_of(ids, stimuli)
    places: list[list[int]] = [[] for _ in stimuli]
    for row, place in enumerate(found):
        if place >= 0:
            places[place].append(row)
    strange = [one for one, place in zip(ids, found, strict=True) if place < 0]
    times = Counter(len(rows) for rows in places if rows)
    usual = max(times, key=lambda count: (times[count], count)) if repeated and times else 1
    missing = [one for one, rows in zip(stimuli, places, strict=True) if not rows]
    uneven = [ids[rows[0]] for rows in places if rows and len(rows) != usual]
    odd = f"stimuli without exactly {usual} {'row' if usual == 1 else 'rows'}"
    said = [
        f"{what}: {len(names):,} ({', '.join(shortened(name, LONGEST) for name in names[:SHOWN])}"
        f"{', …' if len(names) > SHOWN else ''})"
        for what, names in (
            ("stimuli without a row", missing),
            (odd if repeated else "ids of several rows", uneven),
            ("rows of no stimulus", strange),
        )
        if names
    ]
    numbers = sorted({int(one) for one in ids if one.isdecimal() and len(one) < LONGEST})
    counts = len(numbers) == len({*ids}) > 0 and numbers[-1] - numbers[0] == len(numbers) - 1
    shifted = counts and bool(strange and missing)  # 1, 2, 3 … of stimuli from 0 on, say
    start = from_1(ids, len(stimuli), found)
    if uneven or not times or shifted or start or (missing and not some):
        subset = f", or --subset NAME for a dataset of the other {len(stimuli) - len(missing):,}"
        is_part = times and not (uneven or by_place or shifted or start)
        others = subset if remedy and is_part else ""
        raise FeatureError(
            f"{file} names its rows by {by}; {'; '.join(said)}; expected"
            f" {'equally many rows' if repeated else 'one row'} for each of the"
            f" {len(stimuli):,} stimuli{others}. Correct the ids{remedy}{start and f'; {start}'}"
        )
    covered = [place for place, rows in enumerate(places) if rows]
    return Rows(
        np.array([places[place] for place in covered]), np.array(covered), strange, by_place
    )


def from_1(ids: Iterable[str], n: int, places: Iterable[int] = ()) -> str:
    """Return what is wrong with ids that seem to count n stimuli from 1, "" of others. places: of
    the stimuli that each names, −1 if there is none.
    """
    held = [_number(one) for one in ids]
    counted = {*held} == {f"{place}" for place in range(1, len({*held}) + 1)}
    is_name = any(f"{place}" != one for one, place in zip(held, places, strict=False) if place >= 0)
    if (
        "0" in held
        or is_name
        or not (counted or f"{n}" in held)
        or not all(map(str.isdecimal, held))
    ):
        return ""
    return (
        "the numbers seem to count from 1, since there is no 0; places of stimuli count from 0:"
        " take 1 off each, or give the stimuli's own ids"
    )


def _number(name: str) -> str:
    return re.sub(r"^0+(?=.)", "", name.removesuffix(".0"))
