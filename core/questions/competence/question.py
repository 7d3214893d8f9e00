"""Competence and alignment: what models solve, bins of competence, scores that alignment predicts,
and trainings.

Source: Huh et al. 2024, figures 2 and 4: vision models that solve more of VTAB's tasks are more
aligned with each other; language models more aligned with DINOv2 score higher, on HellaSwag along
a line, on GSM8K only from a point on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
import pandas as pd

from core.competence.records import BITS, MEASURED
from core.encoders.encoder import REALITY
from core.errors import InputError, UnknownNameError
from core.figures.grammar import Axis, Dots, Facet, Fixed, Level, Line, Plot, Scale, Size
from core.modalities import find_modality, known_first
from core.options import draws_option, models_option, option, part, seed_option
from core.questions.asking import ask
from core.questions.competence.bins import assign_bins, bin_pairs, bin_trends, summarize_bins
from core.questions.competence.scores import Solving, registry, solve_tasks
from core.questions.finding import Finding
from core.questions.models.pairs import ModelPairs, Roster
from core.questions.question import Answer, StudyQuestion
from core.statistics.correlations import Correlation, partial_correlation, spearman_interval
from core.statistics.emergence import Stick, compare_fits
from core.statistics.nulls import adjust
from core.study.comparing import align_models, check_pairing, choose_engine
from core.study.models import (
    UNKNOWN,
    basis_of,
    is_measured,
    is_reality,
    known_kinds,
    lines,
    open_because,
    rank_within,
    reads,
    skill_values,
    usual,
    without_variants,
)
from core.study.parts import Comparison, Scope
from core.study.scores import TaskScore, known_scores, score_of, select
from core.study.spaces import by_size
from core.study.study import Study, known_worlds

Grouping = Literal["objective", "family", "size"]
GROUPS: Mapping[Grouping, str] = {"objective": "objectives", "family": "families", "size": "sizes"}
USUAL = ("HellaSwag", "GSM8K", "completions", "counting")  # scores to predict, in this order
ABREAST = "trainings at the same step"
DESCRIBED = ("title", "family", "group", "modality", "parameters")
FOLLOWED = ("model", "run", "step", "modality", "target", "score", "models")


@dataclass(frozen=True)
class Contenders:
    """Which models' competence is compared."""

    names: tuple[str, ...] = models_option("vision and language models (all finished ones)")
    unfinished: bool = option(
        False,
        label="Unfinished models",
        help="if no models are named, checkpoints and untrained models too",
    )


@dataclass(frozen=True)
class Binning:
    """How models are put into bins of competence."""

    bins: int = option(5, least=1, most=1000, help="bins of competence")
    equal: bool = option(
        False,
        label="Equal bins",
        help="as many models in each bin as ties allow, not equal shares of the tasks",
    )
    by: Grouping = option(
        "objective",
        label="Groups",
        help="what groups models: pairs are taken within groups and across them",
    )


@dataclass(frozen=True)
class CompetenceScores(StudyQuestion):
    """What is known of the models' competence, and where does it come from?"""

    command = "competence list"
    version = 3
    device = None
    shown = ("model", "task", "value", "low", "high", "unit", "origin", "embedded", "source")

    task: tuple[str, ...] = option((), label="Tasks", metavar="T", help="only these tasks")
    origin: tuple[str, ...] = option(
        (), metavar="O", help="only these origins: measured, published or user"
    )
    model: tuple[str, ...] = models_option("only these models", name="model", label="Only models")
    embedded: bool = option(False, label="Embedded only", help="only models that are embedded here")
    solved: bool = option(
        False, label="Tasks solved", help="instead, the competence of each vision model"
    )

    def is_kept(self) -> bool:
        return False

    def answer(self, study: Study) -> Answer:
        if self.solved:
            return Answer(ask(TasksSolved(self.scope), study))
        table = registry(study)
        if wrong := [name for name in self.model if name not in set(table["model"])]:
            raise UnknownNameError("model with a value", wrong[0], table["model"].unique())
        table = select(table, tasks=self.task, origins=self.origin)
        table = table[table["model"].isin(self.model) | (not self.model)]
        return Answer(table[table["embedded"] | (not self.embedded)].reset_index(drop=True))


