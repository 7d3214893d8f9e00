"""Runs a plan: adds its dataset, writes its captions, embeds and measures its models.

What is in the store already is left alone, so a second run continues. A step that fails is named,
and the run goes on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import pandas as pd

from core.competence.bits_per_byte import Extent
from core.competence.images import ALL, ImageSet, task_names
from core.competence.texts import open_texts
from core.competence.transfer import open_tasks
from core.competence.units import Bench
from core.crew.units import Crew, Once, Unit
from core.embedding.runner import embed
from core.embedding.summaries import INSTRUCTION, read_instruction, summarize
from core.encoders.catalog import open_encoder
from core.encoders.encoder import Encoder
from core.errors import InputError, PlatoscopeError
from core.plans.plan import Group, Plan, PlannedModel, Summaries, is_of, not_stored, stored_name
from core.progress import Progress
from core.settings import choose_device
from core.stimuli.addition import Addition, open_addition
from core.stimuli.catalog import open_dataset
from core.stimuli.dataset import Dataset
from core.store import ModelEntry, Store, add_dataset
from core.unexpected import tell_unexpected

R = TypeVar("R")
Levels = tuple[str | None, ...]  # of captions; None is the dataset's default


@dataclass(frozen=True)
class Run:
    """What a run has done so far. crew: does units of work. only: the groups that are embedded and
    measured, all if none is named. failures: each step that failed, and why. missing: what the run
    lacks, and why or what to name.
    """

    plan: Plan
    store: Path
    device: str
    crew: Crew
    report: Progress
    only: tuple[str, ...] = ()
    failures: list[tuple[str, str]] = field(default_factory=list)
    missing: list[tuple[str, str]] = field(default_factory=list)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        self.tell(name)
        with self.naming(name):
            yield

    @contextmanager
    def naming(self, name: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            known = isinstance(error, PlatoscopeError)
            self.fail(name, f"{error}" if known else tell_unexpected(error))

    def do(self, units: Sequence[Unit[R]]) -> list[R]:
        returned = list[R]()
        for unit, outcome in self.crew.run(
            units, report=self.report, began=lambda unit: self.tell(unit.name)
        ):
            if isinstance(outcome, PlatoscopeError):
                self.fail(unit.name, f"{outcome}")
            else:
                returned.append(outcome)
        return returned

    def tell(self, step: str) -> None:
        print(step, file=sys.stderr)

    def fail(self, step: str, reason: str) -> None:
        self.failures.append((step, reason))
        self.tell(f"{step}: {reason}")

    def lacks(self, of: str, why: str) -> None:
        self.missing.append((of, why))

    def held(self, model: PlannedModel, level: str | None = None) -> ModelEntry | None:
        """Return a model's embedding at a caption level, None if there is none. level: None for the
        dataset's default, and for models that read images.
        """
        reader, name = Store(self.store), self.plan.dataset.name
        entries = reader.embeddings(name)
        if stored := stored_name(model.spec):
            names = [f"{stored}~{level}", stored]
            found = [entry for one in names for entry in entries if entry.card.name == one]
            fits = [one for one in found if level is None or one.level in (level, None)]
        else:
            wanted = (level or next(iter(reader.dataset(name).levels), None), None)
            fits = [one for one in entries if is_of(one.card, model.spec) and one.level in wanted]
        return next(iter(fits), None)

    def entry(self, group: Group, model: PlannedModel) -> ModelEntry | None:
        levels = self.plan.levels if group.modality == "language" else ()
        return self.held(model, levels[0] if levels else None)

    def names(self) -> dict[str, list[str]]:
        names: dict[str, list[str]] = {}
        for group, model in self.plan.members():
            if entry := self.entry(group, model):
                names.setdefault(group.name, []).append(entry.card.name)
        return names


def embed_models(run: Run) -> None:
    """Add the dataset, write captions in fewer words and embed every model; raise if the dataset
    cannot be added.
    """
    dataset, plan = _hold_data(run), run.plan
    levels: Levels = (*(plan.levels or (None,)), *_write_captions(run))
    opened = Once(partial(open_dataset, dataset.card), dataset)
    members, units = list(plan.members(run.only)), dict[str, Unit[None]]()
    for at, (group, model) in enumerate(members, start=1):
        wanted: Levels = levels if group.modality == "language" else (None,)
        missing = tuple(level for level in wanted if run.held(model, level) is None)
        if missing and stored_name(model.spec):
            if not any(map(partial(run.held, model), wanted)):
                run.fail(f"model {model.spec}", not_stored(model.spec))
        elif missing and model.spec not in units:  # a model of two groups is the first one's
            work = partial(_embed, plan, run.store, run.device, opened, group, model, missing)
            units[model.spec] = Unit(f"model {at} of {len(members)}: {model.spec}", work)
    run.do([*units.values()])
    for group in plan.groups:
        if group.missing and group.name in (run.only or [group.name]):
            run.lacks(f"group {group.name}", group.missing)


def _hold_data(run: Run) -> Dataset:
    data = run.plan.dataset
    run.tell(f"dataset {data.name}")
    held = {card.name: card for card in Store(run.store).datasets()}
    if data.name in held:
        dataset = open_dataset(held[data.name])
    elif data.hub or data.folder:
        said = vars(data)
        names = [one.name for one in fields(Addition) if one.name in said]
        dataset = open_addition(Addition(**{name: said[name] for name in names}))
        add_dataset(run.store, dataset, report=run.report)
    else:
        why = data.missing or "it is not in the store, and the study names no source for it"
        raise InputError(f"dataset {data.name}: {why}; name a folder with --data DIR")
    size = dataset.card.size
    if data.size and size != data.size:
        run.lacks(f"dataset {data.name}", f"the study had {data.size:,} stimuli, here are {size:,}")
    return dataset


def _embed(
    plan: Plan,
    store: Path,
    device: str,
    dataset: Once[Dataset],
    group: Group,
    model: PlannedModel,
    levels: Levels,
    report: Progress | None,
) -> None:
    pooling = plan.pooling if group.modality == "language" else "auto"
    place = choose_device(device)
    opened = open_encoder(model.spec, device=place, pooling=pooling, precision=plan.precision)
    said = {name: text for name in ("family", "objective") if (text := getattr(group, name))}
    said |= {"name": model.name, "title": model.name} if model.name else {}
    card = replace(opened.card, **said)
    encoder = cast(Encoder, replace(cast(Any, opened), card=card))
    for level in levels:
        embed(store, dataset(), encoder, level=level, report=report)


def _write_captions(run: Run) -> list[str]:
    plan, summaries = run.plan, run.plan.summaries
    if summaries is None:
        return []
    if not summaries.writer:
        why = summaries.missing or "no model is named that writes them"
        run.lacks("captions in fewer words", why)
        return []
    file = summaries.instruction
    instruction = read_instruction(plan.place.parent / file) if file else INSTRUCTION
    work = partial(_write, run.store, plan.dataset.name, run.device, summaries, instruction)
    unit = Unit(f"captions in fewer words, by {summaries.writer}", work)
    return [level for written in run.do([unit]) for level in written]


def _write(
    store: Path,
    dataset: str,
    device: str,
    summaries: Summaries,
    instruction: str,
    report: Progress | None,
) -> list[str]:
    from core.encoders.language.chat import open_chat  # seconds that other studies need not pay

    writer = open_chat(summaries.writer, device=choose_device(device))
    return [
        summarize(store, dataset, writer, words=words, instruction=instruction, report=report)
        for words in summaries.words
    ]


def measure_models(run: Run) -> None:
    """Measure the embedded models: bits per byte over texts, linear probes on images."""
    plan, bench = run.plan, Bench(run.store, run.plan.dataset.name, run.device)
    coding, probing = plan.coding, plan.probing
    if coding and (names := _names(run, coding.groups)):
        texts, units = Once(partial(open_texts, coding.text)), list[Unit[pd.DataFrame]]()
        with run.step(f"texts of {coding.text}"):
            texts()
            for name in names:
                with run.naming(f"bits per byte of {name}"):
                    units += bench.coding([name], texts, Extent(coding.tokens))
        run.do(units)
    if probing and (names := _names(run, probing.groups)):
        each, units = list[Once[list[ImageSet]]](), list[Unit[pd.DataFrame]]()
        tasks = [one for task in probing.tasks for one in (task_names() if task == ALL else [task])]
        for task in tasks:  # one that cannot be opened is named, and the others are measured
            with run.step(f"task {task}"):
                limit = (probing.train, probing.test)
                opened = Once(partial(open_tasks, (task,), limit=limit))
                opened(report=run.report)
                each.append(opened)
        sets = Once(partial(_opened, each))
        for name in names if each else ():
            with run.naming(f"linear probes of {name}"):
                units += bench.probing([name], sets)
        run.do(units)


def _opened(each: Sequence[Callable[[], list[ImageSet]]]) -> list[ImageSet]:
    return [images for opened in each for images in opened()]


def _names(run: Run, groups: tuple[str, ...]) -> list[str]:
    there = run.names()
    return [
        name for group in groups if group in (run.only or groups) for name in there.get(group, [])
    ]
