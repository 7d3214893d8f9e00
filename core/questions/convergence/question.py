"""Do models converge as they get better, and why: levels, the claims of the hypothesis, fine-tuned
copies, and how similar two seeds of one recipe are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from jaxtyping import Float32

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
    Text,
)
from core.figures.texts import fill
from core.modalities import LANGUAGE, VISION, find_modality
from core.options import draws_option, models_option, option, part, seed_option
from core.questions.asking import ask
from core.questions.competence.question import TasksSolved
from core.questions.convergence.levels import (
    KINDS,
    SKILL_THIRDS,
    By,
    Material,
    kinds_to_show,
    measure_levels,
    put_on_levels,
    run_tests,
)
from core.questions.finding import ALPHA, Finding
from core.questions.models.pairs import ModelPairs, Roster
from core.questions.question import Answer, StudyQuestion
from core.statistics.intervals import t_test
from core.study.comparing import check_pairing
from core.study.layers import score_matrix
from core.study.models import skill_ranks
from core.study.noise import (
    align_replicates,
    ceiling_between,
    ceiling_of,
    replicated,
    summarize_replicates,
)
from core.study.parts import Comparison
from core.study.study import Study
from core.study.trainings import choose_names, describe_trainings

ALL = "all language models"
THIRDS = dict(zip(SKILL_THIRDS, ("weak", "middle", "strong"), strict=True))  # on axes
GRID = (  # columns of pairs between levels
    *("pairs_of", "one", "other", "mean", "adjusted", "recipes", "pairs"),
    *("contrast", "low", "high", "p", "reason"),
)
FEWEST = 3  # models and copies; of fewer no spread is known
ENDS = {  # modalities of the pairs that have a ceiling
    "vision": ("vision", "vision"),
    "language": ("language", "language"),
    "across": ("vision", "language"),
}
BETTER = {
    "competence": "More competent {}",
    "size": "Larger {}",
    "tasks": "{} trained on more tasks",
    "data": "{} trained on more data",
}
WHO = {
    "all": "models",
    "vision": "vision models",
    "language": "language models",
    "across": "vision and language models",
}


@dataclass(frozen=True)
class _Trainings(StudyQuestion):
    """A question about models that finished a training."""

    names: tuple[str, ...] = models_option("models (all finished ones of vision and language)")
    comparison: Comparison = part(Comparison)

    def usual(self, trainings: pd.DataFrame) -> pd.DataFrame:
        """Return the trainings that are meant if none is named."""
        return trainings[trainings["modality"].isin((VISION.name, LANGUAGE.name))]

    def complete(self, study: Study) -> _Trainings:
        check_pairing(study, self.comparison)
        trainings = describe_trainings(study)
        choose_names(self.names, list(trainings["model"]), "finished model")
        return replace(self, names=tuple(sorted(set(self.names or self.usual(trainings)["model"]))))

    def trainings(self, study: Study) -> pd.DataFrame:
        """Return the trainings that the question names."""
        trainings = describe_trainings(study)
        return trainings[trainings["model"].isin(self.names)].reset_index(drop=True)

    def gather(self, study: Study) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return the trainings that the question names, and all pairs of them."""
        trainings = self.trainings(study)
        roster = Roster(tuple(trainings["model"]))
        pairs = ask(ModelPairs(self.scope, roster, self.comparison), study)
        return trainings, pairs

    @property
    def sign(self) -> str:
        """Return the sign of a change toward more alignment."""
        return "+" if self.comparison.toward > 0 else "-"


@dataclass(frozen=True)
class _Tested(_Trainings):
    """A question whose trends are tested by exchanging trainings."""

    permutations: int = draws_option(999, least=1, help="permutations of whole recipes")
    seed: int = seed_option("seed of the permutations")

    def skill(self, study: Study) -> pd.Series:
        """Return each model's rank in competence among those of its modality."""
        solved = ask(TasksSolved(self.scope), study)
        return skill_ranks(study.models(), study.competence(), solved)


