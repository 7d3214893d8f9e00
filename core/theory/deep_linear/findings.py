"""What deep linear networks show against what the theory says, in plain sentences."""

from __future__ import annotations

import pandas as pd

from core.figures.numbers import small_text
from core.theory.deep_linear.breaking.breakers import BREAKERS
from core.theory.deep_linear.presets import preset_titles
from core.theory.deep_linear.question import DeepLinear, Matrices
from core.theory.deep_linear.sweeps.hierarchy import CONTROL
from core.theory.rounding import near_one


def findings(question: DeepLinear, table: pd.DataFrame) -> list[str]:
    """Return what a run shows; table: at least one look, as `core.theory.deep_linear.runs` gives
    them.
    """
    if question.preset in BREAKERS:
        return [*_sweep(table), _prediction(table)]
    if question.preset in _OTHERS:
        return _OTHERS[question.preset](table)
    first, last = table["min_alignment"].iloc[[0, -1]]
    course = f"The least alignment of any two hidden layers went from {first:.3f} to"
    if question.preset in ("tanh", "relu"):
        silent = "The theorem is about linear layers and predicts nothing here."
        return [f"{course} {near_one(last)}.", silent]
    return [f"{course} {near_one(last)}.", "Theorem 1 predicts 1.", _outcome(table.iloc[-1])]


def matrix_findings(_: Matrices, table: pd.DataFrame) -> list[str]:
    """Return what has become of each matrix at the last look; table: as `weigh` gives its rows."""
    last = table[table["at"] == table["at"].max()]
    depth = last.groupby("network")["matrix"].transform("max")
    inner = last[last["matrix"].between(2, depth - 1)]
    first, frozen, hidden = (
        last[last["matrix"] == 1],
        last[last["matrix"] == 0],
        last[last["gradients_apart"].notna()],
    )
    sentences = [
        f"Before the first matrix the modes differ {_span(frozen['spread'])} times in variance,"
        f" after it {_span(first['spread'])} times; the theory predicts"
        f" {_span(first['spread_theory'])}, whatever the view and the frozen matrices.",
        f"The two sides of the gradient balance are {_span(hidden['gradients_apart'])} apart, those"
        f" of the weights' {_span(hidden['weights_apart'])}.",
    ]
    if inner.empty:
        return sentences
    return [
        "The inner matrices stretch the modes that they get by a factor of"
        f" {_span(inner['stretch'])}; the theory predicts 1, a rotation. Their norms on these modes"
        f" are {_span(inner['working_norm'])}.",
        *sentences,
    ]


def _span(values: pd.Series) -> str:
    low, high = (small_text(each) for each in (values.min(), values.max()))
    return low if low == high else f"{low} to {high}"


def _limits(table: pd.DataFrame) -> list[str]:
    last = table.groupby("step", sort=False).tail(1)
    flow, noisy = table[table["step"] == 0], last[last["step"] > 0]
    sentences = []
    if len(flow):
        time, value = flow["time"].iloc[-1], flow["min_alignment"].iloc[-1]
        before = flow.loc[flow["time"] <= time / 9, "min_alignment"]
        since = f", and was {before.iloc[-1]:.3f} at a tenth of it" if len(before) else ""
        sentences.append(
            "Gradient flow, the limit of small steps, has a least alignment of"
            f" {value:.3f} at time {time:.3g}{since}."
        )
    reached = noisy.dropna(subset=["min_alignment"])
    if len(reached):
        each = ", ".join(
            f"{row.min_alignment:.3f} with steps of {row.step:g} (time {row.time:.3g})"
            for row in reached.itertuples()
        )
        sentences.append(f"SGD reaches {each}.")
    lost = noisy.loc[noisy["min_alignment"].isna(), "step"]
    if len(lost):
        sentences.append(f"It diverges with steps of {', '.join(f'{step:g}' for step in lost)}.")
    return [
        *sentences,
        "The theory predicts that, after a long time, smaller steps come nearer to 1; gradient flow"
        " does not.",
    ]


def _hierarchy(table: pd.DataFrame) -> list[str]:
    return [
        *(_dependence(str(preset), rows) for preset, rows in table.groupby("preset", sort=False)),
        "Every run of SGD sees samples of its own, so read its values beside that of samples"
        " alone.",
    ]


def _dependence(preset: str, rows: pd.DataFrame) -> str:
    """Say by which difference the same layers of two networks agree least, beside the control."""
    is_control, title = rows["differs"] == CONTROL, preset_titles()[preset]
    others = rows[~is_control].dropna(subset="same_layer")
    if others.empty:
        return f"{title}: nothing was measured but the control."
    least = others.sort_values("same_layer").iloc[0]
    alone = "".join(
        f"; with other {CONTROL} alone {near_one(value)}"
        for value in rows[is_control]["same_layer"]
    )
    return (
        f"{title}: the same layers of two networks agree least, {near_one(least['same_layer'])},"
        f" where they differ in {least['differs']}{alone}."
    )


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


_OTHERS = {"minima": _minima, "limits": _limits, "hierarchy": _hierarchy}


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
