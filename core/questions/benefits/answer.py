"""What better models buy: transfer between modalities, less bias, fewer inventions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from random import Random
from typing import TypeVar

import pandas as pd

from core.cave.captions import LEVELS, describe
from core.cave.events import events
from core.cave.reading import TOKENS, judge, judge_all
from core.competence.language.bias import amplification, distance, guess_colors
from core.competence.language.sampling import sample_texts
from core.competence.opened import reopen
from core.encoders.encoder import Encoder
from core.errors import NotApplicableError
from core.progress import Progress
from core.questions.asking import ask
from core.questions.benefits.findings import (
    bias_findings,
    hallucination_findings,
    transfer_findings,
)
from core.questions.benefits.question import (
    Bias,
    Hallucination,
    ModelCaptions,
    ModelColors,
    Transfer,
)
from core.questions.benefits.sizes import measure_models, with_trends
from core.questions.benefits.transfer import exchange, learners
from core.questions.competence.question import TasksSolved
from core.questions.registry import Answer, declare
from core.settings import choose_device
from core.study.parts import Scope
from core.study.study import Study
from core.study.trainings import choose_names, describe_trainings

S = TypeVar("S", Bias, Hallucination)
M = TypeVar("M", ModelColors, ModelCaptions)
DISTANCE, AMPLIFICATION = "distance from the law", "amplification"
IMPOSSIBLE, NO_CAPTION = "impossible captions", "no caption"
REAL, SHUFFLED = "captions of held-out events", "the same with their words shuffled"
_CONTROLS = 64  # held-out events, told at every density


def complete_transfer(question: Transfer, study: Study) -> Transfer:
    """Name the learners that can be compared where none are named; raises UnknownNameError for
    models that are none.
    """
    names = choose_names(
        question.names,
        [one.model for one in learners(study)],
        "learner with transfer, or without it to compare,",
    )
    return replace(question, names=tuple(sorted(set(names))))


def compare(question: Transfer, study: Study, _: Progress | None) -> pd.DataFrame:
    """Return what transfer is worth to each kind of learner; see `exchange`.

    Language models are measured by 1 − bits per byte of the captions, vision models by the share of
    tasks they solve.
    """
    coded = study.coded().set_index("model")["value"]
    solved = ask(TasksSolved(question.scope), study).set_index("model")["solved"]
    every = [one for one in learners(study) if one.model in question.names]
    return exchange(every, pd.concat([coded, solved]))


declare(
    Transfer,
    Answer(
        compare,
        version=2,
        complete=complete_transfer,
        findings=transfer_findings,
    ),
)


def complete_models(question: S, study: Study) -> S:
    """Name the language models that finished a usual training where none are named; raises
    NotApplicableError over a dataset that is not the Cave, and for models that are no such.
    """
    _need_law(study)
    trainings = describe_trainings(study)
    language = trainings[trainings["modality"] == "language"]
    choose_names(question.names, list(language["model"]), "finished language model")
    names = question.names or language.loc[language["varies"] == "", "model"]
    return replace(question, names=tuple(sorted(set(names))))


def _need_law(study: Study) -> None:
    if not study.dataset.has_probes:
        raise NotApplicableError(
            "bias and hallucination are measured against the law that a world is made by, and"
            f" nobody knows that of {study.dataset.name!r}; ask over the Cave"
        )


def weigh(question: Bias, study: Study, report: Progress | None) -> pd.DataFrame:
    """Return how far each model's expectations of color are from the world's law, with the trend
    over size; see `with_trends`.

    Measures: the mean over kinds of the total variation distance, in [0, 1], and of the
    amplification, in [−1, 1]; 0 of both is without bias.
    """
    scope, whole = _whole(study)

    def measure(model: str) -> dict[str, float]:
        rows = ask(ModelColors(scope, model), whole)
        kinds = [
            (kind["guess"].to_numpy(float), kind["law"].to_numpy(float))
            for _, kind in rows.groupby("kind", sort=False)
        ]
        return {
            DISTANCE: sum(distance(*one) for one in kinds) / len(kinds),
            AMPLIFICATION: sum(amplification(*one) for one in kinds) / len(kinds),
        }

    rows = measure_models(study, question.names, (DISTANCE, AMPLIFICATION), measure, report)
    return with_trends(rows, draws=question.permutations, seed=question.seed)


declare(
    Bias,
    Answer(
        weigh,
        version=1,
        complete=complete_models,
        findings=bias_findings,
    ),
)


def check(question: Hallucination, study: Study, report: Progress | None) -> pd.DataFrame:
    """Return how much of what each model writes no event can be, with the trend over size.

    Measures, in [0, 1]: of the texts that begin with a caption, the share whose caption is
    impossible; of all texts, the share that begin with none. Last come two controls, without a
    model: real captions of held-out events, and the same with their words shuffled.
    """
    scope, whole = _whole(study)

    def measure(model: str) -> dict[str, float]:
        captions = ModelCaptions(scope, model, question.samples, question.seed)
        return shares(ask(captions, whole)["verdict"])

    rows = measure_models(study, question.names, (IMPOSSIBLE, NO_CAPTION), measure, report)
    table = with_trends(rows, draws=question.permutations, seed=question.seed)
    checks = [
        {"measure": name, "model": "", "title": title, "value": value, "reason": ""}
        for title, texts in controls().items()
        for name, value in shares(pd.Series([judge(text).verdict for text in texts])).items()
    ]
    return pd.concat([table, pd.DataFrame(checks)], ignore_index=True)


def shares(verdicts: pd.Series) -> dict[str, float]:
    """Return the shares of impossible captions, NaN where there is no caption, and of texts without
    one.
    """
    captions = verdicts[verdicts != "no caption"]
    return {
        IMPOSSIBLE: float((captions == "impossible").mean()),
        NO_CAPTION: float((verdicts == "no caption").mean()),
    }


declare(
    Hallucination,
    Answer(
        check,
        version=1,
        complete=complete_models,
        findings=hallucination_findings,
    ),
)


def controls() -> dict[str, list[str]]:
    """Return texts whose verdicts are known: real captions, and their words shuffled."""
    real = [describe(event, level) for event in events("test", _CONTROLS) for level in LEVELS]
    return {REAL: real, SHUFFLED: list(_shuffled(real))}


def _shuffled(texts: list[str]) -> Iterator[str]:
    for place, text in enumerate(texts):
        dice = Random(place)
        yield " ".join(sorted(text.split(" "), key=lambda _: dice.random()))


def _whole(study: Study) -> tuple[Scope, Study]:
    """Return the whole dataset, since no measure depends on which of its stimuli are studied."""
    scope = Scope(study.dataset.name)
    return scope, scope.open(study.store)


def complete_model(question: M, study: Study) -> M:
    """Return the question; raises NotApplicableError over a dataset that is not the Cave."""
    _need_law(study)
    return question


def _open(model: str, study: Study) -> Encoder:
    return reopen(study.entry(model), choose_device())


def expect(question: ModelColors, study: Study, _: Progress | None) -> pd.DataFrame:
    """Return the model's and the world's probability of each color of each kind; see
    `guess_colors`.
    """
    return guess_colors(_open(question.model, study))


declare(ModelColors, Answer(expect, version=1, complete=complete_model))


def write(question: ModelCaptions, study: Study, _: Progress | None) -> pd.DataFrame:
    """Return the first caption of each text that the model writes: text, verdict, why."""
    encoder = _open(question.model, study)
    texts = sample_texts(encoder, count=question.samples, tokens=TOKENS, seed=question.seed)
    return pd.DataFrame([asdict(one) for one in judge_all(texts)])


declare(ModelCaptions, Answer(write, version=1, complete=complete_model))
