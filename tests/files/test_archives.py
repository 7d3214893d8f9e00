"""Zips and NumPy's files: their lists and headers are judged before anything is unpacked."""

from __future__ import annotations

import io
import pickle
import struct
import zipfile

import numpy as np
import pytest

from core.errors import FeatureError
from core.files import archives, userfile
from core.files.archives import check_pickle, open_zip, read_list
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


def test_thirty_thousand_members_are_refused_by_their_number(tmp_path):
    file = put(tmp_path, zipped([(f"{at}.npy", b"") for at in range(30_000)]))
    with pytest.raises(FeatureError, match=r"x\.npz has 30,000 members; at most 2,000 are read"):
        read_npz(file)


def test_a_list_of_members_is_read_within_a_limit():
    data = io.BytesIO(zipped([(f"{at}{'x' * 200}", b"") for at in range(50)]))
    assert len(read_list(data, most=20_000).infolist()) == 50
    with pytest.raises(archives.HugeListError, match=r"a list of members of \d\d,\d+ bytes"):
        read_list(data, most=10_000)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (zipped([("a", b"")], zipfile.ZIP_LZMA), r"'a' in .* is compressed in a rare way"),
        (zipped([("a", bytes(65 * MB))]), "claims to unfold to 65,000,000"),
        (b"", r"x\.npz cannot be read \(File is not a zip file\); expected whole data"),
    ],
)
def test_zips_that_are_not_unpacked(tmp_path, data, message):
    with pytest.raises(FeatureError, match=message), open_zip(put(tmp_path, data)):
        pass


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name(tmp_path):
    file = put(tmp_path, zipped([("a", b"1"), ("a", b"2")]))
    with pytest.raises(FeatureError, match=r"x\.npz has 'a' twice; rename one"), open_zip(file):
        pass


def test_a_member_that_claims_more_than_the_file_has(tmp_path):
    data = bytearray(zipped([("a", b"1234")]))
    entry = data.index(b"PK\1\2")  # of the list: its packed size lies twenty bytes on
    data[entry + 20 : entry + 24] = struct.pack("<I", 2**31 - 1)
    claims = r"'?a'? in .* claims 2,147,483,647 bytes, more than the \d+ of the file; fetch it"
    with pytest.raises(FeatureError, match=claims), open_zip(put(tmp_path, bytes(data))):
        pass


def test_a_large_member_is_read_at_once(tmp_path):
    array = np.arange(5_000_000.0)  # 40 MB, more than a list of members may take
    file = put(tmp_path, zipped([("a.npy", npy(array))], zipfile.ZIP_STORED))
    np.testing.assert_array_equal(read_npz(file)["a"], array)


def test_arrays_that_are_not_wanted_are_not_looked_at(tmp_path):
    pixels, labels = np.zeros((2, 1, 1, 3), np.uint8), np.array(["a", "b"])
    file = put(tmp_path, zipped([("x.npy", npy(pixels)), ("y.npy", npy(labels))]))

    def wanted(header: Header) -> bool:
        return header.kind == np.uint8

    assert list(read_npz(file, wanted)) == ["x"]
    with pytest.raises(FeatureError, match="holds values of type <U1; expected numbers"):
        read_npz(file)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x93NUMPY\1\0\xff", r"cannot be read \(EOF: reading array header length"),
        (headed("{'descr': '<f4', 'shape': (3, 4"), "cannot be read"),
        (headed("(" * 9000), "cannot be read"),
        (headed("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2)}", version=b"\7\7"), "7"),
        (
            headed("{'descr': '<f4', 'fortran_order': False, 'shape': (9, 9)}"),
            r"holds \d+ bytes",
        ),
        (
            headed(f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({'9' * 4000}, 1)}}"),
            r"claims shape \(…\) of float32",
        ),
        (headed("{'descr': '|V0', 'fortran_order': False, 'shape': (9, 9)}"), "values of type"),
        (headed("{'descr': '<f4', 'fortran_order': False, 'shape': (0, -1)}"), "claims shape"),
    ],
)
def test_headers_that_are_none(tmp_path, data, message):
    with pytest.raises(FeatureError, match=message):
        read_npy(put(tmp_path, data, "x.npy"))


def test_an_array_that_is_larger_than_the_memory(tmp_path, monkeypatch):
    file = put(tmp_path, npy(np.zeros((3_000, 3_000))), "x.npy")
    monkeypatch.setattr(userfile, "room", lambda: 100 * MB)
    with pytest.raises(FeatureError, match="takes 144 MB of memory, and 100 MB may be used"):
        read_npy(file)


def test_a_pickle_that_makes_bytes_of_any_length():
    check_pickle(pickle.dumps({"a": [1, 2]}, protocol=2))
    trap = b"c__builtin__\nbytearray\n(I99999999999\ntR."
    with pytest.raises(ValueError, match="it makes an array of bytes of any length"):
        check_pickle(trap)
