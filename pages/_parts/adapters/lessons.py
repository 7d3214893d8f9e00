"""What the Adapters page is asked: which encoders in which layers, the reference, how adapters are
trained, and the metric.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.metrics import METRICS
from core.questions.adapters.maps.model import DEFAULTS, WIDEST, Settings, split
from core.questions.competence.question import TasksSolved
from core.recipe import Recipe
from core.study.models import is_reality, reads
from core.study.spaces import default_spaces, describe_spaces
from pages._shared import controls, frame, queries
from pages._shared.queries import Place

LIMITS = {
    "width": (2, WIDEST),
    "temperature": (0.001, 10.0),
    "seed": (0, 2**31 - 1),
}  # of the controls
ENCODERS = (
    "Models that stay as they are; an adapter is trained for each. All pairs are in the loss where"
    " there are three or more."
)
REFERENCE = (
    "The strong model that the common space is compared with. It has no part in the training."
)
TEMPERATURE = (
    "How sharply the loss tells the right partner from the others: low temperatures look at the"
    " nearest ones only."
)
PAIRS = (
    "How many stimuli train; others tell when to stop, and the test stimuli are the same always."
)
SEED = "Which stimuli test, which validate and which train."


@dataclass(frozen=True)
class Asked:
    """What the controls choose; parameters: of the metric."""

    spaces: tuple[str, ...]
    reference: str
    settings: Settings
    pairs: int
    seed: int
    metric: str
    parameters: tuple[tuple[str, Any], ...]

    @property
    def compared(self) -> dict[str, Any]:
        """Return the metric with its parameters."""
        return {"metric": self.metric, **dict(self.parameters)}

    @property
    def measured(self) -> str:
        """Return by what alignment is measured, in words."""
        k = dict(self.parameters).get("k")
        return f"{METRICS[self.metric].spec.short}{f', k = {k}' if k else ''}"

    @property
    def label(self) -> str:
        """Return what is measured, for an axis."""
        return f"alignment with the reference ({self.measured})"

    def chance(self, n: int) -> float:
        """Return the metric's chance over n stimuli, NaN where no formula tells."""
        return METRICS[self.metric].chance_level(n, dict(self.parameters))

    def command(self, at: Place, *more: str) -> str:
        """Return the `adapt` command of these choices; defaults are left out."""
        (first, second, *others), settings = self.spaces, self.settings
        most = len(split(queries.size(at), seed=self.seed).train)
        given: tuple[tuple[str, list[Any], list[Any]], ...] = (
            ("--z", others, []),
            ("--pairs", [self.pairs], [self.pairs if "--pairs" in more else most]),
            ("--width", [settings.width], [DEFAULTS.width]),
            ("--temperature", [settings.temperature], [DEFAULTS.temperature]),
            ("--seed", [self.seed], [0]),
        )
        words = [
            str(word)
            for option, values, usual in given
            if values != usual
            for word in (option, *values)
        ]
        learned = ["--learned"] if settings.learned else []
        return frame.command(
            "adapt",
            "--dataset",
            at.dataset,
            "--x",
            first,
            "--y",
            second,
            "--ref",
            self.reference,
            *words,
            *learned,
            *frame.compared_words(**self.compared),
            *more,
        )


def ask(at: Place) -> Asked:
    """Draw the controls in the sidebar, and return what they choose; raises NeededError for too few
    models.
    """
    above = st.container()
    with st.sidebar:
        models = controls.pick_finished(queries.models(at)).set_index("model", drop=False)
        if len(models) < 3:
            how = frame.command(
                "embed", "--dataset", at.dataset, "--model", "timm:vit_small_patch16_224"
            )
            raise frame.NeededError(
                "Two encoders and a reference are needed: embed three models.", how
            )
        titles, layers = models["title"].to_dict(), models["layers"].to_dict()
        encoders, reference = _usual(at, models)
        pick = partial(
            st.multiselect,
            "Encoders",
            list(models.index),
            default=encoders,
            format_func=models["title"].get,
            key="encoders",
            help=ENCODERS,
            bind="query-params",
        )
        chosen = controls.heed(
            pick, "encoders", models["title"].tolist(), kind="model", above=above
        )
        if len(chosen) < 2:
            raise frame.NeededError(
                "Choose at least two encoders: one alone has nothing to be brought together with."
            )
        spaces = tuple(pick_space(name, titles[name], layers[name], above) for name in chosen)
        others = models.drop(index=chosen)
        if others.empty:
            raise frame.NeededError("Leave one model out of the encoders: it is the reference.")
        controls.forget("reference", others.index)
        known = reference if reference in others.index else others.index[0]
        pick = partial(controls.pick_model, "Reference", others, "reference", default=known)
        truth = controls.heed(
            pick,
            "reference",
            others["title"].tolist(),
            kind="model beside the encoders",
            above=above,
        )
        st.caption(REFERENCE)
        space = pick_space(truth, titles[truth], layers[truth], above)
        return _ask_training(at, spaces, space)


