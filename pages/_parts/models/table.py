"""The table of models: which models are aligned, layer by layer, and how competent; its ticked rows
are chosen for all pages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from core.questions.alignment.axes import COMPETENCE, find_axis
from core.questions.competence.question import TasksSolved
from core.questions.finding import sentences
from core.questions.models.balance import ModelBalance, median
from core.questions.models.pairs import Roster
from core.questions.models.question import ModelTable, Targets
from core.questions.models.standings import DESCRIBED, groups_of
from core.study.models import basis_of, language_basis
from core.study.parts import Comparison
from pages._shared import controls, exportbar, facts, frame, prose, queries, runner, selection
from pages._shared.address import bind, fragment, named_by
from pages._shared.queries import Place

KEY = "model-table"
READING = """Each row is a model; an alignment is the mean over the models of a group, without the
model itself and others of its training. The line runs from the first layer to the last: how aligned
each is with {target}, at its best layer. **Tick rows** to choose models for all pages; click a head
to sort by it."""

BALANCE = """Attention depends on queries and keys by their product alone, as a deep linear network
does on neighboring layers. If the noise of SGD alone chose among all weights of the same product,
the gradients of both would balance, head by head; if weight decay chose, the weights would (Ziyin
and Chuang 2025, footnotes 13 and 15). Models trained by AdamW are outside this theory. *Alike* is
the cosine of both sides without their multiple of the identity, *apart* their distance over the sum
of their norms. Dots are heads, solid lines medians, dashed ones the same models with fresh weights,
dotted is one side in a random basis. If positions turn queries and keys (LLaMA), only the planes of
rotation are compared."""


@fragment
def show(at: Place, models: pd.DataFrame, roster: Roster, comparison: Comparison) -> None:
    """Draw the table with its filters. A fragment: a filter redraws nothing else."""
    with frame.part():
        answer = st.container()
        with st.container(horizontal=True, vertical_alignment="bottom"):
            passing = controls.filter_models(models)
        with st.container(horizontal=True, vertical_alignment="bottom"):
            targets, target = _pick_targets(models)
        question = ModelTable(at.scope, roster, comparison, targets)
        table = queries.ask(at, question)
        rows = _sorted(table[table["model"].isin(passing["model"])], question)
        with answer:
            prose.answer(sentences(queries.answer(at, question).findings)[: prose.LEAD])
        st.caption(f"{len(rows)} of {len(table)} models")
        balance = queries.recall(at, ModelBalance(at.scope))
        if balance is not None:
            rows = rows.assign(balance=rows["model"].map(median(balance)))
        seen = basis_of(queries.ask(at, TasksSolved(at.scope)))
        read = find_axis(COMPETENCE, unit=language_basis(models, facts.competence(at))).title
        _draw(rows, _profiles(at, question, target), target, (seen, read))
        exportbar.draw_table(at, question, rows, key="models")
        prose.explain(
            READING.format(target=frame.plain(target)),
            sentences(queries.answer(at, question).findings)[prose.LEAD :],
        )


@fragment
def show_balance(at: Place) -> None:
    """Draw whether queries and keys of language models balance, once that is measured."""
    with st.expander(ModelBalance.title()), frame.part():
        question = ModelBalance(at.scope)
        answered = runner.ask(at, question, label="Measure it")
        if answered:
            said = sentences(answered.findings)
            prose.answer(said[: prose.LEAD])
            figure = question.plot(answered.table).draw(frame.mode(), narrow=frame.narrow())
            exportbar.draw(at, question, figure, key="balance", table=answered.table)
            st.markdown(BALANCE)


def _sorted(rows: pd.DataFrame, question: ModelTable) -> pd.DataFrame:
    """Return the rows, the model most aligned with the first target first."""
    first = next(name for name in rows.columns if name not in DESCRIBED)
    high = question.comparison.spec.higher_is_more_aligned
    return rows.sort_values(first, ascending=not high, kind="stable", ignore_index=True)


def _pick_targets(models: pd.DataFrame) -> tuple[Targets, str]:
    """Choose what models are compared with, and which of these the lines show."""
    one, groups = controls.option_named(Targets, "targets"), list(groups_of(models))
    if not groups:
        raise frame.NeededError("None of these models finished a training: choose others as well.")
    titles = dict.fromkeys(groups, "") | models.set_index("model")["title"].to_dict()
    titles |= {name: name for name in groups}
    names = st.multiselect(
        one.label,
        list(titles),
        format_func=named_by(titles),
        **bind(one.name, groups, titles),
    )
    shown = names or groups
    target = st.selectbox(
        "Lines show", shown, format_func=titles.get, **bind("lines", shown[0], shown)
    )
    return Targets(() if shown == groups else tuple(shown)), target


def _profiles(at: Place, question: ModelTable, target: str) -> dict[str, list[float]]:
    """Return how aligned each layer is with the target, by model."""
    table = queries.ask(at, question.profiles)
    mine = table[table["target"] == target].sort_values("layer")
    return {str(name): rows["score"].tolist() for name, rows in mine.groupby("model")}


def _draw(
    rows: pd.DataFrame, profiles: Mapping[str, list[float]], target: str, bases: tuple[str, str]
) -> None:
    """Draw the rows; those of chosen models are ticked. bases: what the competence of vision models
    is, and that of others.
    """
    shown = rows["model"].tolist()
    key, lines = _key(shown), rows["model"].map(profiles)
    scores = [name for name in rows.columns if name not in (*DESCRIBED, "balance")]
    st.dataframe(
        rows.assign(lines=lines),
        key=key,
        hide_index=True,
        column_order=(
            "title",
            "lines",
            *scores,
            "skill",
            "solved",
            "balance",
            "parameters",
            *controls.KINDS,
        ),
        column_config=_columns(scores, lines, target, bases),
        placeholder="",
        on_select=lambda: _choose(key, shown),
        selection_mode="multi-row",
        selection_default={"selection": {"rows": _ticked(shown)}},
    )


def _ticked(shown: Sequence[str]) -> list[int]:
    return [place for place, name in enumerate(shown) if name in selection.chosen()]


def _key(shown: Sequence[str]) -> str:
    """Return the key of the table: another one where other rows are shown, or where a model was
    chosen or dropped elsewhere, since a table keeps the ticks that it was given at first.
    """
    state = st.session_state
    number, rows, ticked = state.get(KEY, (0, None, None))
    if rows != shown or ticked != _ticked(shown):
        number += 1
    state[KEY] = number, shown, _ticked(shown)
    return f"{KEY}-{number}"


def _choose(key: str, shown: Sequence[str]) -> None:
    """Choose the models of the ticked rows, besides those chosen that are not shown."""
    ticked = [shown[place] for place in st.session_state[key].selection.rows]
    kept = [name for name in selection.chosen() if name in ticked or name not in shown]
    selection.choose([*kept, *(name for name in ticked if name not in kept)])
    st.session_state[KEY] = (st.session_state[KEY][0], list(shown), _ticked(shown))


def _columns(
    scores: Sequence[str], lines: pd.Series, target: str, bases: tuple[str, str]
) -> dict[str, object]:
    """Return how each column is drawn."""
    config, number = st.column_config, st.column_config.NumberColumn
    values = [score for line in lines.dropna() for score in line]
    ends = {"y_min": min([0.0, *values]), "y_max": max([0.0, *values]) or 1.0}
    return {
        "title": config.TextColumn("model", pinned=True),
        "lines": config.LineChartColumn(f"by layer, with {target}", **ends),
        "parameters": number(format="compact"),
        "balance": number("balance of queries and keys", format="%.2f"),
        "skill": number(bases[1], format="%.2f"),
        "solved": number(bases[0], format="%.3g" if COMPETENCE in bases[0] else "percent"),
        **{name: number(f"with {name}", format="%.3f") for name in scores},
    }
