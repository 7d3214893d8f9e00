"""Tables that come with the project are those of the present code."""

from __future__ import annotations

import pandas as pd
import pytest

from core.theory.deep_linear.question import DeepLinear
from core.theory.shipped import SHIPPED, recall


@pytest.mark.parametrize("question", SHIPPED, ids=lambda each: getattr(each, "preset", "symmetry"))
def test_every_run_of_the_page_comes_with_the_project(question):
    tables = recall(question)
    assert "looks" in tables
    assert question.findings(tables)


def test_other_choices_do_not_come_with_the_project():
    assert recall(DeepLinear("minima", rows="layers")) == {}


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["sgd", "minima", "breakers"])
def test_shipped_tables_are_computed_again(preset):
    question = DeepLinear(preset)
    for name, table in question.simulate().items():
        pd.testing.assert_frame_equal(recall(question)[name], table, rtol=1e-4, atol=1e-6)
