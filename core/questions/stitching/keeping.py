"""Stitches of two models in the store: one table for both, to which each pair of layers is added as
soon as it is made, so that a run that is stopped goes on where it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from itertools import groupby
from operator import itemgetter

import pandas as pd

from core.errors import StoreBusyError, StoreWriteError
from core.networks import heads
from core.networks.heads import head_file
from core.progress import Progress
from core.questions.stitching.bench import open_bench, run_lower, stitch
from core.questions.stitching.question import Fitting
from core.recipe import Recipe
from core.store import write_result
from core.store.view import digest_of_file, resolve
from core.study.study import Study

VERSION = 1  # raise it when stitches come out otherwise
PLACE = ["layer_x", "layer_y"]
COLUMNS = (
    *PLACE,
    "h",
    "score",
    "own",
    "chance",
    "penalty",
    "penalty_low",
    "penalty_high",
    "lost",
    "lost_low",
    "lost_high",
    "reason",
    "head",
)
Places = Sequence[tuple[int, int]]


def stitches_recipe(study: Study, x: str, y: str, fitting: Fitting) -> Recipe:
    """Return all that the stitches of two models depend on, whatever their layers."""
    names = tuple(dict.fromkeys((x, y)))
    files = [file for file in (head_file(study.entry(name).card) for name in names) if file]
    study.store.note_files(*files)
    study.store.note_keys("stitches:version")
    return study.recipe(
        "stitches",
        names,
        version=VERSION,
        heads=[heads.VERSION, *map(digest_of_file, files)],
        order=[x, y],
        fitting=asdict(fitting),
    )


resolve("stitches", lambda _: f"{VERSION}, {heads.VERSION} of heads")


def kept_stitches(study: Study, x: str, y: str, fitting: Fitting) -> pd.DataFrame:
    """Return the rows of all pairs of layers that the store holds, with COLUMNS; none where it
    holds none.
    """
    recipe = stitches_recipe(study, x, y, fitting)
    stored = study.store.result(study.dataset.name, _name(recipe))
    if stored is None or stored[1] != recipe:
        return pd.DataFrame(columns=list(COLUMNS))
    return stored[0]


def make_stitches(
    study: Study,
    x: str,
    y: str,
    fitting: Fitting,
    places: Places,
    report: Progress | None = None,
) -> pd.DataFrame:
    """Return the rows of these pairs of layers, with COLUMNS, in their order; what is not kept is
    made, and kept pair by pair. Raises as `core.questions.stitching.bench.open_bench`.
    """
    kept = kept_stitches(study, x, y, fitting)
    missing = [place for place in sorted(places) if place not in _made(kept)]
    recipe, done = stitches_recipe(study, x, y, fitting), len(places) - len(missing)
    for rows in _stitch_all(study, x, y, fitting, missing):
        kept, done = _add(study, recipe, kept, rows), done + 1
        if report:
            report(done, len(places), "pairs of layers stitched")
    by_place = dict(list(kept.groupby(PLACE, sort=False)))
    return pd.concat([by_place[place] for place in places], ignore_index=True)[list(COLUMNS)]


def _stitch_all(
    study: Study, x: str, y: str, fitting: Fitting, places: Places
) -> Iterator[pd.DataFrame]:
    """Yield the rows of each pair of layers; those of one layer of x stand together."""
    if not places:
        return
    bench = open_bench(study, x, y, fitting)
    for layer_x, group in groupby(places, key=itemgetter(0)):
        lower = run_lower(bench, layer_x)
        for _, layer_y in group:
            yield stitch(bench, lower, layer_y, fitting).assign(head=bench.origin)


def _add(study: Study, recipe: Recipe, kept: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Keep further rows beside those that are kept, and return all."""
    table = pd.concat([kept, rows], ignore_index=True) if len(kept) else rows
    # kept only to save time later: a store that cannot be written now still gives every answer
    with suppress(StoreWriteError, StoreBusyError):
        write_result(
            study.store.root,
            dataset=study.dataset,
            name=_name(recipe),
            table=table.reindex(columns=list(COLUMNS)),
            recipe=recipe,
        )
    return table


def _made(kept: pd.DataFrame) -> set[tuple[int, int]]:
    return set(zip(kept["layer_x"], kept["layer_y"], strict=True))


def _name(recipe: Recipe) -> str:
    return f"stitches-{recipe.digest}"
