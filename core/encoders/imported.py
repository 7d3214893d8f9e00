"""Features made elsewhere: which arrays of a file are layers, and which stimulus each row is of.

    (n, d) or (n, layers, d)  one array; or several (n, d) ones, a layer each, in the file's order
                              (if it keeps none, in the natural order of their names)
    (d,)                      an array for each stimulus, by its name
    tables                    a column for each dim, or a column of lists for each layer
    .pt of platonic-rep       `feats` (n, layers, d); its other entries are not features

A file may also hold ids of its rows (or file_names.txt next to it, as thingsvision writes), and
labels or scalars, which are no layers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import isnan
from pathlib import Path

import numpy as np
from jaxtyping import Float32, Float64

from core.encoders.arrays import (
    EVERY,
    READERS,
    TABLES,
    Arrays,
    Columns,
    kind_of,
    parts_of,
    read_arrays,
)
from core.encoders.rows import LONGEST, places_of
from core.errors import FeatureError, shortened
from core.files.arrays import NUMBERS, TEXTS
from core.files.ids import is_index, is_number, plain_name
from core.files.userfile import TEXT, UserFile, shown

Space = Float32[np.ndarray, "_ _"]  # (n, d); d may differ between layers
FEATS = "feats"  # of platonic-rep
OFFSET = 1e3  # times the largest deviation: what float32 then loses of it is above 10⁻⁴
NOISE = 1e-12  # of an offset: smaller deviations are float64's own rounding
TINY, HUGE = 1e-30, 1e30  # between which float32 is far from its ends
EXACT = 2**53  # up to which float64 holds every whole number
COMPARED = 10_000  # rows, of many, that are looked at after narrowing
REMEDY = "subtract what is common to all rows, and take logarithms of what spans many powers of ten"

MOST = 0.75  # of the stimuli that the best ids name: what names fewer is no rival
THEIRS = "their names"  # of arrays that are a stimulus each
NAMES = "file_names.txt"  # in which thingsvision lists the images, next to its features
# what keeps no order of its own, if its names are sorted
UNORDERED = (".h5", ".hdf5", ".mat", ".safetensors")


@dataclass(frozen=True)
class Features:
    """Layers with their names, and the id of each row, None if the file has none. named_by: what
    holds the ids. left_out: what is no layer. changed: what was done to layers so that float32
    holds them, "centered" or "rescaled".
    """

    layers: list[Space]
    names: tuple[str, ...]
    ids: list[str] | None = None
    named_by: str = ""
    left_out: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    @property
    def notes(self) -> list[str]:
        out = ", ".join(shortened(plain_name(name), LONGEST) for name in self.left_out)
        done = f"Layers are {' and '.join(self.changed)}, so that float32 holds them."
        left = f"Left out, since they are no features: {out}."
        return [*([done] if self.changed else []), *([left] if out else [])]


def read_features(path: Path, columns: Columns = EVERY) -> Features:
    """Read one (n, d) float32 matrix per layer, and the ids of the rows; raise FeatureError for a
    file that is not safe or not features, and for a column that is not there.
    """
    arrays = held_arrays(path, columns)
    kept = {name: array for name, array in arrays.items() if is_layer(name, array, columns)}
    kept = {FEATS: kept[FEATS]} if FEATS in kept and kept[FEATS].ndim == 3 else kept
    by_name, stimuli = ({}, []) if kind_of(path) in TABLES else _by_stimulus(arrays, columns)
    kept = by_name or kept
    made = {name: _split(array, path, alone=len(kept) == 1) for name, array in kept.items()}
    rows = sorted({len(layer) for layers in made.values() for layer, _ in layers})
    if not rows:
        held = "; ".join(
            f"{shown(name)} of type {array.dtype} and shape {array.shape}"
            for name, array in arrays.items()
        )
        raise FeatureError(
            f"{path} holds no features but {held or 'no array'}; expected numbers, (n, d) or"
            " (n, layers, d)"
        )
    if len(rows) > 1:
        raise FeatureError(
            f"the layers in {path} have {rows} rows; expected one row per stimulus in each, or"
            " --feature-column with those that are layers"
        )
    if stimuli:
        return replace(gather({}, made, (None, "")), ids=stimuli, named_by=THEIRS)
    return gather(arrays, made, find_ids(arrays, rows[0], columns, path))


def gather(
    arrays: Arrays,
    made: Mapping[str, Sequence[tuple[Space, tuple[str, ...]]]],
    ids: tuple[list[str] | None, str],
) -> Features:
    """Return the layers of a file. made: those of each array by its name, and what was done to
    them. ids: see `find_ids`.
    """
    layers, names, changed = list[Space](), list[str](), dict[str, None]()
    for name, each in made.items():
        layers += [layer for layer, _ in each]
        names += [name] if len(each) == 1 and name else [f"layer {at}" for at in range(len(each))]
        changed |= dict.fromkeys(change for _, changes in each for change in changes)
    left_out = tuple(name for name in arrays if name not in made and name != ids[1])
    return Features(layers, tuple(names), *ids, left_out, tuple(changed))


def held_arrays(path: Path, columns: Columns) -> Arrays:
    """Return the arrays of a file in its order, or in that of the features named; raises as
    `read_arrays`, and for a name that is not there.
    """
    arrays = read_arrays(path, columns)
    if any(name.startswith("time_descriptors/") for name in arrays):  # of rsatoolbox
        raise FeatureError(
            f"{path} holds responses over time; expected (rows, units): average over times, or save"
            " those of one"
        )
    missing = [name for name in columns.features if name not in arrays]
    missing += [name for name in [columns.ids] if name not in {"", *map(plain_name, arrays)}]
    if missing:
        raise FeatureError(
            f"{path} has no {shown(missing[0])}; it has"
            f" {', '.join(shown(plain_name(name)) for name in islice(arrays, 20))}"
        )
    if columns.features:
        arrays = {name: arrays[name] for name in dict.fromkeys((*columns.features, *arrays))}
    kind = kind_of(path)
    if kind in TABLES:
        _, by = find_ids(arrays, max(map(len, arrays.values()), default=0), columns, path)
        return stacked(arrays, by, columns, path)
    is_sorted = kind == ".safetensors" or (kind in UNORDERED and list(arrays) == sorted(arrays))
    if is_sorted and not columns.features:
        return {name: arrays[name] for name in natural_order(arrays)}
    return arrays


def stacked(whole: Arrays, by: str, columns: Columns, path: Path) -> Arrays:
    """Return columns of numbers as one array, the layer "", and all others by their names: those of
    lists, each a layer, texts, ids and labels. by: the column that names the rows. Raises
    FeatureError for a column of numbers with a cell that is none, and for numbers next to lists.
    """
    dims = list[str]()
    for name, values in whole.items():
        kind = values.dtype.kind
        if name == by or columns.is_aside(name, whole=kind in "iu"):
            continue
        if kind in TEXTS:
            rows, wrong = _lists(values, sure=name in columns.features)
            if wrong is not None:
                raise FeatureError(
                    f"column {shown(name)} of {path} has {shown(str(values[wrong]))} in row"
                    f" {wrong + 1}; expected a number in each row, or a list of as many: mend the"
                    " cell, or leave the column out by --drop"
                )
            if rows is None:
                continue
            whole[name] = rows
        dims.append(name)
    if by == "" and not columns.features and _is_count(whole, dims):
        raise FeatureError(
            f"column {shown(dims[0])} of {path} holds another whole number in each row, next to"
            " fractions; if these are ids, expected those of stimuli, or places from 0; else say"
            " which columns are features by --feature-column, or leave it out by --drop"
        )
    lists = {name: whole[name] for name in dims if whole[name].ndim > 1}
    flat = {name: whole[name] for name in dims if name not in lists}
    if lists and flat:
        raise FeatureError(
            f"{path} has {len(dims)} columns, some of them lists; expected only numbers, or"
            " only lists: name them by --feature-column"
        )
    found = {"": np.stack([*flat.values()], axis=1)} if flat else {}
    if len(lists) == 1:
        found, lists = {"": next(iter(lists.values()))}, {}
    return {**found, **lists, **{name: whole[name] for name in whole if name not in dims}}


def _lists(
    texts: np.ndarray, *, sure: bool
) -> tuple[Float64[np.ndarray, "n _"] | None, int | None]:
    """Return the rows of numbers that texts list, None if they list none; and the first row that is
    no number, or no list of as many, if most are. sure: whether all have to be.
    """
    cells = [
        text.strip("[] \n").replace(",", " ").split() if text[:1] == "[" else [text]
        for text in texts
    ]
    likely = sum(any(map(is_number, row)) for row in cells)
    if not sure and 2 * likely <= len(cells):
        return None, None
    width = Counter(map(len, cells)).most_common(1)[0][0]
    for place, row in enumerate(cells):
        if len(row) != width or not all(map(is_number, row)):
            return None, place
    return (np.array(cells, np.float64) if texts[0][:1] == "[" or sure else None), None


def _is_count(whole: Mapping[str, np.ndarray], dims: Sequence[str]) -> bool:
    kinds = [whole[name].dtype.kind for name in dims]
    values = whole[dims[0]] if dims else np.empty(0)
    is_first = kinds[:1] in (["i"], ["u"]) and {*kinds[1:]} == {"f"} and values.ndim == 1
    return is_first and len(np.unique(values)) == len(values) > 1


def find_ids(
    arrays: Arrays, rows: int, columns: Columns, path: Path
) -> tuple[list[str] | None, str]:
    """Return the ids of so many rows and what holds them; None and "" of a file without any.

    Of all lines of texts and of whole numbers, whatever they are called, it is the one that names
    the stimuli best: by their names before by their places, texts before numbers, what is called
    ids before what is not, and pandas' index last. Raises FeatureError if two that do so equally
    well disagree, and if what is called ids, or a person named, does not fit.
    """
    lines = {name: id_line(name, array, columns) for name, array in arrays.items()}
    found = {name: line for name, line in lines.items() if line}
    fitting = {name: one for name, one in found.items() if len(one[0]) == rows}
    most = max((named for *_, named in fitting.values()), default=0)

    def rank(name: str) -> tuple[float, ...]:
        _, _, count, named = fitting[name]
        is_good, is_text = named > 0 and named >= MOST * most, arrays[name].dtype.kind in TEXTS
        called = 0 if is_index(name) else 1 + columns.holds_ids(name)
        return is_good, is_good and is_text, called, count, is_text

    if fitting:
        best = max(fitting, key=rank)
        for name, (_, places, *_) in fitting.items():
            if rank(name) == rank(best) and places != fitting[best][1]:
                raise FeatureError(
                    f"{path} names its rows by {shown(plain_name(best))} and otherwise by"
                    f" {shown(plain_name(name))}; say by --id-column which of the two counts, or"
                    " by --feature-column what is no id"
                )
        return fitting[best][0], best
    spaces = [array.shape[1:] for array in arrays.values() if array.ndim > 1]
    widths = {len(spaces), *(size for shape in spaces for size in shape)}
    for name in found:  # as many as dims or layers are names of these
        if columns.ids or len(found[name][0]) not in widths:
            raise FeatureError(
                f"{path} has {shown(plain_name(name))} of shape {arrays[name].shape}; expected the"
                f" ids of its {rows} rows: mend it, or leave it out by --drop"
            )
    if columns.ids:
        shape = arrays[columns.ids].shape if columns.ids in arrays else "no line"
        raise FeatureError(
            f"{path} has {shown(columns.ids)} of shape {shape}; expected the ids of its {rows} rows"
        )
    return _listed_names(rows, columns, path)


def id_line(
    name: str, array: np.ndarray, columns: Columns
) -> tuple[list[str], list[int], int, int] | None:
    is_line = array.size == max(array.shape, default=0) > 1 and array.dtype.kind in "iufUS"
    called = columns.holds_ids(name)
    if not (name and is_line) or not (called or columns.may_hold_ids(name, array)):
        return None
    ids = _texts(array)
    places, by_place = places_of(ids, columns.stimuli)
    count = len({*places} - {-1} if columns.stimuli else {*ids})
    known = [place for place in places if place >= 0]
    if array.dtype.kind in TEXTS:  # what is not called ids names stimuli by most texts, ...
        fits = 2 * len(known) > len(places)
    else:  # ... or by all numbers
        fits = (len(columns.stimuli) if by_place else 1) <= len({*known}) == len(places)
    return (ids, places, count, 0 if by_place else count) if called or fits else None


def _listed_names(rows: int, columns: Columns, path: Path) -> tuple[list[str] | None, str]:
    """Return the names of files that thingsvision lists next to features, None and "" of others."""
    listed = path.with_name(NAMES)
    if NAMES in columns.drop or not listed.is_file():
        return None, ""
    others = [one for one in path.parent.iterdir() if kind_of(one) in READERS]
    if not path.name.startswith("features") and {*others} - {listed, path, *parts_of(path)}:
        return None, ""
    text = UserFile(listed, "a list of files", FeatureError, most=TEXT).text()
    names = [name.strip() for name in text.split("\n") if name.strip()]
    if len(names) != rows:
        raise FeatureError(
            f"{NAMES} next to {path} has {len(names)} names; expected those of its {rows} rows:"
            f" mend it, or leave it out by --drop {NAMES}"
        )
    return names, NAMES


def _by_stimulus(arrays: Arrays, columns: Columns) -> tuple[Arrays, list[str]]:
    """Return the layers of a file that holds an array for each stimulus, or for each stimulus and
    layer in groups of either, and the names of the stimuli; none of any other file.
    """
    held = {
        name: array[0] if len(array) == 1 < array.ndim else array
        for name, array in arrays.items()
        if array.ndim and not columns.is_out(name) and array.dtype.kind in NUMBERS
    }
    if len(held) < 2 or any(array.ndim > 2 for array in held.values()):
        return {}, []
    plain = [("", name) for name in held]
    cuts = [plain]
    for cut in (str.partition, str.rpartition):
        pairs = [cut(name, "/")[::2] for name in held]
        cuts += [pairs, [(layer, stimulus) for stimulus, layer in pairs]]
    in_rows = all(array.ndim == 1 for array in held.values())
    for pairs, is_last in [*((each, False) for each in cuts), (plain, True)]:
        layers = dict[str, dict[str, np.ndarray]]()
        for (layer, stimulus), array in zip(pairs, held.values(), strict=True):
            layers.setdefault(layer, {})[stimulus] = array
        stimuli = [*next(iter(layers.values()))]
        places, by_place = places_of(stimuli, columns.stimuli)
        known = [place for place in places if place >= 0 and not by_place]
        is_known = 2 * len(known) > len(stimuli) > 1 and len({*known}) == len(known)
        is_list = stimuli == [f"{place}" for place in range(len(stimuli))]  # of layers, then
        is_known = is_known and (in_rows or not is_list)
        whole = all(
            {*each} == {*stimuli} and len({array.shape for array in each.values()}) == 1
            for each in layers.values()
        )
        if whole and (is_known or is_last) and (in_rows or (is_known and len(layers) == 1)):
            stacks = [np.stack([each[one] for one in stimuli]) for each in layers.values()]
            return dict(zip(layers, stacks, strict=True)), stimuli
    return {}, []


def is_layer(name: str, array: np.ndarray, columns: Columns) -> bool:
    if columns.is_out(name):
        return False
    if name in columns.features:
        return True
    narrow = array.ndim == 2 and array.shape[1] == 1 and array.dtype.kind in "iu" and bool(name)
    return array.ndim > 1 and array.dtype.kind in "fiub" and not narrow


def _texts(array: np.ndarray) -> list[str]:
    flat = array.ravel().tolist()
    if array.dtype.kind == "f":  # of MATLAB, or of a table with an empty cell
        flat = ["" if isnan(one) else int(one) if one.is_integer() else one for one in flat]
    return [one.decode("utf-8", "replace") if isinstance(one, bytes) else f"{one}" for one in flat]


def natural_order(names: Iterable[str]) -> list[str]:
    def key(name: str) -> list[tuple[int, str]]:
        parts = re.split(r"(\d+)", name)  # no int: a number may have thousands of digits
        numbers = (part.lstrip("0") if part.isdecimal() else "" for part in parts)
        return [(len(number), number or part) for number, part in zip(numbers, parts, strict=True)]

    return sorted(names, key=key)


def _split(array: np.ndarray, path: Path, *, alone: bool) -> list[tuple[Space, tuple[str, ...]]]:
    if array.ndim not in ((2, 3) if alone else (2,)) or 0 in array.shape:
        wanted = "(n, d) or (n, layers, d)" if alone else "(n, d) for each of several arrays"
        maps = "; of maps (n, channels, height, width) save the mean over both" * (array.ndim == 4)
        raise FeatureError(
            f"{path} holds an array of shape {array.shape}; expected {wanted}, none of them 0{maps}"
        )
    layers = [array] if array.ndim == 2 else np.moveaxis(array, 1, 0)
    return [narrowed(layer, path) for layer in layers]


def narrowed(
    layer: np.ndarray, path: Path, *, center: bool = True
) -> tuple[Space, tuple[str, ...]]:
    """Return a matrix as float32, and what was done to it: columns are centered if an offset over
    all that varies in the layer would cost precision, and all is rescaled if its scale is out of
    float32's range. Neither changes CKA. center: whether it may be; no dissimilarities. Raises
    FeatureError if float32 still tells less than half of the rows apart, or makes one zero.
    """
    done = dict[str, None]()
    with np.errstate(over="ignore", invalid="ignore"):  # infinity, which no embedding takes
        if layer.dtype.itemsize < (8 if layer.dtype.kind == "f" else 4):
            return np.ascontiguousarray(layer, np.float32), ()
        wide = layer.astype(np.float64)
        if not (np.isfinite(wide).all() and wide.any()):
            return np.ascontiguousarray(layer, np.float32), ()
        if center and layer.dtype.kind in "iu" and np.abs(wide).max() > EXACT:
            wide = (layer.astype(np.uint64) - layer.min(axis=0).astype(np.uint64)).astype(float)
            done["centered"] = None
        wide = _in_range(wide, done)
        middle = wide.mean(axis=0)
        spread = np.abs(wide - middle).max(axis=0)
        size = np.abs(middle)
        far = (size > OFFSET * spread) & (size > spread.max()) & (spread > NOISE * size)
        if center and far.any():
            done["centered"] = None
            wide = _in_range(wide - np.where(far, middle, 0), done)
        narrow = np.ascontiguousarray(wide, np.float32)
    of = "row" if center else "pair"
    if len(lost := np.flatnonzero((wide if center else layer).any(axis=1) & ~narrow.any(axis=1))):
        raise FeatureError(
            f"{of} {lost[0]} of {path} is so small next to others that float32, in which the store"
            f" keeps them, makes it 0; {REMEDY}"
        )
    some = slice(None, None, len(wide) // COMPARED + 1)
    before, after = (len({(row + 0.0).tobytes() for row in one[some]}) for one in (wide, narrow))
    if (spread > NOISE * size).any() and after < before and after < max(2, before / 2):
        raise FeatureError(
            f"float32, in which the store keeps them, tells {after:,} of {before:,} {of}s of {path}"
            f" apart; {REMEDY}"
        )
    return narrow, tuple(done)


def _in_range(wide: np.ndarray, done: dict[str, None]) -> np.ndarray:
    """Return a matrix, rescaled if float32 does not hold its scale, which is then noted."""
    largest = np.abs(wide).max()
    if not largest or TINY < largest < HUGE:
        return wide
    done["rescaled"] = None
    return wide / largest
