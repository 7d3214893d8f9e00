"""Controls that are bound to the address: a link opens the same view."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st


def pick_copies(models: pd.DataFrame) -> pd.DataFrame:
    """Return the finished models, and the copies along their training where they are asked for."""
    text = "Models as they were on the way, at a few steps of their training. They are no models of their own in any statistic."
    if models["copy"].any() and st.toggle("Copies along training", key="copies", help=text, bind="query-params"):
        return models
    return models[~models["copy"]]


def pick_models(label: str, models: pd.DataFrame, key: str) -> list[str]:
    """Choose some of these models; none chosen means all."""
    titles = models.set_index("model")["title"]
    chosen = st.multiselect(label, list(titles.index), format_func=titles.get, key=key, placeholder=f"all {len(titles)}",
                            bind="query-params")  # fmt: skip
    return chosen or list(titles.index)


def pick_model(label: str, models: pd.DataFrame, key: str, *, default: str) -> str:
    """Choose one of these models."""
    titles = models.set_index("model")["title"]
    names = list(titles.index)
    return st.selectbox(label, names, index=names.index(default), format_func=titles.get, key=key, bind="query-params")


def pick_layer(layers: Sequence[str], key: str, *, best: int) -> int:
    """Choose one of a model's layers by its name; at first the best one, whichever that is."""
    names = {-1: "best aligned", **dict(enumerate(layers))}
    chosen = st.selectbox("Layer", list(names), format_func=names.get, key=key, bind="query-params")
    if chosen >= 0:
        return chosen
    st.caption(f"Best aligned with the other model: {layers[best]}")
    return best


def pick_k(size: int) -> int:
    """Choose how many neighbors are compared: 1 … n − 1."""
    most = size - 1
    if st.session_state.get("k", 1) > most:  # another dataset was larger
        st.session_state["k"] = most
    text = f"How many nearest neighbors of each stimulus are compared, 1 to {most:,} here. Small k looks at the local neighborhood."
    return int(st.number_input("Neighbors k", 1, most, min(10, most), key="k", help=text, bind="query-params"))
