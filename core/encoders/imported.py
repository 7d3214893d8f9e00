"""Features made elsewhere, read from a file without running or unfolding what it hides.

    .npy                      one array: (n, d), or (n, layers, d)
    .npz .safetensors .pt     one such array, or several (n, d) ones: a layer each, in the file's
    .h5 .hdf5 .mat            order (where it keeps none, in the natural order of their names); or
                              one (d,) for each stimulus, by its name
    .parquet .csv .tsv        a column for each dim, or a column of lists for each layer
    .txt                      a row of numbers for each stimulus
    .pt of platonic-rep       `feats` (n, layers, d); its other entries are not features
    .gz                       any of these, compressed

A file may also hold ids of its rows (or file_names.txt next to it, as thingsvision writes), and
labels or scalars, which are no layers. What it may take
is said in core/files/userfile.py, and is checked before it is allocated.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from math import isnan
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from jaxtyping import Float32

from core.encoders.columns import EVERY, Columns, read_columns, read_table, stacked
from core.encoders.rows import LONGEST, places_of
from core.encoders.tensors import read_safetensors, read_torch
from core.errors import FeatureError, shortened
from core.files.arrays import NUMBERS, TEXTS, read_numpy
from core.files.ids import is_index, plain_name
from core.files.userfile import TEXT, UserFile, shown

Space = Float32[np.ndarray, "_ _"]  # (n, d); d may differ between layers
FEATS = "feats"  # of platonic-rep
TABLES = (".parquet", ".csv", ".tsv", ".txt")
PACKED = ".gz"
OFFSET = 1e3  # times the largest deviation: what float32 then loses of it is above 10⁻⁴
NOISE = 1e-12  # of an offset: smaller deviations are float64's own rounding
TINY, HUGE = 1e-30, 1e30  # between which float32 is far from its ends
EXACT = 2**53  # up to which float64 holds every whole number
COMPARED = 10_000  # rows, of many, that are looked at after narrowing
REMEDY = "subtract what is common to all rows, and take logarithms of what spans many powers of ten"

MOST = 0.75  # of the stimuli that the best ids name: what names fewer is no rival
THEIRS = "their names"  # of arrays that are a stimulus each
NAMES = "file_names.txt"  # in which thingsvision lists the images, next to its features
# what keeps no order of its own, where its names are sorted
UNORDERED = (".h5", ".hdf5", ".mat", ".safetensors")

CLOSED = {  # what is refused by the end of the name
    **dict.fromkeys((".pkl", ".pickle"), "a pickle, which could run code"),
    ".nwb": "a recording of NWB",
}
ELSEWHERE = (
    "expected plain arrays: save rsatoolbox's data and rdms as HDF5 (data.save('FILE.h5', 'hdf5')),"
    " responses by numpy.save, (trials, stimuli, units)"
)
# how thingsvision names parts of what is too large for memory, by their rows: features_0-512.npy
PART = re.compile(r"(.*_)(\d{1,9})-(\d{1,9})(\.npy|\.pt)")


@dataclass(frozen=True)
class Features:
    """Layers with their names, and the id of each row, None where the file has none. named_by: what
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
        """Return what was done to layers, and what was left out, in sentences."""
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
    layers, names, changed = list[Space](), list[str](), dict[str, None]()
    by_name, stimuli = ({}, []) if kind_of(path) in TABLES else _by_stimulus(arrays, columns)
    kept = by_name or kept
    for name, array in kept.items():
        split = _split(array, path, alone=len(kept) == 1)
        layers += [layer for layer, _ in split]
        changed |= dict.fromkeys(change for _, changes in split for change in changes)
        alone = len(split) == 1 and bool(name)
        names += [name] if alone else [f"layer {place}" for place in range(len(split))]
    if not layers:
        held = "; ".join(
            f"{shown(name)} of type {array.dtype} and shape {array.shape}"
            for name, array in arrays.items()
        )
        raise FeatureError(
            f"{path} holds no features but {held or 'no array'}; expected numbers, (n, d) or"
            " (n, layers, d)"
        )
    rows = sorted({len(layer) for layer in layers})
    if len(rows) > 1:
        raise FeatureError(
            f"the layers in {path} have {rows} rows; expected one row per stimulus in each, or"
            " --feature-column with those that are layers"
        )
    if stimuli:
        return Features(layers, tuple(names), stimuli, THEIRS, changed=tuple(changed))
    ids, by = find_ids(arrays, rows[0], columns, path)
    left_out = tuple(name for name in arrays if name not in kept and name != by)
    return Features(layers, tuple(names), ids, by, left_out, tuple(changed))


def held_arrays(path: Path, columns: Columns) -> dict[str, np.ndarray]:
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