def unasked(study: Study) -> list[str]:
    """Return imported features without a family and without scores of their own, unless their
    modality has no other models: they count only if a person names them.
    """
    models = usual(study.models())
    imported = [study.entry(name).card.spec.startswith("import:") for name in models["model"]]
    bare = models["family"].isin(UNKNOWN) & np.array(imported, dtype=bool)
    if not bare.any():
        return []
    scores = ask(CompetenceScores(Scope(study.dataset.name)), study)
    bare &= ~models["model"].isin(scores.loc[scores["origin"] != MEASURED, "model"])
    alone = bare.groupby(models["modality"]).transform("all")
    return list(models.loc[bare & ~alone, "model"])


@dataclass(frozen=True)
class TasksSolved(StudyQuestion):
    """How competent is each vision model?"""

    command = "competence tasks"
    version = 4
    device = None
    listed = False  # competence list --solved

    solving: Solving = part(Solving)

    def is_kept(self) -> bool:
        return False

    def answer(self, study: Study) -> Answer:
        return Answer(solve_tasks(study, self.solving))


@dataclass(frozen=True)
class Bins(StudyQuestion):
    """Do vision models that solve more tasks align more with each other?"""

    command = "competence bins"
    version = 4
    columns: ClassVar[Mapping[str, str]] = {
        "pairs_of": "pairs of models: all, of the same group, or of different groups",
        "bin": "bin of competence, the weakest first",
        "low": "lower end of the bin",
        "high": "upper end of the bin",
        "models": "models in the bin",
        "pairs": "pairs in the bin",
        "mean": "mean alignment of the pairs",
        "se": "standard error over models (jackknife)",
        "se_pairs": "sd/√pairs, too small, since pairs share models",
        "reason": "why there is no mean or error",
        "slope": "slope of alignment over competence, pairs within a bin",
        "p": "p of the slope, competence permuted",
        "trend_reason": "why the trend is unknown or open",
        "groups": "groups of models",
        "basis": "what competence is",
        "q": "p adjusted for the kinds of pairs",
    }

    contenders: Contenders = part(Contenders)
    solving: Solving = part(Solving)
    binning: Binning = part(Binning)
    comparison: Comparison = part(Comparison)
    permutations: int = draws_option(999, least=1, help="permutations that test the trend")
    seed: int = seed_option("seed of the permutations")

    def complete(self, study: Study) -> Bins:
        check_pairing(study, self.comparison)
        models = contending(study, self.contenders)
        names = tuple(models.loc[reads(models, "image"), "model"])
        if not names:
            raise InputError("bins of competence need vision models; embed some, or name others")
        return replace(self, contenders=replace(self.contenders, names=names))

    def is_kept(self) -> bool:
        return False

    def answer(self, study: Study) -> Answer:
        names, binning = self.contenders.names, self.binning
        roster = Roster(names=names)
        pairs = ask(ModelPairs(self.scope, roster, self.comparison), study)
        solved = ask(TasksSolved(self.scope, self.solving), study)
        skill, group = skill_of(solved, names), known_kinds(study.models(), binning.by)
        placed = assign_bins(skill, count=binning.bins, equal=binning.equal)
        table = summarize_bins(bin_pairs(pairs, skill, group, placed), placed)
        trend = bin_trends(
            pairs,
            skill,
            group,
            count=binning.bins,
            equal=binning.equal,
            permutations=self.permutations,
            seed=self.seed,
        )
        opened = open_because(study.models(), placed.index)
        trend["reason"] = trend["reason"].mask(trend["reason"] == "", opened)
        trend["q"] = adjust(trend["p"].to_numpy(float))
        table = table.merge(trend.rename(columns={"reason": "trend_reason"}), on="pairs_of")
        table = table.assign(basis=basis_of(solved))
        return Answer(table, self._findings(table))

    def _findings(self, table: pd.DataFrame) -> list[Finding]:
        if table.empty:
            return [Finding("No model's competence was measured, so there are no bins")]
        kinds = pair_kinds(self.binning.by)
        return [
            Finding(
                f"Vision models with a higher {row['basis']} align more, {kinds[row['pairs_of']]}",
                # of a trend that is open for another reason than its test, no verdict is given
                row["slope"],
                p=np.nan if row["trend_reason"] else row["q"],
                name="slope",
                n=int(row["groups"]),
                over=GROUPS[self.binning.by],
                expected="+" if self.comparison.spec.higher_is_more_aligned else "-",
                reason=row["trend_reason"],
            )
            for row in table.drop_duplicates("pairs_of").to_dict("records")
        ]

    def plot(self, table: pd.DataFrame) -> Plot:
        basis = table["basis"].iloc[0] if len(table) else "competence"
        means = table.dropna(subset="mean").assign(
            middle=(table["low"] + table["high"]) / 2,
            bottom=table["mean"] - table["se"],
            top=table["mean"] + table["se"],
        )
        return Plot(
            "Alignment within bins of competence",
            marks=(
                Line("middle", "mean", color=Fixed("text")),
                Dots(
                    "middle",
                    "mean",
                    color=Fixed("text"),
                    symbol="diamond",
                    size=11,
                    low="bottom",
                    high="top",
                    left="low",
                    right="high",
                    label="{pairs:pair|pairs}",
                    side="top center",
                    card=(
                        "<b>{basis} {low:.0%} to {high:.0%}</b>",
                        "{models} models, {pairs:pair|pairs}",
                        "mean alignment {mean:.3f}[[ ± {se:.3f}]]",
                    ),
                ),
            ),
            x=Axis(str(basis), percent=True),
            y=Axis(self.comparison.label, zero=True),
            facet=Facet(
                "pairs_of",
                names=pair_kinds(self.binning.by),
                note="slope {slope:+.2f}, {p:p}",
            ),
            empty="No two models share a bin: choose fewer bins, or bins of equal size.",
            height=280,
            legend=False,
        ).over(means)


