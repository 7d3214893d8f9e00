"""The table of models: how aligned they are, layer by layer, and how competent; its ticked rows are
selected for all pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import pandas as pd
import streamlit as st

from core.errors import NotApplicableError
from core.questions.alignment.axes import COMPETENCE, find_axis
from core.questions.competence.question import TasksSolved
from core.questions.finding import sentences
from core.questions.models.balance import ModelBalance, median
from core.questions.models.question import DESCRIBED, ModelTable, groups_of
from core.study.models import basis_of, language_basis, reads
from pages._parts.models import views
from pages._shared import controls, exportbar, facts, prose, queries, section, selection
from pages._shared.address import bind
from pages._shared.controls import Look
from pages._shared.queries import Place

KEY = "model-table"
READING = """A setup is a family and objective of any size. Alignment with a group is the mean
over it. Ranks are within a modality, by mean alignment with the other; tied models do not differ
significantly. Tick rows to select models."""
BALANCE = """Attention depends on queries and keys by their product alone. If the noise of SGD
chose among weights of equal product, the gradients of both would balance; if weight decay chose,
the weights would (Ziyin and Chuang 2025, footnotes 13 and 15). Models trained by AdamW are
outside this theory."""
HEADS = """Dots are heads, solid lines medians, dashed lines the same models with fresh weights;
dotted is chance, a random basis."""


def show(at: Place) -> None:
    """Draw the table with its filters, then the balance of queries and keys, closed."""
    models = queries.models(at)
    titles = {name: name for name in groups_of(models)} | models.set_index("model")[
        "title"
    ].to_dict()
    look = Look(
        labels=titles,
        follow=False,
        empty="all groups",
        help="Groups or models that alignment is with (default: all groups).",
    )
    question = views.pick(ModelTable, at, {"targets": look}, leave=("by",))
    at = replace(at, scope=question.scope)
    table = queries.ask(at, question)
    targets = [name for name in table.columns if name not in DESCRIBED]
    prose.answer(sentences(queries.answer(at, question).findings)[:1])
    with st.container(horizontal=True, vertical_alignment="bottom"):
        with st.popover("Filter", icon=":material/filter_list:"):
            passing = controls.filter_models(models[models["model"].isin(table["model"])])
        target = targets[0]
        if len(targets) > 1:
            target = st.selectbox(
                "Lines show",
                targets,
                format_func=lambda name: titles.get(name, name),
                width=220,
                **bind("lines", targets[0], targets),
            )
    high = question.comparison.spec.higher_is_more_aligned
    rows = table[table["model"].isin(passing["model"])]
    rows = rows.sort_values("closest_score", ascending=not high, kind="stable", ignore_index=True)
    if rows["rank"].notna().any():
        ends = zip(rows["rank_low"], rows["rank_high"], strict=True)
        rows["ranks"] = [f"{low:.0f}–{high:.0f}" if low == low else "" for low, high in ends]
    rows["closest"] = rows["closest"].map(models.set_index("model")["title"])
    st.caption(f"{len(rows)} of {len(table)} models, the closest first")
    with suppress(NotApplicableError):  # none of imports alone
        balance = queries.recall(at, ModelBalance(at.scope))
        if balance is not None:
            rows = rows.assign(balance=rows["model"].map(median(balance)))
    layers = queries.ask(at, replace(question, by="layer"))
    mine = layers[layers["target"] == target].sort_values("layer")
    rows["lines"] = rows["model"].map(mine.groupby("model")["score"].agg(list))
    _draw(at, rows, targets, titles.get(target, target))
    exported = rows.drop(columns=["lines", "ranks"], errors="ignore")
    exportbar.draw_table(at, question, exported, key="models")
    st.caption(READING)
    if queries.card(at).levels and reads(models, "caption").any():
        section.closed(
            "Balance of queries and keys",
            at,
            ModelBalance(at.scope),
            key="balance",
            caption=HEADS,
            methods=BALANCE,
            seconds=float("inf"),
            label="Measure balance",
        )


def _draw(at: Place, rows: pd.DataFrame, targets: Sequence[str], target: str) -> None:
    """Draw the rows; those of selected models are ticked. target: of the lines."""
    solved = basis_of(queries.ask(at, TasksSolved(at.scope)))
    unit = language_basis(queries.models(at), facts.competence(at))
    shown, number = rows["model"].tolist(), st.column_config.NumberColumn
    values = [score for line in rows["lines"].dropna() for score in line]
    ends = {"y_min": min([0.0, *values]), "y_max": max([0.0, *values]) or 1.0}
    ranks = {
        "rank": number("rank", format="%d"),
        "ranks": st.column_config.TextColumn("95% CI of rank"),
        "tied": number("tied with", format="%d"),
    }
    columns = {
        "title": st.column_config.TextColumn("model", pinned=True),
        "closest": "closest of another setup",
        "closest_score": number("alignment", format="%.3f"),
        **(ranks if "ranks" in rows else {}),
        "lines": st.column_config.LineChartColumn(f"by layer, with {target}", **ends),
        **{name: number(f"with {name}", format="%.3f") for name in targets},
        "skill": number(find_axis(COMPETENCE, unit=unit).title, format="%.2f"),
        "solved": number(solved, format="%.3g" if COMPETENCE in solved else "percent"),
        "balance": number("balance of queries and keys", format="%.2f"),
        "parameters": number(format="compact"),
    }
    # another key if other rows are shown, or if a model was selected or dropped elsewhere, since a
    # table keeps the ticks that it was given at first
    ticked = [place for place, name in enumerate(shown) if name in selection.chosen()]
    version, *before = st.session_state.get(KEY, (0, None, None))
    version += before != [shown, ticked]
    st.session_state[KEY] = version, shown, ticked
    key = f"{KEY}-{version}"

    def choose() -> None:
        """Select the models of the ticked rows, besides those selected that are not shown."""
        ticks = st.session_state[key].selection.rows
        names = [shown[place] for place in ticks]
        kept = [name for name in selection.chosen() if name in names or name not in shown]
        selection.choose([*kept, *(name for name in names if name not in kept)])
        st.session_state[KEY] = version, shown, sorted(ticks)

    st.dataframe(
        rows,
        key=key,
        hide_index=True,
        column_order=(*columns, *controls.KINDS),
        column_config=columns,
        placeholder="",
        on_select=choose,
        selection_mode="multi-row",
        selection_default={"selection": {"rows": ticked}},
    )
