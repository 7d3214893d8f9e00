"""What better models buy: transfer between modalities, less bias, fewer hallucinations.

A learner without transfer at several shares N of the data draws a curve, linear in log N between
the shares. A learner that saw N events with transfer is as good as one without that saw N′: the
exchange rate is (N′ − N)/M, events of the learner's own modality per event that the teacher was
shown, M. The curve is never extrapolated. Source: section 5 of Huh et al. 2024.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from random import Random
from typing import ClassVar, Literal

import numpy as np
import pandas as pd
from jaxtyping import Float64
from scipy.stats import t

from core.competence.language import amplification, distance, guess_colors, sample_texts
from core.competence.opened import reopen
from core.competence.records import can_measure
from core.encoders.encoder import ModelCard
from core.errors import NotApplicableError, PlatoscopeError
from core.figures.grammar import Axis, Dots, Facet, Heat, Level, Line, Palette, Plot, Scale
from core.modalities import LANGUAGE
from core.options import draws_option, option, seed_option
from core.progress import Progress
from core.questions.asking import ask
from core.questions.competence.question import TasksSolved
from core.questions.finding import ALPHA, Finding
from core.questions.question import Answer, StudyQuestion
from core.settings import choose_device
from core.statistics.nulls import adjust
from core.statistics.trends import recipe_trend
from core.stimuli.worlds import World, the_cave
from core.study.parts import Scope
from core.study.study import Study
from core.study.trainings import choose_names, describe_trainings

MEAN = "mean"  # of the seeds, as a row
BEYOND = "better than all the data without transfer"
BELOW = "worse than the least data without transfer"
SEVERAL = "as good as several amounts of data without transfer"
DISTANCE, AMPLIFICATION = "distance from the law", "amplification"
IMPOSSIBLE, NO_CAPTION = "impossible captions", "no caption"
REAL, SHUFFLED = "captions of held-out events", "the same with their words shuffled"
TOKENS = 80  # the longest caption of the Cave is about 60 of its own tokenizer
CONTROLS = 64  # held-out events, described at every level
TEACHING = {"language": "image transfer", "vision": "caption transfer"}  # by the learner's modality
LEARNING = {"language": "language models", "vision": "vision models"}


@dataclass(frozen=True)
class Transfer(StudyQuestion):
    """Does transfer from the other modality replace data?"""

    command = "benefits transfer"
    version = 4
    columns: ClassVar[Mapping[str, str]] = {
        "modality": "modality of the learner",
        "learner": "kind of learner",
        "teacher": "frozen model of the other modality",
        "share": "share of the training data",
        "events": "events that the learner saw",
        "shown": "of these, events shown to the teacher",
        "seed": "seed of the training, or the mean of the seeds",
        "without": "score without transfer (1 − bits per byte, or share of tasks solved)",
        "with_transfer": "score with transfer",
        "gain": "score with transfer − without",
        "gain_low": "low end of the 95% interval of the gain (Student's t over seeds)",
        "gain_high": "high end of that interval",
        "gain_p": "p of the mean gain, paired by seed",
        "gain_q": "p adjusted for all shares of a kind",
        "rate": "exchange rate: events of the learner's own modality per event shown",
        "rate_low": "low end of the 95% interval of the rate",
        "rate_high": "high end of that interval",
        "reason": "why there is no rate",
    }

    names: tuple[str, ...] = option(
        (),
        name="models",
        label="Models",
        metavar="M",
        help="learners with transfer and without (all)",
    )

    def complete(self, study: Study) -> Transfer:
        every = [one.model for one in learners(study)]
        said = "learner with transfer, or without it to compare,"
        return replace(self, names=tuple(sorted(set(choose_names(self.names, every, said)))))

    def answer(self, study: Study, report: Progress | None) -> Answer:
        coded = study.coded().set_index("model")["value"]
        solved = ask(TasksSolved(self.scope), study).set_index("model")["solved"]
        every = [one for one in learners(study) if one.model in self.names]
        table = exchange(every, pd.concat([coded, solved]))
        return Answer(table, transfer_findings(table))

    def plot(self, table: pd.DataFrame) -> Plot:
        scores = {"without": "without", "with_transfer": "with transfer"}
        kept = ["modality", "learner", "events", "seed"]
        long = table.rename(columns=scores).melt(kept, list(scores.values()), "kind", "score")
        return TRANSFER.over(long)


@dataclass(frozen=True)
class SizeEffects(StudyQuestion):
    """Are larger language models less biased, or do they hallucinate less?

    Bias: how far the colors that a model expects of each kind of thing are from the law of its
    world: the total variation distance, in [0, 1], and the amplification of the most common color,
    in [−1, 1], each the mean over kinds; 0 is without bias. Hallucination: of the texts that a
    model writes and that begin with a caption, the share whose caption no event can match; and of
    all texts, the share that begin with none.
    """

    command = "benefits size"
    version = 3
    columns: ClassVar[Mapping[str, str]] = {
        "measure": "what is measured",
        "model": "language model, empty for a control",
        "title": "name of the model or control",
        "line": "family and objective",
        "recipe": "training, without its seed",
        "parameters": "parameters of the model",
        "value": "the measure",
        "reason": "why it is missing",
        "rise": "change of the measure as parameters grow tenfold, within families",
        "rise_low": "low end of its 95% interval",
        "rise_high": "high end of that interval",
        "p": "p, sizes exchanged within families",
        "recipes": "recipes that the trend rests on",
        "trend_reason": "why there is no trend",
    }

    of: Literal["bias", "hallucination"] = option(
        "bias", label="Of", help="what is measured over size"
    )
    names: tuple[str, ...] = option(
        (),
        name="models",
        label="Language models",
        metavar="M",
        help="language models (all that finished a default training)",
    )
    permutations: int = draws_option(
        999, least=1, help="times that sizes are exchanged within families"
    )
    seed: int = seed_option("seed of the permutations and of sampling")
    samples: int = option(
        256, least=10, most=10_000, help="texts that each model writes, for hallucination"
    )

    def complete(self, study: Study) -> SizeEffects:
        world_of(study)
        trainings = describe_trainings(study)
        language = trainings[trainings["modality"] == "language"]
        choose_names(self.names, list(language["model"]), "finished language model")
        names = self.names or language.loc[language["varies"] == "", "model"]
        return replace(self, names=tuple(sorted(set(names))))

    def answer(self, study: Study, report: Progress | None) -> Answer:
        scope = Scope(study.dataset.name)  # no measure depends on which stimuli are studied
        whole, world = scope.open(study.store), world_of(study)

        def bias(model: str) -> Measured:
            rows = ask(ModelColors(scope, model), whole)
            kinds = [
                (kind["guess"].to_numpy(float), kind["law"].to_numpy(float))
                for _, kind in rows.groupby("kind", sort=False)
            ]
            return {
                DISTANCE: sum(distance(*one) for one in kinds) / len(kinds),
                AMPLIFICATION: sum(amplification(*one) for one in kinds) / len(kinds),
            }

        def hallucination(model: str) -> Measured:
            captions = ModelCaptions(scope, model, self.samples, self.seed)
            return shares(ask(captions, whole)["verdict"])

        measures, measure = (DISTANCE, AMPLIFICATION), bias
        if self.of == "hallucination":
            measures, measure = (IMPOSSIBLE, NO_CAPTION), hallucination
        rows = measure_models(study, self.names, measures, measure, report)
        table = with_trends(rows, draws=self.permutations, seed=self.seed)
        if self.of == "hallucination":
            checks = [
                {"measure": name, "model": "", "title": title, "value": value, "reason": ""}
                for title, texts in controls(world).items()
                for name, value in shares(
                    pd.Series([world.judge(text).verdict for text in texts])
                ).items()
            ]
            table = pd.concat([table, pd.DataFrame(checks)], ignore_index=True)
        return Answer(table, size_findings(table))

    def plot(self, table: pd.DataFrame) -> Plot:
        family = table["line"].str.replace(r" (language|masked)$", "", regex=True)
        return SIZES[self.of].over(table.assign(family=family))


@dataclass(frozen=True)
class Trends(StudyQuestion):
    """What follows from better alignment: transfer, less bias, fewer hallucinations?"""

    command = "benefits trends"
    version = 1
    columns: ClassVar[Mapping[str, str]] = {
        "panel": "transfer, bias or hallucination",
        "modality": "modality of the learner or model",
        "model": "language model, empty for transfer",
        "title": "learner or model",
        "line": "what a line joins: a learner, or a family and objective",
        "x": "share of the data (transfer), or parameters",
        "y": "gain by transfer, total variation distance, or share of impossible captions",
        "low": "low end of the 95% interval of the gain",
        "high": "high end of that interval",
        "p": "p of the gain, adjusted for all shares, or of the trend over size",
        "rise": "change per tenfold of the parameters",
    }

    def answer(self, study: Study, report: Progress | None) -> Answer:
        parts, findings, reasons, silent = [], list[Finding](), list[str](), list[Finding]()
        scope = self.scope
        asked: dict[str, StudyQuestion] = {
            "transfer": Transfer(scope),
            "bias": SizeEffects(scope),
            "hallucination": SizeEffects(scope, "hallucination"),
        }
        for panel, question in asked.items():
            try:
                table = ask(question, study, report)
            except PlatoscopeError as error:
                study.store.note_failure(error)
                reasons.append(str(error))
                continue
            if panel == "transfer":
                verdicts = transfer_verdicts(table)
                findings, silent = (verdicts, []) if len(table) else ([], verdicts)
                rows = table[table["seed"] == MEAN].rename(
                    columns={"share": "x", "gain": "y", "gain_q": "p", "learner": "title"}
                )
                rows = rows.rename(columns={"gain_low": "low", "gain_high": "high"})
                rows = rows.assign(line=rows["title"], model="")
            else:
                findings += size_findings(table)[:1]
                rows = table[table["measure"].isin([DISTANCE, IMPOSSIBLE]) & (table["model"] != "")]
                rows = rows.rename(columns={"parameters": "x", "value": "y"})
                rows = rows.assign(modality=LANGUAGE.name)
            parts.append(rows.assign(panel=panel))
        if not any(map(len, parts)):
            none = "no learner here was trained with and without transfer"
            raise NotApplicableError("; ".join(dict.fromkeys([none, *reasons])))
        table = pd.concat(parts, ignore_index=True).reindex(columns=list(self.columns))
        return Answer(table, [*findings, *silent])

    def plot(self, table: pd.DataFrame) -> Plot:
        return TRENDS.over(table)


@dataclass(frozen=True)
class ModelColors(StudyQuestion):
    """Which color does a language model expect of each kind of object?"""

    command = "benefits colors"
    version = 1
    listed = False
    columns: ClassVar[Mapping[str, str]] = {
        "kind": "kind of object",
        "color": "one of the world's colors",
        "guess": "the model's probability of the color",
        "law": "the world's",
    }

    model: str = option("", label="Language model", metavar="M", help="the language model")

    def complete(self, study: Study) -> ModelColors:
        world_of(study)
        return self

    def answer(self, study: Study, report: Progress | None) -> Answer:
        encoder = reopen(study.entry(self.model), choose_device())
        return Answer(guess_colors(encoder, world_of(study)))

    def plot(self, table: pd.DataFrame) -> Plot:
        names = {"law": "The world's law", "guess": "The model's guess"}
        return COLORS.over(table.melt(["kind", "color"], list(names), "panel", "probability"))


@dataclass(frozen=True)
class ModelCaptions(StudyQuestion):
    """What does a language model write by itself, and is it possible?"""

    command = "benefits captions"
    version = 1
    listed = False

    model: str = option("", label="Language model", metavar="M", help="the language model")
    samples: int = option(256, least=10, most=10_000, help="texts that the model writes")
    seed: int = seed_option("seed of sampling")

    def complete(self, study: Study) -> ModelCaptions:
        world_of(study)
        return self

    def answer(self, study: Study, report: Progress | None) -> Answer:
        world, encoder = world_of(study), reopen(study.entry(self.model), choose_device())
        texts = sample_texts(encoder, count=self.samples, tokens=TOKENS, seed=self.seed)
        return Answer(pd.DataFrame([asdict(world.judge(text)) for text in texts]))


def world_of(study: Study) -> World:
    """Return the world that a study's dataset was made by; raises NotApplicableError without."""
    if study.dataset.world is None:
        raise NotApplicableError(
            "bias and hallucination are measured against the law that a world is made by, which is"
            f" not known of {study.dataset.name!r}"
        )
    return study.dataset.world


