"""What an image tells a language model, in plain sentences, whichever way it goes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from core.figures.numbers import counted, p_text, share_text
from core.questions.prefix.question import PrefixBits, PrefixCaptions
from core.statistics.intervals import crossed_mean, grid_correlation

SURE = 0.05
BESIDE = {
    "alignment": "the alignment of the pair",
    "solved": "the share of tasks that the vision model solves",
    "competence": "1 − bits per byte of the captions",
}
Row = Mapping[Hashable, Any]


def bits_findings(question: PrefixBits, table: pd.DataFrame) -> list[str]:
    """Say whether images save bits, whether others' mislead, and what goes with saving."""
    measured = table[table["saved"].notna()]
    if measured.empty:
        return [_nothing(table)]
    said = [_verdict(measured), _misled(measured)]
    if question.shuffled:
        said.insert(1, "These maps were trained on images of other captions: a check of chance.")
    said += [sentence for name in BESIDE if (sentence := _goes_with(name, measured))]
    missing = len(table) - len(measured)
    if missing:
        said.append(f"{counted(missing, 'pair', 'pairs')} could not be measured: {_why(table)}.")
    return said


def _verdict(measured: pd.DataFrame) -> str:
    sure = measured[measured["q"] <= SURE]
    helped, hurt = int((sure["saved"] > 0).sum()), int((sure["saved"] < 0).sum())
    best = measured.sort_values("saved", kind="stable").iloc[-1].to_dict()
    saves = (
        f"Through one linear map the image saves bits of the caption in {helped} of"
        f" {counted(len(measured), 'pair', 'pairs')}"
        if helped
        else f"In none of {counted(len(measured), 'pair', 'pairs')} is an image shown to save bits"
        " of the caption"
    )
    costs = f", and costs bits in {hurt}" if hurt else ""
    return (
        f"{saves}{costs} (q ≤ {SURE}); most, {_signed(best['saved'])} bits per byte or"
        f" {best['per_caption']:.1f} bits per caption{_interval(best, 'low', 'high')},"
        f" {_tested(best)}, from {best['y']} to {best['x']}."
    )


def _tested(row: Row) -> str:
    return p_text(row["q"], "q") if np.isfinite(row["q"]) else "without a test"


def _misled(measured: pd.DataFrame) -> str:
    worse = int((measured["misled_low"] > 0).sum())
    return (
        "Everything is set against a prefix as long that was learned without images. Another"
        f" stimulus's image costs {_signed(measured['misled'].mean())} bits per byte on average"
        f" over the pairs; its interval lies above 0 in {worse} of {len(measured)}."
    )


def _goes_with(name: str, measured: pd.DataFrame) -> str:
    """Say how saving goes with something else over the grid of pairs; "" where it has gaps."""
    grids = [measured.pivot(index="x", columns="y", values=each) for each in (name, "saved")]
    x, y = (grid.to_numpy(float) for grid in grids)
    kin = [
        measured.drop_duplicates(side).set_index(side)[f"line_{side}"].reindex(names).tolist()
        for side, names in (("x", grids[0].index), ("y", grids[0].columns))
    ]
    rho, p = grid_correlation(x, y, (kin[0], kin[1]), draws=4_999, seed=0)
    if not np.isfinite(p):
        return ""
    sense = "goes up" if rho > 0 else "goes down"
    shown = f"What is saved {sense} with" if p <= SURE else "What is saved is not shown to go with"
    return (
        f"{shown} {BESIDE[name]} (ρ = {_signed(rho, 2)} over {measured.shape[0]} pairs, {p_text(p)}"
        " with models dealt anew, since pairs share them)."
    )


def caption_findings(_: PrefixCaptions, table: pd.DataFrame) -> list[str]:
    """Say how much of what is written is there to be seen, where that is known."""
    if "named" not in table:
        return ["What is written can be read below; nobody knows here whether it is true."]
    captioned = table[table["named"] > 0]
    if captioned.empty:
        return ["Nothing that was written is a caption of the Cave."]
    own, other = (
        (captioned[name] / captioned["named"]).to_numpy(float) for name in ("there", "elsewhere")
    )
    gain = crossed_mean((own - other)[None], fixed="rows")
    return [
        f"Of the things that it names behind an image, {share_text(own.mean())} are in it, and"
        f" {share_text(other.mean())} in another stimulus's image, which is chance (difference"
        f" {_signed(gain.value, 2)}, 95 % interval {_signed(gain.low, 2)} to"
        f" {_signed(gain.high, 2)} over stimuli).",
        f"{len(captioned):,} of {len(table):,} texts begin with a caption of the Cave; only these"
        " count, each as much as any other.",
    ]


def _nothing(table: pd.DataFrame) -> str:
    return f"No pair could be measured: {_why(table)}."


def _why(table: pd.DataFrame) -> str:
    reasons = dict.fromkeys(table.loc[table["saved"].isna(), "reason"])
    return "; ".join(str(reason).rstrip(".") for reason in reasons)


def _signed(value: float, digits: int = 3) -> str:
    return f"{value:+.{digits}f}".replace("-", "−")


def _interval(row: Row, low: str, high: str) -> str:
    if not np.isfinite(row[low]):
        return ""
    return f" (95 % interval {_signed(row[low])} to {_signed(row[high])} bits per byte)"
