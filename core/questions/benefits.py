"""What better models buy: transfer between modalities, less bias, fewer hallucinations.

Source: section 5 of Huh et al. 2024.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from random import Random
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float64

from core.competence.opened import reopen
from core.competence.records import can_measure
from core.encoders.encoder import ModelCard
from core.errors import InputError, NotApplicableError, PlatoscopeError
from core.figures.grammar import Axis, Dots, Facet, Heat, Level, Line, Palette, Plot, Scale
from core.figures.labels import Labels
from core.figures.numbers import paper_p
from core.modalities import LANGUAGE, Item
from core.options import draws_option, models_option, option, seed_option
from core.progress import tell_each
from core.questions.asking import ask
from core.questions.competence.question import TasksSolved
from core.questions.finding import ALPHA, Finding, listed
from core.questions.question import Answer, StudyQuestion
from core.settings import choose_device
from core.statistics.intervals import t_test
from core.statistics.nulls import adjust
from core.statistics.trends import recipe_trend
from core.stimuli.worlds import World, the_cave
from core.study.parts import Scope
from core.study.study import Study
from core.study.trainings import choose_names, describe_trainings

Chances = Float64[np.ndarray, " colors"]
Of = Literal["all", "transfer", "bias", "hallucination", "colors", "texts"]
MEAN = "mean"  # of the seeds, as a row
BEYOND = "better than all the data without transfer"
BELOW = "worse than the least data without transfer"
SEVERAL = "as good as several amounts of data without transfer"
DISTANCE, AMPLIFICATION = "distance from the law", "amplification"
IMPOSSIBLE, NO_CAPTION = "impossible captions", "no caption"
REAL, SHUFFLED = "captions of held-out events", "the same with their words shuffled"
TOKENS = 80  # the longest caption of the Cave is about 60 of its own tokenizer
CONTROLS = 64  # held-out events, described at every level
TEACHING = {
    "language": "transfer from images",
    "vision": "transfer from captions",
}  # by the learner's modality
LEARNING = {"language": "language models", "vision": "vision models"}
CLAIMS = {
    DISTANCE: "larger language models are less biased",
    AMPLIFICATION: "larger language models exaggerate the most common color less",
    IMPOSSIBLE: "larger language models hallucinate less",
    NO_CAPTION: "larger language models write fewer texts without a caption",
}
UNSURE = {CLAIMS[DISTANCE]: "bias", CLAIMS[IMPOSSIBLE]: "hallucination"}
NONE = "no learner was trained both with and without transfer"
EXCHANGED = ("modality", "learner", "teacher", "share", "events", "shown")
SIZED = ("measure", "model", "title", "line", "recipe", "parameters", "value", "reason")
SHOWN = ("panel", "modality", "model", "title", "line", "x", "y", "low", "high", "p", "rise")


@dataclass(frozen=True)
class Benefits(StudyQuestion):
    """What follows from better models: transfer, less bias, fewer hallucinations?

    Transfer: the exchange rate is how many events of a learner's own modality one event shown to
    its teacher replaces, on the curve without transfer, which is linear in the logarithm of the
    data and never extrapolated. Bias: the total variation distance in [0, 1] of the colors that a
    model expects of a kind of thing from the law of its world, and the amplification of the most
    common color in [−1, 1], means over kinds. Hallucination: of the texts that a model writes and
    that begin with a caption, the share whose caption no event can match; and of all texts, the
    share that begin with none.
    """

    command = "benefits"
    version = 2
    columns: ClassVar[Mapping[str, str]] = {
        "panel": "transfer, bias or hallucination",
        "modality": "modality of the learner or model",
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
        "measure": "what is measured",
        "model": "language model, empty for transfer and for controls",
        "title": "name of the learner, model or control",
        "line": "a learner, or a family and objective",
        "recipe": "training, without its seed",
        "parameters": "parameters of the model",
        "value": "the measure",
        "reason": "why a value or an exchange rate is missing",
        "rise": "change of the measure as parameters grow tenfold, within families",
        "rise_low": "low end of its 95% interval",
        "rise_high": "high end of that interval",
        "p": "p of the gain, adjusted for all shares, or of the trend over size",
        "recipes": "recipes that the trend rests on",
        "trend_reason": "why there is no trend",
        "x": "share of the data (transfer), or parameters",
        "y": "gain by transfer, total variation distance, or share of impossible captions",
        "low": "low end of the 95% interval of the gain",
        "high": "high end of that interval",
        "kind": "kind of object",
        "color": "one of the world's colors",
        "guess": "the model's probability of the color",
        "law": "the world's",
        "text": "the first caption of a text that the model wrote, or the whole text",
        "verdict": "possible, impossible or no caption",
        "why": "why it is impossible",
    }

    of: Of = option(
        "all",
        label="Of",
        help="all three, or one of them; colors, texts: what bias and hallucination rest on",
    )
    names: tuple[str, ...] = models_option(
        "learners, or language models (all; of colors and texts the largest)"
    )
    permutations: int = draws_option(999, least=1, help="permutations of sizes within families")
    seed: int = seed_option("seed of the permutations and of sampling")
    samples: int = option(
        256, least=10, most=10_000, help="texts that each model writes, for hallucination"
    )

    def complete(self, study: Study) -> Benefits:
        if self.of == "all":
            if self.names:
                raise InputError("name models together with --of, such as --of transfer")
            return self
        if self.of == "transfer":
            every = [one.model for one in learners(study)]
            said = "learner with transfer, or without it to compare,"
            names = choose_names(self.names, every, said)
        else:
            world_of(study)
            trainings = describe_trainings(study)
            language = trainings[trainings["modality"] == "language"]
            choose_names(self.names, list(language["model"]), "finished language model")
            usual = language[language["varies"] == ""]
            if self.of in ("colors", "texts"):
                usual = usual.sort_values("parameters", kind="stable").tail(1)
            names = self.names or list(usual["model"])
            if not names:
                raise NotApplicableError("no language model finished a training of the usual data")
        return replace(self, names=tuple(sorted(set(names))))

    def answer(self, study: Study) -> Answer:
        if self.of == "all":
            return self._overview(study)
        if self.of == "transfer":
            coded = study.coded().set_index("model")["value"]
            solved = ask(TasksSolved(self.scope), study).set_index("model")["solved"]
            every = [one for one in learners(study) if one.model in self.names]
            table = exchange(every, pd.concat([coded, solved]))
            return Answer(table, transfer_findings(table))
        if self.of in ("colors", "texts"):
            titles = study.models().set_index("model")["title"]
            tables = [
                self._of_model(study, name).assign(model=name, title=titles[name])
                for name in self.names
            ]
            return Answer(pd.concat(tables, ignore_index=True))
        table = with_trends(self._measure(study), draws=self.permutations, seed=self.seed)
        if self.of == "hallucination":
            world = world_of(study)
            checks = [
                {"measure": name, "model": "", "title": title, "value": value, "reason": ""}
                for title, texts in controls(world).items()
                for name, value in shares([world.judge(text).verdict for text in texts]).items()
            ]
            table = pd.concat([table, pd.DataFrame(checks)], ignore_index=True)
        return Answer(table, size_findings(table))

    def _of_model(self, study: Study, model: str) -> pd.DataFrame:
        # transformers takes seconds
        from core.competence.language import guess_colors, sample_texts

        world, encoder = world_of(study), reopen(study.entry(model), choose_device())
        if self.of == "colors":
            return guess_colors(encoder, world)
        texts = sample_texts(encoder, count=self.samples, tokens=TOKENS, seed=self.seed)
        return pd.DataFrame([asdict(world.judge(text)) for text in texts])

    def _measure(self, study: Study) -> pd.DataFrame:
        """Return a row per measure and model; NaN with a reason if a model cannot be measured."""
        models = describe_trainings(study).set_index("model")
        scope = Scope(study.dataset.name)  # no measure depends on which stimuli are studied
        whole = scope.open(study.store)

        def bias(model: str) -> dict[str, float]:
            rows = ask(Benefits(scope, "colors", (model,)), whole)
            kinds = [
                (kind["guess"].to_numpy(float), kind["law"].to_numpy(float))
                for _, kind in rows.groupby("kind", sort=False)
            ]
            return {
                DISTANCE: sum(distance(*one) for one in kinds) / len(kinds),
                AMPLIFICATION: sum(amplification(*one) for one in kinds) / len(kinds),
            }

        def hallucination(model: str) -> dict[str, float]:
            texts = replace(self, scope=scope, of="texts", names=(model,))
            return shares(list(ask(texts, whole)["verdict"]))

        measures, measure = (DISTANCE, AMPLIFICATION), bias
        if self.of == "hallucination":
            measures, measure = (IMPOSSIBLE, NO_CAPTION), hallucination
        rows = []
        for model in tell_each(self.names, "language models measured"):
            values, reason = dict[str, float](), ""
            if not can_measure(study.entry(model)):
                reason = "it has features only, and no model to run"
            elif study.store.text_costs(study.dataset.name, model) is None:
                reason = "it does not predict text from left to right"
            else:
                try:
                    values = measure(model)
                except PlatoscopeError as error:
                    study.store.note_failure(error)
                    reason = str(error)
            about = models.loc[model, ["title", "line", "recipe", "parameters"]]
            rows += [(name, model, *about, values.get(name, np.nan), reason) for name in measures]
        return pd.DataFrame(rows, columns=list(SIZED))

    def _overview(self, study: Study) -> Answer:
        parts, findings, said, reasons = [], list[Finding](), list[str](), list[str]()
        for panel in ("transfer", "bias", "hallucination"):
            try:
                table = ask(Benefits(self.scope, panel), study)
            except PlatoscopeError as error:
                study.store.note_failure(error)
                reasons.append(str(error))
                continue
            if panel == "transfer":
                shown = transfer_verdicts(table)
                said += [one.claim for one in shown]
                rows = table[table["seed"] == MEAN].rename(
                    columns={"share": "x", "gain": "y", "gain_low": "low", "gain_high": "high"}
                )
                rows = rows.assign(
                    title=rows["learner"], line=rows["learner"], p=rows["gain_q"], model=""
                )
            else:
                shown = size_findings(table)[:1]
                said += [_in_words(panel, one) for one in shown if one.expected]
                rows = table[table["measure"].isin([DISTANCE, IMPOSSIBLE]) & (table["model"] != "")]
                rows = rows.rename(columns={"parameters": "x", "value": "y"})
                rows = rows.assign(modality=LANGUAGE.name)
            findings += shown
            parts.append(rows.assign(panel=panel))
        if not any(map(len, parts)):
            raise NotApplicableError("; ".join(dict.fromkeys([NONE, *reasons])))
        table = pd.concat(parts, ignore_index=True).reindex(columns=list(SHOWN))
        return Answer(table, [Finding("; ".join(said)), *findings])

    def plot(self, table: pd.DataFrame) -> Plot:
        if self.of == "all":
            return overview(table)
        if self.of == "texts":
            return super().plot(table)
        if self.of == "colors":
            law = table.drop_duplicates(["kind", "color"])
            law = law.assign(panel="The world's law", probability=law["law"])
            guess = table.assign(panel=table["title"], probability=table["guess"])
            return COLORS.over(pd.concat([law, guess], ignore_index=True))
        if self.of == "transfer":
            scores = {"without": "without", "with_transfer": "with transfer"}
            kept = ["modality", "learner", "events", "seed"]
            long = table.rename(columns=scores).melt(kept, list(scores.values()), "kind", "score")
            return TRANSFER.over(long)
        family = table["line"].str.replace(r" (language|masked)$", "", regex=True)
        plot = BIAS if self.of == "bias" else HALLUCINATION
        return plot.over(table.assign(family=family))


def world_of(study: Study) -> World:
    """Return the world that a study's dataset was made by; raise NotApplicableError without."""
    if study.dataset.world is None:
        raise NotApplicableError(
            "Bias and hallucination need a synthetic dataset, whose true frequencies are known;"
            f" {study.dataset.name!r} has none"
        )
    return study.dataset.world