# --- findings ---


def transfer_verdicts(table: pd.DataFrame) -> list[Finding]:
    """Return for each kind of learner whether transfer helps, hurts or does neither: at the share
    of the data with the largest gain or loss beyond chance, or else with all the data.
    """
    means = table[table["seed"] == MEAN]
    findings = []
    for _, rows in means.groupby("learner", sort=False):
        sure = rows[rows["gain_q"] < ALPHA]
        row = rows.iloc[-1]
        if len(sure):
            row = sure.loc[sure["gain"].abs().idxmax()]
        change = "does not change"
        if len(sure):
            change = "hurts" if row["gain"] < 0 else "helps"
        claim = f"{TEACHING[row['modality']]} {change} {LEARNING[row['modality']]}"
        findings.append(replace(_gain(claim, row, table), expected=""))
    return findings or [Finding("No learner here was trained with and without transfer")]


def transfer_findings(table: pd.DataFrame) -> list[Finding]:
    """Return for each learner and share whether transfer helps, and what it is worth in data."""
    units = {"language": "captions per image", "vision": "images per caption"}
    findings = []
    for _, row in table[table["seed"] == MEAN].iterrows():
        share = "all the data" if row["share"] == 1 else f"1/{round(1 / row['share'])} of the data"
        who = f"{LEARNING[row['modality']]} with {share}"
        gain = _gain(f"{TEACHING[row['modality']]} helps {who}", row, table)
        findings += [
            gain,
            Finding(
                f"exchange rate of {who}",
                row["rate"],
                row["rate_low"],
                row["rate_high"],
                unit=units[row["modality"]],
                reason="" if np.isfinite(row["rate"]) else row["reason"],
                n=gain.n,
                over="seeds",
            ),
        ]
    return findings or [Finding("No learner here was trained with and without transfer")]


