"""What pages know of a dataset's factors."""

from __future__ import annotations

import pandas as pd

from pages._shared import facts


def test_values_of_factors_have_one_order_numbers_by_size_and_words_by_the_alphabet(monkeypatch):
    every = {"stimulus": "abcdefghijkl", "count": range(12, 0, -1), "scene": ["sea", "airport"] * 6}
    table = pd.DataFrame({name: list(values) for name, values in every.items()})
    table["one"] = "all alike"
    monkeypatch.setattr(facts, "stimuli", lambda _: table)
    counts = [str(number) for number in range(1, 13)]
    values = facts.factor_values.__wrapped__(None)
    assert values == {"count": counts, "scene": ["airport", "sea"], "one": ["all alike"]}
    monkeypatch.setattr(facts, "factor_values", lambda _: values)
    choices = facts.factor_choices.__wrapped__(None)
    assert list(choices) == [*(f"count={one}" for one in counts), "scene=airport", "scene=sea"]
    assert choices["count=10"] == ("count", "10")
