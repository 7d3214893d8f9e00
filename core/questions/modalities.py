"""Do modalities meet: how aligned every two of them are, and each with reality, over all models and
at each size that both have.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from core.figures.grammar import Axis, Dots, Fixed, Palette, Plot
from core.modalities import find_modality, known_first
from core.options import draws_option, option, part, seed_option
from core.progress import Progress
from core.questions.alignment.question import Alignment
from core.questions.asking import ask
from core.questions.convergence.question import Replicates
from core.questions.finding import Finding
from core.questions.question import Answer, StudyQuestion
from core.statistics.correlations import LEAST_CLUSTERS
from core.statistics.intervals import CrossedMean, crossed_mean
from core.statistics.nulls import adjust
from core.study.comparing import align_models, check_pairing
from core.study.models import OPEN, UNTRAINED, is_reality, open_because
from core.study.noise import ceiling_between
from core.study.parts import Calibration, Comparison
from core.study.study import Study, known_worlds
from core.study.trainings import choose_names, describe_trainings

ALL = "all"
NO_CEILING = {
    True: "no ceiling: reality is no training",
    False: "no ceiling: no recipe of one side was trained with several seeds",
}
FEW = "a test takes {} families or objectives of each modality, whose sizes count once; here {}: {}"


@dataclass(frozen=True)
class Modalities(StudyQuestion):
    """Are models of different modalities aligned with each other, and with reality?

    They are if they align more than with shuffled stimuli, and more than untrained models do.
    """

    command = "modalities"
    version = 6
    columns: ClassVar[Mapping[str, str]] = {
        "one": "one modality",
        "other": "another modality, or reality",
        "size": "size of the models, or all",
        "models_one": "models of the one",
        "models_other": "models of the other",
        "mean": "mean alignment",
        "low": "low end of its 95% interval over lines of both sides",
        "high": "high end of that interval",
        "chance": "mean alignment with shuffled stimuli",
        "untrained": "mean alignment of untrained models of both",
        "ceiling": "alignment of two seeds of a recipe, of two modalities the geometric mean",
        "share": "(mean − chance) / (ceiling − chance)",
        "p": "p of the difference from chance",
        "q": "p adjusted for all rows and both tests",
        "p_untrained": "p of the difference from untrained models, whose level is taken as known",
        "q_untrained": "p adjusted likewise",
        "reason": "why there is no interval or ceiling",
    }

    names: tuple[str, ...] = option(
        (),
        name="models",
        label="Models",
        metavar="M",
        help="finished models of any modality (all of usual recipes, every seed)",
    )
    comparison: Comparison = part(Comparison)
    permutations: int = draws_option(
        19, least=19, help="times that stimuli are shuffled, to measure chance"
    )
    seed: int = seed_option("seed of the permutations")

    def complete(self, study: Study) -> Modalities:
        check_pairing(study, self.comparison)
        trainings = describe_trainings(study)
        choose_names(self.names, list(trainings["model"]), "finished model")
        names = self.names or trainings.loc[trainings["varies"] == "", "model"]
        return replace(self, names=tuple(sorted(set(names))))

    def answer(self, study: Study, report: Progress | None) -> Answer:
        meetings = list(_meetings(self, study, report))
        rows = [row for meeting in meetings for row in rows_of(meeting)]
        table = pd.DataFrame(rows).reindex(columns=list(self.columns))
        models = study.models()
        members = models[models["model"].isin(self.names)].groupby("modality")["model"].agg(list)
        opened = [
            open_because(models, [*members[one], *members.get(other, [])])
            for one, other in zip(table["one"], table["other"], strict=True)
        ]
        reasons = zip(opened, table["reason"], strict=True)
        table["reason"] = ["; ".join(filter(None, both)) for both in reasons]
        p_values = table[["p", "p_untrained"]].to_numpy(float)
        table[["q", "q_untrained"]] = adjust(p_values.ravel()).reshape(p_values.shape)
        return Answer(table, self.findings(table))

    def findings(self, table: pd.DataFrame) -> list[Finding]:
        """Return for every two modalities whether they are aligned beyond chance, and beyond
        untrained models.
        """
        if table.empty:
            return [Finding("No finished model is here: embed some")]
        findings = []
        for row in table[table["size"] == ALL].to_dict("records"):
            who = f"{_name(row['one'])} and {_name(row['other'])}"
            share = f"{row['share']:.0%} of the ceiling." if np.isfinite(row["share"]) else ""
            reason = row["reason"] if OPEN in row["reason"] or np.isnan(row["q"]) else ""
            for level, q, than in (
                ("chance", "q", "beyond chance"),
                ("untrained", "q_untrained", "more than untrained models"),
            ):
                if level == "chance" or np.isfinite(row[level]):
                    findings.append(
                        Finding(
                            f"{who} are aligned {than}",
                            row["mean"] - row[level],
                            row["low"] - row[level],
                            row["high"] - row[level],
                            row[q],
                            name="difference",
                            digits=3,
                            n=int(row["models_one"] + row["models_other"]),
                            expected="+" if self.comparison.toward > 0 else "-",
                            reason=reason,
                            note=share if level == "chance" else "",
                        )
                    )
        return findings

    def plot(self, table: pd.DataFrame) -> Plot:
        named = table.assign(
            pair=[
                f"{_name(one)} with {_name(other)}"
                for one, other in zip(table["one"], table["other"], strict=True)
            ]
        )
        sizes = {ALL: "text"}
        sizes |= {str(size): "soft" for size in dict.fromkeys(table["size"]) if size != ALL}
        names = {size: "all models" if size == ALL else f"size {size}" for size in sizes}
        card = (
            "<b>{pair}, {size}</b>",
            "{mean:.3f}[[, 95% interval {low:.3f} to {high:.3f}]]",
            "chance {chance:.3f}[[, {q:p:q}]][[, ceiling {ceiling:.3f}]]",
            "untrained {untrained:.3f}[[, {q_untrained:p:q}]]",
        )
        return Plot(
            "Alignment of modalities",
            marks=(
                Dots(
                    "chance",
                    "pair",
                    rows=f"size == '{ALL}'",
                    color=Fixed("chance"),
                    symbol="line-ns-open",
                    size=14,
                    name="chance: shuffled stimuli",
                ),
                Dots(
                    "untrained",
                    "pair",
                    rows=f"size == '{ALL}'",
                    color=Fixed("soft"),
                    symbol="diamond-open",
                    size=9,
                    name="untrained models",
                ),
                Dots(
                    "mean",
                    "pair",
                    color=Palette("size", sizes, names),
                    size=9,
                    left="low",
                    right="high",
                    dodge=0.15,
                    card=card,
                    ids="{models_one} models with {models_other}",
                ),
            ),
            x=Axis(self.comparison.label, zero=True),
            y=Axis("", names=tuple(dict.fromkeys(named["pair"]))),
            empty="No finished model is here: embed some.",
            row=74,
        ).over(named)


def _name(modality: str) -> str:
    one = find_modality(modality)
    return "reality" if one.is_reality else one.name


def _meetings(question: Modalities, study: Study, report: Progress | None) -> Iterator[Meeting]:
    trainings, models = describe_trainings(study), study.models()
    named = trainings[trainings["model"].isin(question.names)]
    sides = [named[named["modality"] == name] for name in known_first(named["modality"])]
    world = models[models["model"].isin(known_worlds(study))]
    fresh = models[(models["group"] == UNTRAINED) | is_reality(models)].set_index("model")
    comparison = question.comparison
    seeds = ask(Replicates(question.scope, (), comparison), study, report)
    calibration = Calibration(null=question.permutations, seed=question.seed)

    def matrix(table: pd.DataFrame, values: str, *sides: pd.DataFrame) -> pd.DataFrame:
        wide = table.pivot(index="model_x", columns="model_y", values=values)
        return wide.reindex(index=list(sides[0]["model"]), columns=list(sides[1]["model"]))

    pairs = [*combinations(sides, 2), *((side, world) for side in sides if len(world))]
    for one, other in pairs:
        kinds = one["modality"].iloc[0], other["modality"].iloc[0]
        # chance depends on how many layers there are, not on weights: one training of each recipe
        x, y = (tuple(side.drop_duplicates("recipe")["model"]) for side in (one, other))
        alone = Alignment(question.scope, x, y, axis="", comparison=comparison)
        shuffled = ask(replace(alone, calibration=calibration), study, report)
        scored = align_models(study, tuple(one["model"]), tuple(other["model"]), comparison)
        untrained = pd.DataFrame(columns=["score", "size_one", "size_other"])
        x, y = (tuple(fresh.index[fresh["modality"] == kind]) for kind in kinds)
        if x and y:
            scores = align_models(study, x, y, comparison)
            sizes = {
                "size_one": scores["model_x"].map(fresh["size"]),
                "size_other": scores["model_y"].map(fresh["size"]),
            }
            untrained = pd.DataFrame({"score": scores["score"], **sizes})
        yield Meeting(
            one,
            other,
            matrix(scored, "score", one, other),
            matrix(shuffled, "null_mean", one, other),
            untrained,
            ceiling_between(seeds, *kinds),
            fixed=other is world,
        )


@dataclass(frozen=True)
class Meeting:
    """Two sides and how their models align.

    one, other: rows of `core.study.trainings.describe_trainings`; of reality, its model alone.
    scores: a row per model of one, a column per model of the other. shuffled: likewise, the mean
    score of shuffled stimuli, NaN if it was not measured. untrained: score, size_one and
    size_other of every two untrained models of both sides. ceiling: see
    `core.study.noise.ceiling_between`. fixed: whether the other side is reality.
    """

    one: pd.DataFrame
    other: pd.DataFrame
    scores: pd.DataFrame
    shuffled: pd.DataFrame
    untrained: pd.DataFrame
    ceiling: float
    fixed: bool = False


def rows_of(meeting: Meeting) -> Iterator[dict[str, Any]]:
    """Yield the rows of `Modalities` without q and q_untrained: over all models that have a score,
    then for models of one size with models of the same.
    """
    yield _row(meeting, meeting.one, meeting.other, ALL)
    named = meeting.one[meeting.one["size"] != ""]
    for size in named.groupby("size")["parameters"].median().sort_values().index:
        one = named[named["size"] == size]
        other = meeting.other
        if not meeting.fixed:
            other = other[other["size"] == size]
        if len(other):
            yield _row(meeting, one, other, str(size))


def _row(
    meeting: Meeting, one: pd.DataFrame, other: pd.DataFrame, size: Hashable
) -> dict[str, Any]:
    scores = meeting.scores.loc[one["model"], other["model"]]
    scores = scores.dropna(how="all").dropna(axis=1, how="all")
    one, other = (
        side[side["model"].isin(kept)]
        for side, kept in ((one, scores.index), (other, scores.columns))
    )
    shuffled = meeting.shuffled.loc[one["model"], other["model"]].to_numpy(float)
    chance = float(pd.Series(shuffled.ravel()).mean())  # of those that were measured
    means = scores.groupby(_lines(one)).mean().T.groupby(_lines(other)).mean().T.to_numpy(float)
    fixed: Literal["", "columns"] = "columns" if meeting.fixed else ""
    crossed = crossed_mean(means, level=chance, fixed=fixed)
    few = _too_few(one, *(() if meeting.fixed else (other,)))
    if few:
        crossed = CrossedMean(crossed.value, reason=few)
    fresh = meeting.untrained
    if size != ALL:
        same = fresh["size_one"] == size
        fresh = fresh[same if meeting.fixed else same & (fresh["size_other"] == size)]
    untrained, way = float(fresh["score"].mean()), meeting.ceiling - chance
    tested = math.isfinite(untrained) and not few
    no_ceiling = "" if math.isfinite(meeting.ceiling) else NO_CEILING[meeting.fixed]
    return {
        "one": meeting.one["modality"].iloc[0],
        "other": meeting.other["modality"].iloc[0],
        "size": size,
        "models_one": len(one),
        "models_other": len(other),
        "mean": crossed.value,
        "low": crossed.low,
        "high": crossed.high,
        "chance": chance,
        "untrained": untrained,
        "ceiling": meeting.ceiling,
        "share": (crossed.value - chance) / way if way else np.nan,
        "p": crossed.p,
        "p_untrained": crossed_mean(means, level=untrained, fixed=fixed).p if tested else np.nan,
        "reason": "; ".join(filter(None, (crossed.reason, no_ceiling))),
    }


def _too_few(*sides: pd.DataFrame) -> str:
    """Return of which side there are too few lines for a test, "" if of none."""
    for side in sides:
        if (count := side["line"].nunique()) < LEAST_CLUSTERS:
            kinds = ", ".join(map(str, side["line"].unique())) or "none"
            return FEW.format(LEAST_CLUSTERS, count, kinds)
    return ""


def _lines(side: pd.DataFrame) -> list[str]:
    """Return what of a side is drawn again in another sample; reality is alone."""
    return side["line" if "line" in side else "model"].tolist()
