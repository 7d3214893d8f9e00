"""Which models are alike? Their map, and a table of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, TypeVar

import numpy as np
import pandas as pd

from core.competence.records import SKILL
from core.encoders.encoder import REALITY
from core.errors import InputError, NotApplicableError, UnknownNameError
from core.figures.grammar import Axis, Dots, Fixed, Line, Mark, Plot, Scale
from core.figures.labels import Labels
from core.figures.theme import mark_sizes
from core.modalities import find_modality, known_first
from core.options import option, part, seed_option
from core.questions.asking import ask
from core.questions.competence.question import TasksSolved
from core.questions.controls import ControlRanks
from core.questions.finding import Finding
from core.questions.models.figures import FRAMES, map_names, turned
from core.questions.models.pairs import ModelPairs, Roster, closest, distances
from core.questions.question import Answer, StudyQuestion
from core.statistics.layouts import check_layout, lay_out
from core.study.comparing import check_pairing, layer_scores
from core.study.models import (
    basis_of,
    is_measured,
    is_reality,
    known_kinds,
    named_kinds,
    skill_ranks,
    usual,
)
from core.study.parts import Comparison, Measure
from core.study.study import Study

DESCRIPTION = ("model", "title", "modality", "family", "objective", "parameters", "step")
RANKED = ("rank", "rank_low", "rank_high", "tied")
DESCRIBED = (*DESCRIPTION, "skill", "solved", "closest", "closest_score", *RANKED)  # no targets
Members = Mapping[str, Sequence[str]]  # the models of each target, by its name


def groups_of(models: pd.DataFrame) -> dict[str, list[str]]:
    """Return the groups that models are compared with, by name: reality if it is known, and the
    trained models of each modality, brains and people. models: of `describe`.
    """
    counted = pd.concat([usual(models), models[is_measured(models)]])
    groups = {REALITY: list(counted.loc[counted["model"] == REALITY, "model"])}
    for name in known_first(counted["modality"]):
        modality = find_modality(name)
        if not modality.is_reality:
            groups[modality.plural] = list(counted.loc[counted["modality"] == name, "model"])
    return {name: members for name, members in groups.items() if members}


def members_of(names: Sequence[str], models: pd.DataFrame) -> Members:
    """Return the models of these targets, of all groups if none is named."""
    groups = groups_of(models)
    every = groups | {name: [name] for name in models["model"] if name not in groups}
    if unknown := [name for name in names if name not in every]:
        raise UnknownNameError("target", unknown[0], every)
    if not names and not groups:
        raise InputError("none of these models finished a training; name the targets")
    return {name: every[name] for name in names or groups}


def standings(pairs: pd.DataFrame, models: pd.DataFrame, members: Members) -> pd.DataFrame:
    """Return `mean_over_targets` by model. pairs: model_x, model_y, score, each pair once."""
    turned = pairs.rename(columns={"model_x": "other", "model_y": "model"})
    both = pd.concat([pairs.rename(columns={"model_x": "model", "model_y": "other"}), turned])
    return mean_over_targets(both, models, members, by=["model"])


def mean_over_targets(
    scores: pd.DataFrame, models: pd.DataFrame, members: Members, *, by: list[str]
) -> pd.DataFrame:
    """Return a row per target and value of `by`, the model among it: target, score, the mean over
    the target's models, and models, how many those are.

    No model is compared with itself or with another of its training. scores: model, other, score,
    and what else is in `by`; those that are NaN do not count.
    """
    runs = models.set_index("model")["run"]
    apart = scores[scores["model"].map(runs) != scores["other"].map(runs)].dropna(subset="score")
    parts = [
        apart[apart["other"].isin(names)]
        .groupby(by, sort=False)["score"]
        .agg(score="mean", models="count")
        .reset_index()
        .assign(target=target)
        for target, names in members.items()
    ]
    columns = [*by, "target", "score", "models"]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


def profiles(
    study: Study, names: Sequence[str], others: Sequence[str], measure: Measure
) -> pd.DataFrame:
    """Return a row per layer of each model and other model: model, other, layer, score with the
    best-aligned layer of the other, NaN where no layer of it can be compared.
    """
    best = np.fmax if measure.toward > 0 else np.fmin  # both pass over NaN
    rows = [
        (x, y, layer, float(score))
        for (x, y), values in layer_scores(study, names, others, measure).items()
        for layer, score in enumerate(best.reduce(values, axis=1))
    ]
    return pd.DataFrame(rows, columns=["model", "other", "layer", "score"])


def nearest_to(pairs: pd.DataFrame, name: str, *, high: bool, count: int) -> pd.DataFrame:
    """Return the models most aligned with one: other, score. high: whether high is aligned."""
    mine = pairs[(pairs["model_x"] == name) | (pairs["model_y"] == name)].dropna(subset="score")
    other = mine["model_x"].where(mine["model_x"] != name, mine["model_y"])
    ordered = mine.assign(other=other).sort_values("score", ascending=not high, kind="stable")
    return ordered[["other", "score"]].head(count)


LayoutName = Literal["mds", "umap"]
Coloring = Literal["group", "family", "rank", "parameters", "step"]
NEAREST = ("nearest_1", "nearest_2", "nearest_3")
FAIR_STRESS, POOR_STRESS = 0.1, 0.2  # Kruskal 1964: 10% is fair, 20% poor
KINDS = (("modality", "modality"), ("group", "objective or family"))
ABOUT = ["title", "modality", "family", "objective", "group", "run", "step", "parameters", "copy"]
SHRUNK, CHECKPOINT, STAR = 0.75, 0.6, 15.0  # of marks: all of them, checkpoints, reality in pixels
BITS_SAVED = "1 − bits per byte of the captions"
CARD = (
    "<b>{title}</b>[[ ({parameters:count})]]",
    "{family}, {objective}[[, after {step:,.0f} steps]]",
    "{skill}",
    "[[nearest: {near:wrap:50}]]",
)
SCALES: Mapping[str, Scale] = {
    "rank": Scale(
        "rank",
        "competence: rank in its modality",
        low=0,
        high=1,
        ticks={0: "least", 0.5: "middle", 1: "most"},
    ),
    "parameters": Scale("parameters", "parameters", log=True),
    "step": Scale("step", "training steps", log=True),
}


@dataclass(frozen=True)
class Targets:
    """What models are compared with, in the mean over each group."""

    names: tuple[str, ...] = option(
        (),
        name="targets",
        label="Aligned with",
        metavar="T",
        help="reality, groups such as 'vision models', or single models (reality and all groups)",
    )


Q = TypeVar("Q", "ModelLayout", "ModelMap", "ModelTable")


def completed(question: Q, study: Study) -> Q:
    """Name the models that are meant; refuse layers that compare no models of one set."""
    check_pairing(study, question.comparison)
    return replace(question, roster=question.roster.complete(study))


@dataclass(frozen=True)
class ModelLayout(StudyQuestion):
    """Where does a layout place the models? The slow step of `ModelMap`, kept alone."""

    command = "models layout"
    version = 2
    listed = False

    roster: Roster = part(Roster)
    comparison: Comparison = part(Comparison)
    layout: LayoutName = option("mds", help="how distances are drawn in a plane")
    seed: int = seed_option("seed of UMAP")

    def complete(self, study: Study) -> ModelLayout:
        question = completed(self, study)
        check_layout(question.layout, models=len(question.roster.names), seed=question.seed)
        return question

    def answer(self, study: Study) -> Answer:
        """Place models in a plane by −log(alignment): those that have a place by name, then those
        left out.
        """
        pairs = ask(ModelPairs(self.scope, self.roster, self.comparison), study)
        apart = distances(pairs, spec=self.comparison.spec)
        drawn = lay_out(apart.matrix, layout=self.layout, seed=self.seed)
        rows = []
        for place, name in enumerate(apart.names):
            order = np.lexsort((apart.floored[place], apart.matrix[place]))
            near = [apart.names[other] for other in order if other != place]
            near += [""] * len(NEAREST)
            row = {"model": name, "x": drawn.points[place, 0], "y": drawn.points[place, 1]}
            row |= dict(zip(NEAREST, near, strict=False))
            rows.append({**row, "floored": int(apart.floored[place].sum()), "reason": ""})
        for name, why in apart.left_out.items():
            rows.append({"model": name, **dict.fromkeys(NEAREST, ""), "floored": 0, "reason": why})
        whole = {
            "stress": drawn.stress,
            "trustworthiness": drawn.trustworthiness,
            "neighbors": drawn.neighbors,
            "floor": apart.floor,
            "layout": self.layout,
        }
        return Answer(pd.DataFrame(rows).assign(**whole))


@dataclass(frozen=True)
class ModelMap(StudyQuestion):
    """Which models are alike?"""

    command = "models map"
    version = 3
    columns: ClassVar[Mapping[str, str]] = {
        "model": "a model",
        "x": "where the map places it",
        "y": "where the map places it",
        "nearest_1": "the nearest model by distance, not as drawn",
        "nearest_2": "the second nearest",
        "nearest_3": "the third nearest",
        "floored": "how many of its scores are not above 0",
        "reason": "why it has no place",
        "stress": "Kruskal's stress of the map; 0: every distance in proportion",
        "trustworthiness": "of neighborhoods in the map; 1: perfect, 0.5: chance",
        "neighbors": "neighbors that trustworthiness asks for",
        "floor": "score that takes the place of those not above 0",
        "layout": "how distances are drawn",
        "title": "name of the model",
        "modality": "its modality",
        "family": "its family",
        "objective": "its objective",
        "group": "its objective, or its family if it is a language model",
        "run": "its training",
        "step": "training steps",
        "parameters": "its parameters",
        "copy": "whether it is a checkpoint",
        "rank": "rank of its competence in its modality, from 0 to 1",
        "skill": "its competence in words",
        "near": "names of the nearest models",
    }
    shown = ("model", "x", "y", *NEAREST, "floored", "reason")

    roster: Roster = part(Roster)
    comparison: Comparison = part(Comparison)
    layout: LayoutName = option("mds", label="Map", help="how distances are drawn in a plane")
    color: Coloring = option("group", label="Color", help="what colors mean in the figure")
    seed: int = seed_option("seed of UMAP")

    def complete(self, study: Study) -> ModelMap:
        return completed(self, study)

    def is_kept(self) -> bool:
        return False

    def answer(self, study: Study) -> Answer:
        layout = ModelLayout(self.scope, self.roster, self.comparison, self.layout, self.seed)
        models, competence = study.models(), study.competence()
        solved = ask(TasksSolved(self.scope), study)
        about = models.set_index("model")[ABOUT].assign(
            family=named_kinds(models, "family").to_numpy()
        )
        table = ask(layout, study).join(about, on="model")
        skills, titles = skill_texts(competence, solved), about["title"]
        near = [
            ", ".join(titles[name] for name in names if name)
            for names in table[list(NEAREST)].itertuples(index=False)
        ]
        table = table.assign(
            rank=table["model"].map(skill_ranks(models, competence, solved)).astype(float),
            skill=[skills.get(name, "") for name in table["model"]],
            near=near,
        )
        return Answer(table, map_findings(table))

    def plot(self, table: pd.DataFrame) -> Plot:
        """Draw a dot per model, and a line per training. named: which have their title next to
        them.
        """
        placed = table[table["reason"] == ""].sort_values(["modality", "group", "run", "step"])
        sizes = SHRUNK * mark_sizes(placed["parameters"])
        sizes = sizes.mask(placed["copy"].astype(bool), CHECKPOINT * sizes)
        named = placed.get("named", pd.Series(False, placed.index)).astype(bool)
        sizes = sizes.mask(is_reality(placed), STAR)
        placed = placed.assign(size=sizes, named=named)
        placed[["x", "y"]] = turned(placed[["x", "y"]].to_numpy(float))
        ends = [_padded(placed[axis], share) for axis, share in (("x", 0.04), ("y", 0.08))]
        groups = "group" if self.color in SCALES else self.color
        dots = Dots(
            *("x", "y"),
            size="size",
            modality="modality",
            card=CARD,
            ids="{model}",
            select=("model",),
        )
        runs = Line(
            *("x", "y"),
            by="run",
            color=Fixed("soft"),
            table=placed.sort_values(["run", "step"]),
            ordered=False,
            opacity=0.5,
            width=1,
        )
        marks: list[Mark] = [runs]
        if self.color in SCALES:
            column = placed[self.color]
            known = column.notna() & ((column > 0) | (self.color == "rank"))
            placed = placed.assign(known=known)
            for one in dict.fromkeys(placed["modality"]):
                here, name = f"modality == '{one}'", find_modality(one).title
                seen = replace(dots, name=name, rows=f"{here} and known", color=SCALES[self.color])
                hollow = replace(dots, name=name, rows=f"{here} and not known", hollow=True)
                marks += [seen, hollow]
        else:
            marks.append(replace(dots, color=self.color))
        names = map_names(placed, groups)
        look = {"table": names, "color": groups, "hued": True, "head": "head", "desk": FRAMES}
        marks.append(Labels("x", "y", "{label}", "size", reach=32, **look))
        return Plot(
            "Map of models",
            tuple(marks),
            x=Axis(bare=True, range=ends[0]),
            y=Axis(bare=True, equal=True, range=ends[1]),  # maps may be rotated and mirrored
            height=470,
            legend="right",
            empty="No model has a place on the map.",
        ).over(placed)


def _padded(values: pd.Series, share: float) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    pad = share * (high - low) or 1.0
    return low - pad, high + pad


def skill_texts(competence: pd.DataFrame, solved: pd.DataFrame) -> dict[str, str]:
    """Return in words the competence of each measured model, by name; arguments as of
    `core.study.models.skill_ranks`.
    """
    told = competence.dropna(subset="value")
    units = told["unit"].replace(SKILL, BITS_SAVED)
    values = zip(told["model"], units, told["value"], strict=True)
    shares = solved.dropna(subset="solved").set_index("model")["solved"]
    return {
        **{str(name): f"{unit}: {value:.2f}" for name, unit, value in values},
        **{
            str(name): f"{basis_of(solved)} {f'{one:.0%}' if 0 <= one <= 1 else f'{one:g}'}"
            for name, one in shares.items()
        },
    }


def map_findings(table: pd.DataFrame) -> list[Finding]:
    """Return how often the most aligned model is of the same kind, and how far to trust the map."""
    placed = table[(table["reason"] == "") & (table["nearest_1"] != "")]
    found = []
    for column, name in KINDS if len(placed) > 1 else ():
        kind = known_kinds(table, column)
        own = placed["model"].map(kind)
        if (own == "").any():
            continue
        counts, n = own.value_counts(), len(placed)
        chance = float((counts * (counts - 1)).sum() / (n * (n - 1)))
        same = float((own == placed["nearest_1"].map(kind)).mean())
        claim = f"{same:.0%} of models are closest to one of their own {name}"
        found.append(Finding(claim, same, chance=chance, unit="%", n=n))
    row = table.iloc[0]
    stress, trust = float(row["stress"]), float(row["trustworthiness"])
    if np.isnan(stress):
        worth = "all points coincide"
    elif stress <= FAIR_STRESS:
        worth = "distances can be read"
    else:
        worth = (
            f"read clusters{', not distances' if stress > POOR_STRESS else ' and rough distances'}"
        )
    note = "" if np.isnan(trust) else f"Trustworthiness of neighborhoods {trust:.2f}."
    if not pd.isna(row["floor"]):
        pairs = int(table["floored"].sum()) // 2
        note += f" {pairs} pairs without alignment above 0 are drawn at {row['floor']:.4f}."
    found.append(Finding("Stress of the map", stress, reason=worth, note=note.strip()))
    return found


@dataclass(frozen=True)
class ModelTable(StudyQuestion):
    """How aligned and how competent is each model, and in which layers?"""

    command = "models table"
    version = 6
    columns: ClassVar[Mapping[str, str]] = {
        "model": "a model",
        "title": "its name",
        "modality": "its modality",
        "family": "its family",
        "objective": "its objective",
        "parameters": "its parameters",
        "step": "training steps",
        "skill": "competence of language models: 1 − bits per byte of the captions",
        "solved": "competence of vision models",
        "closest": "most aligned model of another family or objective",
        "closest_score": "its alignment",
        "rank": "rank in its modality by mean mutual k-NN with the other, in best layers",
        "rank_low": "best rank in its joint 95% interval over stimuli",
        "rank_high": "worst rank in that interval",
        "tied": "models of its modality that are not significantly more or less aligned",
        "layer": "layer, from 0",
        "target": "what it is aligned with",
        "score": "alignment with the target's best layers, mean over its models",
        "models": "models of the target",
    }

    roster: Roster = part(Roster)
    comparison: Comparison = part(Comparison)
    targets: Targets = part(Targets)
    by: Literal["model", "layer"] = option(
        "model", label="A row per", help="what each row is: a model, or a layer of one and a target"
    )

    def complete(self, study: Study) -> ModelTable:
        question = completed(self, study)
        members = members_of(question.targets.names, _described(question.roster, study))
        return replace(question, targets=Targets(tuple(members)))

    def is_kept(self) -> bool:
        return self.by == "layer"

    def answer(self, study: Study) -> Answer:
        """Return a row per model with a column per target, by its name: the mean alignment with its
        models; or per layer and target, with the best-aligned layers of its models.
        """
        models = _described(self.roster, study)
        members = members_of(self.targets.names, models)
        if self.by == "layer":
            others = list(dict.fromkeys(name for names in members.values() for name in names))
            of = self.comparison
            measure = Measure(of.metric, of.k, of.parameters)
            scores = profiles(study, self.roster.names, others, measure)
            return Answer(mean_over_targets(scores, models, members, by=["model", "layer"]))
        pairs = ask(ModelPairs(self.scope, self.roster, self.comparison), study)
        solved = ask(TasksSolved(self.scope), study).set_index("model")["solved"]
        scores = standings(pairs, models, members).pivot(
            index="model", columns="target", values="score"
        )
        skill = study.competence().set_index("model")["value"]
        near = closest(pairs, models, high=self.comparison.spec.higher_is_more_aligned)
        about = models[list(DESCRIPTION)].assign(
            skill=models["model"].map(skill),
            solved=models["model"].map(solved),
            closest=models["model"].map(near["other"]),
            closest_score=models["model"].map(near["score"]),
        )
        about = about.join(self._ranks(study), on="model")
        table = about.join(scores.reindex(columns=list(members)), on="model")
        table = table.reset_index(drop=True)
        return Answer(table, self._ends(table, models))

    def _ranks(self, study: Study) -> pd.DataFrame:
        """Return RANKED by model, of language and of vision models; of none if the comparison is
        not that of ranks.
        """
        parts, comparison = list[pd.DataFrame](), self.comparison
        sides: tuple[Literal["language", "vision"], ...] = ("language", "vision")
        for side in sides if comparison == Comparison(k=comparison.k) else ():
            with suppress(NotApplicableError):  # fewer than two models
                ranks = ask(ControlRanks(self.scope, side, comparison.settings["k"]), study)
                parts.append(ranks.assign(tied=ranks["rank_high"] - ranks["rank_low"]))
        every = pd.concat(parts) if parts else pd.DataFrame(columns=["model", *RANKED])
        return every.set_index("model")[list(RANKED)].astype(float)

    def _ends(self, table: pd.DataFrame, models: pd.DataFrame) -> list[Finding]:
        """Return which two models of different setups are most alike, then which model is most
        aligned with each target, and which least.
        """
        titles, found = table.set_index("model")["title"], []
        high = self.comparison.spec.higher_is_more_aligned
        near = table[table["model"].isin(usual(models)["model"])].dropna(subset="closest_score")
        if len(near):
            row = near.sort_values("closest_score", ascending=not high, kind="stable").iloc[0]
            two = f"{row['title']} and {titles[row['closest']]}"
            claim = f"Most similar pair of different setups, in best-aligned layers: {two}"
            score, name = float(row["closest_score"]), self.comparison.spec.short
            found.append(Finding(claim, score, name=name, n=len(near)))
        for target in [name for name in table.columns if name not in DESCRIBED]:
            scored = table.dropna(subset=target)
            if scored.empty:
                continue
            ordered = scored.sort_values(target, ascending=not high, kind="stable")
            most, least = ordered.iloc[0], ordered.iloc[-1]
            of = target if target == REALITY else titles.get(target, target)
            found.append(
                Finding(
                    f"{most['title']} is most aligned with {of}",
                    float(most[target]),
                    digits=3,
                    n=len(scored),
                    note=f"Least aligned: {least['title']} ({least[target]:.3f}).",
                )
            )
        return found


def _described(roster: Roster, study: Study) -> pd.DataFrame:
    models = study.models()
    return models[models["model"].isin(roster.names)]
