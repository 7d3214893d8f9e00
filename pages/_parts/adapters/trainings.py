"""Adapters trained while the page is looked at, or loaded from a file; nothing is lost when a
training is stopped or left.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from core.errors import FeatureError, PlatoscopeError
from core.figures.numbers import counted
from core.questions.adapters import figures
from core.questions.adapters.course import follow
from core.questions.adapters.findings import stopped_words
from core.questions.adapters.lesson import Lesson, Space
from core.questions.adapters.maps import files
from core.questions.adapters.maps.model import DEFAULTS, Adapters, fitting_of, settings_of, split
from core.questions.adapters.provenance import Provenance, adapters_recipe, check_adapters
from core.questions.adapters.question import Adaptation, Course
from core.recipe import Recipe
from core.settings import is_read_only
from core.study.models import usual
from pages._parts.adapters import lessons
from pages._shared import experiment, exportbar, frame, queries
from pages._shared.experiment import Look, Run
from pages._shared.queries import Place

MOST_HELD = 8  # trainings of one visitor
MOST_MEGABYTES = 200
READING = """The loss falls as the encoders' vectors of one stimulus come
nearer to each other than to those of other stimuli. It starts where canonical correlation ends,
unless the start is random. Kept are the adapters by which validation stimuli come highest in each
other's lists: those of the start unless others lead it by two standard errors, which in up to
{passes} passes can happen by chance. Training ends after {patience} passes without better ones.
Recall and alignment are theirs, on the {validation:,} validation stimuli; what counts are the
{test:,} test stimuli below. This curve shows alignment with {reference}, measured as it was chosen
when the training began: {measured}."""
SEEN = """After {last} the best adapters are those of pass {epoch:.0f}:
validation loss {validation:.3f}, recall at 10 of {recall_10:.2f} (chance {chance:.2f}),
alignment of {alignment:.3f}."""


@dataclass
class Training:
    """Adapters, the best so far, and the question they were begun or loaded for.

    course: of the training, None for those that came in a file. passes: that were made; of a file,
    those it was `stopped` after.
    """

    question: Adaptation
    adapters: Adapters | None = None
    course: experiment.Experiment | None = None
    passes: int | None = None

    @property
    def stopped(self) -> int | None:
        """Return the passes that were made where the training did not come to its end; None where
        it did.
        """
        whole = self.course and self.course.state == "done" and not self.course.error
        return None if whole else self.passes


def key_of(at: Place, question: Adaptation) -> tuple[Any, ...]:
    """Return what adapters depend on."""
    return at, question.spaces, question.fitting, question.pairs, question.seed


def held() -> dict[tuple[Any, ...], Training]:
    """Return this visitor's trainings by what they depend on."""
    return st.session_state.setdefault("trainings", {})


def show(at: Place, question: Adaptation, lesson: Lesson) -> Training | None:
    """Draw the button that trains and, once there is one, the course of the training; return it
    once it rests with adapters.

    While it runs only its course is drawn anew, so that what else the page says of its adapters
    would soon be wrong.
    """
    training = held().get(key_of(at, question))
    if training is None or training.course is None:
        label = "Train the adapters" if training is None else "Train them anew"
        if st.button(label, icon=":material/play_arrow:", type="primary", key="train"):
            with st.spinner("Loading PyTorch"):
                keep(at, question, _begin(at, question, lesson))
            st.rerun()
    if training is None:
        return None
    if training.course:
        experiment.go_on(training.course, partial(_draw, at, training, lesson))
        if training.course.state == "running":
            return None
    return training if training.adapters else None


def keep(at: Place, question: Adaptation, training: Training) -> None:
    """Hold a training; the oldest is let go where there are many."""
    trainings = held()
    trainings[key_of(at, question)] = training
    if len(trainings) > MOST_HELD:
        trainings.pop(next(iter(trainings)))


def _begin(at: Place, question: Adaptation, lesson: Lesson) -> Training:
    training = Training(question)
    reference = queries.reference(at, question.ref[0], seed=question.seed)
    training.course = experiment.Experiment(
        Run(_follow(at, training, lesson, reference), total=DEFAULTS.epochs + 1),
        unit="looks at most, one at the start and one after each pass",
    )
    return training


def _follow(at: Place, training: Training, lesson: Lesson, reference: Space) -> Iterator[Look]:
    """Train, keep the best adapters so far, and yield a look per pass."""
    question, device = training.question, queries.study(at).device
    settings = settings_of(question.fitting)
    looks = follow(lesson, reference, question.measure, settings, device=device)
    for epoch, row in looks:
        training.adapters, training.passes = epoch.best, epoch.number
        yield Look(row)


def _draw(at: Place, training: Training, lesson: Lesson, looks: list[Look]) -> None:
    """Draw the curve of a training, whatever alignment is chosen by now."""
    question, validation = training.question, len(lesson.parts.validation)
    rows = pd.DataFrame([look.figures for look in looks])
    chances = {
        "recall_10": min(1.0, 10 / validation),
        "alignment": question.measure.chance(validation),
    }
    figure = figures.curve(
        rows, label=question.label, chances=chances, mode=frame.mode(), narrow=frame.narrow()
    )
    course = question.turned(Course, pairs=question.pairs, passes=training.stopped)
    exportbar.draw(at, course, figure, key="course", table=rows)
    st.markdown(
        READING.format(
            passes=DEFAULTS.epochs,
            patience=DEFAULTS.patience,
            validation=validation,
            test=len(lesson.parts.test),
            measured=frame.plain(question.measured),
            reference=frame.plain(lessons.reference_title(at, question)),
        )
    )
    best = rows.iloc[int(rows["best"].iloc[-1])]
    passes = counted(rows["epoch"].iloc[-1], "pass", "passes")
    st.markdown(SEEN.format(last=passes, chance=chances["recall_10"], **best))


