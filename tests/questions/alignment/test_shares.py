"""How far alignments have come from chance to the ceiling, in a store whose recipes have seeds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from core.metrics import METRICS
from core.questions.alignment.calibration import BELOW, UNKNOWN, shares
from core.questions.alignment.question import Alignment
from core.questions.asking import ask
from core.store import Store
from core.study.comparing import align_models
from core.study.parts import Comparison, Scope
from tests.pages.world import SMALL, PaintedDataset, build

KNN, ANGLE = METRICS["mutual_knn"].spec, METRICS["shape_angle"].spec


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("seeds"), PaintedDataset(30), **SMALL, seeds=2)


def test_the_share_is_0_at_chance_and_1_at_the_ceiling():
    rows = [(0.1, 0.1, 0.5), (0.5, 0.1, 0.5), (0.3, 0.1, 0.5), (0.3, np.nan, 0.5), (0.3, 0.1, 0.05)]
    table = pd.DataFrame(rows, columns=["score", "chance", "ceiling"]).assign(reason="")
    table.loc[len(table)] = [0.3, 0.1, np.nan, ""]
    shared = shares(table, KNN)
    assert shared["share"].tolist() == pytest.approx(
        [0, 1, 0.5, np.nan, np.nan, np.nan], nan_ok=True
    )
    assert shared["reason"].tolist() == ["", "", "", "", BELOW, UNKNOWN]
    far = table[:1].assign(score=0.8, chance=1.0, ceiling=0.6)  # a distance falls as models agree
    assert shares(far, ANGLE)["share"].item() == pytest.approx(0.5)


def test_the_ceiling_across_modalities_is_the_geometric_mean_of_pairs_of_seeds(root):
    study = Scope().open(Store(root))
    table = ask(Alignment(), study)

    def mean_of_seeds(names: list[str]) -> float:
        return np.mean(
            [align_models(study, [name], [f"{name}-seed1"])["score"].item() for name in names]
        )

    vision = mean_of_seeds(["vit-mae-m", "vit-clip-s", "vit-clip-m"])
    language = mean_of_seeds(["gpt-2-xs", "gpt-2-s", "gpt-2-m"])
    of_models = table["model_y"] != "reality"
    assert table.loc[of_models, "ceiling"].to_numpy() == pytest.approx((vision * language) ** 0.5)
    assert (table.loc[~of_models, "reason"] == UNKNOWN).all()
    assert "ceiling" not in ask(Alignment(comparison=Comparison(layers="1:2")), study)
    same = ask(Alignment(x=("gpt-2-s",), y=("gpt-2-m",)), study)
    assert same["ceiling"].item() == pytest.approx(language)
