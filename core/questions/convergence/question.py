"""Do models converge as they get better, and why: levels, thirds, hypotheses, ceilings, fine-tuned
copies, and the six claims of the hypothesis.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from jaxtyping import Float32, Float64
from scipy.stats import t

from core.figures.grammar import Axis, Dots, Facet, Fixed, Heat, Level, Line, Palette, Plot, Scale
from core.modalities import LANGUAGE, VISION, find_modality
from core.options import draws_option, option, part, seed_option
from core.progress import Progress
from core.questions.asking import ask
from core.questions.competence.question import TasksSolved
from core.questions.convergence.hypotheses import DATA, Material, test_all
from core.questions.convergence.levels import (
    KINDS,
    SKILL_THIRDS,
    THIRDS,
    By,
    arrange,
    compare_thirds,
    kinds_to_show,
    put_on_levels,
)
from core.questions.finding import ALPHA, Finding
from core.questions.models.pairs import ModelPairs, Roster
from core.questions.question import Answer, StudyQuestion
from core.statistics.nulls import adjust
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
FEWEST = 3  # models and copies; of fewer no spread is known
LEVEL = 0.95
ENDS = {  # modalities of the pairs that have a ceiling
    "vision": ("vision", "vision"),
    "language": ("language", "language"),
    "across": ("vision", "language"),
}
BETTER = {
    "competence": "more competent {}",
    "size": "larger {}",
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

    def complete(self, study: Study) -> _Trainings:
        check_pairing(study, self.comparison)
        choose_names(self.names, list(describe_trainings(study)["model"]), "finished model")
        return replace(self, names=tuple(sorted(set(self.names or _usual(study)))))

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


@dataclass(frozen=True)
class _Tested(_Trainings):
    """A question whose trends are tested by exchanging trainings."""

    permutations: int = draws_option(999, least=1, help="times that whole recipes are exchanged")
    seed: int = seed_option("seed of the permutations")

    @property
    def sign(self) -> str:
        """Return the sign of a change toward more alignment."""
        return "+" if self.comparison.toward > 0 else "-"

    def skill(self, study: Study) -> pd.Series:
        """Return each model's rank in competence among those of its modality."""
        solved = ask(TasksSolved(self.scope), study)
        return skill_ranks(study.models(), study.competence(), solved)


@dataclass(frozen=True)
class Levels(_Tested):
    """Do models converge as they get better?"""

    command = "convergence levels"
    version = 6
    columns: ClassVar[Mapping[str, str]] = {
        "pairs_of": "kind of pairs: all, vision, language, or across",
        "level": "level",
        "place": "its place, 0 the lowest",
        "trainings": "trainings on the level",
        "recipes": "recipes on the level",
        "pairs": "pairs on the level",
        "mean": "mean alignment of the pairs",
        "adjusted": "the mean with objectives and families held fixed",
        "low": "low end of its 95% interval over recipes",
        "high": "high end of that interval",
        "rise": "change from the lowest level to the highest, within objectives and families",
        "rise_low": "low end of its 95% interval",
        "rise_high": "high end of that interval",
        "p": "p of the change, levels exchanged within objectives and families",
        "reason": "why there is no change",
        "ceiling": "alignment of two seeds of one recipe",
        "chance": "alignment of unrelated models",
    }

    by: By = option(
        "competence",
        label="Levels of",
        help="what rises from level to level: thirds of competence, size, number of tasks, or"
        " amount of data",
    )

    def answer(self, study: Study, report: Progress | None) -> Answer:
        trainings, pairs = self.gather(study, report)
        skill = self.skill(study) if self.by == "competence" else pd.Series(dtype=float)
        leveled = put_on_levels(trainings, self.by, skill)
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
                numbers = {name: value for name, value in asdict(mean).items() if name != "level"}
                on = {"pairs_of": kind, "level": leveled.names[place], "place": place}
                rows.append(on | numbers | about)
        table = pd.DataFrame(rows, columns=list(self.columns))
        return Answer(table, self._findings(table))

    def _findings(self, table: pd.DataFrame) -> list[Finding]:
        """Return for each kind of pairs whether models converge as the level rises. The test
        exchanges levels within each objective or family, so it says nothing of differences between
        kinds.
        """
        if table.empty:
            return [Finding(f"No two finished models lie on one level of {self.by}")]
        shown = kinds_to_show(table)
        recipes = table.groupby("pairs_of")["recipes"].sum()
        rows = table.drop_duplicates("pairs_of").to_dict("records")
        return [
            Finding(
                f"{BETTER[self.by].format(WHO[row['pairs_of']])} agree more with each other",
                row["rise"],
                row["rise_low"],
                row["rise_high"],
                row["p"],
                name="change",
                digits=3,
                n=int(recipes[row["pairs_of"]]),
                over="recipes",
                expected=self.sign,
                reason=row["reason"],
            )
            for row in rows
            if row["pairs_of"] in shown
        ]

    def plot(self, table: pd.DataFrame) -> Plot:
        names = {kind: KINDS[kind] for kind in kinds_to_show(table)}
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
                    name="raw mean of the pairs",
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
                    name="adjusted mean, 95% interval",
                    card=(
                        "<b>{level}</b>",
                        "adjusted mean {adjusted:.3f}[[ [{low:.3f}, {high:.3f}]]]",
                    ),
                    ids=of_pairs,
                ),
            ),
            x=Axis("", names=tuple(table.sort_values("place")["level"].unique())),
            y=Axis(self.comparison.label, zero=True),
            facet=Facet(
                "pairs_of", names=names, note="change {rise:+.3f}, {p:p} || {reason:wrap}", share=""
            ),
            levels=(
                Level("chance"),
                Level("ceiling", "ceiling", "ceiling: two seeds of one recipe"),
            ),
            empty="No two finished models lie on one level: choose other levels.",
            height=300,
        ).over(table)


