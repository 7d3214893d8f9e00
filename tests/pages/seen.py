"""What a person sees of a page that was opened."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest


def charts(app: AppTest) -> list[str]:
    return [chart.key for chart in app.get("plotly_chart")]


def said(app: AppTest) -> str:
    return " ".join(
        element.value for kind in ("info", "error", "warning") for element in app.get(kind)
    ).replace("\\", "")