def distance(guess: Chances, law: Chances) -> float:
    """Return the total variation distance ½ Σ |guess − law|, in [0, 1]; 0 without bias."""
    return float(np.abs(guess - law).sum() / 2)


def amplification(guess: Chances, law: Chances) -> float:
    """Return how much more probability a guess gives to the most common color (all that are equally
    common) than the law does, in [−1, 1].
    """
    common = np.isclose(law, law.max())
    return float((guess - law)[common].sum())


# --- findings ---


def uniform_distance(law: pd.DataFrame) -> float:
    """Return how far uniform colors are from the law, the mean over kinds: bias by chance.

    law: kind, color, law.
    """
    chances = [kind["law"].to_numpy(float) for _, kind in law.groupby("kind", sort=False)]
    return float(np.mean([distance(np.full(len(one), 1 / len(one)), one) for one in chances]))


def _of_data(share: float) -> str:
    return f"{'all' if share == 1 else f'1/{round(1 / share)} of'} the training data"


def transfer_verdicts(table: pd.DataFrame) -> list[Finding]:
    """Return for each kind of learner whether transfer helps, hurts or does neither: at the share
    of the data with the largest gain or loss beyond chance, or else with all the data.
    """
    findings = []
    for _, rows in table[table["seed"] == MEAN].groupby("learner", sort=False):
        row, change = _decisive(rows, rows["gain_q"], rows["gain"]), "has no clear effect on"
        if row["gain_q"] < ALPHA:
            change = "hurts" if row["gain"] < 0 else "helps"
        who = f"{LEARNING[row['modality']]} with {_of_data(row['share'])}"
        gain = _gain(f"{TEACHING[row['modality']]} {change} {who}", row, table)
        findings.append(replace(gain, expected="", adjusted=True))
    return findings or [Finding(NONE)]


