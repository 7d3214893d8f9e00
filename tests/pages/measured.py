"""Stores of `tests.pages.world` whose vision models took four exams: the better one, the more it
solves.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from core.competence.records import ACCURACY, as_table, result_name, row, suite_recipe
from core.store import Store, write_result

SKILLS = {"s": 0.5, "m": 0.9}


def measure(root: Path, dataset: str = "cave") -> Path:
    """Keep the values of four tasks for every vision model: larger ones and CLIP do better."""
    store = Store(root)
    for place, entry in enumerate(
        entry for entry in store.models(dataset) if entry.card.modality == "vision"
    ):
        skill = SKILLS[entry.card.name.rpartition("-")[2]] + 0.02 * place
        rows = [
            row(
                f"task {number}",
                "natural",
                unit=ACCURACY,
                split="test",
                n=100,
                value=value,
                low=value - 0.1,
                high=value + 0.1,
                chance=0.1,
            )
            for number, value in enumerate(
                np.clip(skill - np.array([0.0, 0.1, 0.2, 0.3]), 0.1, 1.0)
            )
        ]
        recipe = suite_recipe(entry)
        table = as_table(rows, model=entry.card.name, recipe=recipe)
        write_result(
            root,
            dataset=store.dataset(dataset),
            name=result_name(entry.card.name),
            table=table,
            recipe=recipe,
        )
    return root
