"""Which models are alike? Every pair of models, their map, their tree, and a table of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, TypeVar

import numpy as np
import pandas as pd

from core.encoders.encoder import REALITY
from core.options import option, part, seed_option
from core.progress import Progress
from core.questions.asking import ask
from core.questions.competence.question import TasksSolved
from core.questions.finding import NAN, Finding
from core.questions.models.geometry import NEAREST, distances, map_table
from core.questions.models.pairs import ModelPairs, Roster
from core.questions.models.standings import (
    DESCRIBED,
    DESCRIPTION,
    mean_over_targets,
    members_of,
    profiles,
    standings,
)
from core.questions.question import Answer, StudyQuestion
from core.statistics.layouts import check_layout, lay_out
from core.study.comparing import check_pairing
from core.study.models import known_kinds
from core.study.parts import Comparison, Measure
from core.study.study import Study

LayoutName = Literal["umap", "mds", "tsne"]
FAIR_STRESS, POOR_STRESS = 0.1, 0.2  # Kruskal 1964: 10% is fair, 20% poor
TRUSTED = 0.9
KINDS = (("modality", "modality"), ("group", "objective (language: family)"), ("run", "training"))
ABOUT = ["title", "modality", "group", "run"]


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
    """Where does a layout place the models?

    The slow step of `ModelMap`, kept by itself: a model's description may change with the models
    around it, its place does not.
    """

    command = "models layout"
    version = 2
    listed = False

    roster: Roster = part(Roster)
    comparison: Comparison = part(Comparison)
    layout: LayoutName = option("umap", help="how distances are drawn in a plane")
    seed: int = seed_option("seed of UMAP and t-SNE")

    def complete(self, study: Study) -> ModelLayout:
        question = completed(self, study)
        check_layout(question.layout, models=len(question.roster.names), seed=question.seed)
        return question

    def answer(self, study: Study, report: Progress | None) -> Answer:
        """Place models in a plane by −log(alignment); see `map_table` for the columns."""
        pairs = ask(ModelPairs(self.scope, self.roster, self.comparison), study, report)
        apart = distances(pairs, spec=self.comparison.spec)
        drawn = lay_out(apart.matrix, layout=self.layout, seed=self.seed)
        return Answer(map_table(apart, drawn).assign(layout=self.layout))


@dataclass(frozen=True)
class ModelMap(StudyQuestion):
    """Which models are alike?"""

    command = "models map"
    version = 2
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
        "group": "its objective, or family if it reads",
        "run": "its training",
    }
    shown = ("model", "x", "y", *NEAREST, "floored", "reason")

    roster: Roster = part(Roster)
    comparison: Comparison = part(Comparison)
    layout: LayoutName = option("umap", label="Map", help="how distances are drawn in a plane")
    seed: int = seed_option("seed of UMAP and t-SNE")

    def complete(self, study: Study) -> ModelMap:
        return completed(self, study)

    def is_kept(self) -> bool:
        return False

    def answer(self, study: Study, report: Progress | None) -> Answer:
        layout = ModelLayout(self.scope, self.roster, self.comparison, self.layout, self.seed)
        about = study.models().set_index("model")[ABOUT]
        table = ask(layout, study, report).join(about, on="model")
        return Answer(table, map_findings(table))


def map_findings(table: pd.DataFrame) -> list[Finding]:
    """Return how often a model's nearest model is of its own kind, and how far to trust the map.

    The nearest model is the most aligned one, not the nearest mark. Chance: another model taken at
    random. Nothing is said of a kind that is not known of all.
    """
    placed = table[(table["reason"] == "") & (table["nearest_1"] != "")]
    found = []
    for column, name in KINDS if len(placed) > 1 else ():
        kind = known_kinds(table, column)
        own = placed["model"].map(kind)
        if (own == "").any():
            continue
        counts, n = own.value_counts(), len(placed)
        chance = float((counts * (counts - 1)).sum() / (n * (n - 1)))
        found.append(
            Finding(
                f"A model's nearest model is of the same {name}",
                float((own == placed["nearest_1"].map(kind)).mean()),
                unit="%",
                n=n,
                note=f"By chance {chance:.0%}.",
            )
        )
    row = table.iloc[0]
    stress, trust = float(row["stress"]), float(row["trustworthiness"])
    worth = "distances mean little" if stress > POOR_STRESS else "distances are rough"
    worth = "distances can be read off the map" if stress <= FAIR_STRESS else worth
    if np.isnan(stress):
        worth = "all marks coincide"
    often = "usually" if trust >= TRUSTED else "often not"
    near = f"the {row['neighbors']:.0f} nearest marks are {often} the nearest models"
    if np.isnan(trust) or pd.isna(row["neighbors"]):
        near, trust = "there are too few models for neighborhoods", NAN
    found += [
        Finding("Stress of the map", stress, reason=worth),
        Finding("Trustworthiness of the map", trust, reason=near),
    ]
    if not pd.isna(row["floor"]):
        pairs = int(table["floored"].sum()) // 2
        claim = f"{pairs} of the pairs have no alignment above 0 and are drawn at the least above 0"
        found.append(Finding(claim, float(row["floor"]), name="floor", digits=4))
    return found


@dataclass(frozen=True)
class ModelTable(StudyQuestion):
    """How aligned and how competent is each model, and in which layers?"""

    command = "models table"
    version = 2
    columns: ClassVar[Mapping[str, str]] = {
        "model": "a model",
        "title": "its name",
        "modality": "its modality",
        "family": "its family",
        "objective": "its objective",
        "parameters": "its parameters",
        "step": "training steps",
        "skill": "competence of models that read: 1 − bits per byte of the captions",
        "solved": "competence of vision models",
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
        return replace(question, targets=_targets(question.targets, question.roster, study))

    def is_kept(self) -> bool:
        return False

    @property
    def profiles(self) -> ModelProfiles:
        """Return the question about layers."""
        of = self.comparison
        measure = Measure(of.metric, of.k, of.parameters)
        return ModelProfiles(self.scope, self.roster, measure, self.targets)

    def answer(self, study: Study, report: Progress | None) -> Answer:
        """Return a row per model with a column per target, by its name: the mean alignment with the
        models of the target; or the answer of `ModelProfiles`.
        """
        if self.by == "layer":
            return Answer(ask(self.profiles, study, report))
        models = _described(self.roster, study)
        pairs = ask(ModelPairs(self.scope, self.roster, self.comparison), study, report)
        solved = ask(TasksSolved(self.scope), study, report).set_index("model")["solved"]
        members = members_of(self.targets.names, models)
        scores = standings(pairs, models, members).pivot(
            index="model", columns="target", values="score"
        )
        skill = study.competence().set_index("model")["value"]
        about = models[list(DESCRIPTION)].assign(
            skill=models["model"].map(skill), solved=models["model"].map(solved)
        )
        table = about.join(scores.reindex(columns=list(members)), on="model")
        table = table.reset_index(drop=True)
        return Answer(table, self._ends(table))

    def _ends(self, table: pd.DataFrame) -> list[Finding]:
        """Return which model is most aligned with each target, and which least."""
        titles, found = table.set_index("model")["title"], []
        for target in [name for name in table.columns if name not in DESCRIBED]:
            scored = table.dropna(subset=target)
            if scored.empty:
                continue
            high = self.comparison.spec.higher_is_more_aligned
            ordered = scored.sort_values(target, ascending=not high, kind="stable")
            most, least = ordered.iloc[0], ordered.iloc[-1]
            of = target if target == REALITY else titles.get(target, target)
            found.append(
                Finding(
                    f"Most aligned with {of} is {most['title']}",
                    float(most[target]),
                    digits=3,
                    n=len(scored),
                    note=f"Least is {least['title']} ({least[target]:.3f}).",
                )
            )
        return found


@dataclass(frozen=True)
class ModelProfiles(StudyQuestion):
    """In which layers is each model aligned with others?"""

    command = "models profiles"
    version = 2
    listed = False  # models table --by layer

    roster: Roster = part(Roster)
    measure: Measure = part(Measure)
    targets: Targets = part(Targets)

    def complete(self, study: Study) -> ModelProfiles:
        roster = self.roster.complete(study)
        return replace(self, roster=roster, targets=_targets(self.targets, roster, study))

    def answer(self, study: Study, report: Progress | None) -> Answer:
        """Return model, layer (from 0), target, score: the mean over the target's models of the
        score with their best-aligned layer, and models: how many those are.
        """
        models = _described(self.roster, study)
        members = members_of(self.targets.names, models)
        others = list(dict.fromkeys(name for names in members.values() for name in names))
        scores = profiles(study, self.roster.names, others, self.measure)
        return Answer(mean_over_targets(scores, models, members, by=["model", "layer"]))


def _targets(targets: Targets, roster: Roster, study: Study) -> Targets:
    return Targets(tuple(members_of(targets.names, _described(roster, study))))


def _described(roster: Roster, study: Study) -> pd.DataFrame:
    models = study.models()
    return models[models["model"].isin(roster.names)]