def _decisive(rows: pd.DataFrame, q: pd.Series, gains: pd.Series) -> pd.Series:
    """Return the row of the largest gain or loss beyond chance, or else the last one."""
    sure = gains[q < ALPHA].abs()
    return rows.loc[sure.idxmax()] if len(sure) else rows.iloc[-1]


def transfer_findings(table: pd.DataFrame) -> list[Finding]:
    """Return for each learner and share whether transfer helps, and what it is worth in data."""
    units = {"language": "captions per image", "vision": "images per caption"}
    findings = []
    for _, row in table[table["seed"] == MEAN].iterrows():
        who = f"{LEARNING[row['modality']]} with {_of_data(row['share'])}"
        gain = _gain(f"{TEACHING[row['modality']]} helps {who}", row, table)
        worth = Finding(
            f"exchange rate of {who}",
            row["rate"],
            row["rate_low"],
            row["rate_high"],
            unit=units[row["modality"]],
            reason="" if np.isfinite(row["rate"]) else row["reason"],
            n=gain.n,
            over="seeds",
        )
        findings += [gain, worth]
    return findings or [Finding(NONE)]


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
    models, checks = table[table["model"] != ""], table[table["model"] == ""]
    if models["value"].isna().all():
        why = f"{models['title'].iloc[0]}: {models['reason'].iloc[0]}" if len(models) else ""
        return [Finding("No language model here could be measured", reason=why)]
    trends = [
        Finding(
            CLAIMS[row["measure"]],
            row["rise"],
            row["rise_low"],
            row["rise_high"],
            row["p"],
            name="change as parameters grow tenfold",
            digits=3,
            n=int(row["recipes"]),
            over="training setups",
            expected="-",
            reason=row["trend_reason"],
        )
        for _, row in models.drop_duplicates("measure").iterrows()
    ]
    return trends + [
        Finding(f"control: {row['title']}, {row['measure']}", row["value"], unit="%")
        for _, row in checks.dropna(subset="value").iterrows()
    ]


