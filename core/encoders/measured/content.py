"""What a file holds of a model over a dataset: features, repeated measurements, or
dissimilarities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float32, Int64

from core.encoders.columns import Columns
from core.encoders.encoder import Geometry, Over
from core.encoders.imported import (
    THEIRS,
    UNORDERED,
    Features,
    Space,
    kind_of,
    natural_order,
    read_features,
)
from core.encoders.measured.dissimilarities import read_dissimilarities
from core.encoders.measured.judgments import read_ratings
from core.encoders.measured.repeats import Repeats, read_repeats
from core.encoders.requests import ImportRequest
from core.encoders.rows import LONGEST, rows_of
from core.errors import FeatureError, InputError, shortened
from core.files.ids import plain_name
from core.files.userfile import shown


@dataclass(frozen=True)
class Content:
    """The layers of a model, and how they were measured.

    layers: one (n, d) matrix each, of dissimilarities (n, n). geometry: which of the two. over:
    what the measurements were repeated over, "" where they were not. repeats: (r, n, d) of each
    layer then. names: of the layers, () for numbers. notes: how the file was read, in sentences.
    covers: the places of the stimuli that have a row each, None for all.
    """

    layers: Sequence[Space]
    geometry: Geometry = "vectors"
    over: Over = ""
    repeats: Sequence[Repeats] = ()
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    covers: Int64[np.ndarray, " n"] | None = None


def read_content(request: ImportRequest, stimuli: Sequence[str]) -> Content:
    """Read a file as a request says. stimuli: their ids, in the dataset's order.

    Raises FeatureError for the file, InputError for options that exclude each other.
    """
    _check_options(request)
    return _read(request, stimuli)


def _read(request: ImportRequest, stimuli: Sequence[str]) -> Content:
    path = Path(request.file)
    columns = Columns(request.id_column, request.feature_column, request.drop, tuple(stimuli))
    if request.repeats != "none":
        held = read_repeats(path, columns, request.repeats)
    elif request.dissimilarities and path.suffix.lower() == ".csv":
        held = read_ratings(path, stimuli)
    elif request.dissimilarities:
        held = read_dissimilarities(path, columns)
    else:
        held = read_features(path, columns)
    return _in_order(held, request, stimuli)


def _in_order(held: Features, request: ImportRequest, stimuli: Sequence[str]) -> Content:
    """Return the layers in the dataset's order: by the ids of the rows, else as they are."""
    file, notes, covers = Path(request.file).name, list[str](), None
    in_repeats = request.repeats != "none" and held.layers[0].ndim == 3
    axis = 1 if in_repeats else 0
    if (ids := held.ids) is not None:
        by = shortened(plain_name(held.named_by), LONGEST)
        repeated = request.repeats != "none" and not in_repeats
        remedy = f", name another column by --id-column, or leave this one out by --drop {by}"
        remedy = " of the arrays" if held.named_by == THEIRS else remedy
        some = bool(request.subset)
        found = rows_of(ids, stimuli, file=file, by=by, some=some, repeated=repeated, remedy=remedy)
        covers = found.stimuli if len(found.stimuli) < len(stimuli) else None
        rows = found.rows.T if repeated else found.rows[:, 0]
        held = replace(held, layers=[np.take(layer, rows, axis) for layer in held.layers])
        if request.dissimilarities:
            held = replace(held, layers=[layer[:, rows] for layer in held.layers])
        one, place = ids[found.rows[0, 0]], stimuli[found.stimuli[0]]
        how = f"{by}, as places from 0" if found.by_place else by
        notes.append(f"Rows are matched to stimuli by {how}: {shown(one)} is {place}.")
        if found.strange:
            strange = f"{len(found.strange):,} rows of no stimulus are left out"
            notes.append(f"{strange} ({shown(found.strange[0])}, …).")
    else:
        check_rows(held.layers, stimuli, file, axis)
        notes.append(
            f"The file names no rows: its first is taken for {stimuli[0]}, its last for"
            f" {stimuli[-1]}."
        )
    notes += held.notes
    is_sorted = len(held.names) > 1 and [*held.names] == natural_order(held.names)
    if kind_of(Path(file)) in UNORDERED and is_sorted and not request.feature_column:
        notes.append(
            f"The file keeps no order of its layers, so they are sorted by name, and the last is"
            f" {shown(held.names[-1])}; give their order by --feature-column NAME …."
        )
    if request.subset and covers is None:
        raise InputError(
            f"{file} has a row for each of the {len(stimuli):,} stimuli, or names no rows, so there"
            " is no subset; leave out --subset"
        )
    made = Content(held.layers, "dissimilarities" if request.dissimilarities else "vectors")
    if request.repeats != "none":
        made = from_repeats(held.layers, request.repeats)
    return replace(made, names=held.names, notes=tuple(notes), covers=covers)


def check_rows(
    layers: Sequence[np.ndarray], stimuli: Sequence[str], name: str, axis: int = 0
) -> None:
    """Raise FeatureError for layers that have not a row for each stimulus. name: of what holds
    them.
    """
    n = len(stimuli)
    for place, layer in enumerate(layers):
        if layer.shape[axis] == n:
            continue
        hint = "give one row per stimulus, in the dataset's order, or name the rows by an array id"
        if layer.shape[1 - axis] == n:
            hint = "its other axis fits: save it transposed, a row per stimulus"
        elif len(layers) == n:
            hint = "(layers, n, d) is expected as (n, layers, d): save numpy.moveaxis(array, 0, 1)"
        raise FeatureError(
            f"layer {place} of {name} has {layer.shape[axis]:,} rows, but the dataset {n:,}"
            f" stimuli; {hint}"
        )


def _check_options(request: ImportRequest) -> None:
    ways = {
        "--dissimilarities": request.dissimilarities,
        "--repeats": request.repeats != "none",
    }
    if len(named := [name for name, chosen in ways.items() if chosen]) > 1:
        raise InputError(f"a file is read in one way; got {' and '.join(named)}: leave one out")


def from_repeats(repeats: Sequence[Repeats], over: Over) -> Content:
    """Return the space of repeated measurements: of trials their mean, since units stay the same;
    of subjects all units side by side, since those of two subjects do not correspond.
    """
    layers = [joined(each, over) for each in repeats]
    return Content(layers, over=over, repeats=repeats)


def joined(repeats: Repeats, over: Over) -> Float32[np.ndarray, "n _"]:
    """Return the space that some of the repeats make together."""
    if over == "trials":
        mean: np.ndarray = repeats.mean(axis=0)
        return mean
    return np.concatenate(list(repeats), axis=1)
