"""The demo: reality, a simulated cortex, every model trained in the Cave, and the first answers.

What a store has is not made again, and finding that out imports no torch. While a build runs, a
note in the store says how far it is. `data/demo.tar.xz` holds the answers, made by `make answers`;
installed into a store, one that no longer follows from the weights or the questions is computed
again.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tarfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from core.cave.captions import LEVELS
from core.cave.weights import unpack
from core.cave.world import CaveDataset
from core.competence.records import suite_recipe, unmeasured
from core.encoders.catalog import spec_of_folder
from core.encoders.encoder import REALITY, ModelCard
from core.encoders.measured import SIMULATED, SUBJECTS, describe_subject
from core.encoders.requests import PATCHES
from core.errors import PlatoscopeError
from core.machine.processes import count_processes, spread
from core.modalities import MUSIC
from core.options import Value, build
from core.progress import ConsoleProgress, Progress
from core.questions.asking import ask
from core.questions.question import StudyQuestion
from core.questions.topics import find_kind
from core.settings import CAVE_WEIGHTS, DEMO_ANSWERS, ROOT, choose_device
from core.store import Store, View, add_dataset, is_locked, locked
from core.store.files import examine_if_usable
from core.store.listing import FILE, TEXTS, expect, remove
from core.store.publishing import replace, writing
from core.store.schema import Meta, load_meta, published_files, result_file
from core.study.models import UNTRAINED
from core.study.study import Study

if TYPE_CHECKING:
    import torch

    from core.stimuli.dataset import Dataset


DATASET = "cave"
NOTE = "demo.json"  # in the store, next to its lock
PLACE = "{ROOT}"  # replaces the folder of the project in paths
PATIENCE = 60.0  # seconds to wait for another process that writes the same file
_PATCHES = PATCHES.replace("#", "-")
EMBEDDING = "models embedded"


def shipped_specs(folder: Path = CAVE_WEIGHTS) -> dict[str, str]:
    """Return the spec of every trained model under `folder`, by name: those of the usual training
    first, copies along a training last, small ones before large ones.
    """

    def order(model: Path) -> tuple[bool, bool, int, Path]:
        size = (model / "model.safetensors").stat().st_size
        return not _is_usual(model), "-step" in model.name, size, model

    unpack(folder)
    models = sorted((config.parent for config in folder.glob("*/config.json")), key=order)
    return {model.name: spec_of_folder(model) for model in models}


def missing_specs(store: Path, folder: Path = CAVE_WEIGHTS) -> dict[str, str]:
    """Return REALITY, the simulated cortex and the specs that the demo store does not hold yet with
    these very weights and cards over the Cave as it is now.

    Masked autoencoders as published ask nothing of their class token, so they are read out in their
    patches once more, as `NAME-patches`. A finished language model's captions of another density
    than the default's are `NAME~LEVEL`; they come last.
    """
    reader, specs = Store(store), shipped_specs(folder)
    wanted = {REALITY: f"world:{REALITY}", **{name: f"{SIMULATED}{name}" for name in SUBJECTS}}
    wanted |= specs
    wanted |= {
        f"{name}{_PATCHES}": f"{spec}{PATCHES}"
        for name, spec in specs.items()
        if _card(folder / name)["objective"] == "MAE (published)"
    }
    retold = {name: spec for name, spec in specs.items() if _is_retold(folder / name, spec)}
    for level in LEVELS[1:]:
        wanted |= {f"{name}~{level}": spec for name, spec in retold.items()}
    if CaveDataset().card.revision not in {card.revision for card in reader.datasets()}:
        return wanted
    made = {path.stem for path in published_files(reader.root / "embeddings" / DATASET)}
    held = {e.card.name: e.card for e in reader.embeddings(DATASET) if e.card.name in made}
    return {
        name: spec
        for name, spec in wanted.items()
        if name not in held or not is_current(held[name], folder)
    }


def _is_retold(folder: Path, spec: str) -> bool:
    reads = spec.startswith("hf:") and _card(folder).get("modality") != MUSIC.name
    return reads and _is_usual(folder) and UNTRAINED not in folder.name


def build_demo(store: Path, folder: Path = CAVE_WEIGHTS) -> None:
    """Draw the Cave's test stimuli and embed them with every missing model, with progress on stderr
    and in the store's note.
    """
    from core.embedding.features import embed_cortex, embed_world

    dataset, missing, device = CaveDataset(), missing_specs(store, folder), choose_device()
    with _reporting(store) as report:
        add_dataset(store, dataset, report=report)
        if REALITY in missing:
            embed_world(store, dataset)
        if SUBJECTS.keys() & missing.keys():
            embed_cortex(store, dataset)
        report(0, len(missing), EMBEDDING)
        add, names = partial(_add, store, dataset, missing, device), list(missing)
        embedded = spread(add, names, processes=count_processes(len(names), device))
        for done, _ in enumerate(embedded, start=1):
            report(done, len(missing), EMBEDDING)
        remove(store / "embeddings" / DATASET)


def _add(
    store: Path, dataset: Dataset, specs: Mapping[str, str], device: torch.device, name: str
) -> None:
    from core.embedding.runner import embed
    from core.encoders.catalog import open_encoder

    if name != REALITY and name not in SUBJECTS:
        encoder = open_encoder(specs[name], device=device)
        level = name.partition("~")[2] or None
        embed(store, dataset, encoder, level=level, replace=True)
    # kept in the store, so that the first page need not find them
    Study(Store(store), dataset.card.name).neighbors(name)


def missing_values(store: Path) -> list[str]:
    """Return the models whose competence the demo lacks by the present tasks.

    One seed of a recipe represents all, and what varies in its tasks, weight decay or width is
    compared by these. Learners with and without transfer are compared seed by seed.
    """
    from core.questions.benefits import learners

    held = Store(store)
    models = unmeasured(held, DATASET)
    if not models:
        return []
    compared = {one.model for one in learners(Study(held, DATASET))}
    trained = {name: held.model(DATASET, name).card.training.get("config") or {} for name in models}
    return [
        name
        for name, config in trained.items()
        if name in compared or not (config.get("varies") or config.get("seed"))
    ]


def measure_demo(store: Path) -> None:
    """Measure the competence of `missing_values`, with progress as in `build_demo`."""
    from core.competence.suite import measure_all

    with _reporting(store) as report:
        models, device = missing_values(store), choose_device()
        measure_all(store, DATASET, models, device=device, report=report)


def answer_demo(store: Path) -> None:
    """Answer what the pages ask first, with progress as in `build_demo`; what is kept already takes
    no time. What cannot be answered is left to its page, which says why.

    Several processes answer, each a question at a time. One that needs another's answer finds it in
    the store, or makes it itself.
    """
    study = Study(Store(store), DATASET)
    answer, questions = partial(_has_answer, study.store.root), first_questions(DATASET)
    with _reporting(store) as report:
        report(0, len(questions), "first answers")
        tasks = spread(answer, questions, processes=count_processes(len(questions)))
        for done, _ in enumerate(tasks, start=1):
            report(done, len(questions), "first answers")


def _has_answer(store: Path, question: StudyQuestion) -> bool:
    try:
        ask(question, _study(store, Store(store).digest(DATASET)))
    except PlatoscopeError:
        return False
    return True


@lru_cache(maxsize=1)
def _study(store: Path, _: str) -> Study:
    """Return the study of this process, whose spaces and neighbors serve all its questions until
    the store changes.
    """
    return Study(Store(store), DATASET)


def under_way(store: Path) -> tuple[int, int, str] | None:
    """Return how much a running build has done, of how much, and of what; None if none runs."""
    try:
        note = json.loads((store / NOTE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    # a killed build leaves its note behind
    return (note["done"], note["total"], note["what"]) if is_locked(store / NOTE) else None


@contextmanager
def _reporting(store: Path) -> Iterator[Progress]:
    """Be the only build of this store, and report to the terminal and in its note.

    Raises StoreBusyError if another build is under way.
    """
    show = ConsoleProgress()

    def note(done: int, total: int, what: str) -> None:
        new = store / f".{NOTE}.new"
        with writing(store / NOTE):
            text = json.dumps({"done": done, "total": total, "what": what})
            new.write_text(text, encoding="utf-8")
            new.replace(store / NOTE)

    def report(done: int, total: int, what: str) -> None:
        show(done, total, what)
        note(done, total, what)

    with locked(store / NOTE):
        note(0, 1, EMBEDDING)
        try:
            yield report
        finally:
            with suppress(OSError):  # without its lock it says nothing
                (store / NOTE).unlink(missing_ok=True)


def _is_usual(folder: Path) -> bool:
    config = _card(folder)["training"]["config"]
    return not ("-step" in folder.name or config["seed"] or config["varies"])


def is_current(card: ModelCard, folder: Path = CAVE_WEIGHTS) -> bool:
    """Return whether a store's model is still the one that would be made now."""
    if card.name in SUBJECTS:
        return card.training == describe_subject(card.name)
    model = folder / card.name.partition("~")[0].removesuffix(_PATCHES)
    if card.name == REALITY or not model.is_dir():
        return card.name == REALITY
    with (model / "model.safetensors").open("rb") as file:
        weights = hashlib.file_digest(file, "sha256").hexdigest()
    return card.training == _card(model)["training"] and card.weights == weights