def _in_words(panel: str, found: Finding) -> str:
    """Return a trend over size in a few words: hallucination falls with size (p = .004)."""
    p = f" ({paper_p(found.p)})" if np.isfinite(found.p) else ""
    change = {
        "supported": f"falls with size{p}",
        "contradicted": f"rises with size{p}",
        "open": f"shows no trend with size{p}",
    }
    return f"{panel} {change.get(found.verdict, f'over size is unknown: {found.reason}')}"


def in_short(findings: Sequence[Finding]) -> list[str]:
    """Return the findings of the overview as one sentence without numbers, what is sure first, and
    those that have none as sentences of their own.
    """
    sure, unsure = list[str](), list[str]()
    numbers = [one for one in findings if np.isfinite(one.value)]
    for one in sorted(numbers, key=lambda one: not one.expected):  # trends first
        transfer, none, _ = one.claim.partition(" has no clear effect on ")
        if none or one.verdict in ("open", "unknown"):
            unsure.append(transfer if none else UNSURE[one.claim])
        elif one.verdict == "contradicted":
            sure.append(one.claim.replace("are less", "are more").replace(" less", " more"))
        else:
            sure.append(one.claim)
    told = [*sure, *([f"{listed(unsure)}: no clear effect"] if unsure else [])]
    said = "; ".join(told).replace("language models are", "models are")
    others = [one.line for one in findings if not np.isfinite(one.value)]
    return [*([f"{said[:1].upper()}{said[1:]}."] if said else []), *others]


