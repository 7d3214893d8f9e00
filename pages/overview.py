"""Overview: the hypothesis in one look."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pandas as pd
import streamlit as st

from core.encoders.encoder import REALITY
from core.figures import exports
from core.figures.numbers import counted
from core.figures.printing import TWO_COLUMNS, to_pdf
from core.modalities import known_first
from core.options import NEIGHBORS
from core.questions.closeness import MAP_METRICS, ConvergenceMap, Scene, lay_out, to_svg
from core.questions.competence.question import unasked
from core.questions.controls import MARKS, ControlMarks
from core.questions.convergence.question import Summary
from core.questions.finding import listed
from core.questions.headline import Headline, Specifications
from core.questions.simple import best_features
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
from pages._shared.controls import Look
from pages._shared.queries import Place

WHY = """The [Platonic Representation Hypothesis](https://arxiv.org/abs/2405.07987) (Huh et al.
2024) predicts that representations become more similar as models improve, whatever their data and
modality, because all of them model one reality. The test was named in advance: the rank correlation
of competence and alignment across vision and language, competence permuted within each
architecture and objective. Mutual k-NN is the share of the k nearest neighbors in common. Seeds of
a setup are averaged. Trends correlates the language models alone."""
PRINTED = (
    "A point is a model; its distance from the center is its alignment with {center}"
    " ({measured}; log scale). Area: parameters. Hollow: untrained. Lines: training. Dashed: best"
    " simple feature. Dotted: chance. n = {models}, {size:,} {items}."
)
UNASKED = """Not counted: {models} (imported, family unknown). Select {them} to align others
with {them}; n counts models of known competence."""
SIMPLE = """Dashed: the simple feature of captions or of images that is closest to the center.
All that can be computed: {features}."""
CONTROL = """Untrained **{title}** ({score:.3f}) is closer than {below} of {trained} trained
models. Alignment without training is no evidence."""
ICONS = {
    "supported": "check",
    "contradicted": "close",
    "open": "remove",
    "unknown": "radio_button_unchecked",
}
SHORT = dict(
    zip(MARKS, ("chance", "categories", "simple features", "gallery", "ranks"), strict=True)
)
CURVE_METHODS = """The diamond is the headline, bars are 95% CI, the line is the median. Every
combination sees the same setups, each with its first run, and the same permutations of competence
within families and objectives. The joint test compares the median ρ with its distribution under
these permutations (Simonsohn, Simmons, Nelson 2020). From more than 1,024 images,
1,024 are drawn."""


def show(at: Place) -> None:
    """Draw the verdict, the map, the specification curve and the evidence."""
    models = queries.models(at)
    frame.need_stimuli(at)
    both = reads(models, "caption").any() and reads(models, "image").any()
    left_out, also = _ask_unasked(at) if both else ([], ())
    if both:
        show_verdict(at, left_out, also)
    elif kinds := known_first(models.loc[~is_reality(models), "modality"]):
        prose.answer([f"Only {listed(kinds)} models: how aligned are they with each other?"])
    with frame.part():
        show_map(at, models)
    if both:
        with frame.part():
            show_curve(at, also)
        with frame.part():
            show_evidence(at)


def show_verdict(at: Place, left_out: Sequence[str], also: tuple[str, ...]) -> None:
    """Say what the one test says that was named in advance. left_out, also: see `_ask_unasked`."""
    question = Headline(at.scope, measure=Measure(k=_fewer(at)), also=also)
    answered = queries.answer(at, question)
    prose.answer([answered.findings[0].line])
    if left_out:
        titles = queries.models(at).set_index("model")["title"]
        names = frame.plain(listed([titles[name] for name in left_out]))
        st.caption(UNASKED.format(models=names, them="it" if len(left_out) == 1 else "them"))
    show_marks(at, also)


def _ask_unasked(at: Place) -> tuple[list[str], tuple[str, ...]]:
    """Return the imported models that the headline leaves out, and those that count since they are
    selected.
    """
    names = unasked(queries.study(at))
    also = tuple(sorted({*names} & {*selection.chosen()}))
    return [name for name in names if name not in also], also


def show_marks(at: Place, also: tuple[str, ...]) -> None:
    """Say which simpler explanations the alignment survives, as far as that was asked."""
    question = ControlMarks(at.scope)
    table, earlier = queries.recall(at, question), queries.recall_earlier(at, question)
    if earlier:
        table = earlier[0].table
    said = [
        (SHORT[one], "unknown", "Not computed for these models: open Controls.") for one in MARKS
    ]
    if table is not None:
        said = [
            (
                f"{SHORT[row.mark]}{row.short and f', {row.short}'}",
                row.verdict,
                f"{row.of and f'{row.of}. '}{row.verdict.capitalize()}:"
                f" {row.claim}{row.number and f': {row.number}'}.",
            )
            for row in table.itertuples()
        ]
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center", key="marks"):
        along = address.chosen("dataset") | {"tab": ["controls"]}
        st.page_link("robustness.py", label="Controls:", query_params=along)
        for mark, verdict, tested in said:
            text = f":material/{ICONS[verdict]}: {mark}"
            st.caption(prose.unparted(text), width="content", help=frame.plain(tested))
        along = address.chosen("dataset") | {"tab": ["across"]}
        st.page_link("trends.py", label="Trend", icon=":material/trending_up:", query_params=along)
    curve = Specifications(at.scope, also=also)
    before = earlier or queries.recall_earlier(at, curve)
    if before or table is None:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption(_since(before[1]) if before else "Not computed yet.", width="content")
            tip = "With all models, here: about a minute for 30 models."
            pressed = st.button("Compute them", key="update", type="tertiary", help=tip)
        if pressed:
            for one in (question, curve) if before else (question,):
                queries.answer(at, one)
            st.rerun()


def _since(added: Sequence[str]) -> str:
    return f"Computed before {counted(len(added), 'model was', 'models were')} added."


def show_curve(at: Place, also: tuple[str, ...]) -> None:
    """Draw the headline under every specification."""
    question = Specifications(at.scope, also=also)
    if earlier := queries.recall_earlier(at, question):
        answered, added = earlier
        st.header("Measures", anchor=False)
        st.caption(_since(added))
        prose.answer([answered.findings[0].line])
        figure = question.plot(answered.table).draw(frame.mode(), narrow=frame.narrow())
        st.plotly_chart(figure, theme=None, key="earlier-specifications")
        return
    section.draw(
        at,
        question,
        key="specifications",
        header="Measures",
        methods=CURVE_METHODS,
        seconds=lambda: question.seconds(queries.study(at)),
        label="Compute the curve",
    )


def show_map(at: Place, models: pd.DataFrame) -> None:
    """Draw how close every model is to the center, and the methods of the page's figures."""
    finished = usual(models)
    finished = finished[~is_reality(finished)]
    if len(finished) < 2:
        raise frame.NeededError(
            "The map compares at least two models: embed another one.",
            frame.command("embed", "--dataset", at.dataset, "--model", "hf:gpt2"),
        )
    known = REALITY in set(models["model"])
    titles = models.set_index("model")["title"].to_dict()
    centers = {REALITY: "reality (true factors)"} if known else {}
    centers |= {name: f"all {name} models" for name in known_first(finished["modality"])}
    centers |= {name: titles[name] for name in models["model"] if name not in centers}
    named = {name: f"Center: {title}" for name, title in centers.items()}
    whole = st.container(key="map-frame")
    with whole, st.container(key="map-center"):
        one = controls.option_named(ConvergenceMap, "center")
        center = controls.pick_option(one, Look(labels=named, start=next(iter(centers))))
    option = controls.option_named(Comparison, "metric")
    metric = address.mark(option.name)
    metric = metric if metric in MAP_METRICS else next(iter(MAP_METRICS))
    k = _fewer(at) if metric != "unbiased_cka" else None
    question = ConvergenceMap(at.scope, center, Comparison(metric=metric, k=k))
    table = queries.ask(at, question)
    features = _features(at, question)
    scene = lay_out(table, question, titles, frame.mode(), features)
    unscored = table[table["score"].isna() & ~table["copy"]]
    reason = next(iter(unscored["reason"].dropna()), "") or "none can be compared"
    if not scene.marks:
        raise frame.NeededError(f"No model has a score here: {reason}.")
    with whole:
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
    card, kinds = queries.card(at), finished["modality"].value_counts().items()
    item = "stimuli" if card.holds == "ids" else card.holds
    kinds_counted = listed([f"{count} {name}" for name, count in kinds])
    made = " Synthetic images." if card.world else ""
    st.caption(f"{card.size:,} {item}, {kinds_counted} models.{made}")
    if len(unscored):
        st.caption(f"Without a score: {frame.plain(listed(list(unscored['title'])))} ({reason}).")
    said = [f"{row.control} {row.score:.3f}" for row in features.itertuples()]
    simple = SIMPLE.format(features=listed(said)) if said else ""
    prose.explain("\n\n".join(filter(None, (WHY, simple, describe_control(table)))))


