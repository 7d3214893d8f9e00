"""`platoscope adapt`: linear adapters between frozen encoders, and whether they bring them nearer to a reference."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

from core.cli.shared import add_command, add_metric, count, parameters, print_table
from core.settings import choose_device


def add(commands: Any) -> None:
    """Add `adapt`."""
    adapt = add_command(
        commands, "adapt", run_adapt, "train linear adapters between frozen encoders and measure them on test stimuli"
    )
    adapt.add_argument("--dataset", required=True, metavar="D")
    adapt.add_argument("--x", required=True, metavar="A[:LAYER]", help="an encoder; its penultimate block where no layer is named")
    adapt.add_argument("--y", required=True, metavar="B[:LAYER]", help="another one")
    adapt.add_argument("--z", nargs="+", default=[], metavar="C[:LAYER]", help="further ones; all pairs are in the loss")
    adapt.add_argument("--ref", required=True, metavar="R[:LAYER]", help="the strong model that they are compared with")
    adapt.add_argument("--pairs", nargs="+", type=count, metavar="N", help="training pairs (all); several give a learning curve")
    adapt.add_argument("--width", type=count, default=256, help="dimensions of the common space")
    adapt.add_argument("--temperature", type=float, default=0.07, help="of the loss")
    adapt.add_argument("--learned", action="store_true", help="learn the temperature from there")
    adapt.add_argument(
        "--seeds", type=count, default=5, metavar="N", help="trainings; what is drawn differs, the test stimuli stay"
    )
    add_metric(adapt)
    adapt.add_argument("--q", type=float, default=0.95, help="share of feature values left unclamped, 1 for all")
    adapt.add_argument("--bootstrap", type=count, default=200, metavar="N", help="halves of the test stimuli: interval of the gain")
    adapt.add_argument("--seed", type=count, default=0, help="of the test stimuli and the draws")
    adapt.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1 or mps")
    adapt.add_argument("--save", type=Path, metavar="FILE", help="write the first seed's adapters as safetensors")
    adapt.add_argument("--json", action="store_true")


def run_adapt(given: argparse.Namespace) -> None:
    """Print a row per figure: `pairs measure method what value sd seeds low high holds reason`, then the verdict in words."""
    from core.adaptation import adapt, learning_curve, train_adapters
    from core.adapters.model import Settings
    from core.analyses.adapters import summarize, verdict_text
    from core.embedding.progress import ConsoleProgress
    from core.store import Store
    from core.study import Study

    study, spaces = Study(Store(given.store), given.dataset, q=given.q), [given.x, given.y, *given.z]
    settings = Settings(width=given.width, temperature=given.temperature, learned=given.learned)
    trained = {"settings": settings, "seed": given.seed, "device": str(choose_device(given.device))}
    asked = {"reference": given.ref, "seeds": given.seeds, "metric": given.metric, "draws": given.bootstrap, **parameters(given)}
    sizes = sorted(given.pairs or [])
    ask = partial(learning_curve, sizes=sizes) if len(sizes) > 1 else partial(adapt, pairs=sizes[0] if sizes else None)
    rows = ask(study, spaces, report=ConsoleProgress(), **trained, **asked)
    print_table(summarize(rows), as_json=given.json)
    if not given.json:
        print(verdict_text(rows[rows["pairs"] == rows["pairs"].max()], reference=given.ref))
    if given.save:
        from core.adapters.files import dump

        given.save.write_bytes(dump(*train_adapters(study, spaces, pairs=sizes[-1] if sizes else None, **trained)))