@dataclass(frozen=True)
class Levels(_Tested):
    """Do models converge as they get better?"""

    command = "convergence levels"
    version = 7
    columns: ClassVar[Mapping[str, str]] = {
        "pairs_of": "kind of pairs: all, vision, language, or across",
        "level": "level",
        "place": "its place, 0 the lowest",
        "one": "one level",
        "other": "another level",
        "trainings": "trainings on the level",
        "recipes": "recipes on the level",
        "pairs": "pairs on the level",
        "mean": "mean alignment of the pairs",
        "adjusted": "the mean with objectives and families held fixed",
        "contrast": "alignment on the lowest level minus that of the lowest with the highest",
        "low": "low end of the 95% interval over recipes (of the contrast, if there is one)",
        "high": "high end of that interval",
        "rise": "change from the lowest level to the highest, within objectives and families",
        "rise_low": "low end of its 95% interval",
        "rise_high": "high end of that interval",
        "p": "p of the change or contrast, levels permuted within objectives and families",
        "reason": "why there is no change or contrast",
        "ceiling": "alignment of two seeds of one recipe",
        "chance": "alignment of unrelated models",
    }

    by: By = option(
        "competence",
        label="Levels",
        help="what rises from level to level: thirds of competence, size, number of tasks, or"
        " amount of data",
    )
    between: bool = option(
        False,
        label="Between levels",
        help="also pairs of models on two levels: are strong models alike, and each weak one weak"
        " in its own way?",
    )

    def answer(self, study: Study) -> Answer:
        trainings, pairs = self.gather(study)
        skill = self.skill(study) if self.by == "competence" else pd.Series(dtype=float)
        leveled = put_on_levels(trainings, self.by, skill)
        parts = [
            measure_levels(
                leveled,
                pairs,
                kind,
                between=self.between,
                draws=self.permutations,
                seed=self.seed,
            )
            for kind in KINDS
        ]
        parts = [one for one in parts if len(one)]
        table = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["pairs_of"])
        if self.between:
            table = table.reindex(columns=list(GRID))
            return Answer(table, self._contrasts(table))
        seeds = ask(Replicates(self.scope, (), self.comparison), study)
        ceilings = {kind: ceiling_between(seeds, *ends) for kind, ends in ENDS.items()}
        table["ceiling"] = table["pairs_of"].map(ceilings).astype(float)
        table["chance"] = self.comparison.chance(study.size)
        columns = [name for name in self.columns if name not in ("one", "other", "contrast")]
        table = table.reindex(columns=columns)
        return Answer(table, self._rises(table))

    def _rises(self, table: pd.DataFrame) -> list[Finding]:
        """Return for each kind of pairs whether models converge as the level rises."""
        if table.empty:
            return [Finding(f"No two finished models are on one level of {self.by}")]
        recipes = table.groupby("pairs_of")["recipes"].sum()
        rows = table.drop_duplicates("pairs_of").to_dict("records")
        findings = []
        for row in rows:
            kind = row["pairs_of"]
            if kind not in kinds_to_show(table):
                continue
            who = BETTER[self.by].format(WHO[kind])
            findings.append(
                Finding(
                    f"{who[:1].upper()}{who[1:]} align more with each other",
                    row["rise"],
                    row["rise_low"],
                    row["rise_high"],
                    row["p"],
                    name="change",
                    digits=3,
                    n=int(recipes[kind]),
                    over="recipes",
                    expected=self.sign,
                    reason=row["reason"],
                )
            )
        return findings

    def _contrasts(self, table: pd.DataFrame) -> list[Finding]:
        """Return whether weak models are weak in their own way, over all pairs."""
        if table.empty:
            return [Finding(f"No two finished models have a {self.by}")]
        lead = table.iloc[0]  # of all pairs
        return [
            Finding(
                "Weak models align less with each other than with strong ones",
                lead["contrast"],
                lead["low"],
                lead["high"],
                lead["p"],
                name="difference",
                digits=3,
                expected="-" if self.comparison.toward > 0 else "+",
                reason=lead["reason"],
            )
        ]

    def plot(self, table: pd.DataFrame) -> Plot:
        names = {kind: KINDS[kind] for kind in kinds_to_show(table)}
        if "one" in table:
            return self._grid(table, names)
        levels = table.sort_values("place")["level"].unique()
        of_pairs = "{pairs:pair|pairs} of {trainings} models, of {recipes:recipe|recipes}"
        return Plot(
            "Alignment by level",
            marks=(
                Dots(
                    "level",
                    "mean",
                    color=Fixed("soft"),
                    hollow=True,
                    size=9,
                    name="raw mean",
                    card=("<b>{level}</b>", "raw mean {mean:.3f}"),
                    ids=of_pairs,
                ),
                Line("level", "adjusted", color=Fixed("text")),
                Dots(
                    "level",
                    "adjusted",
                    color=Fixed("text"),
                    symbol="diamond",
                    size=10,
                    low="low",
                    high="high",
                    name="adjusted mean, 95% CI",
                    card=(
                        "<b>{level}</b>",
                        "adjusted mean {adjusted:.3f}[[ [{low:.3f}, {high:.3f}]]]",
                    ),
                    ids=of_pairs,
                ),
            ),
            x=Axis("", names={name: THIRDS.get(name, name) for name in levels}),
            y=Axis(self.comparison.label, zero=True),
            facet=Facet("pairs_of", names=names, note="{rise:+.3f}, {p:p}", share=""),
            levels=(Level("chance"), Level("ceiling", "ceiling", "ceiling: two seeds")),
            empty="No two finished models are on one level: choose other levels.",
            height=330,
        ).over(table)

    def _grid(self, table: pd.DataFrame, names: Mapping[Any, str]) -> Plot:
        turned = table.rename(columns={"one": "other", "other": "one"})
        both = pd.concat([table, turned[turned["one"] != turned["other"]]], ignore_index=True)
        ends = dict.fromkeys([*table["one"], *table["other"]])
        axis = Axis("", names={name: THIRDS.get(name, name) for name in ends})
        return Plot(
            "Alignment between levels",
            marks=(
                Heat(
                    "one",
                    "other",
                    z=Scale("adjusted", bar=False),
                    label="{adjusted:.3f}",
                    card=("{one} × {other}", "adjusted mean {adjusted:.3f}, raw mean {mean:.3f}"),
                    ids="{pairs} pairs of {recipes} recipes",
                ),
            ),
            x=axis,
            y=axis,
            facet=Facet("pairs_of", names=names, note="weak {contrast:+.3f}, {p:p}"),
            empty="No two finished models have a competence: measure some.",
            height=250,
        ).over(both)