def _gain(claim: str, row: pd.Series, table: pd.DataFrame) -> Finding:
    same = (table["learner"] == row["learner"]) & (table["share"] == row["share"])
    return Finding(
        claim,
        row["gain"],
        row["gain_low"],
        row["gain_high"],
        row["gain_q"],
        name="gain",
        digits=3,
        n=int(same.sum()) - 1,
        over="seeds",
        expected="+",
        reason="" if np.isfinite(row["gain"]) else "a learner was not measured",
    )


def size_findings(table: pd.DataFrame) -> list[Finding]:
    """Return the trend of each measure over size, and what the controls show."""
    claims = {
        DISTANCE: "larger language models are less biased",
        AMPLIFICATION: "larger language models exaggerate the most common color less",
        IMPOSSIBLE: "larger language models hallucinate less",
        NO_CAPTION: "larger language models write fewer texts without a caption",
    }
    models = table[table["model"] != ""]
    if models["value"].isna().all():
        why = f"{models['title'].iloc[0]}: {models['reason'].iloc[0]}" if len(models) else ""
        return [Finding("No language model here could be measured", reason=why)]
    trends = [
        Finding(
            claims[row["measure"]],
            row["rise"],
            row["rise_low"],
            row["rise_high"],
            row["p"],
            name="change per tenfold",
            digits=3,
            n=int(row["recipes"]),
            over="training setups",
            expected="-",
            reason=row["trend_reason"],
        )
        for _, row in models.drop_duplicates("measure").iterrows()
    ]
    checks = table[table["model"] == ""].dropna(subset="value")
    return trends + [
        Finding(f"control: {row['title']}, {row['measure']}", row["value"], unit="%")
        for _, row in checks.iterrows()
    ]