@dataclass(frozen=True)
class Downstream(StudyQuestion):
    """Does alignment predict what a model can do?"""

    command = "competence downstream"
    version = 4
    columns: ClassVar[Mapping[str, str]] = {
        "model": "model",
        "near": "alignment with the target",
        "chance": "alignment of unrelated models",
        "reason": "why there is no alignment",
        "title": "name of the model",
        "family": "its family",
        "group": "its family or objective",
        "modality": "its modality",
        "parameters": "its parameters",
        "value": "its score",
        "rank": "rank of its competence among those compared, 1 is the most competent",
        "line": "score that a line in alignment predicts",
        "stick": "score that a broken stick in alignment predicts",
        "task": "task of the score",
        "origin": "origin of the score",
        "unit": "unit of the score",
    }

    contenders: Contenders = part(Contenders)
    score: str = option(
        "",
        metavar="SCORE",
        help="what is predicted, a task and its origin: 'HellaSwag (published)'; the first of"
        " HellaSwag, GSM8K, completions and counting that the models have if none is named",
    )
    target: str = option(
        "",
        label="Target",
        metavar="M",
        help="the model, or reality, that models are aligned with (the vision model that solves"
        " most tasks)",
    )
    comparison: Comparison = part(Comparison)

    def complete(self, study: Study) -> Downstream:
        self.comparison.read_layers()
        choose_engine(study, self.comparison)
        names = tuple(contending(study, self.contenders)["model"])
        chosen = find_score(self.score, known_scores(registry(study), names))
        if not self.contenders.names:  # models of one kind are compared
            values = score_of(registry(study), chosen.task, origin=chosen.origin)
            kinds = study.models().set_index("model")["modality"][list(names)]
            most = kinds[kinds.index.isin(values.index)].mode()
            names = tuple(kinds.index[kinds.isin(most[:1])])
        target = self.target or usual_target(ask(TasksSolved(self.scope), study), study)
        study.entry(target)
        contenders = replace(self.contenders, names=names)
        return replace(self, contenders=contenders, score=chosen.name, target=target)

    def answer(self, study: Study) -> Answer:
        names, known = self.contenders.names, registry(study)
        score = find_score(self.score, known_scores(known, names))
        values = score_of(known, score.task, origin=score.origin)
        scored = [name for name in names if name in values.index and name != self.target]
        if not scored:
            raise InputError(f"only the target itself has the score {score.name!r}; choose another")
        near = align_models(study, scored, [self.target], self.comparison)
        points = near.rename(columns={"model_x": "model", "score": "near"})
        about = study.models().set_index("model")[list(DESCRIBED)]
        points = points[["model", "near", "chance", "reason"]].join(about, on="model")
        skill = skill_values(study.competence(), ask(TasksSolved(self.scope), study))
        skill = points["model"].map(skill).astype(float).where(points["near"].notna())
        points = points.assign(
            value=points["model"].map(values).astype(float),
            rank=rank_within(skill, points["modality"]),
            **score._asdict(),
        )
        x, y = points["near"].to_numpy(float), points["value"].to_numpy(float)
        fits = compare_fits(x, y)
        for name, fit in (("line", fits.iloc[0]), ("stick", fits.iloc[-1])):
            curve = Stick(fit["intercept"], fit["slope"], fit["bend"], fit["knot"])
            points[name] = np.nan if fit["reason"] else curve.at(x)
        table = points[list(self.columns)]
        return Answer(table, self._findings(table, fits))

    def _findings(self, table: pd.DataFrame, fits: pd.DataFrame) -> list[Finding]:
        low_aligned = not self.comparison.spec.higher_is_more_aligned
        turned = low_aligned != bool((table["unit"] == BITS).any())
        x, y = table["near"].to_numpy(float), table["value"].to_numpy(float)
        kin = [lines(table)[name] for name in table["model"]]
        size = np.log(table["parameters"].to_numpy(float))
        order = spearman_interval(x, y, kin, seed=0)
        partial = partial_correlation(x, y, kin, control=size)
        sign = "-" if turned else "+"
        opened = open_because(table, table["model"])
        return [
            _correlated("More aligned models score better", order, "ρ", sign, opened),
            _correlated(
                "More aligned models score better than their size predicts", partial, "r", sign, ""
            ),
            emergence(fits, low_aligned=low_aligned, turned=turned),
        ]

    def plot(self, table: pd.DataFrame) -> Plot:
        task, unit = table.loc[0, ["task", "unit"]] if len(table) else (self.score, "")
        name = task if not unit or unit in task else f"{task}, {unit}"
        lower = ", lower is better" if unit == BITS else ""
        return Plot(
            "Scores and alignment",
            marks=(
                Line("near", "line", color=Fixed("soft"), dash="dash", name="line"),
                Line("near", "stick", color=Fixed("ember"), name="broken stick"),
                Dots(
                    "near",
                    "value",
                    color=Scale("rank", "rank in competence", ticks={0: "least", 1: "most"}),
                    modality="modality",
                    size=Size("parameters"),
                    card=(
                        "<b>{title}</b> ({parameters:count})",
                        "alignment {near:.3f}[[, chance {chance:.3f}]]",
                        "score {value:.4g}[[, competence rank {rank:.0%}]]",
                    ),
                    ids="{model}",
                    select=("model",),
                ),
            ),
            x=Axis(f"{self.comparison.label} with {self.target}"),
            y=Axis(f"{name}{lower}"),
            levels=(Level("chance", along="x"),),
            empty="No model has both this score and an alignment with this target.",
            height=400,
        ).over(table)


