"""Are modalities aligned with each other, and with reality?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import ClassVar, Literal

import numpy as np
import pandas as pd

from core.figures.grammar import Axis, Dots, Fixed, Plot
from core.modalities import find_modality, known_first
from core.options import draws_option, models_option, part, seed_option
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
    version = 7
    columns: ClassVar[Mapping[str, str]] = {
        "one": "one modality",
        "other": "another modality, or reality",
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

    names: tuple[str, ...] = models_option(
        "finished models of any modality (all of usual recipes, every seed)"
    )
    comparison: Comparison = part(Comparison)
    permutations: int = draws_option(
        19, least=19, help="shuffles of the stimuli, to measure chance"
    )
    seed: int = seed_option("seed of the permutations")

    def complete(self, study: Study) -> Modalities:
        check_pairing(study, self.comparison)
        trainings = describe_trainings(study)
        choose_names(self.names, list(trainings["model"]), "finished model")
        names = self.names or trainings.loc[trainings["varies"] == "", "model"]
        return replace(self, names=tuple(sorted(set(names))))

    def answer(self, study: Study) -> Answer:
        trainings, models = describe_trainings(study), study.models()
        named = trainings[trainings["model"].isin(self.names)]
        sides = [named[named["modality"] == name] for name in known_first(named["modality"])]
        world = models[models["model"].isin(known_worlds(study))]
        fresh = models[(models["group"] == UNTRAINED) | is_reality(models)]
        seeds = ask(Replicates(self.scope, (), self.comparison), study)
        rows = []
        for one, other in [*combinations(sides, 2), *((s, world) for s in sides if len(world))]:
            kinds = one["modality"].iloc[0], other["modality"].iloc[0]
            scores = align_models(
                study, tuple(one["model"]), tuple(other["model"]), self.comparison
            )
            x, y = (tuple(fresh.loc[fresh["modality"] == kind, "model"]) for kind in kinds)
            untrained = np.nan
            if x and y:
                untrained = align_models(study, x, y, self.comparison)["score"].mean()
            row = meet(
                one,
                other,
                scores.pivot(index="model_x", columns="model_y", values="score"),
                chance=self._chance(one, other, study),
                untrained=float(untrained),
                ceiling=ceiling_between(seeds, *kinds),
                fixed=other is world,
            )
            known = models[models["modality"].isin(kinds) & models["model"].isin(self.names)]
            reasons = open_because(models, known["model"]), str(row["reason"])
            rows.append({**row, "reason": "; ".join(filter(None, reasons))})
        table = pd.DataFrame(rows).reindex(columns=list(self.columns))
        p_values = table[["p", "p_untrained"]].to_numpy(float)
        table[["q", "q_untrained"]] = adjust(p_values.ravel()).reshape(p_values.shape)
        return Answer(table, self.findings(table))

    def _chance(self, one: pd.DataFrame, other: pd.DataFrame, study: Study) -> float:
        """Return the mean score of shuffled stimuli, of one training of each recipe: it depends on
        how many layers there are, not on weights.
        """
        x, y = (tuple(side.drop_duplicates("recipe")["model"]) for side in (one, other))
        alone = Alignment(self.scope, x, y, axis="", comparison=self.comparison)
        calibration = Calibration(null=self.permutations, seed=self.seed)
        shuffled = ask(replace(alone, calibration=calibration), study)
        return float(shuffled["null_mean"].mean())

    def findings(self, table: pd.DataFrame) -> list[Finding]:
        """Return for every two modalities whether they are aligned beyond chance, and beyond
        untrained models.
        """
        if table.empty:
            return [Finding("No finished model is here: embed some")]
        findings = []
        for row in table.to_dict("records"):
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
        card = (
            "<b>{pair}</b>",
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
                    color=Fixed("chance"),
                    symbol="line-ns-open",
                    size=14,
                    name="chance: shuffled stimuli",
                ),
                Dots(
                    "untrained",
                    "pair",
                    color=Fixed("soft"),
                    symbol="diamond-open",
                    size=9,
                    name="untrained models",
                ),
                Dots(
                    "mean",
                    "pair",
                    color=Fixed("text"),
                    size=9,
                    left="low",
                    right="high",
                    name="trained models, 95% CI",
                    card=card,
                    ids="{models_one} models with {models_other}",
                ),
            ),
            x=Axis(self.comparison.label, zero=True),
            y=Axis("", names=tuple(dict.fromkeys(named["pair"]))),
            empty="No finished model is here: embed some.",
            row=54,
        ).over(named)


def _name(modality: str) -> str:
    one = find_modality(modality)
    return "reality" if one.is_reality else one.name


def meet(
    one: pd.DataFrame,
    other: pd.DataFrame,
    scores: pd.DataFrame,
    *,
    chance: float,
    untrained: float,
    ceiling: float,
    fixed: bool = False,
) -> dict[str, str | float]:
    """Return a row of `Modalities` without q and q_untrained.

    one, other: rows of `core.study.trainings.describe_trainings`, or of reality. scores: a row per
    model of one, a column per model of the other. fixed: whether the other side is reality.
    """
    kinds = one["modality"].iloc[0], other["modality"].iloc[0]
    scores = scores.dropna(how="all").dropna(axis=1, how="all")
    one = one.set_index("model").loc[scores.index]
    other = other.set_index("model").loc[scores.columns]
    lines = [side["line"] if "line" in side else side.index.to_series() for side in (one, other)]
    means = scores.groupby(lines[0]).mean().T.groupby(lines[1]).mean().T.to_numpy(float)
    side: Literal["", "columns"] = "columns" if fixed else ""
    crossed = crossed_mean(means, level=chance, fixed=side)
    few = next(
        (
            FEW.format(LEAST_CLUSTERS, len(names), ", ".join(map(str, names)) or "none")
            for names in (of.unique() for of in lines[: 1 if fixed else 2])
            if len(names) < LEAST_CLUSTERS
        ),
        "",
    )
    crossed = CrossedMean(crossed.value, reason=few) if few else crossed
    tested, way = math.isfinite(untrained) and not few, ceiling - chance
    no_ceiling = "" if math.isfinite(ceiling) else NO_CEILING[fixed]
    return {
        "one": kinds[0],
        "other": kinds[1],
        "models_one": len(one),
        "models_other": len(other),
        "mean": crossed.value,
        "low": crossed.low,
        "high": crossed.high,
        "chance": chance,
        "untrained": untrained,
        "ceiling": ceiling,
        "share": (crossed.value - chance) / way if way else np.nan,
        "p": crossed.p,
        "p_untrained": crossed_mean(means, level=untrained, fixed=side).p if tested else np.nan,
        "reason": "; ".join(filter(None, (crossed.reason, no_ceiling))),
    }
