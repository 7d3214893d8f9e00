"""What the map and the tree of models say, in a sentence each: how far to trust them, and whose
nearest model is of its own kind.
"""

from __future__ import annotations

import pandas as pd

from core.encoders.encoder import REALITY
from core.errors import InputError
from core.figures.numbers import share_text
from core.questions.models.clustering import cluster
from core.questions.models.distances import distances
from core.questions.models.question import ModelMap, ModelPairs, ModelTable
from core.questions.models.standings import DESCRIBED
from core.study.models import known_kinds

FAIR_STRESS, POOR_STRESS = 0.1, 0.2  # Kruskal 1964: 10 % is fair, 20 % poor
TRUSTED = 0.9
CLEAN_TREE, ROUGH_TREE = 0.8, 0.5
KINDS = (("modality", "modality"), ("group", "objective (language: family)"), ("run", "training"))


def map_findings(_: ModelMap, table: pd.DataFrame) -> list[str]:
    """Say how often a model's nearest model is of its own kind, and how far to trust a map."""
    return [nearest_kinds(table), *quality(table)]


def pair_findings(question: ModelPairs, table: pd.DataFrame) -> list[str]:
    """Say how well a tree fits the distances of these models."""
    if table.empty:
        return ["Fewer than two models form no tree."]
    try:
        apart = distances(table, spec=question.comparison.spec)
        return [tree_fit(cluster(apart).cophenetic)]
    except InputError as error:
        return [f"No tree: {error}."]


def quality(table: pd.DataFrame) -> list[str]:
    """Say how far to trust a map, and what was done with pairs that have no logarithm.

    table: as `core.questions.models.answer.place` returns it.
    """
    row = table.iloc[0]
    trust = _trust(row["trustworthiness"], float(row["neighbors"]))
    return [_stress(row["stress"]), trust, _floor(table)]


def _stress(value: float) -> str:
    if pd.isna(value):
        return "All marks coincide, so there is no stress."
    if value <= FAIR_STRESS:
        meaning = "you can read distances off the map"
    else:
        meaning = "distances are rough" if value <= POOR_STRESS else "distances mean little"
    return f"Stress {value:.2f} (0: every distance in proportion): {meaning}."


def _trust(value: float, neighbors: float) -> str:
    if pd.isna(value) or pd.isna(neighbors):
        return "So few models have no neighborhoods to trust."
    one = neighbors == 1
    marks = "the nearest mark is" if one else f"the {neighbors:.0f} nearest marks are"
    models = "the nearest model" if one else "the nearest models"
    often = "usually" if value >= TRUSTED else "often not"
    return f"Trustworthiness {value:.2f} (1: perfect, 0.5: chance): {marks} {often} {models}."


def _floor(table: pd.DataFrame) -> str:
    floor = table["floor"].iloc[0]
    if pd.isna(floor):
        return "Every pair has a distance, so no floor was needed."
    pairs = int(table["floored"].sum()) // 2
    these = "1 pair has" if pairs == 1 else f"{pairs} pairs have"
    return (
        f"{these} no alignment above 0, and so no finite logarithm: drawn at the least alignment"
        f" above 0, the floor {floor:.2g}."
    )


def nearest_kinds(table: pd.DataFrame) -> str:
    """Say how often the nearest model is of the same modality, objective or family, and training,
    beside what chance gives; nothing of an objective or family that is not known of all.

    table: as `core.questions.models.answer.map_models` returns it. The nearest model is the most
    aligned one, not the nearest mark. Chance: another model taken at random.
    """
    placed = table[(table["reason"] == "") & (table["nearest_1"] != "")]
    if len(placed) < 2:
        return "Fewer than two models are on the map, so none has a nearest model."
    kinds = {name: known_kinds(table, column) for column, name in KINDS}
    shares = [
        f"{name} for {share_text(_share(placed, kind))} (by chance"
        f" {share_text(_expected(placed, kind))})"
        for name, kind in kinds.items()
        if (kind[placed["model"]] != "").all()
    ]
    return (
        f"A model's nearest model is of the same {', of the same '.join(shares)}, over"
        f" {len(placed)} models."
    )


def _share(placed: pd.DataFrame, kind: pd.Series) -> float:
    return float((placed["model"].map(kind) == placed["nearest_1"].map(kind)).mean())


def _expected(placed: pd.DataFrame, kind: pd.Series) -> float:
    counts = placed["model"].map(kind).value_counts()
    return float((counts * (counts - 1)).sum() / (len(placed) * (len(placed) - 1)))


def tree_fit(cophenetic: float) -> str:
    """Say how well a tree keeps the distances."""
    if pd.isna(cophenetic):
        return "With so few or so equal distances, the fit of a tree cannot be judged."
    if cophenetic >= CLEAN_TREE:
        fits = "fits well"
    else:
        fits = (
            "fits roughly: models form no clean tree"
            if cophenetic >= ROUGH_TREE
            else "does not fit: models form no tree"
        )
    return f"A tree {fits} (cophenetic correlation {cophenetic:.2f}; 1 is a true tree)."


def table_findings(question: ModelTable, table: pd.DataFrame) -> list[str]:
    """Say which model is most aligned with each target, and which least."""
    targets = [name for name in table.columns if name not in DESCRIBED]
    high = question.comparison.spec.higher_is_more_aligned
    return [_ends(table, name, high=high) for name in targets if table[name].notna().any()]


def _ends(table: pd.DataFrame, target: str, *, high: bool) -> str:
    titles = table.set_index("model")["title"]
    scored = table.dropna(subset=target).sort_values(target, ascending=not high, kind="stable")
    most, least = (
        f"{row['title']} ({row[target]:.3f})" for row in scored.iloc[[0, -1]].to_dict("records")
    )
    of = target if target == REALITY else titles.get(target, target)
    return f"Most aligned with {of}: {most}; least: {least}; of {len(scored)} models."
