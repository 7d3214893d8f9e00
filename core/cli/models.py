"""`platoscope model`, `embed` and `import`: which models are in the store, and how they come in."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from core.cli.shared import (
    add_command,
    add_json,
    add_on,
    group,
    print_table,
    report_problems,
)
from core.encoders.requests import FORMS, MOST_BATCH, EmbedRequest, ImportRequest
from core.errors import MISTAKE, InputError, PlatoscopeError
from core.modalities import check_modality
from core.options.ranges import Range
from core.questions.words import add_options, read_question
from core.settings import choose_device

if TYPE_CHECKING:
    from core.embedding.parts import Part
    from core.encoders.measured.content import Content
    from core.progress import Progress
    from core.stimuli.dataset import Dataset

BATCH = Range(1, MOST_BATCH)


def add(commands: Any) -> None:
    """Add `model list`, `embed` and `import`."""
    _add_list(commands)
    _add_embed(commands)
    _add_import(commands)


def _add_list(commands: Any) -> None:
    listing = add_command(
        group(commands, "model"), "list", run_model_list, "list the models embedded in the store"
    )
    listing.add_argument("--dataset", metavar="D", help="of this dataset only")
    add_json(listing)


def _add_embed(commands: Any) -> None:
    embed = add_command(
        commands,
        "embed",
        run_embed,
        f"embed a dataset with models: {FORMS}",
        job=True,
    )
    add_options(embed, EmbedRequest)
    add_on(embed)


def _add_import(commands: Any) -> None:
    features = add_command(
        commands,
        "import",
        run_import,
        "import features made elsewhere, (n, d) or (n, layers, d), measurements or dissimilarities",
        job=True,
    )
    add_options(features, ImportRequest)


def run_model_list(arguments: argparse.Namespace) -> None:
    """Print one row per embedded model."""
    import pandas as pd  # as above

    from core.store import Store
    from core.store.inventory import device_of, embedding_size, seconds_of, widths_of

    store = Store(arguments.store)
    datasets = (
        [arguments.dataset] if arguments.dataset else [card.name for card in store.datasets()]
    )
    rows = [
        {
            "dataset": dataset,
            "model": entry.card.name,
            "title": entry.card.title,
            "modality": entry.card.modality,
            "family": entry.card.family,
            "objective": entry.card.objective,
            "parameters": entry.card.parameters,
            "layers": len(entry.card.layers),
            "dims": widths_of(entry),
            "level": entry.level,
            "bytes": embedding_size(store.root, dataset, entry.card.name),
            "device": device_of(entry),
            "seconds": seconds_of(entry),
        }
        for dataset in datasets
        for entry in store.embeddings(dataset)
    ]
    report_problems(store)
    print_table(
        pd.DataFrame(rows).astype({"parameters": "Int64"} if rows else {}), as_json=arguments.json
    )


def run_embed(arguments: argparse.Namespace) -> int:
    """Embed a dataset with each model; one that fails does not stop the others."""
    from core.crew.opening import open_crew
    from core.crew.units import Once, Unit
    from core.embedding.parts import shared_parts
    from core.plans.sizes import memory_of
    from core.progress import ConsoleProgress
    from core.stimuli.catalog import open_dataset
    from core.store import Store

    request, failed = read_question(EmbedRequest, arguments), 0
    _check_name(request)
    _batch_size(request.batch_size)
    card = Store(arguments.store).dataset(request.dataset)
    dataset = Once(partial(open_dataset, card))
    with open_crew(arguments.on, device=request.device) as crew:
        units = [
            Unit(
                spec,
                partial(_embed, arguments.store, dataset, request, spec, part),
                partial(memory_of, spec, request.precision),
            )
            for spec in dict.fromkeys(request.model)
            for part in shared_parts(card.size, alone=crew.alone)
        ]
        dataset()  # one sentence where it cannot be opened, not one for each model
        said = _Said()
        for unit, outcome in crew.run(units, report=ConsoleProgress()):
            if isinstance(outcome, PlatoscopeError):
                about = "" if unit.name in str(outcome) else f"{unit.name}: "
                said.say(f"platoscope: {about}{outcome}", failed=True)
                failed += 1
            else:
                said.say(*outcome)
    return MISTAKE if failed else 0


class _Said:
    """The lines that were printed, each once: the parts of a dataset say the same of a model."""

    def __init__(self) -> None:
        self._lines: set[str] = set()

    def say(self, *lines: str, failed: bool = False) -> None:
        """Print the lines that are new, of what failed to stderr."""
        for line in dict.fromkeys(lines):
            if line not in self._lines:
                print(line, file=sys.stderr if failed else sys.stdout)
        self._lines.update(lines)


def _embed(
    store: Path,
    dataset: Callable[[], Dataset],
    request: EmbedRequest,
    spec: str,
    part: Part,
    report: Progress | None,
) -> list[str]:
    """Embed a part of a dataset with one model at every caption level that is named, and return
    what the store calls each embedding.
    """
    from core.embedding.runner import Slot, Task, embed_part
    from core.encoders.catalog import open_encoder

    device, slot = choose_device(request.device), Slot(request.name or None)
    encoder = open_encoder(
        spec,
        device=device,
        pooling=request.pooling,
        prompt=request.prompt,
        precision=request.precision,
    )
    return [
        embed_part(
            Task(store, dataset(), encoder, level, _batch_size(request.batch_size), slot),
            part,
            report=report,
        ).stem
        for level in request.caption_level or (None,)
    ]


def _check_name(request: EmbedRequest) -> None:
    many = len(request.model) * max(1, len(request.caption_level))
    if request.name and many > 1:
        raise InputError(
            f"--name names one model, but {many} were given, each caption level counted; embed them"
            " one at a time"
        )


def _batch_size(text: str) -> int | Literal["auto"]:
    if text == "auto":
        return "auto"
    try:
        return int(BATCH.read(text))
    except InputError as error:
        raise InputError(f"--batch-size is auto or a number: {error}") from error


def run_import(arguments: argparse.Namespace) -> None:
    """Import features made elsewhere as a model of a dataset."""
    from core.embedding.features import Facts, check_ready, import_features
    from core.embedding.subsets import hold_subset
    from core.encoders.measured.content import read_content
    from core.figures.numbers import counted
    from core.store import Store

    request, store = read_question(ImportRequest, arguments), Store(arguments.store)
    check_modality(request.modality)
    card = store.dataset(request.dataset)
    stimuli = list(store.stimuli(card.name)["stimulus"])
    content, size = read_content(request, stimuli), f"{card.size:,}"
    if content.covers is not None:  # no dataset is made for what cannot be imported
        check_ready(content.layers, [stimuli[place] for place in content.covers], request.name)
        size = f"{len(content.covers):,} of {size}"
        card = hold_subset(arguments.store, card, request.subset, content.covers.tolist())
    import_features(
        arguments.store,
        card,
        content,
        name=request.name,
        modality=request.modality,
        facts=Facts(
            request.family,
            request.objective,
            request.parameters,
            request.title,
            request.level,
            Path(request.file).name,
        ),
    )
    layers = f"{counted(len(content.layers), 'layer', 'layers')} of {size} stimuli"
    dims = ", ".join(map(str, dict.fromkeys(layer.shape[1] for layer in content.layers)))
    where = f", over dataset {card.name}" if content.covers is not None else ""
    print(f"{request.name}: {layers}, {dims} dims{_measured(content)}{where}")
    for note in content.notes:
        print(note, file=sys.stderr)


def _measured(content: Content) -> str:
    """Say how the layers were measured."""
    if content.over:
        return f", measured over {len(content.repeats[0])} {content.over}"
    return ", their dissimilarities alone" if content.geometry == "dissimilarities" else ""
