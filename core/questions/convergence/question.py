"""Do models converge as they get better, and why: levels, the claims of the hypothesis, fine-tuned
copies, and how similar two seeds of one recipe are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from jaxtyping import Float32
from scipy.stats import ttest_1samp

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
from core.modalities import LANGUAGE, VISION, find_modality
from core.options import draws_option, option, part, seed_option
from core.progress import Progress
from core.questions.asking import ask
from core.questions.competence.question import TasksSolved
from core.questions.convergence.hypotheses import Material, run_tests
from core.questions.convergence.levels import (
    KINDS,
    SKILL_THIRDS,
    By,
    arrange,
    compare_levels,
    kinds_to_show,
    put_on_levels,
)
from core.questions.finding import ALPHA, Finding
from core.questions.models.pairs import ModelPairs, Roster
from core.questions.question import Answer, StudyQuestion
from core.statistics.trends import level_means, level_trend
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
SIMILAR = " are more similar"  # what most claims say
THIRDS = dict(zip(SKILL_THIRDS, ("weak", "middle", "strong"), strict=True))  # on axes
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

    names: tuple[str, ...] = option(
        (),
        name="models",
        label="Models",
        metavar="M",
        help="models (all finished ones of vision and language)",
    )
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

    def gather(self, study: Study, report: Progress | None) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return the trainings that the question names, and all pairs of them."""
        trainings = self.trainings(study)
        roster = Roster(tuple(trainings["model"]))
        pairs = ask(ModelPairs(self.scope, roster, self.comparison), study, report)
        return trainings, pairs

    @property
    def sign(self) -> str:
        """Return the sign of a change toward more alignment."""
        return "+" if self.comparison.toward > 0 else "-"


