"""What a frozen model of the other modality is worth to a learner, in data of the learner's own.

A learner without transfer at several shares N of the data draws a curve, linear in log N between
the shares. A learner that saw N events with transfer is as good as one without that saw N′: the
exchange rate is (N′ − N)/M, events of the learner's own modality per event that the teacher was
shown, M. The curve is never extrapolated. Source: section 5 of Huh et al. 2024.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float64

from core.cave.training.configs import EVENTS, IMAGES
from core.encoders.encoder import ModelCard
from core.statistics.nulls import adjust
from core.study.study import Study

MEAN = "mean"  # of the seeds, as a row
COLUMNS = (
    "modality",
    "learner",
    "teacher",
    "share",
    "events",
    "shown",
    "seed",
    "without",
    "with_transfer",
    "gain",
    "gain_low",
    "gain_high",
    "gain_p",
    "gain_q",
    "rate",
    "rate_low",
    "rate_high",
    "reason",
)
BEYOND = "better than all the data without transfer"
BELOW = "worse than the least data without transfer"
SEVERAL = "as good as several amounts of data without transfer"


@dataclass(frozen=True)
class Learner:
    """A training at a share of the data, by its config. teacher: "" without transfer."""

    model: str
    modality: str
    kind: str
    share: float
    seed: int
    teacher: str


def learners(study: Study) -> list[Learner]:
    """Return the trainings that can be compared: those with a teacher, and those of their kind that
    differ in the share of data alone.
    """
    cards = [study.entry(name).card for name in study.models()["model"]]
    every = [one for one in map(learner_of, cards) if one is not None]
    kinds = {one.kind for one in every if one.teacher}
    return [one for one in every if one.kind in kinds]


def learner_of(card: ModelCard) -> Learner | None:
    """Return what a card says of a finished training, None for one that differs from the usual in
    anything but data and teacher.
    """
    config = card.training.get("config") or {}
    if config.get("varies", "") not in ("", "data", "transfer") or not config.get("steps"):
        return None
    if card.training.get("steps") != config["steps"] or config.get("start"):
        return None
    kind = " ".join([card.family, str(config.get("size", "")).upper(), card.objective])
    return Learner(
        card.name,
        card.modality,
        kind,
        float(config.get("data", 1.0)),
        int(config.get("seed", 0)),
        config.get("teacher") or "",
    )


def exchange(every: list[Learner], values: pd.Series) -> pd.DataFrame:
    """Return rows with COLUMNS: for each kind of learner and share, each seed and then their mean.

    values: how good each model is, by name; higher is better. events: that the learner saw. shown:
    of these, to its teacher. gain: with transfer − without. Intervals: 95 %, Student's t over the
    seeds. gain_p: of the mean gain, paired by seed; gain_q: adjusted for all shares of a kind.
    rate: NaN with a reason where the value with transfer lies on no measured part of the curve.
    """
    rows: list[dict[str, object]] = []
    for kind in dict.fromkeys(one.kind for one in every if one.teacher):
        of_kind = [one for one in every if one.kind == kind]
        shares = sorted({one.share for one in of_kind if one.teacher})
        tried = [seeds for share in shares if (seeds := list(_rows(of_kind, share, values)))]
        means = [_mean(pd.DataFrame(seeds)) for seeds in tried]
        q = adjust(np.array([mean["gain_p"] for mean in means], dtype=float))
        for seeds, mean, one in zip(tried, means, q, strict=True):
            rows += [*seeds, mean | {"gain_q": one}]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _rows(every: list[Learner], share: float, values: pd.Series) -> Iterator[dict[str, object]]:
    """Yield a row per seed that was trained with and without transfer at a share."""
    taught = [one for one in every if one.teacher and one.share == share]
    for one in sorted(taught, key=lambda each: each.seed):
        alone = {
            each.share: float(values.get(each.model, np.nan))
            for each in every
            if not each.teacher and each.seed == one.seed
        }
        if share not in alone:
            continue
        reads = one.modality == "language"
        events = round(share * (EVENTS if reads else IMAGES))
        shown = min(events, IMAGES)
        value = float(values.get(one.model, np.nan))
        shares = np.array(sorted(alone))
        curve = np.array([alone[each] for each in sorted(alone)])
        equal, reason = equal_share(shares, curve, value)
        yield {
            "modality": one.modality,
            "learner": one.kind,
            "teacher": one.teacher,
            "share": share,
            "events": events,
            "shown": shown,
            "seed": str(one.seed),
            "without": alone[share],
            "with_transfer": value,
            "gain": value - alone[share],
            "rate": (equal / share - 1) * events / shown,
            "reason": reason,
        }


def equal_share(
    shares: Float64[np.ndarray, " s"], curve: Float64[np.ndarray, " s"], value: float
) -> tuple[float, str]:
    """Return the share of data at which a curve, linear in the logarithm, reaches a value; NaN with
    a reason where it does so nowhere or, as the curve is flat or bends, at several.
    """
    if not np.isfinite([*curve, value]).all():
        return np.nan, "a learner was not measured"
    if len(curve) < 2:
        return np.nan, "learners without transfer saw one share of the data alone"
    if value > curve.max():
        return np.nan, BEYOND
    if value < curve.min():
        return np.nan, BELOW
    logs, places = np.log(shares), set()
    for left in range(len(curve) - 1):
        (low, high), ends = curve[left : left + 2], logs[left : left + 2]
        if low == high == value:
            return np.nan, SEVERAL
        if min(low, high) <= value <= max(low, high):
            place = ends[0] + (value - low) / (high - low) * (ends[1] - ends[0])
            places.add(round(float(place), 9))
    return (float(np.exp(places.pop())), "") if len(places) == 1 else (np.nan, SEVERAL)


def _mean(seeds: pd.DataFrame) -> dict[str, object]:
    shared = ("modality", "learner", "teacher", "share", "events", "shown")
    about = {name: seeds.iloc[0][name] for name in shared}
    gain, gain_low, gain_high, gain_p = t_test(seeds["gain"].to_numpy(float))
    rate, rate_low, rate_high, _ = t_test(seeds["rate"].to_numpy(float))
    reasons = dict.fromkeys(reason for reason in seeds["reason"] if reason)
    missing = int(seeds["rate"].isna().sum())
    reason = f"{missing} of {len(seeds)} seeds: {', '.join(reasons)}" if missing else ""
    return {
        **about,
        "seed": MEAN,
        "without": seeds["without"].mean(),
        "with_transfer": seeds["with_transfer"].mean(),
        "gain": gain,
        "gain_low": gain_low,
        "gain_high": gain_high,
        "gain_p": gain_p,
        "rate": rate,
        "rate_low": rate_low,
        "rate_high": rate_high,
        "reason": reason,
    }


def t_test(values: Float64[np.ndarray, " n"]) -> tuple[float, float, float, float]:
    """Return the mean, its 95 % interval and the p that it is 0, by Student's t; NaN where a value
    is NaN, and neither interval nor p of fewer than two or of equal ones, whose spread is unknown.
    """
    from scipy.stats import t  # a third of a second

    mean = float(values.mean())
    if not np.isfinite(mean) or len(np.unique(values)) < 2:
        return mean, np.nan, np.nan, np.nan
    freedom, error = len(values) - 1, float(values.std(ddof=1) / np.sqrt(len(values)))
    reach = float(t.ppf(0.975, freedom)) * error
    return mean, mean - reach, mean + reach, float(2 * t.sf(abs(mean) / error, freedom))
