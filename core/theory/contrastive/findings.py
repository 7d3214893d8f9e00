"""What contrastive learners show against what the theory says, in plain sentences."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import pandas as pd

from core.figures.numbers import counted, small_text
from core.theory.contrastive.question import Contrastive
from core.theory.contrastive.runs import Kernel, describe
from core.theory.contrastive.setups import Setup, make_setup
from core.theory.rounding import near_one


def findings(question: Contrastive, table: pd.DataFrame) -> list[str]:
    """Return what a run shows; table: at least one look, as `core.theory.contrastive.runs` gives
    them.
    """
    setup = make_setup(question)
    if setup.experiment == "learn":
        return [*fit_findings(setup, table), world_finding(describe(setup))]
    return OF_SWEEPS[setup.experiment](table)


def world_finding(kernel: Kernel) -> str:
    """Return whether an offset makes the world's kernel an inner product, and whether the loss
    gives it.
    """
    if math.isnan(kernel.least_offset):
        return (
            "In this world no offset makes the kernel an inner product (smallest eigenvalue"
            f" {kernel.smallest_eigenvalue:.3g}), so an embedding can only approximate it."
        )
    enough = f"The kernel is an inner product from an offset of {kernel.least_offset:.3g} on"
    if math.isnan(kernel.given_offset):
        return f"{enough}, and InfoNCE takes what it needs."
    if kernel.given_offset >= kernel.least_offset:
        return f"{enough}, and the share of positive pairs gives {kernel.given_offset:.3g}."
    return (
        f"{enough}, but the share of positive pairs gives only {kernel.given_offset:.3g}; raise"
        " the share."
    )


def fit_findings(setup: Setup, looks: pd.DataFrame) -> list[str]:
    """Return how well the products follow the kernel so far, and what the theory predicts."""
    last, learner = looks.iloc[-1], setup.learner
    offset = "" if math.isnan(learner.offset) else f" and offset {learner.offset:.3g}"
    return [
        f"After {counted(last['at'], 'step', 'steps')} the products follow the PMI kernel with"
        f" slope {last['slope']:.3f}, offset {last['offset']:.3g} and R² = {near_one(last['r2'])}.",
        f"The theory predicts slope {learner.slope:g}{offset} where the kernel is an inner"
        " product.",
    ]


def view_findings(table: pd.DataFrame) -> list[str]:
    """Return how alike both modalities are with nothing lost, and with the most lost so far."""
    whole = table.loc[table["share"] == 0, "cka"].min()
    ends = ", ".join(
        f"{row.view} {row.cka:.2f} (chance {row.chance_cka:.2f})"
        for row in table.groupby("view", sort=False).tail(1).itertuples()
    )
    apart = (table["cka"] - table["predicted"]).abs().max(skipna=False)
    return [
        f"One-to-one observations are aligned to {near_one(whole)}; the theory predicts 1.",
        f"With the most lost so far, CKA is: {ends}.",
        f"The CKA of the embeddings is at most {small_text(apart)} away from that of the exact"
        " kernels.",
    ]


def width_findings(table: pd.DataFrame) -> list[str]:
    """Return the fit at the least and the greatest width so far, beside the best possible."""
    first, last = table.iloc[0], table.iloc[-1]
    return [
        f"R² is {first['r2']:.3f} at width {first['width']:.0f} and {near_one(last['r2'])} at"
        f" width {last['width']:.0f}.",
        f"The best that embeddings of these widths allow is {first['best']:.3f} and"
        f" {near_one(last['best'])}.",
    ]


def task_findings(table: pd.DataFrame) -> list[str]:
    """Return how alike two learners are with the fewest and the most tasks so far."""
    first, last = table.iloc[0], table.iloc[-1]
    return [
        f"Two learners that share no task are aligned to {first['cka']:.3f} (CKA) with"
        f" {first['tasks']:.0f} each and to {last['cka']:.3f} with {last['tasks']:.0f}.",
        f"Their exact kernels give {first['predicted']:.3f} and {last['predicted']:.3f}.",
    ]


OF_SWEEPS: Mapping[str, Callable[[pd.DataFrame], list[str]]] = {
    "modalities": view_findings,
    "capacity": width_findings,
    "tasks": task_findings,
}
