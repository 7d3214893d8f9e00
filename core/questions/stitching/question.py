"""Stitches of two models, layer by layer, and of many models, pair by pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from jaxtyping import Float64
from scipy.stats import ttest_ind

from core.encoders.encoder import ModelCard
from core.errors import InputError, MetricError
from core.figures.grammar import Axis, Dots, Facet, Fixed, Heat, Level, Line, Plot, Scale, Symbols
from core.modalities import VISION
from core.options import MOST_LAYERS, draws_option, models_option, option, part
from core.progress import tell_each
from core.questions.alignment.question import Alignment
from core.questions.asking import ask
from core.questions.competence.question import TasksSolved
from core.questions.finding import Finding
from core.questions.question import Answer, StudyQuestion
from core.questions.stitching.bench import (
    IDENTITY,
    ITSELF,
    LEAST,
    OTHER_SEED,
    PLACE,
    RANDOM,
    STITCHED,
    SUPERVISED,
    TRAINED,
    Duo,
    Fitting,
    across_kinds,
    across_objectives,
    default_pair,
    least_path,
    list_models,
    make_stitches,
    need_world,
)
from core.statistics.intervals import LEAST_SIDE, grid_correlation, grid_interval, student_interval
from core.statistics.nulls import adjust
from core.statistics.trends import DealtTrend, recipe_trend
from core.study.comparing import choose_engine
from core.study.layers import ALL, layer_matrix
from core.study.parts import Comparison, Measure
from core.study.study import Study
from core.study.trainings import choose_names

USUAL = "of middle size, a self-supervised model or CLIP into a supervised one"
LOST, PENALTY, TOLD = "lost", "penalty", "lost, a supervised network goes on"
By = Literal["kind", "competence"]
STEP = 0.1  # of competence, that a trend is given for: one task in ten
WORST = 1.5  # of what is lost: a random map of words loses many times all there is
SHARE_LOST = "score above chance lost"
MAPS = {  # what h is, in the order drawn
    TRAINED: "fitted to the task",
    LEAST: "least squares on activations",
    IDENTITY: "identity",
    RANDOM: "random",
    ITSELF: "the upper network with itself",
}
OF_PAIR = ["score", "own", "chance", "penalty", "penalty_low", "penalty_high"]
OF_PAIR += ["lost", "lost_low", "lost_high", "head"]
NAMED = {"x": "lower network", "y": "upper network"}
LAYER_NAMES = {"name_x": "name of the lower layer", "name_y": "name of the upper layer"}
DUO = {
    "kind": "kind of pair",
    **NAMED,
    "pairs": "pairs of layers averaged over",
    "lost": "share of the score above chance that is lost, mean",
    "penalty": "own − score, mean",
    "least_squares": "the same share with h by least squares alone",
    "own": "score of the upper network itself",
    "score": "score of the stitched network",
    "chance": "score without seeing anything",
}


@dataclass(frozen=True)
class Stitch(StudyQuestion):
    """What is lost if a layer of one network replaces one of another?"""

    command = "stitch"
    version = 3
    device = "auto"
    columns: ClassVar[Mapping[str, str]] = {
        **NAMED,
        **STITCHED,
        **LAYER_NAMES,
        "least_squares": "all layers: lost by least squares on activations",
        "identity": "lost by the identity, if the layers are equally wide",
        "random": "lost by a random map",
        "alignment": "alignment of the two layers over the studied stimuli",
        "on_path": "whether they lie on the path of least penalty",
    }

    x: str = option(
        "", label="Source model", metavar="F", help=f"the model whose first layers run ({USUAL})"
    )
    y: str = option(
        "", label="Target model", metavar="G", help="the model whose later layers follow"
    )
    fitting: Fitting = part(Fitting)
    layer_x: int | None = option(
        None,
        least=0,
        most=MOST_LAYERS,
        label="Source layer",
        help="the last layer of the first, from 0 (the middle)",
    )
    layer_y: int | None = option(
        None,
        least=0,
        most=MOST_LAYERS,
        label="Target layer",
        help="the layer of the second that is replaced, from 0 (at the same relative depth)",
    )
    all_layers: bool = option(
        False, name="all-layers", help="stitch all pairs of layers, next to their alignment"
    )
    measure: Measure = part(Measure)

    def is_kept(self) -> bool:
        return False  # its stitches are

    def complete(self, study: Study) -> Stitch:
        """Name both models if neither is named, and their layers."""
        need_world(study)
        x, y = (self.x, self.y) if self.x or self.y else default_pair(study)
        if not (x and y):
            raise InputError("name --x and --y together, or neither for the usual two")
        for name in (x, y):
            if study.entry(name).card.modality != VISION.name:
                raise InputError(f"{name} is no vision model; a stitch takes two")
        question = replace(self, x=x, y=y)
        if self.all_layers:
            choose_engine(study, self.measure)
            return replace(question, layer_x=None, layer_y=None)
        counts = [len(study.entry(name).card.layers) for name in (x, y)]
        layer_x, layer_y = self.layer_x, self.layer_y
        if layer_x is None:
            layer_x = (counts[0] - 1) // 2
        if layer_y is None:
            layer_y = round(layer_x / max(1, counts[0] - 1) * (counts[1] - 1))
        for layer, count, name in zip((layer_x, layer_y), counts, (x, y), strict=True):
            if layer >= count:
                raise MetricError(f"{name} has no layer {layer}, only 0 … {count - 1}")
        return replace(question, layer_x=layer_x, layer_y=layer_y, measure=Measure())

    def answer(self, study: Study) -> Answer:
        cards = [study.entry(name).card for name in (self.x, self.y)]
        if not self.all_layers:
            assert self.layer_x is not None
            assert self.layer_y is not None
            places = [(self.layer_x, self.layer_y)]
            table = make_stitches(study, self.x, self.y, self.fitting, places)
            table = _with_names(table, cards)
            return Answer(table, stitch_findings(table, [card.title for card in cards]))
        places = list(np.ndindex(*(len(card.layers) for card in cards)))
        table = make_stitches(study, self.x, self.y, self.fitting, places)
        lost = table.pivot(index=PLACE, columns="h", values="lost")
        rows = table[table["h"] == TRAINED].set_index(PLACE)[OF_PAIR]
        for h in (LEAST, IDENTITY, RANDOM):
            rows[h.replace(" ", "_")] = lost[h]
        rows = rows.reset_index()
        measure = self.measure
        comparison = Comparison(measure.metric, measure.k, measure.parameters, layers=ALL)
        alignment = Alignment(self.scope, (self.x,), (self.y,), comparison=comparison)
        aligned = layer_matrix(ask(alignment, study)).to_numpy(float)
        rows["alignment"] = aligned[rows["layer_x"], rows["layer_y"]]
        penalties = rows.pivot(index="layer_x", columns="layer_y", values="penalty").to_numpy()
        rows["on_path"] = least_path(penalties)[rows["layer_y"]] == rows["layer_x"]
        found = _with_names(rows, cards)
        return Answer(found, map_findings(found))

    def plot(self, table: pd.DataFrame) -> Plot:
        return self._map_plot(table) if self.all_layers else _stitch_plot(table)

    def _map_plot(self, table: pd.DataFrame) -> Plot:
        parts = {"lost": "What is lost", "alignment": f"Alignment ({self.measure.spec.short})"}
        kept = ["layer_x", "layer_y", "name_x", "name_y", "on_path"]
        long = table.melt(kept, list(parts), "part", "value")
        # each panel from its least to its greatest, little lost as dark as much alignment
        aligned = long["part"] == "alignment"
        shade = long["value"].where(aligned, 1 - long["value"].clip(0, 1))
        texts = (
            long["value"].map("{:.2f}".format).where(aligned, long["value"].map("{:.0%}".format))
        )
        long = long.assign(shade=shade, text=texts)
        names = {
            side: table.drop_duplicates(f"layer_{side}")
            .sort_values(f"layer_{side}")
            .set_index(f"layer_{side}")[f"name_{side}"]
            .to_dict()
            for side in "xy"
        }
        x, y = (next(iter(table.get(f"title_{side}", ())), getattr(self, side)) for side in "xy")
        return Plot(
            f"Stitches and alignment of {x} and {y}",
            marks=(
                Heat("layer_y", "layer_x", z=Scale("shade", bar=False), label="{text}"),
                Dots(
                    "layer_y",
                    "layer_x",
                    table=long[~aligned & long["on_path"].astype(bool)],
                    color=Fixed("text"),
                    symbol="circle-open",
                    size=36,
                    name="path of least penalty",
                ),
            ),
            x=Axis(y, names=names["y"]),
            y=Axis(x, names=names["x"]),
            facet=Facet("part", names=parts),
            empty="No pair of layers of these models has been stitched yet.",
            row=44,
        ).over(long)

    def prediction_plot(self, table: pd.DataFrame) -> Plot:
        """Return what is lost over alignment, a dot per pair of layers."""
        depth = table["layer_y"] / max(1, table["layer_y"].max())
        return Plot(
            "Alignment and what is lost",
            marks=(
                Dots(
                    "alignment",
                    "lost",
                    color=Scale("depth", "depth in upper", ticks={0: "first", 1: "last"}),
                    size=10,
                    card=("{name_x} × {name_y}", "lost {lost:.1%}, alignment {alignment:.3f}"),
                    ids="layers {layer_x} × {layer_y}",
                ),
            ),
            x=Axis(f"alignment ({self.measure.spec.short})"),
            y=Axis(SHARE_LOST, percent=True),
            empty="No pair of layers has both an alignment and a stitch.",
            height=360,
        ).over(table.assign(depth=depth))


def _stitch_plot(table: pd.DataFrame) -> Plot:
    ends = {f"drawn_{name}": table[name].clip(upper=WORST) for name in ("lost_low", "lost_high")}
    drawn = table.assign(map=table["h"].map(MAPS), drawn=table["lost"].clip(upper=WORST), **ends)
    return Plot(
        "What each map loses",
        marks=(
            Dots(
                "drawn",
                "map",
                color=Fixed("ember"),
                size=11,
                left="drawn_lost_low",
                right="drawn_lost_high",
                label="{lost:.0%}",
                side="top center",
                card=(
                    "<b>{map}</b>",
                    "lost {lost:.1%} [{lost_low:.1%}, {lost_high:.1%}]",
                    "score {score:.3f}, own {own:.3f}, chance {chance:.3f}",
                ),
                ids="layers {layer_x} × {layer_y}",
            ),
        ),
        x=Axis(SHARE_LOST, percent=True, ticks=(0, 0.5, 1, 1.5)),
        y=Axis("", names=tuple(MAPS.values())),
        levels=(Level(0, "zero", along="x"), Level(1, along="x")),
        empty="The upper network does no better than chance, so nothing can be lost.",
        row=44,
        legend=False,
    ).over(drawn)


def _with_names(rows: pd.DataFrame, cards: Sequence[ModelCard]) -> pd.DataFrame:
    """Put the models x and y in front, and what their layers are called, name_x and name_y."""
    named: dict[str, str | list[str]] = {}
    for side, place, card in zip("xy", PLACE, cards, strict=True):
        named |= {side: card.name, f"name_{side}": [card.layers[layer] for layer in rows[place]]}
    return rows.assign(**named)[["x", "y", *PLACE, "name_x", "name_y", *rows.columns.drop(PLACE)]]


@dataclass(frozen=True)
class StitchMany(StudyQuestion):
    """Which networks can be stitched: by kind of pair, or as they get better?"""

    command = "stitching many"
    version = 5
    device = "auto"
    columns: ClassVar[Mapping[str, str]] = {
        **DUO,
        "mean": "by kind: mean of the share lost over its pairs",
        "low": "low end of its 95% interval (Student's t)",
        "high": "high end of that interval",
        "objective_x": "by competence: objective of the lower network",
        "objective_y": "objective of the upper network",
        "size": "size of both",
        "seed": "seed of both",
        "competence": "mean share of tasks that both solve",
        "measure": "what is lost, the penalty, or what a supervised network loses",
        "value": "the measure",
        "rise": "its change per tenth of the tasks",
        "rise_low": "low end of its 95% interval",
        "rise_high": "high end of that interval",
        "recipes": "pairs of recipes that the trend rests on",
        "trend_reason": "why there is no trend",
        "p": "by kind: of the difference from another seed of one recipe (Welch's t-test); by"
        " competence: of the rise, competence permuted within two objectives",
        "q": "p adjusted for all kinds, or all measures",
    }

    by: By = option(
        "kind",
        label="Compare by",
        help="kind: another seed, objective or size, another depth; competence: two objectives as"
        " they get better",
    )
    names: tuple[str, ...] = models_option(
        "vision models that finished a usual training, in all their seeds (all that fit)"
    )
    size: str = option(
        "s", label="Size", metavar="SIZE", help="size of the target models, by kind: xs, s or m"
    )
    objectives: tuple[str, ...] = option(
        ("multitask", "SimCLR", "CLIP"),
        label="Objectives",
        metavar="O",
        help="objectives whose models are stitched to each other, by competence",
    )
    permutations: int = draws_option(
        999, least=1, help="permutations of competence within two objectives"
    )
    fitting: Fitting = part(Fitting)

    def duos(self, models: pd.DataFrame) -> list[Duo]:
        """Return which of these models are stitched to which."""
        if self.by == "kind":
            return across_kinds(models, self.size)
        return across_objectives(models, self.objectives)

    def chosen(self, study: Study) -> pd.DataFrame:
        """Return the models that may be stitched."""
        models = list_models(study)
        return models[models["model"].isin(self.names)] if self.names else models

    def complete(self, study: Study) -> StitchMany:
        need_world(study)
        every = self.duos(list_models(study))
        fitting = list(dict.fromkeys(name for duo in every for name in (duo.x, duo.y)))
        names = choose_names(self.names, fitting, "model of these stitches")
        question = replace(self, names=tuple(sorted(set(names))))
        if not question.duos(question.chosen(study)):
            raise InputError(
                "no two of these models can be stitched: they must be of one size and seed and of"
                " two objectives, or of one recipe; name others, or none for all that fit"
            )
        return question

    def answer(self, study: Study) -> Answer:
        rows = measure_duos(study, self.duos(self.chosen(study)), self.fitting)
        if self.by == "kind":
            table = compare_kinds(rows)
            return Answer(table, kind_findings(table))
        about = list_models(study).set_index("model")
        solved = ask(TasksSolved(self.scope), study).set_index("model")["solved"].astype(float)
        both = (solved.reindex(rows["x"]).to_numpy() + solved.reindex(rows["y"]).to_numpy()) / 2
        rows = rows.assign(
            objective_x=about["objective"].reindex(rows["x"]).to_numpy(),
            objective_y=about["objective"].reindex(rows["y"]).to_numpy(),
            size=about["size"].reindex(rows["y"]).to_numpy(),
            seed=about["seed"].reindex(rows["y"]).to_numpy(),
            competence=both,
        )
        # of the measured seeds if this one was not measured
        kinds = rows.groupby(["objective_x", "objective_y", "size"])["competence"]
        rows["competence"] = rows["competence"].fillna(kinds.transform("mean"))
        table = trend_over_competence(rows, draws=self.permutations, seed=self.fitting.seed)
        return Answer(table, trend_findings(table))

    def plot(self, table: pd.DataFrame) -> Plot:
        return _kind_plot(table) if self.by == "kind" else _trend_plot(table)


def _kind_plot(table: pd.DataFrame) -> Plot:
    order = table.drop_duplicates("kind").sort_values("mean")
    return Plot(
        "What is lost, by kind of pair",
        marks=(
            Dots(
                "lost",
                "kind",
                color=Fixed("ember"),
                opacity=0.55,
                size=7,
                name="a pair of models",
                card=(
                    "<b>{x}</b> into <b>{y}</b>",
                    "lost {lost:.1%}, by least squares alone {least_squares:.1%}",
                    "score {score:.3f}, own {own:.3f}, chance {chance:.3f}",
                ),
                ids="means over {pairs} pairs of layers",
            ),
            Dots(
                "mean",
                "kind",
                table=order,
                color=Fixed("text"),
                symbol="diamond",
                size=10,
                left="low",
                right="high",
                name="mean and 95% interval over seeds",
                card=("<b>{kind}</b>", "mean loss {mean:.1%}[[, from another seed {q:p:q}]]"),
            ),
        ),
        x=Axis(SHARE_LOST, percent=True),
        y=Axis("", names=tuple(order["kind"])),
        levels=(Level(0, "zero", along="x"), Level(1, along="x")),
        empty="No two models here could be stitched.",
        row=36,
    ).over(table)


def _trend_plot(table: pd.DataFrame) -> Plot:
    rows = table[table["measure"] == LOST].dropna(subset=["value", "competence"])
    means = rows.groupby("size", as_index=False)[["competence", "value"]].mean()
    means = means.sort_values("competence")
    shapes = ("circle", "square", "diamond", "triangle-up", "cross", "star")
    return Plot(
        "Stitches as models get better",
        marks=(
            Dots(
                "competence",
                "value",
                color="objective_x",
                edge="objective_y",
                size=10,
                opacity=0.75,
                symbol=Symbols("size", dict(zip(means["size"], shapes, strict=False))),
                card=(
                    "<b>{x}</b> into <b>{y}</b>",
                    "lost {value:.1%}, by least squares alone {least_squares:.1%}",
                    "score {score:.3f}, own {own:.3f}, chance {chance:.3f}",
                ),
                ids="means over {pairs} pairs of layers",
            ),
            Line("competence", "value", table=means, color=Fixed("text"), name="mean of a size"),
            Dots(
                "competence",
                "value",
                table=means,
                color=Fixed("text"),
                size=11,
                label="{size}",
                side="top center",
            ),
        ),
        head="{rise:+.3f} per tenth of the tasks, {p:p} || {trend_reason}",
        x=Axis("mean share of tasks that both models solve", percent=True),
        y=Axis(SHARE_LOST, percent=True),
        empty="No two models here were stitched and measured: platoscope probe does.",
        height=440,
    ).over(rows)


def stitch_findings(table: pd.DataFrame, titles: Sequence[str]) -> list[Finding]:
    """Return what is lost by the fitted map and by the others, and by the upper network stitched to
    itself, which must be nothing. titles: of the lower and of the upper network.
    """
    rows, findings = table.set_index("h"), []
    fitted: Any = rows.loc[TRAINED]
    if not np.isfinite(fitted["lost"]):
        return [Finding(f"{titles[1]} itself does no better than chance, so nothing can be lost")]
    for h, text in MAPS.items():
        row: Any = rows.loc[h]
        if h == TRAINED:
            ends = (fitted["name_x"], fitted["name_y"])
            x, y = (f"{layer} of {title}" for layer, title in zip(ends, titles, strict=True))
            text = f"{x} → {y}, {text}"
        if np.isfinite(row["lost"]):
            findings.append(
                Finding(
                    f"Share of the score above chance lost, {text}",
                    row["lost"],
                    row["lost_low"],
                    row["lost_high"],
                    unit="%",
                )
            )
    head = replace(findings[0], note=f"Its head is {fitted['head']}.")
    return [head, *findings[1:]]


def map_findings(table: pd.DataFrame) -> list[Finding]:
    """Return whether better aligned layers lose less, and the least, mean and path losses."""
    if table["lost"].isna().all():
        y = table["y"].iloc[0]
        return [Finding(f"{y} itself does no better than chance, so nothing can be lost")]
    best = table.dropna(subset="lost").nsmallest(1, "lost").iloc[0]
    sides = min(table["layer_x"].nunique(), table["layer_y"].nunique())
    few = "" if sides >= LEAST_SIDE else f"{len(table)} pairs of layers are too few"
    rho, low, high, p, distance = [np.nan] * 5 if few else correlate(table)
    unknown = "" if np.isfinite(rho) else "alignment or loss is unknown, or the same everywhere"
    claim = "Better aligned layers lose less"
    apart = f"The distance in relative depth alone gives ρ = {distance:.2f}."
    return [
        Finding(
            claim,
            rho,
            low,
            high,
            p,
            name="ρ",
            n=len(table),
            over="pairs of layers",
            expected="-",
            reason=few or unknown,
            note=apart.replace("-", "−") if np.isfinite(distance) else "",
        ),
        Finding(
            f"Least lost: {best['name_x']} → {best['name_y']}",
            best["lost"],
            best["lost_low"],
            best["lost_high"],
            unit="%",
        ),
        Finding("Mean loss over all pairs of layers", table["lost"].mean(), unit="%"),
        Finding(
            "Mean loss on the path of least penalty",
            table.loc[table["on_path"], "lost"].mean(),
            unit="%",
        ),
    ]


def kind_findings(table: pd.DataFrame) -> list[Finding]:
    """Return what each kind of pair loses, and whether more than another seed of one recipe."""
    kinds = table.drop_duplicates("kind").sort_values("mean")
    control = kinds.loc[kinds["kind"] == OTHER_SEED, "mean"]
    findings = []
    for row in kinds.to_dict("records"):
        claim, sure = f"Share of the score above chance lost: {row['kind']}", row["q"] <= 0.05
        more = "more" if len(control) and row["mean"] > control.iloc[0] else "less"
        findings.append(
            Finding(
                claim,
                row["mean"],
                row["low"],
                row["high"],
                row["q"],
                unit="%",
                note=f"This is {more} than another seed loses." if sure else "",
            )
        )
    return findings


def trend_findings(table: pd.DataFrame) -> list[Finding]:
    """Return whether models of different objectives are stitched more cheaply as they get better.

    What a supervised network loses is the fairer test: other heads are fitted to frozen features,
    and gain from a lower network that knows more of the task.
    """
    claims = {
        LOST: "Better networks are stitched more cheaply",
        TOLD: "Better networks are stitched more cheaply into a supervised one",
        PENALTY: "Better networks lose less of their score",
    }
    return [
        Finding(
            claims[row["measure"]],
            row["rise"],
            row["rise_low"],
            row["rise_high"],
            row["q"],
            name="change per tenth of the tasks",
            digits=3,
            n=int(row["recipes"]),
            over="pairs of recipes",
            expected="-",
            reason=row["trend_reason"],
        )
        for row in table.drop_duplicates("measure").to_dict("records")
    ]


def correlate(table: pd.DataFrame) -> tuple[float, float, float, float, float]:
    """Return Spearman's ρ of alignment and loss over the pairs of layers of a whole map, its low,
    high and p; and ρ of the distance in relative depth and loss.
    """
    alignment, lost = (
        table.pivot(index="layer_x", columns="layer_y", values=name).to_numpy(float)
        for name in ("alignment", "lost")
    )
    x, y = np.indices(lost.shape)  # in whole numbers, so that equal depths stay equal
    depths = np.abs(x * (lost.shape[1] - 1) - y * (lost.shape[0] - 1)).astype(float)
    apart, _ = grid_correlation(depths, lost, draws=1, seed=0)
    rho, p = grid_correlation(alignment, lost, draws=4_999, seed=0)
    return rho, *grid_interval(alignment, lost), p, apart


def measure_duos(study: Study, duos: Sequence[Duo], fitting: Fitting) -> pd.DataFrame:
    """Return a row per pair of models: what is lost on average over the depths of its kind, by h as
    it is fitted, and by least squares alone.
    """
    rows = []
    for duo in tell_each(duos, "pairs of models stitched"):
        last_x, last_y = (len(study.entry(name).card.layers) - 1 for name in (duo.x, duo.y))
        ends = [(round(x * last_x), round(y * last_y)) for x, y in duo.depths]
        places = list(dict.fromkeys(ends))
        table = make_stitches(study, duo.x, duo.y, fitting, places)
        names = [LOST, PENALTY, "own", "score", "chance"]
        means = table.groupby("h")[names].mean()
        of_h = {name: means.loc[TRAINED, name] for name in names}
        named = {"kind": duo.kind, "x": duo.x, "y": duo.y, "pairs": len(places)}
        rows.append({**named, **of_h, "least_squares": means.loc[LEAST, LOST]})
    return pd.DataFrame(rows, columns=list(DUO))


def compare_kinds(rows: pd.DataFrame) -> pd.DataFrame:
    """Add to the rows of each kind the mean of `lost` over its pairs, with its 95% interval by
    Student's t, and its difference from another seed of one recipe: p of Welch's t-test, and q,
    adjusted for all kinds. NaN if a kind or its control has fewer than two pairs.
    """
    control = rows.loc[rows["kind"] == OTHER_SEED, LOST].to_numpy(float)
    kinds = []
    for kind, lost in rows.groupby("kind", sort=False)[LOST]:
        values = lost.to_numpy(float)
        low = high = np.nan
        if len(values) > 1 and np.isfinite(values).all():
            error = values.std(ddof=1) / len(values) ** 0.5
            low, high = student_interval(values.mean(), error, freedom=len(values) - 1)
        p = np.nan if kind == OTHER_SEED else _welch(values, control)
        kinds.append({"kind": kind, "mean": values.mean(), "low": low, "high": high, "p": p})
    summary = pd.DataFrame(kinds)
    summary["q"] = adjust(summary["p"].to_numpy(float))
    return rows.merge(summary, on="kind", how="left").set_axis(rows.index)


def _welch(values: Float64[np.ndarray, " n"], control: Float64[np.ndarray, " m"]) -> float:
    if min(len(values), len(control)) < 2 or not np.isfinite([*values, *control]).all():
        return np.nan
    if not (np.ptp(values) or np.ptp(control)):  # no spread to judge a difference by
        return np.nan
    return float(ttest_ind(values, control, equal_var=False).pvalue)


def trend_over_competence(rows: pd.DataFrame, *, draws: int, seed: int) -> pd.DataFrame:
    """Return the rows of each measure, as `value`, with its trend over competence.

    rows: of `measure_duos` with objective_x, objective_y, size and competence. A recipe here is two
    objectives at one size, a line two objectives in all sizes; competence is exchanged among the
    sizes of a line (see `recipe_trend`). rise: per STEP of competence; q: p adjusted for all
    measures. Lines share models, so they are not quite independent.
    """
    supervised = rows[rows["objective_y"] == SUPERVISED]
    measures = {LOST: (rows, LOST), PENALTY: (rows, PENALTY), TOLD: (supervised, LOST)}
    trends = [_trend(*one, draws=draws, seed=seed) for one in measures.values()]
    q = adjust(np.array([trend.p for trend in trends], dtype=float))
    tables = [
        of_rows.drop(columns=[LOST, PENALTY]).assign(
            measure=measure,
            value=of_rows[column],
            rise=STEP * trend.rise,
            rise_low=STEP * trend.low,
            rise_high=STEP * trend.high,
            p=trend.p,
            q=one,
            recipes=trend.recipes,
            trend_reason=trend.reason,
        )
        for (measure, (of_rows, column)), trend, one in zip(
            measures.items(), trends, q, strict=True
        )
    ]
    return pd.concat([table for table in tables if len(table)], ignore_index=True)


def _trend(rows: pd.DataFrame, measure: str, *, draws: int, seed: int) -> DealtTrend:
    both = zip(rows["objective_x"], rows["objective_y"], strict=True)
    lines = [" and ".join(sorted(pair)) for pair in both]
    recipes = rows.assign(line=lines).groupby(["line", "size"], sort=False)
    means = recipes[[measure, "competence"]].mean().reset_index()
    return recipe_trend(
        means[measure].to_numpy(float),
        means["competence"].to_numpy(float),
        pd.factorize(means["line"])[0].astype(np.int64),
        draws=draws,
        seed=seed,
    )
