"""What deep linear networks show against what the theory says, in plain sentences."""

from __future__ import annotations

import pandas as pd

from core.figures.numbers import small_text
from core.theory.deep_linear.breakers import BREAKERS
from core.theory.deep_linear.question import DeepLinear
from core.theory.rounding import near_one


def findings(question: DeepLinear, table: pd.DataFrame) -> list[str]:
    """Return what a run shows; table: at least one look, as `core.theory.deep_linear.runs` gives
    them.
    """
    if question.preset in BREAKERS:
        return [*_sweep(table), _prediction(table)]
    if question.preset == "minima":
        return _minima(table)
    first, last = table["min_alignment"].iloc[[0, -1]]
    course = f"The least alignment of any two hidden layers went from {first:.3f} to"
    if question.preset in ("tanh", "relu"):
        silent = "The theorem is about linear layers and predicts nothing here."
        return [f"{course} {near_one(last)}.", silent]
    return [f"{course} {near_one(last)}.", "Theorem 1 predicts 1.", _outcome(table.iloc[-1])]


def _outcome(last: pd.Series) -> str:
    excess, most, apart = (
        last[[f"{name}_a", f"{name}_b"]].max(skipna=False)
        for name in ("excess_loss", "entropy", "distance")
    )
    return (
        f"The loss is at most {small_text(excess)} above that of the noise, the entropy at most"
        f" {most:.4g} times the least of minima, and no layer is farther than"
        f" {small_text(apart)} from the closed form."
    )


def _minima(table: pd.DataFrame) -> list[str]:
    drawn, noise = (table[table["by"] == by] for by in ("chance", "SGD"))
    sentences = [_other_minima(drawn)] if len(drawn) else []
    sentences += [
        f"SGD ends at an alignment of {row.min_alignment:.3f}, its loss"
        f" {small_text(row.excess_loss)} above that of the noise."
        for row in noise.itertuples()
    ]
    return [*sentences, "Theorem 1 predicts 1 only for the minimum of least entropy."]


def _other_minima(drawn: pd.DataFrame) -> str:
    most, middle = drawn["min_alignment"].max(skipna=False), drawn["min_alignment"].median()
    excess = drawn["excess_loss"].abs().max(skipna=False)
    return (
        f"{len(drawn)} other minima are aligned to at most {near_one(most)} (median {middle:.3f}),"
        f" their loss within {small_text(excess)} of that of the noise."
    )


def _sweep(table: pd.DataFrame) -> list[str]:
    measured = table.dropna(subset=["measured"])
    steps = [
        f"{near_one(value)} at strength {strength:g}"
        for value, strength in zip(measured["measured"], measured["strength"], strict=True)
    ]
    diverged = ", ".join(
        f"{strength:g}" for strength in table.loc[table["measured"].isna(), "strength"]
    )
    sentences = [f"The least alignment of the two networks is {', '.join(steps)}."] if steps else []
    return sentences + ([f"Descent diverged at strength {diverged}."] if diverged else [])


def _prediction(table: pd.DataFrame) -> str:
    predicted = table.dropna(subset=["predicted"])
    if predicted[predicted["strength"] > 0].empty:
        return "The theory predicts 1 at strength 0 and gives no number above it."
    both = predicted.dropna(subset=["measured"])
    if both.empty:
        return "Nothing was measured where the theory predicts a number."
    apart = (both["measured"] - both["predicted"]).abs().max()
    return (
        f"Where the theory predicts a number, the measured one is at most {small_text(apart)} away."
    )
