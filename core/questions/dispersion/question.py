"""On which stimuli do models agree, and does their agreement carry over to language?

Source: single-stimulus dispersion (Generalized Procrustes), figure 2 and supplements S1 and S2,
over 1,024 pictures of Wikipedia and four vision models: CKNNA is up to twice as high on the low set
as on the high one and higher in every model; without the most dispersed quarter it rises and
without the least dispersed it falls in every model; Pearson's r of held-out models is 0.21 to 0.43.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import NormalDist
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from core.errors import MetricError, UnknownNameError
from core.figures.grammar import Axis, Dots, Facet, Fixed, Level, Line, Palette, Plot, Scale, Size
from core.modalities import LANGUAGE, VISION
from core.options import MOST_STIMULI, option, part, seed_option
from core.progress import Progress
from core.questions.asking import ask
from core.questions.dispersion import trials
from core.questions.dispersion.prediction import (
    density,
    describe_stimuli,
    draw_stimuli,
    enriched,
    name_level,
    predict,
    texts_of,
    words_of,
)
from core.questions.dispersion.residuals import (
    SHUFFLES,
    SUMMARIES,
    apart_from_others,
    fit_consensus,
    hold_out,
    relate_held_out,
    summarize_residuals,
)
from core.questions.finding import ALPHA, NAN, Finding
from core.questions.question import Answer, StudyQuestion
from core.questions.sentences import listed
from core.statistics.correlations import LEAST_MODELS, competence_fit
from core.statistics.nulls import adjust, draw_sample
from core.study.models import reads
from core.study.parts import Measure
from core.study.published import deviations_here
from core.study.selections import check_ends, check_parts, count_share, ends, random_sets
from core.study.spaces import (
    by_size,
    check_several,
    default_language,
    describe_spaces,
    find_spaces,
    name_spaces,
)
from core.study.study import Study

Centering = Literal["features", "stimuli", "none"]
RANKINGS = {"mean": "mean over models", "pc1": "first component"}  # as published
QUARTER = 4  # of all stimuli: a set is one over it if no size is named
DRAWN = 5000  # stimuli in a figure
MOST_AXES = 4  # models whose residuals are drawn in pairs: six panels
LEAST_SETS = 40  # random ones for a two-sided p below 0.05
MOST_NAMED = 3  # predictors, and words of each set
MOST_PREDICTORS, MOST_WORDS = 15, 20  # drawn
SIZE_HELP = "stimuli in the low, the high and each random set (a quarter of all)"
NO_SCORE = "No alignment can be computed on these sets[[: {reason}]]."


def size_option(help: str = SIZE_HELP) -> Any:
    """Declare how many stimuli are in each set, None for the usual share."""
    return option(None, least=1, most=MOST_STIMULI, label="Stimuli in each set", help=help)


@dataclass(frozen=True)
class Spaces:
    """The spaces whose consensus is taken, and how they are centered first."""

    spaces: tuple[str, ...] = option(
        (),
        label="Consensus of",
        metavar="M:LAYER",
        help="layers of models whose consensus is taken, a model alone in its penultimate block"
        " (three or four vision models of different kinds, of one size where that can be, else the"
        " largest)",
    )
    centering: Centering = option(
        "features",
        label="Centering",
        help="what is subtracted from a space first: the mean of each feature, of each stimulus (as"
        " published, over values that are not clamped), or none",
    )


@dataclass(frozen=True)
class Ranking(Spaces):
    """What ranks the stimuli: the dispersion of spaces."""

    by: str = option(
        "mean",
        label="Dispersion is the",
        help="residual that ranks the stimuli: mean, pc1, median or trimmed over the spaces, or"
        " that of one space",
    )

    @property
    def joint(self) -> Spaces:
        """Return the spaces whose consensus ranks the stimuli."""
        return Spaces(self.spaces, self.centering)


@dataclass(frozen=True)
class Trial:
    """Whose alignment with language is measured on sets of stimuli, and against what chance."""

    tested: tuple[str, ...] = option(
        (), metavar="M:LAYER", help="spaces that are aligned with language (those of the consensus)"
    )
    language: tuple[str, ...] = option(
        (),
        label="Language models",
        metavar="M",
        help="language models, each in its best layer (all finished ones)",
    )
    cross_fitted: bool = option(
        False, help="rank the stimuli for each tested space by the other models alone"
    )
    repeats: int = option(50, least=0, most=10_000, label="Random sets", help="random sets")
    draws: int = option(
        100,
        least=0,
        most=10_000,
        label="Intervals by resampling",
        help="random three quarters of a set, for its 95%% interval",
    )
    seed: int = seed_option("seed of random sets and draws")


@dataclass(frozen=True)
class JointQuestion(StudyQuestion):
    """A question about the consensus of spaces."""

    device: ClassVar[str | None] = None

    joint: Spaces = part(Spaces)

    def complete(self, study: Study) -> Self:
        spaces = name_spaces(study, self.joint.spaces)
        return replace(self, joint=replace(self.joint, spaces=spaces))


@dataclass(frozen=True)
class ConsensusSpace(JointQuestion):
    """Where does each stimulus lie in the consensus of models?"""

    command = "dispersion consensus"
    version = 3
    columns: ClassVar[Mapping[str, str]] = {
        "index": "place of the stimulus in its dataset",
        "stimulus": "its id",
        "iterations": "rounds until the consensus stayed",
        "objective": "sum of squared residuals, of spaces of norm 1",
        "axis_1": "place along the consensus's first principal axis; further axes follow",
    }

    weights: tuple[float, ...] = option(
        (), least=0, most=1_000_000, help="weight of each space (1 each)"
    )

    def answer(self, study: Study, report: Progress | None) -> Answer:
        places, weights = find_spaces(study, self.joint.spaces), self.weights or None
        centering = self.joint.centering
        return Answer(fit_consensus(study, places, centering=centering, weights=weights))


@dataclass(frozen=True)
class StimulusDispersion(JointQuestion):
    """How far is each stimulus from the consensus of models?"""

    command = "dispersion stimuli"
    version = 3
    columns: ClassVar[Mapping[str, str]] = {
        "index": "place of the stimulus in its dataset",
        "stimulus": "its id",
        "mean": "mean residual over models",
        "pc1": "score on the first component of the residuals",
        "median": "median residual",
        "trimmed": "mean residual without the lowest and highest quarter of models",
        "iterations": "rounds until the consensus stayed",
        "objective": "sum of squared residuals, of spaces of norm 1",
        "explained": "share of the residuals' variance along the first component",
        "set": "low or high, at either end of the ranking",
        "rank_mean": "rank by the mean, 1 is the least dispersed",
        "set_mean": "low or high by the mean",
        "rank_pc1": "rank by the first component",
        "set_pc1": "low or high by the first component",
        "random": "whether the first random set of this seed has it",
    }

    by: str = option(
        "",
        label="Ranked by",
        help="rank the stimuli by mean, pc1, median, trimmed or one of the spaces (by index)",
    )
    size: int | None = size_option(
        "mark so many at either end of the ranking (with --rank a quarter of all)"
    )
    without_each: bool = option(
        False, help="measure each space's residuals to the consensus of the others"
    )
    rank: bool = option(
        False, help="add both published rankings, with the low, high and random set of each"
    )
    seed: int = seed_option("seed of the random set")

    def complete(self, study: Study) -> Self:
        question = super().complete(study)
        check_summary(self.by or "mean", question.joint.spaces)
        if self.rank:
            check_several(question.joint.spaces)  # all summaries rank two spaces alike
            return replace(question, size=_set_size(self.size, study))
        if self.size is not None:
            check_ends(study.size, self.size)
        return question

    def is_kept(self) -> bool:
        return False

    def answer(self, study: Study, report: Progress | None) -> Answer:
        joint, by = self.joint, self.by or "mean"
        if self.without_each:
            points = ask(HeldOutPoints(self.scope, joint), study, report)
            fitted = apart_from_others(points, joint.spaces)
        else:
            fitted = ask(ConsensusSpace(self.scope, joint), study, report)
        table = summarize_residuals(fitted, joint.spaces)
        if self.size is not None:
            table["set"] = _sets_of(table[by], self.size)
        if self.rank:
            for name in RANKINGS:
                table[f"rank_{name}"] = table[name].rank(method="first").astype(int)
                table[f"set_{name}"] = _sets_of(table[name], self.size or 0)
            (drawn,) = random_sets(len(table), self.size or 0, count=1, seed=self.seed)
            table["random"] = table.index.isin(drawn)
        findings = ranking_findings(table) if self.rank else ()
        return Answer(table.sort_values(by, kind="stable") if self.by else table, findings)

    def plot(self, table: pd.DataFrame) -> Plot:
        shown, by = list(RANKINGS) if self.rank else [self.by or "mean"], self.by or "mean"
        dots = table.iloc[draw_sample(len(table), DRAWN, seed=1)]
        marked = dots.get("set", pd.Series("", index=dots.index))
        rows = pd.concat(
            dots.assign(
                ranking=name,
                value=dots[name],
                place=table[name].rank(method="first"),
                part=dots[f"set_{name}"] if self.rank else marked,
                floor=table[name].min(),
                drawn=dots["random"] if self.rank else False,
            )
            for name in shown
        )
        names = {"": "neither set", "low": "low set", "high": "high set"}
        return Plot(
            "Stimuli ranked by their dispersion",
            marks=(
                Dots(
                    "place",
                    "value",
                    color=Palette("part", {"": "soft", "low": "text", "high": "ember"}, names),
                    size=4,
                    card=("stimulus {index}", "rank {place:,.0f}", "dispersion {value:.3g}"),
                ),
                Dots(
                    "place",
                    "floor",
                    rows="drawn",
                    color=Fixed("chance"),
                    symbol="line-ns-open",
                    name="random set",
                ),
            ),
            x=Axis("rank: 1 is the least dispersed"),
            y={
                name: Axis("score on the first component" if name == "pc1" else "residual")
                for name in shown
            },
            facet=Facet("ranking", {name: f"by the {RANKINGS.get(name, by)}" for name in shown}),
            height=400,
        ).over(rows)

    def plot_space(self, table: pd.DataFrame, titles: Mapping[str, str]) -> Plot:
        """Return the stimuli in the space with one axis per model, their residuals, two axes a
        panel, with the first component as a line; the first MOST_AXES models.
        """
        pairs = list(combinations(self.joint.spaces[:MOST_AXES], 2))
        dots, scores = table.iloc[draw_sample(len(table), DRAWN, seed=1)], table["pc1"]
        reach = np.array([scores.min(), scores.max()])
        ray = {
            name: table[name].mean() + loading(table[name], scores) * reach
            for pair in pairs
            for name in pair
        }
        rows = pd.concat(dots.assign(pair=f"{x} {y}", x=dots[x], y=dots[y]) for x, y in pairs)
        lines = [pd.DataFrame({"pair": f"{x} {y}", "x": ray[x], "y": ray[y]}) for x, y in pairs]
        return Plot(
            "Residuals of the stimuli, an axis per model",
            marks=(
                Dots(
                    "x",
                    "y",
                    color=Scale("mean", "mean residual"),
                    size=4,
                    card=("stimulus {index}", "residuals {x:.3g} and {y:.3g}", "mean {mean:.3g}"),
                ),
                Line("x", "y", table=pd.concat(lines), dash="dash", name="first component"),
            ),
            x={f"{x} {y}": Axis(titles[x]) for x, y in pairs},
            y={f"{x} {y}": Axis(titles[y]) for x, y in pairs},
            facet=Facet("pair", head=lambda _: "", columns=3),
        ).over(rows)


def ranking_findings(table: pd.DataFrame) -> list[Finding]:
    """Return how far both published rankings agree, and what the first component leaves out."""
    order = float(spearmanr(table["mean"], table["pc1"]).statistic)
    n = len(table)
    shared = [
        Finding(
            f"Both rankings share stimuli of the {name} set",
            float((table.loc[table["set_mean"] == name, "set_pc1"] == name).mean()),
            name="share",
            unit="%",
            n=int((table["set_mean"] == name).sum()),
            over="stimuli",
        )
        for name in ("low", "high")
    ]
    return [
        Finding("Both rankings order the stimuli alike", order, name="ρ", n=n, over="stimuli"),
        *shared,
        Finding(
            "The first component holds a share of the variance of the residuals",
            float(table["explained"].iloc[0]),
            unit="%",
        ),
    ]


def loading(residuals: pd.Series, scores: pd.Series) -> float:
    """Return a model's part in the first component: the slope of its residuals on the scores."""
    return float(residuals.cov(scores) / scores.var())