# --- transfer ---


@dataclass(frozen=True)
class Learner:
    """A training at a share of the data, by its config. teacher: "" without transfer."""

    model: str
    modality: str
    kind: str
    share: float
    seed: int
    teacher: str


def learners(study: Study) -> list[Learner]:
    """Return the trainings that can be compared: those with a teacher, and those of their kind that
    differ in the share of data alone.
    """
    cards = [study.entry(name).card for name in study.models()["model"]]
    every = [one for one in map(learner_of, cards) if one is not None]
    kinds = {one.kind for one in every if one.teacher}
    return [one for one in every if one.kind in kinds]


def learner_of(card: ModelCard) -> Learner | None:
    """Return what a card says of a finished training, None for one that differs from the usual in
    anything but data and teacher.
    """
    config = card.training.get("config") or {}
    if config.get("varies", "") not in ("", "data", "transfer") or not config.get("steps"):
        return None
    if card.training.get("steps") != config["steps"] or config.get("start"):
        return None
    kind = " ".join([card.family, str(config.get("size", "")).upper(), card.objective])
    return Learner(
        card.name,
        card.modality,
        kind,
        float(config.get("data", 1.0)),
        int(config.get("seed", 0)),
        config.get("teacher") or "",
    )


def exchange(every: list[Learner], values: pd.Series) -> pd.DataFrame:
    """Return the rows of `Transfer`: for each kind of learner and share, each seed and their mean.

    values: how good each model is, by name; higher is better. events: that the learner saw. shown:
    of these, to its teacher. gain: with transfer − without. Intervals: 95%, Student's t over the
    seeds. gain_p: of the mean gain, paired by seed; gain_q: adjusted for all shares of a kind.
    rate: NaN with a reason if the value with transfer lies on no measured part of the curve.
    """
    rows: list[dict[str, object]] = []
    for kind in dict.fromkeys(one.kind for one in every if one.teacher):
        of_kind = [one for one in every if one.kind == kind]
        shares = sorted({one.share for one in of_kind if one.teacher})
        tried = [seeds for share in shares if (seeds := list(_rows(of_kind, share, values)))]
        means = [_mean(pd.DataFrame(seeds)) for seeds in tried]
        q = adjust(np.array([mean["gain_p"] for mean in means], dtype=float))
        for seeds, mean, one in zip(tried, means, q, strict=True):
            rows += [*seeds, mean | {"gain_q": one}]
    return pd.DataFrame(rows, columns=list(Transfer.columns))