@dataclass(frozen=True)
class _Tested(_Trainings):
    """A question whose trends are tested by exchanging trainings."""

    permutations: int = draws_option(999, least=1, help="times that whole recipes are exchanged")
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
        "p": "p of the change or contrast, levels exchanged within objectives and families",
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

    def answer(self, study: Study, report: Progress | None) -> Answer:
        trainings, pairs = self.gather(study, report)
        skill = self.skill(study) if self.by == "competence" else pd.Series(dtype=float)
        leveled = put_on_levels(trainings, self.by, skill)
        if self.between:
            table = compare_levels(leveled, pairs, draws=self.permutations, seed=self.seed)
            return Answer(table, self._contrasts(table))
        seeds = ask(Replicates(self.scope, (), self.comparison), study, report)
        rows = []
        for kind in KINDS:
            arranged = arrange(leveled, pairs, kind)
            trend = level_trend(arranged, draws=self.permutations, seed=self.seed)
            about = {
                "rise": trend.rise,
                "rise_low": trend.low,
                "rise_high": trend.high,
                "p": trend.p,
                "reason": trend.reason,
                "ceiling": ceiling_between(seeds, *ENDS[kind]) if kind in ENDS else np.nan,
                "chance": self.comparison.chance(study.size),
            }
            for mean in level_means(arranged):
                place = round(mean.level * (len(leveled.names) - 1))
                on = {"pairs_of": kind, "level": leveled.names[place], "place": place}
                rows.append(asdict(mean) | on | about)
        columns = [name for name in self.columns if name not in ("one", "other", "contrast")]
        table = pd.DataFrame(rows, columns=columns)
        return Answer(table, self._rises(table))

    def _rises(self, table: pd.DataFrame) -> list[Finding]:
        """Return for each kind of pairs whether models converge as the level rises. The test
        exchanges levels within each objective or family, so it says nothing of differences between
        these.
        """
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
    all that decide. The other tests add context and decide nothing.
    """

    command = "convergence summary"
    version = 6
    columns: ClassVar[Mapping[str, str]] = {
        "hypothesis": "hypothesis",
        "claim": "claim of the hypothesis",
        "unit": "what is compared",
        "decides": "whether this test decides the claim",
        "value": "change of alignment, positive as predicted",
        "low": "low end of its 95% interval",
        "high": "high end of that interval",
        "p": "p, trainings exchanged within lines",
        "q": "p adjusted over the tests that decide",
        "n": "recipes that it rests on",
        "pairs": "pairs",
        "verdict": "supported, contradicted, open or unknown, by q if the test decides, else by p",
        "reason": "why there is no test",
    }

    def answer(self, study: Study, report: Progress | None) -> Answer:
        trainings, pairs = self.gather(study, report)

        def last_layer(model: str) -> Float32[np.ndarray, "n d"]:
            return study.spaces(model)[-1]

        skill, draws, toward = self.skill(study), self.permutations, self.comparison.toward
        of = Material(last_layer, trainings, pairs, skill, draws, self.seed, toward)
        table = run_tests(of)
        findings = judge(table)
        table.insert(table.columns.get_loc("reason"), "verdict", [one.verdict for one in findings])
        decided = [one for one, row in zip(findings, table["decides"], strict=True) if row]
        return Answer(table, [Finding(tally(decided)), *decided])

    def plot(self, table: pd.DataFrame) -> Plot:
        colors = {
            "supported": "ember",
            "contradicted": "text",
            "open": "chance",
            "unknown": "chance",
        }
        named = table[table["decides"].astype(bool)]
        untested = named[named["value"].isna()].assign(value=0.0)
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
                    label="{q:p:q}",
                    side="top center",
                    card=(
                        "{claim}: {verdict}",
                        "{value:+.3g} [{low:+.3g}, {high:+.3g}], {unit}",
                        "{p:p}, {q:p:q} over all",
                    ),
                    ids="{n} recipes",
                ),
                Text("value", "claim", " not tested", table=untested, side="middle right"),
            ),
            x=Axis("change (right of 0: as predicted)", signed=True),
            y=Axis("", names={name: name.removesuffix(SIMILAR) for name in named["claim"]}),
            levels=(Level(0, "zero", along="x"),),
            empty="No claim can be tested with these models: embed models of two sizes.",
            row=46,
        ).over(named)


def judge(table: pd.DataFrame) -> list[Finding]:
    """Return a finding for each test of `run_tests`, judged by q if it decides, else by p."""
    return [
        Finding(
            row["claim"],
            row["value"],
            row["low"],
            row["high"],
            row["q"] if row["decides"] else row["p"],
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

    def answer(self, study: Study, report: Progress | None) -> Answer:
        trainings = self.trainings(study)
        pairs = align_replicates(study, trainings, self.comparison, report)
        table = summarize_replicates(trainings, pairs)
        return Answer(
            table,
            [
                Finding(
                    f"Two {modality} trainings that differ only in their seed reach",
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
    version = 4
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

    def answer(self, study: Study, report: Progress | None) -> Answer:
        table = compare_copies(*self.gather(study, report))
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
    `FineTuned`.

    A row per line of copies and usual language recipe, and one with the mean over all of these.
    before, after: mean alignment of the models and of their copies. change: mean over models of
    after − before, with the interval and p of a t-test over the pairs of model and copy, which are
    trainings of several sizes and seeds. reason: why these are NaN.
    """
    names = list(trainings["model"])
    reads = trainings["modality"].map(lambda name: find_modality(name).reads)
    language = trainings[(reads == "caption") & (trainings["varies"] == "")]
    copies = trainings[(reads == "image") & trainings["start"].isin(names)]
    if copies.empty or language.empty:
        return pd.DataFrame(columns=list(FineTuned.columns))
    scores = pd.DataFrame(score_matrix(pairs, names), index=names, columns=names)
    rows = [
        row
        for line, of_line in copies.groupby("line", sort=False)
        for row in _copied(str(line), of_line, language, scores)
    ]
    return pd.DataFrame(rows, columns=list(FineTuned.columns))


def _copied(
    line: str, copies: pd.DataFrame, language: pd.DataFrame, scores: pd.DataFrame
) -> Iterator[dict[str, Any]]:
    readers = {ALL: language["model"], **dict(iter(language.groupby("recipe")["model"]))}
    for title, models in readers.items():
        before = scores.loc[copies["start"], models].mean(axis=1).to_numpy(float)
        after = scores.loc[copies["model"], models].mean(axis=1).to_numpy(float)
        whole = np.isfinite(before) & np.isfinite(after)
        before, after = before[whole], after[whole]
        change, known = after - before, bool(whole.any())
        row = {
            "copies": line,
            "with": title,
            "pairs": len(change),
            "before": before.mean() if known else np.nan,
            "after": after.mean() if known else np.nan,
            "change": change.mean() if known else np.nan,
            **dict.fromkeys(("low", "high", "p"), np.nan),
            "reason": "",
        }
        if len(change) < FEWEST:
            row["reason"] = f"needs {FEWEST} pairs of model and copy; {len(change)} loaded"
        elif np.ptp(change) == 0:
            row["reason"] = "all pairs of model and copy change alike, so their spread is unknown"
        else:
            test = ttest_1samp(change, 0)
            low, high = test.confidence_interval()
            row |= {"low": low, "high": high, "p": test.pvalue}
        yield row