@dataclass(frozen=True)
class HeldOutPoints(JointQuestion):
    """How far is each stimulus from the consensus of the other models?"""

    command = "dispersion deviations"
    version = 3
    listed = False  # dispersion held-out --points

    def answer(self, study: Study, report: Progress | None) -> Answer:
        places = find_spaces(study, self.joint.spaces)
        return Answer(hold_out(study, places, centering=self.joint.centering, report=report))


@dataclass(frozen=True)
class HeldOutFits(JointQuestion):
    """Does a model deviate where the other models disagree?"""

    command = "dispersion held-out"
    version = 3
    columns: ClassVar[Mapping[str, str]] = {
        "space": "the space that is held out",
        "n": "stimuli",
        "pearson": "Pearson's r of its deviation from the others' consensus with their dispersion",
        "pearson_low": "low end of its 95% interval (Fisher, over stimuli)",
        "pearson_high": "high end of that interval",
        "spearman": "Spearman's ρ of both",
        "slope": "slope of the least-squares line",
        "intercept": "its intercept",
        "shuffled": "mean of r if the stimuli of the space are shuffled",
        "shuffled_p": "p of r against these, one-sided",
        "partial": "r given the norm of the others' consensus",
        "partial_low": "low end of its 95% interval",
        "partial_high": "high end of that interval",
        "published": "Pearson's r as published",
        "title": "name of the space",
        "group": "objective of its model",
        "index": "place of the stimulus in its dataset",
        "stimulus": "its id",
        "dispersion": "mean residual of the others in their own consensus",
        "deviation": "residual of the space, turned onto that consensus",
        "norm": "distance of that consensus from the mean",
    }

    points: bool = option(False, help="a row per stimulus and space instead, as the figure has it")

    def is_kept(self) -> bool:
        return False

    def answer(self, study: Study, report: Progress | None) -> Answer:
        points = ask(HeldOutPoints(self.scope, self.joint), study, report)
        table = relate_held_out(points, self.joint.spaces)
        about = describe_spaces(self.joint.spaces, study.models())
        table = table.merge(about[["space", "title", "group"]], on="space")
        published, models = deviations_here(study), table["space"].str.rpartition(":")[0]
        if set(models) == set(published):
            table = table.assign(published=models.map(published))
        findings = held_out_findings(table)
        if self.points:
            table = points.merge(table.drop(columns=["shuffled", "shuffled_p"]), on="space")
        return Answer(table, findings)

    def plot(self, table: pd.DataFrame) -> Plot:
        """Return the stimuli if the table has them, else the correlations."""
        note = (
            "r = {pearson:.2f} [{pearson_low:.2f}, {pearson_high:.2f}], {shuffled_p:p}<br>"
            "shuffled {shuffled:.2f}, ρ = {spearman:.2f}[[<br><b>published {published:.2f}</b>]]"
            " || no correlation: one side does not vary"
        )
        if not self.points:
            return Plot(
                "Correlation of a model's deviation with the dispersion of the others",
                marks=(
                    Dots(
                        "pearson",
                        "title",
                        color="group",
                        modality=VISION,
                        left="pearson_low",
                        right="pearson_high",
                        card=("<b>{title}</b>", *note.split(" ||")[0].split("<br>")[:1]),
                        ids="{space}",
                    ),
                ),
                x=Axis("Pearson's r"),
                y=Axis(names=True),
                levels=(Level(0.0, "zero", along="x"),),
                row=36,
            ).over(table)
        n = int(table.groupby("space").size().max())
        shown = draw_sample(n, DRAWN, seed=0)
        dots = table[table.groupby("space").cumcount().isin(shown)]
        lines = table.groupby("space", sort=False)["dispersion"].agg(["min", "max"]).stack()
        fit = lines.rename("dispersion").reset_index()[["space", "dispersion"]]
        fit = fit.merge(table.drop_duplicates("space")[["space", "slope", "intercept"]])
        return Plot(
            "Dispersion and the deviation of a model that does not define it",
            marks=(
                Dots(
                    "dispersion",
                    "deviation",
                    color="group",
                    size=5,
                    opacity=0.45,
                    card=(
                        "stimulus {index}",
                        "dispersion {dispersion:.3g}",
                        "deviation {deviation:.3g}",
                    ),
                ),
                Line(
                    "dispersion",
                    "line",
                    table=fit.assign(line=fit["intercept"] + fit["slope"] * fit["dispersion"]),
                    dash="dash",
                    name="least-squares fit",
                ),
            ),
            x=Axis("dispersion of the others"),
            y=Axis("deviation from their consensus"),
            facet=Facet("space", head="<b>{title}</b>", note=note),
        ).over(dots)


