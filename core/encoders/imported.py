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
is said in core/files/limits.py, and is checked before it is allocated.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from jaxtyping import Float32

from core.encoders.columns import EVERY, Columns, read_columns, read_table
from core.encoders.rows import LONGEST
from core.encoders.tensors import read_safetensors, read_torch
from core.errors import FeatureError, shortened
from core.files.arrays import NUMBERS, TEXTS, read_npy, read_npz
from core.files.ids import leaf, plain_name
from core.files.limits import TEXT
from core.files.userfile import UserFile, shown

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
    if single := _by_stimulus(arrays, columns):
        layer, changes = narrowed(np.stack([*single.values()]), path)
        return Features([layer], ("layer 0",), [*single], "their names", changed=changes)
    layers, names, changed = list[Space](), list[str](), dict[str, None]()
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
    if _kind(path) in TABLES:
        return arrays
    wanted = [*columns.features, *([columns.ids] if columns.ids else [])]
    if missing := [name for name in wanted if name not in arrays]:
        raise FeatureError(
            f"{path} has no {shown(missing[0])}; it holds {', '.join(map(shown, arrays))}"
        )
    if columns.features:
        return {name: arrays[name] for name in dict.fromkeys((*wanted, *arrays))}
    kind = _kind(path)
    if kind == ".safetensors" or (kind in UNORDERED and list(arrays) == sorted(arrays)):
        return {name: arrays[name] for name in natural_order(arrays)}
    return arrays


def find_ids(
    arrays: dict[str, np.ndarray], rows: int, columns: Columns, path: Path
) -> tuple[list[str] | None, str]:
    """Return the ids of so many rows and what holds them; None and "" of a file without any.

    Texts come before numbers, and both before an index. Raises FeatureError if the array that a
    person named does not fit.
    """
    named = [name for name in arrays if _are_ids(name, arrays[name], rows, columns)]
    if named:
        best = min(
            named,
            key=lambda name: (arrays[name].dtype.kind not in TEXTS, leaf(name) == "index"),
        )
        return _texts(arrays[best]), best
    if columns.ids:
        shape = arrays[columns.ids].shape if columns.ids in arrays else "no line"
        raise FeatureError(
            f"{path} has {shown(columns.ids)} of shape {shape}; expected the ids of its {rows} rows"
        )
    beside = path.with_name(NAMES)
    if NAMES not in columns.drop and beside.is_file():
        names = UserFile(beside, "a list of files", FeatureError, most=TEXT).text().split("\n")
        names = [name.strip() for name in names if name.strip()]
        if len(names) == rows:
            return names, NAMES
    return None, ""


def _are_ids(name: str, array: np.ndarray, rows: int, columns: Columns) -> bool:
    fits = array.shape in ((rows,), (rows, 1)) and columns.holds_ids(name)
    whole = array.dtype.kind == "f" and bool((array == np.floor(array)).all())  # of MATLAB
    return fits and (array.dtype.kind in "iuUS" or whole)


def _by_stimulus(arrays: dict[str, np.ndarray], columns: Columns) -> dict[str, np.ndarray]:
    """Return the rows of a file that holds one for each stimulus; none of any other file."""
    rows = {
        name: array
        for name, array in arrays.items()
        if not columns.is_out(name) and array.dtype.kind in "fiub"
    }
    shapes = {array.shape for array in rows.values()}
    alike = len(rows) > 1 and len(shapes) == 1
    one_row = alike and all(
        len(shape) == 1 or (len(shape) == 2 and shape[0] == 1) for shape in shapes
    )
    return {name: array.ravel() for name, array in rows.items()} if one_row else {}


def is_layer(name: str, array: np.ndarray, columns: Columns) -> bool:
    """Return whether an array is features by its name, type and shape."""
    if columns.is_out(name) and name:
        return False
    if name in columns.features:
        return True
    narrow = array.ndim == 2 and array.shape[1] == 1 and array.dtype.kind in "iu" and bool(name)
    return array.ndim > 1 and array.dtype.kind in "fiub" and not narrow


def _texts(array: np.ndarray) -> list[str]:
    flat = array.ravel().astype(int) if array.dtype.kind == "f" else array.ravel()
    return [one.decode("utf-8", "replace") if isinstance(one, bytes) else f"{one}" for one in flat]


def read_arrays(path: Path, columns: Columns = EVERY) -> dict[str, np.ndarray]:
    """Read the arrays of a file by their names, as they are; raise FeatureError for a file that is
    not safe, or of another kind. columns: of a table, which are stacked to one array.
    """
    kind = _kind(path)
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


def _kind(path: Path) -> str:
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
    ".npy": lambda file, _: {"": read_npy(file)},
    ".npz": lambda file, _: read_npz(file, kinds=NUMBERS + TEXTS),
    ".safetensors": lambda file, _: read_safetensors(file),
    ".pt": lambda file, _: read_torch(file),
    ".pth": lambda file, _: read_torch(file),
    ".parquet": read_columns,
    ".csv": read_table,
    ".tsv": read_table,
    ".txt": read_table,
    **dict.fromkeys((".h5", ".hdf5", ".mat"), _read_hdf5),
}
ENDINGS = (*READERS, PACKED)
