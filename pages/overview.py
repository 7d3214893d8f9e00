"""Overview: the hypothesis in one look."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd
import streamlit as st

from core.encoders.encoder import REALITY
from core.figures.numbers import counted
from core.modalities import Item, find_modality
from core.questions.alignment.axes import Axis, axis_labels, offered_axes
from core.questions.alignment.points import trend_points
from core.questions.alignment.question import Alignment
from core.questions.asking import findings_of
from core.questions.competence.question import CompetenceScores, TasksSolved
from core.questions.convergence.evidence import Side, weigh
from core.questions.convergence.question import Summary
from core.questions.headline.question import Headline
from core.questions.overview import figures
from core.questions.overview.points import growth_points, headline_points, ranking_points
from core.questions.overview.question import Overview
from core.questions.sentences import listed
from core.stimuli.dataset import DatasetCard
from core.study.models import is_measured, is_reality, reads, trained, usual, without_variants
from core.study.parts import Comparison, Measure
from pages._shared import address, controls, exportbar, frame, prose, queries
from pages._shared.queries import Place

K = 10
WHY = """The [Platonic Representation Hypothesis](https://arxiv.org/abs/2405.07987) says yes. As
models get better, their representations become more alike, whatever their data and modality,
because all of them model one reality."""
READING = """Each dot is a trained language model, placed by {axis}. The higher it is, the more of a
stimulus's {k} nearest neighbors it shares with a trained vision model: the mean over these models,
with a bar for its 95 % interval, as if they were independent (fewer than five have none). The
dotted line is chance for one pair of layers of unrelated models; the best of many pairs, which is
shown, lies a little above it."""
MADE = """These models are small and a program makes their world: what holds here illustrates the
hypothesis but does not prove it."""
REALITY_SEEN = """Each mark is a model; larger marks are larger models. The factors behind each
event are known here, so models can be compared with reality itself, as in no study of natural
images."""
SIDES: Mapping[Side, str] = {"for": "For", "against": "Against", "open": "Not shown"}
RULE = """Evidence is every test whose sign the hypothesis predicts, at the 5 % level, smallest p
first. Spearman's p counts the sizes of one family as independent, so it is too small."""
DOORS = {
    "alignment": "Which models agree, in which layers, and is it beyond chance?",
    "stimuli": "On which pictures do models agree, and on which do they differ?",
    "convergence": "Do models become more alike as they get better, and why?",
    "theory/contrastive": "Why would they converge? Watch the theory run.",
}
GROWTH = """Each line joins models that differ in one thing: checkpoints of one training, sizes of
one recipe, or the number of tasks they were taught. The hypothesis predicts that lines rise; where
one falls, it does not hold."""


def show(at: Place) -> None:
    """Draw what is in the store, the headline, every model against one yardstick, and what brings
    them closer.
    """
    card, every = queries.card(at), queries.models(at)
    models = without_variants(every[~every["copy"]])
    st.markdown(WHY)
    answer, lead = st.container(), st.container()
    st.markdown(_describe(card, models))
    frame.need_stimuli(at)
    question = Overview(at.scope, k=min(K, card.size - 1))
    reading, seeing = reads(models, "caption").any(), reads(models, "image").any()
    both = reading and seeing
    if both:
        with answer:
            show_verdict(at)
        with lead:
            question = show_headline(at, models, question)
    summary = queries.recall(at, Summary(at.scope)) if both else None
    if summary is not None:
        show_evidence(at, summary)
    show_doors()
    if not both and not ((reading or seeing) and REALITY in set(models["model"])):
        frame.need_readers(at, "caption", "image")
    show_ranking(at, models, question)
    show_growth(at, every, question)
    with frame.part():
        frame.need_readers(at, "caption", "image")
    frame.tell_left_out(at, list(every["model"]), question.k)
    if both:
        show_findings(at, question)
    if card.has_demo:
        st.markdown(f":material/toys: {MADE}")


def show_verdict(at: Place) -> None:
    """Say what the one test says that was named in advance."""
    fewer = queries.size(at) - 1 if queries.size(at) <= K else None  # k of tiny datasets
    question = Headline(at.scope, measure=Measure(k=fewer))
    verdict, *more = findings_of(question, queries.ask(at, question))
    prose.answer([verdict])
    if more:
        st.caption(frame.plain(" ".join(more)))


def show_evidence(at: Place, summary: pd.DataFrame) -> None:
    """Draw what speaks for the hypothesis, against it, and for neither."""
    st.header("What speaks for it, and what against?", anchor=False)
    evidence = weigh(summary)
    for place, (side, title) in zip(st.columns(len(SIDES)), SIDES.items(), strict=True):
        rows = evidence[evidence["side"] == side]
        with place:
            st.markdown(f"**{title}** · {len(rows)}")
            said = [f"- {text}" for text in rows["text"]] or ["None of them."]
            st.markdown("\n".join(said))
    exportbar.draw_table(at, Summary(at.scope), summary, key="evidence")
    st.caption(RULE)


def show_doors() -> None:
    """Draw where to go on."""
    with st.container(horizontal=True):
        for page, question in DOORS.items():
            with st.container(border=True, width=210, height="stretch"):
                st.page_link(f"pages/{page}.py", query_params=address.chosen("dataset"))
                st.caption(question)


def _describe(card: DatasetCard, models: pd.DataFrame) -> str:
    reality = (
        ". Their reality is known: the factors that each scene was made from"
        if is_reality(models).any()
        else ""
    )
    finished = trained(models)
    seeing, reading = reads(finished, "image").sum(), reads(finished, "caption").sum()
    left = len(models) - len(finished) - int(is_measured(models).sum())
    beside = [counted(left, "untrained model", "untrained models")] if left else []
    further = models[models["model"].isin(finished["model"]) | is_measured(models)]
    counts = further.loc[further["model"].isin(_others(further)) | is_measured(further), "modality"]
    beside += [_count(str(name), count) for name, count in counts.value_counts().items()]
    others = f", beside {listed(beside)}" if beside else ""
    by = [f"seen by {counted(seeing, 'vision model', 'vision models')}"] if seeing else []
    by += [f"read by {counted(reading, 'language model', 'language models')}"] if reading else []
    seen = f" {' and '.join(by)}" if by else ""
    return (
        f"Here: **{frame.plain(card.title)}**, {card.size:,} image–caption pairs"
        f"{seen}{others}{reality}."
    )


def _count(modality: str, number: int) -> str:
    kind = find_modality(modality)
    return counted(number, kind.title, kind.plural)


def show_headline(at: Place, models: pd.DataFrame, question: Overview) -> Overview:
    """Draw competence, or what else is chosen, against alignment with vision models and, where it
    is known, with reality; return the question with that axis.
    """
    finished = trained(models)
    reading, seeing = reads(finished, "caption").any(), reads(finished, "image").any()
    if not (reading and (seeing or REALITY in set(models["model"]))):
        return question
    drawing = st.container()
    name, axis = pick_axis(at, models)
    headline = Alignment(at.scope, axis=name, comparison=_comparison(question))
    pairs = trend_points(queries.ask(at, headline).dropna(subset="score"), models)
    points = headline_points(pairs)
    with drawing:
        figure = figures.headline(points, mode=frame.mode(), narrow=frame.narrow(), axis=axis)
        exportbar.draw_models(at, headline, figure, key="headline", table=points)
    st.markdown(frame.plain(_extremes(pairs)))
    along = replace(question, axis=name)
    trends = findings_of(along, queries.ask(at, along))
    prose.explain(READING.format(axis=axis.title, k=question.k), trends)
    return along


def pick_axis(at: Place, models: pd.DataFrame) -> tuple[str, Axis]:
    """Choose what the alignment of language models is set against; return its name, too."""
    axes = offered_axes(queries.ask(at, CompetenceScores(at.scope)), models)
    option = controls.option_named(Overview, "axis")
    text = "What the alignment of language models is set against, at first their competence."
    with st.container(width=360):
        name = controls.pick_labeled(option, axis_labels(axes), text=text)
    return name, axes[name]


def _extremes(pairs: pd.DataFrame) -> str:
    """Say which language and vision models are most and least aligned."""
    between = pairs[pairs["facet"] != REALITY].sort_values("score")
    least, most = (
        f"{row.title_x} and {row.title_y} ({row.score:.3f})"
        for row in between.iloc[[0, -1]].itertuples()
    )
    return f"Most aligned: {most}. Least aligned: {least}."


def _comparison(question: Overview) -> Comparison:
    return Comparison.of("mutual_knn", {"k": question.k})


def show_ranking(at: Place, models: pd.DataFrame, question: Overview) -> None:
    """Draw every model's alignment with reality, or with the other modality where reality is
    unknown.
    """
    reality = REALITY in set(models["model"])
    title = "Which models are closest to reality?" if reality else "Which agree most with vision?"
    st.header(title, anchor=False)
    vision = _names(models, "image")
    ranking = Alignment(
        at.scope,
        x=_names(models, "caption") + (vision + _others(models) if reality else ()),
        y=(REALITY,) if reality else vision,
        comparison=_comparison(question),
    )
    points = ranking_points(queries.ask(at, ranking).dropna(subset="score"), models)
    figure = figures.ranking(points, against=_yardstick(models), mode=frame.mode())
    exportbar.draw_models(at, ranking, figure, key="ranking", table=points.drop(columns="layers"))
    if reality:
        prose.explain(REALITY_SEEN)


def _names(models: pd.DataFrame, item: Item) -> tuple[str, ...]:
    return tuple(models.loc[reads(models, item), "model"])


def _others(models: pd.DataFrame) -> tuple[str, ...]:
    """Return the models that read neither images nor captions; brains and people compete with
    none.
    """
    readable = reads(models, "image") | reads(models, "caption") | is_reality(models)
    return tuple(models.loc[~(readable | is_measured(models)), "model"])


def show_growth(at: Place, models: pd.DataFrame, question: Overview) -> None:
    """Draw alignment with the same yardstick along training, size, tasks taught and tasks solved,
    where there are any.
    """
    reality, beside = REALITY in set(models["model"]), is_reality(models) | is_measured(models)
    growth = Alignment(
        at.scope,
        x=tuple(models.loc[~beside, "model"]) if reality else _names(models, "caption"),
        y=(REALITY,) if reality else _names(usual(models), "image"),
        comparison=_comparison(question),
    )
    ranking = ranking_points(queries.ask(at, growth).dropna(subset="score"), models)
    points = growth_points(ranking, queries.ask(at, TasksSolved(at.scope)))
    if points.empty:
        return
    st.header("What brings models closer?", anchor=False)
    figure = figures.growth(
        points, against=_yardstick(models), mode=frame.mode(), narrow=frame.narrow()
    )
    exportbar.draw_models(at, growth, figure, key="growth", table=points.drop(columns="layers"))
    prose.explain(GROWTH)


def _yardstick(models: pd.DataFrame) -> str:
    return REALITY if REALITY in set(models["model"]) else "vision models"


def show_findings(at: Place, question: Overview) -> None:
    """Show every figure of the study's answer, also those against the hypothesis."""
    with st.expander("The figures"):
        st.dataframe(queries.ask(at, question), hide_index=True)
        st.caption("The same from the command line:")
        st.code(frame.question_command(question), language="bash", wrap_lines=True)


frame.draw("Do neural networks converge to the same representation?", show)
