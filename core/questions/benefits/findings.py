"""What better models buy, in plain sentences, whichever way it goes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from core.figures.numbers import p_text, share_text
from core.questions.benefits.question import Bias, Hallucination, Transfer
from core.questions.benefits.transfer import MEAN
from core.questions.sentences import listed

SURE = 0.05
SEES = {"language": ("language models", "images"), "vision": ("vision models", "captions")}
GAIN = {"language": "1 − bits per byte of the captions", "vision": "the share of tasks solved"}
UNIT = {"language": "captions per image", "vision": "images per caption"}
FEW = (
    "Few seeds make wide intervals, and the learners are the smallest of their family: this is what"
    " transfer does here, not in general. q is p adjusted for all shares of the data."
)
Row = Mapping[Hashable, Any]


def transfer_findings(_: Transfer, table: pd.DataFrame) -> list[str]:
    """Say for each learner and share whether transfer helped, and what it was worth."""
    if table.empty:
        return ["No learner here was trained with and without transfer, so nothing is compared."]
    means = table[table["seed"] == MEAN]
    said = [
        _helped(str(modality), rows) for modality, rows in means.groupby("modality", sort=False)
    ]
    worth = [
        _worth(str(modality), rows) for modality, rows in means.groupby("modality", sort=False)
    ]
    return [*said, *worth, FEW]


def _helped(modality: str, rows: pd.DataFrame) -> str:
    who, what = SEES[modality]
    measured, unknown = rows[rows["gain"].notna()], rows[rows["gain"].isna()]
    changes = [
        f"{_signed(row['gain'])} with {_share(row['share'])}{_tested(row)}"
        for row in measured.to_dict("records")
    ]
    if not unknown.empty:
        shares = listed(_share(share) for share in unknown["share"])
        changes.append(f"an unknown amount with {shares} (a learner was not measured)")
    sure = rows[rows["gain_q"] <= SURE]
    counts = {
        "helps": int((sure["gain"] > 0).sum()),
        "hurts": int((sure["gain"] < 0).sum()),
    }
    senses = [
        f"{sense} {who} at {_shares(count, len(rows))}" for sense, count in counts.items() if count
    ]
    said = " and ".join(senses) or f"is not shown to help or hurt {who}"
    return f"Transfer from {what} {said}; it changes {GAIN[modality]} by {', '.join(changes)}."


def _tested(row: Row) -> str:
    if not np.isfinite(row["gain_q"]):
        return ""
    low, high = (_signed(row[end]) for end in ("gain_low", "gain_high"))
    return f" (95 % interval {low} to {high}, {p_text(row['gain_q'], 'q')})"


def _shares(count: int, every: int) -> str:
    return f"{'every share' if count == every else f'{count} of {every} shares'} of the data"


def _worth(modality: str, rows: pd.DataFrame) -> str:
    """Say what transfer is worth in data at each share where that is known."""
    unit = UNIT[modality]
    rates = [
        f"{_signed(row['rate'], 2)}{_interval(row['rate_low'], row['rate_high'], 2)} with"
        f" {_share(row['share'])}"
        for row in rows[rows["rate"].notna()].to_dict("records")
    ]
    unknown = rows[rows["rate"].isna()]
    if unknown.empty:
        return f"The exchange rate in {unit} is {'; '.join(rates)}."
    shares = listed(_share(share) for share in unknown["share"])
    why = "; ".join(dict.fromkeys(unknown["reason"]))
    first = f"is {'; '.join(rates)}, and " if rates else ""
    return f"The exchange rate in {unit} {first}is unknown with {shares} ({why})."


def bias_findings(_: Bias, table: pd.DataFrame) -> list[str]:
    """Say whether larger models are less biased."""
    if table["value"].isna().all():
        return [_nothing(table)]
    first, second = _trends(table)
    return [
        _trend(first, "Larger language models expect colors closer to the world's law", falls=True),
        f"A distance of 0 means the world's own law; distances here are {_range(table, first)}."
        f" Amplification of the most common color {_change(second)}: above 0, a model exaggerates"
        " what is usual; below 0, it blurs it.",
    ]


def hallucination_findings(_: Hallucination, table: pd.DataFrame) -> list[str]:
    """Say whether larger models invent less."""
    models = table[table["model"] != ""]
    if models["value"].isna().all():
        return [_nothing(models)]
    first, second = _trends(models)
    controls = table[table["model"] == ""]
    checks = [
        f"{row['title']}: {_measured(row)}"
        for row in controls.to_dict("records")
        if np.isfinite(row["value"])
    ]
    return [
        _trend(
            first, "Larger language models write fewer captions of impossible events", falls=True
        ),
        f"Texts that do not begin with a caption, a share of {_range(models, second)}, are counted"
        f" apart; that share {_change(second)}.",
        f"As a check, {'; '.join(checks)}.",
    ]


def _measured(row: Row) -> str:
    return f"{share_text(row['value'])} {row['measure']}"


def _nothing(table: pd.DataFrame) -> str:
    if table.empty:
        return "No language model that finished a usual training is here, so none was measured."
    row = table.iloc[0]
    return f"No language model here could be measured; of {row['title']}: {row['reason']}."


def _trends(table: pd.DataFrame) -> list[Row]:
    return list(table.drop_duplicates("measure").to_dict("records"))


def _trend(row: Row, claim: str, *, falls: bool) -> str:
    if not np.isfinite(row["p"]):
        return f"Whether size matters cannot be tested: {row['trend_reason']}."
    numbers = (
        f"{row['measure']} {_signed(row['rise'])} as parameters grow tenfold"
        f"{_interval(row['rise_low'], row['rise_high'])}, {p_text(row['p'])},"
        f" {row['recipes']:.0f} recipes"
    )
    if row["p"] > SURE:
        return f"It is not shown here that {claim[:1].lower()}{claim[1:]} ({numbers})."
    sense = f"{claim} here" if (row["rise"] < 0) == falls else "The reverse holds here"
    return f"{sense} ({numbers})."


def _change(row: Row) -> str:
    if not np.isfinite(row["p"]):
        return f"has no trend ({row['trend_reason']})"
    sense = "rises" if row["rise"] > 0 else "falls"
    sure = sense if row["p"] <= SURE else "is not shown to change"
    return f"{sure} with size ({_signed(row['rise'])} per tenfold, {p_text(row['p'])})"


def _range(table: pd.DataFrame, row: Row) -> str:
    values = table.loc[table["measure"] == row["measure"], "value"].dropna()
    return f"{values.min():.2f} to {values.max():.2f}"


def _share(share: float) -> str:
    return "all the data" if share == 1 else f"1/{round(1 / share)} of the data"


def _signed(value: float, digits: int = 3) -> str:
    return f"{value:+.{digits}f}".replace("-", "−")


def _interval(low: float, high: float, digits: int = 3) -> str:
    if not np.isfinite(low):
        return ""
    return f" (95 % interval {_signed(low, digits)} to {_signed(high, digits)})"
