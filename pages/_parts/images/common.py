"""What the tabs of Images share: whose consensus ranks the images, and what is done with a set."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial

import pandas as pd
import streamlit as st

from core.errors import InputError, StimuliError
from core.figures import exports
from core.questions.alignment.question import Alignment
from core.questions.asking import Answered
from core.questions.dispersion.effect import SetEffect
from core.questions.dispersion.question import Ranking, Spaces, StimulusDispersion, Summary
from core.questions.stimuli.question import StimulusList
from core.questions.words import to_query
from core.study.selections import decode, encode
from core.study.spaces import LEAST, describe_spaces, find_space
from pages._shared import address, controls, exportbar, facts, frame, gallery, queries
from pages._shared.address import bind, hand, named_by, take
from pages._shared.controls import Look
from pages._shared.gallery import Clicks
from pages._shared.queries import Place

SUMMARIES = {"mean": "Mean", "pc1": "First component"}
METHODS = """Spaces are centered, normalized and rotated onto each other (generalized Procrustes);
the consensus $C$ is their mean. A model's residual on an image is its distance from the consensus,
$r_{ij} = \\lVert (N_i T_i)_j - C_j \\rVert$; an image's dispersion is the mean residual: high if
models disagree."""
LEAST_SET, MOST_SET = 4, 256  # images in a set at first
BRUSHED = "brushed"  # of the address


def item(at: Place, count: int = 1) -> str:
    """Return what one stimulus, or several, is called: an image, or an item if it is none."""
    items = queries.card(at).items
    return items.removesuffix("s") if count == 1 else items


def pick_spaces(at: Place) -> tuple[str, ...]:
    """Choose at least LEAST layers of models, at first `facts.default_spaces`."""
    every = controls.pick_usual(queries.models(at))
    if len(every) < LEAST:
        example = ("--dataset", at.dataset, "--model", "timm:vit_small_patch16_224")
        raise frame.NeededError(
            f"Needs {LEAST} models; {len(every)} loaded.", frame.command("embed", *example)
        )
    names = {
        f"{row['model']}:{layer}": f"{row['title']}, {name}"
        for row in every.to_dict("records")
        for layer, name in enumerate(row["layers"])
    }
    one, study = controls.option_named(Spaces, "spaces"), queries.study(at)
    whole = []
    for name in take(one.name):  # a command may name a model and leave its layer out
        try:
            whole.append(str(find_space(study, name)))
        except InputError:
            whole.append(name)
    if whole:
        hand(one.name, whole)
    chosen = st.multiselect(
        one.label,
        list(names),
        format_func=named_by(names),
        help="Layers that form the consensus (default: the next-to-last layer of the largest model"
        " of up to four kinds). Add models to test whether a result holds.",
        select_all=False,  # Enter takes the best match
        **bind(one.name, facts.default_spaces(at), names, kind="layer of a model"),
    )
    if len(chosen) < LEAST:
        raise frame.NeededError(f"Choose at least {LEAST} layers under “{one.label}”.")
    return tuple(chosen)


def pick_summary() -> Summary:
    """Choose what ranks images: the mean residual, or the first component of the residuals."""
    text = "How the models' residuals become one number (default: their mean)."
    look = Look(labels=SUMMARIES, help=text)
    by: Summary = controls.pick_option(controls.option_named(Ranking, "by"), look)
    return by


def pick_set_size(n: int) -> int:
    """Choose how many images are in the set of low and of high dispersion, at most half each."""
    most = n // 2
    if most < LEAST_SET:
        raise frame.NeededError(f"Needs {2 * LEAST_SET} stimuli; {n} loaded.")
    start = min(MOST_SET, max(LEAST_SET, n // 4))
    text = "Images of little and of most disagreement (default: a quarter of all, at most 256)."
    look = Look(start=start, least=LEAST_SET, most=most, help=text)
    return controls.pick_option(controls.option_named(SetEffect, "size"), look)


def dispersion(at: Place, spaces: tuple[str, ...]) -> Answered:
    """Return each image's summaries and its residual in each space."""
    return queries.answer(at, StimulusDispersion(at.scope, Spaces(spaces)))


def titles(at: Place, spaces: tuple[str, ...]) -> dict[str, str]:
    """Return what each space is called."""
    about = describe_spaces(spaces, queries.models(at))
    return dict(zip(about["space"], about["title"], strict=True))


def brushed(size: int) -> list[int]:
    """Return the selected images that the address names; none, and the reason, if it cannot be
    read.
    """
    code = address.mark(BRUSHED)
    try:
        indices = decode(code, size).tolist() if code else []
    except StimuliError as error:
        st.warning(f"The selection in this link cannot be read: {frame.plain(error)}.")
        return []
    if indices:
        address.name_mark(BRUSHED, f"{len(indices):,} of {size:,} selected")
    return indices


def brush(indices: Sequence[int], size: int) -> None:
    """Put a set of images into the address; an empty one takes it away."""
    address.set_mark(BRUSHED, encode(indices, size) if indices else "")


def clicks(size: int, chosen: Collection[int] = ()) -> Clicks:
    """Return what a click on an image does: it opens it; Shift+click selects it."""

    def toggle(index: int) -> None:
        brush(sorted({index} ^ set(chosen)), size)

    return Clicks(gallery.choose, toggle, chosen)


def offer(at: Place, indices: Sequence[int], *, name: str) -> None:
    """Draw what can be done with a set: its CSV, and the alignment on these images alone; name: a
    word for its file.
    """
    code = encode(indices, queries.card(at).size)
    chosen = replace(at, scope=replace(at.scope, stimuli=code))
    recipe = queries.recipe_of(chosen, StimulusList(chosen.scope))
    with st.container(
        horizontal=True, key=f"offer-{name}", vertical_alignment="center", gap="small"
    ):
        file = exports.file_name(f"{name} {item(at, 2)}", recipe, "csv")
        st.download_button(
            "Download list",
            exportbar.fetchable(partial(_csv, at, indices), file, "text/csv"),
            file,
            "text/csv",
            key=f"take-{name}",
            type="tertiary",
            on_click="ignore",
            icon=":material/download:",
        )
        st.page_link(
            "trends.py",
            label="Measure alignment",
            icon=":material/query_stats:",
            help=f"The alignment of models on these {item(at, 2)} alone",
            disabled=len(indices) < frame.LEAST_STIMULI,
            query_params=to_query(Alignment(chosen.scope)) | {"tab": "across"},
        )


def _csv(at: Place, indices: Sequence[int]) -> bytes:
    table: pd.DataFrame = queries.ask(at, StimulusList(at.scope))
    return exports.to_csv(table.iloc[list(indices)])
