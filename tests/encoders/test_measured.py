"""What is measured of brains and people: every form of file, and refusals in words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from core.encoders.measured.content import read_content
from core.encoders.measured.dissimilarities import read_dissimilarities
from core.encoders.measured.repeats import read_repeats
from core.encoders.requests import ImportRequest
from core.errors import FeatureError

IDS = ["ape", "bee", "cat", "dog"]
SPACE = np.random.default_rng(0).normal(size=(4, 3))
MATRIX = squareform(pdist(SPACE)).astype(np.float32)
REPEATS = np.random.default_rng(1).normal(size=(3, 4, 2)).astype(np.float32)


def saved(path: Path, array: np.ndarray | None = None, **arrays: np.ndarray) -> Path:
    np.savez(path, **arrays) if arrays else np.save(path, array)
    return path


def written(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_repeats_are_an_array_or_a_table_of_rows(tmp_path):
    (layer,) = read_repeats(saved(tmp_path / "a.npy", REPEATS))
    np.testing.assert_array_equal(layer, REPEATS)
    assert len(read_repeats(saved(tmp_path / "b.npz", v1=REPEATS, v2=REPEATS[:, :, :1]))) == 2
    order = np.random.default_rng(0).permutation(12)
    of = np.tile(np.arange(4), 3)[order]
    rows = saved(tmp_path / "c.npz", measurements=REPEATS.reshape(12, 2)[order], stimulus=of)
    (layer,) = read_repeats(rows)
    np.testing.assert_allclose(layer.mean(axis=0), REPEATS.mean(axis=0), rtol=1e-6)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": REPEATS[0]}, "shape .4, 2.; expected .repeats, stimuli, units. with at least 2"),
        ({"x": REPEATS[:1]}, "with at least 2 repeats"),
        ({"x": REPEATS, "y": REPEATS[:2]}, "layers of 2 to 3 repeats; expected as many of each"),
        ({"measurements": REPEATS[0], "stimulus": np.array([0, 0, 1, 3])}, "every stimulus from 0"),
        ({"measurements": REPEATS[0], "stimulus": np.arange(3)}, "the place of each row's"),
    ],
)
def test_other_shapes_are_no_repeats(tmp_path, arrays, message):
    with pytest.raises(FeatureError, match=message):
        read_repeats(saved(tmp_path / "x.npz", **arrays))


def test_dissimilarities_are_matrices_pairs_or_ratings(tmp_path):
    pairs = MATRIX[np.triu_indices(4, 1)]
    rated = ["first,second,dissimilarity"] + [
        f"{IDS[j]},{i},{MATRIX[i, j] + extra}"
        for i in range(4)
        for j in range(i + 1, 4)
        for extra in (-0.25, 0.25)
    ]
    for path in (
        saved(tmp_path / "a.npy", MATRIX),
        saved(tmp_path / "b.npy", pairs),
        written(tmp_path / "c.csv", *rated),
    ):
        (found,) = read_dissimilarities(path, IDS)
        np.testing.assert_allclose(found, MATRIX, rtol=1e-6)
    assert len(read_dissimilarities(saved(tmp_path / "d.npy", np.stack([pairs] * 3)), IDS)) == 3
    assert len(read_dissimilarities(saved(tmp_path / "e.npy", np.stack([MATRIX] * 2)), IDS)) == 2


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (MATRIX[:3, :3], "of 4 stimuli: 4 × 4, or 6 pairs"),
        (np.arange(5.0), "of 4 stimuli"),
        (np.array(3.0), "of 4 stimuli"),
        (1 - MATRIX, "of similarities take 1 − s first"),
        (MATRIX * np.array([1, 1, 1, 2])[:, None], "not symmetric"),
        (-MATRIX, "negative entries"),
        (np.where(MATRIX.max() == MATRIX, np.nan, MATRIX), "no number for stimuli"),
    ],
)
def test_what_is_no_dissimilarity_matrix_is_refused(tmp_path, array, message):
    with pytest.raises(FeatureError, match=message):
        read_dissimilarities(saved(tmp_path / "x.npy", array), IDS)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("first,second", "0,1"), "1 rows of first, second; expected rows with the columns first"),
        (("first,second,dissimilarity",), "0 rows of first, second, dissimilarity"),
        (("first,second,dissimilarity", "0,eel,1"), "row 1 of .* names 'eel'; expected a stimulus"),
    ],
)
def test_other_tables_are_no_ratings(tmp_path, lines, message):
    with pytest.raises(FeatureError, match=message):
        read_dissimilarities(written(tmp_path / "x.csv", *lines), IDS)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("first,second,dissimilarity", "0,1,2"), "no rating of 5 of 6 pairs, such as 'ape' and"),
        (("first,second,dissimilarity", "0,1,far"), "dissimilarity 'far'; expected a number"),
    ],
)
def test_ratings_must_be_numbers_of_every_pair(tmp_path, lines, message):
    with pytest.raises(FeatureError, match=message):
        read_dissimilarities(written(tmp_path / "x.csv", *lines), IDS)


def test_a_file_without_arrays_is_refused_however_it_is_read(tmp_path):
    path = str(tmp_path / "empty.npz")
    np.savez(path)
    for way in ({"repeats": "trials"}, {"dissimilarities": True}):
        with pytest.raises(FeatureError, match="holds no arrays; expected one per layer"):
            read_content(ImportRequest(path, "d", "n", "brain", **way), IDS)


def test_trials_are_averaged_and_subjects_stand_side_by_side(tmp_path):
    path = str(saved(tmp_path / "x.npy", REPEATS))
    trials = read_content(ImportRequest(path, "d", "n", "brain", repeats="trials"), IDS)
    np.testing.assert_allclose(trials.layers[0], REPEATS.mean(axis=0), rtol=1e-6)
    subjects = read_content(ImportRequest(path, "d", "n", "brain", repeats="subjects"), IDS)
    np.testing.assert_array_equal(subjects.layers[0], np.hstack(list(REPEATS)))
