"""Which tasks count as solved, worked out by hand."""

from __future__ import annotations

import pandas as pd
import pytest

from core.errors import MetricError
from core.questions.competence.scores import tasks_solved

COLUMNS = ["model", "task", "value", "low", "chance"]
ROWS = pd.DataFrame(
    [
        ("best", "scene", 1.0, 0.99, 0.2),
        ("best", "kind", 0.5, 0.47, 0.1),
        ("best", "facing", 0.55, 0.52, 0.5),
        ("fair", "scene", 0.8, 0.77, 0.2),  # exactly 80 %
        ("fair", "kind", 0.39, 0.36, 0.1),  # 78 %
        ("fair", "facing", 0.51, 0.48, 0.5),  # 93 %, but not above chance
        ("partly", "scene", 0.9, 0.88, 0.2),
        ("partly", "kind", float("nan"), float("nan"), float("nan")),
        ("partly", "facing", 0.54, 0.51, 0.5),
    ],
    columns=COLUMNS,
)


def test_a_task_is_solved_at_the_threshold_and_above_chance():
    table = tasks_solved(ROWS).set_index("model")
    assert table["solved"][["best", "fair"]].tolist() == [1.0, pytest.approx(1 / 3)]
    assert table["tasks"].tolist() == [3, 3, 3]


def test_a_model_without_all_tasks_has_no_share_and_a_reason():
    table = tasks_solved(ROWS).set_index("model")
    assert pd.isna(table["solved"]["partly"])
    assert table["reason"].tolist() == ["", "", "1 of 3 tasks were not measured"]


def test_the_threshold_is_the_caller_s():
    assert tasks_solved(ROWS, threshold=0.75)["solved"][1] == pytest.approx(2 / 3)
    with pytest.raises(MetricError, match=r"share of the best score in \(0, 1\], not 80.0"):
        tasks_solved(ROWS, threshold=80.0)
