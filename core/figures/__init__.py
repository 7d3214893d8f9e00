"""Tidy tables become Plotly figures; nothing here knows a page or a store."""
