"""What probes of adapters show, in plain sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from core.figures.numbers import counted
from core.questions.adapters.nuisances.question import AdapterProbes

OVERALL = "all"  # in place of a label: the mean over those of a kind
READS = {"linear": "linear probe", "neighbors": "nearest stimuli of the class"}
BY = {"linear": "linear probes", "neighbors": "its nearest stimuli"}


def probe_findings(_: AdapterProbes, table: pd.DataFrame) -> list[str]:
    """Say for each encoder and probe what adapters change of factors and of nuisances. table: as
    `core.questions.adapters.nuisances.answer.probe_adapters` returns it.
    """
    overall = table[(table["label"] == OVERALL) & table["change"].notna()]
    sentences = []
    for (space, probe), rows in overall.groupby(["space", "probe"], sort=False):
        by_kind = {row["kind"]: row for row in rows.to_dict("records")}
        if "nuisance" in by_kind:
            named = table[(table["space"] == space) & (table["kind"] == "nuisance")]["label"]
            sentences.append(
                _sentence(f"{space}", f"{probe}", by_kind, sorted({*named} - {OVERALL}))
            )
    trainings = counted(table["seeds"].iloc[0], "training", "trainings")
    return [
        *sentences,
        f"The intervals cover other test stimuli; shares are averaged over {trainings}.",
    ]


def _sentence(
    space: str, probe: str, rows: Mapping[str, Mapping[Any, Any]], names: list[str]
) -> str:
    return (
        f"{space}, by {BY[probe]}: adapters {_change(rows['nuisance'])} its nuisances"
        f" ({', '.join(names)}), {_shares(rows['nuisance'])}, and {_change(rows['factor'])} the"
        f" factors, {_shares(rows['factor'])}."
    )


def _change(row: Mapping[Any, Any]) -> str:
    if row["low"] > 0:
        return "raise"
    return "lower" if row["high"] < 0 else "make no sure difference to"


def _shares(row: Mapping[Any, Any]) -> str:
    return (
        f"{row['before']:.3f} to {row['after']:.3f} (95 % interval of the change"
        f" {row['low']:+.3f} to {row['high']:+.3f}; chance {row['chance']:.3f})"
    ).replace("-", "−")
