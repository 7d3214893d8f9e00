"""What was seen against what the theory says, in plain words; functions of the tables that the runs
make.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from core.theory.contrastive.setups import Setup
from core.theory.deep_linear.breakers import BREAKERS

ROUNDING = 1e-12  # of a CKA or an R²


def tell_deep_linear(preset: str, table: pd.DataFrame) -> str:
    """Return what the looks of a preset or breaker show; table: at least one look, as
    `core.theory.deep_linear.runs` gives them.
    """
    if preset in BREAKERS:
        return f"{_tell_sweep(table)} {_tell_prediction(table)}"
    if preset == "minima":
        return _tell_minima(table)
    first, last = table["min_alignment"].iloc[[0, -1]]
    moved = (
        f"The least alignment of any two hidden layers went from {first:.3f} to {_near_one(last)}."
    )
    if preset in ("tanh", "relu"):
        return f"{moved} The theorem is about linear layers and predicts nothing here."
    rest = table.iloc[-1]
    excess, most, apart = (
        rest[[f"{name}_a", f"{name}_b"]].max(skipna=False)
        for name in ("excess_loss", "entropy", "distance")
    )
    return (
        f"{moved} Theorem 1 says 1. The loss is at most {excess:.2g} above that of the noise, the"
        f" entropy at most {most:.4g} times the least of minima, and no layer is farther than"
        f" {apart:.2g} from the closed form."
    )


def tell_contrastive(setup: Setup, known: Mapping[str, Any], table: pd.DataFrame) -> str:
    """Return what an experiment shows; known: of its world, as
    `core.theory.contrastive.runs.describe` gives it.
    """
    tell: Mapping[str, Callable[[pd.DataFrame], str]] = {
        "learn": lambda looks: f"{_tell_world(known)} {_tell_fit(setup, looks)}",
        "modalities": _tell_views,
        "capacity": _tell_widths,
        "tasks": _tell_tasks,
    }
    return tell[setup.experiment](table)


def _tell_minima(table: pd.DataFrame) -> str:
    drawn, noise = (table[table["by"] == by] for by in ("chance", "SGD"))
    said = [
        f"SGD ends aligned to {row.min_alignment:.3f}, its loss {row.excess_loss:.2g} above the"
        " noise's."
        for row in noise.itertuples()
    ]
    if len(drawn):
        most, middle = drawn["min_alignment"].max(skipna=False), drawn["min_alignment"].median()
        excess = drawn["excess_loss"].abs().max(skipna=False)
        found = (
            f"{len(drawn)} other minima: aligned to {_near_one(most)} at most, {middle:.3f} in the"
            " middle"
        )
        said.insert(0, f"{found}, their loss within {excess:.2g} of the noise's.")
    return " ".join([*said, "Theorem 1 says 1 of the minimum of least entropy alone."])


def _tell_sweep(table: pd.DataFrame) -> str:
    held = table.dropna(subset=["measured"])
    lost = ", ".join(
        f"{strength:g}" for strength in table.loc[table["measured"].isna(), "strength"]
    )
    steps = [
        f"{_near_one(float(held['measured'].iloc[at]))} at strength {held['strength'].iloc[at]:g}"
        for at in range(len(held))
    ]
    gone = f" Descent diverged at strength {lost}." if lost else ""
    return (
        f"The least alignment of the two networks is {', '.join(steps)}.{gone}"
        if steps
        else gone.strip()
    )


def _tell_prediction(table: pd.DataFrame) -> str:
    foretold = table.dropna(subset=["predicted"])
    if foretold[foretold["strength"] > 0].empty:
        return "The theory predicts 1 at strength 0 and names no number above it."
    both = foretold.dropna(subset=["measured"])
    if both.empty:
        return "Nothing was measured where the theory predicts a number."
    apart = (both["measured"] - both["predicted"]).abs().max()
    return f"Where the theory predicts a number, the measured one is at most {apart:.2g} away."


def _tell_world(known: Mapping[str, Any]) -> str:
    least, given = known["least_offset"], known["given_offset"]
    if math.isnan(least):
        return (
            "In this world no offset makes the kernel an inner product (smallest eigenvalue"
            f" {known['smallest_eigenvalue']:.3g}), so that an embedding can only come near it."
        )
    enough = f"The kernel is an inner product from an offset of {least:.3g} on"
    if math.isnan(given):
        return f"{enough}, and InfoNCE takes what it needs."
    if given >= least:
        return f"{enough}, and the share of positive pairs gives {given:.3g}."
    return f"{enough}, but the share of positive pairs gives only {given:.3g}; take more of them."


def _tell_fit(setup: Setup, looks: pd.DataFrame) -> str:
    last, learner = looks.iloc[-1], setup.learner
    says = f"slope {learner.slope:g}" + (
        "" if math.isnan(learner.offset) else f" and offset {learner.offset:.3g}"
    )
    return (
        f"After {last['at']:,.0f} steps the products follow the PMI kernel with slope"
        f" {last['slope']:.3f}, offset {last['offset']:.3g} and R² = {_near_one(last['r2'])}. The"
        f" theory says {says} where the kernel is an inner product."
    )


def _tell_views(table: pd.DataFrame) -> str:
    whole = table.loc[table["share"] == 0, "cka"].min()
    ends = table.groupby("view", sort=False).tail(1)
    said = ", ".join(
        f"{row.view} {row.cka:.2f} (chance {row.chance_cka:.2f})" for row in ends.itertuples()
    )
    apart = (table["cka"] - table["predicted"]).abs().max(skipna=False)
    return (
        f"One-to-one observations are aligned to {_near_one(whole)}; the theory says 1. With the"
        f" most lost so far CKA is: {said}. No embedding's CKA is farther than {apart:.2g} from"
        " that of the exact kernels."
    )


def _tell_widths(table: pd.DataFrame) -> str:
    first, last = table.iloc[0], table.iloc[-1]
    return (
        f"R² is {first['r2']:.3f} at width {first['width']:.0f} and {_near_one(last['r2'])} at"
        f" width {last['width']:.0f}. The best that any embedding of these widths could have is"
        f" {first['best']:.3f} and {_near_one(last['best'])}."
    )


def _tell_tasks(table: pd.DataFrame) -> str:
    first, last = table.iloc[0], table.iloc[-1]
    return (
        f"Two learners that share no task are aligned to {first['cka']:.3f} (CKA) with"
        f" {first['tasks']:.0f} each and to {last['cka']:.3f} with {last['tasks']:.0f}. Their exact"
        f" kernels say {first['predicted']:.3f} and {last['predicted']:.3f}."
    )


def _near_one(value: float) -> str:
    """Return a value with as many digits as its distance from 1 needs; 1 is what rounding alone
    keeps from it.
    """
    if not abs(1 - value) <= 1e-3:
        return f"{value:.3f}"
    return (
        "1" if abs(1 - value) <= ROUNDING else f"1 {'−' if value < 1 else '+'} {abs(1 - value):.1g}"
    )