@dataclass(frozen=True)
class Summary(_Tested):
    """Which predictions of the hypothesis hold?

    Each claim is decided by one test that was fixed before any was run; q is its p adjusted over
    all claims.
    """

    command = "convergence summary"
    version = 7
    columns: ClassVar[Mapping[str, str]] = {
        "hypothesis": "hypothesis",
        "claim": "claim of the hypothesis",
        "unit": "what is compared",
        "value": "change of alignment, positive as predicted",
        "low": "low end of its 95% interval",
        "high": "high end of that interval",
        "p": "p, trainings permuted within lines",
        "q": "p adjusted over all claims",
        "n": "recipes that it rests on",
        "pairs": "pairs",
        "verdict": "supported, contradicted, open or unknown, by q",
        "reason": "why there is no test",
    }

    def answer(self, study: Study) -> Answer:
        trainings, pairs = self.gather(study)

        def last_layer(model: str) -> Float32[np.ndarray, "n d"]:
            return study.spaces(model)[-1]

        skill, draws, toward = self.skill(study), self.permutations, self.comparison.toward
        of = Material(last_layer, trainings, pairs, skill, draws, self.seed, toward)
        table = run_tests(of)
        findings = judge(table)
        table.insert(table.columns.get_loc("reason"), "verdict", [one.verdict for one in findings])
        return Answer(table, [Finding(tally(findings)), *findings])

    def plot(self, table: pd.DataFrame) -> Plot:
        colors = {
            "supported": "ember",
            "contradicted": "text",
            "open": "chance",
            "unknown": "chance",
        }
        said = table["verdict"].where(table["verdict"] != "unknown", "")
        untested = table[table["value"].isna()].assign(value=0.0)
        return Plot(
            "Evidence for the hypothesis",
            marks=(
                Dots(
                    "value",
                    "claim",
                    color=Palette("verdict", colors),
                    symbol="square",
                    size=10,
                    left="low",
                    right="high",
                    card=(
                        "{claim}: {verdict}",
                        "{value:+.3g} [{low:+.3g}, {high:+.3g}], {unit}",
                        "{p:p}, {q:p:q} over all",
                    ),
                    ids="{n} recipes",
                ),
                Text("value", "claim", " not testable here", table=untested, side="middle right"),
            ),
            x=Axis(bare=True, range=(-1.0, 1.0))
            if len(untested) == len(table)
            else Axis("change (right of 0: as predicted)", signed=True),
            y=Axis(
                "",
                names={
                    row["claim"]: fill("{claim}[[: {said}]][[, {q:p:q}]]", row)
                    for row in table.assign(said=said).to_dict("records")
                },
            ),
            levels=(Level(0, "zero", along="x"),),
            legend=False,
            empty="No claim can be tested with these models: embed models of two sizes.",
            row=46,
        ).over(table)


