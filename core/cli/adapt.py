"""`platoscope adapt`: linear adapters between frozen encoders, and whether they bring them nearer
to a reference.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.cli.shared import add_command, add_metric, count, parameters, print_table
from core.errors import InputError

if TYPE_CHECKING:
    from core.study.study import Study


def add(commands: Any) -> None:
    """Add `adapt`."""
    adapt = add_command(
        commands,
        "adapt",
        run_adapt,
        "train linear adapters between frozen encoders and measure them on test stimuli",
    )
    adapt.add_argument("--dataset", required=True, metavar="D")
    adapt.add_argument(
        "--x",
        nargs="+",
        required=True,
        metavar="A[:LAYER]",
        help="an encoder; its penultimate block where no layer is named",
    )
    adapt.add_argument(
        "--y",
        nargs="+",
        required=True,
        metavar="B[:LAYER]",
        help="another one; of several the i-th goes with x's",
    )
    adapt.add_argument(
        "--z",
        nargs="+",
        default=[],
        metavar="C[:LAYER]",
        help="further ones, with every x and y; all pairs are in the loss",
    )
    adapt.add_argument(
        "--ref", nargs="+", required=True, metavar="R[:LAYER]", help="strong models to compare with"
    )
    adapt.add_argument(
        "--pairs",
        nargs="+",
        type=count,
        default=[],
        metavar="N",
        help="training pairs (all); several give a learning curve",
    )
    adapt.add_argument("--width", type=count, default=256, help="dimensions of the common space")
    adapt.add_argument("--temperature", type=float, default=0.07, help="of the loss")
    adapt.add_argument("--learned", action="store_true", help="learn the temperature from there")
    adapt.add_argument(
        "--seeds",
        type=count,
        default=5,
        metavar="N",
        help="trainings; what is drawn differs, the test stimuli stay",
    )
    add_metric(adapt)
    adapt.add_argument(
        "--q", type=float, default=0.95, help="share of feature values left unclamped, 1 for all"
    )
    adapt.add_argument(
        "--bootstrap",
        type=count,
        default=200,
        metavar="N",
        help="halves of the test stimuli: interval of the gain",
    )
    adapt.add_argument("--seed", type=count, default=0, help="of the test stimuli and the draws")
    adapt.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1 or mps")
    adapt.add_argument(
        "--save", type=Path, metavar="FILE", help="write the first seed's adapters as safetensors"
    )
    adapt.add_argument("--json", action="store_true")


def run_adapt(given: argparse.Namespace) -> None:
    """Print a row per figure: encoders, reference, pairs, and the columns of `summarize`; then the
    verdicts.
    """
    import pandas as pd

    from core.progress import ConsoleProgress
    from core.questions.adapters.answer import adapt, learning_curve
    from core.questions.adapters.maps.model import Settings
    from core.questions.adapters.measures import summarize, verdicts
    from core.store import Store
    from core.study.study import Study

    settings = Settings(width=given.width, temperature=given.temperature, learned=given.learned)
    study, groups = Study(Store(given.store), given.dataset, q=given.q), _groups(given)
    _check(study, groups, given.ref)
    trained = {"settings": settings, "seed": given.seed, "device": given.device}
    if given.save:
        _save(given, study, groups[0], **trained)
    ask = partial(learning_curve, sizes=given.pairs) if given.pairs else adapt
    asked = {
        "references": given.ref,
        "seeds": given.seeds,
        "metric": given.metric,
        "draws": given.bootstrap,
        **parameters(given),
    }
    tables = [ask(study, spaces, report=ConsoleProgress(), **trained, **asked) for spaces in groups]
    rows = pd.concat(tables, ignore_index=True)
    print_table(summarize(rows), as_json=given.json)
    if not given.json:
        print("", *verdicts(rows), sep="\n")


def _groups(given: argparse.Namespace) -> list[list[str]]:
    """Return the encoders that are trained together: the i-th x, the i-th y and every z."""
    if len(given.x) != len(given.y):
        raise InputError(
            f"the i-th --x goes with the i-th --y; given {len(given.x)} and {len(given.y)}: name as"
            " many of both"
        )
    if given.save and len(given.x) > 1:
        raise InputError(
            f"--save writes the adapters of one --x and one --y; given {len(given.x)} of each: save"
            " them one by one"
        )
    return [[x, y, *given.z] for x, y in zip(given.x, given.y, strict=True)]


def _check(study: Study, groups: Sequence[Sequence[str]], references: Sequence[str]) -> None:
    """Refuse encoders and references that mean nothing or go not together, before the first of them
    is trained.
    """
    from core.questions.adapters.answer import find_places

    places = [find_places(study, spaces, references)[0] for spaces in groups]
    for number, once in enumerate(places):
        if set(once) in map(set, places[:number]):
            raise InputError(
                f"{' + '.join(map(str, once))} would be trained twice; leave one of its --x and"
                " --y out"
            )


def _save(given: argparse.Namespace, study: Study, spaces: Sequence[str], **trained: Any) -> None:
    """Write the adapters of the first seed and the most pairs."""
    from core.questions.adapters.answer import train_adapters
    from core.questions.adapters.maps.files import dump

    data = dump(*train_adapters(study, spaces, pairs=max(given.pairs, default=None), **trained))
    try:
        given.save.write_bytes(data)
    except OSError as error:
        raise InputError(
            f"{given.save} cannot be written ({error.strerror}); name another file with --save"
        ) from error
