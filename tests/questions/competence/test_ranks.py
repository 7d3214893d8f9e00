"""Ranks of competence, by which dots are colored."""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.study.models import rank_within, skill_ranks


def models() -> pd.DataFrame:
    rows = [
        ("mae", "MAE <m>", "vision", "MAE", 1e5),
        ("clip", "CLIP m", "vision", "CLIP", 1e6),
        ("gpt", "GPT", "language", "GPT-2", 1e5),
        ("bloom", "BLOOM", "language", "BLOOM", np.nan),
    ]
    return pd.DataFrame(rows, columns=["model", "title", "modality", "group", "parameters"])


def test_ranks_are_within_a_modality_from_the_least_to_the_most_competent():
    competence = pd.DataFrame({"model": ["gpt", "bloom"], "value": [0.3, 0.2]})
    solved = pd.DataFrame({"model": ["mae", "clip"], "solved": [0.9, np.nan], "basis": "shares"})
    ranks = skill_ranks(models(), competence, solved)
    assert ranks[["gpt", "bloom"]].tolist() == [1.0, 0.0]
    assert ranks[["mae", "clip"]].isna().all()  # the only one that was measured has no rank


def test_equal_values_share_a_rank():
    ranks = rank_within(pd.Series([1.0, 1.0, 3.0]), pd.Series(["a"] * 3))
    assert ranks.tolist() == [0.25, 0.25, 1.0]
