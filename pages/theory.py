"""Theory: idealized worlds in which convergence can be proved, and broken."""

from __future__ import annotations

from importlib import import_module

from pages._shared import controls, frame

TABS = {"deep-linear": "Deep linear networks", "co-occurrence": "Co-occurrence"}


def show() -> None:
    """Draw the tabs and the one that is chosen; the other is not imported."""
    tab = controls.pick_segment("Part", TABS, "tab", start="deep-linear", hidden=True)
    import_module(f"pages._parts.theory.{tab.replace('-', '_')}").show()


frame.draw_alone("Why would convergence be expected?", show)
