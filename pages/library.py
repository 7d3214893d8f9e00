"""Library: what is in the store, and what can be renamed or deleted there."""

from __future__ import annotations

from pages._parts.library import additions, changes, datasets, models, problems, results
from pages._shared import controls, frame
from pages._shared.queries import Place

VIEWS = {
    "models": "Models",
    "datasets": "Datasets",
    "results": "Results",
    "problems": "Left out",
}


def show(at: Place) -> None:
    """Draw the models of the dataset, all datasets, what is kept over this one, or the files that
    are left out.
    """
    changes.say_what_came()
    view = controls.pick_segment("View", VIEWS, "view", start="models", hidden=True)
    if view == "models":
        models.show(at)
    elif view == "datasets":
        datasets.show(at)
    elif view == "results":
        results.show(at)
    else:
        problems.show()


frame.draw("What is in the store?", show, first=additions.show)
