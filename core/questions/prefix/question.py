"""How many bits of a caption a frozen vision model saves a frozen language model through one linear
map.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from jaxtyping import Float64

from core.competence.opened import entries_to_measure, reopen
from core.competence.records import can_measure
from core.errors import InputError, PlatoscopeError
from core.figures.grammar import Axis, Dots, Facet, Fixed, Plot
from core.modalities import VISION, Item
from core.options import models_option, option, part
from core.questions.alignment.question import Alignment
from core.questions.asking import ask
from core.questions.competence.question import TasksSolved
from core.questions.finding import Finding
from core.questions.prefix.lessons import Lessons, choose_level
from core.questions.question import Answer, StudyQuestion
from core.settings import choose_device
from core.statistics.intervals import crossed_mean, grid_correlation
from core.statistics.nulls import ALPHA, adjust
from core.study.models import lines, reads
from core.study.spaces import by_size, default_spaces, language_of_sizes
from core.study.study import Study

PER_BYTE = "bits per byte"
PREDICTORS = {
    "alignment": "alignment of the two models",
    "solved": "share of tasks that the vision model solves",
    "competence": "1 − bits per byte of the captions",
}
CARD = (
    "<b>{y_title} → {x_title}</b>",
    "own image {own:.3f}, another's {other:.3f}, none {without:.3f}",
    "saved {saved:.3f} [{low:.3f}, {high:.3f}][[, {q:p:q}]]",
    "{per_caption:.1f} bits per caption",
)


@dataclass(frozen=True)
class PrefixBits(StudyQuestion):
    """Can a language model read an image through one linear map?"""

    command = "prefix bits"
    version = 3
    device = "auto"
    shown = (
        *("x", "y", "own", "other", "without", "saved", "low", "high", "p", "q"),
        *("per_caption", "alignment", "competence", "solved"),
    )
    columns: ClassVar[Mapping[str, str]] = {
        "x": "language model",
        "y": "vision model",
        "own": "bits per byte of the caption after its own image, mean over captions",
        "other": "the same after another stimulus's image by the same map",
        "without": "the same after a prefix of equal length that was learned without images",
        "saved": "without − own, bits per byte: positive if the image helps",
        "low": "low end of its 95% interval over stimuli and trainings",
        "high": "high end of that interval",
        "p": "p of what is saved",
        "q": "p adjusted over the pairs",
        "misled": "other − without, bits per byte",
        "misled_low": "low end of its 95% interval",
        "misled_high": "high end of that interval",
        "per_caption": "saved, in bits of a whole caption",
        "alignment": "alignment of the two models",
        "competence": "1 − bits per byte of the captions, language model",
        "solved": "share of tasks that the vision model solves",
        "tokens": "length of the prefix",
        "trainings": "trainings of the map",
        "captions": "captions that are coded",
        "reason": "why the pair cannot be measured",
        "line_x": "line of recipes of the language model",
        "line_y": "line of recipes of the vision model",
        "x_title": "name of the language model",
        "y_title": "name of the vision model",
        "group": "objective of the vision model",
    }

    x: tuple[str, ...] = models_option(
        "causal language models that read the prefix (the largest of each family in the size"
        " of the vision models)",
        name="x",
        label="Language models",
    )
    y: tuple[str, ...] = models_option(
        "vision models that see the image (one of each of up to four objectives)",
        name="y",
        label="Vision models",
    )
    shuffled: bool = option(
        False,
        label="Train on shuffled images",
        help="train on images that are not the captions' own: what such a map saves is chance",
    )
    lessons: Lessons = part(Lessons)

    def complete(self, study: Study) -> PrefixBits:
        level = choose_level(study, self.lessons.level)
        y = _named(study, self.y, "image") or usual_vision(study)
        x = _named(study, self.x, "caption") or usual_language(study, y)
        if not x or not y:
            lacking = [*([] if y else ["vision model"]), *([] if x else ["causal language model"])]
            raise InputError(
                "an image prefix runs a vision model and a causal language model, and over"
                f" {study.dataset.name!r} no {' and no '.join(lacking)} was embedded (imported"
                " features are no model to run); embed one of each (platoscope embed)"
            )
        for name in x:
            if not _is_causal(study, name):
                raise InputError(
                    f"{name} does not predict text from left to right, so it can code no caption"
                    " after an image; name a causal language model"
                )
        return replace(self, x=x, y=y, lessons=replace(self.lessons, level=level))

    def answer(self, study: Study) -> Answer:
        # refused before any map is trained: what is not at hand now may be later
        for name in (*self.x, *self.y):
            reopen(study.entry(name), choose_device(study.device))
        rows = []
        for x in self.x:
            for y in self.y:
                try:
                    rows.append({"x": x, "y": y, **_measure(self, x, y, study)})
                except PlatoscopeError as error:
                    study.store.note_failure(error)
                    rows.append({"x": x, "y": y, "reason": str(error)})
        table = pd.DataFrame(rows).reindex(columns=list(self.columns))
        table["q"] = adjust(table["p"].to_numpy(float))
        aligned = ask(Alignment(self.scope, x=self.x, y=self.y, axis=""), study)
        scores = aligned.set_index(["model_x", "model_y"])["score"]
        skills = study.coded().set_index("model")["value"]
        solved = ask(TasksSolved(self.scope), study).set_index("model")["solved"]
        models = study.models()
        about, kin = models.set_index("model"), lines(models)
        table = table.assign(
            line_x=table["x"].map(kin),
            line_y=table["y"].map(kin),
            alignment=scores.reindex(pd.MultiIndex.from_frame(table[["x", "y"]])).to_numpy(),
            competence=skills.reindex(table["x"]).to_numpy(),
            solved=solved.reindex(table["y"]).to_numpy(),
            x_title=table["x"].map(about["title"]),
            y_title=table["y"].map(about["title"]),
            group=table["y"].map(about["group"]),
        )
        return Answer(table, bits_findings(table, shuffled=self.shuffled))

    def plot(self, table: pd.DataFrame) -> Plot:
        ends = {"own_low": table["without"] - table["high"]}
        ends |= {"own_high": table["without"] - table["low"]}
        drawn = table.assign(**ends)
        measured = drawn[drawn["saved"].notna()]
        dots = Dots("own", "y_title", rows="saved == saved", size=11)
        return Plot(
            "Bits of a caption after an image",
            marks=(
                replace(dots, x="without", symbol="line-ns-open", name="no image, same length"),
                replace(dots, x="other", symbol="x-thin-open", name="another's image"),
                replace(
                    dots,
                    color=Fixed("ember"),
                    symbol="circle",
                    left="own_low",
                    right="own_high",
                    name="its own image",
                    card=CARD,
                    ids="{y}, {x}",
                    select=("x", "y"),
                ),
            ),
            x=Axis(PER_BYTE),
            y=Axis(names=tuple(dict.fromkeys(measured["y_title"])) or True),
            facet=Facet("x_title", columns=3, share="xy"),
            empty="No pair could be measured: {reason}",
            row=30,
        ).over(drawn)


@dataclass(frozen=True)
class PrefixPair(StudyQuestion):
    """What does the image of one vision model tell one language model?

    The slow step of `PrefixBits`, kept for each pair.
    """

    command = "prefix pair"
    version = 2
    listed = False
    device = "auto"

    x: str = option("", name="x", label="Language model", metavar="M", help="the language model")
    y: str = option("", name="y", label="Vision model", metavar="M", help="the vision model")
    shuffled: bool = option(
        False, label="Train on shuffled images", help="train on images of other captions"
    )
    lessons: Lessons = part(Lessons)

    def answer(self, study: Study) -> Answer:
        from core.questions.prefix.training import measure_pair  # timm takes seconds

        return Answer(measure_pair(study, self.x, self.y, self.lessons, self.shuffled))


@dataclass(frozen=True)
class WithoutImage(StudyQuestion):
    """What does a prefix without an image tell one language model?

    The slow step of `PrefixBits` that pairs of one language model share.
    """

    command = "prefix without"
    version = 2
    listed = False
    device = "auto"

    x: str = option("", name="x", label="Language model", metavar="M", help="the language model")
    tokens: int = option(1, least=1, most=1_024, label="Tokens", help="length of the prefix")
    lessons: Lessons = part(Lessons)

    def answer(self, study: Study) -> Answer:
        from core.questions.prefix.training import measure_without  # timm takes seconds

        return Answer(measure_without(study, self.x, self.tokens, self.lessons))


def usual_vision(study: Study) -> tuple[str, ...]:
    """Return the vision models that are meant if none are named: the usual ones, of those that
    can be opened again, or else the largest that can.
    """
    names = [space.rpartition(":")[0] for space in default_spaces(study)]
    large = by_size(study, falling=True)
    seeing = large.loc[reads(large, "image"), "model"]
    can = [name for name in seeing if can_measure(study.entry(name))]
    return tuple(name for name in names if name in can) or tuple(can[:1])


def usual_language(study: Study, vision: Sequence[str]) -> tuple[str, ...]:
    """Return the language models that are meant if none are named: the usual ones in the size of
    some vision models, of those that can be opened again and are causal.
    """
    return tuple(
        name
        for name in language_of_sizes(study, vision)
        if can_measure(study.entry(name)) and _is_causal(study, name)
    )


def _named(study: Study, names: Sequence[str], item: Item) -> tuple[str, ...]:
    if names:
        entries_to_measure(study.store, study.dataset.name, names, item)
    return tuple(dict.fromkeys(names))


def _is_causal(study: Study, name: str) -> bool:
    return study.store.text_costs(study.dataset.name, name) is not None


def _measure(question: PrefixBits, x: str, y: str, study: Study) -> dict[str, Any]:
    scope, lessons = question.scope, question.lessons
    pair = ask(PrefixPair(scope, x, y, question.shuffled, lessons), study)
    tokens = int(pair["tokens"].iloc[0])
    plain = ask(WithoutImage(scope, x, tokens, lessons), study)

    def wide(table: pd.DataFrame, name: str) -> Float64[np.ndarray, "trainings n"]:
        return table[name].to_numpy(float).reshape(table["training"].nunique(), -1)

    own, other, without = wide(pair, "own"), wide(pair, "other"), wide(plain, "without")
    sizes = wide(pair, "bytes")
    saved, misled = (
        crossed_mean(bits / sizes, fixed="rows" if len(sizes) == 1 else "")
        for bits in (without - own, other - without)
    )
    return {
        "own": float((own / sizes).mean()),
        "other": float((other / sizes).mean()),
        "without": float((without / sizes).mean()),
        "saved": saved.value,
        "low": saved.low,
        "high": saved.high,
        "p": saved.p,
        "misled": misled.value,
        "misled_low": misled.low,
        "misled_high": misled.high,
        "per_caption": float((without - own).mean()),
        "tokens": tokens,
        "trainings": question.lessons.seeds,
        "captions": sizes.shape[1],
        "reason": "",
    }


def bits_findings(table: pd.DataFrame, *, shuffled: bool = False) -> list[Finding]:
    """Return whether images save bits, whether others' mislead, and what saving depends on."""
    measured = table[table["saved"].notna()]
    reasons = dict.fromkeys(table.loc[table["saved"].isna(), "reason"])
    why = "; ".join(str(reason).rstrip(".") for reason in reasons)
    if measured.empty:
        return [Finding("No pair could be measured", reason=why)]
    sure = measured[measured["q"] <= ALPHA]
    helped, hurt = int((sure["saved"] > 0).sum()), int((sure["saved"] < 0).sum())
    best = measured.sort_values("saved", kind="stable").iloc[-1]
    check = "These maps were trained on images of other captions, a check of chance. "
    count = len(measured)
    found = [
        Finding(
            "Through one linear map the image saves bits of the caption",
            best["saved"],
            best["low"],
            best["high"],
            best["q"],
            name="most saved",
            unit=PER_BYTE,
            digits=3,
            expected="" if shuffled else "+",
            note=(check if shuffled else "")
            + f"It saves bits in {helped} of {count} pairs and costs bits in {hurt} (q ≤"
            f" .05). Most, {best['per_caption']:.1f} bits per caption, are saved from"
            f" {best['y_title']} to {best['x_title']}.",
            n=count,
            over="pairs",
        ),
        Finding(
            "Another stimulus's image costs more bits than a prefix as long without images",
            measured["misled"].mean(),
            name="mean",
            unit=PER_BYTE,
            digits=3,
            note=f"The interval lies above 0 in {int((measured['misled_low'] > 0).sum())} of them.",
            n=count,
            over="pairs",
        ),
    ]
    for name, text in PREDICTORS.items():
        grids = [measured.pivot(index="x", columns="y", values=each) for each in (name, "saved")]
        kin = [
            measured.drop_duplicates(side).set_index(side)[f"line_{side}"].reindex(names).tolist()
            for side, names in (("x", grids[0].index), ("y", grids[0].columns))
        ]
        x, y = (grid.to_numpy(float) for grid in grids)
        rho, p = grid_correlation(x, y, (kin[0], kin[1]), draws=4_999, seed=0)
        if np.isfinite(p):
            claim = f"More is saved with a higher {text}"
            found.append(Finding(claim, rho, p=p, name="ρ", expected="+", n=count, over="pairs"))
    if missing := len(table) - len(measured):
        found.append(Finding(f"Pairs that could not be measured: {missing}", reason=why))
    return found


def saving_plot(table: pd.DataFrame) -> Plot:
    """Return what images save against alignment and competence, a dot per pair in the hue of its
    vision model. table: rows of `PrefixBits`.
    """
    kept = table[table["saved"].notna()]
    panels = [
        kept.assign(panel=name, value=kept[name]) for name in PREDICTORS if kept[name].nunique() > 1
    ]
    return Plot(
        "Bits saved by the image, against alignment and competence",
        marks=(
            Dots(
                "value",
                "saved",
                color="group",
                modality=VISION,
                size=10,
                low="low",
                high="high",
                card=CARD,
                ids="{y}, {x}",
                select=("x", "y"),
            ),
        ),
        x={name: Axis(text) for name, text in PREDICTORS.items()},
        y=Axis(f"{PER_BYTE} saved"),
        facet=Facet("panel", head=None),
        empty="Fewer than two pairs differ in what saving could depend on.",
        height=340,
    ).over(pd.concat(panels) if panels else kept.head(0).assign(panel="", value=np.nan))
