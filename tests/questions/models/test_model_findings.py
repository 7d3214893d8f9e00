"""Sentences about maps and trees of models."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.questions.models.findings import nearest_kinds, quality, tree_fit


def mapped(**changed: object) -> pd.DataFrame:
    rows = [("a", "b", ""), ("b", "a", ""), ("c", "a", ""), ("d", "c", ""), ("e", "", "constant")]
    table = pd.DataFrame(rows, columns=["model", "nearest_1", "reason"])
    return table.merge(models(), on="model").assign(
        **{
            "stress": 0.05,
            "trustworthiness": 0.95,
            "neighbors": 5,
            "floor": np.nan,
            "floored": 0,
            **changed,
        }
    )


def said_of(**changed: object) -> str:
    return " ".join(quality(mapped(**changed)))


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
    ("value", "said"),
    [
        (0.1, "you can read distances off"),
        (0.15, "distances are rough"),
        (0.3, "distances mean little"),
    ],
)
def test_stress_says_what_distances_are_worth(value, said):
    assert f"Stress {value:.2f} (0: every distance in proportion): {said}" in " ".join(
        quality(mapped(stress=value))
    )


def test_trust_says_what_neighborhoods_are_worth():
    assert "the 5 nearest marks are usually the nearest models" in said_of()
    assert "the nearest mark is often not the nearest model" in " ".join(
        quality(mapped(trustworthiness=0.6, neighbors=1))
    )
    assert "no neighborhoods to trust" in " ".join(
        quality(mapped(trustworthiness=np.nan, neighbors=0))
    )
    assert "no neighborhoods to trust" in " ".join(
        quality(mapped(trustworthiness=np.nan, neighbors=np.nan))
    )
    assert "All marks coincide" in said_of(stress=np.nan)


def test_the_floor_is_stated_with_the_pairs_that_it_holds():
    assert "no floor was needed" in said_of()
    sentences = said_of(floor=0.0012, floored=[1, 1, 2, 2, 0])
    assert "3 pairs have no alignment above 0" in sentences
    assert "the floor 0.0012" in sentences
    assert "1 pair has no alignment above 0" in " ".join(
        quality(mapped(floor=0.0012, floored=[1, 1, 0, 0, 0]))
    )


def test_the_nearest_models_are_counted_by_kind_beside_chance():
    # of a, b, c, d: three lie beside one of their modality, one beside one of its group; a random
    # other one: 4 of 12, and 2 of 12
    sentences = nearest_kinds(mapped())
    assert "the same modality for 75 % (by chance 33 %)" in sentences
    assert "for 25 % (by chance 17 %)" in sentences
    assert "of the same training for 0 % (by chance 0 %), over 4 models" in sentences


@pytest.mark.parametrize("models_placed", [0, 1])
def test_fewer_than_two_placed_models_have_no_nearest(models_placed):
    rows = mapped()
    rows = rows.assign(
        reason=["" if place < models_placed else "constant" for place in range(len(rows))]
    )
    assert (
        nearest_kinds(rows) == "Fewer than two models are on the map, so none has a nearest model."
    )


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.9, "fits well"),
        (0.5, "no clean tree"),
        (-0.2, "does not fit: models form no tree"),
        (np.nan, "cannot be judged"),
    ],
)
def test_a_tree_says_how_well_it_fits(value, said):
    assert said in tree_fit(value)
