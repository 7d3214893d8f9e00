"""Findings about maps of models."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.questions.finding import Finding
from core.questions.models.question import map_findings


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


def models() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "model": list("abcde"),
            "modality": ["vision", "vision", "language", "language", "vision"],
            "group": ["MAE", "CLIP", "GPT-2", "GPT-2", "MAE"],
            "run": list("abcde"),
        }
    )


def found(**changed: object) -> dict[str, Finding]:
    return {one.claim: one for one in map_findings(mapped(**changed))}


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.1, "can be read"), (0.15, "rough"), (0.3, "not distances"), (np.nan, "coincide")],
)
def test_stress_and_trust_say_what_the_map_is_worth(value, said):
    stress = found(stress=value)["Stress of the map"]
    assert stress.value == pytest.approx(value, nan_ok=True)
    assert said in stress.reason
    assert "0.95" in stress.note
    assert found(trustworthiness=np.nan)["Stress of the map"].note == ""


def test_the_floor_is_stated_with_the_pairs_that_it_holds():
    *_, stress = map_findings(mapped(floor=0.0012, floored=[1, 1, 2, 2, 0]))
    assert "3 pairs without alignment above 0 are drawn at 0.0012" in stress.note


def test_the_nearest_models_are_counted_by_kind_beside_chance():
    # of a, b, c, d: three lie next to one of their modality, one next to one of its group; a random
    # other one: 4 of 12, and 2 of 12
    modality, group, _ = map_findings(mapped())
    assert [one.value for one in (modality, group)] == [0.75, 0.25]
    assert [one.chance for one in (modality, group)] == pytest.approx([4 / 12, 2 / 12])
    assert "75% of models" in modality.sentence
    assert modality.statistics == "chance 33%, n = 4"


@pytest.mark.parametrize("models_placed", [0, 1])
def test_fewer_than_two_placed_models_have_no_nearest(models_placed):
    rows = mapped()
    reasons = ["" if place < models_placed else "constant" for place in range(len(rows))]
    assert len(map_findings(rows.assign(reason=reasons))) == 1
