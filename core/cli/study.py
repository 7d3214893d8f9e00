"""`platoscope study`: whole studies from one file, published ones or a person's own."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import pandas as pd

from core.cli.command import Command, Printing, device_option, on_option, print_object, print_table
from core.errors import MISTAKE, InputError
from core.figures.numbers import count_text
from core.machine.memory import size_text
from core.options import argument, option
from core.plans.plan import Plan, PlannedData, put_models
from core.plans.reading import open_plan, shipped
from core.plans.sizes import ask_hub, sizes, totals
from core.store import Store

UNKNOWN = "not known"


@dataclass(frozen=True)
class ListStudies(Printing):
    """List the published studies."""

    command = "study list"
    over_store = False

    def run(self, _: Path) -> None:
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
            for plan in map(open_plan, shipped())
        ]
        table = pd.DataFrame(rows).astype({"stimuli": "Int64"})
        print_table(table if self.json else table.drop(columns="source"), as_json=self.json)


@dataclass(frozen=True)
class OfStudy(Command):
    """A command about one study, with what a person names in it."""

    name: str = argument(metavar="NAME", help="a published study's name, or a TOML file")
    only: tuple[str, ...] = option((), metavar="GROUP", help="only the models of a group")
    data: str = option("", metavar="DIR", help="the folder that holds the dataset")
    models: tuple[str, ...] = option(
        (),
        metavar="GROUP=SPEC",
        help="more models of a group, instead of its defaults: timm:NAME, hf:ID, or a folder of"
        " checkpoints",
    )
    precision: Literal["auto", "fp32", "bf16", "fp16"] | None = option(
        None, help="of weights and forward pass; auto: as the weights are stored (the study's)"
    )
    writer: str = option("", metavar="SPEC", help="the model that puts captions into fewer words")

    def plan(self) -> Plan:
        plan = open_plan(self.name)
        for name in self.only:
            plan.group(name)
        for text in self.models:
            name, equals, place = text.partition("=")
            if not (equals and place):
                raise InputError(f"expected --models GROUP=SPEC or GROUP=FOLDER; got {text!r}")
            plan = put_models(plan, name, place)
        if self.data:
            none = dict.fromkeys(("hub", "revision", "split", "image_column", "text_column"), "")
            data = {**vars(plan.dataset), **none, "folder": self.data}
            plan = replace(plan, dataset=PlannedData(**data))
        if self.precision:
            plan = replace(plan, precision=self.precision)
        if self.writer:
            if plan.summaries is None:
                raise InputError(f"{plan.name} has no captions to be written; leave --writer out")
            plan = replace(plan, summaries=replace(plan.summaries, writer=self.writer))
        return plan


@dataclass(frozen=True)
class ShowStudy(OfStudy, Printing):
    """Print what a study takes, before anything is fetched: a row per model, then sums and what is
    missing.
    """

    command = "study show"

    def run(self, store: Path) -> None:
        plan = self.plan()
        table = sizes(plan, store, only=self.only, ask=ask_hub())
        if self.json:
            print_object(totals(table), table)
            return
        print(plan.title)
        if plan.about:
            print(plan.about)
        known = {
            "parameters": count_text,
            "layers": "{:.0f}".format,
            **dict.fromkeys(("download", "room", "memory"), _size),
        }
        shown = table[["group", "model"]].copy()
        for column, text in known.items():
            shown[column] = [UNKNOWN if one != one else text(one) for one in table[column]]
        shown["gated"] = table["gated"].replace("", UNKNOWN)
        shown["embedded"] = table["embedded"].replace("", "no")
        print_table(shown, as_json=False)
        for sentence in _needs(plan, table, store):
            print(sentence, file=sys.stderr)


@dataclass(frozen=True)
class RunStudy(OfStudy):
    """Run a study: dataset, models, competence, figures; existing results stay."""

    command = "study run"
    is_job = True

    to: str = option("", metavar="FOLDER", help="where the figures go (the study's name)")
    device: str = device_option()
    on: str = on_option()

    def run(self, store: Path) -> int:
        # torch, which other commands must not cost
        from core.crew import open_crew
        from core.plans.report import check_folder, draw_figures, write_report
        from core.plans.run import Run, embed_models, measure_models
        from core.progress import ConsoleProgress

        plan = self.plan()
        folder = Path(self.to or plan.name)
        check_folder(folder)
        with open_crew(self.on, device=self.device) as crew:
            run = Run(plan, store, self.device, crew, ConsoleProgress(), self.only)
            embed_models(run)
            measure_models(run)
            drawn = draw_figures(run)
        for one in drawn:
            print(one.figure.name)
        print(write_report(run, drawn, folder))
        for of, why in run.missing:
            print(f"Missing: {of}: {why}", file=sys.stderr)
        for step, reason in run.failures:
            print(f"platoscope: {step}: {reason}", file=sys.stderr)
        return MISTAKE if run.failures else 0


def _size(size: float) -> str:
    return UNKNOWN if size != size else size_text(int(size))


def _sum(size: float, unknown: float) -> str:
    if not unknown:
        return _size(size)
    return f"{_size(size)}, not counting {unknown} models of unknown size" if size else UNKNOWN


def _needs(plan: Plan, table: pd.DataFrame, store: Path) -> list[str]:
    sums, data = totals(table), plan.dataset
    place = data.hub or data.folder or data.missing or "not in any place that the study names"
    if data.name in {card.name for card in Store(store).datasets()}:
        place = "in the store"
    lines = [
        f"Dataset {data.name}: {place}.",
        f"Embedded: {sums['embedded']} of {sums['models']} models.",
    ]
    if sums["embedded"] < sums["models"]:
        lines += [
            f"To fetch: {_sum(sums['download'], sums['download_unknown'])}.",
            f"In the store: {_sum(sums['room'], sums['room_unknown'])}.",
            f"In memory, for the largest weights: {_size(sums['memory'])}.",
        ]
    lines += [f"Group {one.name}: {one.missing}." for one in plan.groups if one.missing]
    if summaries := plan.summaries:
        words = ", ".join(map(str, summaries.words))
        lines.append(f"Captions in {words} words: {summaries.writer or summaries.missing}.")
    if coding := plan.coding:
        lines.append(f"Bits per byte: {coding.tokens:,} tokens of {coding.text}.")
    if probing := plan.probing:
        limits = f"{probing.train:,} training and {probing.test:,} test samples"
        lines.append(f"Linear probes: {', '.join(probing.tasks)}, at most {limits}.")
    lines += list(dict.fromkeys(note for note in table["note"] if note))
    return lines + [f"Figure {one.name}: platoscope {one.ask}" for one in plan.figures]
