"""What the tables of convergence say, in plain sentences, whichever way it goes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from core.figures.numbers import p_text
from core.questions.convergence.evidence import AGAINST, FOR, OPEN, weigh
from core.questions.convergence.fine_tuning import ALL
from core.questions.convergence.levels import KINDS, SKILL_THIRDS, kinds_to_show
from core.questions.convergence.question import (
    AnnaKarenina,
    FineTuned,
    Hypotheses,
    Levels,
    Replicates,
    Summary,
)
from core.questions.sentences import listed
from core.study.noise import ceiling_of

SURE = 0.05
RISING = {
    "competence": "more competent {}",
    "size": "larger {}",
    "tasks": "{} trained on more tasks",
    "data": "{} trained on more data",
}
WHO: Mapping[str, str] = {
    "all": "models",
    "vision": "vision models",
    "language": "language models",
    "across": "vision and language models",
}
CAUTION = (
    "The test shuffles levels within each objective or family: it asks whether models of one kind"
    " come together as they get better, and says nothing of differences between kinds."
)


def level_findings(question: Levels, table: pd.DataFrame) -> list[str]:
    """Say for each kind of pairs whether models come together as the level rises."""
    if table.empty:
        return [
            f"No two finished models lie on one level of {question.by}, so nothing is compared."
        ]
    trends = table.drop_duplicates("pairs_of")
    rows = {row["pairs_of"]: row for row in trends.to_dict("records")}
    lead = rows.get("all") or next(iter(rows.values()))
    others = [row for row in rows.values() if row is not lead and np.isfinite(row["p"])]
    said = [_lead(lead, RISING[question.by], table, question.comparison.toward)]
    if others and len(kinds_to_show(table)) > 1:
        said.append(f"{listed(_short(row) for row in others)}.".capitalize())
    return [*said, CAUTION]


def _lead(row: Mapping[Hashable, Any], better: str, table: pd.DataFrame, toward: int) -> str:
    who = better.format(WHO[row["pairs_of"]])
    if not np.isfinite(row["p"]):
        return f"Whether {who} agree more with each other cannot be tested: {row['reason']}."
    recipes = table.loc[table["pairs_of"] == row["pairs_of"], "recipes"].sum()
    numbers = f"{_change(row)}{_interval(row)}, {p_text(row['p'])}, {recipes} recipes"
    if row["p"] > SURE:
        return f"It is not shown here that {who} agree more with each other ({numbers})."
    more = "more" if toward * row["rise"] > 0 else "less"
    return f"{who[:1].upper()}{who[1:]} agree {more} with each other here ({numbers})."


def _short(row: Mapping[Hashable, Any]) -> str:
    return f"{KINDS[row['pairs_of']]}: {_change(row)} ({p_text(row['p'])})"


def _change(row: Mapping[Hashable, Any]) -> str:
    return f"change {row['rise']:+.3f}".replace("-", "−")


def _interval(row: Mapping[Hashable, Any]) -> str:
    if not np.isfinite(row["rise_low"]):
        return ""
    return f", 95 % interval {row['rise_low']:+.3f} to {row['rise_high']:+.3f}".replace("-", "−")


def karenina_findings(question: AnnaKarenina, table: pd.DataFrame) -> list[str]:
    """Say whether strong models are alike and weak ones each weak in their own way."""
    if table.empty:
        return ["No two finished models have a competence, so strong and weak are not compared."]
    weak, strong = SKILL_THIRDS[0], SKILL_THIRDS[-1]
    places = {
        "among the strongest third": (strong, strong),
        "among the weakest": (weak, weak),
        "between the two": (weak, strong),
    }
    said = [f"{_means_at(table, *place)} {text}" for text, place in places.items()]
    contrasts = table.drop_duplicates("pairs_of").to_dict("records")
    lead = next((row for row in contrasts if row["pairs_of"] == "all"), contrasts[0])
    return [
        f"Adjusted mean alignment is {'; '.join(said)}.",
        _weakness(lead, question.comparison.toward),
    ]


def _means_at(table: pd.DataFrame, one: str, other: str) -> str:
    """Return the adjusted mean of two thirds by kind of pairs, other than all together."""
    rows = table[(table["one"] == one) & (table["other"] == other) & (table["pairs_of"] != "all")]
    rows = rows.dropna(subset="adjusted")
    means = [f"{row['adjusted']:.3f} ({KINDS[row['pairs_of']]})" for row in rows.to_dict("records")]
    return ", ".join(means) or "unknown"


def _weakness(row: Mapping[Hashable, Any], toward: int) -> str:
    if not np.isfinite(row["p"]):
        return f"Whether each weak model is weak in its own way cannot be tested: {row['reason']}."
    numbers = f"{row['contrast']:+.3f}{_between(row)}, {p_text(row['p'])}".replace("-", "−")
    if row["p"] > SURE:
        return (
            "It is not shown that weak models agree less with each other than with strong ones"
            f" ({numbers})."
        )
    if toward * row["contrast"] > 0:
        return (
            "Weak models go wrong together: they agree more with each other than with strong ones"
            f" ({numbers})."
        )
    return (
        "Weak models are weak in their own ways: they agree less with each other than with strong"
        f" ones ({numbers})."
    )


def _between(row: Mapping[Hashable, Any]) -> str:
    if not np.isfinite(row["low"]):
        return ""
    return f", 95 % interval {row['low']:+.3f} to {row['high']:+.3f}"


def hypothesis_findings(_: Hypotheses, table: pd.DataFrame) -> list[str]:
    """Say the verdict on each hypothesis."""
    decisive = table[table["decides"].astype(bool)]
    return [_verdict(row) for row in decisive.to_dict("records")]


def _verdict(row: Mapping[Hashable, Any]) -> str:
    name, measured = str(row["hypothesis"]).capitalize(), str(row["measured"])
    if row["verdict"] == "not tested":
        return f"{name}: not tested, as too few models were trained for it ({row['reason']})."
    value = f"{row['value']:+.3g}".replace("-", "−")
    interval = (
        f" (95 % interval {row['low']:+.3g} to {row['high']:+.3g})".replace("-", "−")
        if np.isfinite(row["low"])
        else ""
    )
    return (
        f"{name}: {row['verdict']} here. {measured[:1].upper()}{measured[1:]}: {value}{interval},"
        f" {p_text(row['q'], 'q')}, {row['recipes']} recipes."
    )


def summary_findings(question: Summary, table: pd.DataFrame) -> list[str]:
    """Say how many claims speak for the hypothesis, against it, and for neither."""
    evidence = weigh(table, question.comparison.toward)
    tested = evidence.dropna(subset=["q"])
    sides = tested["verdict"].value_counts()
    counts = [int(sides.get(side, 0)) for side in (FOR, AGAINST, OPEN)]
    rest = len(evidence) - len(tested)
    return [
        f"Of {len(evidence)} claims of the hypothesis: {counts[0]} supported, {counts[1]}"
        f" contradicted, {counts[2]} not shown (q ≤ .05)"
        + (f", {rest} not testable here." if rest else ".")
    ]


def replicate_findings(_: Replicates, table: pd.DataFrame) -> list[str]:
    """Say how alike two seeds of a recipe are, by modality."""
    if table.empty:
        return ["No recipe here has several seeds, so the ceiling is unknown."]
    means = [
        f"{ceiling_of(table, modality):.3f} for {modality} models"
        for modality in dict.fromkeys(table["modality"])
    ]
    return [
        f"Two trainings that differ only in their seed reach {listed(means)} on average, over"
        f" {len(table)} recipes: models of different recipes can hardly be expected to agree more."
    ]


def fine_tuned_findings(question: FineTuned, table: pd.DataFrame) -> list[str]:
    """Say for each kind of copies whether fine-tuning cost alignment with language."""
    if table.empty:
        return ["No vision model here was fine-tuned from another, or no language model is there."]
    toward = question.comparison.toward
    return [_cost(row, toward) for row in table[table["with"] == ALL].to_dict("records")]


def _cost(row: Mapping[Hashable, Any], toward: int) -> str:
    change = f"{row['change']:+.3f}".replace("-", "−")
    if not np.isfinite(row["p"]):
        return f"{row['copies']}: alignment with language changes by {change}; {row['reason']}."
    interval = f"{row['low']:+.3f} to {row['high']:+.3f}".replace("-", "−")
    way = "rises" if toward * row["change"] > 0 else "falls"
    sense = "is not shown to change" if row["p"] > SURE else way
    return (
        f"{row['copies']}: alignment with language {sense} ({change}, 95 % interval {interval},"
        f" {p_text(row['p'])}, {row['pairs']} pairs of model and copy)."
    )