@dataclass(frozen=True)
class Training(StudyQuestion):
    """Does alignment grow during training?"""

    command = "competence training"
    version = 3
    columns: ClassVar[Mapping[str, str]] = {
        "model": "checkpoint",
        "run": "its training",
        "step": "training steps",
        "modality": "its modality",
        "target": "what it is aligned with",
        "score": "alignment, mean over the target's models",
        "models": "models of the target",
        "title": "name of the checkpoint",
        "group": "its objective or family",
        "parameters": "its parameters",
    }

    comparison: Comparison = part(Comparison)

    def is_kept(self) -> bool:
        return False

    def answer(self, study: Study) -> Answer:
        pairs = ask(ModelPairs(self.scope, comparison=self.comparison), study)
        models = study.models()
        about = models.set_index("model")[["title", "group", "parameters"]]
        table = along_training(pairs, models).join(about, on="model")
        turned = not self.comparison.spec.higher_is_more_aligned
        return Answer(table, training_findings(table, turned=turned))

    def plot(self, table: pd.DataFrame) -> Plot:
        return Plot(
            "Alignment along training",
            marks=(
                Line("step", "score", by="run", color="group"),
                Dots(
                    "step",
                    "score",
                    color="group",
                    modality="modality",
                    size=8,
                    card=(
                        "<b>{title}</b> ({parameters:count})",
                        "after {step:step|steps}",
                        "alignment {score:.3f}, mean over {models}",
                    ),
                    ids="{model}",
                    select=("model",),
                ),
            ),
            x=Axis("training steps", log=True),
            y=Axis(self.comparison.label, zero=True),
            facet=Facet("target", head="<b>with {target}</b>", columns=2, share="x"),
            empty="No training has two checkpoints: embed several checkpoints of one training.",
            height=270,
        ).over(table)