def recipe_of(at: Place, question: Adaptation, lesson: Lesson, stopped: int | None) -> Recipe:
    """Return what the adapters' file says of them."""
    settings, pairs = settings_of(question.fitting), len(lesson.parts.train)
    provenance = Provenance(question.spaces, settings, pairs, question.seed, stopped)
    return adapters_recipe(queries.study(at), provenance)


def show_files(at: Place, question: Adaptation, lesson: Lesson, training: Training | None) -> None:
    """Offer the adapters as a file, and take such a file unless the store is only shown."""
    others = "" if is_read_only() else ", or load others"
    st.subheader(f"Download these adapters{others}", anchor=False)
    if training and (adapters := training.adapters):
        recipe = recipe_of(at, question, lesson, training.stopped)
        st.download_button(
            "Download the adapters",
            lambda: files.dump(adapters, recipe),
            f"adapters-{recipe.digest}.safetensors",
            "application/octet-stream",
            key="take-adapters",
            on_click="ignore",
            icon=":material/download:",
        )
    if not is_read_only():
        _offer_loading(at, question)


def _offer_loading(at: Place, question: Adaptation) -> None:
    """Draw the form that takes a file of adapters, and say what became of the last one."""
    with st.form("load-adapters", clear_on_submit=True, border=False):
        st.file_uploader(
            "Adapters that were downloaded here",
            type="safetensors",
            key="adapters-file",
            max_upload_size=MOST_MEGABYTES,
        )
        st.form_submit_button("Load", on_click=_take, args=(at, question), icon=":material/upload:")
    for kind, sentence in st.session_state.pop("adapters-outcome", ()):
        (st.error if kind == "error" else st.success)(frame.plain(sentence))


def _take(at: Place, question: Adaptation) -> None:
    """Read the chosen file, set the controls to what its adapters are of, and remember in a
    sentence what became of it.
    """
    file = st.session_state["adapters-file"]
    try:
        if file is None:
            raise FeatureError("choose a file first")
        adapters, recipe = files.load(file.getvalue())
        provenance = _adopt(at, question, adapters, recipe)
    except PlatoscopeError as error:
        st.session_state["adapters-outcome"] = [("error", str(error))]
        return
    st.session_state["adapters-outcome"] = [
        (
            "done",
            f"Loaded adapters of {', '.join(adapters.maps)}{stopped_words(provenance.stopped)}.",
        )
    ]


def _adopt(at: Place, question: Adaptation, adapters: Adapters, recipe: Recipe) -> Provenance:
    """Set the controls to what adapters are of, so that they are the ones shown; raises
    FeatureError where no control can be.
    """
    provenance = check_adapters(queries.study(at), adapters, recipe)
    if unshown := _unshown(provenance):
        raise FeatureError(
            f"no control of this page shows {', '.join(unshown)} of these adapters; train with what"
            " can be chosen here"
        )
    settings = provenance.settings
    spaces = dict(space.rpartition(":")[::2] for space in provenance.spaces)
    controls: dict[str, Any] = {f"layer:{name}": int(layer) for name, layer in spaces.items()}
    controls |= {"encoders": list(spaces), "pairs": provenance.pairs, "seed": provenance.seed}
    controls |= asdict(fitting_of(settings))
    st.session_state.update(controls)
    if not set(spaces) <= set(usual(queries.models(at))["model"]):
        st.session_state["every"] = True
    adopted = _question_of(at, question, provenance)
    keep(at, adopted, Training(adopted, adapters, passes=provenance.stopped))
    return provenance


def _question_of(at: Place, question: Adaptation, provenance: Provenance) -> Adaptation:
    """Return the question whose adapters were loaded, with the reference and metric of another."""
    settings, spaces = provenance.settings, provenance.spaces
    most = len(split(queries.size(at), seed=provenance.seed).train)
    return replace(
        question,
        x=spaces[:1],
        y=spaces[1:2],
        z=spaces[2:],
        fitting=fitting_of(settings),
        pairs=None if provenance.pairs == most else provenance.pairs,
        seed=provenance.seed,
    )


def _unshown(provenance: Provenance) -> list[str]:
    """Return what of adapters no control can be set to, in words."""
    values = {**asdict(provenance.settings), "seed": provenance.seed}
    usual = asdict(DEFAULTS)
    off = [name for name, (low, high) in lessons.LIMITS.items() if not low <= values[name] <= high]
    off += [
        name
        for name in usual
        if name not in asdict(fitting_of(DEFAULTS)) and values[name] != usual[name]
    ]
    models = [space.rpartition(":")[0] for space in provenance.spaces]
    twice = [f"two layers of {model}" for model in sorted(set(models)) if models.count(model) > 1]
    return [f"{name} {values[name]}" for name in off] + twice
