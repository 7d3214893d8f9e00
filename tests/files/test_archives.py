"""Zips and NumPy's files: no code runs, nothing takes all memory, damage is a sentence."""

from __future__ import annotations

import io
import struct
import zipfile

import numpy as np
import pytest

from core.errors import FeatureError
from core.files import userfile
from core.files.archives import check_torch, open_zip
from core.files.arrays import Header, read_npy, read_npz
from core.files.limits import MB
from core.files.userfile import UserFile


def put(tmp_path, data, name="x.npz"):
    (tmp_path / name).write_bytes(data)
    return UserFile(tmp_path / name, "whole data", FeatureError)


def zipped(members, method=zipfile.ZIP_DEFLATED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in members:
            archive.writestr(zipfile.ZipInfo(name), data, method)
    return file.getvalue()


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def headed(text, values=bytes(48), version=b"\1\0"):
    return b"\x93NUMPY" + version + struct.pack("<H", len(text)) + text.encode() + values


def test_a_zip_that_unpacks_to_more_than_there_is_room_for(tmp_path, monkeypatch):
    monkeypatch.setattr(userfile, "room", lambda: 64 * MB)
    file = put(tmp_path, zipped([("a.npy", bytes(65 * MB))]))
    with pytest.raises(FeatureError, match="takes 130 MB of memory, and 64 MB may be used"):
        read_npz(file)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name(tmp_path):
    file = put(tmp_path, zipped([("a", b"1"), ("a", b"2")]))
    with pytest.raises(FeatureError, match=r"x\.npz has 'a' twice; rename one"), open_zip(file):
        pass


def test_arrays_that_are_not_wanted_are_not_looked_at(tmp_path):
    pixels, labels = np.zeros((2, 1, 1, 3), np.uint8), np.array(["a", "b"])
    file = put(tmp_path, zipped([("x.npy", npy(pixels)), ("y.npy", npy(labels))]))

    def wanted(header: Header) -> bool:
        return header.kind == np.uint8

    assert list(read_npz(file, wanted)) == ["x"]
    with pytest.raises(FeatureError, match="holds values of type <U1; expected numbers"):
        read_npz(file)


@pytest.mark.parametrize("order", ["C", "F"])
def test_an_array_in_either_order(tmp_path, order):
    array = np.asarray(np.arange(12.0).reshape(3, 4), order=order)
    np.testing.assert_array_equal(read_npy(put(tmp_path, npy(array), "x.npy")), array)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (npy(np.array([{}])), r"holds pickled objects, which could run code; expected plain"),
        (b"\x93NUMPY\1\0\xff", r"cannot be read \(EOF: reading array header length"),
        (headed("{'descr': '<f4', 'shape': (3, 4"), "cannot be read"),
        (headed("(" * 9000), "cannot be read"),
        (headed("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2)}", version=b"\7\7"), "7"),
        (headed("{'descr': '<f4', 'fortran_order': False, 'shape': (9, 9)}"), "cannot be read"),
        (headed("{'descr': '<f4', 'fortran_order': False, 'shape': (10**9, 10**9)}"), "be read"),
        (headed("{'descr': '|V0', 'fortran_order': False, 'shape': (9, 9)}"), "values of type"),
    ],
)
def test_what_is_no_array_of_numbers(tmp_path, data, message):
    with pytest.raises(FeatureError, match=message):
        read_npy(put(tmp_path, data, "x.npy"))


def test_an_array_that_is_larger_than_the_memory(tmp_path, monkeypatch):
    file = put(tmp_path, npy(np.zeros((3_000, 3_000))), "x.npy")
    monkeypatch.setattr(userfile, "room", lambda: 100 * MB)
    with pytest.raises(FeatureError, match="takes 144 MB of memory, and 100 MB may be used"):
        read_npy(file)


def test_what_torch_would_make_more_of_than_there_is(tmp_path):
    trap = b"c__builtin__\nbytearray\n(I99999999999\ntR."
    for method, said in (
        (zipfile.ZIP_STORED, "it makes an array of bytes of any length"),
        (zipfile.ZIP_DEFLATED, "it is compressed"),
    ):
        with pytest.raises(FeatureError, match=said):
            check_torch(put(tmp_path, zipped([("x/data.pkl", trap)], method), "x.pt"))
