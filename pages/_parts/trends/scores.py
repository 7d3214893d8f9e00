"""All scores of models with their origins, and the import of one's own."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from core.competence.scores import OPTIONAL, REQUIRED, import_scores
from core.errors import PlatoscopeError
from core.questions.competence.question import CompetenceScores
from core.settings import is_read_only
from pages._shared import exportbar, frame, queries
from pages._shared.address import fragment
from pages._shared.queries import Place

MOST_MEGABYTES = 10
COLUMNS = {
    "model": "model",
    "task": "task",
    "value": "value",
    "unit": "unit",
    "origin": "origin",
    "source": "source, or digest of the recipe",
    "low": "CI low",
    "high": "CI high",
    "chance": "chance",
    "n": "samples",
    "split": "split",
    "group": "group",
    "embedded": "embedded here",
    "reason": "note",
}
FORMATS = {
    COLUMNS[name]: st.column_config.NumberColumn(format="%.4g")
    for name in ("value", "low", "high", "chance")
}
READING = """Three origins, never mixed: *measured* here, with the digest of the recipe;
*published*, with its source; and *user*, your own. For bits per byte, lower is better."""
IMPORTING = """A CSV table in UTF-8, a row per model and task, with the columns {required}; if
known, also {optional}. Name a model as here or by its spec. A value replaces the earlier one
of the same model and task."""
EXAMPLE = """model,task,value,unit,source
gpt2,HellaSwag,31.6,%,my evaluation of March
gpt2,MMLU,26.0,%,my evaluation of March"""


@fragment
def show(at: Place) -> None:
    """Offer the table, and the import of one's own scores."""
    frame.fold("Scores of all models", lambda: _show_table(at), key="scores")
    if not is_read_only():
        frame.fold("Import scores", lambda: _show_import(at), key="import-scores")


def _show_table(at: Place) -> None:
    question = CompetenceScores(at.scope)
    table = queries.ask(at, question)
    st.caption(READING)
    st.dataframe(
        table[list(COLUMNS)].rename(columns=COLUMNS),
        hide_index=True,
        column_config=FORMATS,
        placeholder="",
    )
    exportbar.draw_table(at, question, table, key="competence")


def _show_import(at: Place) -> None:
    """Take the user's own scores from a CSV table, and say what became of them."""
    required, optional = (
        ", ".join(f"`{name}`" for name in names) for names in (REQUIRED, OPTIONAL)
    )
    st.markdown(IMPORTING.format(required=required, optional=optional))
    st.code(EXAMPLE, language=None)
    with st.form("import-scores", clear_on_submit=True, border=False):
        st.file_uploader("CSV table", type="csv", key="scores-file", max_upload_size=MOST_MEGABYTES)
        st.form_submit_button("Import", on_click=_take, args=(at,), icon=":material/upload:")
    for kind, sentence in st.session_state.pop("import-outcome", ()):
        (st.error if kind == "error" else st.info if kind == "note" else st.success)(
            frame.plain(sentence)
        )


def _take(at: Place) -> None:
    """Import the chosen file, and remember in sentences what became of it; a new place is found
    when the page is drawn again.
    """
    file = st.session_state["scores-file"]
    if file is None:
        st.session_state["import-outcome"] = [("note", "Choose a file first.")]
        return
    try:
        done = import_scores(Path(at.root), at.dataset, file.getvalue(), name=file.name)
    except PlatoscopeError as error:
        st.session_state["import-outcome"] = [("error", str(error))]
        return
    count, models = len(done.table), done.table["model"].nunique()
    outcome = (
        f"Scores imported: {count}; models: {models}; earlier scores replaced: {done.replaced}."
    )
    notes = (("note", note) for note in done.notes)
    st.session_state["import-outcome"] = [("done", outcome), *notes]