def _card(folder: Path) -> Any:
    return json.loads((folder / "card.json").read_text(encoding="utf-8"))


# commands with what differs from their defaults; the longest first, so that none runs alone
FIRST: tuple[tuple[str, dict[str, Value]], ...] = (
    ("align", {}),
    ("headline", {}),
    ("specifications", {}),
    ("benefits", {"of": "hallucination"}),
    ("color layout", {}),
    ("color agreement", {}),
    ("color models", {}),
    ("benefits", {"of": "bias"}),
    ("competence bins", {}),
    ("competence downstream", {}),
    ("competence training", {}),
    ("convergence levels", {}),
    ("convergence levels", {"between": True}),
    ("convergence fine-tuned", {}),
    ("convergence summary", {}),
    ("modalities", {}),
    ("models map", {}),
    ("models pairs", {}),
    ("models table", {"by": "layer"}),
    ("dispersion stimuli", {}),
    ("stimuli map", {}),
    ("dispersion effect", {}),
    ("dispersion effect", {"sets": "drop"}),
    ("dispersion held-out", {"points": True}),
    ("dispersion predictors", {}),
    ("captions levels", {}),
    ("captions alignment", {}),
    ("captions alignment", {"over": "facts"}),
    ("metrics trends", {}),
    ("metrics trends", {"over": "k"}),
    ("metrics pair", {"over": "k"}),
    ("metrics pair", {"over": "stimuli"}),
    ("metrics agreement", {}),
    ("metrics pair", {}),
    ("benefits", {"of": "transfer"}),
    ("benefits", {}),
    ("benefits", {"of": "colors"}),
    ("stitch", {}),
    ("captions alignment", {"by": "model"}),
    ("controls ladder", {}),
    ("controls categories", {}),
    ("controls gallery", {}),
    ("controls ranks", {}),
    ("controls ranks", {"of": "vision"}),
    ("controls marks", {}),
)


