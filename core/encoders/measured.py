"""What a file holds of a model, a brain or people: features, repeated measurements of each
stimulus, or dissimilarities; and a simulated cortex.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isqrt
from pathlib import Path

import numpy as np
from jaxtyping import Float, Float32, Int64

from core.encoders.arrays import EVERY, Columns
from core.encoders.encoder import Geometry, Over
from core.encoders.imported import (
    UNORDERED,
    Features,
    Space,
    find_ids,
    gather,
    held_arrays,
    id_line,
    is_layer,
    narrowed,
    natural_order,
    read_features,
)
from core.encoders.requests import ImportRequest
from core.encoders.rows import LONGEST, rows_of
from core.errors import FeatureError, InputError, shortened
from core.files.arrays import NUMBERS
from core.files.ids import plain_name
from core.files.texts import Json
from core.files.userfile import shown

Repeats = Float32[np.ndarray, "r n d"]
Matrix = Float32[np.ndarray, "n n"]

ROUNDING = 1e-4  # of the largest entry, by which a matrix may differ from its transpose
OF_RSATOOLBOX = "dissimilarities"  # what its RDMs call them, next to other arrays

CORTEX_VERSION = 1  # raise it when subjects get other voxels
SIMULATED = "simulated:"  # what the spec of a subject begins with
TRIALS, VOXELS = 4, 200
# the planted reliability of each subject's voxels, over all trials
SUBJECTS: Mapping[str, float] = {"cortex-1": 0.8, "cortex-2": 0.6, "cortex-3": 0.4}


@dataclass(frozen=True)
class Content:
    """The layers of a model, (n, d) or dissimilarities (n, n), and how they were measured.

    repeats: (r, n, d) of each layer, if it was measured several times. notes: how the file was
    read, in sentences. covers: the places of the stimuli that have a row, None for all.
    """

    layers: Sequence[Space]
    geometry: Geometry = "vectors"
    over: Over = ""
    repeats: Sequence[Repeats] = ()
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    covers: Int64[np.ndarray, " n"] | None = None


def read_content(request: ImportRequest, stimuli: Sequence[str]) -> Content:
    """Read a file as a request says, in the dataset's order: by the ids of the rows, else as they
    are. Raise FeatureError for the file, InputError for options that exclude each other.
    """
    path, over = Path(request.file), request.repeats
    if request.dissimilarities and over != "none":
        raise InputError(
            "a file is read in one way; got --dissimilarities and --repeats: leave one out"
        )
    columns = Columns(request.id_column, request.feature_column, request.drop, tuple(stimuli))
    if over != "none":
        held = read_repeats(path, columns)
    elif request.dissimilarities:
        held = read_dissimilarities(path, columns)
    else:
        held = read_features(path, columns)
    axis = 1 if over != "none" and held.layers[0].ndim == 3 else 0
    if held.ids is None:
        check_rows(held.layers, stimuli, path.name, axis)
        covers, ends = None, f"its first is matched to {stimuli[0]}, its last to {stimuli[-1]}"
        notes = [f"The file names no rows: {ends}."]
    else:
        held, covers, notes = _matched(held, request, stimuli, axis)
    notes += held.notes
    is_sorted = len(held.names) > 1 and [*held.names] == natural_order(held.names)
    if path.suffix.lower() in UNORDERED and is_sorted and not request.feature_column:
        notes.append(
            f"The file keeps no order of its layers, so they are sorted by name, and the last is"
            f" {shown(held.names[-1])}; give their order by --feature-column NAME …."
        )
    if request.subset and covers is None:
        raise InputError(
            f"{path.name} has a row for each of the {len(stimuli):,} stimuli, or names no rows, so"
            " there is no subset; leave out --subset"
        )
    if over != "none":
        made = from_repeats(held.layers, over)
    else:
        made = Content(held.layers, "dissimilarities" if request.dissimilarities else "vectors")
    return replace(made, names=held.names, notes=tuple(notes), covers=covers)


def _matched(
    held: Features, request: ImportRequest, stimuli: Sequence[str], axis: int
) -> tuple[Features, Int64[np.ndarray, " n"] | None, list[str]]:
    """Return the layers in the dataset's order, the stimuli that have a row (None if all have), and
    how they were matched.
    """
    ids, by = held.ids or [], shortened(plain_name(held.named_by), LONGEST)
    repeated = request.repeats != "none" and axis == 0
    remedy = f", name another column by --id-column, or leave this one out by --drop {by}"
    found = rows_of(
        ids,
        stimuli,
        file=Path(request.file).name,
        by=by,
        some=bool(request.subset),
        repeated=repeated,
        remedy=remedy,
    )
    rows = found.rows.T if repeated else found.rows[:, 0]
    layers = [np.take(layer, rows, axis) for layer in held.layers]
    if request.dissimilarities:
        layers = [layer[:, rows] for layer in layers]
    one, place = ids[found.rows[0, 0]], stimuli[found.stimuli[0]]
    how = f"{by}, as places from 0" if found.by_place else by
    notes = [f"Rows are matched to stimuli by {how}: {shown(one)} is {place}."]
    if found.strange:
        strange = f"{len(found.strange):,} row{'s' * (len(found.strange) > 1)}"
        notes.append(f"{strange} of no stimulus left out: {shown(found.strange[0])}, ….")
    covers = found.stimuli if len(found.stimuli) < len(stimuli) else None
    return replace(held, layers=layers), covers, notes


def check_rows(
    layers: Sequence[np.ndarray], stimuli: Sequence[str], name: str, axis: int = 0
) -> None:
    """Raise FeatureError for layers without a row for each stimulus. name: of what holds them."""
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
            f"layer {place} of {name} has {layer.shape[axis]:,} rows, but the dataset has {n:,}"
            f" stimuli; {hint}"
        )


def from_repeats(repeats: Sequence[Repeats], over: Over) -> Content:
    """Return the space of repeated measurements: of trials their mean; of subjects all units side
    by side.
    """
    return Content([joined(each, over) for each in repeats], over=over, repeats=repeats)


def joined(repeats: Repeats, over: Over) -> Float32[np.ndarray, "n _"]:
    if over == "trials":
        mean: np.ndarray = repeats.mean(axis=0)
        return mean
    return np.concatenate(list(repeats), axis=1)


def read_repeats(path: Path, columns: Columns = EVERY) -> Features:
    """Read one array (repeats, stimuli, units) per layer; or (rows, units), in any order, with the
    stimulus of each row. Raise FeatureError for other shapes, for a single repeat, and for layers
    with different numbers of repeats.
    """
    arrays = held_arrays(path, columns)
    kept = {name: array for name, array in arrays.items() if is_layer(name, array, columns)}
    shapes = [array.shape for array in kept.values()]
    if not kept:
        raise FeatureError(f"{path} holds no arrays; expected one per layer")
    ids = find_ids(arrays, shapes[0][-2], columns, path)
    for shape in shapes:
        in_rows = len(shape) == 2 and ids[0] is not None and 0 not in shape
        if not in_rows and (len(shape) != 3 or 0 in shape or shape[0] < 2):
            raise FeatureError(
                f"{path} holds an array of shape {shape}; expected (repeats, stimuli, units) with"
                " at least 2 repeats, or (rows, units) and the stimulus of each row, for each of"
                " several layers"
            )
    if len(counts := {shape[:-1] for shape in shapes}) > 1:
        raise FeatureError(
            f"{path} has layers of {min(counts)} to {max(counts)} repeats and stimuli; expected as"
            " many of each: import layers that were measured at other times as models of their own"
        )
    made = {
        name: [narrowed(array.reshape(-1, array.shape[-1]), path).reshape(array.shape)]
        for name, array in kept.items()
    }
    return replace(gather(arrays, made, ids), names=tuple(kept) if all(kept) else ())


def read_dissimilarities(path: Path, columns: Columns = EVERY) -> Features:
    """Read one matrix per layer: (n, n), (layers, n, n), several (n, n), or the pairs i < j in the
    order of rows, (pairs,) or (layers, pairs). Raise FeatureError for a matrix that is not square,
    symmetric and finite, or has negative entries or a diagonal that is not 0.
    """
    arrays = held_arrays(path, columns)
    kept = [OF_RSATOOLBOX] if OF_RSATOOLBOX in arrays else []
    for name, array in arrays.items() if not kept else ():
        is_none = name and (columns.is_out(name) or columns.holds_ids(name))
        is_none = is_none or array.dtype.kind not in NUMBERS or array.size < 2
        if not is_none and not id_line(name, array, columns):
            kept.append(name)
    if not kept:
        raise FeatureError(f"{path} holds no arrays; expected one per layer")
    made = {
        name: [checked(each, path) for each in _unfold(arrays[name].astype(np.float64))]
        for name in kept
    }
    sizes = sorted({len(layer) for layers in made.values() for layer in layers})
    if len(sizes) > 1:
        raise FeatureError(f"{path} has layers over {sizes} stimuli; expected as many in each")
    return gather(arrays, made, find_ids(arrays, sizes[0], columns, path))


def _unfold(array: np.ndarray) -> Iterator[np.ndarray]:
    if array.ndim == 1:
        yield _square(array)
    elif array.ndim == 3 or (array.ndim == 2 and array.shape[0] != array.shape[1]):
        yield from (_square(each) if each.ndim == 1 else each for each in array)
    else:
        yield array


def _square(pairs: np.ndarray) -> np.ndarray:
    """Return the matrix of the pairs i < j; any other number of values stays as it is."""
    n = (1 + isqrt(1 + 8 * len(pairs))) // 2
    if n * (n - 1) // 2 != len(pairs):
        return pairs
    matrix = np.zeros((n, n), pairs.dtype)
    matrix[np.triu_indices(n, 1)] = pairs
    return matrix + matrix.T


def checked(matrix: np.ndarray, path: Path) -> Matrix:
    """Return a matrix of dissimilarities in float32; raise FeatureError for any other."""
    if matrix.ndim != 2 or len(matrix) != matrix.shape[1]:
        raise FeatureError(
            f"{path} holds an array of shape {matrix.shape}; expected dissimilarities of n stimuli:"
            " n × n, or n (n − 1) / 2 pairs"
        )
    if not np.isfinite(matrix).all():
        row, column = np.argwhere(~np.isfinite(matrix))[0]
        raise FeatureError(
            f"{path} has no number for stimuli {row} and {column}; expected a dissimilarity for"
            " each pair"
        )
    slack = ROUNDING * np.abs(matrix).max()
    if np.abs(matrix - matrix.T).max() > slack or np.abs(np.diagonal(matrix)).max() > slack:
        raise FeatureError(
            f"{path} is not symmetric with a diagonal of 0; expected dissimilarities: of"
            " similarities take 1 − s first"
        )
    if matrix.min() < 0:
        raise FeatureError(f"{path} has negative entries; expected dissimilarities of at least 0")
    pairs = (matrix / 2 + matrix.T / 2)[np.triu(np.ones(matrix.shape, dtype=bool), 1)]
    return _square(narrowed(pairs[:, None], path)[:, 0])


def describe_subject(name: str) -> Json:
    planted = {"reliability": SUBJECTS[name], "trials": TRIALS, "voxels": VOXELS}
    return {"simulated": {"version": CORTEX_VERSION, **planted}}


def measure_subject(name: str, world: Float[np.ndarray, "n f"]) -> Repeats:
    """Return a simulated subject's voxels in each trial: noisy linear views of the known factors,
    each of variance 1 without noise. For reliability ρ of the mean over r trials, the noise of one
    trial has variance r (1 − ρ) / ρ.
    """

    def standard(columns: Float[np.ndarray, "n _"]) -> Float[np.ndarray, "n _"]:
        around = columns - columns.mean(axis=0, dtype=np.float64)
        spread = around.std(axis=0)
        scaled: np.ndarray = around / np.where(spread > 0, spread, 1)
        return scaled

    rng = np.random.default_rng(list(SUBJECTS).index(name))
    signal = standard(standard(world) @ rng.normal(size=(world.shape[1], VOXELS)))
    spread = np.sqrt(TRIALS * (1 - SUBJECTS[name]) / SUBJECTS[name])
    noise = rng.normal(scale=spread, size=(TRIALS, *signal.shape))
    return (signal + noise).astype(np.float32)
