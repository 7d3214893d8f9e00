"""Features made elsewhere: every kind reads back as float32 layers; what is unsafe, damaged or no
features is refused in words.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import save_file

from core.encoders import imported
from core.errors import FeatureError
from core.files.userfile import MB

FLAT = np.arange(12, dtype=np.float32).reshape(4, 3) / 8
DEEP = np.arange(24, dtype=np.float32).reshape(4, 2, 3) / 8


def read_features(path: Path) -> list[np.ndarray]:
    return imported.read_features(path).layers


def save(path: Path, array: np.ndarray) -> Path:
    """Write one array as its kind's own library does."""
    if path.suffix == ".npy":
        np.save(path, array)
    elif path.suffix == ".npz":
        np.savez_compressed(path, feats=array)
    elif path.suffix == ".safetensors":
        save_file({"feats": torch.from_numpy(array)}, path)
    elif path.suffix == ".pt":
        torch.save(torch.from_numpy(array), path)
    else:
        pq.write_table(pa.table({"feats": pa.array(array.tolist())}), path)
    return path


def assert_refused(path, message):
    with pytest.raises(FeatureError, match=message):
        read_features(path)


def test_files_of_the_released_pipeline(tmp_path):
    feats = torch.from_numpy(DEEP).bfloat16()
    extra = {
        "num_params": 7,
        "mask": torch.ones(4, 5),
        "loss": torch.zeros(4),
        "bpb": torch.zeros(4),
    }
    torch.save({"feats": feats, **extra}, tmp_path / "x.pt")
    layers = read_features(tmp_path / "x.pt")
    np.testing.assert_array_equal(np.stack(layers, axis=1), feats.float().numpy())


@pytest.mark.parametrize("kind", ["float16", "float64", ">f4", "int8", "int64", "uint16"])
def test_numbers_of_other_types_become_float32(tmp_path, kind):
    (layer,) = read_features(save(tmp_path / "x.npy", np.asfortranarray((FLAT * 8).astype(kind))))
    assert layer.dtype == np.float32
    np.testing.assert_array_equal(layer, FLAT * 8)


def test_a_fixed_size_list_column(tmp_path):
    column = pa.FixedSizeListArray.from_arrays(pa.array(FLAT.ravel()), 3)
    pq.write_table(pa.table({"v": column}), tmp_path / "x.parquet", row_group_size=3)
    np.testing.assert_array_equal(read_features(tmp_path / "x.parquet")[0], FLAT)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(4), r"shape \(4,\); expected numbers, \(n, d\) or \(n, layers, d\)"),
        (np.zeros((2, 2, 2, 2)), r"of shape \(2, 2, 2, 2\)"),
        (np.zeros((0, 3)), r"of shape \(0, 3\)"),
        (np.zeros((3, 2), complex), "values of type complex128; expected numbers: float16"),
        (np.array([["a", "b"]]), "of type <U1"),
        (np.array([[{}, {}]], object), "holds pickled objects, which could run code"),
    ],
)
def test_arrays_that_are_no_features(tmp_path, array, message):
    np.save(tmp_path / "x.npy", array, allow_pickle=True)
    np.savez(tmp_path / "x.npz", array)
    assert_refused(tmp_path / "x.npy", message)
    assert_refused(tmp_path / "x.npz", message)


class Trap:
    """What a hostile file holds: loading it would leave a file behind."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_pickled_objects_are_not_run(tmp_path):
    torch.save({"feats": Trap(tmp_path / "ran")}, tmp_path / "x.pt")
    np.save(tmp_path / "x.npy", np.array([[Trap(tmp_path / "ran")]]), allow_pickle=True)
    assert_refused(
        tmp_path / "x.pt", "holds pickled objects, which could run code; expected tensors alone"
    )
    assert_refused(
        tmp_path / "x.npy", "holds pickled objects, which could run code; expected plain arrays"
    )
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("found", [3, {"feats": 3}, {"a": torch.zeros(2)}, "text"])
def test_tensor_files_without_features(tmp_path, found):
    torch.save(found, tmp_path / "x.pt")
    assert_refused(tmp_path / "x.pt", r"holds no features but .*; expected numbers, \(n, d\)")


def test_a_repeating_view_is_refused(tmp_path):
    torch.save(torch.zeros(1, 1).expand(1 << 30, 1 << 20), tmp_path / "x.pt")
    assert (tmp_path / "x.pt").stat().st_size < 10_000
    assert_refused(tmp_path / "x.pt", r"takes 9,007,199 GB of memory, and .* may be used, half of")


def test_a_table_of_repeats_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("core.files.userfile.room", lambda: 100 * MB)
    table = pa.table({"a": pa.array(np.zeros(19 << 20, np.float32))})
    pq.write_table(table, tmp_path / "x.parquet")
    assert (tmp_path / "x.parquet").stat().st_size < MB
    assert_refused(tmp_path / "x.parquet", r"takes 100 MB of memory, and 100 MB may be used")


def test_a_safetensors_header_that_lies(tmp_path):
    note = json.dumps(
        {"a": {"dtype": "F32", "shape": [1 << 20, 1 << 20], "data_offsets": [0, 1 << 42]}}
    ).encode()
    for length in (len(note), 1 << 60):
        (tmp_path / "x.safetensors").write_bytes(struct.pack("<Q", length) + note + bytes(16))
        assert_refused(
            tmp_path / "x.safetensors", r"cannot be read .*expected whole \.safetensors data"
        )


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"a": ["x", "y"]}, "holds no features but 'a' of type <U1"),
        ({"a": [1.0, None]}, "column 'a' of .* has 1 empty cells; expected a number in each"),
        ({"a": [[1.0, 2.0], [3.0]]}, "column 'a' of .* has lists of 2 lengths; expected one"),
        ({"a": [[1.0, None], [3.0, 1.0]]}, "column 'a' of .* has 1 empty cells"),
        (
            {"a": [[1.0], [2.0]], "b": [1.0, 2.0]},
            "has 2 columns, some of them lists; expected only numbers, or only lists",
        ),
    ],
)
def test_tables_that_are_no_features(tmp_path, table, message):
    pq.write_table(pa.table(table), tmp_path / "x.parquet")
    assert_refused(tmp_path / "x.parquet", message)