@dataclass(frozen=True)
class AnnaKarenina(_Tested):
    """Are all strong models alike, and is each weak one weak in its own way?"""

    command = "convergence anna-karenina"
    version = 5
    columns: ClassVar[Mapping[str, str]] = dict(
        zip(
            THIRDS,
            (
                "kind of pairs: all, vision, language, or across",
                "one third of competence",
                "another third",
                "mean alignment of their pairs",
                "the mean with objectives and families held fixed",
                "recipes",
                "pairs",
                "alignment among weak models minus that of weak with strong ones",
                "low end of its 95% interval",
                "high end of that interval",
                "p of the difference, thirds exchanged within objectives and families",
                "why there is no difference",
            ),
            strict=True,
        )
    )

    def answer(self, study: Study, report: Progress | None) -> Answer:
        trainings, pairs = self.gather(study, report)
        leveled = put_on_levels(trainings, "competence", self.skill(study))
        table = compare_thirds(leveled, pairs, draws=self.permutations, seed=self.seed)
        return Answer(table, self._findings(table))

    def _findings(self, table: pd.DataFrame) -> list[Finding]:
        if table.empty:
            return [Finding("No two finished models have a competence")]
        rows = table.drop_duplicates("pairs_of").to_dict("records")
        lead = next((row for row in rows if row["pairs_of"] == "all"), rows[0])
        places = {
            "strongest third": (SKILL_THIRDS[-1], SKILL_THIRDS[-1]),
            "weakest third": (SKILL_THIRDS[0], SKILL_THIRDS[0]),
            "weakest with the strongest": (SKILL_THIRDS[0], SKILL_THIRDS[-1]),
        }
        means = table[table["pairs_of"] == lead["pairs_of"]].set_index(["one", "other"])["adjusted"]
        return [
            Finding(
                "Weak models agree less with each other than with strong ones",
                lead["contrast"],
                lead["low"],
                lead["high"],
                lead["p"],
                name="difference",
                digits=3,
                expected="-" if self.comparison.toward > 0 else "+",
                reason=lead["reason"],
            ),
            *(
                Finding(f"Adjusted mean alignment, {text}", means.get(place, np.nan), digits=3)
                for text, place in places.items()
            ),
        ]

    def plot(self, table: pd.DataFrame) -> Plot:
        names = {kind: KINDS[kind] for kind in kinds_to_show(table)}
        turned = table.rename(columns={"one": "other", "other": "one"})
        both = pd.concat([table, turned[turned["one"] != turned["other"]]], ignore_index=True)
        axis = Axis("", names=SKILL_THIRDS)
        return Plot(
            "Alignment of thirds of competence",
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
            facet=Facet(
                "pairs_of", names=names, note="weak {contrast:+.3f}, {p:p} || {reason:wrap}"
            ),
            empty="No two finished models have a competence: measure some.",
            height=250,
        ).over(both)


