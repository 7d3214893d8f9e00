"""A consensus laid out on a plane and its neighbors, against the consensus itself, written out
slowly.
"""

from __future__ import annotations

import numpy as np
import pytest

from core.questions.stimuli.answer import lay_out, near_in_consensus
from core.store import Store
from core.study.consensus import consensus
from core.study.study import Study
from tests.pages.world import SMALL, PaintedDataset, build

SPACES = ("vit-mae-m:2", "vit-clip-s:2", "vit-clip-m:2")


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Study:
    return Study(
        Store(build(tmp_path_factory.mktemp("store"), PaintedDataset(20), **SMALL)), "cave"
    )


@pytest.fixture(scope="module")
def joint(study) -> np.ndarray:
    return consensus(study, SPACES).drop(columns="index").to_numpy()


def test_the_principal_plane_is_the_consensus_s_first_two_axes(study, joint):
    plane = lay_out(study, SPACES, by="pca")
    assert np.abs(plane[["x", "y"]].to_numpy()) == pytest.approx(np.abs(joint[:, :2]), abs=1e-9)
    shares = joint.var(axis=0) / joint.var(axis=0).sum()
    assert (plane["share_x"].iloc[0], plane["share_y"].iloc[0]) == pytest.approx(shares[:2])


def test_neighbors_have_the_largest_cosines(study, joint):
    near = near_in_consensus(study, SPACES, k=4)
    assert list(near) == ["rank_1", "rank_2", "rank_3", "rank_4"]
    lengths = np.linalg.norm(joint, axis=1)
    for index in range(len(joint)):
        cosines = joint @ joint[index] / lengths / lengths[index]
        assert (
            near.iloc[index].tolist()
            == [other for other in np.argsort(-cosines) if other != index][:4]
        )


def test_a_layout_by_umap_is_made_once_for_a_seed(study, joint, monkeypatch):
    seeds = []

    def fake(space, *, seed):
        seeds.append(seed)
        return space[:, :2] + seed

    monkeypatch.setattr("core.questions.stimuli.answer.neighbor_plane", fake)
    first, again, other = (lay_out(study, SPACES, by="umap", seed=seed) for seed in (0, 0, 1))
    assert seeds == [0, 1]
    assert first.equals(again)
    assert other["x"].to_numpy() == pytest.approx(joint[:, 0] + 1)
    assert first["share_x"].isna().all()
