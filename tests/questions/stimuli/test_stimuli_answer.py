"""A consensus laid out on a plane and its neighbors, against the consensus itself, written out
slowly.
"""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import MetricError, StimuliError
from core.questions.asking import ask
from core.questions.dispersion.question import ConsensusSpace, Spaces, StimulusDispersion
from core.questions.stimuli.question import StimulusList, StimulusMap, StimulusNeighbors
from core.store import Store
from core.study.parts import LayerPair
from core.study.spaces import describe_spaces
from core.study.study import Study
from tests.comparisons import layer_scores
from tests.pages.world import SMALL, PaintedDataset, build

SPACES = ("vit-mae-m:2", "vit-clip-s:2", "vit-clip-m:2")
JOINT = Spaces(SPACES)


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Study:
    return Study(
        Store(build(tmp_path_factory.mktemp("store"), PaintedDataset(20), **SMALL)), "cave"
    )


@pytest.fixture(scope="module")
def joint(study) -> np.ndarray:
    return ask(ConsensusSpace(joint=JOINT), study).filter(like="axis_").to_numpy()


def test_the_principal_plane_is_the_consensus_s_first_two_axes(study, joint):
    plane = ask(StimulusMap(joint=JOINT, map="pca"), study)
    assert np.abs(plane[["x", "y"]].to_numpy()) == pytest.approx(np.abs(joint[:, :2]), abs=1e-9)
    shares = joint.var(axis=0) / joint.var(axis=0).sum()
    assert (plane["share_x"].iloc[0], plane["share_y"].iloc[0]) == pytest.approx(shares[:2])


def test_a_layout_by_umap_is_made_once_for_a_seed(study, joint, monkeypatch):
    seeds = []

    def fake(space, *, seed):
        seeds.append(seed)
        return space[:, :2] + seed

    monkeypatch.setattr("core.questions.stimuli.question.neighbor_plane", fake)
    first, again, other = (
        ask(StimulusMap(joint=JOINT, map="umap", seed=seed), study) for seed in (0, 0, 1)
    )
    assert seeds == [0, 1]
    assert first.equals(again)
    assert other["x"].to_numpy() == pytest.approx(joint[:, 0] + 1)
    assert first["share_x"].isna().all()


def test_umap_lays_out_the_sample_alone_and_each_seed_draws_another(study, joint, monkeypatch):
    monkeypatch.setattr(
        "core.questions.stimuli.question.neighbor_plane", lambda space, *, seed: space[:, :2] + seed
    )
    drawn = set()
    for seed in range(3):
        some = ask(StimulusMap(joint=JOINT, map="umap", drawn=6, seed=seed), study)
        assert some["x"].to_numpy() == pytest.approx(joint[some["index"], 0] + seed)
        drawn.add(tuple(some["index"]))
    assert len(drawn) == 3


def test_one_stimulus_is_ranked_among_all_in_each_space(study):
    question = StimulusDispersion(joint=JOINT)
    table = ask(question, study)
    about = describe_spaces(SPACES, study.models())
    rows = question.plot_one(table, 5, about).table.set_index("space")
    for space in SPACES:
        values, row = table[space].to_numpy(), rows.loc[space]
        assert (row["residual"], row["n"]) == (values[5], 20)
        assert row["rank"] == 1 + (values < values[5]).sum()
        assert (row["lower"], row["upper"]) == pytest.approx(np.quantile(values, (0.25, 0.75)))


def test_a_stimulus_that_is_not_studied_is_refused(study):
    with pytest.raises(StimuliError, match="got 20: see platoscope stimuli list"):
        ask(StimulusNeighbors(stimulus=20, k=3), study)


def test_the_map_has_a_color_for_each_value_and_grays_what_is_left_out(study):
    question = StimulusMap(joint=JOINT, map="pca")
    table = ask(question, study)
    factor = study.store.stimuli("cave")["scene"].where(table["index"] != 3)
    points = table.assign(value=factor, passed=table["index"] != 4)
    figure = question.plot_by(points, "scene", mode="light").draw("light")
    drawn = {t.legendgroup: len(t.x) for t in figure.data if t.customdata is not None}
    counts = factor[points["passed"]].value_counts()
    assert {name: drawn[name] for name in counts.index} == counts.to_dict()
    assert drawn["none"] == 1
    left_out = [t for t in figure.data if t.customdata is None and t.x[0] is not None]
    assert [len(t.x) for t in left_out] == [1]


def test_shared_neighbors_are_counted_and_their_mean_is_mutual_knn(study):
    table = ask(StimulusNeighbors(pair=LayerPair("vit-mae-m", 2, "gpt-2-s", 3), k=5), study)
    near_x, near_y = study.neighbors("vit-mae-m", k=5)[2], study.neighbors("gpt-2-s", k=5)[3]
    expected = [len({*a[:5]} & {*b[:5]}) for a, b in zip(near_x, near_y, strict=True)]
    assert table["shared"].tolist() == expected
    score = layer_scores(study, ["vit-mae-m"], ["gpt-2-s"], k=5)["vit-mae-m", "gpt-2-s"][2, 3]
    assert table["shared"].mean() / 5 == pytest.approx(score)


def test_the_nearest_of_one_stimulus_have_their_cosines_and_say_what_both_layers_share(study):
    pair = LayerPair("vit-mae-m", 2, "gpt-2-s", 3)
    table = ask(StimulusNeighbors(pair=pair, stimulus=4, k=6), study)
    lists = []
    for model, layer in pair.places:
        rows = table[table["model"] == model]
        assert rows["layer"].unique().tolist() == [layer]
        assert rows["rank"].tolist() == [1, 2, 3, 4, 5, 6]
        space = study.spaces(model)[layer].astype(np.float64)
        cosines = space @ space[4] / np.linalg.norm(space, axis=1) / np.linalg.norm(space[4])
        assert rows["similarity"].to_numpy() == pytest.approx(cosines[rows["index"]], abs=1e-6)
        cosines[4] = -np.inf
        assert rows["index"].tolist() == np.argsort(-cosines, kind="stable")[:6].tolist()
        lists.append(set(rows["index"]))
    assert table["shared"].tolist() == [one in lists[0] & lists[1] for one in table["index"]]


@pytest.mark.parametrize("k", [0, 20])
def test_a_k_that_cannot_be_is_refused_before_anything_is_read(study, k):
    with pytest.raises(MetricError, match="k must lie in 1 … 19"):
        ask(StimulusNeighbors(k=k), study)


def test_stimuli_are_listed_with_all_their_captions(study):
    forest = Study(study.store, "cave", where={"scene": "forest"})
    table = ask(StimulusList(), forest)
    assert table["index"].tolist() == list(range(1, 20, 3))
    assert table["stimulus"].tolist() == [f"event {i}" for i in range(1, 20, 3)]
    captions = study.store.captions("cave").set_index(["index", "level"])["text"]
    for level in study.dataset.levels:
        assert table[f"caption {level}"].tolist() == [captions[i, level] for i in table["index"]]


def test_the_color_bar_of_disagreement_says_what_its_ends_mean(study):
    question = StimulusMap(joint=JOINT, map="pca")
    table = ask(question, study)
    figures = (
        question.plot(table).draw("light"),
        question.plot_by(table.assign(value=table["mean"]), "size", mode="light").draw("light"),
    )
    own, other = (figure.layout.coloraxis.colorbar for figure in figures)
    assert own.title.text == "disagreement of<br>models"
    assert list(own.ticktext) == ["agree", "disagree"]
    assert table["mean"].min() < own.tickvals[0] < own.tickvals[1] < table["mean"].max()
    assert other.ticktext is None
