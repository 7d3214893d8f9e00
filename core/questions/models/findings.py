"""What a map of models says, in a sentence each: how far it can be believed, and who lies beside
whom.
"""

from __future__ import annotations

import pandas as pd

FAIR_STRESS, POOR_STRESS = 0.1, 0.2  # Kruskal 1964: 10 % is fair, 20 % poor
TRUSTED = 0.9
CLEAN_TREE, ROUGH_TREE = 0.8, 0.5


def tell_quality(table: pd.DataFrame) -> str:
    """Say how far a map can be believed, and what was done with pairs that have no logarithm;
    table: from `map_models`.
    """
    row = table.iloc[0]
    return " ".join(
        (
            _stress(row["stress"]),
            _trust(row["trustworthiness"], float(row["neighbors"])),
            _floor(table),
        )
    )


def _stress(value: float) -> str:
    if pd.isna(value):
        return "All marks fall together, so there is no stress."
    if value <= FAIR_STRESS:
        meaning = "distances can be read off"
    else:
        meaning = "distances are rough" if value <= POOR_STRESS else "distances mean little"
    return f"**Stress {value:.2f}** (0: every distance in proportion): {meaning}."


def _trust(value: float, neighbors: float) -> str:
    if pd.isna(value) or pd.isna(neighbors):
        return "With so few models there are no neighborhoods to trust."
    one, sure = neighbors == 1, value >= TRUSTED
    who = "the nearest mark" if one else f"the {neighbors:.0f} nearest marks"
    are, models = ("is", "the nearest model") if one else ("are", "the nearest models")
    meaning = f"mostly {are} {models}" if sure else f"often {are} not {models}"
    return f"**Trustworthiness {value:.2f}** (1: all, 0.5: by chance): {who} {meaning}."


def _floor(table: pd.DataFrame) -> str:
    floor = table["floor"].iloc[0]
    if pd.isna(floor):
        return "Every pair has a distance, so no floor was needed."
    pairs = int(table["floored"].sum()) // 2
    these = (
        f"{pairs} {'pair has' if pairs == 1 else 'pairs have'} no alignment above 0, whose"
        " logarithm is not finite"
    )
    return f"{these}: drawn as if it were the least one above 0, the floor {floor:.2g}."


def tell_neighbors(table: pd.DataFrame, models: pd.DataFrame) -> str:
    """Say how often the nearest model is of the same modality, objective or family, and training,
    beside what chance gives.

    table: from `map_models`. models: as `core.study.models.describe` gives them. The nearest is
    told by alignment, not by the drawing. Chance: another model taken at random.
    """
    about, placed = (
        models.set_index("model"),
        table[(table["reason"] == "") & (table["nearest_1"] != "")],
    )
    if len(placed) < 2:
        return "Fewer than two models are placed, so that none has a nearest one."
    names = (
        ("modality", "modality"),
        ("group", "objective (language: family)"),
        ("run", "training"),
    )
    parts = [
        f"{name} for {_share(placed, about[column]):.0%} (by chance"
        f" {_expected(placed, about[column]):.0%})"
        for column, name in names
    ]
    return (
        f"A model's nearest model is of the same {', of the same '.join(parts)}, over {len(placed)}"
        " models."
    )


def _share(placed: pd.DataFrame, kind: pd.Series) -> float:
    return float((placed["model"].map(kind) == placed["nearest_1"].map(kind)).mean())


def _expected(placed: pd.DataFrame, kind: pd.Series) -> float:
    counts = placed["model"].map(kind).value_counts()
    return float((counts * (counts - 1)).sum() / (len(placed) * (len(placed) - 1)))


def tell_tree(cophenetic: float) -> str:
    """Say how far the tree keeps the distances."""
    if pd.isna(cophenetic):
        return "With so few or so equal distances nothing tells how well a tree fits."
    if cophenetic >= CLEAN_TREE:
        fits = "fits well"
    else:
        fits = (
            "fits roughly: models form no clean tree"
            if cophenetic >= ROUGH_TREE
            else "does not fit: models form no tree"
        )
    return f"A tree {fits} (cophenetic correlation {cophenetic:.2f}; 1 is a true tree)."
