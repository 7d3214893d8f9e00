"""NumPy's files: no code runs, nothing takes all memory, damage is a sentence."""

from __future__ import annotations

import io
import struct

import numpy as np
import pytest

from core.errors import FeatureError
from core.files import userfile
from core.files.arrays import TEXTS, read_numpy
from core.files.userfile import MB, UserFile


def put(tmp_path, data, name="x.npy"):
    (tmp_path / name).write_bytes(data)
    return UserFile(tmp_path / name, "whole data", FeatureError)


def saved(array=None, **arrays):
    file = io.BytesIO()
    np.savez_compressed(file, **arrays) if arrays else np.save(file, array, allow_pickle=True)
    return file.getvalue()


def headed(text, values=bytes(48), version=b"\1\0"):
    return b"\x93NUMPY" + version + struct.pack("<H", len(text)) + text.encode() + values


def test_what_unpacks_to_more_than_there_is_room_for(tmp_path, monkeypatch):
    monkeypatch.setattr(userfile, "room", lambda: 64 * MB)
    file = put(tmp_path, saved(a=np.zeros(65 * MB, np.uint8)), "x.npz")
    with pytest.raises(FeatureError, match="takes 130 MB of memory, and 64 MB may be used"):
        read_numpy(file)
    with pytest.raises(FeatureError, match="takes 144 MB of memory, and 64 MB may be used"):
        read_numpy(put(tmp_path, saved(np.zeros((3_000, 3_000)))))


def test_values_of_other_kinds_are_refused(tmp_path):
    file = put(tmp_path, saved(x=np.zeros((2, 3)), y=np.array(["a", "b"])), "x.npz")
    assert list(read_numpy(file, kinds="f" + TEXTS)) == ["x", "y"]
    with pytest.raises(FeatureError, match="holds values of type <U1; expected numbers"):
        read_numpy(file)


@pytest.mark.parametrize("order", ["C", "F"])
def test_an_array_in_either_order(tmp_path, order):
    array = np.asarray(np.arange(12.0).reshape(3, 4), order=order)
    np.testing.assert_array_equal(read_numpy(put(tmp_path, saved(array)))[""], array)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (saved(np.array([{}])), r"holds pickled objects, which could run code; expected plain"),
        (b"\x80\x04N.", r"holds pickled objects, which could run code; expected plain"),
        (b"\x93NUMPY\1\0\xff", r"cannot be read \(EOF: reading array header length"),
        (headed("{'descr': '<f4', 'shape': (3, 4"), "cannot be read"),
        (headed("{'descr': '<f4', 'fortran_order': False, 'shape': (9, 9)}"), "cannot be read"),
        (headed("{'descr': '<f4', 'fortran_order': False, 'shape': (10**9, 10**9)}"), "be read"),
        (headed("{'descr': '|V0', 'fortran_order': False, 'shape': (9, 9)}"), "values of type"),
    ],
)
def test_what_is_no_array_of_numbers(tmp_path, data, message):
    with pytest.raises(FeatureError, match=message):
        read_numpy(put(tmp_path, data))
