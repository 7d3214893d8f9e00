"""Trees of models, against average linkage done by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import pdist, squareform

from core.errors import InputError
from core.questions.models.pairs import Distances, cluster


def found(matrix: np.ndarray, names: list[str] | None = None) -> Distances:
    return Distances(
        names or [f"m{i:02d}" for i in range(len(matrix))],
        matrix,
        np.nan,
        np.zeros(matrix.shape, bool),
        {},
    )


def slow_heights(matrix: np.ndarray) -> list[float]:
    """Merge the two groups whose members are nearest on average, and note at which distance, until
    one is left.
    """
    groups, heights = [[i] for i in range(len(matrix))], []
    while len(groups) > 1:
        apart = {
            (a, b): matrix[np.ix_(groups[a], groups[b])].mean()
            for a in range(len(groups))
            for b in range(a)
        }
        a, b = min(apart, key=apart.__getitem__)
        heights.append(apart[a, b])
        groups = [group for i, group in enumerate(groups) if i not in (a, b)] + [
            groups[a] + groups[b]
        ]
    return heights


@pytest.mark.parametrize("seed", range(3))
def test_heights_are_those_of_average_linkage(seed):
    matrix = squareform(pdist(np.random.default_rng(seed).normal(size=(12, 3))))
    branches = cluster(found(matrix)).branches
    assert sorted(branches.groupby("branch")["y"].max()) == pytest.approx(slow_heights(matrix))


def test_a_hand_made_tree():
    far = np.array([[0, 1, 8, 8], [1, 0, 8, 8], [8, 8, 0, 2], [8, 8, 2, 0.0]])
    tree = cluster(found(far, ["a", "b", "c", "d"]))
    assert [set(tree.order[:2]), set(tree.order[2:])] in (
        [{"a", "b"}, {"c", "d"}],
        [{"c", "d"}, {"a", "b"}],
    )
    assert tree.branches["y"].max() == 8
    assert set(tree.branches.loc[tree.branches["y"] == 0, "x"]) == {0, 1, 2, 3}
    assert tree.cophenetic == pytest.approx(1)


def test_the_order_does_not_depend_on_how_models_are_given_and_keeps_groups_together():
    groups = np.repeat([0, 1, 2], 50)
    rng = np.random.default_rng(0)
    matrix = squareform(
        pdist(rng.normal(size=(3, 5))[groups] * 3 + rng.normal(size=(150, 5)) * 0.2)
    )
    tree = cluster(found(matrix, [f"{i:03d}" for i in range(150)]))
    assert (np.diff(groups[[int(name) for name in tree.order]]) != 0).sum() == 2
    pd.testing.assert_frame_equal(
        tree.branches, cluster(found(matrix, [f"{i:03d}" for i in range(150)])).branches
    )


def test_a_tree_of_one_model_is_refused_and_of_two_has_no_correlation():
    with pytest.raises(InputError, match="a tree joins at least 2 models, and there are 1"):
        cluster(found(np.zeros((1, 1))))
    assert np.isnan(cluster(found(np.array([[0, 1], [1, 0.0]]))).cophenetic)
