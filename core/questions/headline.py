"""The headline: one permutation test of alignment across vision and language on competence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from core.modalities import find_modality
from core.options import draws_option, part, seed_option
from core.progress import Progress
from core.questions.alignment.question import Alignment
from core.questions.asking import ask
from core.questions.competence.question import TasksSolved
from core.questions.finding import Finding
from core.questions.question import Answer, StudyQuestion
from core.statistics.trends import FEW, RankTrend, Setups, rank_trend
from core.study.models import rank_within, skill_values
from core.study.parts import Comparison, Measure
from core.study.study import Study
from core.study.trainings import describe_trainings

LAYERS = ("best", "last")  # the first decides
VERDICTS = {
    "supported": "for",
    "contradicted": "against",
    "open": "not shown",
    "unknown": "unknown",
}


@dataclass(frozen=True)
class Headline(StudyQuestion):
    """Do better models align more across modalities?

    One test, named in advance, for every store. A setup is a training in all its seeds, with the
    mean competence and alignment of these; its rank in competence is among those of its modality;
    its group, its architecture and objective.
    """

    command = "headline"
    version = 4
    columns: ClassVar[Mapping[str, str]] = {
        "layers": "best layers, which decide, or last layers",
        "vision": "vision setups",
        "language": "language setups",
        "change": "change of alignment from the least to the most competent third",
        "low": "low end of its 95% interval",
        "high": "high end of that interval",
        "rho": "rank correlation of alignment with competence within groups",
        "rho_low": "low end of its 95% interval",
        "rho_high": "high end of that interval",
        "p": "one-sided p of a rise, competence exchanged within groups",
        "draws": "permutations",
        "exact": "whether these are all",
        "reason": "why there is no test",
        "verdict": "for, against, not shown or unknown",
    }

    measure: Measure = part(Measure)
    permutations: int = draws_option(
        9999, least=19, help="permutations if there are more than these; else all"
    )
    seed: int = seed_option("seed of the permutations and of the intervals")

    def answer(self, study: Study, report: Progress | None) -> Answer:
        setups = setups_of(self, study)
        vision, language = (setups[setups["reads"] == reads] for reads in ("image", "caption"))
        rows = []
        for layers in LAYERS:
            trend = RankTrend(reason=FEW)
            if len(vision) and len(language):
                scores = _scores(self, study, report, vision, language, layers)
                trend = rank_trend(
                    scores,
                    ranked(vision),
                    ranked(language),
                    toward=self.measure.toward,
                    draws=self.permutations,
                    seed=self.seed,
                )
            counts = {"layers": layers, "vision": len(vision), "language": len(language)}
            rows.append(counts | asdict(trend))
        table = pd.DataFrame(rows)
        findings = self._findings(table)
        return Answer(table.assign(verdict=[VERDICTS[one.verdict] for one in findings]), findings)

    def _findings(self, table: pd.DataFrame) -> list[Finding]:
        """Return the claim in best and in last layers; p is one-sided, of the direction seen."""
        findings = []
        for row in table.to_dict("records"):
            rises = self.measure.toward * row["change"] > 0
            fall = max(1 - row["p"], 1 / max(row["draws"], 1))
            where = ", last layers" if row["layers"] == "last" else ""
            findings.append(
                Finding(
                    f"Better models align more across vision and language{where}",
                    row["change"],
                    row["low"],
                    row["high"],
                    row["p"] if rises else fall,
                    name="change",
                    digits=3,
                    n=int(row["vision"] + row["language"]),
                    over="setups",
                    expected="+" if self.measure.toward > 0 else "-",
                    reason=row["reason"],
                )
            )
        return findings


def setups_of(question: Headline, study: Study) -> pd.DataFrame:
    """Return a row per usual setup: recipe, line, reads, models, and rank of competence."""
    trainings = describe_trainings(study)
    usual = trainings[trainings["varies"] == ""]
    values = skill_values(study.competence(), ask(TasksSolved(question.scope), study))
    usual = usual.assign(competence=values.reindex(usual["model"]).to_numpy())
    setups = usual.groupby("recipe", sort=True).agg(
        line=("line", "first"),
        modality=("modality", "first"),
        models=("model", tuple),
        competence=("competence", "mean"),
    )
    reads = [find_modality(name).reads for name in setups["modality"]]
    ranks = rank_within(setups["competence"], setups["modality"])
    return setups.assign(reads=reads, rank=ranks)


def ranked(side: pd.DataFrame) -> Setups:
    return Setups(side["rank"].to_numpy(np.float64), pd.factorize(side["line"])[0].astype(np.int64))


def _scores(
    question: Headline,
    study: Study,
    report: Progress | None,
    vision: pd.DataFrame,
    language: pd.DataFrame,
    layers: str,
) -> np.ndarray:
    """Return the mean score of each vision setup with each language setup over their seeds."""
    measure = question.measure
    comparison = Comparison.of(measure.metric, measure.changed, layers=layers)
    of_y, of_x = (
        {name: recipe for recipe, models in side["models"].items() for name in models}
        for side in (vision, language)
    )
    pairs = ask(
        Alignment(question.scope, tuple(of_x), tuple(of_y), comparison=comparison), study, report
    )
    table = pairs.assign(vision=pairs["model_y"].map(of_y), language=pairs["model_x"].map(of_x))
    wide = table.pivot_table(index="vision", columns="language", values="score", aggfunc="mean")
    return wide.reindex(index=vision.index, columns=language.index).to_numpy(np.float64)