def find_ids(
    arrays: dict[str, np.ndarray], rows: int, columns: Columns, path: Path
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
    """Return ids, the places they name, how many and how many by name; None of what has no ids."""
    is_line = array.size == max(array.shape, default=0) > 1 and array.dtype.kind in "iufUS"
    called = columns.holds_ids(name)
    if not (name and is_line) or not (called or columns.may_hold_ids(name, array)):
        return None
    ids = _texts(array)
    places, by_place = places_of(ids, columns.stimuli)
    count = len({*places} - {-1} if columns.stimuli else {*ids})
    if not called and not _is_match(places, by_place, array.dtype.kind in TEXTS, columns):
        return None
    return ids, places, count, 0 if by_place else count


def _is_match(places: list[int], by_place: bool, is_text: bool, columns: Columns) -> bool:
    """Return whether a line that is not called ids names stimuli: most texts, or all numbers."""
    known = [place for place in places if place >= 0]
    if is_text:
        return 2 * len(known) > len(places)
    enough = len(columns.stimuli) if by_place else 1
    return enough <= len({*known}) == len(places)


def _listed_names(rows: int, columns: Columns, path: Path) -> tuple[list[str] | None, str]:
    """Return the names of files that thingsvision lists next to features, None and "" of others."""
    beside = path.with_name(NAMES)
    if NAMES in columns.drop or not beside.is_file():
        return None, ""
    others = [one for one in path.parent.iterdir() if kind_of(one) in READERS]
    if not path.name.startswith("features") and {*others} - {beside, path, *_parts(path)}:
        return None, ""
    text = UserFile(beside, "a list of files", FeatureError, most=TEXT).text()
    names = [name.strip() for name in text.split("\n") if name.strip()]
    if len(names) != rows:
        raise FeatureError(
            f"{NAMES} next to {path} has {len(names)} names; expected those of its {rows} rows:"
            f" mend it, or leave it out by --drop {NAMES}"
        )
    return names, NAMES


def _by_stimulus(
    arrays: dict[str, np.ndarray], columns: Columns
) -> tuple[dict[str, np.ndarray], list[str]]:
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
    """Return whether an array is features by its name, type and shape."""
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


def read_arrays(path: Path, columns: Columns = EVERY) -> dict[str, np.ndarray]:
    """Read the arrays of a file by their names, as they are; raise FeatureError for a file that is
    not safe, or of another kind; those of a table are its columns.
    """
    kind = kind_of(path)
    if kind in CLOSED:
        raise FeatureError(f"{path} is {CLOSED[kind]}; {ELSEWHERE}")
    reader = READERS.get(kind)
    if reader is None:
        raise FeatureError(f"{path} is of no known kind; expected one of {', '.join(ENDINGS)}")
    file = UserFile(path, f"whole {kind} data", FeatureError)
    if path.suffix.lower() == PACKED:
        return _read_packed(file, reader, columns)
    parts = [reader(UserFile(one, file.expected, FeatureError), columns) for one in _parts(path)]
    if len(parts) < 2:
        return reader(file, columns)
    with file.decoding():  # parts of other shapes
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def kind_of(path: Path) -> str:
    """Return the end of a file's name, small, without that of what it is compressed by."""
    name = path.name.lower()
    return Path(name.removesuffix(PACKED)).suffix or Path(name).suffix


def _read_packed(file: UserFile, reader: Reader, columns: Columns) -> dict[str, np.ndarray]:
    with TemporaryDirectory() as folder:
        whole = Path(folder, file.path.stem)
        with file.decoding(), gzip.open(file.path) as packed, whole.open("wb") as out:
            while part := packed.read(1 << 20):
                out.write(part)
                file.check_room(2 * out.tell())
        try:
            return reader(UserFile(whole, file.expected, FeatureError), columns)
        except FeatureError as error:
            raise FeatureError(str(error).replace(str(whole), str(file.path))) from error


def _parts(path: Path) -> list[Path]:
    """Return the files of which one is a part, in the order of their rows; raises FeatureError if
    rows between them are missing.
    """
    if not (match := PART.fullmatch(path.name)):
        return []
    found = [PART.fullmatch(one.name) for one in path.parent.iterdir()]
    parts = sorted(
        (int(one[2]), int(one[3]), one[0])
        for one in found
        if one and one.group(1, 4) == match.group(1, 4)
    )
    for end, (start, _, name) in zip([0, *(part[1] for part in parts)], parts, strict=False):
        if start != end:
            raise FeatureError(
                f"{path} is one of {len(parts)} parts, but the rows from {end} to {start}, before"
                f" {name}, are missing or there twice; put all parts into one folder, alone"
            )
    return [path.with_name(name) for _, _, name in parts]


def natural_order(names: Iterable[str]) -> list[str]:
    """Sort names so that layer2 comes before layer10."""

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


def _read_hdf5(file: UserFile, _: Columns) -> dict[str, np.ndarray]:
    from core.files.hdf5 import read_hdf5  # with h5py: 0.2 s that the other kinds need not pay

    return read_hdf5(file)


Reader = Callable[[UserFile, Columns], dict[str, np.ndarray]]
READERS: dict[str, Reader] = {
    ".npy": lambda file, _: read_numpy(file),
    ".npz": lambda file, _: read_numpy(file, kinds=NUMBERS + TEXTS),
    ".safetensors": lambda file, _: read_safetensors(file),
    ".pt": lambda file, columns: read_torch(file, len(columns.stimuli)),
    ".pth": lambda file, columns: read_torch(file, len(columns.stimuli)),
    ".parquet": read_columns,
    ".csv": read_table,
    ".tsv": read_table,
    ".txt": read_table,
    **dict.fromkeys((".h5", ".hdf5", ".mat"), _read_hdf5),
}
ENDINGS = (*READERS, PACKED)
