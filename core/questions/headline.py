"""The headline: one permutation test of alignment across vision and language on competence, and the
same trend under many ways to measure it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from core.figures.grammar import Axis, Dots, Facet, Fixed, Level, Palette, Plot
from core.metrics import METRICS
from core.modalities import find_modality
from core.options import draws_option, option, part, seed_option
from core.progress import tell_each
from core.questions.alignment.question import Alignment
from core.questions.asking import ask
from core.questions.competence.question import TasksSolved, unasked
from core.questions.finding import Finding
from core.questions.question import Answer, StudyQuestion
from core.spaces.choices import Clamping
from core.statistics.nulls import adjust
from core.statistics.trends import FEW, RankTrend, Setups, rank_trend, specification_curve
from core.study.comparing import compare_models
from core.study.layers import NOWHERE, pick, read_choice
from core.study.models import rank_within, skill_values
from core.study.parts import Comparison, Measure, Scope
from core.study.selections import encode
from core.study.study import Study
from core.study.trainings import describe_trainings

LAYERS = ("best", "last")  # the first decides
LARGEST = 1024  # stimuli that specifications are compared over
SECONDS_EACH, SECONDS_PAIR = 0.3, 0.04  # of a model, and of two, over all of them
METRICS_OF_KS = {"mutual_knn": (5, 10, 20, 50), "cknna": (10, 50)}
GLOBAL = ("cka", "unbiased_cka")
LAYER_RULES = {"best": "best pair", "last": "last", "0.75": "3/4 deep", "0.5": "middle"}
CLAMPINGS = {Clamping(): "clamped at q = 0.95", Clamping(q=1.0): "not clamped"}
CURVE, CHOICES = "curve", "choices"


def also_option() -> Any:
    """Declare which models count though they are `unasked`."""
    return option(
        (),
        label="Also count",
        metavar="M",
        help="imported models to count although their family and scores are unknown",
    )


@dataclass(frozen=True)
class Headline(StudyQuestion):
    """Do better models align more across modalities?

    One test, named in advance, for every store. A setup is a training in all its seeds, with the
    mean competence and alignment of these; its rank in competence is among those of its modality;
    its group, its architecture and objective. Imported features without family and scores are left
    out, unless `also` names them or their modality has no other models.
    """

    command = "headline"
    version = 6
    columns: ClassVar[Mapping[str, str]] = {
        "layers": "best layers, which decide, or last layers",
        "vision": "vision setups",
        "language": "language setups",
        "counted": "setups of both whose competence is known",
        "chance": "alignment of unrelated models",
        "change": "change of alignment from the least to the most competent third",
        "low": "low end of its 95% interval",
        "high": "high end of that interval",
        "rho": "rank correlation of alignment with competence within groups",
        "rho_low": "low end of its 95% interval",
        "rho_high": "high end of that interval",
        "p": "one-sided p of a rise, competence permuted within groups",
        "draws": "permutations",
        "exact": "whether these are all",
        "reason": "why there is no test",
        "verdict": "supported, contradicted, open or unknown",
    }

    measure: Measure = part(Measure)
    permutations: int = draws_option(
        9999, least=19, help="permutations if there are more than these; else all"
    )
    seed: int = seed_option("seed of the permutations and of the intervals")
    also: tuple[str, ...] = also_option()

    def answer(self, study: Study) -> Answer:
        setups = setups_of(study, self.also)
        vision, language = (setups[setups["reads"] == reads] for reads in ("image", "caption"))
        rows = []
        for layers in LAYERS:
            trend, chance = RankTrend(reason=FEW), np.nan
            if len(vision) and len(language):
                scores, chance = _scores(self, study, vision, language, layers)
                trend = rank_trend(
                    scores,
                    ranked(vision),
                    ranked(language),
                    toward=self.measure.toward,
                    draws=self.permutations,
                    seed=self.seed,
                )
            known = int(vision["rank"].notna().sum() + language["rank"].notna().sum())
            counts = {"layers": layers, "vision": len(vision), "language": len(language)}
            rows.append(counts | {"counted": known, "chance": chance} | asdict(trend))
        table = pd.DataFrame(rows)
        findings = self._findings(table)
        return Answer(table.assign(verdict=[one.verdict for one in findings]), findings)

    def _findings(self, table: pd.DataFrame) -> list[Finding]:
        """Return the claim in best and in last layers; p is one-sided, of the direction seen."""
        claim = "Better models align more across vision and language"
        return [
            rank_finding(
                f"{claim} in last layers" if row["layers"] == "last" else claim,
                row,
                toward=self.measure.toward,
                unit=self.measure.spec.short,
                n=int(row["counted"]),
                digits=3,
            )
            for row in table.to_dict("records")
        ]


def rank_finding(claim: str, trend: Mapping[Any, Any], *, toward: int = 1, **more: Any) -> Finding:
    """Return whether alignment rises with competence; p is one-sided, of the direction seen. trend:
    the fields of a `RankTrend`.
    """
    p = trend["p"]
    if not toward * trend["change"] > 0:
        p = max(1 - p, 1 / max(trend["draws"], 1))
    return Finding(
        claim,
        trend["change"],
        trend["low"],
        trend["high"],
        p,
        name="best − worst third",
        expected="+" if toward > 0 else "-",
        reason=trend["reason"],
        **more,
    )


def setups_of(study: Study, also: Collection[str] = ()) -> pd.DataFrame:
    """Return a row per usual setup: recipe, line, reads, models, and rank of competence.

    also: models that count even if they are `unasked`.
    """
    trainings = describe_trainings(study)
    usual = trainings[trainings["varies"] == ""]
    usual = usual[~usual["model"].isin({*unasked(study)} - {*also})]
    scope = Scope(study.dataset.name)
    values = skill_values(study.competence(), ask(TasksSolved(scope), study))
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
    vision: pd.DataFrame,
    language: pd.DataFrame,
    layers: str,
) -> tuple[np.ndarray, float]:
    """Return the mean score of each vision setup with each language setup over their seeds, and
    that of chance.
    """
    measure = question.measure
    comparison = Comparison.of(measure.metric, measure.changed, layers=layers)
    of_y, of_x = (
        {name: recipe for recipe, models in side["models"].items() for name in models}
        for side in (vision, language)
    )
    aligned = Alignment(question.scope, tuple(of_x), tuple(of_y), axis="", comparison=comparison)
    pairs = ask(aligned, study)
    table = pairs.assign(vision=pairs["model_y"].map(of_y), language=pairs["model_x"].map(of_x))
    wide = table.pivot_table(index="vision", columns="language", values="score", aggfunc="mean")
    scores = wide.reindex(index=vision.index, columns=language.index).to_numpy(np.float64)
    return scores, pairs["chance"].mean()


@dataclass(frozen=True)
class Specification:
    """One way to measure alignment: metric and k, layers, clamping."""

    metric: str
    k: int | None
    layers: str
    clamping: Clamping


HEADLINE = Specification("mutual_knn", 10, "best", Clamping())


@dataclass(frozen=True)
class Specifications(StudyQuestion):
    """Does the headline depend on how alignment is measured?

    The rank correlation of competence and alignment across vision and language for every metric, k,
    layer rule and clamping, with one joint permutation test over all. A setup counts with its first
    run; of more than 1,024 stimuli, that many are drawn.
    """

    command = "specifications"
    version = 4
    columns: ClassVar[Mapping[str, str]] = {
        "place": "place among all, from the lowest ρ",
        "metric": "metric",
        "k": "neighbors",
        "layers": "layers that are compared: best pair, last, or a depth",
        "clamping": "how outliers of features are clamped",
        "rho": "rank correlation of alignment with competence, higher being more aligned",
        "low": "low end of its 95% interval over families and objectives",
        "high": "high end of that interval",
        "p": "one-sided p of a rise, competence permuted within families and objectives",
        "headline": "whether it is the headline's way",
        "setups": "vision and language setups of known competence",
        "n": "stimuli",
        "median": "median ρ over all",
        "joint": "p of the median, all measured with the same permutations",
        "reason": "why there is no ρ",
    }

    permutations: int = draws_option(1999, least=19, help="permutations of the joint test")
    seed: int = seed_option("seed of permutations, intervals and of the stimuli drawn")
    also: tuple[str, ...] = also_option()

    def answer(self, study: Study) -> Answer:
        setups = setups_of(study, self.also)
        sides = [setups[setups["reads"] == reads] for reads in ("image", "caption")]
        n = min(study.size, LARGEST)
        measured: list[tuple[str, int | None]] = [
            (name, k) for name, ks in METRICS_OF_KS.items() for k in ks if k < n / 2
        ]
        measured += [(name, None) for name in GLOBAL]
        every = product(
            CLAMPINGS, measured, LAYER_RULES
        )  # what one study holds is used before the next
        ways = [Specification(*way, layers, clamping) for clamping, way, layers in every]
        if any(side.empty for side in sides):
            scores = np.full((len(ways), *map(len, sides)), np.nan)
        else:
            scores = _specified_scores(study, sides, ways, n, self.seed)
        x, y = map(ranked, sides)
        curve = specification_curve(scores, x, y, draws=self.permutations, seed=self.seed)
        table = pd.DataFrame(
            {
                "metric": [one.metric for one in ways],
                "k": [one.k for one in ways],
                "layers": [one.layers for one in ways],
                "clamping": [CLAMPINGS[one.clamping] for one in ways],
                "rho": curve.rho,
                "low": curve.low,
                "high": curve.high,
                "p": curve.p,
                "headline": [one == HEADLINE for one in ways],
                "setups": sum(int(side["rank"].notna().sum()) for side in sides),
                "n": n,
                "median": curve.median,
                "joint": curve.joint,
                "reason": curve.reason,
            }
        )
        table = table.astype({"k": "Int64"}).sort_values("rho", kind="stable", ignore_index=True)
        table.insert(0, "place", np.arange(1, len(table) + 1))
        return Answer(table, find(table))

    def compared_metrics(self) -> tuple[str, ...]:
        return (*METRICS_OF_KS, *GLOBAL)

    def seconds(self, study: Study) -> float:
        """Return about how long the answer takes on a usual machine."""
        setups = setups_of(study, self.also)
        sides = [int((setups["reads"] == reads).sum()) for reads in ("image", "caption")]
        share = (min(study.size, LARGEST) / LARGEST) ** 2
        return share * (SECONDS_EACH * sum(sides) + SECONDS_PAIR * sides[0] * sides[1])

    def plot(self, table: pd.DataFrame) -> Plot:
        """Draw ρ in rising order with its intervals, and below it what each way chooses."""
        shorts = {name: METRICS[name].spec.short for name in (*METRICS_OF_KS, *GLOBAL)}
        shown = table.dropna(subset="rho").assign(
            titles=lambda rows: [
                _title(*way) for way in zip(rows["metric"], rows["k"], strict=True)
            ],
            layer_title=lambda rows: rows["layers"].map(LAYER_RULES),
        )
        chosen = shown.assign(
            panel=CHOICES,
            metric_title=shown["metric"].map(shorts),
        ).melt(
            ["place", "panel", "layers", "rho"],
            ["metric_title", "layer_title", "clamping"],
            value_name="choice",
        )
        card = (
            "<b>{titles}</b>",
            "{layer_title} layers, {clamping}",
            "ρ = {rho:.2f} [{low:.2f}, {high:.2f}], {p:p}",
        )
        curve = shown.assign(panel=CURVE, zero=0.0)
        choices = [*shorts.values(), *LAYER_RULES.values(), *CLAMPINGS.values()]
        palette = Palette("layers", names=LAYER_RULES)
        return Plot(
            "Specification curve",
            marks=(
                Dots(
                    *("place", "rho"),
                    table=curve,
                    color=palette,
                    low="low",
                    high="high",
                    size=6.0,
                    card=card,
                ),
                Dots(
                    *("place", "rho"),
                    table=curve[curve["headline"]],
                    color=Fixed(),
                    symbol="diamond",
                    size=13.0,
                    name="the headline’s choice",
                    card=card,
                ),
                Dots(*("place", "choice"), table=chosen, color=palette, size=5.0),
            ),
            facet=Facet(
                "panel",
                {CURVE: "", CHOICES: ""},
                head=lambda _: "",
                columns=1,
                share="x",
            ),
            x=Axis("", range=(0, len(table) + 1)),
            y={
                CURVE: Axis("ρ"),
                CHOICES: Axis(
                    names={one: one.partition(" at ")[0] for one in choices},
                ),
            },
            levels=(
                Level("zero", "zero", table=curve),
                Level("median", "control", "median", table=curve),
            ),
            empty="No trend can be tested here[[: {reason}]].",
            height=220,
            legend=False,
        ).over(table)


def _specified_scores(
    study: Study,
    sides: list[pd.DataFrame],
    ways: list[Specification],
    n: int,
    seed: int,
) -> np.ndarray:
    """Return how aligned each vision setup is with each language setup, higher being more, for each
    specification.
    """
    vision, language = ([models[0] for models in side["models"]] for side in sides)
    chosen = study.stimuli
    if n < study.size:
        drawn = np.sort(np.random.default_rng(seed).choice(study.size, n, replace=False))
        rows = drawn if study.rows is None else study.rows[drawn]
        chosen = encode(rows, study.dataset.size)
    scores = np.full((len(ways), len(vision), len(language)), np.nan)
    measures = list(dict.fromkeys((one.clamping, one.metric, one.k) for one in ways))
    studies: dict[Clamping, Study] = {}
    for clamping, metric, k in tell_each(measures, "ways to measure alignment"):
        if clamping not in studies:
            studies = {clamping: study.under(clamping, stimuli=chosen)}
        measure = Measure(metric, k)
        pairs = compare_models(studies[clamping], vision, language, measure)
        for place, way in enumerate(ways):
            if (way.clamping, way.metric, way.k) != (clamping, metric, k):
                continue
            choice = read_choice(way.layers)
            for (x, y), found in pairs.items():
                at = pick(found.values, choice, spec=measure.spec)
                if at != NOWHERE:
                    score = measure.toward * found.values[at]
                    scores[place, vision.index(x), language.index(y)] = score
    return scores


def metrics_plot(table: pd.DataFrame) -> Plot:
    """Draw ρ of each metric and k with its interval, in the headline's layers and clamping, and ρ
    in others, fainter. table: as of `Specifications`.
    """
    rows = table.dropna(subset="rho").assign(
        way=lambda rows: [_title(*way) for way in zip(rows["metric"], rows["k"], strict=True)],
        layer_title=lambda rows: rows["layers"].map(LAYER_RULES),
    )
    same = _as_headline(rows)
    shown = rows[same].sort_values("rho", kind="stable", ascending=False)
    card = ("<b>{way}</b>", "{layer_title} layers, {clamping}", "ρ = {rho:.2f}, {p:p}")
    return Plot(
        "Trend of alignment with competence by metric",
        marks=(
            Dots(
                *("rho", "way"),
                table=rows[~same],
                color=Fixed("soft"),
                size=6.0,
                opacity=0.6,
                name="other layers or clamping",
                card=card,
            ),
            Dots(
                *("rho", "way"),
                table=shown,
                color=Fixed("ember"),
                left="low",
                right="high",
                size=11.0,
                name="best layers, 95% CI",
                card=card,
            ),
        ),
        x=Axis("ρ (right of 0: better models align more)"),
        y=Axis(names=list(shown["way"])),
        levels=(Level(0.0, "zero", along="x"),),
        row=30,
    ).over(rows)


def _title(metric: str, k: int | None) -> str:
    return METRICS[metric].spec.short + ("" if pd.isna(k) else f", k = {k}")


def _as_headline(table: pd.DataFrame) -> pd.Series:
    """Return which rows have the headline's layers and clamping."""
    clamping = CLAMPINGS[HEADLINE.clamping]
    return (table["layers"] == HEADLINE.layers) & (table["clamping"] == clamping)