def judge(table: pd.DataFrame) -> list[Finding]:
    """Return a finding for each test of `run_tests`, judged by q."""
    return [
        Finding(
            row["claim"],
            row["value"],
            row["low"],
            row["high"],
            row["q"],
            name=row["unit"],
            digits=3,
            n=int(row["n"]),
            over="recipes",
            expected="+",
            reason=row["reason"],
        )
        for row in table.to_dict("records")
    ]


def tally(findings: Sequence[Finding]) -> str:
    """Return how many claims are supported, contradicted, open and not testable."""
    verdicts = [one.verdict for one in findings if one.verdict]
    counts = {name: verdicts.count(name) for name in ("supported", "contradicted", "open")}
    said = ", ".join(f"{count} {name}" for name, count in counts.items())
    rest = verdicts.count("unknown")
    more = f", {rest} not testable here" if rest else ""
    alpha = f"{ALPHA:g}".removeprefix("0")
    return f"Of {len(verdicts)} predictions: {said}{more} (q < {alpha})"


@dataclass(frozen=True)
class Replicates(_Trainings):
    """How similar are two trainings of one recipe?"""

    command = "convergence ceiling"
    version = 3
    listed = False  # the ceiling is a column of convergence levels, align and modalities

    def usual(self, trainings: pd.DataFrame) -> pd.DataFrame:
        return replicated(trainings)

    def is_kept(self) -> bool:
        return bool(self.names)

    def answer(self, study: Study) -> Answer:
        trainings = self.trainings(study)
        pairs = align_replicates(study, trainings, self.comparison)
        table = summarize_replicates(trainings, pairs)
        return Answer(
            table,
            [
                Finding(
                    f"Alignment of two {modality} trainings that differ only in their seed",
                    ceiling_of(table, str(modality)),
                    digits=3,
                    n=len(rows),
                    over="recipes",
                )
                for modality, rows in table.groupby("modality", sort=False)
            ],
        )


