"""Adapters trained while the page is looked at, or loaded from a file; nothing is lost when a
training is stopped or left.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from core.errors import FeatureError, PlatoscopeError
from core.questions.adapters import answer as adaptation
from core.questions.adapters import figures as figures
from core.questions.adapters.answer import Lesson, Space, Told
from core.questions.adapters.maps import files
from core.questions.adapters.maps.model import DEFAULTS, Adapters
from core.recipe import Recipe
from core.settings import choose_device
from core.study.models import trained
from pages._parts.adapters import lessons
from pages._parts.adapters.lessons import Asked
from pages._shared import experiment, exportbar, frame, queries
from pages._shared.queries import Place

if TYPE_CHECKING:
    from core.theory.looks import Look

MOST_HELD = 8  # trainings of one visitor
MOST_MEGABYTES = 200
READING = """**How to read it.** The loss falls while each stimulus's vectors of the encoders
come nearer to each other than to those of other stimuli, from the logarithm of how
many there are at a time; when it stops falling for the validation pairs, training
ends and the best adapters so far are kept. Recall and alignment are theirs, on the
{validation:,} validation stimuli; what counts are the {test:,} test stimuli below.
This curve is of alignment with {reference}, measured as it was chosen when the
training began: {measured}."""
SEEN = """**What is seen.** After {last:.0f} passes the best adapters are those of pass {epoch:.0f}:
validation loss {validation:.3f}, recall at 10 of {recall_10:.2f} (chance {chance:.2f}),
alignment of {alignment:.3f}."""


@dataclass
class Training:
    """Adapters, the best so far, and what was asked when they were begun or loaded.

    course: of the training, None for those that came in a file. passes: that were made; of a file,
    those it was `stopped` after.
    """

    asked: Asked
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


def key_of(at: Place, asked: Asked) -> tuple[Any, ...]:
    """Return what adapters depend on."""
    return at, asked.spaces, asked.settings, asked.pairs, asked.seed


def held() -> dict[tuple[Any, ...], Training]:
    """Return this visitor's trainings by what they depend on."""
    return st.session_state.setdefault("trainings", {})


def show(at: Place, asked: Asked, lesson: Lesson) -> Training | None:
    """Draw the button that trains and, once there is one, the course of the training; return it
    once it rests with adapters.

    While it runs only its course is drawn anew, so that what else the page says of its adapters
    would soon be wrong.
    """
    training = held().get(key_of(at, asked))
    if training is None or training.course is None:
        label = "Train the adapters" if training is None else "Train them anew"
        if st.button(label, icon=":material/play_arrow:", type="primary", key="train"):
            with st.spinner("Loading PyTorch"):
                keep(at, asked, _begin(at, asked, lesson))
            st.rerun()
    if training is None:
        return None
    if training.course:
        experiment.go_on(training.course, partial(_draw, at, training, lesson))
        if training.course.state == "running":
            return None
    return training if training.adapters else None


def keep(at: Place, asked: Asked, training: Training) -> None:
    """Hold a training; the oldest is let go where there are many."""
    trainings = held()
    trainings[key_of(at, asked)] = training
    if len(trainings) > MOST_HELD:
        trainings.pop(next(iter(trainings)))


def _begin(at: Place, asked: Asked, lesson: Lesson) -> Training:
    from core.theory.looks import Run  # torch takes seconds

    training = Training(asked)
    looks = _follow(
        training, asked, lesson, queries.reference(at, asked.reference, seed=asked.seed)
    )
    training.course = experiment.Experiment(
        "",
        Run(looks, total=asked.settings.epochs + 1),
        unit="looks at most, one at the start and one after each pass",
    )
    return training


def _follow(training: Training, asked: Asked, lesson: Lesson, reference: Space) -> Iterator[Look]:
    """Train, keep the best adapters so far, and yield a look per pass; validation is measured where
    the adapters are better.
    """
    from core.questions.adapters.maps.training import train
    from core.theory.looks import Look

    seen: dict[str, float] = {}
    for epoch in train(lesson.spaces, lesson.parts, asked.settings, device=choose_device()):
        training.adapters, training.passes = epoch.best, epoch.number
        if epoch.best_number == epoch.number:
            seen = adaptation.watch(lesson, reference, epoch.best, **asked.compared)
        yield Look(
            {"epoch": epoch.number, "loss": epoch.loss, "validation": epoch.validation, **seen}
        )