# --- transfer ---


class Learner(NamedTuple):
    """A training at a share of the data, by its config. teacher: "" without transfer."""

    model: str
    modality: str
    learner: str
    share: float
    seed: int
    teacher: str


def learners(study: Study) -> list[Learner]:
    """Return the trainings that can be compared: those with a teacher, and those of their kind that
    differ in the share of data alone.
    """
    cards = [study.entry(name).card for name in study.models()["model"]]
    every = [one for one in map(learner_of, cards) if one is not None]
    kinds = {one.learner for one in every if one.teacher}
    return [one for one in every if one.learner in kinds]


def learner_of(card: ModelCard) -> Learner | None:
    """Return what a card says of a finished training, None for one that differs from the usual in
    anything but data and teacher.
    """
    config = card.training.get("config") or {}
    if config.get("varies", "") not in ("", "data", "transfer") or not config.get("steps"):
        return None
    if card.training.get("steps") != config["steps"] or config.get("start"):
        return None
    return Learner(
        card.name,
        card.modality,
        " ".join([card.family, str(config.get("size", "")).upper(), card.objective]),
        float(config.get("data", 1.0)),
        int(config.get("seed", 0)),
        config.get("teacher") or "",
    )


def exchange(every: list[Learner], values: pd.Series) -> pd.DataFrame:
    """Return a row for each kind of learner, share and seed with and without transfer, and for the
    mean over the seeds; `Benefits.columns` says what they hold.

    values: how good each model is, by name; higher is better. rate: NaN with a reason if the value
    with transfer lies on no measured part of the curve.
    """
    names = [*EXCHANGED, "seed", "without", "with_transfer"]
    names += ["gain", "gain_low", "gain_high", "gain_p", "gain_q"]
    names += ["rate", "rate_low", "rate_high", "reason"]
    trained = pd.DataFrame(every, columns=list(Learner._fields))
    trained["score"] = trained["model"].map(values).astype(float)
    keys, taught = ["learner", "share", "seed"], trained["teacher"] != ""
    alone = trained[~taught].drop_duplicates(keys, keep="last")
    curves = {
        key: part.set_index("share")["score"].sort_index()
        for key, part in alone.groupby(["learner", "seed"])
    }
    pairs = trained[taught].merge(
        alone[[*keys, "score"]].rename(columns={"score": "without"}), on=keys
    )
    if pairs.empty:
        return pd.DataFrame(columns=names)
    trained_on = the_cave().trained_on
    items: list[Item] = ["caption" if one == "language" else "image" for one in pairs["modality"]]
    events = (pairs["share"] * [trained_on[item] for item in items]).round().astype(int)
    shown = events.clip(upper=trained_on["image"])
    found = [
        equal_share(curve.index.to_numpy(float), curve.to_numpy(float), row.score)
        for row in pairs.itertuples()
        for curve in [curves[row.learner, row.seed]]
    ]
    rates = (np.array([equal for equal, _ in found]) / pairs["share"] - 1) * events / shown
    rows = pairs.rename(columns={"score": "with_transfer"}).assign(
        events=events,
        shown=shown,
        gain=pairs["score"] - pairs["without"],
        rate=rates,
        reason=[reason for _, reason in found],
    )
    tables = []
    for _, of_kind in rows.groupby("learner", sort=False):
        tried = [part.sort_values("seed") for _, part in of_kind.groupby("share")]
        means = pd.DataFrame([_mean(seeds) for seeds in tried])
        means["gain_q"] = adjust(means["gain_p"].to_numpy(float))
        tables += [
            table
            for place, seeds in enumerate(tried)
            for table in (seeds.assign(seed=seeds["seed"].astype(str)), means.iloc[[place]])
        ]
    return pd.concat(tables, ignore_index=True).reindex(columns=names)


