"""Does the answer depend on the metric? Models by every metric, over neighborhoods, over sample
sizes and against nulls.

Kernels of all pairs of stimuli bound the work: of more than LARGEST stimuli as many are drawn,
seeded.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import ClassVar, Literal, TypeVar

import numpy as np
import pandas as pd
from jaxtyping import Float32

from core.errors import InputError, MetricError, NotApplicableError, UnknownNameError
from core.figures.grammar import (
    Axis,
    Dots,
    Facet,
    Fixed,
    Heat,
    Level,
    Line,
    Palette,
    Plot,
    Scale,
    Size,
)
from core.metrics import METRICS, find_metric
from core.metrics.catalog import PRINTED, make_engine
from core.metrics.spec import Parameter
from core.modalities import LANGUAGE
from core.options import (
    MOST_STIMULI,
    draws_option,
    models_option,
    neighbors_option,
    option,
    part,
    seed_option,
)
from core.progress import tell_each
from core.questions.alignment.axes import (
    AXES,
    COMPETENCE,
    axis_of,
    axis_values,
    check_axis,
    short_name,
)
from core.questions.alignment.question import Alignment, complete_pair
from core.questions.asking import ask
from core.questions.finding import ALPHA, Finding, listed, most_p
from core.questions.metrics.scores import (
    COMPARED,
    FEWEST,
    OVER_K,
    Variant,
    calibrate_metrics,
    curve_over_k,
    grow_sample,
    make_engines,
    rank_agreement,
    scale_trends,
    score_pairs,
    scores_over_k,
    spread_ks,
    toward,
    with_k,
)
from core.questions.models.pairs import closest_two
from core.questions.question import Answer, StudyQuestion
from core.spaces.kernels import order_alike
from core.spaces.preprocess import check_k, normalize_rows
from core.statistics.correlations import Fit, competence_fit
from core.statistics.nulls import adjust, check_count, draw_sample
from core.study.comparing import align_models
from core.study.models import is_reality, lines, reads, usual
from core.study.parts import Comparison, LayerPair, LayerRule
from core.study.study import Study, finished_models

LARGEST = 1024
SEED = "seed of the stimuli drawn and shuffled"
NAMED = 3  # metrics in a sentence
FEW = 20  # variants of metrics whose names a map has room for
SCOPES = Palette(
    "scope",
    {"local": "ember", "global": "text"},
)

Chosen = TypeVar("Chosen", str, int, float)


def sample_sizes(n: int) -> list[int]:
    """Return 128, 256, 512 if there are more stimuli, and all, at most LARGEST."""
    return [size for size in (128, 256, 512) if size < n] + [min(n, LARGEST)]


def usual_size(n: int, *, k: int) -> int:
    """Return the default number of stimuli: 256, or the fewest above k."""
    sizes = [size for size in sample_sizes(n) if size > k] or [min(n, LARGEST)]
    return sizes[min(1, len(sizes) - 1)]


@dataclass(frozen=True)
class MetricAgreement(StudyQuestion):
    """Do metrics rank models alike?

    Every metric with each k, rank or bandwidth, on each number of stimuli, against every other, in
    the last layers: figure 12 of Huh et al. 2024.
    """

    command = "metrics agreement"
    version = 5
    columns: ClassVar[Mapping[str, str]] = {
        "variant_x": "metric, its parameter, and the number of stimuli",
        "variant_y": "another one",
        "metric_x": "metric",
        "metric_y": "metric",
        "spearman": "Spearman's ρ between both rankings of all pairs of models, from −1 to 1",
        "pairs": "pairs of models that both score",
        "reason": "why there is no ρ",
        "left_out": "models that no metric scores",
    }
    shown = ("variant_x", "variant_y", "spearman", "pairs", "reason")

    names: tuple[str, ...] = models_option(
        "models (all fully trained ones)", name="model", label="Models"
    )
    metrics: tuple[str, ...] = option(
        (),
        name="metric",
        label="Metrics",
        metavar="METRIC",
        help="metrics (all that do not take long)",
    )
    ks: tuple[int, ...] = neighbors_option((10,), name="k")
    ranks: tuple[int, ...] = option(
        (), name="rank", least=2, most=100_000, label="Ranks", help="directions that SVCCA keeps"
    )
    bandwidths: tuple[float, ...] = option(
        (),
        name="bandwidth",
        least=1e-4,
        most=1e6,
        label="Bandwidths",
        help="of Gaussian CKA, in median distances",
    )
    sizes: tuple[int, ...] = option(
        (),
        name="size",
        least=2,
        most=MOST_STIMULI,
        label="Images",
        help="numbers of stimuli drawn, the same for all metrics (256, or all of fewer)",
    )
    seed: int = seed_option(SEED)

    def compared_metrics(self) -> tuple[str, ...]:
        return self.metrics

    def variants(self) -> list[Variant]:
        """Return all that a complete question compares: by metric, then parameter, then size."""
        values = {"k": self.ks, "rank": self.ranks, "bandwidth": self.bandwidths}
        found = []
        for metric in self.metrics:
            named = [name for name in values if name in METRICS[metric].spec.defaults]
            settings: list[tuple[tuple[str, Parameter], ...]] = [
                ((name, value),) for name in named for value in values[name]
            ]
            every = product(settings or [()], self.sizes)
            found += [Variant(metric, setting, size) for setting, size in every]
        return found

    def complete(self, study: Study) -> MetricAgreement:
        models = usual(study.models())
        complete = replace(
            self,
            names=_once(self.names) or tuple(models.loc[~is_reality(models), "model"]),
            metrics=_each_once(self.metrics) or COMPARED,
            ks=_once(self.ks),
            ranks=_once(self.ranks),
            bandwidths=_once(self.bandwidths),
            sizes=_once(self.sizes) or (usual_size(study.size, k=max(self.ks, default=0)),),
        )
        largest = max(complete.sizes)
        if largest > study.size:
            raise MetricError(f"expected at most {study.size} stimuli, which is all; got {largest}")
        if largest > LARGEST:
            raise MetricError(
                f"expected at most {LARGEST:,} stimuli, since metrics compare all pairs of them;"
                f" got {largest:,}: ask for fewer"
            )
        for variant in complete.variants():  # refuses what the device does not have
            make_engine(variant.metric, device=study.device, **dict(variant.parameter))
        return complete

    def answer(self, study: Study) -> Answer:
        table = rank_agreement(self.scores(study))
        return Answer(table, agreement_findings(table))

    def scores(self, study: Study) -> pd.DataFrame:
        """Score every pair of models by each variant: variant and the columns of `score_pairs`."""
        spaces = {size: _last_layers(study, self.names, size, self.seed) for size in self.sizes}
        tables, variants = [], self.variants()
        for one in tell_each(variants, "metrics compared over all pairs of models"):
            engine = make_engine(one.metric, device=study.device, **dict(one.parameter))
            table = score_pairs(spaces[one.size], one.metric, engine)
            tables.append(table.assign(variant=one.title))
        return pd.concat(tables, ignore_index=True)

    def plot(self, table: pd.DataFrame) -> Plot:
        """Draw ρ as a heat map in which variants that agree lie together."""
        variants = table.drop_duplicates("variant_x")
        alone = variants["metric_x"].is_unique
        called = {
            row["variant_x"]: METRICS[row["metric_x"]].spec.short if alone else row["variant_x"]
            for row in variants.to_dict("records")
        }
        rho = table.pivot(index="variant_x", columns="variant_y", values="spearman")
        rho = rho.loc[list(called), list(called)].fillna(0.0)
        order = order_alike(rho.to_numpy(float)) if len(called) > 2 else range(len(called))
        names = {variant: called[variant] for variant in rho.index[list(order)]}
        few = len(names) <= FEW
        low = np.floor(10 * table["spearman"].min()) / 10
        return Plot(
            "Spearman’s ρ between metrics",
            marks=(
                Heat(
                    "variant_x",
                    "variant_y",
                    Scale("spearman", "Spearman’s ρ", low=min(low, 0.9), high=1.0),
                    card=(
                        "<b>{variant_x}<br>× {variant_y}</b>",
                        "{reason:wrap}",
                        "[[ρ {spearman:.3f} over {pairs} pairs of models]]",
                    ),
                ),
            ),
            x=Axis(names=names, top=few, bare=not few),
            y=Axis(names=names),
            empty="No two metrics can be compared here[[: {reason}]].",
            row=26 if few else 15,
            legend=False,
        ).over(table)


def agreement_findings(table: pd.DataFrame) -> list[Finding]:
    """Return the median of ρ over every two variants, by what metrics compare, and models left
    out.
    """
    place = {title: number for number, title in enumerate(table["variant_x"].unique())}
    below = table["variant_x"].map(place) < table["variant_y"].map(place)  # each two once
    ranked = table[below].dropna(subset="spearman")
    if ranked.empty:
        why = next(iter(table.loc[below, "reason"]), "needs two metrics and three pairs of models")
        return [Finding("Metrics rank pairs of models alike", reason=why)]
    least = ranked.sort_values("spearman", kind="stable").iloc[0]
    scope = {name: metric.spec.scope for name, metric in METRICS.items()}
    kinds = ranked["metric_x"].map(scope) + " " + ranked["metric_y"].map(scope)
    kinds = kinds.replace("global local", "local global").mask(
        ranked["metric_x"] == ranked["metric_y"], "same"
    )
    medians = ranked.groupby(kinds)["spearman"].median()
    parts = {"local local": "two local metrics", "global global": "two global ones"}
    within = [f"{words} {medians[kind]:.2f}" for kind, words in parts.items() if kind in medians]
    found = [
        Finding(
            f"{len(place)} metrics rank pairs of models alike",
            ranked["spearman"].median(),
            name="median ρ",
            n=int(ranked["pairs"].max()),
            over="pairs of models",
        ),
        Finding(
            f"{least['variant_x']} and {least['variant_y']} agree least",
            least["spearman"],
            name="ρ",
            published="Published: most metrics are highly correlated over 78 vision models (Huh et"
            " al. 2024, figure 12).",
        ),
    ]
    if "local global" in medians:
        claim, note = "A local and a global metric", f"Between {' and '.join(within)}."
        found.append(
            Finding(claim, medians["local global"], name="median ρ", note=note if within else "")
        )
    if left_out := str(table["left_out"].iloc[0]):
        found.append(Finding("Left out are models without scores", reason=left_out))
    return found


def add_trends(
    table: pd.DataFrame, by: Sequence[str], kin: Mapping[str, str], place: str
) -> pd.DataFrame:
    """Add Spearman's correlation of `place` and the mean score of each model, higher being more
    aligned, for each value of the columns `by`, the metric first. kin: the line of each model.
    """
    rows = []
    for key, group in table.groupby(list(by), sort=False):
        means = group.groupby("model", sort=False)[[place, "score"]].mean()
        y = means["score"].to_numpy(float) * toward(str(key[0]))
        fit: Fit = competence_fit(
            means[place].to_numpy(float), y, [kin.get(name, name) for name in means.index]
        )
        rows.append((*key, fit.spearman, fit.p, fit.n, fit.reason))
    trends = pd.DataFrame(rows, columns=[*by, "rho", "p", "models", "no_trend"])
    trends.insert(len(by) + 2, "p_adjusted", adjust(trends["p"].to_numpy(float)))
    return table.merge(trends, on=list(by), how="left")


def trend_finding(claim: str, trends: pd.DataFrame, by: str) -> Finding:
    """Return whether a correlation is above 0 for every value of the column `by`: its least value,
    and the largest p unless some ρ is below 0. trends: of `add_trends`.
    """
    known = trends.drop_duplicates(by).dropna(subset="rho")
    if known.empty:
        return Finding(claim, expected="+", reason=str(trends["no_trend"].iloc[0]))
    ordered = known.sort_values("rho", kind="stable")
    least, most = ordered.iloc[0], ordered.iloc[-1]
    sure = int((known["p_adjusted"] < ALPHA).sum())
    low, high = (f"{one['rho']:.2f}".replace("-", "−") + f" ({one[by]})" for one in (least, most))
    return Finding(
        claim,
        least["rho"],
        p=least["p_adjusted"] if least["rho"] < 0 else known["p_adjusted"].max(),
        name="least ρ",
        n=int(least["models"]),
        expected="+",
        note=f"ρ from {low} to {high}; significant for {sure} of {len(known)}.",
    )


def compare_metrics(trends: pd.DataFrame, over: str) -> list[Finding]:
    """Return by which metrics better models align more, named if they are few, with the least ρ
    and largest q of these, and by which they do not.

    trends: metric, rho, q and n of each, of which `over` says what they are.
    """
    known = trends.dropna(subset="rho").sort_values("rho", kind="stable")
    rises = (known["q"] < ALPHA) & (known["rho"] > 0)
    findings = []
    if rises.any():
        row, part = known[rises].iloc[0], known[rises]
        count = f"all {len(known)}" if rises.all() else f"{len(part)} of {len(known)}"
        names = _shorts(part) if len(part) <= NAMED else f"{count} metrics"
        claim = f"Better models align more by {names}, each with {most_p(part['q'])}"
        findings = [Finding(claim, row["rho"], name="least ρ", n=int(row["n"]), over=over)]
    if len(known) and not rises.all():
        row, part = known[~rises].iloc[-1], known[~rises]
        claim = f"No significant rise by {_shorts(part)}"
        most = {"p": row["q"], "n": int(row["n"]), "over": over, "adjusted": True}
        findings.append(Finding(claim, row["rho"], name="largest ρ", **most))
    return findings


def _shorts(rows: pd.DataFrame) -> str:
    return listed(METRICS[metric].spec.short for metric in rows["metric"])


@dataclass(frozen=True)
class MetricTrends(StudyQuestion):
    """Does alignment rise with competence for every metric and every k?

    Language models against vision models by several metrics (figures 13 and 14 of Huh et al. 2024),
    or by two metrics in their last layers from k = 2 to n − 1 (figure 10). The axis is competence;
    over k, with vision models on it, their size, as published.
    """

    command = "metrics trends"
    version = 5
    columns: ClassVar[Mapping[str, str]] = {
        "metric": "metric",
        "model_x": "language model",
        "model_y": "model that it is compared with",
        "layer_x": "its layer, from 0",
        "layer_y": "layer of the other",
        "score": "alignment; over k the mean over the models compared with",
        "chance": "alignment of unrelated models",
        "k": "neighbors",
        "model": "model on the axis, from the smallest",
        "scaled": "(score − score of the smallest model) / sd over models",
        "competence": "competence of the language model, as the axis says",
        "line": "models of one line count once in tests",
        "reason": "why there is no score",
        "rho": "Spearman's ρ of competence and mean alignment (higher is more aligned), from −1",
        "p": "its p, two-sided",
        "p_adjusted": "p adjusted for the false discovery rate over the metrics, or over all k",
        "models": "models that ρ rests on",
        "no_trend": "why there is no ρ",
        "axis": "what the competence is",
        "title": "name of the model",
        "parameters": "its parameters",
        "title_x": "name of the language model",
        "title_y": "name of the other",
        "group_y": "objective of the other",
        "parameters_y": "parameters of the other",
    }
    hidden = tuple(columns)[-14:]

    x: tuple[str, ...] = models_option(
        "models on the axis (all fully trained language models of known competence)",
        name="x",
        label="Models",
    )
    y: tuple[str, ...] = models_option(
        "models to compare them with (all fully trained vision models)",
        name="y",
        label="Compared with",
    )
    over: Literal["metric", "k"] = option(
        "metric", label="Over", help="what changes: the metric, or the neighbors k"
    )
    metrics: tuple[str, ...] = option(
        (), name="metric", label="Metrics", metavar="METRIC", help="metrics (the paper's eight)"
    )
    axis: str = option(
        COMPETENCE,
        label="Axis",
        metavar="AXIS",
        help="competence (1 - bits per byte of the captions), or a score by its task and origin",
    )
    k: int = neighbors_option()
    rule: LayerRule = part(LayerRule)
    seed: int = seed_option(SEED)

    def compared_metrics(self) -> tuple[str, ...]:
        return self.metrics

    @property
    def _placed(self) -> Alignment:
        return Alignment(self.scope, x=self.x, axis=self.axis)

    def complete(self, study: Study) -> MetricTrends:
        """Name the models, those of x from the smallest to the largest, then by competence; options
        that do not count get their defaults.
        """
        usual_ones = MetricTrends()
        if self.over == "k":
            complete = replace(
                self, metrics=OVER_K, axis=COMPETENCE, k=usual_ones.k, rule=usual_ones.rule
            )
        else:
            self.rule.read_layers()
            if self.axis != COMPETENCE and self.axis in AXES:
                raise UnknownNameError("score", self.axis, [COMPETENCE])
            check_axis(self._placed, study)
            check_k(self.k, study.size)
            metrics = _each_once(self.metrics) or tuple(PRINTED)
            complete = replace(self, metrics=metrics, seed=usual_ones.seed)
        skill = study.competence().dropna(subset="value").set_index("model")["value"]
        known = [name for name in finished_models(study, "caption") if name in skill]
        x, y = _once(self.x) or known, _once(self.y) or finished_models(study, "image")
        if not (x and y):
            raise NotApplicableError(
                "Needs a language model of known competence and a vision model;"
                f" {len(x)} and {len(y)} loaded."
            )
        parameters = study.models().set_index("model")["parameters"]
        order = sorted(x, key=lambda name: (parameters.get(name), skill.get(name)))
        return replace(complete, x=tuple(order), y=tuple(y))

    def answer(self, study: Study) -> Answer:
        table, by = (
            (self._over_k(study), ["metric", "k"])
            if self.over == "k"
            else (self._over_metrics(study), ["metric"])
        )
        sizes = (table["axis"] == "parameters").all()
        place, kin = "parameters" if sizes else "competence", lines(study.models())
        parts = [part for _, part in table.groupby(by[:-1] or ["axis"], sort=False)]
        table = pd.concat([add_trends(part, by, kin, place) for part in parts])
        shorts = table["metric"].map(lambda name: METRICS[name].spec.short)
        if self.over == "k":
            named = table.assign(at=[f"k = {k:,}" for k in table["k"]])
            claims = {
                f"By {short}, alignment rises with {place} at every k": rows
                for short, rows in named.groupby(shorts, sort=False)
            }
        else:
            claim = f"Alignment rises with {short_name(self.axis)} by every metric"
            claims = {claim: table.assign(at=shorts)}
        findings = [trend_finding(claim, rows, "at") for claim, rows in claims.items()]
        return Answer(table[[name for name in self.columns if name in table]], findings)

    def _over_metrics(self, study: Study) -> pd.DataFrame:
        skill, models = axis_values(self._placed, study), study.models()
        columns = ["model_x", "model_y", "layer_x", "layer_y", "score", "chance", "reason"]
        tables = []
        for metric in tell_each(self.metrics, "metrics over all pairs of models"):
            comparison = Comparison.of(metric, with_k(metric, self.k), **vars(self.rule))
            table = align_models(study, self.x, self.y, comparison)[columns]
            tables.append(table.assign(metric=metric))
        joined = pd.concat(tables, ignore_index=True)
        named, x = models.set_index("model"), joined["model_x"]
        return (
            joined.assign(competence=x.map(skill), line=x.map(lines(models)), model=x)
            .assign(axis=axis_of(self._placed, study).title)
            .join(named[["title"]].add_suffix("_x"), on="model_x")
            .join(named[["title", "group", "parameters"]].add_suffix("_y"), on="model_y")
        )

    def _over_k(self, study: Study) -> pd.DataFrame:
        """Return `scale_trends`, relative to the first model that has a score, described."""
        size = min(study.size, LARGEST)
        x, y = (_last_layers(study, names, size, self.seed) for names in (self.x, self.y))
        ks = spread_ks(size, count=8)
        scores = scores_over_k(x, y, ks=ks, device=study.device)
        names = scores.dropna(subset="score")["model"]
        smallest = str((names if len(names) else scores["model"]).iloc[0])
        models = study.models().set_index("model")
        skill = study.competence().set_index("model")["value"]
        sees = reads(models.loc[list(self.x)], "image").all()
        axis = "parameters" if sees else axis_of(self._placed, study).title
        return (
            scale_trends(scores, smallest=smallest)
            .join(models[["title", "parameters"]], on="model")
            .assign(competence=scores["model"].map(skill), axis=axis)
        )

    def plot(self, table: pd.DataFrame) -> Plot:
        return self._lines_by_k(table) if self.over == "k" else self._lines_by_metric(table)

    def _lines_by_metric(self, table: pd.DataFrame) -> Plot:
        card = (
            "<b>{title_x} × {title_y}</b>",
            "alignment {score:.3f}",
            "layers {layer_x} and {layer_y}",
        )
        return Plot(
            "Alignment and competence by metric",
            marks=(
                Line(
                    "competence",
                    "score",
                    by="model_y",
                    color="group_y",
                    width=Size("parameters_y"),
                    opacity=0.7,
                ),
                Dots(
                    "competence",
                    "score",
                    color="group_y",
                    size=6,
                    modality=LANGUAGE,
                    card=card,
                    ids="{model_x} × {model_y}",
                    select=("model_x", "model_y"),
                ),
                Line("competence", "score", mean="model_x", width=3, dash="dash", name="mean"),
            ),
            x=Axis(table["axis"].iloc[0] if len(table) else COMPETENCE),
            y=Axis("alignment"),
            facet=Facet(
                "metric",
                names={
                    name: f"{one.spec.short}{'' if toward(name) > 0 else ' (low: aligned)'}"
                    for name, one in METRICS.items()
                },
                note="ρ = {rho:.2f}, {p_adjusted:p} || {no_trend:wrap}",
                share="x",
            ),
            empty="No alignment can be computed for these models.",
            height=220,
        ).over(table)

    def _lines_by_k(self, table: pd.DataFrame) -> Plot:
        by_size = (table["axis"] == "parameters").all()
        place = "parameters" if by_size else COMPETENCE
        seen = table.dropna(subset=[place, "scaled"])
        enough = seen["model"].nunique() >= 3
        first = table.dropna(subset="score")["title"]
        smallest = first.iloc[0] if len(first) else "the smallest"
        card = (
            "<b>{title}</b>[[, {parameters:count} parameters]]",
            "k = {k}: {scaled:.2f} sd, alignment {score:.3f}",
        )
        return Plot(
            "Alignment for several sizes of the neighborhood",
            marks=(
                Dots(
                    place,
                    "scaled",
                    join=True,
                    size=7,
                    color=Palette("k", names={k: f"k = {k:,}" for k in sorted(set(seen["k"]))}),
                    card=card,
                    ids="{model}",
                    select=("model",),
                ),
            ),
            x=Axis(table["axis"].iloc[0], log=by_size),
            y=Axis(f"alignment above {smallest} (sd)"),
            facet=Facet("metric", names={one: METRICS[one].spec.short for one in seen["metric"]}),
            empty=f"Needs 3 models of known {place}.",
            height=330,
        ).over(seen if enough else seen.iloc[:0])


@dataclass(frozen=True)
class UsualScores(StudyQuestion):
    """How aligned are all fully trained models of these modalities, by every metric, in last
    layers? What `MetricPair` compares each of their pairs with.
    """

    command = "metrics usual"
    version = 1
    listed = False
    columns: ClassVar[Mapping[str, str]] = {
        "metric": "metric",
        "model_x": "a model",
        "model_y": "another one, of the other modality if there are two",
        "score": "alignment",
        "reason": "why there is no score",
    }

    modalities: tuple[str, ...] = option(
        (), name="modality", metavar="MODALITY", help="one modality, or two whose models are paired"
    )
    k: int = neighbors_option()
    metrics: tuple[str, ...] = option((), name="metric", metavar="METRIC", help="metrics")
    seed: int = seed_option(SEED)

    def compared_metrics(self) -> tuple[str, ...]:
        return self.metrics

    def answer(self, study: Study) -> Answer:
        models = usual(study.models())
        names = list(models.loc[models["modality"].isin(self.modalities), "model"])
        return Answer(self.score(study, names))

    def score(self, study: Study, names: Sequence[str], of: Collection[str] = ()) -> pd.DataFrame:
        """Score all pairs of these models, or those of some."""
        modality, sides = study.models().set_index("model")["modality"], {*self.modalities}
        pairs = [two for two in combinations(names, 2) if {modality[one] for one in two} == sides]
        pairs = [two for two in pairs if not of or not {*two}.isdisjoint(of)]
        spaces = _last_layers(study, names, usual_size(study.size, k=self.k), self.seed)
        tables = []
        for metric in tell_each(
            self.metrics if pairs else (), "metrics over other pairs of models"
        ):
            engine = make_engine(metric, device=study.device, **with_k(metric, self.k))
            tables.append(score_pairs(spaces, metric, engine, pairs))
        return pd.concat(tables) if tables else pd.DataFrame(columns=list(self.columns))


@dataclass(frozen=True)
class MetricPair(StudyQuestion):
    """How aligned are two layers by every metric, over neighborhoods, or over stimuli?

    By metric, in last layers unless others are named, the score is calibrated against shuffled
    stimuli, and compared with other pairs of fully trained models of the same modalities.
    """

    command = "metrics pair"
    version = 5
    columns: ClassVar[Mapping[str, str]] = {
        "metric": "metric",
        "score": "alignment; over stimuli the mean over subsamples",
        "null_mean": "mean score of shuffled stimuli",
        "null_sd": "its standard deviation",
        "threshold": "score that 5% of shuffles exceed",
        "p": "p of the permutation test",
        "calibrated": "0 at the threshold, 1 at full alignment",
        "reason": "why there is no score",
        "own": "score over the stimuli on which pairs of models are compared",
        "usual": "mean score of other pairs over these",
        "difference": "how many of their sd the pair is above it; higher is more aligned",
        "above": "share of these that are less aligned",
        "others": "how many other pairs",
        "k": "neighbors",
        "n": "stimuli",
        "chance": "score of shuffled stimuli, mean",
        "sd": "standard deviation: over k of the shuffles, over stimuli of the subsamples",
        "repeats": "subsamples",
        "curve": "metric, and what of k stays the same",
    }

    pair: LayerPair = part(LayerPair)
    over: Literal["metric", "k", "stimuli"] = option(
        "metric", label="Over", help="what changes: the metric, the neighbors k, or the stimuli"
    )
    k: int = neighbors_option()
    metrics: tuple[str, ...] = option(
        (),
        name="metric",
        label="Metrics",
        metavar="METRIC",
        help="metrics, if these are compared (all that do not take long)",
    )
    null: int = draws_option(
        100,
        least=1,
        label="Permutations",
        help="shuffles of one model's stimuli, which show what unrelated models reach",
    )
    seed: int = seed_option(SEED)

    def compared_metrics(self) -> tuple[str, ...]:
        fixed = {"k": ("mutual_knn", "cknna"), "stimuli": ("mutual_knn", "cka", "unbiased_cka")}
        return fixed.get(self.over, self.metrics)

    def complete(self, study: Study) -> MetricPair:
        """Name what is left out: by metric the closest two models of different setups in their last
        layers, else the best-aligned vision and language model in their best-aligned ones; options
        that do not count get their defaults.
        """
        k = min(10, study.size - 1) if self.over == "k" else self.k
        pair = self.pair
        if self.over == "metric" and not (pair.x or pair.y):
            with suppress(InputError):  # no two of different setups
                first, second = closest_two(self.scope, study)
                pair = replace(pair, x=first, y=second)
        pair = complete_pair(pair, self.scope, study, k=k)
        if self.over == "metric":
            x, y = (len(study.entry(name).dims) - 1 for name in (pair.x, pair.y))
            x = x if self.pair.layer_x is None else self.pair.layer_x
            y = y if self.pair.layer_y is None else self.pair.layer_y
            pair = replace(pair, layer_x=x, layer_y=y)
        complete = replace(self, pair=pair)
        if self.over != "metric":
            k = self.k if self.over == "stimuli" else type(self).k
            return replace(complete, k=k, metrics=(), null=type(self).null)
        check_count(self.null)
        complete = replace(complete, metrics=_each_once(self.metrics) or COMPARED)
        make_engines(complete.metrics, k=self.k, device=study.device)  # which the device may lack
        return complete

    def answer(self, study: Study) -> Answer:
        rows = draw_sample(study.size, LARGEST, seed=self.seed)
        x, y = (study.spaces(model)[layer][rows] for model, layer in self.pair.places)
        if self.over == "k":
            ks, device = spread_ks(len(x)), study.device
            return Answer(curve_over_k(x, y, ks=ks, seed=self.seed, device=device))
        if self.over == "stimuli":
            x, y = normalize_rows(x), normalize_rows(y)
            return Answer(grow_sample(x, y, k=self.k, seed=self.seed))
        engines = make_engines(self.metrics, k=self.k, device=study.device)
        table = calibrate_metrics(x, y, engines, count=self.null, seed=self.seed).merge(
            self._among_others(study), on="metric", how="left"
        )
        order = table["difference"].abs().sort_values(ascending=False, kind="stable").index
        table = table.loc[order].reset_index(drop=True)
        titles = study.models().set_index("model")["title"]
        two = f"{titles[self.pair.x]} and {titles[self.pair.y]}"
        columns = [*list(self.columns)[:8], "own", "usual", "difference", "above", "others"]
        return Answer(table[columns], pair_findings(table, two))

    def _among_others(self, study: Study) -> pd.DataFrame:
        """Return by metric own, usual, difference, above and others: the two models among all pairs
        of fully trained models of their modalities, in last layers.
        """
        every = study.models()
        models, modality = usual(every), every.set_index("model")["modality"]
        own = {self.pair.x, self.pair.y}
        sides = tuple(sorted({modality[one] for one in own}))
        asked = UsualScores(self.scope, sides, self.k, self.metrics, self.seed)
        tables = [ask(asked, study)]
        if more := own - {*models["model"]}:
            names = models.loc[models["modality"].isin(sides), "model"]
            tables.append(asked.score(study, list(dict.fromkeys([*sorted(own), *names])), more))
        scored, rows = pd.concat(tables), []
        for metric in self.metrics:
            table = scored[scored["metric"] == metric]
            scores = toward(metric) * table["score"]
            mine = (table["model_x"].isin(own) & table["model_y"].isin(own)).to_numpy()
            value, others = float(scores[mine].iloc[0]), scores[~mine].dropna()
            score, typical = toward(metric) * value, toward(metric) * others.mean()
            difference = above = np.nan
            if len(others) >= FEWEST and not np.isnan(value) and others.std():
                difference = (value - others.mean()) / others.std()
                above = (others < value).mean()
            rows.append((metric, score, typical, difference, above, len(others)))
        columns = ["metric", "own", "usual", "difference", "above", "others"]
        return pd.DataFrame(rows, columns=columns)

    def plot(self, table: pd.DataFrame) -> Plot:
        spec = {name: METRICS[name].spec for name in table["metric"]}
        table = table.assign(scope=[spec[name].scope for name in table["metric"]])
        if self.over == "metric":
            return _calibrated(table)
        over_k = self.over == "k"
        place, facet = ("k", "metric") if over_k else ("n", "curve")
        spread = " ± {sd:.1g}"
        card = (
            "k = {k}" if over_k else "{n} stimuli",
            f"alignment {{score:.3f}}{'' if over_k else spread}",
            f"chance {{chance:.3f}}{spread if over_k else ''}",
        )
        chance = Fixed("chance")
        return Plot(
            f"Alignment over {'k' if over_k else 'the number of stimuli'}",
            marks=(
                Line(place, "chance", color=chance, dash="dot", width=1.5, name="chance"),
                Dots(place, "score", color=SCOPES, join=True, size=7, card=card),
            ),
            x=Axis("neighbors k" if over_k else "stimuli n", log=True, ticks="data"),
            y=Axis("alignment", zero=True),
            facet=Facet(facet, names={n: s.short for n, s in spec.items()} if over_k else {}),
            height=280,
        ).over(table)


def _calibrated(table: pd.DataFrame) -> Plot:
    """Return a row per metric: how the pair differs from others, and its calibrated score."""
    apart, scaled = "difference", "calibrated score"
    panels = {apart: "difference", scaled: "calibrated"}
    points = pd.concat(
        [table.assign(panel=name, at=table[column]) for name, column in panels.items()]
    )
    points["title"] = [METRICS[name].spec.title for name in points["metric"]]
    card = (
        "<b>{title}</b>",
        "score {score:.3g}",
        "{reason:wrap}",
        "[[chance {null_mean:.3g} ± {null_sd:.2g}, threshold {threshold:.3g}]]",
        "[[calibrated {calibrated:.3g}, {p:p}]]",
        "[[{difference:+.1f} sd from {others} other pairs, above {above:.0%} of them]]",
        "[[{own:.3g} against {usual:.3g}]]",
    )
    names = dict.fromkeys(table["metric"])
    return Plot(
        "Two models by every metric",
        marks=(Dots("at", "metric", color=SCOPES, size=11, card=card),),
        x={
            apart: Axis("sd from usual (last layers)", signed=True),
            scaled: Axis("0: chance (95%), 1: full", range=(-0.04, 1.04)),
        },
        y=Axis(names={name: METRICS[name].spec.short for name in names}),
        facet=Facet("panel", names={name: name for name in panels}),
        levels=(Level(0.0, "zero", along="x"),),
        empty="No metric compares these layers: {reason}.",
        row=26,
    ).over(points)


def pair_findings(table: pd.DataFrame, two: str) -> list[Finding]:
    """Return by which metric two models differ most from other pairs (the first of the table), and
    by how many they are aligned beyond chance. two: their names.
    """
    first, known = table.iloc[0], table.dropna(subset="score")
    above = int((known["p"] < ALPHA).sum())
    chance = Finding(
        f"Aligned beyond chance by {above} of {len(known)} metrics",
        note="p < .05 by permutations, for each metric alone.",
    )
    if np.isnan(first["difference"]):
        return [chance]
    than, spec = "more" if first["difference"] > 0 else "less", METRICS[first["metric"]].spec
    low = "" if spec.higher_is_more_aligned else " (low if aligned)"
    return [
        Finding(
            f"{two} are {than} aligned than other pairs, most by"
            f" {spec.short}{low}: {first['own']:.2f}, usual {first['usual']:.2f}",
            first["difference"],
            unit="sd",
            digits=1,
            n=int(first["others"]),
            over="other pairs",
        ),
        chance,
    ]


def _each_once(metrics: Sequence[str]) -> tuple[str, ...]:
    return _once([find_metric(name).spec.id for name in metrics])


def _once(named: Sequence[Chosen]) -> tuple[Chosen, ...]:
    return tuple(dict.fromkeys(named))


def _last_layers(
    study: Study, names: Sequence[str], size: int, seed: int
) -> dict[str, Float32[np.ndarray, "size _"]]:
    rows = draw_sample(study.size, size, seed=seed)
    return {name: study.spaces(name)[-1][rows] for name in names}