def held_out_findings(fits: pd.DataFrame) -> list[Finding]:
    """Return, for each space, whether it deviates where the others disagree.

    p: one-sided against the space's stimuli shuffled, adjusted for the false discovery rate over
    spaces. If Pearson's interval holds 0, the claim stays open. Of four spaces that share nothing
    one or more is supported in 3 to 4% of simulations; by intervals alone in most.
    """
    above = adjust(fits["shuffled_p"].to_numpy())
    # of the other tail: each draw lies on one side of r
    below = adjust((1 + 1 / (SHUFFLES + 1) - fits["shuffled_p"]).clip(upper=1).to_numpy())
    findings = []
    for row, high, low in zip(fits.to_dict("records"), above, below, strict=True):
        r = float(row["pearson"])
        given = "" if np.isnan(row["partial"]) else f" and {row['partial']:.2f} given the norm"
        findings.append(
            Finding(
                f"{row['title']} deviates where the other models disagree",
                r,
                row["pearson_low"],
                row["pearson_high"],
                float(high if r > 0 else low),
                name="r",
                n=int(row["n"]),
                over="stimuli",
                expected="+",
                reason="its interval holds 0"
                if row["pearson_low"] <= 0 <= row["pearson_high"]
                else "one side does not vary"
                if np.isnan(r)
                else "",
                note=f"r is {row['shuffled']:.2f} with its stimuli shuffled{given}.".replace(
                    "-", "−"
                ),
                published=f"Published: r = {row['published']:.2f}." if "published" in row else "",
            )
        )
    if findings and "published" not in fits:
        findings[0] = replace(findings[0], published="Published: r = 0.21 to 0.43 (supplement S2).")
    return findings


