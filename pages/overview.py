"""Overview: the hypothesis in one look."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.encoders.encoder import REALITY
from core.figures import exports
from core.questions.convergence.question import Summary, tally
from core.questions.finding import sentences
from core.questions.headline import Headline
from core.questions.overview.closeness import CONSENSUS, MAP_METRICS, ConvergenceMap
from core.questions.overview.scene import Scene, lay_out
from core.questions.overview.svg import to_svg
from core.questions.sentences import listed
from core.study.models import is_reality, reads, usual
from core.study.parts import Comparison, Measure
from pages._parts.overview import convergence_map
from pages._shared import (
    address,
    controls,
    exportbar,
    facts,
    frame,
    prose,
    queries,
    section,
    selection,
)
from pages._shared.queries import Place

K = 10
SCENES, WIDTH = 6, 134  # stimuli, and pixels of each
WHY = """The [Platonic Representation Hypothesis](https://arxiv.org/abs/2405.07987) says yes: as
models get better, their representations become more alike, whatever their data and modality. The
reason it gives is that all of them model one reality."""
MAP = """{here}. The closer to the center, the higher is alignment with {center} (log scale, the
dotted rim is chance); sectors are sorted by it. Area is the number of parameters, trails are
checkpoints of a training, hollow marks are untrained networks."""
CONTROL = """Untrained networks are the control: random features keep what the pixels or sounds say,
so **{title}** ({score:.3f}) is above {below} of {trained} trained models. Alignment that training
has not caused is no evidence."""
MADE = """A program makes this world, and its models are small: what holds here illustrates the
hypothesis and does not prove it."""


def show(at: Place) -> None:
    """Draw the verdict, the map, the world and the evidence."""
    models = queries.models(at)
    st.markdown(WHY)
    frame.need_stimuli(at)
    both = reads(models, "caption").any() and reads(models, "image").any()
    if both:
        show_verdict(at)
    with frame.part():
        show_map(at, models)
    show_world(at)
    if both:
        with frame.part():
            show_evidence(at)


def show_verdict(at: Place) -> None:
    """Say what the one test says that was named in advance."""
    question = Headline(at.scope, measure=Measure(k=_fewer(at)))
    verdict, *more = sentences(queries.answer(at, question).findings)
    prose.answer([verdict])
    if queries.recall(at, Summary(at.scope)) is not None:
        more.append(tally(queries.answer(at, Summary(at.scope)).findings))
    if more:
        st.caption(frame.plain(" ".join(more)))
    if queries.card(at).world:
        st.caption(f":material/toys: {MADE}")


def show_map(at: Place, models: pd.DataFrame) -> None:
    """Draw how close every model is to the center."""
    finished = usual(models)
    finished = finished[~is_reality(finished)]
    if len(finished) < 2:
        raise frame.NeededError(
            "The map compares at least two models: embed another one.",
            frame.command("embed", "--dataset", at.dataset, "--model", "hf:gpt2"),
        )
    known = REALITY in set(models["model"])
    titles = models.set_index("model")["title"].to_dict()
    centers = {REALITY: "reality"} if known else {}
    centers |= {CONSENSUS: "consensus of the others"}
    centers |= {name: f"all {name} models" for name in dict.fromkeys(finished["modality"])}
    centers |= {name: titles[name] for name in models["model"] if name not in centers}
    with st.container(width=320):
        one = controls.option_named(ConvergenceMap, "center")
        center = controls.pick_choice(one, list(centers), labels=centers, usual=next(iter(centers)))
    option = controls.option_named(Comparison, "metric")
    metric = address.mark(option.name)
    metric = metric if metric in MAP_METRICS else next(iter(MAP_METRICS))
    k = _fewer(at) if metric != "unbiased_cka" else None
    question = ConvergenceMap(at.scope, center, Comparison(metric=metric, k=k))
    table = queries.ask(at, question)
    scene = lay_out(table, question, titles, frame.mode())
    unscored = table[table["score"].isna() & ~table["copy"]]
    reason = next(iter(unscored["reason"].dropna()), "") or "none can be compared"
    if not scene.marks:
        raise frame.NeededError(f"No model has a score here: {reason}.")
    with st.container(key="map-frame"):
        convergence_map.draw(
            scene,
            list(MAP_METRICS.items()),
            metric,
            selection.chosen(),
            mode=frame.mode(),
            pick=selection.toggle,
            change=lambda name: address.set_mark(option.name, name * (name != "mutual_knn")),
        )
    show_exports(at, question, table, scene)
    st.caption(MAP.format(center=frame.plain(scene.center), here=_describe(at, finished)))
    show_control(table)
    if len(unscored):
        st.caption(f"Without a score: {frame.plain(listed(list(unscored['title'])))} ({reason}).")


def _fewer(at: Place) -> int | None:
    """Return the k of tiny datasets, in which the usual one would be most stimuli."""
    size = queries.size(at)
    return max(1, (size - 1) // 2) if size <= 2 * K else None


def _describe(at: Place, finished: pd.DataFrame) -> str:
    """Say what the dataset holds and how many finished models there are of each modality."""
    card = queries.card(at)
    item = "stimuli" if card.holds == "ids" else card.holds
    kinds = finished["modality"].value_counts().items()
    models = listed([f"{count} {name}" for name, count in kinds])
    return f"{frame.plain(card.title)}: {card.size:,} {item}, {models} models"


def show_exports(at: Place, question: ConvergenceMap, table: pd.DataFrame, scene: Scene) -> None:
    """Draw what can be exported of the map."""
    recipe, title = queries.recipe_of(at, question), "Convergence map"
    with st.container(horizontal=True, key="bar-map", vertical_alignment="center", gap="small"):
        for label, kind, data in (
            ("SVG", "image/svg+xml", lambda: to_svg(scene, frame.mode(), title=title)),
            ("CSV", "text/csv", lambda: exports.to_csv(table)),
        ):
            st.download_button(
                label,
                data,
                exports.file_name(title, recipe, label.lower()),
                kind,
                key=f"{label}-map",
                type="tertiary",
                on_click="ignore",
            )
        exportbar.draw_link(key="map")
        with st.popover("Command", type="tertiary"):
            st.code(frame.question_command(question), language="bash", wrap_lines=True)


def show_control(table: pd.DataFrame) -> None:
    """Say which untrained network is closer to the center than trained ones."""
    finished = table[~table["copy"]].dropna(subset=["score"])
    controls_, others = finished[finished["untrained"]], finished[~finished["untrained"]]
    if controls_.empty or others.empty:
        return
    best = controls_.sort_values("score").iloc[-1]
    below = int((others["score"] < best["score"]).sum())
    if below:
        st.caption(
            CONTROL.format(
                title=frame.plain(best["title"]),
                score=best["score"],
                below=below,
                trained=len(others),
            )
        )


def show_world(at: Place) -> None:
    """Show six stimuli, spread over the dataset."""
    card = queries.card(at)
    if not card.has_images:
        return
    st.header("The world they learn" if card.world else "The stimuli", anchor=False)
    count = min(SCENES, card.size)
    indices = tuple(card.size * part // count for part in range(count))
    captions = facts.default_captions(at)
    with st.container(horizontal=True, gap="small"):
        for index, image in zip(indices, facts.thumbnails(at, indices), strict=True):
            with st.container(width=WIDTH):
                st.image(
                    image, caption=frame.plain(captions[index]), width=WIDTH, alt=captions[index]
                )


def show_evidence(at: Place) -> None:
    """Draw what speaks for the hypothesis and what against it."""
    question = Summary(at.scope)
    if queries.ask(at, question)["q"].notna().any():  # else the tally above says so
        section.draw(at, question, key="evidence", header="The evidence", lead=0)


frame.draw("Do neural networks converge to the same representation?", show)
