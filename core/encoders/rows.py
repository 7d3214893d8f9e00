"""Which row of a file is of which stimulus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

import numpy as np
from jaxtyping import Int64

from core.errors import FeatureError, shortened

SHOWN = 3  # ids that a message names
LONGEST = 80  # characters of one
# ways to name a stimulus, the strictest first
NAMINGS: tuple[Callable[[str], str], ...] = (
    str,
    lambda name: PurePath(name.replace("\\", "/")).name,
    lambda name: PurePath(name.replace("\\", "/")).stem,
    lambda name: PurePath(name.replace("\\", "/")).stem.lstrip("0") or "0",
)


@dataclass(frozen=True)
class Rows:
    """rows: of a file, for each stimulus that has any, as often as it has. stimuli: the places of
    these in the dataset. strange: the ids that are of none.
    """

    rows: Int64[np.ndarray, "n times"]
    stimuli: Int64[np.ndarray, " n"]
    strange: list[str]


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
    """Return the rows of each stimulus.

    ids: of the rows. stimuli: theirs, in the dataset's order. They are compared as they are, then
    as names of files without folders, without endings, without leading zeros; whole numbers from 0
    on that name no stimulus otherwise are places in the dataset. file, by: for messages. some:
    whether stimuli may have no row. repeated: whether each may have several, equally many. remedy:
    what else can be done about ids that do not fit, in an import. Raises FeatureError for stimuli
    without a row, for ids of more rows than they may have, and if no id is that of a stimulus.
    """
    numbers = [f"{place}" for place in range(len(stimuli))]
    ways = [([way(one) for one in ids], [way(one) for one in stimuli]) for way in NAMINGS]
    ways = [way for way in ways if len(set(way[1])) == len(stimuli)]
    ways.append(([one.removesuffix(".0") for one in ids], numbers))
    named, wanted = max(ways, key=lambda way: len({*way[0]} & {*way[1]}))
    places: dict[str, list[int]] = {name: [] for name in wanted}
    strange = []
    for row, name in enumerate(named):
        if name in places:
            places[name].append(row)
        else:
            strange.append(ids[row])
    times = Counter(len(rows) for rows in places.values() if rows)
    usual = max(times, key=lambda count: (times[count], count)) if repeated and times else 1
    missing = [one for one, name in zip(stimuli, wanted, strict=True) if not places[name]]
    uneven = [name for name, rows in places.items() if rows and len(rows) != usual]
    said = [
        f"{len(names):,} {what} ({', '.join(shortened(name, LONGEST) for name in names[:SHOWN])}"
        f"{', …' if len(names) > SHOWN else ''})"
        for what, names in (
            ("stimuli have no row", missing),
            (f"stimuli have not {usual} rows" if repeated else "ids name several rows", uneven),
            ("rows are of no stimulus", strange),
        )
        if names
    ]
    if uneven or not times or (missing and not some):
        subset = f", or --subset NAME for a dataset of the other {len(wanted) - len(missing):,}"
        others = subset if remedy and times and not uneven else ""
        raise FeatureError(
            f"{file} names its rows by {by}: {'; '.join(said)}; expected"
            f" {'equally many rows' if repeated else 'one row'} for each of the"
            f" {len(stimuli):,} stimuli{others}. Mend the ids{remedy}"
        )
    covered = [place for place, name in enumerate(wanted) if places[name]]
    rows = [places[wanted[place]] for place in covered]
    return Rows(np.array(rows), np.array(covered), strange)
