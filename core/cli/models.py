"""`platoscope model`, `embed` and `import`: which models are in the store, and how they come in."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from core.cli.shared import (
    add_command,
    add_json,
    add_on,
    group,
    print_table,
    report_problems,
)
from core.encoders.requests import FORMS, MOST_BATCH, EmbedRequest, Facts, ImportRequest
from core.errors import MISTAKE, InputError, PlatoscopeError, UnknownNameError
from core.modalities import check_modality
from core.options import Range
from core.questions.words import add_options, read_question
from core.settings import choose_device
from core.unexpected import tell_unexpected

if TYPE_CHECKING:
    from core.progress import Progress
    from core.stimuli.dataset import Dataset

BATCH = Range(1, MOST_BATCH)
READING = ("id_column", "feature_column", "drop")  # options by which a file is read


def add(commands: Any) -> None:
    """Add `model list`, `embed` and `import`."""
    text = "list the models embedded in the store"
    listing = add_command(group(commands, "model"), "list", run_model_list, text)
    listing.add_argument("--dataset", metavar="D", help="of this dataset only")
    add_json(listing)
    text = f"embed a dataset with models: {FORMS}"
    embed = add_command(commands, "embed", run_embed, text, job=True)
    add_options(embed, EmbedRequest)
    add_on(embed)
    text = (
        "import features made elsewhere, (n, d) or (n, layers, d), measurements or dissimilarities"
    )
    add_options(add_command(commands, "import", run_import, text, job=True), ImportRequest)


def run_model_list(arguments: argparse.Namespace) -> None:
    """Print one row per embedded model."""
    import pandas as pd  # as above

    from core.store import Store
    from core.store.editing import device_of, embedding_size, seconds_of, widths_of

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
    from core.competence.scores import tell_model
    from core.crew import open_crew
    from core.crew.units import Once, Unit
    from core.plans.sizes import memory_of
    from core.progress import ConsoleProgress
    from core.stimuli.catalog import open_dataset
    from core.store import Store

    request, failed = read_question(EmbedRequest, arguments), 0
    card = Store(arguments.store).dataset(request.dataset)
    _check_said(arguments.store, request)
    _batch_size(request.batch_size)
    dataset = Once(partial(open_dataset, card))
    with open_crew(arguments.on, device=request.device) as crew:
        units = [
            Unit(
                spec,
                partial(_embed, arguments.store, dataset, request, spec),
                partial(memory_of, spec, request.precision),
            )
            for spec in dict.fromkeys(request.model)
        ]
        dataset()  # one sentence if it cannot be opened, not one for each model
        embedded = dict[str, None]()
        for unit, outcome in crew.run(units, report=ConsoleProgress()):
            if isinstance(outcome, PlatoscopeError):
                failed += 1
                about = "" if unit.name in f"{outcome}" else f"{unit.name}: "
                print(f"platoscope: {about}{outcome}", file=sys.stderr)
                continue
            print(*(name for name in dict.fromkeys(outcome)), sep="\n")
            embedded |= dict.fromkeys(outcome)
    told = request.facts != Facts() or request.title
    for name in embedded if told else ():  # of those that were there before, too
        tell_model(arguments.store, card.name, name, request.facts, title=request.title)
    return MISTAKE if failed else 0


def _embed(
    store: Path,
    dataset: Callable[[], Dataset],
    request: EmbedRequest,
    spec: str,
    report: Progress | None,
) -> list[str]:
    """Embed a dataset with one model at every caption level that is named, and return the names of
    the embeddings.
    """
    from core.embedding.runner import embed
    from core.encoders.catalog import open_encoder
    from core.encoders.encoder import with_facts

    encoder = open_encoder(
        spec,
        device=choose_device(request.device),
        pooling=request.pooling,
        prompt=request.prompt,
        precision=request.precision,
    )
    card = with_facts(encoder.card, request.facts, request.title)
    if card != encoder.card:
        encoder = replace(cast(Any, encoder), card=card)
    return [
        embed(
            store,
            dataset(),
            encoder,
            level=level,
            batch_size=_batch_size(request.batch_size),
            name=request.name or None,
            report=report,
        ).stem
        for level in request.caption_level or (None,)
    ]


def _check_said(store: Path, request: EmbedRequest) -> None:
    from core.competence.scores import check_told

    many = len(request.model) * max(1, len(request.caption_level))
    if (request.name and many > 1) or (request.title and len(request.model) > 1):
        raise InputError(
            f"{'--name' if request.name else '--title'} names one model, but {many} were given,"
            " each caption level counted; embed them one at a time"
        )
    for level in request.caption_level or ("",):
        said = {"title": request.title, "level": level}
        check_told(store, request.dataset, "MODEL", request.facts, **said)


def _batch_size(text: str) -> int | Literal["auto"]:
    if text == "auto":
        return "auto"
    try:
        return int(BATCH.read(text))
    except InputError as error:
        raise InputError(f"--batch-size is auto or a number: {error}") from error


def run_import(arguments: argparse.Namespace) -> int:
    """Import features made elsewhere as a model of a dataset, or those of a table of models; one
    that fails does not stop the others.
    """
    from core.encoders.zoo import name_of, read_zoo
    from core.store import Store

    request = read_question(ImportRequest, arguments)
    zoo = read_zoo(request)
    if zoo is None:
        name = request.name or name_of(request.file)
        _import(arguments.store, replace(request, name=name))
        return 0
    Store(arguments.store).dataset(request.dataset)
    failed = 0
    for line, row in zoo.rows.items():
        about = f"line {line}"
        try:
            if isinstance(row, InputError):
                raise row
            about = f"line {line}, {row.name}"
            _import(arguments.store, row, Path(request.file).name)
        except Exception as error:
            failed += 1
            why = f"{error}" if isinstance(error, PlatoscopeError) else tell_unexpected(error)
            print(f"platoscope: {about}: {why}", file=sys.stderr)
    if zoo.scores:
        print(
            f"Own scores: {', '.join(zoo.scores)}. Competence is the column competence, else the"
            " mean of accuracies and percentages.",
            file=sys.stderr,
        )
    if zoo.left_out:
        print(f"Left out, without a number: {', '.join(zoo.left_out)}.", file=sys.stderr)
    print(f"{len(zoo.rows) - failed} of {len(zoo.rows)} models of {request.file} are imported")
    return MISTAKE if failed else 0


def _import(root: Path, request: ImportRequest, table: str = "") -> None:
    from core.competence.scores import check_told, tell_model
    from core.embedding.features import About, check_ready, hold_subset, import_features
    from core.encoders.measured import read_content
    from core.figures.numbers import counted
    from core.store import Store
    from core.study.study import Study

    name, file, store = request.name, Path(request.file).name, Store(root)
    if not request.modality:
        raise InputError(
            "say by --modality what kind of model it is: vision, language, music, brain, people or"
            " any other word"
        )
    check_modality(request.modality)
    card = store.dataset(request.dataset)
    check_told(root, card.name, name, request.facts, title=request.title, level=request.level)
    stimuli = list(store.stimuli(card.name)["stimulus"])
    content, size = read_content(request, stimuli), f"{card.size:,}"
    said = {key: vars(request)[key] for key in READING}
    options = {key: value for key, value in said.items() if value}
    with ExitStack() as undone:
        if content.covers is not None:
            check_ready(content.layers, [stimuli[place] for place in content.covers], name)
            size = f"{len(content.covers):,} of {size}"
            options |= {"dataset": card.name, "subset": request.subset}
            if request.subset not in {one.name for one in store.datasets()}:
                undone.callback(_take_back, root, request.subset)
            card = hold_subset(root, card, request.subset, content.covers.tolist())
        about = About(request.facts, request.title, request.level, file, options)
        import_features(root, card, content, name=name, modality=request.modality, about=about)
        tell_model(root, card.name, name, request.facts, source=table or file)
        undone.pop_all()  # what was made stays
    layers = f"{counted(len(content.layers), 'layer', 'layers')} of {size} stimuli"
    dims = ", ".join(map(str, dict.fromkeys(layer.shape[1] for layer in content.layers)))
    measured = f", measured over {len(content.repeats[0])} {content.over}" if content.over else ""
    if content.geometry == "dissimilarities":
        measured = ", their dissimilarities alone"
    where = f", over dataset {card.name}" if content.covers is not None else ""
    print(f"{name}: {layers}, {dims} dims{measured}{where}")
    for note in content.notes:
        print(f"{name}: {note}" if table else note, file=sys.stderr)
    if why := Study(store, card.name).refused().get(name):
        print(f"No question takes it in unless it is named: {why}.", file=sys.stderr)


def _take_back(root: Path, dataset: str) -> None:
    """Delete a dataset that was made for an import that failed."""
    from core.store import carry_out, plan_dataset_deletion

    with suppress(UnknownNameError):  # it was not made
        carry_out(root, plan_dataset_deletion(root, dataset))