def _rows(every: list[Learner], share: float, values: pd.Series) -> Iterator[dict[str, object]]:
    """Yield a row per seed that was trained with and without transfer at a share."""
    taught = [one for one in every if one.teacher and one.share == share]
    for one in sorted(taught, key=lambda each: each.seed):
        alone = {
            each.share: float(values.get(each.model, np.nan))
            for each in every
            if not each.teacher and each.seed == one.seed
        }
        if share not in alone:
            continue
        reads = one.modality == "language"
        trained_on = the_cave().trained_on
        events = round(share * trained_on["caption" if reads else "image"])
        shown = min(events, trained_on["image"])
        value = float(values.get(one.model, np.nan))
        shares = np.array(sorted(alone))
        curve = np.array([alone[each] for each in sorted(alone)])
        equal, reason = equal_share(shares, curve, value)
        yield {
            "modality": one.modality,
            "learner": one.kind,
            "teacher": one.teacher,
            "share": share,
            "events": events,
            "shown": shown,
            "seed": str(one.seed),
            "without": alone[share],
            "with_transfer": value,
            "gain": value - alone[share],
            "rate": (equal / share - 1) * events / shown,
            "reason": reason,
        }


def equal_share(
    shares: Float64[np.ndarray, " s"], curve: Float64[np.ndarray, " s"], value: float
) -> tuple[float, str]:
    """Return the share of data at which a curve, linear in the logarithm, reaches a value; NaN with
    a reason where it does so nowhere or, as the curve is flat or bends, at several.
    """
    if not np.isfinite([*curve, value]).all():
        return np.nan, "a learner was not measured"
    if len(curve) < 2:
        return np.nan, "learners without transfer saw one share of the data alone"
    if value > curve.max():
        return np.nan, BEYOND
    if value < curve.min():
        return np.nan, BELOW
    logs, places = np.log(shares), set()
    for left in range(len(curve) - 1):
        (low, high), ends = curve[left : left + 2], logs[left : left + 2]
        if low == high == value:
            return np.nan, SEVERAL
        if min(low, high) <= value <= max(low, high):
            place = ends[0] + (value - low) / (high - low) * (ends[1] - ends[0])
            places.add(round(float(place), 9))
    return (float(np.exp(places.pop())), "") if len(places) == 1 else (np.nan, SEVERAL)


