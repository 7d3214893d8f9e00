"""A simulation as it is watched: one look after the other, so that pages can draw it while it runs
and stop it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import pandas as pd
from jaxtyping import Float64
from torch import Tensor

from core.progress import Progress


class Look(NamedTuple):
    """One look: figures, a value by name, as a row of the table; matrix, what is drawn as a map
    beside them, where there is one; rows, what it says of the parts of what is looked at.
    """

    figures: Mapping[str, float | str]
    matrix: Float64[Tensor, "_ _"] | None = None
    rows: Sequence[Mapping[str, float | str]] = ()


class Run(NamedTuple):
    """Looks to come, each computed on demand.

    total: how many there will be, 0 where that is unknown. ends: whether the last one is the
    outcome, as that of a training is.
    """

    looks: Iterator[Look]
    total: int = 0
    ends: bool = False


def in_one_thread(looks: Iterator[Look]) -> Iterator[Look]:
    """Yield the looks, each computed by one thread: matrices are so small that several would only
    wait for each other.
    """
    from threadpoolctl import ThreadpoolController  # comes with scikit-learn

    pools = ThreadpoolController()
    while True:
        with pools.limit(limits=1):
            look = next(looks, None)
        if look is None:
            return
        yield look


def watch(run: Run, report: Progress | None = None) -> pd.DataFrame:
    """Take every look of a run and return a row per look."""
    return tabulate(collect(run, report))


def collect(run: Run, report: Progress | None = None) -> list[Look]:
    """Take every look of a run."""
    looks = []
    for done, look in enumerate(run.looks, start=1):
        looks.append(look)
        if report and run.total:
            report(done, run.total, "looks")
    return looks


def last_row(table: pd.DataFrame) -> dict[str, int | float | str | None]:
    """Return a run's last look with the digits that JSON has of its rows; NaN is None."""
    row: dict[str, int | float | str | None] = json.loads(
        table.tail(1).to_json(orient="records", double_precision=15)
    )[0]
    return row


def tabulate(looks: Iterable[Look]) -> pd.DataFrame:
    """Return a row per look with its figures."""
    return pd.DataFrame([look.figures for look in looks])


def tabulate_rows(looks: Iterable[Look]) -> pd.DataFrame:
    """Return the rows of every look."""
    return pd.DataFrame([row for look in looks for row in look.rows])
