"""`platoscope map` and `trends`: where the models stand among each other, and whether better ones
agree more.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from core.cli.shared import add_command, add_metric, count, parameters, print_table

if TYPE_CHECKING:
    from core.study.study import Study


def add(commands: Any) -> None:
    """Add `map` and `trends`."""
    mapped = add_command(
        commands,
        "map",
        run_map,
        "place the models in a plane by -log(alignment): coordinates and diagnostics",
    )
    _add_compared(mapped, "of UMAP and t-SNE")
    mapped.add_argument("--model", nargs="+", action="extend", metavar="M", help="models (all)")
    mapped.add_argument("--layout", default="umap", help="umap, mds or tsne")
    trends = add_command(
        commands,
        "trends",
        run_trends,
        "do better models agree more? bins, reality, and scores that alignment tells",
    )
    _add_compared(trends, "of permutations and draws")
    trends.add_argument(
        "--vision",
        metavar="M",
        help="the vision model that language models are aligned with (the best)",
    )
    trends.add_argument(
        "--bins",
        type=count,
        default=5,
        metavar="N",
        help="of the share of tasks that vision models solve",
    )
    trends.add_argument(
        "--equal",
        action="store_true",
        help="bins of equally many models, not equal shares of the tasks",
    )
    trends.add_argument(
        "--threshold",
        type=float,
        default=0.8,
        metavar="S",
        help="share of the best score that solves a task",
    )
    trends.add_argument(
        "--task",
        nargs="+",
        action="extend",
        default=[],
        metavar="T",
        help="probed tasks that count (the Cave's)",
    )
    trends.add_argument(
        "--by",
        default="objective",
        choices=("objective", "family", "group", "size"),
        help="what pairs of models are of one of, or across",
    )


def run_map(given: argparse.Namespace) -> None:
    """Print a row per model: `model x y nearest_1 … floored reason`, then what the map is worth:
    `stress trustworthiness …`.
    """
    from core.progress import ConsoleProgress
    from core.questions.models.answer import map_models

    study, compared = _study(given)
    names = given.model or list(study.models()["model"])
    table = map_models(
        study, names, layout=given.layout, seed=given.seed, report=ConsoleProgress(), **compared
    )
    print_table(table, as_json=given.json)


def run_trends(given: argparse.Namespace) -> None:
    """Print figures 2 and 4 as numbers, a row per figure: `finding group models value low high se p
    reason`.
    """
    from core.progress import ConsoleProgress
    from core.questions.competence.answer import study_trends

    study, compared = _study(given)
    chosen = {
        "vision": given.vision,
        "bins": given.bins,
        "equal": given.equal,
        "by": given.by,
        "seed": given.seed,
    }
    solving = {"threshold": given.threshold, "tasks": given.task}
    print_table(
        study_trends(study, **chosen, **solving, report=ConsoleProgress(), **compared),
        as_json=given.json,
    )


def _study(given: argparse.Namespace) -> tuple[Study, dict[str, Any]]:
    """Return the study, and how its models are compared."""
    from core.store import Store
    from core.study.study import Study

    compared = {"metric": given.metric, "layers": given.layers, **parameters(given)}
    return Study(Store(given.store), given.dataset, q=given.q), compared


def _add_compared(command: argparse.ArgumentParser, seed: str) -> None:
    command.add_argument("--dataset", required=True, metavar="D")
    add_metric(command)
    command.add_argument(
        "--layers", default="best", help="best, best+concatenated, last, or a depth from 0 to 1"
    )
    command.add_argument(
        "--q", type=float, default=0.95, help="share of feature values left unclamped, 1 for all"
    )
    command.add_argument("--seed", type=count, default=0, help=seed)
    command.add_argument("--json", action="store_true")
