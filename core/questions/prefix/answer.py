"""How many bits of a caption a frozen vision model tells a frozen language model through one linear
map, and what the language model writes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from jaxtyping import Float64

from core.competence.opened import reopen
from core.errors import PlatoscopeError
from core.progress import Progress
from core.questions.alignment.question import Alignment
from core.questions.asking import ask
from core.questions.competence.question import TasksSolved
from core.questions.prefix.findings import bits_findings, caption_findings
from core.questions.prefix.lessons import texts_of
from core.questions.prefix.naming import complete_bits
from core.questions.prefix.question import PrefixBits, PrefixCaptions, PrefixPair, WithoutImage
from core.questions.registry import Answer, declare
from core.settings import choose_device
from core.statistics.intervals import crossed_mean
from core.statistics.nulls import adjust
from core.stimuli.worlds import World
from core.study.models import lines
from core.study.study import Study

COLUMNS = (
    "x",
    "y",
    "own",
    "other",
    "without",
    "saved",
    "low",
    "high",
    "p",
    "q",
    "misled",
    "misled_low",
    "misled_high",
    "per_caption",
    "alignment",
    "competence",
    "solved",
    "tokens",
    "trainings",
    "captions",
    "reason",
)

Q = TypeVar("Q", PrefixCaptions, PrefixPair)
Row = dict[str, Any]
Table = Float64[np.ndarray, "trainings n"]


def compare(question: PrefixBits, study: Study, report: Progress | None) -> pd.DataFrame:
    """Return a row per pair with COLUMNS, in bits per byte of the caption, means over captions.

    own, other, without: behind its own image, behind another stimulus's image by the same map, and
    behind a prefix as long that was learned without images. saved: without − own, positive where
    the image helps; misled: other − without. Intervals, p: see `crossed_mean`; q: p adjusted over
    the pairs. per_caption: saved, in bits of a whole caption. NaN with a reason for a pair that
    cannot be measured, such as captions with no room behind so many tokens. A model that cannot be
    opened is refused before any map is trained: what is not at hand now may be later, and answers
    are kept.
    """
    for name in (*question.x, *question.y):
        reopen(study.entry(name), choose_device(study.device))
    rows = []
    for x in question.x:
        for y in question.y:
            try:
                rows.append({"x": x, "y": y, **_measure(question, x, y, study, report)})
            except PlatoscopeError as error:
                study.store.note_failure(error)
                rows.append({"x": x, "y": y, "reason": str(error)})
    table = pd.DataFrame(rows).reindex(columns=list(COLUMNS))
    table["q"] = adjust(table["p"].to_numpy(float))
    return _beside(table, question, study)


def _measure(question: PrefixBits, x: str, y: str, study: Study, report: Progress | None) -> Row:
    scope, lessons = question.scope, question.lessons
    pair = ask(PrefixPair(scope, x, y, question.shuffled, lessons), study, report)
    plain = ask(_without(question, x, pair), study, report)
    bits: dict[str, Table] = {
        name: _wide(table, name)
        for table, name in ((pair, "own"), (pair, "other"), (plain, "without"))
    }
    sizes = _wide(pair, "bytes")
    saved, misled = (
        crossed_mean((one - other) / sizes, fixed="rows" if len(sizes) == 1 else "")
        for one, other in ((bits["without"], bits["own"]), (bits["other"], bits["without"]))
    )
    return {
        **{name: float((each / sizes).mean()) for name, each in bits.items()},
        "saved": saved.value,
        "low": saved.low,
        "high": saved.high,
        "p": saved.p,
        "misled": misled.value,
        "misled_low": misled.low,
        "misled_high": misled.high,
        "per_caption": float((bits["without"] - bits["own"]).mean()),
        "tokens": int(pair["tokens"].iloc[0]),
        "trainings": lessons.seeds,
        "captions": sizes.shape[1],
        "reason": "",
    }


def _without(question: PrefixBits | PrefixCaptions, x: str, pair: pd.DataFrame) -> WithoutImage:
    """Return the question about a prefix without an image, as long as that of a pair."""
    return WithoutImage(question.scope, x, int(pair["tokens"].iloc[0]), question.lessons)


def _wide(table: pd.DataFrame, name: str) -> Table:
    """Return a column as a matrix, a row per training."""
    wide: np.ndarray = table[name].to_numpy(float).reshape(table["training"].nunique(), -1)
    return wide


def _beside(table: pd.DataFrame, question: PrefixBits, study: Study) -> pd.DataFrame:
    """Put beside each pair its alignment, how competent both models are, and of which lines."""
    aligned = ask(Alignment(question.scope, x=question.x, y=question.y, axis=""), study)
    scores = aligned.set_index(["model_x", "model_y"])["score"]
    skills = study.coded().set_index("model")["value"]
    solved = ask(TasksSolved(question.scope), study).set_index("model")["solved"]
    pairs = pd.MultiIndex.from_frame(table[["x", "y"]])
    kin = lines(study.models())
    return table.assign(
        line_x=table["x"].map(kin),
        line_y=table["y"].map(kin),
        alignment=scores.reindex(pairs).to_numpy(),
        competence=skills.reindex(table["x"]).to_numpy(),
        solved=solved.reindex(table["y"]).to_numpy(),
    )


declare(
    PrefixBits,
    Answer(
        compare,
        version=2,
        complete=complete_bits,
        findings=bits_findings,
        shown=COLUMNS[:10] + COLUMNS[13:17],
    ),
)


def complete_pair(question: Q, study: Study) -> Q:
    """Name both models and the caption level; raises as `complete_bits`."""
    both = PrefixBits(
        question.scope,
        x=(question.x,) if question.x else (),
        y=(question.y,) if question.y else (),
        lessons=question.lessons,
    )
    whole = complete_bits(both, study)
    return replace(question, x=whole.x[0], y=whole.y[0], lessons=whole.lessons)


def measure_one(question: PrefixPair, study: Study, report: Progress | None) -> pd.DataFrame:
    """Train maps between two models and measure them; see `measure_pair`."""
    from core.questions.prefix.pairs import measure_pair  # timm takes seconds

    return measure_pair(question, study, report)


def measure_plain(question: WithoutImage, study: Study, report: Progress | None) -> pd.DataFrame:
    """Train prefixes without images and measure them; see `measure_without`."""
    from core.questions.prefix.pairs import measure_without  # as above

    return measure_without(question, study, report)


declare(PrefixPair, Answer(measure_one, version=2, complete=complete_pair))
declare(WithoutImage, Answer(measure_plain, version=2))


def show_captions(question: PrefixCaptions, study: Study, report: Progress | None) -> pd.DataFrame:
    """Return a row per measured stimulus: index, caption, what the first training writes behind its
    image (written) and without an image, the likeliest token each time.

    Of the Cave texts are cut after their first caption, and named, there and elsewhere count the
    things that it names, those that are in the image, and those that are in the image of the
    stimulus before it, which is chance.
    """
    lessons = question.lessons
    pair_question = PrefixPair(question.scope, question.x, question.y, question.shuffled, lessons)
    pair = ask(pair_question, study, report)
    plain = ask(_without(question, question.x, pair), study, report)
    first = pair[pair["training"] == 0]
    table = pd.DataFrame(
        {
            "index": first["index"].to_numpy(),
            "caption": list(texts_of(study, lessons)),
            "written": first["written"].to_list(),
            "without": plain["written"].iloc[0],
        }
    )
    world = study.dataset.world
    return _with_truth(table, study, world) if world else table


def _with_truth(table: pd.DataFrame, study: Study, world: World) -> pd.DataFrame:
    """Add how many noun phrases a caption has, and how many name a thing that is there, or that is
    in another image.
    """
    cut = table.assign(
        **{
            name: [world.judge(text.strip()).text for text in table[name]]
            for name in ("written", "without")
        }
    )
    stimuli = study.store.stimuli(study.dataset.name)
    columns = [name for name in stimuli if str(name).startswith("kind_")]
    things = stimuli.loc[cut["index"], columns].to_numpy()
    kinds = [{str(kind) for kind in row if isinstance(kind, str)} for row in things]
    named = [world.named(text) for text in cut["written"]]

    def count(others: int) -> list[int]:
        return [
            sum(not phrase.isdisjoint(kinds[place - others]) for phrase in phrases)
            for place, phrases in enumerate(named)
        ]

    return cut.assign(named=[len(one) for one in named], there=count(0), elsewhere=count(1))


declare(
    PrefixCaptions,
    Answer(
        show_captions,
        version=1,
        complete=complete_pair,
        findings=caption_findings,
    ),
)