def _draw(at: Place, training: Training, lesson: Lesson, looks: list[Look]) -> None:
    """Draw the curve of a training, whatever alignment is asked for by now."""
    asked, stopped = training.asked, training.stopped
    rows, validation = pd.DataFrame([look.figures for look in looks]), len(lesson.parts.validation)
    chances = {"recall_10": min(1.0, 10 / validation), "alignment": asked.chance(validation)}
    figure = figures.curve(
        rows, label=asked.label, chances=chances, mode=frame.mode(), narrow=frame.narrow()
    )
    exportbar.plot(
        figure,
        key="course",
        table=rows,
        recipe=lessons.recipe(at, "adapters-course", asked, stopped=stopped),
        command=once(at, asked, stopped),
    )
    st.markdown(
        READING.format(
            validation=validation,
            test=len(lesson.parts.test),
            measured=frame.plain(asked.measured),
            reference=frame.plain(lessons.reference_title(at, asked)),
        )
    )
    best = rows.iloc[int(rows["validation"].to_numpy().argmin())]
    st.markdown(SEEN.format(last=rows["epoch"].iloc[-1], chance=chances["recall_10"], **best))


def once(at: Place, asked: Asked, stopped: int | None) -> str | None:
    """Return the command that trains once, None where somebody stopped: no command does."""
    return asked.command(at, "--seeds", "1") if stopped is None else None


def recipe_of(at: Place, asked: Asked, stopped: int | None) -> Recipe:
    """Return what the adapters' file says of them."""
    study, settings = queries.study(at), asked.settings
    return adaptation.adapters_recipe(
        study, asked.spaces, settings, pairs=asked.pairs, seed=asked.seed, stopped=stopped
    )


def tell_stopped(stopped: int | None) -> str:
    """Return in words, to be put after what a training is, that it was stopped, where it was."""
    return (
        ""
        if stopped is None
        else f", stopped after {stopped} {'pass' if stopped == 1 else 'passes'}"
    )


def show_files(at: Place, asked: Asked, training: Training | None) -> None:
    """Offer the adapters as a file, and take such a file."""
    st.subheader("Keep them, or bring some", anchor=False)
    if training and (adapters := training.adapters):
        recipe = recipe_of(at, asked, training.stopped)
        st.download_button(
            "Download the adapters",
            lambda: files.dump(adapters, recipe),
            f"adapters-{recipe.digest}.safetensors",
            "application/octet-stream",
            key="take-adapters",
            on_click="ignore",
            icon=":material/download:",
        )
    with st.form("load-adapters", clear_on_submit=True, border=False):
        st.file_uploader(
            "Adapters that were downloaded here",
            type="safetensors",
            key="adapters-file",
            max_upload_size=MOST_MEGABYTES,
        )
        st.form_submit_button("Load", on_click=_take, args=(at, asked), icon=":material/upload:")
    for kind, sentence in st.session_state.pop("adapters-outcome", ()):
        (st.error if kind == "error" else st.success)(frame.plain(sentence))


def _take(at: Place, asked: Asked) -> None:
    """Read the chosen file, set the controls to what its adapters are of, and remember in a
    sentence what became of it.
    """
    file = st.session_state["adapters-file"]
    try:
        if file is None:
            raise FeatureError("choose a file first")
        adapters, recipe = files.load(file.getvalue())
        told = _adopt(at, asked, adapters, recipe)
    except PlatoscopeError as error:
        st.session_state["adapters-outcome"] = [("error", str(error))]
        return
    st.session_state["adapters-outcome"] = [
        ("done", f"Loaded adapters of {', '.join(adapters.maps)}{tell_stopped(told.stopped)}.")
    ]


def _adopt(at: Place, asked: Asked, adapters: Adapters, recipe: Recipe) -> Told:
    """Set the controls to what adapters are of, so that they are the ones shown; raises
    FeatureError where no control can be.
    """
    told = adaptation.check_adapters(queries.study(at), adapters, recipe)
    if unshown := _unshown(told):
        raise FeatureError(
            f"no control of this page shows {', '.join(unshown)} of these adapters; train with what"
            " can be chosen here"
        )
    settings, spaces = told.settings, dict(space.rpartition(":")[::2] for space in told.spaces)
    controls: dict[str, Any] = {f"layer-{name}": int(layer) for name, layer in spaces.items()}
    controls |= {"encoders": list(spaces), "pairs": told.pairs, "learned": settings.learned}
    controls |= {
        "wide": settings.width,
        "temperature": float(settings.temperature),
        "seed": told.seed,
    }
    st.session_state.update(controls)
    if not set(spaces) <= set(trained(queries.models(at))["model"]):
        st.session_state["unfinished"] = True
    asked = replace(asked, spaces=told.spaces, settings=settings, pairs=told.pairs, seed=told.seed)
    keep(at, asked, Training(asked, adapters, passes=told.stopped))
    return told


def _unshown(told: Told) -> list[str]:
    """Return what of adapters no control can be set to, in words."""
    given, usual = {**asdict(told.settings), "seed": told.seed}, asdict(DEFAULTS)
    off = [name for name, (low, high) in lessons.LIMITS.items() if not low <= given[name] <= high]
    off += [
        name
        for name in usual
        if name not in (*lessons.LIMITS, "learned") and given[name] != usual[name]
    ]
    models = [space.rpartition(":")[0] for space in told.spaces]
    twice = [f"two layers of {model}" for model in sorted(set(models)) if models.count(model) > 1]
    return [f"{name} {given[name]}" for name in off] + twice