def _mean(seeds: pd.DataFrame) -> dict[str, object]:
    """Return the row of the mean over the seeds of a share."""
    about = seeds[["modality", "learner", "teacher", "share", "events", "shown"]].iloc[0].to_dict()
    gain, gain_low, gain_high, gain_p = t_test(seeds["gain"].to_numpy(float))
    rate, rate_low, rate_high, _ = t_test(seeds["rate"].to_numpy(float))
    reasons = dict.fromkeys(reason for reason in seeds["reason"] if reason)
    missing = int(seeds["rate"].isna().sum())
    reason = f"{missing} of {len(seeds)} seeds: {', '.join(reasons)}" if missing else ""
    return {
        **about,
        "seed": MEAN,
        "without": seeds["without"].mean(),
        "with_transfer": seeds["with_transfer"].mean(),
        "gain": gain,
        "gain_low": gain_low,
        "gain_high": gain_high,
        "gain_p": gain_p,
        "rate": rate,
        "rate_low": rate_low,
        "rate_high": rate_high,
        "reason": reason,
    }


def t_test(values: Float64[np.ndarray, " n"]) -> tuple[float, float, float, float]:
    """Return the mean, its 95% interval and the p that it is 0, by Student's t; NaN where a value
    is NaN, and neither interval nor p of fewer than two or of equal ones, whose spread is unknown.
    """
    mean = float(values.mean())
    if not np.isfinite(mean) or len(np.unique(values)) < 2:
        return mean, np.nan, np.nan, np.nan
    freedom, error = len(values) - 1, float(values.std(ddof=1) / np.sqrt(len(values)))
    reach = float(t.ppf(0.975, freedom)) * error
    return mean, mean - reach, mean + reach, float(2 * t.sf(abs(mean) / error, freedom))


def shares(verdicts: pd.Series) -> dict[str, float]:
    """Return the shares of impossible captions, NaN without any caption, and of texts that begin
    with none.
    """
    captions = verdicts[verdicts != "no caption"]
    return {
        IMPOSSIBLE: float((captions == "impossible").mean()),
        NO_CAPTION: float((verdicts == "no caption").mean()),
    }


def controls(world: World) -> dict[str, list[str]]:
    """Return texts whose verdicts are known: real captions, and their words shuffled."""
    events = world.sample("test", CONTROLS)
    real = [world.caption(event, level) for event in events for level in world.levels]
    shuffled = []
    for place, text in enumerate(real):
        dice = Random(place)
        shuffled.append(" ".join(sorted(text.split(" "), key=lambda _: dice.random())))
    return {REAL: real, SHUFFLED: shuffled}


# --- size ---

Measured = Mapping[str, float]  # by the name of the measure


def measure_models(
    study: Study,
    names: Sequence[str],
    measures: Sequence[str],
    measure: Callable[[str], Measured],
    report: Progress | None,
) -> pd.DataFrame:
    """Return a row per measure and model; NaN with a reason for a model that cannot be measured."""
    models = describe_trainings(study).set_index("model").loc[list(names)]
    rows = []
    for done, (model, about) in enumerate(models.iterrows(), start=1):
        values: Measured = {}
        reason = ""
        if not can_measure(study.entry(str(model))):
            reason = "it has features only, and no model to run"
        elif study.store.text_costs(study.dataset.name, str(model)) is None:
            reason = "it does not predict text from left to right"
        else:
            try:
                values = measure(str(model))
            except PlatoscopeError as error:
                study.store.note_failure(error)
                reason = str(error)
        shown = {key: about[key] for key in ("title", "line", "recipe", "parameters")}
        rows += [
            {"measure": name, "model": model, **shown, "value": values.get(name, np.nan)}
            | {"reason": reason}
            for name in measures
        ]
        if report:
            report(done, len(models), "language models measured")
    return pd.DataFrame(rows, columns=list(SizeEffects.columns)[:8])


def with_trends(rows: pd.DataFrame, *, draws: int, seed: int) -> pd.DataFrame:
    """Add to the rows of each measure its trend over size.

    rise: how much the measure changes as parameters grow tenfold, between training setups of one
    family, each the mean over its seeds. p, rise_low, rise_high: as of `recipe_trend`, sizes
    exchanged within families.
    """
    parts = []
    for _, part in rows.groupby("measure", sort=False):
        recipes = (
            part.dropna(subset=["value", "parameters"])
            .groupby("recipe", sort=False)
            .agg(
                value=("value", "mean"), parameters=("parameters", "first"), line=("line", "first")
            )
        )
        trend = recipe_trend(
            recipes["value"].to_numpy(float),
            np.log10(recipes["parameters"].to_numpy(float)),
            pd.factorize(recipes["line"])[0].astype(np.int64),
            draws=draws,
            seed=seed,
        )
        parts.append(
            part.assign(
                rise=trend.rise,
                rise_low=trend.low,
                rise_high=trend.high,
                p=trend.p,
                recipes=trend.recipes,
                trend_reason=trend.reason,
            )
        )
    if not parts:
        return rows.reindex(columns=list(SizeEffects.columns))
    return pd.concat(parts, ignore_index=True)


