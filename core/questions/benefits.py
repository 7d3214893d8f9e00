"""What better models buy: transfer between modalities, less bias, fewer inventions.

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
from core.encoders.encoder import Encoder, ModelCard
from core.errors import NotApplicableError, PlatoscopeError
from core.figures.grammar import Axis, Dots, Facet, Level, Line, Palette, Plot
from core.modalities import LANGUAGE
from core.options import draws_option, option, seed_option
from core.progress import Progress
from core.questions.asking import ask
from core.questions.competence.question import TasksSolved
from core.questions.finding import Finding
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
ABOUT_LEARNERS = {
    "language": "language models that learn from images",
    "vision": "vision models that learn from captions",
}


@dataclass(frozen=True)
class Transfer(StudyQuestion):
    """Does what a model of the other modality knows replace data?"""

    command = "benefits transfer"
    version = 3
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
    """Do larger language models have less bias, or invent less?

    Bias: how far the colors that a model expects of each kind of thing are from the law of its
    world: the total variation distance, in [0, 1], and the amplification of the most common color,
    in [−1, 1], each the mean over kinds; 0 is without bias. Hallucination: of the texts that a
    model writes and that begin with a caption, the share whose caption no event can match; and of
    all texts, the share that begin with none.
    """

    command = "benefits size"
    version = 2
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
        help="language models (all that finished a usual training)",
    )
    permutations: int = draws_option(
        999, least=1, help="times that sizes are exchanged within families"
    )
    seed: int = seed_option("seed of the permutations and of sampling")
    samples: int = option(
        256, least=10, most=10_000, help="texts that each model writes, for hallucination"
    )

    def complete(self, study: Study) -> SizeEffects:
        _world(study)
        trainings = describe_trainings(study)
        language = trainings[trainings["modality"] == "language"]
        choose_names(self.names, list(language["model"]), "finished language model")
        names = self.names or language.loc[language["varies"] == "", "model"]
        return replace(self, names=tuple(sorted(set(names))))

    def answer(self, study: Study, report: Progress | None) -> Answer:
        scope = Scope(study.dataset.name)  # no measure depends on which stimuli are studied
        whole = scope.open(study.store)

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

        measures, measure = (
            ((DISTANCE, AMPLIFICATION), bias)
            if self.of == "bias"
            else ((IMPOSSIBLE, NO_CAPTION), hallucination)
        )
        rows = measure_models(study, self.names, measures, measure, report)
        table = with_trends(rows, draws=self.permutations, seed=self.seed)
        if self.of == "hallucination":
            world, checks = _world(study), []
            for title, texts in controls(world).items():
                judged = shares(pd.Series([world.judge(text).verdict for text in texts]))
                checks += [
                    {"measure": name, "model": "", "title": title, "value": value, "reason": ""}
                    for name, value in judged.items()
                ]
            table = pd.concat([table, pd.DataFrame(checks)], ignore_index=True)
        return Answer(table, size_findings(table))

    def plot(self, table: pd.DataFrame) -> Plot:
        family = table["line"].str.replace(r" (language|masked)$", "", regex=True)
        return SIZES[self.of].over(table.assign(family=family))


@dataclass(frozen=True)
class ModelColors(StudyQuestion):
    """What color does a language model expect of each kind of thing?"""

    command = "benefits colors"
    version = 1
    listed = False

    model: str = option("", label="Language model", metavar="M", help="the language model")

    def complete(self, study: Study) -> ModelColors:
        _world(study)
        return self

    def answer(self, study: Study, report: Progress | None) -> Answer:
        return Answer(guess_colors(_open(self.model, study), _world(study)))


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
        _world(study)
        return self

    def answer(self, study: Study, report: Progress | None) -> Answer:
        world, encoder = _world(study), _open(self.model, study)
        texts = sample_texts(encoder, count=self.samples, tokens=TOKENS, seed=self.seed)
        return Answer(pd.DataFrame([asdict(world.judge(text)) for text in texts]))


def _world(study: Study) -> World:
    world = study.dataset.world
    if world is None:
        raise NotApplicableError(
            "bias and hallucination are measured against the law that a world is made by, which is"
            f" not known of {study.dataset.name!r}"
        )
    return world


def _open(model: str, study: Study) -> Encoder:
    return reopen(study.entry(model), choose_device())


def transfer_findings(table: pd.DataFrame) -> list[Finding]:
    """Return for each learner and share whether transfer helps, and what it is worth in data."""
    units = {"language": "captions per image", "vision": "images per caption"}
    findings = []
    for row in table[table["seed"] == MEAN].to_dict("records"):
        share = "all the data" if row["share"] == 1 else f"1/{round(1 / row['share'])} of the data"
        same = (table["learner"] == row["learner"]) & (table["share"] == row["share"])
        seeds = int(same.sum()) - 1
        who = ABOUT_LEARNERS[row["modality"]]
        findings += [
            Finding(
                f"Transfer helps {who}, with {share}",
                row["gain"],
                row["gain_low"],
                row["gain_high"],
                row["gain_q"],
                name="gain",
                digits=3,
                expected="+",
                reason="" if np.isfinite(row["gain"]) else "a learner was not measured",
                n=seeds,
                over="seeds",
            ),
            Finding(
                f"The exchange rate of {who}, with {share}",
                row["rate"],
                row["rate_low"],
                row["rate_high"],
                unit=units[row["modality"]],
                reason="" if np.isfinite(row["rate"]) else row["reason"],
                n=seeds,
                over="seeds",
            ),
        ]
    return findings or [Finding("No learner here was trained with and without transfer")]


def size_findings(table: pd.DataFrame) -> list[Finding]:
    """Return the trend of each measure over size, and what the controls show."""
    claims = {
        DISTANCE: ("Larger language models expect colors closer to the world's law", "-"),
        AMPLIFICATION: ("Larger language models exaggerate the most common color less", "-"),
        IMPOSSIBLE: ("Larger language models write fewer captions of impossible events", "-"),
        NO_CAPTION: ("Larger language models write fewer texts that begin with no caption", "-"),
    }
    models = table[table["model"] != ""]
    if models["value"].isna().all():
        row = models.iloc[0] if len(models) else {}
        why = f"; of {row['title']}: {row['reason']}" if len(models) else ""
        return [Finding(f"No language model here could be measured{why}")]
    findings = []
    for row in models.drop_duplicates("measure").to_dict("records"):
        claim, expected = claims[row["measure"]]
        findings.append(
            Finding(
                claim,
                row["rise"],
                row["rise_low"],
                row["rise_high"],
                row["p"],
                name="change per tenfold",
                digits=3,
                n=int(row["recipes"]),
                over="recipes",
                expected=expected,
                reason=row["trend_reason"],
            )
        )
    checks = table[table["model"] == ""].dropna(subset="value").to_dict("records")
    return findings + [
        Finding(f"Check: {row['title']}, {row['measure']}", row["value"], unit="%")
        for row in checks
    ]


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
        values, reason = _values(study, str(model), measure)
        for name in measures:
            value = values.get(name, np.nan)
            shown = {key: about[key] for key in ("title", "line", "recipe", "parameters")}
            rows.append({"measure": name, "model": model, **shown, "value": value})
            rows[-1]["reason"] = reason
        if report:
            report(done, len(models), "language models measured")
    return pd.DataFrame(rows, columns=list(SizeEffects.columns)[:8])


def _values(study: Study, model: str, measure: Callable[[str], Measured]) -> tuple[Measured, str]:
    """Return what was measured of a model, or why nothing was."""
    if not can_measure(study.entry(model)):
        return {}, "it has features only, and no model to run"
    if study.store.text_costs(study.dataset.name, model) is None:
        return {}, "it does not predict text from left to right"
    try:
        return measure(model), ""
    except PlatoscopeError as error:
        study.store.note_failure(error)
        return {}, str(error)


def with_trends(rows: pd.DataFrame, *, draws: int, seed: int) -> pd.DataFrame:
    """Add to the rows of each measure its trend over size.

    rise: how much the measure changes as parameters grow tenfold, between recipes of one family,
    each the mean over its seeds. p, rise_low, rise_high: as of `recipe_trend`, sizes exchanged
    within families.
    """
    parts = [_with_trend(part, draws, seed) for _, part in rows.groupby("measure", sort=False)]
    return (
        pd.concat(parts, ignore_index=True)
        if parts
        else rows.reindex(columns=list(SizeEffects.columns))
    )


def _with_trend(rows: pd.DataFrame, draws: int, seed: int) -> pd.DataFrame:
    present = rows[rows["value"].notna() & rows["parameters"].notna()]
    recipes = present.groupby("recipe", sort=False).agg(
        value=("value", "mean"), parameters=("parameters", "first"), line=("line", "first")
    )
    trend = recipe_trend(
        recipes["value"].to_numpy(float),
        np.log10(recipes["parameters"].to_numpy(float)),
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
        trend_reason=trend.reason,
    )


SIZE = Axis("parameters", log=True, ticks=(50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000))
KINDS = Palette(
    "kind",
    {"without": "soft", "with transfer": "CLIP"},
    {name: f"{name}, mean and seeds" for name in ("without", "with transfer")},
)
TRANSFER = Plot(
    "Transfer between modalities",
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
        {
            "language": "Language models that learn from images",
            "vision": "Vision models that learn from captions",
        },
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
        "distance from the law": Axis("total variation distance from the world's own colors"),
        "amplification": Axis("probability of the most common color, model − world"),
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
        "impossible captions": Axis("share of captions of impossible events", percent=True),
        "no caption": Axis("share of texts that do not begin with a caption", percent=True),
    },
)
SIZES = {"bias": BIAS, "hallucination": HALLUCINATION}