@dataclass(frozen=True)
class SetEffect(StudyQuestion):
    """Are models better aligned with language on stimuli they agree on?"""

    command = "dispersion effect"
    version = 3
    columns: ClassVar[Mapping[str, str]] = {
        "vision": "space that is aligned with language",
        "language": "language model, empty for the mean over all",
        "layer": "its layer, -1 for the mean",
        "set": "set of stimuli: low, high, random, full (all); parts by number, 1 is the least"
        " dispersed; without an end; low/high is the ratio",
        "size": "stimuli in the set",
        "dispersion": "mean dispersion of the set",
        "score": "alignment",
        "low": "low end of its 95% interval",
        "high": "high end of that interval",
        "p": "p against random sets, two-sided",
        "reason": "what is missing, and why",
        "title": "name of the space",
        "group": "objective of its model",
        "language_title": "name of the language model",
        "language_group": "its family",
        "parameters": "its parameters",
        "chance": "alignment of unrelated models on sets of this size",
    }

    ranking: Ranking = part(Ranking)
    trial: Trial = part(Trial)
    measure: Measure = part(Measure, metric="cknna")
    sets: Literal["ends", "parts", "drop"] = option(
        "ends",
        label="Sets",
        help="which stimuli are compared: both ends of the ranking, all parts of it, or all stimuli"
        " without either end",
    )
    size: int | None = size_option()
    parts: int = option(10, least=2, most=1_000, help="parts that the ranking is split into")
    share: float = option(
        0.25, least=0, most=0.5, help="share of the stimuli that is left out at either end"
    )

    def complete(self, study: Study) -> Self:
        size = _set_size(self.size, study) if self.sets == "ends" else None
        if self.sets == "parts":
            check_parts(study.size, self.parts)
        elif self.sets == "drop":
            count_share(self.share, study.size)
        spaces = name_spaces(study, self.ranking.spaces)
        ranking = replace(self.ranking, spaces=spaces)
        language = self.trial.language or tuple(default_language(study))
        named = self.trial.tested or spaces
        if not self.trial.tested and {one.model for one in find_spaces(study, named)} & {*language}:
            models = by_size(study)  # the usual spaces are of language if few models see
            named = tuple(models.loc[reads(models, "image"), "model"])
        tested = find_spaces(study, named)
        self.measure.settings  # noqa: B018 - raises for a metric or a parameter that is not there
        if not self.trial.cross_fitted:
            check_summary(ranking.by, spaces)
        _check_models(study, list(dict.fromkeys(place.model for place in tested)), language)
        trial = replace(self.trial, tested=tuple(map(str, tested)), language=language)
        return replace(self, ranking=ranking, trial=trial, size=size)

    def answer(self, study: Study, report: Progress | None) -> Answer:
        """Score vision with language on the sets that the ranking chooses, one ranking for each
        tested space if it is cross-fitted.
        """
        n, ranking = study.size, self.ranking
        sizes = {"ends": self.size or 0, "parts": n // self.parts, "drop": n}
        sets = {
            "ends": lambda: trials.low_and_high(self.size or 0),
            "parts": lambda: trials.by_part(self.parts),
            "drop": lambda: trials.without_ends(count_share(self.share, n)),
        }[self.sets]()
        if self.trial.cross_fitted:
            groups = []
            for at, place in enumerate(find_spaces(study, self.trial.tested)):
                others = tuple(s for s in ranking.spaces if s.rpartition(":")[0] != place.model)
                values = self._values(replace(ranking, spaces=others), study, report)
                groups.append((slice(at, at + 1), values))
        else:
            groups = [(slice(None), self._values(ranking, study, report))]
        table = trials.score_trial(study, self.trial, self.measure, groups, sets, report)
        models = study.models()
        spaces = describe_spaces(list(dict.fromkeys(table["vision"])), models).set_index("space")
        about = models.set_index("model")[["title", "group", "parameters"]]
        names = {"title": "language_title", "group": "language_group"}
        table = table.join(spaces[["title", "group"]], on="vision")
        table = table.join(about.rename(columns=names), on="language")
        table = table.fillna(dict.fromkeys(names.values(), ""))
        table["chance"] = self.measure.chance(sizes[self.sets])
        return Answer(table, self._findings(table))

    def _values(self, ranking: Ranking, study: Study, report: Progress | None) -> trials.Values:
        check_summary(ranking.by, ranking.spaces)
        table = ask(StimulusDispersion(self.scope, ranking.joint), study, report)
        return table[ranking.by].to_numpy()

    def _findings(self, table: pd.DataFrame) -> list[Finding]:
        better = self.measure.spec.higher_is_more_aligned
        if self.sets == "ends":
            return ratio_findings(table, higher_is_better=better)
        if self.sets == "parts":
            return trend_findings(table, higher_is_better=better)
        return drop_findings(table, repeats=self.trial.repeats, higher_is_better=better)

    @property
    def label(self) -> str:
        """Return what an axis of the scores says."""
        k = self.measure.settings.get("k")
        neighbors = f", k = {k}" if k else ""
        return f"alignment with language models ({self.measure.spec.short}{neighbors})"

    def plot(self, table: pd.DataFrame) -> Plot:
        if self.sets == "parts":
            return self._plot_parts(table)
        ends = self.sets == "ends"
        names = (
            {"low": "low", "random": "random", "high": "high"}
            if ends
            else {
                "full": "none",
                "without low": "lowest",
                "without random": "random",
                "without high": "highest",
            }
        )
        ratios = table[(table["set"] == "low/high") & (table["language"] == "")]
        ratios = ratios.set_index("vision")[["score", "low", "high", "reason"]]
        rows = table.join(ratios.add_prefix("ratio_"), on="vision")
        note = "low / high <b>{ratio_score:.2f}</b> [{ratio_low:.2f}, {ratio_high:.2f}]"
        card = (
            "{set}, {size:,} stimuli",
            "alignment {score:.3f}",
            "[[95% interval {low:.3f} to {high:.3f}]]",
            "[[{p:p} against random sets]]",
        )
        single = Dots(
            "set",
            "score",
            rows="language != '' and set != 'full'",
            color="language_group",
            modality=LANGUAGE,
            size=Size("parameters", times=0.7),
            join="language",
            card=("<b>{language_title}</b> × {title}", *card),
            ids="{language} × {vision}",
        )
        mean = Dots(
            "set",
            "score",
            rows="language == '' and set != 'full'",
            symbol="diamond",
            size=10,
            low="low",
            high="high",
            join=True,
            name="mean, 95% interval",
            card=("<b>mean over the language models</b> × {title}", *card),
            ids="mean × {vision}",
        )
        whole = [  # what all stimuli reach cannot be compared with smaller sets: no line joins it
            replace(one, rows=one.rows.replace("!= 'full'", "== 'full'"), join="")
            for one in (single, mean)
        ]
        return Plot(
            "Alignment by dispersion"
            if ends
            else "Alignment without the lowest or the highest dispersion",
            marks=(single, mean) if ends else (single, mean, *whole),
            x=Axis("dispersion" if ends else "left out by dispersion", names=names),
            y=Axis(self.label, zero=True),
            facet=Facet(
                "vision",
                head="<b>{title}</b>",
                note=f"{note} || no ratio: {{ratio_reason:wrap}}" if ends else "",
            ),
            levels=(Level("chance"),),
            empty=NO_SCORE,
            height=330,
        ).over(rows)

    def _plot_parts(self, table: pd.DataFrame) -> Plot:
        mean = table[(table["language"] == "") & table["set"].str.isdigit()]
        aside = pd.Series(range(mean["vision"].nunique()), index=mean["vision"].unique())
        aside = 0.06 * (aside - aside.mean())  # intervals stay apart
        rows = mean.assign(part=mean["set"].astype(int) + mean["vision"].map(aside))
        return Plot(
            "Alignment by part of the ranking by dispersion",
            marks=(
                Line("part", "score", color="group", by="vision"),
                Dots(
                    "part",
                    "score",
                    color="group",
                    modality=VISION,
                    low="low",
                    high="high",
                    card=(
                        "<b>{title}</b>, mean over the language models",
                        f"part {{set}} of {self.parts}, {{size:,}} stimuli",
                        "alignment {score:.3f}[[, 95% interval {low:.3f} to {high:.3f}]]",
                        "[[{p:p} against random sets]]",
                    ),
                    ids="{vision}",
                ),
            ),
            x=Axis(
                "dispersion: part 1 has the least",
                ticks={part: str(part) for part in range(1, self.parts + 1)},
            ),
            y=Axis(self.label, zero=True),
            levels=(Level("chance"),),
            empty=NO_SCORE,
            height=400,
        ).over(rows)


def ratio_findings(table: pd.DataFrame, *, higher_is_better: bool = True) -> list[Finding]:
    """Return, for each space, whether it is better aligned on the low set, by the interval of the
    ratio of scores.

    Of several spaces the intervals are widened on the scale of logarithms, so that with no effect
    at all one or more is supported in about 5% of cases (Bonferroni; measured: 6% of 200
    simulations of four).
    """
    means = table[table["language"] == ""]
    ratios = means[means["set"] == "low/high"]
    tested = int(ratios["low"].notna().sum())
    usual, wide = (NormalDist().inv_cdf(1 - ALPHA / 2 / max(count, 1)) for count in (1, tested))
    findings = []
    for row in ratios.to_dict("records"):
        ratio = float(row["score"])
        low, high = (ratio * (row[end] / ratio) ** (wide / usual) - 1 for end in ("low", "high"))
        findings.append(
            Finding(
                f"{row['title']} is better aligned with language where models agree",
                ratio - 1,
                low,
                high,
                name="low / high set − 1",
                unit="%",
                n=tested,
                over="spaces tested",
                expected="+" if higher_is_better else "-",
                reason=row["reason"] or ("there is no interval" if np.isnan(low) else ""),
            )
        )
    if findings:
        note = f"Intervals are widened for {tested} spaces." if tested > 1 else ""
        published = "Published: up to +100% with CKNNA, above 0 in every model (figure 2)."
        findings[0] = replace(findings[0], note=note, published=published)
    return findings


def drop_findings(
    table: pd.DataFrame, *, repeats: int, higher_is_better: bool = True
) -> list[Finding]:
    """Return, for each space, whether it is better aligned without the most dispersed stimuli and
    worse without the least dispersed ones, each compared with as many left out at random, since a
    metric of neighbors moves with their number. p: of the random sets, two-sided.
    """
    mean = table[table["language"] == ""]
    findings = []
    few = f"{repeats} random sets are too few to judge chance; {LEAST_SETS} are needed"
    for _, rows in mean.groupby("vision", sort=False):
        sets = rows.set_index("set")
        title, random = rows["title"].iloc[0], float(sets["score"].get("without random", NAN))
        for end, which, way in (("high", "most", "better"), ("low", "least", "worse")):
            change = float(sets["score"].get(f"without {end}", NAN)) - random
            findings.append(
                Finding(
                    f"{title} is {way} aligned without the {which} dispersed stimuli",
                    change,
                    p=float(sets["p"].get(f"without {end}", NAN)),
                    name="change",
                    digits=3,
                    n=repeats,
                    over="random sets",
                    expected="+" if (way == "better") == higher_is_better else "-",
                    reason=few if repeats < LEAST_SETS else "",
                )
            )
    if findings:
        published = "Published: both in every model (supplement S1)."
        findings[0] = replace(findings[0], published=published)
    return findings


def trend_findings(table: pd.DataFrame, *, higher_is_better: bool = True) -> list[Finding]:
    """Return, for each space, whether alignment falls along the parts of the ranking, by Spearman's
    correlation of the mean over language models; p adjusted over spaces.

    The parts hold other stimuli each, so that their scores are independent.
    """
    mean = table[(table["language"] == "") & table["set"].str.isdigit()].dropna(subset="score")
    fits = {
        str(title): competence_fit(*run[["set", "score"]].to_numpy(np.float64).T)
        for title, run in mean.groupby("title", sort=False)
    }
    known = [title for title, fit in fits.items() if not fit.reason]
    p = dict(zip(known, adjust(np.array([fits[title].p for title in known])), strict=True))
    return [
        Finding(
            f"{title} is less aligned with language where models disagree",
            fit.spearman if title in p else NAN,
            p=float(p.get(title, NAN)),
            name="ρ",
            n=int((mean["title"] == title).sum()),
            over="parts",
            expected="-" if higher_is_better else "+",
            reason="" if title in p else f"it takes {LEAST_MODELS} parts with different scores",
        )
        for title, fit in fits.items()
    ]


@dataclass(frozen=True)
class DispersionPredictors(StudyQuestion):
    """What makes a stimulus dispersed?"""

    command = "dispersion predictors"
    version = 3
    device: ClassVar[None] = None
    columns: ClassVar[Mapping[str, str]] = {
        "kind": "image, caption, factor or consensus",
        "predictor": "what predicts",
        "covers": "predictors that are permuted together",
        "importance": "loss of R² if permuted",
        "low": "low end of its 95% interval; of a word: captions in the low set",
        "high": "high end of that interval; of a word: captions in the high set",
        "spearman": "Spearman's ρ of the predictor alone, from −1 to 1",
        "test": "test of the predictor alone",
        "p": "p of that test; of a word: of Fisher's exact test",
        "n": "stimuli of which it is known",
        "reason": "why it is left out",
        "p_adjusted": "p adjusted for the false discovery rate",
        "r2": "R² of all together on held-out stimuli, at most 1",
        "r2_low": "low end of its 95% interval",
        "r2_high": "high end of that interval",
        "word": "word of the captions",
        "in_low": "captions of the low set that have it",
        "in_high": "captions of the high set that have it",
        "odds_ratio": "odds of the word in the low set over those in the high set",
    }

    ranking: Ranking = part(Ranking)
    level: str = option("", label="Caption level", help="caption level (the dataset's default)")
    seed: int = seed_option("seed of folds and halves")
    words: bool = option(
        False, help="which words distinguish captions of the low and the high set instead"
    )
    size: int | None = size_option(
        "stimuli in the low and the high set of words (a quarter of all)"
    )

    def complete(self, study: Study) -> Self:
        spaces = name_spaces(study, self.ranking.spaces)
        check_summary(self.ranking.by, spaces)
        size = _set_size(self.size, study) if self.words else None
        ranking, level = replace(self.ranking, spaces=spaces), name_level(study, self.level)
        return replace(self, ranking=ranking, level=level, size=size)

    def is_kept(self) -> bool:
        return not self.words

    def answer(self, study: Study, report: Progress | None) -> Answer:
        joint = self.ranking.joint
        dispersion = ask(StimulusDispersion(self.scope, joint), study, report)
        values = dispersion[self.ranking.by].to_numpy()
        if self.words:
            texts = texts_of(study, self.level)[dispersion["index"]]
            low, high = ends(values, self.size or 0)
            table = enriched(words_of(texts[low]), words_of(texts[high]))
            return Answer(table, [word_finding(table)])
        drawn = draw_stimuli(study, seed=self.seed)
        consensus = ask(ConsensusSpace(self.scope, joint), study, report)
        indices = dispersion["index"].to_numpy()[drawn]
        predictors = describe_stimuli(study, indices, self.level, report)
        predictors["consensus"] = density(consensus.filter(like="axis_").to_numpy()[drawn])
        table = predict(values[drawn], predictors, seed=self.seed, report=report)
        return Answer(table, predictor_findings(table))

    def plot(self, table: pd.DataFrame) -> Plot:
        return _plot_words(table) if self.words else _plot_predictors(table)


def predictor_findings(table: pd.DataFrame) -> list[Finding]:
    """Return how much of the dispersion all predictors predict and, if they do beyond doubt, those
    without which the regression loses most.
    """
    r2, low, high = map(float, table[["r2", "r2_low", "r2_high"]].iloc[0])
    reason = table["reason"].iloc[0] if np.isnan(r2) else ""
    whole = Finding(
        "Images, captions and factors predict the dispersion of held-out stimuli",
        r2,
        low,
        high,
        name="R²",
        n=int(table["n"].max()),
        over="stimuli",
        expected="+",
        reason=reason or ("there is no interval" if np.isnan(low) else ""),
    )
    sure = table[(table["covers"] == 1) & (table["low"] > 0) & (table["r2_low"] > 0)]
    return [whole] + [
        Finding(
            f"The prediction needs {row['predictor'].replace('_', ' ')} ({row['kind']})",
            row["importance"],
            row["low"],
            row["high"],
            name="loss of R²",
        )
        for row in sure.head(MOST_NAMED).to_dict("records")
    ]


def word_finding(table: pd.DataFrame) -> Finding:
    """Return how many words distinguish both sets after correction, and the first of each."""
    sure = table[table["p_adjusted"] < ALPHA]
    more_in_low = sure["in_low"] / sure["low"] > sure["in_high"] / sure["high"]
    named = [
        f"{listed(f'“{word}”' for word in sure.loc[rows, 'word'].head(MOST_NAMED))} in the {side}"
        " set"
        for side, rows in (("low", more_in_low), ("high", ~more_in_low))
        if rows.any()
    ]
    return Finding(
        "Words distinguish captions of the low and the high set",
        float(len(sure)),
        digits=0,
        unit="words",
        n=len(table),
        over="words tested",
        note=f"Above all {'; '.join(named)}." if named else "",
    )


def _plot_predictors(table: pd.DataFrame) -> Plot:
    used = table.dropna(subset="importance")
    rows = pd.concat([used[used["covers"] == 1].head(MOST_PREDICTORS), used[used["covers"] > 1]])
    rows = rows.assign(
        name=[
            f"{p.replace('_', ' ')} ({k})"
            for p, k in zip(rows["predictor"], rows["kind"], strict=True)
        ],
        joint=np.where(rows["covers"] > 1, "all of a kind together", "one predictor"),
    )
    dots = Dots(
        "importance",
        "name",
        rows="low > 0",
        color=Palette("joint", {"one predictor": "ember", "all of a kind together": "text"}),
        size=10,
        left="low",
        right="high",
        card=(
            "<b>{name}</b>",
            "importance {importance:.3f}, 95% interval {low:.3f} to {high:.3f}",
            "[[alone: {test}, {p:p}, adjusted {p_adjusted:p}, {n} stimuli]]",
        ),
    )
    return Plot(
        "What predicts a stimulus's dispersion",
        marks=(dots, replace(dots, rows="not low > 0", hollow=True)),
        x=Axis("loss of R² if permuted"),
        y=Axis(names=list(rows["name"])),
        levels=(Level(0.0, "zero", along="x"),),
        empty="No predictor can be used[[: {reason}]].",
        row=24,
    ).over(rows if len(rows) else table.assign(name="", joint=""))


def _plot_words(table: pd.DataFrame) -> Plot:
    gap = table["in_low"] / table["low"] - table["in_high"] / table["high"]
    rows = table.assign(gap=gap).head(MOST_WORDS).sort_values("gap", ascending=False, kind="stable")
    rows["side"] = np.where(rows["gap"] > 0, "more in the low set", "more in the high set")
    dots = Dots(
        "gap",
        "word",
        rows=f"p_adjusted < {ALPHA}",
        color=Palette("side", {"more in the low set": "text", "more in the high set": "ember"}),
        size=10,
        card=(
            "<b>{word}</b>",
            "in {in_low} of {low} low and {in_high} of {high} high captions",
            "odds ratio {odds_ratio:.2g}, adjusted {p_adjusted:p}",
        ),
    )
    return Plot(
        "Words of the low and the high set",
        marks=(dots, replace(dots, rows=f"p_adjusted >= {ALPHA}", hollow=True)),
        x=Axis(
            "share of captions that have the word: low set − high set", percent=True, signed=True
        ),
        y=Axis(names=list(rows["word"])),
        levels=(Level(0.0, "zero", along="x"),),
        empty="No word is in enough of these captions to be compared: take larger sets.",
        row=24,
    ).over(rows)


def check_summary(by: str, spaces: Sequence[str]) -> None:
    """Raise UnknownNameError if stimuli cannot be ranked by this: a summary, or a space for its own
    residuals.
    """
    if by not in SUMMARIES and by not in spaces:
        raise UnknownNameError("summary of dispersion", by, [*SUMMARIES, *spaces])


def _set_size(size: int | None, study: Study) -> int:
    """Return the sets' size, a quarter of all stimuli if none is named; raises StimuliError."""
    size = study.size // QUARTER if size is None else size
    check_ends(study.size, size)
    return size


def _sets_of(values: pd.Series, size: int) -> pd.Series:
    low, high = ends(values.to_numpy(), size)
    sets = pd.Series("", index=values.index)
    sets[low], sets[high] = "low", "high"
    return sets


def _check_models(study: Study, tested: Sequence[str], language: Sequence[str]) -> None:
    if not tested:
        raise MetricError(
            f"expected vision models to test; dataset {study.dataset.name} has none: embed one, or"
            " name some with --tested"
        )
    if not language:
        raise MetricError(
            f"expected language models to align with; dataset {study.dataset.name} has none: embed"
            " one, or name some"
        )
    named = [*tested, *language]
    if twice := sorted({name for name in named if named.count(name) > 1}):
        raise MetricError(
            f"expected each model once, tested or as a language model; got {', '.join(twice)}"
            " more than once"
        )
