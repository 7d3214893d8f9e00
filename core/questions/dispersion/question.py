"""On which stimuli do models agree, what predicts it, and is it a property of the stimulus?

Source: single-stimulus dispersion (Generalized Procrustes), figures 1C, 2A and 2F and supplement
S2, over 1,024 images of Wikipedia and four vision models: Pearson's r of held-out models is 0.21 to
0.43.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, cycle
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from core.figures.grammar import Axis, Bars, Dots, Facet, Fixed, Level, Line, Palette, Plot, Scale
from core.figures.palette import CATEGORIES
from core.modalities import VISION
from core.options import MOST_STIMULI, option, part, seed_option
from core.questions.asking import ask
from core.questions.dispersion.residuals import (
    SHUFFLES,
    K,
    associate,
    describe_stimuli,
    distance_to_neighbors,
    leave_one_out,
    rank_predictors,
    read,
    relate,
    residuals,
    summarize,
    tail,
)
from core.questions.finding import ALPHA, NAN, Finding
from core.questions.question import Answer, StudyQuestion
from core.statistics.correlations import correlate_rows
from core.statistics.nulls import adjust, draw_sample
from core.statistics.procrustes import generalized_procrustes
from core.study.published import deviations_here
from core.study.selections import check_ends, ends, random_sets
from core.study.spaces import check_several, describe_spaces, find_spaces, name_spaces
from core.study.study import Study, studied_stimuli

Centering = Literal["features", "stimuli"]
Summary = Literal["mean", "pc1"]
RANKINGS = {"mean": "mean over models", "pc1": "first component"}  # as published
QUARTER = 4  # of all stimuli: a set is one over it if no size is named
DRAWN = 5000  # stimuli in a figure
LARGEST = 4096  # stimuli whose predictors are tested; of more as many are drawn
MOST_PREDICTORS = 12  # drawn
MOST_AXES = 4  # models whose residuals are drawn in pairs: six panels
LEAST_RANKED = 20  # stimuli for a finding about tenths of them


def size_option() -> Any:
    """Declare how many stimuli are in each set, None for a quarter of all."""
    text = "stimuli in the low, the high and each random set (a quarter of all)"
    return option(None, least=1, most=MOST_STIMULI, label="Set size", help=text)


@dataclass(frozen=True)
class Spaces:
    """The spaces whose consensus is taken, and how they are centered first."""

    spaces: tuple[str, ...] = option(
        (),
        label="Consensus",
        metavar="M:LAYER",
        help="layers of models whose consensus is taken, a model alone in its penultimate block"
        " (three or four vision models of different kinds, of one size if there is one, else the"
        " largest)",
    )
    centering: Centering = option(
        "features",
        label="Centering",
        help="what is subtracted from a space first: the mean of each feature, or of each stimulus"
        " (as published, over values that are not clamped)",
    )


@dataclass(frozen=True)
class Ranking(Spaces):
    """What ranks the stimuli: the dispersion of spaces."""

    by: Summary = option(
        "mean",
        label="Disagreement",
        help="what ranks the stimuli: the mean residual, or the first component of the residuals",
    )

    @property
    def joint(self) -> Spaces:
        """Return the spaces whose consensus ranks the stimuli."""
        return Spaces(self.spaces, self.centering)


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
    listed = False

    def answer(self, study: Study) -> Answer:
        """Return index, stimulus, its residual in each space, iterations, objective and its place
        along the consensus's principal axes, axis_1 … largest first.

        Raises as `generalized_procrustes`, and MetricError that names a degenerate space.
        """
        places = find_spaces(study, self.joint.spaces)
        fitted = generalized_procrustes(read(study, places), centering=self.joint.centering)
        apart = pd.DataFrame(residuals(fitted), columns=list(self.joint.spaces))
        rounds = apart.assign(iterations=len(fitted.objective), objective=fitted.objective[-1])
        names = [f"axis_{axis}" for axis in range(1, fitted.joint.shape[1] + 1)]
        axes = pd.DataFrame(fitted.joint, columns=names)
        return Answer(pd.concat([studied_stimuli(study), rounds, axes], axis=1))


@dataclass(frozen=True)
class StimulusDispersion(JointQuestion):
    """How far is each stimulus from the consensus of models?"""

    command = "dispersion stimuli"
    version = 5
    columns: ClassVar[Mapping[str, str]] = {
        "index": "place of the stimulus in its dataset",
        "stimulus": "its id",
        "mean": "mean residual over models",
        "pc1": "score on the first component of the residuals",
        "explained": "share of the residuals' variance along the first component",
        "iterations": "rounds until the consensus stayed",
        "objective": "sum of squared residuals, of spaces of norm 1",
        "rank_mean": "rank by the mean, 1 is the least dispersed",
        "set_mean": "low or high by the mean",
        "rank_pc1": "rank by the first component",
        "set_pc1": "low or high by the first component",
        "random": "whether the first random set of this seed has it",
    }

    rank: bool = option(
        False, help="add both published rankings, with the low, high and random set of each"
    )
    size: int | None = size_option()
    seed: int = seed_option("seed of the random set")

    def complete(self, study: Study) -> Self:
        question = super().complete(study)
        if not self.rank:
            return question
        check_several(question.joint.spaces)  # all summaries of two spaces give one ranking
        return replace(question, size=set_size(self.size, study))

    def is_kept(self) -> bool:
        return False

    def answer(self, study: Study) -> Answer:
        fitted = ask(ConsensusSpace(self.scope, self.joint), study)
        names = list(self.joint.spaces)
        summary = summarize(fitted[names].to_numpy())
        rounds = fitted[[*names, "iterations", "objective"]]
        table = pd.concat([fitted[["index", "stimulus"]], summary, rounds], axis=1)
        if not self.rank:
            factors = study.store.stimuli(study.dataset.name).drop(columns="stimulus")
            factors = factors.iloc[table["index"]].reset_index(drop=True)
            return Answer(table, spread_findings(table["mean"], factors, study.dataset.items))
        for name in RANKINGS:
            low, high = ends(table[name].to_numpy(), self.size or 0)
            table[f"rank_{name}"] = table[name].rank(method="first").astype(int)
            table[f"set_{name}"] = ""
            table.loc[low, f"set_{name}"], table.loc[high, f"set_{name}"] = "low", "high"
        (drawn,) = random_sets(len(table), self.size or 0, count=1, seed=self.seed)
        table["random"] = table.index.isin(drawn)
        return Answer(table, ranking_findings(table, study.dataset.items))

    def plot(self, table: pd.DataFrame) -> Plot:
        shown = list(RANKINGS) if self.rank else ["mean"]
        dots = table.iloc[draw_sample(len(table), DRAWN, seed=1)]
        rows = pd.concat(
            dots.assign(
                ranking=name,
                value=dots[name],
                place=table[name].rank(method="first"),
                part=dots[f"set_{name}"] if self.rank else "",
                floor=table[name].min(),
                drawn=dots["random"] if self.rank else False,
            )
            for name in shown
        )
        names = {"": "neither set", "low": "low set", "high": "high set"}
        return Plot(
            "Dispersion by rank",
            marks=(
                Dots(
                    "place",
                    "value",
                    color=Palette("part", {"": "soft", "low": "text", "high": "ember"}, names),
                    size=4,
                    card=("<b>#{index}</b>", "rank {place:,.0f}", "dispersion {value:.3g}"),
                    select=("index",),
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
            x=Axis("rank, 1 = least dispersed"),
            y={name: Axis("first component" if name == "pc1" else "residual") for name in shown},
            facet=Facet("ranking", {name: f"by the {RANKINGS.get(name, name)}" for name in shown}),
            height=360,
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
            "Residuals, an axis per model",
            marks=(
                Dots(
                    "x",
                    "y",
                    color=Scale("mean", "mean residual"),
                    size=4,
                    card=("<b>#{index}</b>", "residuals {x:.3g} and {y:.3g}", "mean {mean:.3g}"),
                ),
                Line("x", "y", table=pd.concat(lines), dash="dash", name="first component"),
            ),
            x={f"{x} {y}": Axis(titles[x]) for x, y in pairs},
            y={f"{x} {y}": Axis(titles[y]) for x, y in pairs},
            facet=Facet("pair", head=None, columns=3),
            height=240,
        ).over(rows)

    def plot_one(self, table: pd.DataFrame, index: int, about: pd.DataFrame) -> Plot:
        """Return the residual of one stimulus in each space next to the middle half of all.

        about: as `describe_spaces` gives it.
        """
        every = table[list(self.joint.spaces)]
        own = every[table["index"] == index].iloc[0]
        rows = about.assign(
            residual=about["space"].map(own),
            rank=about["space"].map((every < own).sum() + 1),
            n=len(every),
            lower=about["space"].map(every.quantile(0.25)),
            upper=about["space"].map(every.quantile(0.75)),
        )
        return Plot(
            "Residual by model",
            marks=(
                Bars(
                    "upper",
                    "title",
                    lying=True,
                    base="lower",
                    color=Fixed("chance"),
                    opacity=0.35,
                    width=0.9,
                    name="middle half",
                ),
                Bars(
                    "residual",
                    "title",
                    lying=True,
                    color=Palette("space", space_colors(list(about["space"]))),
                    width=0.45,
                    label="rank {rank:,} of {n:,}",
                    card=("<b>{title}</b>", "residual {residual:.3g}", "rank {rank:,} of {n:,}"),
                ),
            ),
            x=Axis("residual: distance to the consensus"),
            y=Axis(names=True),
            row=38,
            legend=False,  # every bar has its name
        ).over(rows)


def space_colors(spaces: Sequence[str]) -> dict[str, str]:
    """Return a color for each space, the same wherever its residuals are drawn."""
    return dict(zip(spaces, cycle(CATEGORIES), strict=False))


def spread_findings(values: pd.Series, factors: pd.DataFrame, items: str) -> list[Finding]:
    """Return how much more models disagree on some stimuli than on others, and which factor
    predicts it best; p is corrected for how many factors there are (Bonferroni).
    """
    n = len(values)
    if n < LEAST_RANKED:
        claim = f"How much models disagree on {items}"
        return [Finding(claim, reason=f"needs {LEAST_RANKED} {items}; {n} loaded")]
    ranked, tenth = np.sort(values.to_numpy()), n // 10
    low, high = float(ranked[:tenth].mean()), float(ranked[-tenth:].mean())
    ratio = high / low if low > 0 else NAN
    claim = f"Models disagree {ratio:.1f} times as much on the most disputed 10% of {items} as on"
    extent = Finding(f"{claim} the least", ratio, unit="times", digits=1, n=n, over=items)
    links = {name: associate(factors[name], values.to_numpy()) for name in factors}
    links = {name: one for name, one in links.items() if not np.isnan(one.p)}
    if not links:
        return [extent]
    beyond = {name: one for name, one in links.items() if one.p * len(links) <= ALPHA}
    if not beyond:
        p = min(1.0, min(one.p for one in links.values()) * len(links))
        return [extent, Finding(f"None of {len(links)} factors predicts dispersion", p=p)]
    best = max(beyond, key=lambda name: beyond[name].share)
    named = str(best).replace("_", " ")
    return [
        extent,
        Finding(
            f"Of {len(links)} factors, “{named}” predicts dispersion best",
            beyond[best].share,
            p=min(1.0, beyond[best].p * len(links)),
            name="R² of ranks",
            n=beyond[best].n,
            over=items,
        ),
    ]


def ranking_findings(table: pd.DataFrame, items: str = "stimuli") -> list[Finding]:
    """Return how far both published rankings agree, and what the first component leaves out."""
    order = float(spearmanr(table["mean"], table["pc1"]).statistic)
    shared = [
        Finding(
            f"Both rankings share {items} of the {name} set",
            float((table.loc[table["set_mean"] == name, "set_pc1"] == name).mean()),
            unit="%",
            n=int((table["set_mean"] == name).sum()),
            over=items,
        )
        for name in ("low", "high")
    ]
    return [
        Finding("Both rankings agree", order, name="ρ"),
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
class HeldOutFits(JointQuestion):
    """Does a model deviate where the other models disagree?"""

    command = "dispersion held-out"
    version = 5
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
        "published": "Pearson's r as published",
        "title": "name of the space",
        "group": "objective of its model",
        "index": "place of the stimulus in its dataset",
        "stimulus": "its id",
        "dispersion": "mean residual of the others in their own consensus",
        "deviation": "residual of the space, rotated onto that consensus",
    }

    points: bool = option(False, help="one row per stimulus and space instead, as in the figure")

    def is_kept(self) -> bool:
        return self.points

    def answer(self, study: Study) -> Answer:
        if not self.points:
            table = ask(replace(self, points=True), study).drop_duplicates("space")
            table = table.drop(columns=["index", "stimulus", "dispersion", "deviation"])
            table = table.reset_index(drop=True)
            return Answer(table, held_out_findings(table, study.dataset.items))
        places, stimuli = find_spaces(study, self.joint.spaces), studied_stimuli(study)
        held = leave_one_out(read(study, places), centering=self.joint.centering)
        tables = []
        for place, x, y, null in zip(places, *(each.T for each in held), strict=True):
            p = tail(correlate_rows(x[None], y[None])[0], null)
            fit = relate(x, y) | {"shuffled": null.mean(), "shuffled_p": p}
            table = stimuli.assign(space=str(place), dispersion=x, deviation=y, **fit)
            tables.append(table)
        about = describe_spaces(self.joint.spaces, study.models())
        table = pd.concat(tables).merge(about[["space", "title", "group"]], on="space")
        published, models = deviations_here(study), table["space"].str.rpartition(":")[0]
        if set(models) == set(published):
            table = table.assign(published=models.map(published))
        table = table[[name for name in self.columns if name in table]]
        fits = table.drop_duplicates("space")
        return Answer(table, held_out_findings(fits, study.dataset.items))

    def plot(self, table: pd.DataFrame) -> Plot:
        """Return the stimuli if the table has them, else the correlations."""
        r = "r = {pearson:.2f} [{pearson_low:.2f}, {pearson_high:.2f}], {shuffled_p:p}"
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
                        card=("<b>{title}</b>", r),
                        ids="{space}",
                    ),
                ),
                x=Axis("Pearson's r"),
                y=Axis(names=True),
                levels=(Level(0.0, "zero", along="x"),),
                row=36,
            ).over(table)
        shown = draw_sample(int(table.groupby("space").size().max()), DRAWN, seed=0)
        dots = table[table.groupby("space").cumcount().isin(shown)]
        ends = table.groupby("space", sort=False)["dispersion"].agg(["min", "max"]).stack()
        fit = ends.rename("dispersion").reset_index()[["space", "dispersion"]]
        fit = fit.merge(table.drop_duplicates("space")[["space", "slope", "intercept"]])
        card = ("<b>#{index}</b>", "dispersion {dispersion:.3g}", "deviation {deviation:.3g}")
        return Plot(
            "A model's deviation and the dispersion of the others",
            marks=(
                Dots("dispersion", "deviation", color="group", size=5, opacity=0.45, card=card),
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
            facet=Facet(
                "space",
                head="<b>{title}</b>",
                note=f"{r}<br>shuffled {{shuffled:.2f}}[[, published {{published:.2f}}]]"
                " || no correlation: one side does not vary",
            ),
            height=260,
        ).over(dots)


def held_out_findings(fits: pd.DataFrame, items: str = "stimuli") -> list[Finding]:
    """Return, for each space, whether it deviates where the others disagree.

    p: one-sided against the space's stimuli shuffled, adjusted for the false discovery rate over
    spaces; left out if Pearson's interval holds 0, so that the claim stays open.
    """
    above = adjust(fits["shuffled_p"].to_numpy())
    # of the other tail: each draw lies on one side of r
    below = adjust((1 + 1 / (SHUFFLES + 1) - fits["shuffled_p"]).clip(upper=1).to_numpy())
    findings = []
    for row, high, low in zip(fits.to_dict("records"), above, below, strict=True):
        r = float(row["pearson"])
        holds_0 = row["pearson_low"] <= 0 <= row["pearson_high"]
        findings.append(
            Finding(
                f"{row['title']} deviates where the other models disagree",
                r,
                row["pearson_low"],
                row["pearson_high"],
                NAN if holds_0 else float(high if r > 0 else low),
                name="r",
                n=int(row["n"]),
                over=items,
                expected="+",
                reason="one side does not vary" if np.isnan(r) else "",
                note=f"Shuffled: r = {row['shuffled']:.2f}.".replace("-", "−"),
                published=f"Published: r = {row['published']:.2f}." if "published" in row else "",
            )
        )
    published = "" if "published" in fits else "Published: r = 0.21 to 0.43 (supplement S2)."
    return counted(
        findings, "deviate where the others disagree", name="median r", published=published
    )


def counted(
    findings: Sequence[Finding], says: str, *, caveat: str = "", published: str = "", **look: Any
) -> list[Finding]:
    """Return findings about one model each, after one that counts how many of them are supported.

    caveat, published: of the first model's. look: further fields of the first finding, whose value
    is the median over the models.
    """
    tested = [one for one in findings if not one.reason]
    if not tested:
        why = dict.fromkeys(one.reason for one in findings)
        head = Finding(f"Models {says}", expected="+", reason="; ".join(why))
        return [head, *findings] if findings else []
    held = sum(one.verdict == "supported" for one in tested)
    against = sum(one.verdict == "contradicted" for one in tested)
    note = f"{against} of them {'does' if against == 1 else 'do'} the opposite." if against else ""
    median = float(np.median([one.value for one in tested]))
    claim = f"{held or 'None'} of {len(tested)} models {says}"
    head = Finding(claim, median, note=note, **look)
    first = findings[0]
    first = replace(first, note=first.note or caveat, published=first.published or published)
    return [head, first, *findings[1:]]


@dataclass(frozen=True)
class DispersionPredictors(StudyQuestion):
    """What predicts the dispersion of a stimulus?"""

    command = "dispersion predictors"
    version = 6
    device: ClassVar[None] = None
    columns: ClassVar[Mapping[str, str]] = {
        "kind": "image, caption, factor or consensus",
        "predictor": "what predicts",
        "share": "share of the variance of the ranks that it explains, at most 1",
        "spearman": "Spearman's ρ, from −1 to 1; none of a text",
        "test": "Spearman's test, or that of Kruskal and Wallis for a text",
        "p": "p of that test",
        "p_adjusted": "p adjusted for the false discovery rate",
        "n": "stimuli of which it is known",
        "reason": "why it is left out",
    }

    ranking: Ranking = part(Ranking)

    def complete(self, study: Study) -> Self:
        spaces = name_spaces(study, self.ranking.spaces)
        return replace(self, ranking=replace(self.ranking, spaces=spaces))

    def answer(self, study: Study) -> Answer:
        consensus = ask(ConsensusSpace(self.scope, self.ranking.joint), study)
        consensus = consensus.iloc[draw_sample(study.size, LARGEST, seed=0)]
        values = summarize(consensus[list(self.ranking.spaces)].to_numpy())[self.ranking.by]
        predictors = describe_stimuli(study, consensus["index"].to_numpy())
        axes = consensus.filter(like="axis_").to_numpy()
        sparse = distance_to_neighbors(axes, k=K)
        predictors["consensus"] = pd.DataFrame({f"distance to {K} neighbors": sparse})
        table = rank_predictors(predictors, values.to_numpy())
        return Answer(table, predictor_findings(table, study.dataset.items))

    def plot(self, table: pd.DataFrame) -> Plot:
        rows = table.dropna(subset="share").head(MOST_PREDICTORS)
        rows = rows.assign(name=rows["predictor"].str.replace("_", " ") + " (" + rows["kind"] + ")")
        card = ("<b>{name}</b>", "R² of ranks {share:.3f}", "{test}: {p_adjusted:p}, n = {n}")
        dots = Dots(
            "share", "name", rows=f"p_adjusted < {ALPHA}", color=Fixed("ember"), size=10, card=card
        )
        return Plot(
            "What predicts dispersion",
            marks=(dots, replace(dots, rows=f"not p_adjusted < {ALPHA}", hollow=True)),
            x=Axis("R² of ranks"),
            y=Axis(names=list(rows["name"])),
            levels=(Level(0.0, "zero", along="x"),),
            empty="No predictor can be used[[: {reason}]].",
            row=24,
        ).over(rows if len(rows) else table.assign(name=""))


def predictor_findings(table: pd.DataFrame, items: str = "stimuli") -> list[Finding]:
    """Return how many predictors are related to dispersion, and the one that explains most."""
    tested = table.dropna(subset="p")
    sure = tested[tested["p_adjusted"] < ALPHA]
    claim = f"{len(sure) or 'None'} of {len(tested)} predictors are related to dispersion"
    if sure.empty:
        return [Finding(claim)]
    best = sure.iloc[0]
    named = best["predictor"].replace("_", " ")
    top = Finding(
        f"Dispersion depends most on “{named}” ({best['kind']})",
        float(best["share"]),
        p=float(best["p_adjusted"]),
        name="R² of ranks",
        n=int(best["n"]),
        over=items,
    )
    return [top, Finding(claim)]


def set_size(size: int | None, study: Study) -> int:
    """Return the sets' size, a quarter of all stimuli if none is named; raises StimuliError."""
    size = study.size // QUARTER if size is None else size
    check_ends(study.size, size)
    return size