def _mean(seeds: pd.DataFrame) -> dict[str, object]:
    """Return the row of the mean over the seeds of a share."""
    row = seeds[list(EXCHANGED)].iloc[0].to_dict()
    for name in ("gain", "rate"):
        ends = t_test(seeds[name].to_numpy(float))
        row |= dict(zip((name, f"{name}_low", f"{name}_high", f"{name}_p"), ends, strict=True))
    reasons = dict.fromkeys(reason for reason in seeds["reason"] if reason)
    missing = int(seeds["rate"].isna().sum())
    return row | {
        "seed": MEAN,
        "without": seeds["without"].mean(),
        "with_transfer": seeds["with_transfer"].mean(),
        "reason": f"{missing} of {len(seeds)} seeds: {', '.join(reasons)}" if missing else "",
    }


def equal_share(
    shares: Float64[np.ndarray, " s"], curve: Float64[np.ndarray, " s"], value: float
) -> tuple[float, str]:
    """Return the share of data at which a curve, linear in the logarithm, reaches a value; NaN with
    a reason if it does so nowhere or, as the curve is flat or bends, at several.
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


# --- size ---


def shares(verdicts: list[str]) -> dict[str, float]:
    """Return the shares of impossible captions, NaN without any caption, and of texts that begin
    with none.
    """
    captions = [one for one in verdicts if one != "no caption"]
    impossible = captions.count("impossible") / len(captions) if captions else np.nan
    return {IMPOSSIBLE: impossible, NO_CAPTION: verdicts.count("no caption") / len(verdicts)}


def controls(world: World) -> dict[str, list[str]]:
    """Return texts whose verdicts are known: real captions, and their words shuffled."""
    events = world.sample("test", CONTROLS)
    real = [world.caption(event, level) for event in events for level in world.levels]
    shuffled = []
    for place, text in enumerate(real):
        dice = Random(place)
        shuffled.append(" ".join(sorted(text.split(" "), key=lambda _: dice.random())))
    return {REAL: real, SHUFFLED: shuffled}


def with_trends(rows: pd.DataFrame, *, draws: int, seed: int) -> pd.DataFrame:
    """Add to the rows of each measure its trend over size, by `recipe_trend`: how much it changes
    as parameters grow tenfold, between training setups of one family, each the mean over its seeds.
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
    return pd.concat(parts, ignore_index=True)


# --- figures ---

