"""Convergence: do models come together as they get better, and why?"""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.questions.alignment.axes import find_axis
from core.questions.alignment.question import COMPETENCE
from core.questions.asking import findings_of
from core.questions.competence.question import TasksSolved
from core.questions.convergence import figures, third_figures
from core.questions.convergence.question import (
    AnnaKarenina,
    By,
    FineTuned,
    Hypotheses,
    Levels,
    Replicates,
)
from core.study.models import basis_of, language_basis
from core.study.noise import ceiling_between
from core.study.parts import Comparison
from pages._parts.convergence.modalities import show_modalities
from pages._shared import bar, controls, exportbar, facts, frame, prose, queries
from pages._shared.address import fragment
from pages._shared.queries import Place

LEVELS: Mapping[By, str] = {
    "competence": "competence",
    "size": "size",
    "tasks": "number of tasks",
    "data": "amount of data",
}
ENDS = {  # modalities of the pairs that have a ceiling
    "vision": ("vision", "vision"),
    "language": ("language", "language"),
    "across": ("vision", "language"),
}
READING = """Each diamond is the **adjusted mean** alignment of the pairs of models on one level:
what the mean would be if every level held the same mix of pairs of objectives and families (none
where a level shares no such pairs with others). Its **bar** is the 95 % interval over recipes; the
circle is the raw mean. Two seeds of a recipe never make a pair, nor do a model and its fine-tuned
copy: seeds make the **ceiling**, how alike two trainings are that differ only in their seed. The
heading gives the change from the lowest level to the highest, fitted within pairs of the same
objectives or families; **p** is how often a change at least as large appears when levels are
shuffled among the recipes of each. Levels share what is uncertain about their recipes, so bars may
overlap where the change is clear."""
KARENINA = """The published work, after Tolstoy: all strong models are alike; each weak model is
weak in its own way. Models are cut into thirds of competence within their modality. Each cell is
the adjusted mean alignment of all pairs of two thirds, with the mix of objectives and families held
fixed. **Weak** above each panel is how much less (−) weak models agree with each other than with
strong ones, among pairs of the same two objectives or families; **p** is how often a difference at
least as large appears when thirds are shuffled among the recipes of each. The interval, from
leaving out one recipe at a time, may disagree with p close to the 5 % level: p decides."""
WHY = "Why would they come together?"
PREDICTIONS = {
    "multitask": "A model that must solve more tasks has fewer ways to do so.",
    "capacity": "A larger model can come closer to the best solution, and so to other large ones.",
    "simplicity": "Networks prefer simple solutions, so simpler networks should agree more.",
}
TESTS = """Each of the three published hypotheses is judged by one test that was fixed before any
was run; **q** is its p adjusted for all three. The other tests in the table add context and decide
nothing. Two models that learned a task in common never make a pair among models of different tasks.
Simplicity is measured by the effective rank of the last layer, across strengths of weight decay and
widths."""
COST = """Each dot shows how alignment with one language model changes when vision models are
fine-tuned: the mean over sizes and seeds, each model compared with its own fine-tuned copy. Bars
are 95 % intervals; diamonds are means over all language models."""


def show(at: Place) -> None:
    """Draw alignment by level, the three hypotheses and what fine-tuning costs."""
    frame.need_stimuli(at)
    if len(queries.models(at)) < 2:
        frame.need_readers(at, "caption", "image")
    answer = st.container()
    with bar.controls_bar():
        by = controls.pick_labeled(controls.option_named(Levels, "by"), LEVELS)
        comparison = controls.pick_comparison(queries.size(at))
    with frame.part():
        show_levels(at, Levels(at.scope, (), comparison, by=by), answer)
    show_thirds(at, comparison)
    show_hypotheses(at, comparison)
    show_copies(at, comparison)
    show_modalities(at, comparison)


def show_levels(at: Place, question: Levels, answer: DeltaGenerator) -> None:
    """Draw the mean alignment on each level beside chance and ceiling."""
    table = queries.ask(at, question)
    seeds = queries.ask(at, Replicates(at.scope, (), question.comparison))
    said = findings_of(question, table)
    with answer:
        prose.answer(said[: prose.LEAD])
    figure = figures.levels(
        table,
        ceilings={kind: ceiling_between(seeds, *ends) for kind, ends in ENDS.items()},
        label=question.comparison.label,
        chance=question.comparison.chance(queries.size(at)),
        mode=frame.mode(),
        narrow=frame.narrow(),
    )
    exportbar.draw(at, question, figure, key="convergence", table=table)
    st.caption(f"{figures.ADJUSTED}{_basis(at) if question.by == COMPETENCE else ''}")
    replicates = findings_of(Replicates(at.scope, (), question.comparison), seeds)
    prose.explain(READING, [*said[prose.LEAD :], *replicates])


def _basis(at: Place) -> str:
    """Return what competence is here, as the sentence behind a text."""
    seen = basis_of(queries.ask(at, TasksSolved(at.scope)))
    read = language_basis(queries.models(at), facts.competence(at))
    coded = find_axis(COMPETENCE, unit=read).title.removeprefix(f"{COMPETENCE}: ")
    return frame.plain(f" Competence is, in vision, {seen}; in language, {coded}.")


@fragment
def show_thirds(at: Place, comparison: Comparison) -> None:
    """Draw how alike the strong are, the weak, and either with the other."""
    st.header("Is each weak model weak in its own way?", anchor=False)
    with frame.part():
        question = AnnaKarenina(at.scope, (), comparison)
        table = queries.ask(at, question)
        figure = third_figures.thirds(table, mode=frame.mode(), narrow=frame.narrow())
        exportbar.draw(at, question, figure, key="anna-karenina", table=table)
        prose.explain(f"{KARENINA}{_basis(at)}", findings_of(question, table))


@fragment
def show_hypotheses(at: Place, comparison: Comparison) -> None:
    """Draw the verdict on each hypothesis, and all tests as a table."""
    st.header(WHY, anchor=False)
    with frame.part():
        question = Hypotheses(at.scope, (), comparison)
        table = queries.ask(at, question)
        said = findings_of(question, table)
        columns = st.columns(len(PREDICTIONS))
        for place, sentence, (name, prediction) in zip(
            columns, said, PREDICTIONS.items(), strict=True
        ):
            with place:
                st.markdown(f"**{name.capitalize()}**  \n{prediction}")
                verdict = sentence.partition(": ")[2]
                st.markdown(frame.plain(f"{verdict[:1].upper()}{verdict[1:]}"))
        with st.expander("All tests"):
            st.dataframe(table.drop(columns="decides"), hide_index=True)
            st.markdown(TESTS)
        exportbar.draw_table(at, question, table, key="hypotheses")


@fragment
def show_copies(at: Place, comparison: Comparison) -> None:
    """Draw what fine-tuning changes, where there are models and their copies."""
    question = FineTuned(at.scope, (), comparison)
    with frame.part():
        table = queries.ask(at, question)
        if table.empty:
            return
        st.header("Does fine-tuning cost alignment?", anchor=False)
        models = queries.models(at)
        titles = dict(zip(models["model"], models["title"], strict=True))
        figure = figures.fine_tuned(table, titles=titles, mode=frame.mode())
        exportbar.draw(at, question, figure, key="fine-tuned", table=table)
        prose.explain(COST, findings_of(question, table))


frame.draw("Do models come together as they get better?", show)
