"""`platoscope study`: whole studies from one file, published ones or a person's own."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from core.cli.shared import (
    add_command,
    add_json,
    add_on,
    group,
    print_object,
    print_table,
)
from core.encoders.requests import TYPES, Precision
from core.errors import MISTAKE, InputError

if TYPE_CHECKING:
    import pandas as pd

    from core.plans.plan import Plan
    from core.plans.sizes import Totals

UNKNOWN = "not known"
WEIGHTS = {"auto": "float32, less where they are stored in less"}
WEIGHTS |= {option: name for name, option in TYPES.items()}
NAME = "a published study's name, or a TOML file"


def add(commands: Any) -> None:
    """Add `study list`, `show`, `check` and `run`."""
    kinds = group(commands, "study")
    listing = add_command(kinds, "list", run_list, "list the published studies", store=False)
    add_json(listing)
    show = add_command(
        kinds, "show", run_show, "say what a study takes, before anything is fetched"
    )
    _add_choices(show)
    add_json(show)
    check = add_command(
        kinds,
        "check",
        run_check,
        "check a study's ids, their terms on the hub, disk and memory, before anything is fetched",
    )
    _add_choices(check)
    add_json(check)
    run = add_command(
        kinds,
        "run",
        run_run,
        "run a study: dataset, models, competence, figures; what is there already stays",
        job=True,
    )
    _add_choices(run)
    run.add_argument("--dry-run", action="store_true", help="say what it takes, and do nothing")
    run.add_argument(
        "--to", type=Path, metavar="FOLDER", help="where the figures go (the study's name)"
    )
    add_on(run)
    run.set_defaults(json=False)


def _add_choices(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", metavar="NAME", help=NAME)
    command.add_argument(
        "--only", nargs="+", action="extend", metavar="GROUP", help="only the models of a group"
    )
    command.add_argument("--data", metavar="DIR", help="the folder that holds the dataset")
    command.add_argument(
        "--models",
        nargs="+",
        action="extend",
        metavar="GROUP=SPEC",
        help="more models of a group, in place of its defaults: timm:NAME, hf:ID, or a folder of"
        " checkpoints",
    )
    command.add_argument(
        "--precision",
        choices=get_args(Precision),
        help="of weights and forward pass; auto: as the weights are stored (the study's)",
    )
    command.add_argument(
        "--writer", metavar="SPEC", help="the model that puts captions into fewer words"
    )
    command.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1 or mps")


def run_list(arguments: argparse.Namespace) -> None:
    """Print one row per published study."""
    import pandas as pd  # a third of a second, which parsing must not cost

    from core.plans.reading import open_plan, shipped

    plans = [open_plan(name) for name in shipped()]
    rows = [
        {
            "name": plan.name,
            "title": plan.title,
            "dataset": plan.dataset.name,
            "stimuli": plan.dataset.size,
            "models": sum(len(one.models) for one in plan.groups),
            "figures": len(plan.figures),
            "source": plan.source,
        }
        for plan in plans
    ]
    table = pd.DataFrame(rows).astype({"stimuli": "Int64"})
    shown = table if arguments.json else table.drop(columns="source")
    print_table(shown, as_json=arguments.json)


def run_show(arguments: argparse.Namespace) -> None:
    """Print what a study takes: a row per model, then sums and what is missing."""
    from core.machine.processes import product_rate
    from core.plans.sizes import ask_hub, sizes, totals
    from core.settings import choose_device

    plan, device = _open(arguments), choose_device(arguments.device)
    rate = product_rate(device)
    table = sizes(plan, arguments.store, only=_only(arguments), ask=ask_hub(), rate=rate)
    if arguments.json:
        print_object(vars(totals(table)), table)
        return
    print(plan.title)
    if plan.about:
        print(plan.about)
    print_table(_readable(table), as_json=False)
    sentences = (_place(plan, arguments.store), *_sums(plan, totals(table)))
    sentences += (*_time(totals(table), f"{device}", rate), *_more(plan, table))
    for sentence in sentences:
        print(sentence, file=sys.stderr)


def run_check(arguments: argparse.Namespace) -> int:
    """Print whether a study can run here, a row for each thing that it needs."""
    from core.plans.checking import check
    from core.plans.sizes import ask_hub

    table = check(
        _open(arguments),
        arguments.store,
        only=_only(arguments),
        device=arguments.device,
        ask=ask_hub(),
    )
    shown = table if arguments.json else table.assign(wrong=table["wrong"].replace("", "ok"))
    print_table(shown, as_json=arguments.json)
    return MISTAKE if table["wrong"].any() else 0


def run_run(arguments: argparse.Namespace) -> int:
    """Run a study, and say at the end what failed."""
    if arguments.dry_run:
        run_show(arguments)
        return 0
    plan = _open(arguments)
    from core.crew import open_crew
    from core.plans.figures import draw_figures  # torch, which a dry run must not cost
    from core.plans.measuring import measure_models
    from core.plans.models import embed_models
    from core.plans.report import check_folder, write_report
    from core.plans.run import Run
    from core.progress import ConsoleProgress

    folder = arguments.to or Path(plan.name)
    check_folder(plan, folder)
    device, only = arguments.device, _only(arguments)
    with open_crew(arguments.on, device=device) as crew:
        run = Run(plan, arguments.store, device, crew, ConsoleProgress(), _tell, only)
        embed_models(run)
        measure_models(run)
        drawn = draw_figures(run)
    for one in drawn:
        print(one.figure.name)
    print(write_report(run, drawn, folder))
    for lack in run.missing:
        print(f"Missing: {lack.of}: {lack.why}", file=sys.stderr)
    for failure in run.failures:
        print(f"platoscope: {failure.step}: {failure.reason}", file=sys.stderr)
    return MISTAKE if run.failures else 0


def _tell(step: str) -> None:
    print(step, file=sys.stderr)


def _only(arguments: argparse.Namespace) -> tuple[str, ...]:
    return tuple(arguments.only or ())


def _open(arguments: argparse.Namespace) -> Plan:
    """Return the study that is meant, with what the person names in it."""
    from core.plans.plan import PlannedData, put_models
    from core.plans.reading import open_plan

    plan = open_plan(arguments.name)
    for name in _only(arguments):
        plan.group(name)
    for text in arguments.models or ():
        name, equals, place = text.partition("=")
        if not (equals and place):
            raise InputError(f"expected --models GROUP=SPEC or GROUP=FOLDER; got {text!r}")
        plan = put_models(plan, name, place)
    if arguments.data:
        place = {"folder": arguments.data, "hub": "", "revision": "", "split": ""}
        columns = {"image_column": "", "text_column": ""}  # of the hub's data set, too
        plan = replace(plan, dataset=PlannedData(**{**vars(plan.dataset), **place, **columns}))
    if arguments.precision:
        plan = replace(plan, precision=arguments.precision)
    if arguments.writer:
        if plan.summaries is None:
            raise InputError(f"{plan.name} has no captions to be written; leave --writer out")
        plan = replace(plan, summaries=replace(plan.summaries, writer=arguments.writer))
    return plan


def _readable(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of models for people."""
    from core.figures.numbers import count_text, time_text

    shown = table[["group", "model"]].assign(
        parameters=[UNKNOWN if one != one else count_text(one) for one in table["parameters"]],
        layers=[UNKNOWN if one != one else f"{one:.0f}" for one in table["layers"]],
    )
    for column in ("download", "room", "memory"):
        shown[column] = table[column].map(_size)
    shown["time"] = [UNKNOWN if one != one else time_text(one) for one in table["seconds"]]
    shown["gated"] = table["gated"].replace("", UNKNOWN)
    return shown.assign(embedded=table["embedded"].replace("", "no"))