def by_metric(table: pd.DataFrame) -> pd.DataFrame:
    """Return metric, rho, q and n of each metric in the headline's layers, clamping and k."""
    rows = table[_as_headline(table) & (table["k"].isna() | (table["k"] == HEADLINE.k))]
    rows = rows[["metric", "rho", "p", "setups"]].rename(columns={"setups": "n"})
    return rows.assign(q=adjust(rows["p"].to_numpy(float)))


def find(table: pd.DataFrame) -> list[Finding]:
    known = table.dropna(subset="rho")
    claim = "Better models align more by most metrics, k, layers and clampings"
    if known.empty:
        return [Finding(claim, expected="+", reason=str(table["reason"].iloc[0]))]
    first = known.iloc[0]
    above = int(((known["rho"] > 0) & (known["p"] < 0.05)).sum())
    low, high = (f"{one:.2f}".replace("-", "−") for one in (known["rho"].min(), known["rho"].max()))
    found = [
        Finding(
            claim,
            first["median"],
            p=first["joint"],
            name="median ρ",
            n=len(known),
            over="combinations",
            expected="+",
            note=f"ρ from {low} to {high}; alone significant in {above}.",
        )
    ]
    medians = known.groupby("layers")["rho"].median()
    for layers, title in LAYER_RULES.items():
        if layers in medians:
            found.append(Finding(f"Layers “{title}”", medians[layers], name="median ρ"))
    return found