def pair_kinds(by: Grouping) -> dict[str, str]:
    """Return what to call the pairs of models of each panel, by pairs_of."""
    return {"all": "all pairs", "same": f"both of one {by}", "different": f"across {GROUPS[by]}"}


def _correlated(claim: str, found: Correlation, name: str, sign: str, opened: str) -> Finding:
    """Return a correlation as a finding; opened: why no test is more than open, if so."""
    return Finding(
        claim,
        found.value,
        found.low,
        found.high,
        np.nan if opened else found.p,
        name=name,
        n=found.n,
        expected=sign,
        reason=opened or found.reason,
    )


def emergence(fits: pd.DataFrame, *, low_aligned: bool = False, turned: bool = False) -> Finding:
    """Return whether a broken stick predicts left-out models better than a line by more than a
    standard error, and bends into a steeper improvement beyond its knot.

    value: by how much the squared error is smaller; low, high: ± one standard error. low_aligned:
    low scores of the metric mean aligned. turned: more aligned models have lower values if they are
    better.
    """
    claim = "The score emerges at some alignment: a broken stick predicts it better than a line"
    line, stick = fits.iloc[0], fits.iloc[-1]
    if stick["reason"]:
        return Finding(claim, expected="+", reason=stick["reason"])
    left, right = stick["slope"], stick["slope"] + stick["bend"]
    early, late = (right, left) if low_aligned else (left, right)
    steeper = (-late if turned else late) > abs(early)
    gain, error = stick["gain"], stick["gain_se"]
    sure = steeper and gain > error
    return Finding(
        claim,
        gain,
        gain - error if sure else np.nan,
        gain + error if sure else np.nan,
        name="gain in squared error",
        digits=4,
        n=int(line["points"]),
        expected="+",
        note=(
            f"The knot is at an alignment of {stick['knot']:.3g}."
            if sure
            else f"One standard error is {error:.4f}"
            + (", and the stick does not bend upward." if gain > error else ".")
        ),
    )


def training_findings(table: pd.DataFrame, *, turned: bool = False) -> list[Finding]:
    """Return for each target in how many trainings the last checkpoint is more aligned than the
    first, of those whose first and last both have a score. turned: low scores mean aligned.
    """
    scores = table.pivot(index=["run", "step"], columns="target", values="score")
    ends = table.groupby("run")["step"].agg(["min", "max"]).query("min < max")
    first, last = (
        scores.reindex(list(zip(ends.index, ends[end], strict=True))).reset_index(drop=True)
        for end in ("min", "max")
    )
    both = (last - first).notna().sum()
    rising = (last < first if turned else last > first).sum()
    targets = sorted(dict.fromkeys(table["target"]), key=lambda target: target != REALITY)
    findings = [
        Finding(
            f"The last checkpoint is more aligned than the first with {target} in"
            f" {rising[target]} of {both[target]} trainings"
        )
        for target in targets
        if both[target]
    ]
    return findings or [Finding("No training has two checkpoints to compare")]


