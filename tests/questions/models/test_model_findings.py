"""Sentences about maps and trees of models."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.questions.models.findings import tell_neighbors, tell_quality, tell_tree


def mapped(**changed: object) -> pd.DataFrame:
    rows = [("a", "b", ""), ("b", "a", ""), ("c", "a", ""), ("d", "c", ""), ("e", "", "constant")]
    table = pd.DataFrame(rows, columns=["model", "nearest_1", "reason"])
    return table.assign(
        **{
            "stress": 0.05,
            "trustworthiness": 0.95,
            "neighbors": 5,
            "floor": np.nan,
            "floored": 0,
            **changed,
        }
    )


def models() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "model": list("abcde"),
            "modality": ["vision", "vision", "language", "language", "vision"],
            "group": ["MAE", "CLIP", "GPT-2", "GPT-2", "MAE"],
            "run": list("abcde"),
        }
    )


@pytest.mark.parametrize(
    ("value", "said"), [(0.1, "can be read off"), (0.15, "are rough"), (0.3, "mean little")]
)
def test_stress_says_what_distances_are_worth(value, said):
    assert (
        f"Stress {value:.2f}** (0: every distance in proportion): distances {said}"
        in tell_quality(mapped(stress=value))
    )


def test_trust_says_what_neighborhoods_are_worth():
    assert "the 5 nearest marks mostly are the nearest models" in tell_quality(mapped())
    assert "the nearest mark often is not" in tell_quality(mapped(trustworthiness=0.6, neighbors=1))
    assert "no neighborhoods to trust" in tell_quality(mapped(trustworthiness=np.nan, neighbors=0))
    assert "no neighborhoods to trust" in tell_quality(
        mapped(trustworthiness=np.nan, neighbors=np.nan)
    )
    assert "All marks fall together" in tell_quality(mapped(stress=np.nan))


def test_the_floor_is_stated_with_the_pairs_that_it_holds():
    assert "no floor was needed" in tell_quality(mapped())
    told = tell_quality(mapped(floor=0.0012, floored=[1, 1, 2, 2, 0]))
    assert "3 pairs have no alignment above 0" in told
    assert "the floor 0.0012" in told
    assert "1 pair has no alignment above 0" in tell_quality(
        mapped(floor=0.0012, floored=[1, 1, 0, 0, 0])
    )


def test_the_nearest_models_are_counted_by_kind_beside_chance():
    # of a, b, c, d: three lie beside one of their modality, one beside one of its group; a random
    # other one: 4 of 12, and 2 of 12
    told = tell_neighbors(mapped(), models())
    assert "the same modality for 75% (by chance 33%)" in told
    assert "for 25% (by chance 17%)" in told
    assert "of the same training for 0% (by chance 0%), over 4 models" in told


@pytest.mark.parametrize("models_placed", [0, 1])
def test_fewer_than_two_placed_models_have_no_nearest(models_placed):
    rows = mapped()
    rows = rows.assign(
        reason=["" if place < models_placed else "constant" for place in range(len(rows))]
    )
    assert (
        tell_neighbors(rows, models())
        == "Fewer than two models are placed, so that none has a nearest one."
    )


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.9, "fits well"),
        (0.5, "no clean tree"),
        (-0.2, "does not fit: models form no tree"),
        (np.nan, "nothing tells"),
    ],
)
def test_a_tree_says_how_well_it_fits(value, said):
    assert said in tell_tree(value)