# --- figures ---

SIZE = Axis("parameters", log=True, ticks=(50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000))
KINDS = Palette(
    "kind",
    {"without": "soft", "with transfer": "CLIP"},
    {name: f"{name}, mean and seeds" for name in ("without", "with transfer")},
)
BY_MODALITY = Palette("modality", {name: name for name in LEARNING}, LEARNING)
TRENDS = Plot(
    "Transfer, bias and hallucination",
    marks=(
        Line("x", "y", color=BY_MODALITY, by="line", mean="x"),
        Dots(
            "x", "y", color=BY_MODALITY, low="low", high="high", card=("<b>{title}</b>", "{y:.3f}")
        ),
    ),
    facet=Facet(
        "panel",
        {"transfer": "Transfer", "bias": "Bias", "hallucination": "Hallucination"},
        note="{rise:+.3f} per tenfold, {p:p} || with − without transfer",
    ),
    x={
        "transfer": Axis("share of the data", log=True, ticks="data"),
        "bias": SIZE,
        "hallucination": SIZE,
    },
    y={
        "transfer": Axis("gain in score", signed=True),
        "bias": Axis("distance from the law"),
        "hallucination": Axis("impossible captions", percent=True),
    },
    levels=(Level(0.0, "zero"),),
    empty="Nothing here was trained with transfer, and no language model could be measured.",
)
TRANSFER = Plot(
    "Learning curves with and without transfer",
    marks=(
        Dots("events", "score", rows=f"seed != '{MEAN}'", color=KINDS, size=6, opacity=0.55),
        Line("events", "score", rows=f"seed == '{MEAN}'", color=KINDS),
        Dots(
            "events",
            "score",
            rows=f"seed == '{MEAN}'",
            color=KINDS,
            symbol="diamond",
            size=10,
            card=("<b>{kind}</b>", "{score:.3f}, mean over the seeds"),
            ids="{learner}, {events:,} events",
        ),
    ),
    facet=Facet(
        "modality",
        {"language": "Image transfer to language", "vision": "Caption transfer to vision"},
    ),
    x={
        "language": Axis("captioned events seen", log=True, ticks="data"),
        "vision": Axis("images seen", log=True, ticks="data"),
    },
    y={
        "language": Axis("1 − bits per byte of captions"),
        "vision": Axis("share of tasks solved"),
    },
    empty="No learner here was trained with and without transfer.",
)
COLORS = Plot(
    "Colors that a model expects of each kind of object",
    marks=(
        Heat(
            "color",
            "kind",
            Scale("probability", "probability", low=0.0),
            card=("{color} {kind}: {probability:.2f}",),
        ),
    ),
    x=Axis(names=True),
    y=Axis(names=True),
    facet=Facet("panel", {"law": "The world's law", "guess": "The model's guess"}, share="xy"),
    row=24,
)
BIAS = Plot(
    "Bias over size",
    marks=(
        Line("parameters", "value", rows="model != ''", color="family", by="line", mean="recipe"),
        Dots(
            "parameters",
            "value",
            rows="model != ''",
            color="family",
            modality=LANGUAGE,
            card=("<b>{title}</b>", "{value:.3f}"),
            ids="{model}",
            select=("model",),
        ),
    ),
    facet=Facet(
        "measure",
        note="{rise:+.3f} per tenfold · {p:p} || {trend_reason:wrap}",
    ),
    x=SIZE,
    y={
        DISTANCE: Axis("total variation distance"),
        AMPLIFICATION: Axis("most common color, model − world"),
    },
    levels=(
        Level(0.0, "zero"),
        Level("value", "control", "{title}", rows="model == ''", several=True, say=True),
    ),
    empty="No language model here could be measured.",
)
HALLUCINATION = replace(
    BIAS,
    title="Hallucination over size",
    y={
        IMPOSSIBLE: Axis("impossible captions", percent=True),
        NO_CAPTION: Axis("texts without a caption", percent=True),
    },
)
SIZES = {"bias": BIAS, "hallucination": HALLUCINATION}
