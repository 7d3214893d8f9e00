"""Which row of a file is of which stimulus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import PurePath

import numpy as np
from jaxtyping import Int64

from core.errors import FeatureError

SHOWN = 3  # ids that a message names
# ways to name a stimulus, the strictest first
NAMINGS: tuple[Callable[[str], str], ...] = (
    str,
    lambda name: PurePath(name.replace("\\", "/")).name,
    lambda name: PurePath(name.replace("\\", "/")).stem,
    lambda name: PurePath(name.replace("\\", "/")).stem.lstrip("0") or "0",
)


def rows_of(
    ids: Sequence[str], stimuli: Sequence[str], *, file: str, by: str
) -> tuple[Int64[np.ndarray, " n"], list[str]]:
    """Return the row of each stimulus, and the ids that are of none.

    ids: of the rows. stimuli: theirs, in the dataset's order. They are compared as they are, then
    as names of files without folders, without endings, without leading zeros; whole numbers from 0
    on that name no stimulus otherwise are places in the dataset. file, by: for messages. Raises
    FeatureError for stimuli without a row, and for ids of several rows.
    """
    numbers = [f"{place}" for place in range(len(stimuli))]
    ways = [([way(one) for one in ids], [way(one) for one in stimuli]) for way in NAMINGS]
    ways = [way for way in ways if len(set(way[1])) == len(stimuli)]
    ways.append(([one.removesuffix(".0") for one in ids], numbers))
    named, wanted = max(ways, key=lambda way: len({*way[0]} & {*way[1]}))
    places = {name: row for row, name in reversed([*enumerate(named)])}
    missing = [stimuli[at] for at, name in enumerate(wanted) if name not in places]
    counts, known = Counter(named), set(wanted)
    twice = [name for name, count in counts.items() if count > 1 and name in known]
    strange = [one for one, name in zip(ids, named, strict=True) if name not in known]
    said = [
        f"{len(names):,} {what} ({', '.join(names[:SHOWN])}{', …' if len(names) > SHOWN else ''})"
        for what, names in (
            ("stimuli have no row", missing),
            ("ids name several rows", twice),
            ("rows are of no stimulus", strange),
        )
        if names
    ]
    if missing or twice:
        raise FeatureError(
            f"{file} names its rows by {by}: {'; '.join(said)}; expected one row for each of the"
            f" {len(stimuli):,} stimuli. Mend the ids, name another column by --id-column, or leave"
            f" this one out by --drop {by}"
        )
    return np.array([places[name] for name in wanted]), strange
