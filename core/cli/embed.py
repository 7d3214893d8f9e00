"""What adds models to the store: `embed` and `import`; and `summarize`, which shortens captions."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

from core.cli.command import Command, dataset_option, device_option, on_option
from core.competence.scores import check_model_facts, set_model_facts
from core.crew import open_crew
from core.crew.units import Once, Unit
from core.embedding.features import check_ready, hold_subset, import_features
from core.embedding.runner import embed
from core.embedding.summaries import INSTRUCTION, read_instruction, summarize
from core.encoders.catalog import open_encoder
from core.encoders.encoder import with_facts
from core.encoders.measured import read_content
from core.encoders.requests import MOST_BATCH, EmbedRequest, Facts, ImportRequest
from core.encoders.zoo import name_of, read_zoo
from core.errors import MISTAKE, InputError, PlatoscopeError, UnknownNameError
from core.figures.numbers import counted
from core.modalities import check_modality
from core.options import WORDS, Range, option, required
from core.progress import ConsoleProgress, Progress
from core.settings import choose_device
from core.stimuli.catalog import open_dataset
from core.stimuli.dataset import Dataset
from core.store import Store, carry_out, plan_dataset_deletion
from core.study.study import Study
from core.unexpected import tell_unexpected

READING = ("id_column", "feature_column", "drop")  # options by which a file is read


@dataclass(frozen=True)
class Embed(EmbedRequest, Command):
    """Embed a dataset with models, each at every caption level that is named."""

    is_job = True

    on: str = on_option()

    def run(self, store: Path) -> int:
        card = Store(store).dataset(self.dataset)
        self._check(store)
        dataset, failed = Once(partial(open_dataset, card)), 0
        with open_crew(self.on, device=self.device) as crew:
            units = [
                Unit(spec, partial(_embed, store, dataset, self, spec))
                for spec in dict.fromkeys(self.model)
            ]
            dataset()  # one sentence if it cannot be opened, not one for each model
            embedded = dict[str, None]()
            for unit, outcome in crew.run(units, report=ConsoleProgress()):
                if isinstance(outcome, PlatoscopeError):
                    failed += 1
                    about = "" if unit.name in f"{outcome}" else f"{unit.name}: "
                    print(f"platoscope: {about}{outcome}", file=sys.stderr)
                    continue
                print(*dict.fromkeys(outcome), sep="\n")
                embedded |= dict.fromkeys(outcome)
        has_facts = self.facts != Facts() or self.title
        for name in embedded if has_facts else ():  # of those that were there before, too
            set_model_facts(store, card.name, name, self.facts, title=self.title)
        return MISTAKE if failed else 0

    def _check(self, store: Path) -> None:
        many = len(self.model) * max(1, len(self.caption_level))
        if (self.name and many > 1) or (self.title and len(self.model) > 1):
            raise InputError(
                f"{'--name' if self.name else '--title'} names one model, but {many} were given,"
                " each caption level counted; embed them one at a time"
            )
        for level in self.caption_level or ("",):
            said = {"title": self.title, "level": level}
            check_model_facts(store, self.dataset, "MODEL", self.facts, **said)
        _batch_size(self.batch_size)


def _embed(
    store: Path,
    dataset: Callable[[], Dataset],
    request: EmbedRequest,
    spec: str,
    report: Progress | None,
) -> list[str]:
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


def _batch_size(text: str) -> int | Literal["auto"]:
    if text == "auto":
        return "auto"
    try:
        return int(Range(1, MOST_BATCH).read(text))
    except InputError as error:
        raise InputError(f"--batch-size is auto or a number: {error}") from error


@dataclass(frozen=True)
class Import(ImportRequest, Command):
    """Import features computed elsewhere, (n, d) or (n, layers, d), measurements or
    dissimilarities; or those of a table of models.
    """

    is_job = True

    def run(self, store: Path) -> int:
        zoo = read_zoo(self)
        if zoo is None:
            _import(store, replace(self, name=self.name or name_of(self.file)))
            return 0
        Store(store).dataset(self.dataset)
        failed = 0
        for line, row in zoo.rows.items():
            about = f"line {line}"
            try:
                if isinstance(row, InputError):
                    raise row
                about = f"line {line}, {row.name}"
                _import(store, row, Path(self.file).name)
            except Exception as error:
                failed += 1
                why = f"{error}" if isinstance(error, PlatoscopeError) else tell_unexpected(error)
                print(f"platoscope: {about}: {why}", file=sys.stderr)
        if zoo.scores:
            print(
                f"Own scores: {', '.join(zoo.scores)}. Competence is the column competence, else"
                " the mean of accuracies and percentages.",
                file=sys.stderr,
            )
        if zoo.left_out:
            print(
                f"Left out, since they hold no number: {', '.join(zoo.left_out)}.", file=sys.stderr
            )
        print(f"{len(zoo.rows) - failed} of {len(zoo.rows)} models of {self.file} are imported")
        return MISTAKE if failed else 0


def _import(root: Path, request: ImportRequest, table: str = "") -> None:
    name, file, store = request.name, Path(request.file).name, Store(root)
    if not request.modality:
        raise InputError(
            "name the kind of model with --modality: vision, language, music, brain, people or any"
            " other word"
        )
    check_modality(request.modality)
    card = store.dataset(request.dataset)
    check_model_facts(
        root, card.name, name, request.facts, title=request.title, level=request.level
    )
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
        import_features(
            root,
            card,
            content,
            name=name,
            modality=request.modality,
            facts=request.facts,
            title=request.title,
            level=request.level,
            file=file,
            options=options,
        )
        set_model_facts(root, card.name, name, request.facts, source=table or file)
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
        print(f"Questions leave it out unless they name it: {why}.", file=sys.stderr)


def _take_back(root: Path, dataset: str) -> None:
    with suppress(UnknownNameError):  # it was not made
        carry_out(root, plan_dataset_deletion(root, dataset))


@dataclass(frozen=True)
class Summarize(Command):
    """Rewrite captions in fewer words by an instruction-tuned model, and print the names of the new
    caption levels, for `embed --caption-level`.
    """

    command = "summarize"
    is_job = True

    dataset: str = dataset_option()
    model: str = required("", metavar="SPEC", help="hf:ID or hf:FOLDER, with a chat template")
    words: tuple[int, ...] = required(
        (),
        metavar="N",
        help="approximate lengths; each makes a caption level",
        least=WORDS.least,
        most=WORDS.most,
    )
    caption_level: str | None = option(
        None, metavar="L", help="which captions to summarize (the dataset's first level)"
    )
    instruction: str = option(
        "",
        metavar="FILE",
        help="the instruction, with {words} for the number (our own)",
    )
    device: str = device_option()

    def run(self, store: Path) -> None:
        from core.encoders.language.chat import open_chat

        Store(store).dataset(self.dataset)  # a wrong name is refused before a model is opened
        file = self.instruction
        instruction = read_instruction(Path(file)) if file else INSTRUCTION
        writer = open_chat(self.model, device=choose_device(self.device))
        for words in dict.fromkeys(self.words):
            level = summarize(
                store,
                self.dataset,
                writer,
                words=words,
                level=self.caption_level,
                instruction=instruction,
                report=ConsoleProgress(),
            )
            print(level)