def contending(study: Study, contenders: Contenders) -> pd.DataFrame:
    """Return the models that are meant, in the store's order; reality is none, nor are brains and
    people.
    """
    for name in contenders.names:
        study.entry(name)
    models = study.models()
    models = models[~(is_reality(models) | is_measured(models))]
    if contenders.names:
        return models[models["model"].isin(contenders.names)]
    return without_variants(models) if contenders.unfinished else usual(models)


def skill_of(solved: pd.DataFrame, names: tuple[str, ...]) -> pd.Series:
    """Return the competence of each vision model by name, from rows of `TasksSolved`."""
    return solved.set_index("model")["solved"].astype(float).reindex(sorted(set(names)))


def find_score(name: str, offered: Sequence[TaskScore]) -> TaskScore:
    """Return the score of a name; with none, the first usual one, else that of most models.

    Raises InputError if none is offered, UnknownNameError for the name.
    """
    if not offered:
        raise InputError(
            "no score of these models is known; measure some with platoscope probe --task vtab, or"
            " import your own"
        )
    by_name = {score.name: score for score in offered}
    if name and name not in by_name:
        raise UnknownNameError("score", name, by_name)
    usual = [score for task in USUAL for score in offered if score.task == task]
    return by_name[name] if name else (*usual, *offered)[0]


def usual_target(tasks: pd.DataFrame, study: Study) -> str:
    """Return the model that scores are compared with if none is named: the vision model that
    solves most tasks, else the largest; raises InputError if there is none. tasks: `TasksSolved`.
    """
    solved = tasks.set_index("model")["solved"].astype(float).dropna()
    large = by_size(study, falling=True)
    seeing = large.loc[reads(large, "image"), "model"]
    targets = [*seeing, *study.readers("image"), *known_worlds(study)]
    if not targets:
        raise InputError("no vision model to align with; embed one, or name another target")
    return targets[0] if solved.empty else str(solved.idxmax())


def along_training(pairs: pd.DataFrame, models: pd.DataFrame) -> pd.DataFrame:
    """Return the alignment of every checkpoint, by training and step, with each target: its mean
    over the target's models.

    Targets: reality; the models of each modality that finished a training, other than the
    checkpoint's own; and the checkpoints of other trainings of the same modality after as many
    steps. Only trainings with two checkpoints or more are followed; pairs without a score are left
    out of the means, and a target without any is no row. pairs: model_x, model_y, score, each pair
    once. models: as `core.study.models.describe` gives them. Returns model, run, step, modality,
    target, score, models (that the mean is over), in order of modality, run, step and target.
    """
    steps = models.dropna(subset="step").drop_duplicates(["run", "step"])
    followed = steps[steps.groupby("run")["step"].transform("nunique") > 1].sort_values(
        ["modality", "run", "step"], kind="stable"
    )
    turned = pairs.rename(columns={"model_x": "model_y", "model_y": "model_x"})
    both = pd.concat([pairs, turned]).dropna(subset="score")
    of_model = {name: rows.set_index("model_y")["score"] for name, rows in both.groupby("model_x")}
    rows = []
    for checkpoint in followed.to_dict("records"):
        others = models[models["run"] != checkpoint["run"]]
        finished = usual(others)
        targets = {REALITY: others.loc[others["group"] == REALITY, "model"]}
        for one in map(find_modality, known_first(finished["modality"])):
            if not one.is_reality:
                trained = finished.loc[finished["modality"] == one.name, "model"]
                targets[f"trained {one.plural}"] = trained
        same = (followed["run"] != checkpoint["run"]) & (followed["step"] == checkpoint["step"])
        kin = followed["modality"] == checkpoint["modality"]
        targets[ABREAST] = followed.loc[same & kin, "model"]
        scores = of_model.get(checkpoint["model"], pd.Series(dtype=float))
        about = [checkpoint[name] for name in ("model", "run", "step", "modality")]
        for target, names in targets.items():
            aligned = scores[scores.index.isin(names)]
            if len(aligned):
                rows.append((*about, target, float(aligned.mean()), len(aligned)))
    return pd.DataFrame(rows, columns=list(FOLLOWED))
