"""NumPy's own files; nothing is unpickled."""

from __future__ import annotations

import numpy as np

from core.files.userfile import UserFile

REPRESENTABLE = "numbers: float16, bfloat16, float32, float64 or integers"
NUMBERS, TEXTS = "fiub", "US"  # kinds of NumPy's types


def read_numpy(file: UserFile, *, kinds: str = NUMBERS) -> dict[str, np.ndarray]:
    """Return the array of an .npy file as "", or those of an .npz file by their names. kinds: of
    values that are read. Raise the file's error for a damaged file, and for other values.
    """
    file.check_room(2 * file.size)  # as it is, and as float32
    with file.open() as opened, file.decoding():
        try:
            held = np.load(opened, allow_pickle=False)
            arrays = {"": held} if isinstance(held, np.ndarray) else {}
            if not arrays:
                with held:
                    file.check_room(2 * sum(entry.file_size for entry in held.zip.infolist()))
                    arrays = {name: held[name] for name in held.files}
        except ValueError as error:
            if "allow_pickle" not in str(error):
                raise
            raise file.raising(
                f"{file.path} holds pickled objects, which could run code; expected plain arrays of"
                f" {REPRESENTABLE}"
            ) from error
    for array in arrays.values():
        check_type(file, str(array.dtype), fits=array.dtype.kind in kinds)
    return arrays


def check_type(file: UserFile, name: str, *, fits: bool) -> None:
    if not fits:
        raise file.raising(f"{file.path} holds values of type {name}; expected {REPRESENTABLE}")
