"""Which single units of models have a match in other models, and which stimuli excite them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from typing import ClassVar, Literal

import numpy as np
import pandas as pd

from core.errors import MetricError, NotApplicableError
from core.figures.grammar import Axis, Dots, Facet, Fixed, Level, Line, Palette, Plot, Size
from core.figures.theme import COMPETENCE
from core.options import MOST_STIMULI, draws_option, models_option, option, part
from core.progress import tell_each
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
    find_partners,
    mine,
    p_of,
    read_model,
    rotate,
    units_of,
)
from core.questions.question import Answer, StudyQuestion
from core.spaces.choices import Clamping
from core.statistics.intervals import pair_interval
from core.statistics.nulls import ALPHA, adjust, check_count, draw_orders
from core.statistics.trends import recipe_trend
from core.study.models import is_reality, usual
from core.study.spaces import largest_models
from core.study.study import Study, studied_stimuli
from core.study.trainings import choose_names, describe_trainings, kinship

MATCHED, BEYOND = "units with a match", "beyond a random basis"
AS_IS, ROTATED, SHUFFLED = "as they are", "rotated", "shuffled"
WHOLE = Clamping(q=1.0)  # nothing is clamped
HELD = 2**31  # bytes of models that are held while all of them are compared
AXES = {"vision": "competence: share of tasks solved", "language": COMPETENCE}
CLAIMS = {
    MATCHED: "Better {modality} models share more units with {partners} models",
    BEYOND: "Better {modality} models share more units with {partners} models than a random basis"
    " does",
}


@dataclass(frozen=True)
class NeuronShare(StudyQuestion):
    """What share of their units do models have in common?

    By pair of models, or by model over competence: the mean share over the model's partners of
    other training setups and descent, and its trend within lines of setups.
    """

    command = "neurons share"
    version = 4
    device = None
    columns: ClassVar[Mapping[str, str]] = {
        "model_x": "one model",
        "model_y": "another model",
        "units_x": "units of the one that vary",
        "units_y": "units of the other that vary",
        "pairs": "matched pairs of units: each other's best, beyond chance",
        "share": "their share of the most that could match, the units of the smaller model",
        "rotated": "the same share in random bases of one of both models, mean",
        "rotated_low": "the least of them",
        "rotated_high": "the most of them",
        "threshold": "correlation that the best pair reaches by chance",
        "alike": "mean correlation of a unit of either model with its best counterpart",
        "alike_rotated": "the same with its best in random bases of the other model",
        "kin": "whether both have one training setup or descend from one another",
        "reason": "why there is no share, or no trend",
        "measure": "units with a match, or what of them is beyond a random basis",
        "partners": "modality of the partners",
        "modality": "modality of the model",
        "model": "model",
        "title": "its name",
        "group": "its objective or family",
        "line": "its line of training setups",
        "recipe": "its training setup, without the seed",
        "parameters": "parameters of the model",
        "competence": "share of tasks solved, or 1 − bits per byte",
        "value": "mean share over partners of another setup and descent",
        "models": "partners",
        "rise": "change of the value as competence rises by 1, within lines",
        "rise_low": "low end of its 95% interval",
        "rise_high": "high end of that interval",
        "p": "p, competence permuted within lines",
        "q": "p adjusted for all trends of the table",
        "recipes": "training setups that the trend rests on",
    }
    hidden = ("units_x", "units_y", "rotated_low", "rotated_high", "threshold", "line", "recipe")

    names: tuple[str, ...] = models_option("models of any modality (all fully trained ones)")
    mining: Mining = part(Mining)
    by: Literal["pair", "competence"] = option(
        "pair", label="A row per", help="what each row is: a pair of models, or a model's mean"
    )
    dealings: int = draws_option(
        999, least=1, label="Draws", help="permutations of competence within lines"
    )

    def complete(self, study: Study) -> NeuronShare:
        check_layers(self.mining.layers, of_two=False)
        check_count(self.mining.null)
        choose_names(self.names, list(describe_trainings(study)["model"]), "finished model")
        models = usual(study.models())
        names = tuple(sorted(set(self.names or models.loc[~is_reality(models), "model"])))
        if len(names) < 2:
            raise NotApplicableError(f"Needs 2 models; {len(names)} loaded. Embed another one.")
        draws = self.dealings if self.by == "competence" else type(self).dealings
        return replace(self, names=names, dealings=draws)

    def is_kept(self) -> bool:
        return self.by == "pair"

    def answer(self, study: Study) -> Answer:
        trainings = describe_trainings(study)
        if self.by == "pair":
            named = trainings.set_index("model").loc[list(self.names)].reset_index()
            table = self._shares(study, named)
            return Answer(table, share_findings(table))
        shares = ask(replace(self, by="pair"), study)
        solved = ask(TasksSolved(self.scope), study).set_index("model")["solved"]
        coded = study.competence().set_index("model")["value"]
        competence = pd.concat([solved, coded]).astype(float)
        draws, seed = self.dealings, self.mining.seed
        table = trend_rows(shares, trainings, competence, draws=draws, seed=seed)
        groups = study.models().set_index("model")["group"]
        return Answer(table.assign(group=table["model"].map(groups)), trend_findings(table))

    def _shares(self, study: Study, trainings: pd.DataFrame) -> pd.DataFrame:
        names, mining = self.names, self.mining
        dims = {name: study.entry(name).dims for name in names}
        largest = max(8 * study.size * sum(widths) for widths in dims.values())
        recipes = trainings["recipe"].to_numpy()
        kin = kinship(trainings) | (recipes[:, None] == recipes)

        @lru_cache(maxsize=max(2, HELD // largest))
        def read(name: str) -> Model | str:
            count = len(dims[name])
            try:
                return read_model(study, name, chosen_layers(mining.layers, count, count)[0])
            except MetricError as error:
                return str(error)

        pairs, rows = list(combinations(range(len(names)), 2)), []
        for i, j in tell_each(pairs, "pairs of models"):
            row = {"model_x": names[i], "model_y": names[j], "kin": bool(kin[i, j]), "reason": ""}
            x, y = read(names[i]), read(names[j])
            if isinstance(x, Model) and isinstance(y, Model):
                found, units = mine(x, y, mining), [x.units.count, y.units.count]
                matched, most = found.recurring(found.partners), min(units)
                bases = (*found.rotated, *found.rotated_x)
                rotated = np.array([found.recurring(each) for each in bases]) / most
                row |= {
                    "units_x": units[0],
                    "units_y": units[1],
                    "pairs": matched,
                    "share": matched / most,
                    "rotated": float(rotated.mean()),
                    "rotated_low": float(rotated.min()),
                    "rotated_high": float(rotated.max()),
                    "threshold": found.threshold,
                    "alike": found.alike,
                    "alike_rotated": found.alike_rotated,
                }
            else:
                row["reason"] = x if isinstance(x, str) else y
            rows.append(row)
        return pd.DataFrame(rows, columns=list(self.columns)[:14])

    def plot(self, table: pd.DataFrame) -> Plot:
        if self.by == "pair":
            return self._shared(table)
        keys = ["modality", "partners", "model"]
        measured = table.dropna(subset=["competence", "value"])
        wide = measured.pivot_table(index=keys, columns="measure", values="value")
        drawn = measured[measured["measure"] == MATCHED].set_index(keys)
        drawn = drawn.assign(rotated=wide[MATCHED] - wide[BEYOND] if len(wide) else np.nan)
        drawn = drawn.reset_index()
        panels = drawn["modality"].str.capitalize() + " models in " + drawn["partners"] + " models"
        sides = dict(zip(panels, drawn["modality"], strict=True))
        card = (
            "<b>{title}</b>",
            "{value:.1%} of its units have a match, {rotated:.1%} in a random basis",
            "mean over {models} partners; competence {competence:.3f}",
        )
        chance = Dots("competence", "rotated", color=Fixed("chance"), symbol="circle-open", size=8)
        return Plot(
            "Matched units over competence",
            marks=(
                replace(chance, name="in a random basis"),
                Line("competence", "value", color="group", by="line"),
                Dots(
                    "competence",
                    "value",
                    color="group",
                    modality="modality",
                    size=Size("parameters"),
                    card=card,
                    ids="{model}",
                    select=("model",),
                ),
            ),
            x={panel: Axis(AXES.get(side, "competence")) for panel, side in sides.items()},
            y=Axis("units with a match", percent=True, zero=True),
            facet=Facet("panel", note="{points:+.1f} points per 0.1 · {q:p:q} || {reason:wrap}"),
            empty="No model here has both a competence and a partner.",
            height=330,
        ).over(drawn.assign(panel=panels, points=10 * drawn["rise"]))

    def _shared(self, table: pd.DataFrame) -> Plot:
        """Return each pair's share over that in random bases, most of which lie above the line."""
        ends = table[["share", "rotated"]].to_numpy(float)
        most = float(np.nanmax(ends)) if np.isfinite(ends).any() else 1.0
        line = pd.DataFrame({"rotated": [0.0, most], "share": [0.0, most]})
        colors = Palette(
            "kin",
            {False: "ember", True: "chance"},
            {False: "pairs of models", True: "of one setup or descent"},
        )
        card = ("<b>{model_x}<br>× {model_y}</b>", "{share:.1%}, in random bases {rotated:.1%}")
        return Plot(
            "Matched units by pair of models",
            marks=(
                Line("rotated", "share", table=line, color=Fixed("soft"), dash="dot", width=1.5),
                Dots("rotated", "share", color=colors, size=6, card=card),
            ),
            x=Axis("in random bases", percent=True),
            y=Axis("units with a match", percent=True),
            empty="No two of these models can be compared: {reason}.",
        ).over(table)