def _features(at: Place, question: ConvergenceMap) -> pd.DataFrame:
    """Return the mean alignment of simple features with the models of the map's center, the most
    aligned first; none if that takes long.
    """
    models, of = usual(queries.models(at)), question.comparison
    center = question.center or str(queries.ask(at, question)["center"].iloc[0])
    kind = models.loc[models["modality"] == center, "model"].tolist()
    asked = facts.features(at, kind or [center], Measure(of.metric, of.k))
    if asked is None:
        return pd.DataFrame(columns=["control", "of", "score"])
    means = (
        queries.ask(at, asked).groupby(["control", "of"], sort=False)["score"].mean().reset_index()
    )
    return best_features(means, of)


def _fewer(at: Place) -> int | None:
    """Return the k of tiny datasets, in which the usual one would be most stimuli."""
    size = queries.size(at)
    return max(1, (size - 1) // 2) if size <= 2 * NEIGHBORS else None


def show_exports(at: Place, question: ConvergenceMap, table: pd.DataFrame, scene: Scene) -> None:
    """Draw what can be exported of the map."""
    recipe, title = queries.recipe_of(at, question), "Convergence map"
    svg = partial(to_svg, scene, frame.mode(), title=title)
    compared = question.comparison
    measured = MAP_METRICS[compared.metric] + (f", k = {compared.k}" if compared.k else "")
    caption = PRINTED.format(
        center=scene.center,
        measured=measured,
        models=counted(len(scene.marks), "model", "models"),
        size=queries.size(at),
        items=queries.card(at).holds,
    )
    pdf = partial(
        to_pdf,
        width=TWO_COLUMNS,
        title=title,
        caption=caption,
        recipe=exports.to_recipe_json(recipe).decode(),
    )
    with exportbar.offer("map"):
        st.caption("The convergence map")
        with st.container(horizontal=True, gap="small"):
            for label, kind, data in (
                ("SVG", "image/svg+xml", svg),
                ("PDF", "application/pdf", lambda: pdf(svg())),
                ("PNG", "image/png", lambda: pdf(svg(), kind="png")),
                ("CSV", "text/csv", lambda: exports.to_csv(table)),
            ):
                name = exports.file_name(title, recipe, label.lower())
                st.download_button(
                    label,
                    exportbar.fetchable(data, name, kind),
                    name,
                    kind,
                    key=f"{label}-map",
                    type="tertiary",
                    on_click="ignore",
                )
        st.caption("Text to set below it:")
        st.code(caption, language=None, wrap_lines=True)
        exportbar.draw_link(key="map")
        exportbar.tell_command(frame.question_command(question))


def describe_control(table: pd.DataFrame) -> str:
    """Return which untrained network is closer to the center than trained ones, "" if none is."""
    finished = table[~table["copy"]].dropna(subset=["score"])
    controls_, others = finished[finished["untrained"]], finished[~finished["untrained"]]
    if controls_.empty or others.empty:
        return ""
    best = controls_.sort_values("score").iloc[-1]
    below = int((others["score"] < best["score"]).sum())
    if not below:
        return ""
    title = frame.plain(best["title"])
    return CONTROL.format(title=title, score=best["score"], below=below, trained=len(others))


def show_evidence(at: Place) -> None:
    """Name the predictions with their verdicts; their page draws each."""
    question = Summary(at.scope)
    answered = queries.answer(at, question)
    if answered.table["q"].notna().any():
        st.header("Why?", anchor=False)
        prose.answer([answered.findings[0].line])
        along = address.chosen("dataset")
        st.page_link("why.py", label="Tests", icon=":material/arrow_forward:", query_params=along)


frame.draw("Do neural networks converge to the same representation?", show)