@dataclass(frozen=True)
class Hypotheses(_Tested):
    """Why do models converge: many tasks, capacity or simplicity?

    Each hypothesis is judged by one test that was fixed before any was run; q is its p adjusted for
    all that decide. The other tests add context and decide nothing.
    """

    command = "convergence hypotheses"
    version = 5
    columns: ClassVar[Mapping[str, str]] = {
        "hypothesis": "hypothesis",
        "measured": "what is measured",
        "decides": "whether this test decides",
        "predicted": "predicted sign",
        "value": "change",
        "low": "low end of its 95% interval",
        "high": "high end of that interval",
        "p": "p, trainings exchanged within lines",
        "q": "p adjusted for the tests that decide",
        "recipes": "recipes",
        "pairs": "pairs",
        "verdict": "supported, contradicted, not shown or not tested",
        "reason": "why there is no test",
    }

    def answer(self, study: Study, report: Progress | None) -> Answer:
        trainings, pairs = self.gather(study, report)

        def last_layer(model: str) -> Float32[np.ndarray, "n d"]:
            return study.spaces(model)[-1]

        draws, toward = self.permutations, self.comparison.toward
        table = test_all(Material(last_layer, trainings, pairs, draws, self.seed, toward))
        return Answer(table, hypothesis_findings(table))


@dataclass(frozen=True)
class Replicates(_Trainings):
    """How alike are two trainings of one recipe?"""

    command = "convergence ceiling"
    version = 3
    columns: ClassVar[Mapping[str, str]] = {
        "recipe": "recipe",
        "title": "its name",
        "modality": "its modality",
        "size": "its size",
        "seeds": "seeds of it",
        "pairs": "pairs of seeds",
        "mean": "mean alignment of two seeds",
        "min": "least alignment",
        "max": "greatest alignment",
    }

    names: tuple[str, ...] = option(
        (),
        name="models",
        label="Models",
        metavar="M",
        help="models (all finished ones of recipes with several seeds)",
    )

    def complete(self, study: Study) -> Replicates:
        check_pairing(study, self.comparison)
        trainings = describe_trainings(study)
        choose_names(self.names, list(trainings["model"]), "finished model")
        return replace(self, names=tuple(sorted(set(self.names or replicated(trainings)["model"]))))

    def is_kept(self) -> bool:
        return bool(self.names)

    def answer(self, study: Study, report: Progress | None) -> Answer:
        trainings = self.trainings(study)
        pairs = align_replicates(study, trainings, self.comparison, report)
        table = summarize_replicates(trainings, pairs)
        return Answer(table, replicate_findings(table))


@dataclass(frozen=True)
class FineTuned(_Trainings):
    """Does fine-tuning for a narrower question cost alignment?"""

    command = "convergence fine-tuned"
    version = 3
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
        card = (
            "<b>{copies}</b> with {with}",
            "{before:.3f} before, {after:.3f} after",
            "change {change:+.3f}[[ [{low:+.3f}, {high:+.3f}], {p:p}]]",
        )
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
                    card=card,
                    ids="{pairs} pairs of model and copy",
                ),
            ),
            x=Axis("change of alignment", signed=True),
            y=Axis("", names=tuple(dict.fromkeys(table["with"]))),
            levels=(Level(0, "zero", along="x"),),
            empty="No vision model here was fine-tuned from another.",
            row=36,
        ).over(table)


