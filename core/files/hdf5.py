"""HDF5 and MATLAB's files, read in a process of their own: their libraries have no limit of memory,
and follow links to other files.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import h5py
import numpy as np
import scipy.io

from core.files.arrays import NUMBERS, TEXTS
from core.files.userfile import COLUMNS, UserFile, shown

MATLAB = "MATLAB_class"  # what MATLAB calls the kind of an array in HDF5


def read_hdf5(file: UserFile) -> dict[str, np.ndarray]:
    """Return the arrays of an HDF5 file, or of one of MATLAB's, by their names, groups before a
    slash; scalars are left out, and what is neither numbers nor texts is empty. Raise the file's
    error for a damaged one, and for links to other files.
    """
    return dict(file.confined(_read))


def _read(file: UserFile) -> Iterator[tuple[str, np.ndarray]]:
    with file.decoding():
        if file.path.suffix.lower() == ".mat" and not h5py.is_hdf5(file.path):  # of before 7.3
            file.check_room(16 * sum(prod(one[1]) for one in scipy.io.whosmat(file.path)))
            for name, values in scipy.io.loadmat(file.path, mat_dtype=False).items():
                if not name.startswith("__"):
                    yield from _fields(name, values)
            return
        with h5py.File(file.path, "r", locking=False) as held:
            parts = dict(_walk(held, "", file, set()))
            # as they are, and on their way to the process that asked
            sizes = (prod(part.shape) * max(part.dtype.itemsize, 1) for part in parts.values())
            file.check_room(2 * sum(sizes))
            for name, part in parts.items():
                yield from _arrays(name, part, held)


def _walk(
    group: h5py.Group, at: str, file: UserFile, seen: set[int]
) -> Iterator[tuple[str, h5py.Dataset]]:
    """Yield the datasets of a group by name, in the file's order if it keeps one. Soft links and
    groups that were seen already are left out.
    """
    if (address := h5py.h5o.get_info(group.id).addr) in seen:
        return
    seen.add(address)
    file.check_count(len(group), COLUMNS, "arrays")
    for name in group:
        if name in ("#refs#", "#subsystem#"):  # in which MATLAB keeps what cells hold
            continue
        link = group.get(name, getlink=True)
        if isinstance(link, h5py.ExternalLink):
            raise _elsewhere(file, f"{at}{name}")
        if not isinstance(link, h5py.HardLink):
            continue
        part = group[name]
        if isinstance(part, h5py.Group):
            yield from _walk(part, f"{at}{name}/", file, seen)
        elif isinstance(part, h5py.Dataset) and part.shape:
            if part.external or part.is_virtual:
                raise _elsewhere(file, f"{at}{name}")
            yield f"{at}{name}", part


def _elsewhere(file: UserFile, name: str) -> Exception:
    return file.raising(
        f"{file.path} keeps {shown(name)} in another file, which is not read; copy the values into"
        " this one"
    )


def _arrays(name: str, part: h5py.Dataset, held: h5py.File) -> Iterator[tuple[str, np.ndarray]]:
    kind = part.attrs.get(MATLAB, b"")
    if kind == b"cell" and part.dtype == h5py.ref_dtype:
        cells = [held[ref] for ref in part[()].ravel() if ref]
        if cells and all(cell.attrs.get(MATLAB, b"") == b"char" for cell in cells):
            yield name, np.array(["".join(map(chr, cell[()].ravel("F"))) for cell in cells])
    elif kind == b"char":
        yield name, np.array(["".join(map(chr, row)) for row in part[()].T])
    elif "MATLAB_empty" in part.attrs:
        return
    elif h5py.check_string_dtype(part.dtype):
        texts = part.asstr(errors="replace")[()]
        yield name, np.array(texts.tolist(), dtype=str).reshape(texts.shape)
    elif kind:  # MATLAB counts axes from the other end
        yield name, _as_line(_plain(part[()].T))
    else:
        yield name, _plain(part[()])


def _plain(values: np.ndarray) -> np.ndarray:
    """Return an array, or an empty one in place of references and other objects."""
    return values if values.dtype.kind in NUMBERS + TEXTS else np.empty(0, values.dtype.str)


def _as_line(values: np.ndarray) -> np.ndarray:
    return values.ravel() if values.ndim == 2 and 1 in values.shape else values


def _fields(name: str, values: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Yield an array by its name, each field of a struct, and a cell array of texts."""
    if not isinstance(values, np.ndarray):
        return
    if values.dtype.names and values.size == 1:
        for field in values.dtype.names:
            yield from _fields(f"{name}/{field}", values.ravel()[0][field])
    elif values.dtype == object:
        cells = [np.ravel(cell) for cell in values.ravel()]
        if all(cell.size == 1 and cell.dtype.kind == "U" for cell in cells):
            yield name, np.array([str(cell[0]) for cell in cells])
        else:
            yield name, np.empty(0, object)
    elif values.size > 1 and not values.dtype.names:
        yield name, _as_line(values)