SIZE = Axis("parameters", log=True, ticks=(50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000))
KINDS = Palette(
    "kind",
    {"without": "soft", "with transfer": "CLIP"},
    {name: f"{name}, mean and seeds" for name in ("without", "with transfer")},
)
BY_MODALITY = Palette("modality", {name: name for name in LEARNING}, LEARNING)
SHARES = {4.0**-power: f"1/{4**power}" if power else "1" for power in range(5)}
OVERVIEW = Plot(
    "Transfer, bias and hallucination",
    marks=(
        Line("at", "y", color=BY_MODALITY, by="line", mean="at"),
        Dots(
            "at", "y", color=BY_MODALITY, low="low", high="high", card=("<b>{title}</b>", "{y:.3f}")
        ),
    ),
    levels=(Level(0.0, "zero"),),
    empty="Nothing here was trained with transfer, and no language model could be measured.",
)
HEADS = {"transfer": "Transfer", "bias": "Bias", "hallucination": "Hallucination"}
MEASURED = {  # on the y axis
    "transfer": Axis("score with − without transfer", signed=True),
    "bias": Axis("distance from true colors (0–1)"),
    "hallucination": Axis("impossible captions written", percent=True),
}
LEFT, RIGHT, ABOVE = 0.5, 1.3, 1.1  # of the data's ends: room for names
ASIDE = 1.08  # times the share: intervals of vision models stand next to those of language models
AREAS = ((180.0, 300.0), (250.0, 320.0))  # of a panel, in pixels


def overview(table: pd.DataFrame, chance: float = np.nan) -> Plot:
    """Draw the three panels; lines over size have their family's name. chance: bias by chance."""
    x, y = {"transfer": Axis("share of training data", log=True, ticks=SHARES)}, MEASURED.copy()
    aside = (table["panel"] == "transfer") & (table["modality"] != LANGUAGE.name)
    table = table.assign(at=table["x"].where(~aside, table["x"] * ASIDE))
    names = []
    for panel in ("bias", "hallucination"):
        rows = table[table["panel"] == panel].dropna(subset=["x", "y"])
        x[panel] = SIZE
        if rows.empty:
            continue
        low, high = LEFT * rows["x"].min(), RIGHT * rows["x"].max()
        x[panel] = replace(SIZE, range=(low, high))
        tops = [rows["y"].max(), chance if panel == "bias" else np.nan]
        y[panel] = replace(y[panel], range=(0.0, ABOVE * float(np.nanmax(tops)) or 1.0))
        means = rows.groupby(["line", "x"], as_index=False)["y"].mean().assign(panel=panel)
        first = means.drop_duplicates("line")
        named = first.assign(name=first["line"].map(family_of), size=6.0)
        marked = pd.concat([rows.assign(name="", size=9.0), named], ignore_index=True)
        across = pd.DataFrame({"line": "chance", "x": [low, high], "y": chance})
        lines = pd.concat([means, across]).dropna(subset="y") if panel == "bias" else means
        names.append(Labels("x", "y", "{name}", "size", table=marked, lines=lines, desk=AREAS))
    return replace(
        OVERVIEW,
        marks=(*OVERVIEW.marks, *names),
        facet=Facet("panel", HEADS, note=_note),
        x=x,
        y=y,
        levels=(
            *OVERVIEW.levels,
            Level("chance", table=pd.DataFrame({"panel": ["bias"], "chance": [chance]})),
        ),
    ).over(table)


def family_of(line: str) -> str:
    return re.sub(r" (masked )?language$", "", line)


def _note(rows: pd.DataFrame) -> str:
    """Return a panel's tests, in two lines."""
    if rows["panel"].iloc[0] != "transfer":
        rise, p = rows[["rise", "p"]].iloc[0]
        if not np.isfinite(rise):
            return ""
        return f"per tenfold parameters<br>{_signed(rise)}, {paper_p(p)}"
    lines = []
    for _, of_kind in rows.dropna(subset="y").groupby("line", sort=False):
        row = _decisive(of_kind, of_kind["p"], of_kind["y"])
        what = TEACHING[row["modality"]].removeprefix("transfer ")
        q = f", {paper_p(row['p'], 'q')}" if np.isfinite(row["p"]) else ""
        share = "all" if row["x"] == 1 else f"{SHARES.get(row['x'], row['x'])} of"
        lines.append(f"{what}, {share} data: {_signed(row['y'])}{q}")
    return "<br>".join(lines)


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−").replace("+0.000", "0.000")


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
    empty="No learner was trained both with and without transfer.",
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
    facet=Facet("panel", share="xy"),
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