def first_questions(dataset: str) -> list[StudyQuestion]:
    """Return what the pages ask of a dataset before a visitor has chosen anything."""
    from core.questions.closeness import MAP_METRICS

    maps: list[tuple[str, Mapping[str, Value | tuple[str, ...]]]]
    maps = [("closeness", {"metric": metric}) for metric in MAP_METRICS]
    maps += [
        ("controls features", {"metric": metric, "models": (REALITY,)}) for metric in MAP_METRICS
    ]
    questions = []
    for command, choices in (*FIRST, *maps):
        kind = find_kind(command)
        assert kind is not None, command
        assert issubclass(kind, StudyQuestion), command
        questions.append(build(kind, {"dataset": dataset, **choices}))
    return questions


def install(store: Path, archive: Path = DEMO_ANSWERS) -> None:
    """Add the Cave's stimuli and the shipped answers to a store; what the store has stays if it is
    of use.
    """
    store = Path(store).absolute()
    add_dataset(store, CaveDataset(), report=ConsoleProgress())
    with TemporaryDirectory() as place, tarfile.open(archive) as packed:
        packed.extractall(place, filter="data")
        shipped = Path(place)
        folder, lacking = Path("embeddings") / DATASET, missing_specs(store)
        text = (shipped / folder / FILE).read_text("utf-8").replace(PLACE, str(ROOT))
        metas = [(rows, load_meta(rows)) for rows in json.loads(text)]
        coming = [
            rows for rows, meta in metas if meta.name in lacking and is_current(meta.entry.card)
        ]
        expect(store / folder, coming, costs=shipped / folder / TEXTS)
        measured = {suite_recipe(entry) for entry in View(store).embeddings(DATASET)}
        files = published_files(shipped / "results" / DATASET)
        answers = [path for path in files if path.stem.startswith("answer-")]
        for path in (path for path in files if path not in answers):
            _take(path, store, lambda new: new.recipe in measured)
        view = View(store)  # answers depend on what was measured
        for path in answers:
            _take(path, store, lambda new: view.is_fresh(new.reads))


def _take(path: Path, store: Path, is_true: Callable[[Meta], bool]) -> None:
    """Copy a result that ships into a store that has none under its name, or another one if the
    shipped one is true of the store. One of another version is made again when it is needed.
    """
    target, new = result_file(store, DATASET, path.stem), examine_if_usable(path)
    if new is None:
        return
    with locked(target, patience=PATIENCE):
        held = examine_if_usable(target)
        same = held is not None and (held.recipe, held.reads) == (new.recipe, new.reads)
        if held is None or (not same and is_true(new)):
            replace(target, partial(shutil.copyfile, path))