@dataclass(frozen=True)
class Summary(_Tested):
    """What speaks for the hypothesis, and what against it?

    Six claims of the hypothesis, named in advance, each with the test that decides it. value: a
    change of alignment, positive as the hypothesis predicts.
    """

    command = "convergence summary"
    version = 5
    columns: ClassVar[Mapping[str, str]] = {
        "claim": "claim of the hypothesis",
        "unit": "what is compared",
        "value": "change of alignment, positive as predicted",
        "low": "low end of its 95% interval",
        "high": "high end of that interval",
        "p": "p of the change",
        "q": "p adjusted over the claims",
        "n": "recipes that it rests on",
        "verdict": "supported, contradicted, open or unknown (q < .05)",
        "reason": "why there is no test",
    }

    def answer(self, study: Study, report: Progress | None) -> Answer:
        about = (self.scope, self.names, self.comparison, self.permutations, self.seed)
        competence = ask(Levels(*about, by="competence"), study, report)
        hypotheses = ask(Hypotheses(*about), study, report)
        thirds = ask(AnnaKarenina(*about), study, report)
        table = weigh(competence, hypotheses, thirds, self.comparison.toward)
        findings = [
            Finding(
                row["claim"],
                row["value"],
                row["low"],
                row["high"],
                row["q"],
                name=f"change, {row['unit']}",
                digits=3,
                n=int(row["n"]),
                over="recipes",
                expected="+",
                reason=row["reason"],
            )
            for row in table.to_dict("records")
        ]
        return Answer(table.assign(verdict=[one.verdict for one in findings]), findings)

    def plot(self, table: pd.DataFrame) -> Plot:
        colors = {
            "supported": "ember",
            "contradicted": "text",
            "open": "chance",
            "unknown": "chance",
        }
        named = table.assign(name=table["claim"] + ": " + table["unit"])
        return Plot(
            "Evidence for the hypothesis",
            marks=(
                Dots(
                    "value",
                    "name",
                    color=Palette("verdict", colors),
                    symbol="square",
                    size=10,
                    left="low",
                    right="high",
                    label="{verdict}, {q:p:q} || not tested",
                    side="top center",
                    card=(
                        "{claim}",
                        "{value:+.3g} [{low:+.3g}, {high:+.3g}], {unit}",
                        "{p:p}, {q:p:q} over all",
                    ),
                    ids="{n} recipes",
                ),
            ),
            x=Axis("change of alignment, as predicted: right of 0", signed=True),
            y=Axis("", names=tuple(named["name"])),
            levels=(Level(0, "zero", along="x"),),
            empty="No claim can be tested with these models: embed models of two sizes.",
            row=52,
        ).over(named)


def tally(findings: Sequence[Finding]) -> str:
    """Return how many claims are supported, contradicted, open and unknown, as a sentence."""
    verdicts = [one.verdict for one in findings]
    counts = {name: verdicts.count(name) for name in ("supported", "contradicted", "open")}
    said = ", ".join(f"{count} {name}" for name, count in counts.items())
    rest = verdicts.count("unknown")
    return (
        f"Of {len(findings)} claims of the hypothesis: {said} (q < {ALPHA:g})"
        + (f", {rest} not testable here." if rest else ".")
    ).replace("0.", ".")


def weigh(
    competence: pd.DataFrame, hypotheses: pd.DataFrame, thirds: pd.DataFrame, toward: int = 1
) -> pd.DataFrame:
    """Return the six claims with their numbers; p adjusted over them for false discoveries.

    competence: of `Levels` of competence. hypotheses: of `Hypotheses`. thirds: of `AnnaKarenina`.
    toward: 1 if higher scores mean more aligned, −1 if lower ones do.
    """
    decides = hypotheses["decides"].astype(bool)

    def hypothesis(name: str) -> pd.DataFrame:
        return hypotheses[(hypotheses["hypothesis"] == name) & decides]

    levels = competence[competence["pairs_of"] == "all"]
    recipes = int(levels["recipes"].sum())
    rise = levels.drop(columns=["low", "high", "recipes"]).rename(
        columns={"rise": "value", "rise_low": "low", "rise_high": "high"}
    )
    weak = thirds[thirds["pairs_of"] == "all"].rename(columns={"contrast": "value"})
    weak = weak.assign(recipes=weak["recipes"].sum())
    rise = rise.assign(recipes=recipes)
    data = hypotheses[hypotheses["measured"] == DATA]
    rows = [
        _claim(claim, unit, found, toward * scale)
        for claim, unit, found, scale in (
            ("More competent models are more alike", "least to most competent", rise, 1),
            ("Larger models are more alike", "smallest to largest", hypothesis("capacity"), 1),
            ("Models of more tasks are more alike", "fewest to most", hypothesis("multitask"), 1),
            ("Models of more data are more alike", "least to most", data, 1),
            (
                "Simpler representations are more alike",
                "10 effective ranks less",
                hypothesis("simplicity"),
                -10,
            ),
            ("Weak models agree less with each other", "than with strong ones", weak, -1),
        )
    ]
    table = pd.DataFrame(rows)
    table["q"] = adjust(table["p"].to_numpy(float))
    return table


