"""The models of a dataset: a table to search and filter, of which each row opens."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.machine.memory import size_text
from pages._parts.library import changes, held, opened, tables
from pages._shared import address, bar, controls, frame, queries
from pages._shared.address import bind
from pages._shared.queries import Place


def show(at: Place) -> None:
    """Draw the table of models, or the one that is open."""
    if queries.models(at).empty:
        example = "timm:vit_small_patch16_224"
        how = frame.command("embed", "--dataset", at.dataset, "--model", example)
        raise frame.NeededError(
            "No model is embedded over this dataset yet. Add models above, or by a command:", how
        )
    models = held.models(at)
    with bar.controls_bar():
        name = _pick_open(models)
        passing = models if name else controls.filter_models(models)
    if name:
        opened.show(at, models, name)
    else:
        _draw(passing, len(models))


def _pick_open(models: pd.DataFrame) -> str:
    """Choose the model that is open; "" for none."""
    titles = {"": "all, in a table"} | models.set_index("model")["title"].to_dict()
    address.label(changes.OPEN, "Model")
    bound = bind(changes.OPEN, "", titles)
    return st.selectbox("Model", list(titles), format_func=titles.get, **bound)


def _draw(rows: pd.DataFrame, total: int) -> None:
    if rows.empty:
        st.caption(f"None of {total} models passes the search and the filters.")
        return
    size = size_text(int(rows["bytes"].sum()))
    st.caption(f"{len(rows)} of {total} models, {size} on the disk. Click a row to open its model.")
    shown = pd.DataFrame(
        {
            "model": rows["title"],
            "family": rows["family"],
            "objective": rows["objective"],
            "modality": rows["modality"],
            "parameters": rows["parameters"],
            "layers": rows["depth"],
            "dims": rows["dims"],
            "size": rows["bytes"],
            "device": rows["device"],
            "time": rows["seconds"],
            "embedded": tables.days(rows["made_at"]),
        }
    )
    tables.draw(shown, key="library-models", opens=(changes.OPEN, rows["model"].tolist()))
