"""What is measured of brains and people: every form of file, and refusals in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from core.encoders.measured import Content, read_content
from core.encoders.requests import ImportRequest
from core.errors import FeatureError, InputError

IDS = ["ape", "bee", "cat", "dog"]
SPACE = np.random.default_rng(0).normal(size=(4, 3))
MATRIX = squareform(pdist(SPACE)).astype(np.float32)
REPEATS = np.random.default_rng(1).normal(size=(3, 4, 2)).astype(np.float32)


def saved(path: Path, array: np.ndarray | None = None, **arrays: np.ndarray) -> Path:
    np.savez(path, **arrays) if arrays else np.save(path, array)
    return path


def read(path: Path, stimuli: list[str] = IDS, **way: Any) -> Content:
    return read_content(ImportRequest(f"{path}", "d", "n", "brain", **way), stimuli)


ORDER = np.random.default_rng(0).permutation(12)
OF = np.tile(np.arange(4), 3)[ORDER]
ROWS = REPEATS.reshape(12, 2)[ORDER]
OUT = [2, 0, 3, 1]  # an order of the stimuli
NAMES = np.array(IDS)
RSA = {"measurements": ROWS, "obs_descriptors/conds": NAMES[OF].astype("S")}
RDM = {
    "dissimilarities": squareform(MATRIX[np.ix_(OUT, OUT)], checks=False)[None],
    "pattern_descriptors/index": np.arange(4),
    "pattern_descriptors/stimulus": NAMES[OUT].astype("S"),
    "rdm_descriptors/index": np.arange(1),
}
TRIALS, ALIKE = {"repeats": "trials"}, {"dissimilarities": True}


@pytest.mark.parametrize(
    ("ending", "arrays", "way"),
    [
        ("npy", {"": REPEATS}, TRIALS),
        ("npz", {"x": REPEATS[:, OUT], "image": NAMES[OUT]}, TRIALS),
        ("npz", {"measurements": ROWS, "stimulus": OF}, TRIALS),
        ("npz", {"measurements": ROWS, "stimulus": NAMES[OF]}, TRIALS),
        ("npz", {"x": ROWS, "who": NAMES[OF]}, {**TRIALS, "id_column": "who"}),
        ("h5", RSA, TRIALS),
        ("npy", {"": MATRIX}, ALIKE),
        ("npy", {"": squareform(MATRIX, checks=False)}, ALIKE),
        ("npz", {"rdm": MATRIX[np.ix_(OUT, OUT)], "names": NAMES[OUT]}, ALIKE),
        ("h5", RDM, ALIKE),
    ],
)
def test_measurements_come_into_the_dataset_s_order(tmp_path, ending, arrays, way):
    """Of all stimuli, and of some: as if the file held these alone."""
    path = tmp_path / f"x.{ending}"
    if ending == "h5":
        with h5py.File(path, "w") as file:
            file.update(arrays)
    else:
        saved(
            path, *([arrays[""]] if "" in arrays else []), **{k: v for k, v in arrays.items() if k}
        )
    right = MATRIX if way == ALIKE else REPEATS.mean(axis=0)
    content = read(path, **way)
    np.testing.assert_allclose(content.layers[0], right, rtol=1e-5)
    if way != ALIKE:
        np.testing.assert_allclose(np.sort(content.repeats[0], 0), np.sort(REPEATS, 0), rtol=1e-6)
    if "" in arrays or arrays.get("stimulus") is OF:
        return  # which name none
    more = ["ant", "ape", "bee", "cow", "cat", "dog"]
    with pytest.raises(FeatureError, match=r"stimuli without a row: 2 .* --subset NAME for a"):
        read(path, more, **way)
    some = read(path, more, subset="some", **way)
    np.testing.assert_allclose(some.layers[0], right, rtol=1e-5)
    assert some.covers.tolist() == [1, 2, 4, 5]
    with pytest.raises(InputError, match="has a row for each of the 4 stimuli"):
        read(path, subset="some", **way)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": REPEATS[0]}, "shape .4, 2.; expected .repeats, stimuli, units. with at least 2"),
        ({"x": REPEATS[:1]}, "with at least 2 repeats"),
        ({"x": REPEATS, "z": REPEATS[:2]}, "repeats and stimuli; expected as many of each"),
        ({"measurements": REPEATS[0], "stimulus": np.array([0, 0, 1, 3])}, "exactly 1 row: 1 .0."),
        ({"measurements": REPEATS[0], "stimulus": np.arange(3)}, "ids of its 4 rows"),
    ],
)
def test_other_shapes_are_no_repeats(tmp_path, arrays, message):
    with pytest.raises(FeatureError, match=message):
        read(saved(tmp_path / "x.npz", **arrays), **TRIALS)


def test_dissimilarities_are_matrices_or_pairs(tmp_path):
    pairs = MATRIX[np.triu_indices(4, 1)]
    assert len(read(saved(tmp_path / "d.npy", np.stack([pairs] * 3)), **ALIKE).layers) == 3
    assert len(read(saved(tmp_path / "e.npy", np.stack([MATRIX] * 2)), **ALIKE).layers) == 2


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (MATRIX[:3, :3], "has 3 rows, but the dataset has 4 stimuli"),
        (np.arange(5.0), "of n stimuli: n × n, or n"),
        (np.array(3.0), "holds no arrays"),
        (1 - MATRIX, "of similarities take 1 − s first"),
        (MATRIX * np.array([1, 1, 1, 2])[:, None], "not symmetric"),
        (-MATRIX, "negative entries"),
        (np.where(MATRIX.max() == MATRIX, np.nan, MATRIX), "no number for stimuli"),
    ],
)
def test_what_is_no_dissimilarity_matrix_is_refused(tmp_path, array, message):
    with pytest.raises(FeatureError, match=message):
        read(saved(tmp_path / "x.npy", array), **ALIKE)


def test_trials_are_averaged_and_subjects_stand_side_by_side(tmp_path):
    path = str(saved(tmp_path / "x.npy", REPEATS))
    trials = read(path, repeats="trials")
    np.testing.assert_allclose(trials.layers[0], REPEATS.mean(axis=0), rtol=1e-6)
    subjects = read(path, repeats="subjects")
    np.testing.assert_array_equal(subjects.layers[0], np.hstack(list(REPEATS)))