def _usual(at: Place, models: pd.DataFrame) -> tuple[list[str], str]:
    """Return two encoders, a vision and a language model where there are both, and the reference:
    the best vision model known.
    """
    large = models.sort_values("parameters", ascending=False, kind="stable")
    seeing, reading = (large.index[reads(large, item)].tolist() for item in ("image", "caption"))
    solved = (
        queries.ask(at, TasksSolved(at.scope))
        .dropna(subset="solved")
        .set_index("model")["solved"]
        .astype("float64")
    )
    measured = solved[solved.index.isin(seeing)]
    worlds = is_reality(large)
    other = [name for name in large.index if worlds[name]]
    best = [measured.idxmax()] if len(measured) else []
    reference = [*best, *(seeing if len(seeing) > 1 else [*other, *large.index[::-1]])][0]
    objectives = [space.rpartition(":")[0] for space in default_spaces(queries.study(at))]
    first = [name for name in (*objectives, *seeing) if name != reference and name in models.index]
    candidates = [*first[:1], *reading[:1], *large.index]
    return list(dict.fromkeys(name for name in candidates if name != reference))[:2], reference


def pick_space(model: str, title: str, layers: Sequence[str], above: DeltaGenerator) -> str:
    """Choose a layer of a model; its penultimate block at first."""
    names, key = dict(enumerate(layers)), f"layer-{model}"
    controls.forget(key, names)
    pick = partial(
        st.selectbox,
        f"Layer of {title}",
        list(names),
        index=max(0, len(names) - 2),
        format_func=names.get,
        key=key,
        bind="query-params",
    )
    layer = controls.heed(pick, key, layers, kind=f"layer of {title}", above=above)
    return f"{model}:{layer}"


def _ask_training(at: Place, spaces: tuple[str, ...], reference: str) -> Asked:
    seed = st.session_state.get("seed", 0)
    parts = split(queries.size(at), seed=seed)
    most = len(parts.train)
    left, right = st.columns(2)
    width = left.number_input(
        "Width",
        *LIMITS["width"],
        DEFAULTS.width,
        step=64,
        key="wide",
        bind="query-params",
        help="Dimensions of the common space.",
    )
    temperature = right.number_input(
        "Temperature",
        *LIMITS["temperature"],
        DEFAULTS.temperature,
        step=0.01,
        format="%.3f",
        help=TEMPERATURE,
        key="temperature",
        bind="query-params",
    )
    learned = st.toggle("Learn the temperature from there", key="learned", bind="query-params")
    if not 2 <= st.session_state.get("pairs", most) <= most:  # another dataset was larger
        st.session_state["pairs"] = most
    pairs = int(
        left.number_input("Pairs", 2, most, most, key="pairs", help=PAIRS, bind="query-params")
    )
    seed = int(
        right.number_input("Seed", *LIMITS["seed"], 0, key="seed", help=SEED, bind="query-params")
    )
    metric = controls.pick_metric()
    parameters = controls.pick_parameters(metric, len(parts.validation))
    settings = Settings(width=int(width), temperature=float(temperature), learned=learned)
    return Asked(spaces, reference, settings, pairs, seed, metric, tuple(parameters.items()))


def about(at: Place, spaces: tuple[str, ...], column: str) -> dict[str, str]:
    """Return what `core.study.spaces.describe_spaces` says of each space: its title, group, model
    or layer.
    """
    table = describe_spaces(spaces, queries.models(at))
    return dict(zip(table["space"], table[column], strict=True))


def reference_title(at: Place, asked: Asked) -> str:
    """Return what a person calls the reference."""
    return about(at, (asked.reference,), "title")[asked.reference]


def recipe(at: Place, kind: str, asked: Asked, **more: object) -> Recipe:
    """Return what a plot depends on."""
    models = [space.rpartition(":")[0] for space in (*asked.spaces, asked.reference)]
    choices = {
        "settings": asdict(asked.settings),
        "pairs": asked.pairs,
        "seed": asked.seed,
        **asked.compared,
    }
    return queries.recipe(
        at, kind, models, spaces=list(asked.spaces), reference=asked.reference, **choices, **more
    )
