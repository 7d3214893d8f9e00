"""`platoscope dispersion`: on which stimuli models agree, and what that does to vision–language
alignment.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from core.cli.shared import add_command, add_metric, count, named, parameters, print_table
from core.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from core.study.study import Study

TRIAL = ("tested", "language", "cross_fitted", "repeats", "draws", "seed")
SHARE = 4  # of all stimuli: a set is one over it where no size is given


def add(commands: Any) -> None:
    """Add `dispersion`."""
    dispersion = add_command(
        commands,
        "dispersion",
        run_dispersion,
        "on which stimuli do models agree? one row per stimulus",
    )
    dispersion.add_argument("--dataset", required=True, metavar="D")
    dispersion.add_argument(
        "--models",
        nargs="+",
        action="extend",
        metavar="A:LAYER",
        help="spaces of the consensus, a model alone in its penultimate block (four objectives)",
    )
    dispersion.add_argument(
        "--by", help="rank by mean, pc1, median, trimmed or one of the spaces (mean)"
    )
    dispersion.add_argument("--centering", default="features", help="features, stimuli or none")
    dispersion.add_argument(
        "--q", type=float, default=0.95, help="share of feature values left unclamped, 1 for all"
    )
    dispersion.add_argument(
        "--where",
        nargs="+",
        default=[],
        metavar="FACTOR=VALUE",
        help="only the stimuli with these factors",
    )
    dispersion.add_argument(
        "--stimuli",
        default="",
        metavar="SET",
        help="only the stimuli of a set, in the text that a link carries",
    )
    dispersion.add_argument(
        "--sets",
        type=count,
        metavar="N",
        help="stimuli in the low, the high and each random set (a quarter)",
    )
    _add_views(dispersion)
    _add_trial(dispersion)
    dispersion.add_argument("--json", action="store_true")


def _add_views(dispersion: argparse.ArgumentParser) -> None:
    views = dispersion.add_mutually_exclusive_group()
    views.add_argument(
        "--without-each", action="store_true", help="residuals to the consensus of the other models"
    )
    views.add_argument(
        "--held-out",
        action="store_true",
        help="the others' dispersion with each model's deviation: correlations",
    )
    views.add_argument(
        "--effect",
        action="store_true",
        help="alignment with language models on low, high and random sets",
    )
    views.add_argument(
        "--parts", type=count, metavar="N", help="alignment on each of N parts of the ranking"
    )
    views.add_argument(
        "--drop",
        type=float,
        metavar="SHARE",
        help="alignment without the most or least dispersed share",
    )
    views.add_argument(
        "--explain",
        action="store_true",
        help="what predicts dispersion: a row per predictor, most important first",
    )
    views.add_argument(
        "--words",
        action="store_true",
        help="words that captions of the low or the high set have more often",
    )
    views.add_argument(
        "--findings",
        action="store_true",
        help="all figures: effect, both supplements, what predicts dispersion",
    )


def _add_trial(dispersion: argparse.ArgumentParser) -> None:
    add_metric(dispersion)
    dispersion.set_defaults(metric=None)
    dispersion.add_argument(
        "--tested",
        nargs="+",
        metavar="A:LAYER",
        help="spaces that are aligned with language (those of --models)",
    )
    dispersion.add_argument(
        "--language",
        nargs="+",
        metavar="M",
        help="language models (all that finished their training)",
    )
    dispersion.add_argument(
        "--cross-fitted",
        action="store_true",
        default=None,
        help="rank for each tested space by the other models",
    )
    dispersion.add_argument("--repeats", type=count, metavar="N", help="random sets (50)")
    dispersion.add_argument(
        "--draws",
        type=count,
        metavar="N",
        help="random three quarters of a set, for its interval (100)",
    )
    dispersion.add_argument("--seed", type=count, help="of random sets and parts (0)")


def run_dispersion(given: argparse.Namespace) -> None:
    """Print a row per stimulus, `index stimulus mean pc1 median trimmed residuals`, or the table of
    the view that is asked for.
    """
    from core.store import Store
    from core.study.spaces import default_spaces
    from core.study.study import Study

    aligned = given.effect or given.findings or given.parts is not None or given.drop is not None
    _refuse_unused(given, aligned)
    study = Study(
        Store(given.store),
        given.dataset,
        q=given.q,
        where=dict(map(named, given.where)),
        stimuli=given.stimuli,
    )
    spaces = given.models or default_spaces(study)
    views = {"held_out": _held_out, "explain": _explained, "words": _words}
    view = (
        _aligned
        if aligned
        else next((made for name, made in views.items() if getattr(given, name)), _stimuli)
    )
    print_table(view(study, spaces, given), as_json=given.json)


def _refuse_unused(given: argparse.Namespace, aligned: bool) -> None:
    """Refuse options that have no part in what is asked for."""
    unused = [] if aligned else [*TRIAL, "metric", "k", "set"]
    if given.held_out:
        unused += ["by", "sets"]
    if given.explain:
        unused = [name for name in unused if name != "seed"] + ["sets"]
    if given.parts is not None or given.drop is not None:
        unused += ["sets"]
    asked = [
        f"--{name.replace('_', '-')}" for name in unused if getattr(given, name) not in (None, [])
    ]
    if asked:
        raise InputError(
            f"{' and '.join(asked)} would change nothing of what is printed; leave it out, or see"
            " platoscope dispersion -h"
        )


def _aligned(study: Study, spaces: list[str], given: argparse.Namespace) -> pd.DataFrame:
    from core.progress import ConsoleProgress
    from core.questions.dispersion.trials import Trial, by_part, drop, effect

    chosen = {
        name: getattr(given, name)
        for name in (*TRIAL, "by", "metric")
        if getattr(given, name) is not None
    }
    lists = {name: tuple(value) for name, value in chosen.items() if isinstance(value, list)}
    trial = Trial(
        **{**chosen, **lists},
        centering=given.centering,
        parameters=tuple(parameters(given).items()),
    )
    report = ConsoleProgress()
    if given.parts is not None:
        return by_part(study, spaces, count=given.parts, trial=trial, report=report)
    if given.drop is not None:
        return drop(study, spaces, share=given.drop, trial=trial, report=report)
    size = study.size // SHARE if given.sets is None else given.sets
    if given.effect:
        return effect(study, spaces, size=size, trial=trial, report=report)
    from core.questions.dispersion.summary import dispersion_findings

    return dispersion_findings(study, spaces, size=size, trial=trial, report=report)


def _held_out(study: Study, spaces: list[str], given: argparse.Namespace) -> pd.DataFrame:
    from core.progress import ConsoleProgress
    from core.study.consensus import held_out_fits

    return held_out_fits(study, spaces, centering=given.centering, report=ConsoleProgress())


def _explained(study: Study, spaces: list[str], given: argparse.Namespace) -> pd.DataFrame:
    from core.progress import ConsoleProgress
    from core.questions.dispersion.explanation import explain
    from core.questions.dispersion.prediction import verdict

    by, seed = given.by or "mean", given.seed or 0
    table = explain(
        study, spaces, by=by, centering=given.centering, seed=seed, report=ConsoleProgress()
    )
    print(verdict(table), file=sys.stderr)
    return table


def _words(study: Study, spaces: list[str], given: argparse.Namespace) -> pd.DataFrame:
    from core.questions.dispersion.explanation import enriched_words

    size = study.size // SHARE if given.sets is None else given.sets
    return enriched_words(
        study, spaces, size=size, by=given.by or "mean", centering=given.centering
    )


def _stimuli(study: Study, spaces: list[str], given: argparse.Namespace) -> pd.DataFrame:
    """Return the stimuli by index, or from least to most dispersed where --by is given; --sets
    marks the ends.
    """
    import pandas as pd

    from core.study.consensus import disperse, find_summary
    from core.study.selections import ends
    from core.study.spaces import find_spaces

    places = find_spaces(study, spaces)
    by = find_summary(given.by or "mean", places)
    table = disperse(study, spaces, centering=given.centering, without_each=given.without_each)
    if given.sets is not None:
        low, high = ends(table[by].to_numpy(), given.sets)
        table["set"] = ""
        table.loc[low, "set"], table.loc[high, "set"] = "low", "high"
    names = [str(place) for place in places]
    if given.json:
        nested = pd.Series(table[names].to_dict("records"), index=table.index, dtype=object)
        table = table.drop(columns=names).assign(residuals=nested)
    return table.sort_values(by, kind="stable") if given.by else table
