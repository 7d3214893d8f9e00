"""Adds a plan's dataset, writes its captions and embeds its models: what is in the store already is
left alone, so that a second run takes up what is missing.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.crew.units import Once, Unit
from core.embedding.runner import embed
from core.embedding.summaries import INSTRUCTION, read_instruction, summarize
from core.encoders.catalog import open_encoder
from core.errors import InputError
from core.plans.plan import (
    Group,
    Plan,
    PlannedData,
    PlannedModel,
    Summaries,
    not_stored,
    stored_name,
)
from core.plans.run import Run
from core.plans.sizes import memory_of
from core.progress import Progress
from core.settings import choose_device
from core.stimuli.addition import Addition, open_addition
from core.stimuli.catalog import open_dataset
from core.stimuli.dataset import Dataset
from core.store import Store, add_dataset

if TYPE_CHECKING:
    from core.encoders.encoder import Encoder

Levels = tuple[str | None, ...]  # of captions; None is the dataset's default


def embed_models(run: Run) -> None:
    """Add the dataset, write captions in fewer words and embed every model.

    Raises what keeps the dataset from being added: without it there is no study.
    """
    dataset = hold_data(run)
    levels: Levels = (*(run.plan.levels or (None,)), *_write_captions(run))
    run.do(_units(run, Once(partial(open_dataset, dataset.card), dataset), levels))
    for group in run.plan.groups:
        if group.missing and group.name in (run.only or [group.name]):
            run.lacks(f"group {group.name}", group.missing)


def hold_data(run: Run) -> Dataset:
    """Return the plan's dataset, added to the store where it is not there yet; raises InputError
    where nobody has said where it is.
    """
    data = run.plan.dataset
    run.tell(f"dataset {data.name}")
    held = {card.name: card for card in Store(run.store).datasets()}
    if data.name in held:
        dataset = open_dataset(held[data.name])
    elif data.hub or data.folder:
        dataset = open_addition(_addition(data))
        add_dataset(run.store, dataset, report=run.report)
    else:
        why = data.missing or "it is not in the store, and the study names no place to find it"
        raise InputError(f"dataset {data.name}: {why}; name a folder with --data DIR")
    size = dataset.card.size
    if data.size and size != data.size:
        run.lacks(f"dataset {data.name}", f"the study had {data.size:,} stimuli, here are {size:,}")
    return dataset


def _addition(data: PlannedData) -> Addition:
    values = vars(data)
    return Addition(
        **{one.name: values[one.name] for one in fields(Addition) if one.name in values}
    )


@dataclass(frozen=True)
class _Order:
    """A model that is to be embedded at caption levels, by whichever process."""

    plan: Plan
    store: Path
    device: str
    dataset: Once[Dataset]
    group: Group
    model: PlannedModel
    levels: Levels

    def embed(self, report: Progress | None) -> None:
        """Open the model and embed the dataset."""
        plan, spec = self.plan, self.model.spec
        pooling = plan.pooling if self.group.modality == "language" else "auto"
        device = choose_device(self.device)
        opened = open_encoder(spec, device=device, pooling=pooling, precision=plan.precision)
        encoder = _described(opened, self.group, self.model)
        for level in self.levels:
            embed(self.store, self.dataset(), encoder, level=level, report=report)


def _units(run: Run, dataset: Once[Dataset], levels: Levels) -> list[Unit[None]]:
    """Return what embeds each model at the caption levels that are missing; one that is there is
    not opened.
    """
    members, units = list(run.plan.members(run.only)), dict[str, Unit[None]]()
    for at, (group, model) in enumerate(members, start=1):
        wanted: Levels = levels if group.modality == "language" else (None,)
        missing = tuple(level for level in wanted if run.held(model, level) is None)
        if missing and stored_name(model.spec):
            if not any(map(partial(run.held, model), wanted)):
                run.fail(f"model {model.spec}", f"{not_stored(model.spec)}")
        elif missing and model.spec not in units:  # a model of two groups is the first one's
            order = _Order(run.plan, run.store, run.device, dataset, group, model, missing)
            name = f"model {at} of {len(members)}: {model.spec}"
            weights = partial(memory_of, model.spec, run.plan.precision)
            units[model.spec] = Unit(name, order.embed, weights)
    return [*units.values()]


def _described(encoder: Any, group: Group, model: PlannedModel) -> Encoder:
    """Return an encoder whose card says what the plan says of the group and the model."""
    said = {name: text for name in ("family", "objective") if (text := getattr(group, name))}
    said |= {"name": model.name, "title": model.name} if model.name else {}
    described: Encoder = replace(encoder, card=replace(encoder.card, **said))
    return described


def _write_captions(run: Run) -> list[str]:
    """Return the levels of captions in fewer words, written where they are not there yet."""
    plan, summaries, levels = run.plan, run.plan.summaries, list[str]()
    if summaries and not summaries.writer:
        why = summaries.missing or "no model is named that writes them"
        run.lacks("captions in fewer words", why)
    elif summaries:
        name = f"captions in fewer words, by {summaries.writer}"
        weights = partial(memory_of, summaries.writer, "auto")
        write = partial(_write, run.store, plan.dataset.name, run.device, summaries)
        unit = Unit(name, partial(write, _instruction(plan)), weights)
        levels = [level for written in run.do([unit]) for level in written]
    return levels


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


def _instruction(plan: Plan) -> str:
    """Return what the writer of captions is told."""
    file = plan.summaries.instruction if plan.summaries else ""
    return read_instruction(plan.place.parent / file) if file else INSTRUCTION