def _claim(claim: str, unit: str, rows: pd.DataFrame, scale: int) -> dict[str, Any]:
    about = {"claim": claim, "unit": unit}
    if rows.empty:
        missing = dict.fromkeys(("value", "low", "high", "p"), np.nan)
        return {**about, **missing, "n": 0, "reason": "no models that differ in this alone"}
    row = rows.iloc[0]
    low, high = sorted(scale * row[end] for end in ("low", "high"))
    numbers = {"value": scale * row["value"], "low": low, "high": high, "p": row["p"]}
    return {**about, **numbers, "n": int(row["recipes"]), "reason": row["reason"]}


def hypothesis_findings(table: pd.DataFrame) -> list[Finding]:
    """Return the tests of the three hypotheses that decide."""
    return [
        Finding(
            f"{str(row['hypothesis']).capitalize()}: {row['measured']}",
            row["value"],
            row["low"],
            row["high"],
            row["q"],
            name="change",
            digits=3,
            n=int(row["recipes"]),
            over="recipes",
            expected="+" if row["predicted"] > 0 else "-",
            reason=row["reason"],
        )
        for row in table[table["decides"].astype(bool)].to_dict("records")
    ]


def replicate_findings(table: pd.DataFrame) -> list[Finding]:
    """Return how alike two seeds of a recipe are, by modality: a ceiling for other recipes."""
    if table.empty:
        return [Finding("No recipe here has several seeds, so the ceiling is unknown")]
    return [
        Finding(
            f"Two {modality} trainings that differ only in their seed reach",
            ceiling_of(table, str(modality)),
            digits=3,
            n=len(rows),
            over="recipes",
        )
        for modality, rows in table.groupby("modality", sort=False)
    ]


def _usual(study: Study) -> list[str]:
    trainings = describe_trainings(study)
    usual = trainings["modality"].isin((VISION.name, LANGUAGE.name))
    return trainings.loc[usual, "model"].tolist()


def compare_copies(trainings: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """Return how alignment with language changes as vision models are fine-tuned: the rows of
    `FineTuned`.

    A row per line of copies and usual language recipe, and one with the mean over all of these.
    before, after: mean alignment of the models and of their copies. change: mean over models of
    after − before, with Student's 95% interval and the p of a t-test over the pairs of model and
    copy, which are trainings of several sizes and seeds. reason: why these are NaN.
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
        yield {
            "copies": line,
            "with": title,
            "pairs": int(whole.sum()),
            "before": before[whole].mean() if whole.any() else np.nan,
            "after": after[whole].mean() if whole.any() else np.nan,
            **_paired(after[whole] - before[whole]),
        }


def _paired(change: Float64[np.ndarray, " n"]) -> dict[str, Any]:
    mean = float(change.mean()) if len(change) else np.nan
    if len(change) < FEWEST:
        why = f"a test takes at least {FEWEST} pairs of model and copy; here are {len(change)}"
        return {"change": mean, "low": np.nan, "high": np.nan, "p": np.nan, "reason": why}
    if np.ptp(change) == 0:
        why = "all pairs of model and copy change alike, so their spread is unknown"
        return {"change": mean, "low": np.nan, "high": np.nan, "p": np.nan, "reason": why}
    error = float(change.std(ddof=1) / np.sqrt(len(change)))
    reach = float(t.ppf((1 + LEVEL) / 2, len(change) - 1)) * error
    p = float(2 * t.sf(abs(mean) / error, len(change) - 1))
    return {"change": mean, "low": mean - reach, "high": mean + reach, "p": p, "reason": ""}
