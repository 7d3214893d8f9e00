"""What is measured of brains and people: every form of file, refusals in words, and judgments that
give back the space that made them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.spatial.distance import pdist, squareform

from core.encoders.measured import ordinal
from core.encoders.measured.content import read_content
from core.encoders.measured.dissimilarities import read_dissimilarities
from core.encoders.measured.judgments import read_triplets
from core.encoders.measured.ordinal import fit_judgments, foretold, split_triplets
from core.encoders.measured.repeats import read_repeats
from core.encoders.requests import ImportRequest
from core.errors import FeatureError, InputError
from core.metrics import METRICS
from core.spaces.preprocess import normalize_rows

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


@pytest.mark.parametrize("end", ["pkl", "h5", "nwb"])
def test_pickles_and_hdf5_are_refused_with_another_way(tmp_path, end):
    with pytest.raises(FeatureError, match=r"expected plain arrays: of rsatoolbox's data numpy"):
        read_repeats(written(tmp_path / f"x.{end}", "data"))


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


def test_judgments_put_the_most_alike_pair_first(tmp_path):
    odd = written(tmp_path / "a.csv", "odd,first,second", "dog, ape ,1", "0,2,3")
    assert read_triplets(odd, IDS).tolist() == [
        [[0, 1], [0, 3], [1, 3]],
        [[2, 3], [2, 0], [3, 0]],
    ]
    near = written(tmp_path / "b.csv", "anchor,near,far", "bee,cat,0")
    assert read_triplets(near, IDS).tolist() == [[[1, 2], [1, 0]]]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("first,second", "0,1"), "1 rows of first, second; expected rows with the columns first"),
        (("first,second,odd",), "0 rows of first, second, odd"),
        (("first,second,odd", "0,1,eel"), "row 1 of .* names 'eel'; expected a stimulus"),
        (("anchor,near,far", "0,1,2", "3,1,3"), "row 2 of .* names a stimulus twice"),
    ],
)
def test_other_tables_are_no_judgments(tmp_path, lines, message):
    with pytest.raises(FeatureError, match=message):
        read_triplets(written(tmp_path / "x.csv", *lines), IDS)


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


def test_a_file_is_read_in_one_way():
    both = ImportRequest("x.npy", "d", "n", "brain", repeats="trials", dissimilarities=True)
    with pytest.raises(InputError, match="got --dissimilarities and --repeats: leave one out"):
        read_content(both, IDS)
    with pytest.raises(InputError, match="give it with --triplets alone"):
        read_content(ImportRequest("x.npy", "d", "n", "brain", seed=1), IDS)


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


PLANTED = np.random.default_rng(0).gamma(1.0, 1.6, size=(20, 3))


def judged(count: int, *, pairs: int, seed: int = 0) -> np.ndarray:
    """Return judgments drawn from the planted space by the model's own probabilities."""
    rng = np.random.default_rng(seed)
    triplets = np.array([rng.choice(len(PLANTED), 3, replace=False) for _ in range(count)])
    sides = [[0, 1], [0, 2], [1, 2]][:pairs]
    asked = np.stack([triplets[:, side] for side in sides], axis=1)
    similar = np.einsum("mpd,mpd->mp", PLANTED[asked[..., 0]], PLANTED[asked[..., 1]])
    chosen = (similar + rng.gumbel(size=similar.shape)).argmax(axis=1)
    order = np.argsort(np.arange(pairs) != chosen[:, None], axis=1, kind="stable")
    return np.take_along_axis(asked, order[..., None], axis=1)


def test_judgments_of_a_planted_space_recover_it_the_better_the_more_there_are():
    spaces = [
        fit_judgments(judged(count, pairs=3), stimuli=20, seed=0) for count in (120, 500, 2000)
    ]
    truth = normalize_rows(PLANTED)
    near = [METRICS["rsa"](truth, normalize_rows(one.space)) for one in spaces]
    assert near == sorted(near)
    assert near[-1] > 0.95
    best = spaces[-1]
    assert (best.chance, best.space.min() > 0) == (1 / 3, True)
    assert best.accuracy > 0.75
    assert best.held_out == pytest.approx(200, abs=50)
    assert best.accuracy == pytest.approx(
        foretold(best.space, judged(1500, pairs=3, seed=1)), abs=0.05
    )


def test_an_anchors_judgments_have_a_chance_of_one_half():
    found = fit_judgments(judged(1000, pairs=2), stimuli=20, seed=0)
    assert found.chance == 0.5
    assert found.accuracy > 0.7


def test_random_judgments_foretell_no_more_than_chance():
    asked = judged(1500, pairs=3)
    rng = np.random.default_rng(2)
    shuffled = np.take_along_axis(
        asked, rng.permuted(np.tile(np.arange(3), (1500, 1)), axis=1)[..., None], 1
    )
    found = fit_judgments(shuffled, stimuli=20, seed=0)
    assert found.accuracy == pytest.approx(1 / 3, abs=4 * np.sqrt(2 / 9 / found.held_out))


def test_the_slope_of_the_posterior_is_that_of_its_value():
    asked, flat = judged(120, pairs=3), np.random.default_rng(3).uniform(0.3, 1, 40)

    def part(which: int):
        return lambda x: np.ravel(ordinal._loss(x.reshape(20, 2), asked)[which])

    assert check_grad(lambda x: part(0)(x)[0], part(1), flat) < 1e-3


def test_all_judgments_of_one_triplet_are_on_one_side():
    asked = judged(300, pairs=3)
    twice = np.concatenate([asked, asked[:, ::-1]])
    for side in split_triplets(twice, seed=4):
        np.testing.assert_array_equal(side[:300], side[300:])
    assert sum(side.sum() for side in split_triplets(twice, seed=4)) == 600


def test_too_few_judgments_and_stimuli_in_none_are_refused():
    with pytest.raises(FeatureError, match=r"expected at least 100 judgments, .* got 99"):
        fit_judgments(judged(99, pairs=3), stimuli=20, seed=0)
    with pytest.raises(
        FeatureError, match="1 of 21 stimuli are in no judgment, such as stimulus 20"
    ):
        fit_judgments(judged(300, pairs=3), stimuli=21, seed=0)
