"""Models against groups of others, in one number and layer by layer."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.errors import InputError, UnknownNameError
from core.questions.asking import answer, ask
from core.questions.controls import ControlRanks
from core.questions.models.pairs import ModelPairs, closest, closest_two
from core.questions.models.question import (
    ModelTable,
    Targets,
    groups_of,
    members_of,
    nearest_to,
    standings,
)
from core.store import Store
from core.study.comparing import layer_scores
from core.study.models import lines, usual
from core.study.parts import Comparison, Measure, Scope
from core.study.study import Study
from tests.pages.world import SMALL, PaintedDataset, build

RUNS = {"a": "a", "a-step": "a", "b": "b", "c": "c", "reality": "reality"}
MODELS = pd.DataFrame(
    {
        "model": list(RUNS),
        "modality": ["vision", "vision", "vision", "language", "world"],
        "group": ["MAE", "MAE", "untrained", "GPT-2", "reality"],
        "copy": [False, True, False, False, False],
        "run": list(RUNS.values()),
        "varies": "",
    }
)
PAIRS = pd.DataFrame(
    [
        ("a", "a-step", 0.9),
        ("a", "b", 0.5),
        ("a", "c", 0.3),
        ("a", "reality", np.nan),
        ("a-step", "c", 0.1),
        ("c", "b", 0.2),
        ("c", "reality", 0.4),
    ],
    columns=["model_x", "model_y", "score"],
)
ENDS = ["rank", "rank_low", "rank_high"]


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Study:
    store = build(tmp_path_factory.mktemp("store"), PaintedDataset(30), **SMALL)
    return Study(Store(store), "cave")


def test_groups_hold_trained_models_alone():
    assert groups_of(MODELS) == {
        "reality": ["reality"],
        "vision models": ["a"],
        "language models": ["c"],
    }
    assert groups_of(MODELS[MODELS["modality"] == "vision"]) == {"vision models": ["a"]}


def test_a_target_is_a_group_or_a_model():
    assert list(members_of((), MODELS)) == ["reality", "vision models", "language models"]
    assert members_of(("b", "vision models"), MODELS) == {"b": ["b"], "vision models": ["a"]}
    with pytest.raises(UnknownNameError, match="no target named 'd'"):
        members_of(("d",), MODELS)


def test_without_a_trained_model_targets_are_to_be_named():
    checkpoints = MODELS[MODELS["copy"]]
    with pytest.raises(InputError, match="none of these models finished a training"):
        members_of((), checkpoints)
    assert members_of(("a-step",), checkpoints) == {"a-step": ["a-step"]}
    assert standings(PAIRS, MODELS, {}).empty


def test_no_model_is_compared_with_itself_or_its_own_training():
    members = {"vision models": ["a", "b"], "language models": ["c"], "reality": ["reality"]}
    table = standings(PAIRS, MODELS, members).set_index(["model", "target"])
    assert table.loc[("a", "vision models"), ["score", "models"]].tolist() == [0.5, 1]
    assert table.loc[("c", "vision models"), ["score", "models"]].tolist() == [0.25, 2]
    assert ("a-step", "vision models") not in table.index
    assert ("a", "reality") not in table.index  # it has no score
    assert ("c", "language models") not in table.index


def test_the_nearest_models_are_the_most_aligned_ones():
    assert nearest_to(PAIRS, "c", high=True, count=2)["other"].tolist() == ["reality", "a"]
    assert nearest_to(PAIRS, "c", high=False, count=1)["other"].tolist() == ["a-step"]


def test_the_closest_model_is_of_another_setup_and_the_closest_pairs_come_first():
    near = closest(PAIRS, MODELS.assign(family=["A", "A", "B", "C", "D"]), high=True)
    assert near["other"].to_dict() == {"a": "c", "c": "a", "b": "a", "a-step": "c"}
    assert near["score"].tolist() == [0.5, 0.3, 0.3, 0.1]
    low = closest(PAIRS, MODELS.assign(family=["A", "A", "B", "C", "D"]), high=False)
    assert low["score"].tolist() == [0.1, 0.2, 0.3, 0.3]
    one = closest(PAIRS, MODELS.assign(family="A", group="MAE"), high=True)  # of another training
    assert one.loc["a"].tolist() == ["b", 0.5]


def test_the_table_names_the_closest_model_of_another_setup(study):
    answered = answer(ModelTable(), study)
    table, kinds = answered.table.set_index("model"), lines(study.models())
    pairs, whole = ask(ModelPairs(), study), set(usual(study.models())["model"]) - {"reality"}
    for name, row in table.iterrows():
        both = pairs[(pairs["model_x"] == name) | (pairs["model_y"] == name)]
        other = both["model_x"].where(both["model_x"] != name, both["model_y"])
        count = [one in whole and kinds[one] != kinds[name] for one in other]
        best = both.loc[count, "score"].max() if name != "reality" else np.nan
        assert row["closest_score"] == pytest.approx(best, nan_ok=True)
    assert answered.findings[0].value == table.loc[list(whole), "closest_score"].max()
    x, y = closest_two(Scope("cave"), study)
    assert table.loc[x, "closest"] == y


def test_the_table_has_the_mean_over_each_group(study):
    table = ask(ModelTable(), study).set_index("model")
    pairs = ask(ModelPairs(), study)
    name, models = "gpt-2-m", study.models().set_index("model")
    others = [one for one in table.index if models.loc[one, "modality"] == "vision"]
    both = pairs[(pairs["model_x"] == name) | (pairs["model_y"] == name)]
    scores = both[both["model_x"].isin(others) | both["model_y"].isin(others)]["score"]
    assert len(scores) == len(others)
    assert table.loc[name, "vision models"] == pytest.approx(scores.mean())
    assert table.columns[-3:].tolist() == ["reality", "vision models", "language models"]
    assert table.loc[name, "skill"] > 0


def test_its_findings_name_both_ends(study):
    question = ModelTable(comparison=Comparison(layers="last"))
    table = ask(question, study)
    best = table.loc[table["vision models"].idxmax(), "title"]
    worst = table.loc[table["vision models"].idxmin(), "title"]
    said = answer(question, study).findings[2]
    assert said.claim == f"{best} is most aligned with vision models"
    assert said.value == table["vision models"].max()
    assert worst in said.note
    distance = ModelTable(comparison=Comparison(metric="shape_angle"))
    aligned = ask(distance, study)
    least = aligned.loc[aligned["vision models"].idxmin(), "title"]
    assert answer(distance, study).findings[2].claim.startswith(least)


def test_a_profile_is_the_mean_of_the_best_layers_of_each_model(study):
    targets = Targets(("vision models",))
    question = ModelTable(comparison=Comparison(k=5), targets=targets, by="layer")
    table = ask(question, study)
    vision = groups_of(study.models())["vision models"]
    scores = layer_scores(study, ["gpt-2-s"], vision, Measure(k=5))
    expected = np.mean([values.max(axis=1) for values in scores.values()], axis=0)
    mine = table[table["model"] == "gpt-2-s"].sort_values("layer")
    np.testing.assert_allclose(mine["score"], expected)
    assert set(mine["models"]) == {len(vision)}


def test_ranks_are_those_of_the_columns_with_their_own_intervals(study):
    table = ask(ModelTable(Scope("cave")), study)
    for side, other in (("language", "vision models"), ("vision", "language models")):
        ranks = ask(ControlRanks(Scope("cave"), side), study).set_index("model")
        mine = table.set_index("model").loc[ranks.index]
        np.testing.assert_allclose(mine[other], ranks["score"])
        assert (mine[ENDS] == ranks[ENDS]).all(axis=None)
        assert (mine["tied"] == ranks["rank_high"] - ranks["rank_low"]).all()
    assert table.loc[table["modality"] == "world", "rank"].isna().all()


def test_other_comparisons_have_no_ranks(study):
    table = ask(ModelTable(Scope("cave"), comparison=Comparison(layers="last")), study)
    assert table["rank"].isna().all()