@dataclass(frozen=True)
class FineTuned(_Trainings):
    """Does fine-tuning reduce alignment?"""

    command = "convergence fine-tuned"
    version = 5
    columns: ClassVar[Mapping[str, str]] = {
        "copies": "fine-tuned copies",
        "with": "language recipe, or all language models",
        "pairs": "pairs of model and copy",
        "before": "mean alignment of the models",
        "after": "mean alignment of their copies",
        "change": "mean over models of after − before",
        "low": "low end of its 95% interval (Student's t over pairs of model and copy)",
        "high": "high end of that interval",
        "p": "p of the change",
        "reason": "why there is no test",
    }

    def answer(self, study: Study) -> Answer:
        table = compare_copies(*self.gather(study))
        return Answer(table, self._findings(table))

    def _findings(self, table: pd.DataFrame) -> list[Finding]:
        return [
            Finding(
                f"{row['copies']}: fine-tuning lowers alignment with language",
                row["change"],
                row["low"],
                row["high"],
                row["p"],
                name="change",
                digits=3,
                n=int(row["pairs"]),
                over="pairs of model and copy",
                expected="-" if self.comparison.toward > 0 else "+",
                reason=row["reason"],
            )
            for row in table[table["with"] == ALL].to_dict("records")
        ]

    def plot(self, table: pd.DataFrame) -> Plot:
        kinds = list(dict.fromkeys(table["copies"]))
        colors = dict(zip(kinds, ("ember", "text", "soft", "chance") * len(kinds), strict=False))
        return Plot(
            "Alignment with language after fine-tuning",
            marks=(
                Dots(
                    "change",
                    "with",
                    color=Palette("copies", colors),
                    left="low",
                    right="high",
                    dodge=0.2,
                    card=(
                        "<b>{copies}</b> with {with}",
                        "{before:.3f} before, {after:.3f} after",
                        "change {change:+.3f}[[ [{low:+.3f}, {high:+.3f}], {p:p}]]",
                    ),
                    ids="{pairs} pairs of model and copy",
                ),
            ),
            x=Axis("change of alignment", signed=True),
            y=Axis("", names=tuple(dict.fromkeys(table["with"]))),
            levels=(Level(0, "zero", along="x"),),
            empty="No vision model here was fine-tuned from another.",
            row=30,
        ).over(table)


def compare_copies(trainings: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """Return how alignment with language changes as vision models are fine-tuned: the rows of
    `FineTuned`, one per line of copies and usual language recipe, and one over all of these. The
    interval and p are of a t-test over the pairs of model and copy.
    """
    names = list(trainings["model"])
    reads = trainings["modality"].map(lambda name: find_modality(name).reads)
    language = trainings[(reads == "caption") & (trainings["varies"] == "")]
    copies = trainings[(reads == "image") & trainings["start"].isin(names)]
    scores = pd.DataFrame(score_matrix(pairs, names), index=names, columns=names)
    recipes = (rows for _, rows in language.groupby("recipe"))
    readers = {ALL: language["model"], **{one["title"].iloc[0]: one["model"] for one in recipes}}
    rows = []
    for line, of_line in copies.groupby("line", sort=False) if len(language) else ():
        for title, models in readers.items():
            ends = [scores.loc[of_line[end], models].mean(axis=1) for end in ("start", "model")]
            before, after = np.stack([end.to_numpy(float) for end in ends])[
                :, np.isfinite(ends).all(axis=0)
            ]
            means = (before.mean(), after.mean()) if len(before) else (np.nan, np.nan)
            test = _test_change(after - before)
            rows.append((line, title, len(before), *means, *test))
    return pd.DataFrame(rows, columns=list(FineTuned.columns))


def _test_change(change: np.ndarray) -> tuple[float, float, float, float, str]:
    """Return the mean of changes, its 95% interval and p by a t-test, or why there are none."""
    mean = float(change.mean()) if len(change) else np.nan
    if len(change) < FEWEST:
        why = f"needs {FEWEST} pairs of model and copy; {len(change)} loaded"
        return mean, np.nan, np.nan, np.nan, why
    if np.ptp(change) == 0:
        why = "all pairs of model and copy change alike, so their spread is unknown"
        return mean, np.nan, np.nan, np.nan, why
    return *t_test(change), ""