def _size(size: float) -> str:
    from core.machine.memory import size_text

    return UNKNOWN if size != size else size_text(int(size))


def _place(plan: Plan, store: Path) -> str:
    """Say where the dataset is, or comes from."""
    from core.store import Store

    data = plan.dataset
    if data.name in {card.name for card in Store(store).datasets()}:
        return f"Dataset {data.name}: in the store."
    place = data.hub or data.folder or data.missing or "in no place that the study names"
    return f"Dataset {data.name}: {place}."


def _sums(plan: Plan, sums: Totals) -> list[str]:
    """Say what the models take that are not embedded yet."""
    embedded = f"Embedded: {sums.embedded} of {sums.models} models."
    if sums.embedded == sums.models:
        return [embedded]
    memory = f"up to {_size(sums.memory)}" if sums.memory == sums.memory else UNKNOWN
    return [
        embedded,
        f"To fetch: {_sum(sums.download, sums.download_unknown)}.",
        f"In the store: {_sum(sums.room, sums.room_unknown)}.",
        f"In memory, for the weights in {WEIGHTS[plan.precision]}: {memory}.",
    ]


def _time(sums: Totals, device: str, rate: float) -> list[str]:
    """Say how long the models that are not embedded yet compute."""
    from core.figures.numbers import time_text
    from core.plans.sizes import CAPTION

    left = sums.models - sums.embedded
    if not left:
        return []
    missing = f", not counting {sums.seconds_unknown} models" if sums.seconds_unknown else ""
    known = time_text(sums.seconds) if sums.seconds_unknown < left else UNKNOWN
    return [
        f"Time to compute, an estimate: {known}{missing} on {device}, for 2 · parameters · tokens,"
        f" {CAPTION} in a caption, at {rate / 1e9:,.0f} billion operations a second, as measured"
        " now. Downloads come on top."
    ]


def _more(plan: Plan, table: pd.DataFrame) -> list[str]:
    """Say what is measured and drawn, and what is missing or cannot be had."""
    lines = [f"Group {one.name}: {one.missing}." for one in plan.groups if one.missing]
    summaries, coding, probing = plan.summaries, plan.coding, plan.probing
    if summaries:
        words = ", ".join(map(str, summaries.words))
        lines.append(f"Captions in {words} words: {summaries.writer or summaries.missing}.")
    if coding:
        lines.append(f"Bits per byte: {coding.tokens:,} tokens of {coding.text}.")
    if probing:
        limits = f"{probing.train:,} samples to learn from and {probing.test:,} to be tested on"
        lines.append(f"Linear probes: {', '.join(probing.tasks)}, at most {limits}.")
    lines += list(dict.fromkeys(note for note in table["note"] if note))
    return lines + [f"Figure {one.name}: platoscope {one.ask}" for one in plan.figures]


def _sum(size: int, unknown: int) -> str:
    """Return a sum of bytes, and of how many models it lacks theirs."""
    if not unknown:
        return _size(float(size))
    if not size:
        return UNKNOWN
    return f"{_size(float(size))}, not counting {unknown} models of unknown size"
