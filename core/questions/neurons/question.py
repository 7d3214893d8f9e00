"""Which units recur in which models, whether more of them do in better ones, and what excites
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from itertools import combinations
from typing import ClassVar

import numpy as np
import pandas as pd
from jaxtyping import Float32

from core.errors import InputError, MetricError
from core.figures.grammar import Axis, Dots, Facet, Fixed, Level, Line, Palette, Plot, Size
from core.figures.numbers import time_text
from core.figures.theme import COMPETENCE
from core.options import MOST_STIMULI, draws_option, option, part
from core.progress import Progress
from core.questions.asking import ask
from core.questions.competence.question import TasksSolved
from core.questions.finding import Finding
from core.questions.neurons.units import (
    Mining,
    Model,
    Partners,
    Units,
    check_layers,
    chosen_layers,
    foresee,
    mine,
    p_of,
    read_model,
    reader,
    rotate,
    shuffled_partners,
    units_of,
)
from core.questions.question import Answer, StudyQuestion
from core.spaces.choices import Clamping
from core.statistics.intervals import pair_interval
from core.statistics.nulls import ALPHA, adjust, check_count
from core.statistics.trends import recipe_trend
from core.study.models import is_reality, usual
from core.study.spaces import largest_models
from core.study.study import Study, studied_stimuli
from core.study.trainings import choose_names, describe_trainings, kinship

RECUR, BEYOND = "units that recur", "beyond a random basis"
AS_IS, ROTATED, SHUFFLED = "as they are", "rotated", "shuffled"
WHOLE = Clamping(q=1.0)  # nothing is clamped
AXES = {"vision": "competence: share of tasks solved", "language": COMPETENCE}


@dataclass(frozen=True)
class _OfModels(StudyQuestion):
    """A question about the units of several models."""

    device = None

    names: tuple[str, ...] = option(
        (),
        name="models",
        label="Models",
        metavar="M",
        help="models of any modality (all that finished a usual training)",
    )
    mining: Mining = part(Mining)

    def complete(self, study: Study) -> _OfModels:
        check_layers(self.mining.layers, of_two=False)
        check_count(self.mining.null)
        choose_names(self.names, list(describe_trainings(study)["model"]), "finished model")
        models = usual(study.models())
        names = tuple(sorted(set(self.names or models.loc[~is_reality(models), "model"])))
        if len(names) < 2:
            raise InputError(
                f"units recur in two models or more; got {len(names)}: name or embed another one"
            )
        return replace(self, names=names)


@dataclass(frozen=True)
class NeuronShare(_OfModels):
    """What share of their units do models have in common?"""

    command = "neurons share"
    version = 3
    shown = ("model_x", "model_y", "pairs", "share", "rotated", "alike", "alike_rotated")
    columns: ClassVar[Mapping[str, str]] = {
        "model_x": "one model",
        "model_y": "another model",
        "units_x": "units of the one that vary",
        "units_y": "units of the other that vary",
        "pairs": "pairs of units that recur: each other's best, beyond chance",
        "share": "their share of the most that could recur, the units of the smaller model",
        "rotated": "the same share in random bases of one of both models, mean",
        "rotated_low": "the least of them",
        "rotated_high": "the most of them",
        "threshold": "correlation that the best pair reaches by chance",
        "alike": "mean correlation of a unit of either model with its best counterpart",
        "alike_rotated": "the same with its best in random bases of the other model",
        "kin": "whether both are of one recipe or descend from one another",
    }

    def answer(self, study: Study, report: Progress | None) -> Answer:
        names, mining = self.names, self.mining
        read = reader(study, names, mining.layers)
        trainings = describe_trainings(study).set_index("model").loc[list(names)].reset_index()
        recipes = trainings["recipe"].to_numpy()
        kin = kinship(trainings) | (recipes[:, None] == recipes)
        pairs, rows = list(combinations(range(len(names)), 2)), []
        takes = time_text(foresee([study.entry(name).dims for name in names], study.size, mining))
        what = f"pairs of models, about {takes} in all"
        for done, (x, y) in enumerate(pairs):
            if report:
                report(done, len(pairs), what)
            found = mine(read(names[x]), read(names[y]), mining)
            units = [read(names[place]).units.count for place in (x, y)]
            recurring = found.recurring(found.partners)
            bases = (*found.rotated, *found.rotated_x)
            rotated = np.array([found.recurring(each) for each in bases]) / min(units)
            rows.append(
                {
                    "model_x": names[x],
                    "model_y": names[y],
                    "units_x": units[0],
                    "units_y": units[1],
                    "pairs": recurring,
                    "share": recurring / min(units),
                    "rotated": float(rotated.mean()),
                    "rotated_low": float(rotated.min()),
                    "rotated_high": float(rotated.max()),
                    "threshold": found.threshold,
                    "alike": found.alike,
                    "alike_rotated": found.alike_rotated,
                    "kin": bool(kin[x, y]),
                }
            )
        if report:
            report(len(pairs), len(pairs), what)
        table = pd.DataFrame(rows, columns=list(self.columns))
        return Answer(table, share_findings(table))


@dataclass(frozen=True)
class NeuronTrend(_OfModels):
    """Do more units recur in better models?"""

    command = "neurons trend"
    version = 2
    shown = ("measure", "modality", "partners", "title", "competence", "value", "rise", "q")
    columns: ClassVar[Mapping[str, str]] = {
        "measure": "units that recur, or what of them is beyond a random basis",
        "partners": "modality of the partners",
        "modality": "modality of the model",
        "model": "model",
        "title": "its name",
        "group": "its objective or family",
        "line": "its line of recipes",
        "recipe": "its training, without the seed",
        "parameters": "parameters of the model",
        "competence": "share of tasks solved, or 1 − bits per byte",
        "value": "mean share over partners of another recipe and descent",
        "models": "partners",
        "rise": "change of the value as competence rises by 1, within lines",
        "rise_low": "low end of its 95% interval",
        "rise_high": "high end of that interval",
        "p": "p, competence exchanged within lines",
        "q": "p adjusted for all trends of the table",
        "recipes": "recipes that the trend rests on",
        "reason": "why there is no trend",
    }

    dealings: int = draws_option(
        999, least=1, help="times that competence is exchanged within lines"
    )

    def is_kept(self) -> bool:
        return False

    def answer(self, study: Study, report: Progress | None) -> Answer:
        shares = ask(NeuronShare(self.scope, self.names, self.mining), study, report)
        solved = ask(TasksSolved(self.scope), study).set_index("model")["solved"]
        coded = study.competence().set_index("model")["value"]
        groups = study.models().set_index("model")["group"]
        table = trend_rows(
            shares,
            describe_trainings(study),
            pd.concat([solved, coded]).astype(float),
            draws=self.dealings,
            seed=self.mining.seed,
        )
        table["group"] = table["model"].map(groups)
        return Answer(table, trend_findings(table))

    def plot(self, table: pd.DataFrame) -> Plot:
        keys = ["modality", "partners", "model"]
        measured = table.dropna(subset=["competence", "value"])
        wide = measured.pivot_table(index=keys, columns="measure", values="value")
        drawn = measured[measured["measure"] == RECUR].set_index(keys)
        drawn = drawn.assign(rotated=wide[RECUR] - wide[BEYOND] if len(wide) else np.nan)
        drawn = drawn.reset_index()
        panels = drawn["modality"].str.capitalize() + " models in " + drawn["partners"] + " models"
        sides = dict(zip(panels, drawn["modality"], strict=True))
        return Plot(
            "Units that recur over competence",
            marks=(
                Dots(
                    "competence",
                    "rotated",
                    color=Fixed("chance"),
                    name="in a random basis",
                    size=8,
                    symbol="circle-open",
                ),
                Line("competence", "value", color="group", by="line"),
                Dots(
                    "competence",
                    "value",
                    color="group",
                    modality="modality",
                    size=Size("parameters"),
                    card=(
                        "<b>{title}</b>",
                        "{value:.1%} of its units recur, {rotated:.1%} in a random basis",
                        "mean over {models} partners; competence {competence:.3f}",
                    ),
                    ids="{model}",
                    select=("model",),
                ),
            ),
            x={panel: Axis(AXES.get(side, "competence")) for panel, side in sides.items()},
            y=Axis("share of units that recur", percent=True, zero=True),
            facet=Facet("panel", note="{points:+.1f} points per 0.1 · {q:p:q} || {reason:wrap}"),
            empty="No model here has both a competence and a partner.",
            height=330,
        ).over(drawn.assign(panel=panels, points=10 * drawn["rise"]))


@dataclass(frozen=True)
class NeuronPairs(StudyQuestion):
    """Which units of two models recur?

    Basis: as they are; as a control the same with the second model in a random basis (rotated),
    and with its stimuli shuffled once.
    """

    command = "neurons pairs"
    version = 3
    device = None
    columns: ClassVar[Mapping[str, str]] = {
        "basis": "as they are, rotated, or shuffled",
        "pair": "pair of units that are each other's best, the most correlated first",
        "model_x": "one model",
        "layer_x": "layer of its unit, from 0",
        "unit_x": "its unit, from 0",
        "model_y": "another model",
        "layer_y": "layer of its unit",
        "unit_y": "its unit",
        "r": "Pearson's correlation over the stimuli",
        "p": "how often the best of all pairs reaches as much by chance",
        "recurs": "p ≤ 0.05",
        "threshold": "highest correlation that is still chance",
    }

    a: str = option(
        "",
        label="One model",
        metavar="M",
        help="one model (the two largest vision models of two objectives)",
    )
    b: str = option("", label="Another model", metavar="M", help="another model")
    mining: Mining = part(Mining)

    def complete(self, study: Study) -> NeuronPairs:
        check_layers(self.mining.layers, of_two=True)
        check_count(self.mining.null)
        models = usual(study.models())
        largest = [*largest_models(study), *models.loc[~is_reality(models), "model"]]
        others = [one for one in dict.fromkeys(largest) if one not in (self.a, self.b)]
        if len(others) < (not self.a) + (not self.b):
            raise InputError("units recur in two models; embed another one, or name two")
        a = self.a or others.pop(0)
        b = self.b or others.pop(0)
        if a == b:
            raise MetricError(f"two different models expected; got {a} twice: name another one")
        chosen_layers(self.mining.layers, *(len(study.entry(name).dims) for name in (a, b)))
        return replace(self, a=a, b=b)

    def answer(self, study: Study, report: Progress | None) -> Answer:
        x, y = read_pair(self, study)
        found, seed = mine(x, y, self.mining), self.mining.seed
        turned = units_of(rotate(y.layers, seed=seed))
        bases = (
            (AS_IS, y.units, found.partners),
            (ROTATED, turned, found.rotated[0]),
            (SHUFFLED, y.units, shuffled_partners(x.units, y.units, seed=seed)),
        )
        tables = [
            _rows(x.units, units, partners).assign(basis=basis, p=p_of(partners.r, found.null))
            for basis, units, partners in bases
        ]
        table = pd.concat(tables, ignore_index=True)
        about = {"model_x": self.a, "model_y": self.b, "threshold": found.threshold}
        table = table.assign(**about, recurs=table["p"] <= ALPHA)[list(NeuronPairs.columns)]
        titles = study.models().set_index("model")["title"]
        return Answer(table, pair_findings(table, titles[self.a], titles[self.b]))

    def plot(self, table: pd.DataFrame) -> Plot:
        names = {AS_IS: "units as they are", ROTATED: "in a random basis", SHUFFLED: "shuffled"}
        colors = Palette("basis", {AS_IS: "ember", ROTATED: "text", SHUFFLED: "chance"}, names)
        card = (
            "<b>pair {pair}</b>: r = {r:.2f}, p = {p:.3f}",
            "{model_x}, layer {layer_x}, unit {unit_x}",
            "{model_y}, layer {layer_y}, unit {unit_y}",
        )
        return Plot(
            "Correlation of the units that recur",
            marks=(
                Line("pair", "r", color=colors),
                Dots("pair", "r", color=colors, size=5, card=card),
            ),
            x=Axis("pair of units, the most correlated first"),
            y=Axis("correlation over the stimuli"),
            levels=(Level("threshold"),),
            empty="No two units of these models are each other's best.",
            height=360,
        ).over(table)


@dataclass(frozen=True)
class NeuronStimuli(NeuronPairs):
    """Which stimuli excite two units that recur?"""

    command = "neurons stimuli"
    version = 3
    columns: ClassVar[Mapping[str, str]] = {
        "model": "model",
        "layer": "layer of the unit, from 0",
        "unit": "the unit, from 0",
        "place": "place among the stimuli that excite it most",
        "index": "index of the stimulus",
        "stimulus": "its id",
        "excitation": "standard deviations above the unit's mean over the stimuli, nothing clamped",
        "shared": "whether the stimulus is in both lists",
    }

    pair: int = option(
        1,
        least=1,
        most=MOST_STIMULI,
        label="Pair",
        help="which of the pairs, the most correlated first",
    )
    count: int = option(8, least=1, most=1000, label="Stimuli", help="stimuli of each unit")

    def is_kept(self) -> bool:
        return False

    def answer(self, study: Study, report: Progress | None) -> Answer:
        of_pairs = {one.name: getattr(self, one.name) for one in fields(NeuronPairs)}
        pairs = ask(NeuronPairs(**of_pairs), study, report)
        pairs = pairs[pairs["basis"] == AS_IS].set_index("pair")
        if self.pair not in pairs.index:
            raise MetricError(
                f"these models have {len(pairs)} pairs of units that are each other's best; got"
                f" pair {self.pair}: choose a lower number"
            )
        row = pairs.loc[[self.pair]].iloc[0]
        name, where = study.dataset.name, study.where
        whole = Study(study.store, name, WHOLE, where=where, stimuli=study.stimuli)
        tables = []
        for model, side in ((self.a, "x"), (self.b, "y")):
            layer, unit = int(row[f"layer_{side}"]), int(row[f"unit_{side}"])
            strongest = _strongest(whole.spaces(model)[layer][:, unit], study, self.count)
            tables.append(strongest.assign(model=model, layer=layer, unit=unit))
        both = set(tables[0]["index"]) & set(tables[1]["index"])
        table = pd.concat(tables, ignore_index=True)
        return Answer(table.assign(shared=table["index"].isin(both))[list(self.columns)])


def share_findings(table: pd.DataFrame) -> list[Finding]:
    """Return what share of units recurs, and whether counterparts are more alike than directions of
    a random basis, which keeps all kernels and makes no unit special.
    """
    apart = table[~table["kin"].astype(bool)]
    if apart.empty:
        return [Finding("Only models of one recipe or descent are here, so nothing is compared")]
    beyond = (apart["alike"] - apart["alike_rotated"]).to_numpy(float)
    numbers, models = pd.factorize(apart[["model_x", "model_y"]].to_numpy().ravel())
    low, high = pair_interval(beyond, *numbers.reshape(-1, 2).T, models=len(models))
    return [
        Finding(
            "Single units are more alike than directions of a random basis",
            float(beyond.mean()),
            low,
            high,
            name="difference of correlations",
            digits=3,
            n=len(models),
            expected="+",
        ),
        Finding(
            f"Units that recur in another model, of those that could; {apart['rotated'].mean():.0%}"
            " in a random basis",
            float(apart["share"].mean()),
            unit="%",
            n=len(apart),
            over="pairs of models",
        ),
    ]


def trend_findings(table: pd.DataFrame) -> list[Finding]:
    """Return for each measure and each modality of models and partners whether it rises with
    competence.
    """
    claims = {
        RECUR: "Better {modality} models share more units with {partners} models",
        BEYOND: "Better {modality} models share more units with {partners} models than a random"
        " basis does",
    }
    trends = table.drop_duplicates(["measure", "modality", "partners"])
    return [
        Finding(
            claims[row["measure"]].format(**row),
            row["rise"] / 10,
            row["rise_low"] / 10,
            row["rise_high"] / 10,
            row["q"],
            name="change per 0.1 of competence",
            unit="%",
            digits=3,
            n=int(row["recipes"]),
            over="recipes",
            expected="+",
            reason=row["reason"],
        )
        for row in trends.to_dict("records")
    ]


def pair_findings(table: pd.DataFrame, x: str, y: str) -> list[Finding]:
    """Return how many units of two models recur, how alike they are, and what a random basis
    gives.
    """
    found = [Finding("No two units of these models are each other's best")]
    for basis, place in ((AS_IS, ""), (ROTATED, f", with {y} in a random basis")):
        rows = table[table["basis"] == basis]
        r = rows.loc[rows["recurs"], "r"]
        if len(rows):
            claim = f"Units of {x} that recur in {y}{place}: {len(r):,}"
            found.append(
                Finding(claim, float(r.median()), name="median r") if len(r) else Finding(claim)
            )
    best = table.loc[table["basis"] == SHUFFLED, "r"].max()
    if len(found) > 1:
        found = [*found[1:], Finding("With shuffled stimuli the best pair reaches", best, name="r")]
    return found


def read_pair(question: NeuronPairs, study: Study) -> tuple[Model, Model]:
    """Read the layers of both models that are looked at."""
    counts = (len(study.entry(name).dims) for name in (question.a, question.b))
    layers = chosen_layers(question.mining.layers, *counts)
    x, y = (
        read_model(study, name, chosen)
        for name, chosen in zip((question.a, question.b), layers, strict=True)
    )
    return x, y


def _rows(x: Units, y: Units, partners: Partners) -> pd.DataFrame:
    columns = {
        "layer_x": x.layers[partners.x],
        "unit_x": x.numbers[partners.x],
        "layer_y": y.layers[partners.y],
        "unit_y": y.numbers[partners.y],
        "r": partners.r.astype(np.float64),
    }
    return pd.DataFrame({"pair": np.arange(1, len(partners.r) + 1), **columns})


def _strongest(values: Float32[np.ndarray, " n"], study: Study, count: int) -> pd.DataFrame:
    values = values.astype(np.float64)
    excitation = (values - values.mean()) / values.std()
    order = np.argsort(-excitation, kind="stable")[:count]
    stimuli = studied_stimuli(study).iloc[order].reset_index(drop=True)
    return stimuli.assign(place=np.arange(1, len(order) + 1), excitation=excitation[order])


def trend_rows(
    shares: pd.DataFrame,
    trainings: pd.DataFrame,
    competence: pd.Series,
    *,
    draws: int,
    seed: int,
) -> pd.DataFrame:
    """Return the rows of `NeuronTrend`.

    shares: rows of `NeuronShare`. trainings: of `core.study.trainings.describe_trainings`.
    competence: by model. value: the mean, over the model's partners of another recipe and descent,
    of the share of units that recur, or of what it is beyond that in a random basis; models: how
    many partners. rise: the change of the value as competence rises by 1, within lines, each recipe
    the mean over its seeds; p, rise_low, rise_high: as of `recipe_trend`, competence
    exchanged within lines; q: p adjusted for all trends here.
    """
    values = _values(shares, trainings).assign(
        competence=lambda rows: rows["model"].map(competence)
    )
    groups = [rows for _, rows in values.groupby(["measure", "modality", "partners"], sort=False)]
    tested = [_with_trend(rows, draws, seed) for rows in groups]
    if not tested:
        return pd.DataFrame(columns=list(NeuronTrend.columns))
    q = adjust(np.array([rows["p"].iloc[0] for rows in tested], dtype=float))
    table = pd.concat([rows.assign(q=one) for rows, one in zip(tested, q, strict=True)])
    return table.reset_index(drop=True)[[name for name in NeuronTrend.columns if name != "group"]]


def _values(shares: pd.DataFrame, trainings: pd.DataFrame) -> pd.DataFrame:
    """Return measure, model, partners, value, models, and what is known of the model."""
    apart = shares[~shares["kin"].astype(bool)]
    turned = apart.rename(columns={"model_x": "model_y", "model_y": "model_x"})
    both = pd.concat([apart, turned], ignore_index=True)
    both = both.assign(**{RECUR: both["share"], BEYOND: both["share"] - both["rotated"]})
    modality = trainings.set_index("model")["modality"]
    means = (
        both.assign(partners=both["model_y"].map(modality))
        .melt(["model_x", "partners"], [RECUR, BEYOND], "measure", "value")
        .groupby(["measure", "partners", "model_x"])["value"]
        .agg(value="mean", models="count")
        .reset_index()
        .rename(columns={"model_x": "model"})
    )
    about = trainings[["model", "title", "modality", "line", "recipe", "parameters"]]
    rows = means.merge(about, on="model")
    order = ["measure", "modality", "partners", "line", "parameters", "model"]
    return rows.sort_values(order, ascending=[False, False, True, True, True, True])


def _with_trend(rows: pd.DataFrame, draws: int, seed: int) -> pd.DataFrame:
    measured = rows[rows["competence"].notna()]
    recipes = measured.groupby("recipe", sort=False).agg(
        value=("value", "mean"), competence=("competence", "mean"), line=("line", "first")
    )
    trend = recipe_trend(
        recipes["value"].to_numpy(float),
        recipes["competence"].to_numpy(float),
        pd.factorize(recipes["line"])[0].astype(np.int64),
        draws=draws,
        seed=seed,
    )
    return rows.assign(
        rise=trend.rise,
        rise_low=trend.low,
        rise_high=trend.high,
        p=trend.p,
        recipes=trend.recipes,
        reason=trend.reason,
    )