@dataclass(frozen=True)
class NeuronPairs(StudyQuestion):
    """Which units of two models match?

    Basis: as they are; as a control the same with the second model in a random basis (rotated),
    and with its stimuli shuffled once. Of one pair: the stimuli that excite its units most.
    """

    command = "neurons pairs"
    version = 4
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
        "model": "model",
        "layer": "layer of the unit, from 0",
        "unit": "the unit, from 0",
        "place": "place among the stimuli that excite it most",
        "index": "index of the stimulus",
        "stimulus": "its id",
        "excitation": "standard deviations above the unit's mean over the stimuli, nothing clamped",
        "shared": "whether the stimulus is in both lists",
    }

    a: str = option(
        "",
        label="Model A",
        metavar="M",
        help="one model (the two largest vision models of two objectives)",
    )
    b: str = option("", label="Model B", metavar="M", help="another model")
    mining: Mining = part(Mining)
    pair: int = option(
        0,
        least=0,
        most=MOST_STIMULI,
        label="Pair",
        help="the stimuli of one pair, counted from the most correlated (0: all pairs)",
    )
    count: int = option(8, least=1, most=1000, label="Images", help="stimuli of each unit")

    def complete(self, study: Study) -> NeuronPairs:
        check_layers(self.mining.layers, of_two=True)
        check_count(self.mining.null)
        models = usual(study.models())
        largest = [*largest_models(study), *models.loc[~is_reality(models), "model"]]
        others = [one for one in dict.fromkeys(largest) if one not in (self.a, self.b)]
        if len(others) < (not self.a) + (not self.b):
            raise NotApplicableError("Needs 2 models. Embed another one, or name two.")
        a = self.a or others.pop(0)
        b = self.b or others.pop(0)
        if a == b:
            raise MetricError(f"two different models expected; got {a} twice: name another one")
        chosen_layers(self.mining.layers, *(len(study.entry(name).dims) for name in (a, b)))
        return replace(self, a=a, b=b, count=self.count if self.pair else type(self).count)

    def is_kept(self) -> bool:
        return not self.pair

    def answer(self, study: Study) -> Answer:
        if self.pair:
            return Answer(self._exciting(study, ask(replace(self, pair=0), study)))
        counts = (len(study.entry(name).dims) for name in (self.a, self.b))
        layers = chosen_layers(self.mining.layers, *counts)
        x, y = (read_model(study, *each) for each in zip((self.a, self.b), layers, strict=True))
        found, seed = mine(x, y, self.mining), self.mining.seed
        order = draw_orders(len(y.units.values), count=1, seed=seed)[0]
        shuffled = Units(y.units.values[order], y.units.layers, y.units.numbers)
        bases = (
            (AS_IS, y.units, found.partners),
            (ROTATED, units_of(rotate(y.layers, seed=seed)), found.rotated[0]),
            (SHUFFLED, y.units, find_partners(x.units, shuffled)),
        )
        tables = [
            _rows(x.units, units, partners).assign(basis=basis, p=p_of(partners.r, found.null))
            for basis, units, partners in bases
        ]
        table = pd.concat(tables, ignore_index=True)
        about = {"model_x": self.a, "model_y": self.b, "threshold": found.threshold}
        table = table.assign(**about, recurs=table["p"] <= ALPHA)[list(self.columns)[:12]]
        titles = study.models().set_index("model")["title"]
        return Answer(table, pair_findings(table, titles[self.a], titles[self.b]))

    def _exciting(self, study: Study, pairs: pd.DataFrame) -> pd.DataFrame:
        """Return the stimuli that excite both units of the pair most."""
        pairs = pairs[pairs["basis"] == AS_IS].set_index("pair")
        if self.pair not in pairs.index:
            raise MetricError(
                f"these models have {len(pairs)} pairs of units that are each other's best; got"
                f" pair {self.pair}: choose a lower number"
            )
        row, tables = pairs.loc[self.pair], []
        name, where = study.dataset.name, study.where
        whole = Study(study.store, name, WHOLE, where=where, stimuli=study.stimuli)
        for model, side in ((self.a, "x"), (self.b, "y")):
            layer, unit = int(row[f"layer_{side}"]), int(row[f"unit_{side}"])
            values = whole.spaces(model)[layer][:, unit].astype(np.float64)
            excitation = (values - values.mean()) / values.std()
            order = np.argsort(-excitation, kind="stable")[: self.count]
            strongest = studied_stimuli(study).iloc[order].reset_index(drop=True)
            strongest = strongest.assign(place=range(1, len(order) + 1), model=model, layer=layer)
            tables.append(strongest.assign(unit=unit, excitation=excitation[order]))
        both = set(tables[0]["index"]) & set(tables[1]["index"])
        table = pd.concat(tables, ignore_index=True)
        return table.assign(shared=table["index"].isin(both))[list(self.columns)[12:]]

    def plot(self, table: pd.DataFrame) -> Plot:
        if self.pair:
            return Plot(
                "Images that excite two units most",
                marks=(
                    Dots(
                        "place",
                        "excitation",
                        color=Palette("model"),
                        join=True,
                        card=("<b>{stimulus}</b>", "{excitation:+.1f} sd"),
                    ),
                ),
                x=Axis("place", whole=True),
                y=Axis("sd above the mean"),
            ).over(table)
        names = {AS_IS: "units as they are", ROTATED: "in a random basis", SHUFFLED: "shuffled"}
        colors = Palette("basis", {AS_IS: "ember", ROTATED: "text", SHUFFLED: "chance"}, names)
        card = (
            "<b>pair {pair}</b>: r = {r:.2f}, {p:p}",
            "{model_x}, layer {layer_x}, unit {unit_x}",
            "{model_y}, layer {layer_y}, unit {unit_y}",
        )
        return Plot(
            "Correlation of matched units",
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


def share_findings(table: pd.DataFrame) -> list[Finding]:
    """Return what share of units has a match, and whether counterparts are more correlated than
    directions of a random basis, which keeps all kernels and makes no unit special.
    """
    apart = table[~table["kin"].astype(bool)].dropna(subset="share")
    if apart.empty:
        claim = "Single units are more alike than directions of a random basis"
        return [Finding(claim, expected="+", reason="no two models of different training setups")]
    beyond = (apart["alike"] - apart["alike_rotated"]).to_numpy(float)
    numbers, models = pd.factorize(apart[["model_x", "model_y"]].to_numpy().ravel())
    low, high = pair_interval(beyond, *numbers.reshape(-1, 2).T, models=len(models))
    return [
        Finding(
            "Units of a model that have a match in another model",
            float(apart["share"].mean()),
            unit="%",
            n=len(apart),
            over="pairs of models",
            note=f"In a random basis {apart['rotated'].mean():.0%} have one.",
        ),
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
    ]


def trend_findings(table: pd.DataFrame) -> list[Finding]:
    """Return for each modality of models and partners whether shares rise with competence, as they
    are and beyond a random basis.
    """
    trends = table.drop_duplicates(["measure", "modality", "partners"])
    return [
        Finding(
            CLAIMS[row["measure"]].format(**row),
            row["rise"] / 10,
            row["rise_low"] / 10,
            row["rise_high"] / 10,
            row["q"],
            name="change per 0.1 of competence",
            unit="%",
            digits=3,
            n=int(row["recipes"]),
            over="setups",
            expected="+",
            reason=row["reason"],
        )
        for row in trends.to_dict("records")
    ]


def pair_findings(table: pd.DataFrame, x: str, y: str) -> list[Finding]:
    """Return how many units of two models match, and what a random basis and shuffled stimuli
    give.
    """
    parts = {basis: table[table["basis"] == basis] for basis in (AS_IS, ROTATED, SHUFFLED)}
    counts = {basis: int(rows["recurs"].sum()) for basis, rows in parts.items()}
    own, best = parts[AS_IS], parts[SHUFFLED]["r"].max()
    return [
        Finding(
            f"{counts[AS_IS]:,} units of {x} have a match in {y}, {counts[ROTATED]:,} in a random"
            " basis",
            float(own.loc[own["recurs"], "r"].median()),
            name="median r",
            note=""
            if np.isnan(best)
            else f"With shuffled stimuli the best pair has r = {best:.2f}.",
        )
    ]


def _rows(x: Units, y: Units, partners: Partners) -> pd.DataFrame:
    columns = {
        "layer_x": x.layers[partners.x],
        "unit_x": x.numbers[partners.x],
        "layer_y": y.layers[partners.y],
        "unit_y": y.numbers[partners.y],
        "r": partners.r.astype(np.float64),
    }
    return pd.DataFrame({"pair": np.arange(1, len(partners.r) + 1), **columns})


def trend_rows(
    shares: pd.DataFrame,
    trainings: pd.DataFrame,
    competence: pd.Series,
    *,
    draws: int,
    seed: int,
) -> pd.DataFrame:
    """Return the rows of `NeuronShare` by competence.

    shares: its rows by pair. trainings: of `core.study.trainings.describe_trainings`. competence:
    by model. Each setup counts once, as the mean over its seeds; p and the interval of rise: as of
    `recipe_trend`, competence permuted within lines.
    """
    apart = shares[~shares["kin"].astype(bool)].dropna(subset="share")
    turned = apart.rename(columns={"model_x": "model_y", "model_y": "model_x"})
    both = pd.concat([apart, turned], ignore_index=True)
    both = both.assign(**{MATCHED: both["share"], BEYOND: both["share"] - both["rotated"]})
    modality = trainings.set_index("model")["modality"]
    means = (
        both.assign(partners=both["model_y"].map(modality))
        .melt(["model_x", "partners"], [MATCHED, BEYOND], "measure", "value")
        .groupby(["measure", "partners", "model_x"])["value"]
        .agg(value="mean", models="count")
        .reset_index()
        .rename(columns={"model_x": "model"})
    )
    about = trainings[["model", "title", "modality", "line", "recipe", "parameters"]]
    rows = means.merge(about, on="model")
    rows["competence"] = rows["model"].map(competence)
    order = ["measure", "modality", "partners", "line", "parameters", "model"]
    rows = rows.sort_values(order, ascending=[False, False, True, True, True, True])
    tested = []
    for _, group in rows.groupby(["measure", "modality", "partners"], sort=False):
        setups = group.dropna(subset="competence").groupby("recipe", sort=False)
        setups = setups.agg(
            value=("value", "mean"), competence=("competence", "mean"), line=("line", "first")
        )
        values, skill = (setups[name].to_numpy(float) for name in ("value", "competence"))
        of_line = pd.factorize(setups["line"])[0].astype(np.int64)
        trend = recipe_trend(values, skill, of_line, draws=draws, seed=seed)
        group = group.assign(rise=trend.rise, rise_low=trend.low, rise_high=trend.high, p=trend.p)
        tested.append(group.assign(recipes=trend.recipes, reason=trend.reason))
    if not tested:
        return pd.DataFrame(columns=list(NeuronShare.columns)[13:])
    q = adjust(np.array([group["p"].iloc[0] for group in tested], dtype=float))
    table = pd.concat([group.assign(q=one) for group, one in zip(tested, q, strict=True)])
    return table.reset_index(drop=True)[[one for one in NeuronShare.columns if one in table]]
