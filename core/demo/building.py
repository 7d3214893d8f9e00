"""The embedded demo: the Cave, reality itself, a simulated cortex that sees it, and every model
trained in it; finished language models at all four densities.

What is there already is not made again, and finding that out costs no import of torch: a second
start is quick. While a build is under way, a note in the store says how far it is, so that the
dashboard can show it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.competence.records import unmeasured
from core.encoders.catalog import spec_of_folder
from core.encoders.encoder import REALITY, ModelCard
from core.encoders.measured.cortex import SIMULATED, SUBJECTS, describe_subject
from core.encoders.requests import PATCHES
from core.machine.processes import count_processes, spread
from core.modalities import MUSIC
from core.progress import ConsoleProgress, Progress
from core.settings import CAVE_WEIGHTS
from core.stimuli.cave.densities import LEVELS
from core.store import Store, add_dataset, is_locked, locked
from core.store.listing import remove
from core.store.publishing import writing
from core.store.schema import published_files
from core.study.models import UNTRAINED

if TYPE_CHECKING:
    import torch

    from core.embedding.prepared import PreparedPictures
    from core.stimuli.dataset import Dataset

NOTE = "demo.json"  # in the store, beside its lock
EMBEDDING = "models embedded"


def shipped_specs(folder: Path = CAVE_WEIGHTS) -> dict[str, str]:
    """Return the spec of every trained model under `folder`, by name: those of the usual training
    first, copies along a training last, small ones before large ones.
    """
    configs = sorted(
        folder.glob("*/config.json"),
        key=lambda config: (
            not _is_usual(config.parent),
            _is_copy(config),
            _size(config.parent),
            config,
        ),
    )
    return {config.parent.name: spec_of_folder(config.parent) for config in configs}


def _read_twice(specs: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Return the specs of the models whose patches are read out beside the class token, once more:
    a masked autoencoder as published asks nothing of its class token.
    """
    return {
        f"{name}{PATCHES.replace('#', '-')}": f"{spec}{PATCHES}"
        for name, spec in specs.items()
        if _card(folder / name)["objective"] == "MAE (published)"
    }


def missing_specs(store: Path, folder: Path = CAVE_WEIGHTS) -> dict[str, str]:
    """Return REALITY, the simulated cortex and the specs that the demo store does not hold yet with
    these very weights and cards over the Cave as it is now.

    A finished language model's captions of another density than the default's are `NAME~LEVEL`;
    they come last. `NAME-patches` are read out in their patches.
    """
    from core.stimuli.cave import CaveDataset

    reader, specs = Store(store), shipped_specs(folder)
    further = {REALITY: f"world:{REALITY}", **{name: f"{SIMULATED}{name}" for name in SUBJECTS}}
    wanted = {**further, **specs}
    wanted |= _read_twice(specs, folder) | _retold(specs, folder)
    if CaveDataset().card.revision not in {card.revision for card in reader.datasets()}:
        return wanted
    made = {path.stem for path in published_files(reader.root / "embeddings" / "cave")}
    held = {e.card.name: e.card for e in reader.embeddings("cave") if e.card.name in made}
    return {
        name: spec
        for name, spec in wanted.items()
        if name not in held or not is_current(held[name], folder)
    }


def _retold(specs: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Return the specs of the usual trained language models once more for each further density of
    the captions.
    """
    finished = {
        name: spec
        for name, spec in specs.items()
        if _reads_captions(folder / name, spec)
        and _is_usual(folder / name)
        and UNTRAINED not in name
    }
    return {f"{name}~{level}": spec for level in LEVELS[1:] for name, spec in finished.items()}


def build_demo(store: Path, folder: Path = CAVE_WEIGHTS) -> None:
    """Draw the Cave's test stimuli and embed them with every missing model, with progress on stderr
    and in the store's note.
    """
    from core.embedding.features import embed_cortex, embed_world
    from core.settings import choose_device
    from core.stimuli.cave import CaveDataset

    dataset, missing, device = CaveDataset(), missing_specs(store, folder), choose_device()
    with _noting(store) as note:
        report = _both(ConsoleProgress(), note)
        add_dataset(store, dataset, report=report)
        if REALITY in missing:
            embed_world(store, dataset)
        if SUBJECTS.keys() & missing.keys():
            embed_cortex(store, dataset)
        report(0, len(missing), EMBEDDING)
        add, names = _Adding(store, dataset, missing, device), list(missing)
        embedded = spread(add, names, processes=count_processes(len(names), device))
        for done, _ in enumerate(embedded, start=1):
            report(done, len(missing), EMBEDDING)
        remove(store / "embeddings" / "cave")


@dataclass(frozen=True)
class _Adding:
    """Adds a missing model to the store by its name, in whichever process."""

    store: Path
    dataset: Dataset
    specs: Mapping[str, str]
    device: torch.device

    @cached_property
    def prepared(self) -> PreparedPictures:
        from core.embedding.prepared import PreparedPictures

        return PreparedPictures()

    def __call__(self, name: str) -> None:
        from core.embedding.runner import Slot, embed
        from core.encoders.catalog import open_encoder
        from core.study.study import Study

        if name != REALITY and name not in SUBJECTS:
            encoder = self.prepared.shared_by(open_encoder(self.specs[name], device=self.device))
            level = name.partition("~")[2] or None
            embed(self.store, self.dataset, encoder, level=level, slot=Slot(replace=True))
        # kept in the store, so that the first page need not find them
        Study(Store(self.store), self.dataset.card.name).neighbors(name)


def missing_values(store: Path) -> list[str]:
    """Return the models whose competence the demo lacks by the present tasks.

    One seed of a recipe stands for all, and what varies in its tasks, weight decay or width is
    compared by these. Learners with and without transfer are compared seed by seed.
    """
    from core.questions.benefits.transfer import learners
    from core.study.study import Study

    models = unmeasured(Store(store), "cave")
    if not models:
        return []
    compared = {one.model for one in learners(Study(Store(store), "cave"))}
    return [name for name in models if name in compared or _stands_for_all(store, name)]


def measure_demo(store: Path) -> None:
    """Measure the competence of `missing_values`, with progress as in `build_demo`."""
    from core.competence.suite import measure_all
    from core.settings import choose_device

    with _noting(store) as note:
        report = _both(ConsoleProgress(), note)
        measure_all(store, "cave", missing_values(store), device=choose_device(), report=report)


def answer_demo(store: Path) -> None:
    """Answer what the pages ask first, with progress as in `build_demo`; what is kept already takes
    no time.
    """
    from core.demo.first_questions import answer_first
    from core.study.study import Study

    with _noting(store) as note:
        answer_first(Study(Store(store), "cave"), _both(ConsoleProgress(), note))


def _both(show: Progress, note: Progress) -> Progress:
    """Report to a terminal and to the store's note."""

    def report(done: int, total: int, what: str) -> None:
        show(done, total, what)
        note(done, total, what)

    return report


def under_way(store: Path) -> tuple[int, int, str] | None:
    """Return how much a running build has done, of how much, and of what; None where none runs."""
    try:
        note = json.loads((store / NOTE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return (
        (note["done"], note["total"], note["what"]) if is_locked(store / NOTE) else None
    )  # a killed build leaves its note behind


@contextmanager
def _noting(store: Path) -> Iterator[Progress]:
    """Be the only build of this store, and give what keeps its note; raises StoreBusyError where
    another one is under way.
    """

    def note(done: int, total: int, what: str) -> None:
        new = store / f".{NOTE}.new"
        with writing(store / NOTE):
            text = json.dumps({"done": done, "total": total, "what": what})
            new.write_text(text, encoding="utf-8")
            new.replace(store / NOTE)

    with locked(store / NOTE):
        note(0, 1, EMBEDDING)
        try:
            yield note
        finally:
            with suppress(OSError):  # without its lock it says nothing
                (store / NOTE).unlink(missing_ok=True)


def _reads_captions(folder: Path, spec: str) -> bool:
    return spec.startswith("hf:") and _card(folder).get("modality") != MUSIC.name


def _is_usual(folder: Path) -> bool:
    """Return whether a model finished the usual training of a recipe, and in its first seed."""
    config = _card(folder)["training"]["config"]
    return not (_is_copy(folder / "config.json") or config["seed"] or config["varies"])


def _stands_for_all(store: Path, name: str) -> bool:
    """Return whether a model is of a usual recipe, and the first of its seeds."""
    config = Store(store).model("cave", name).card.training.get("config") or {}
    return not (config.get("varies") or config.get("seed"))


def _is_copy(config: Path) -> bool:
    return "-step" in config.parent.name


def _size(folder: Path) -> int:
    return (folder / "model.safetensors").stat().st_size


def _folder_of(name: str) -> str:
    return name.partition("~")[0].removesuffix(PATCHES.replace("#", "-"))


def is_current(card: ModelCard, folder: Path = CAVE_WEIGHTS) -> bool:
    """Return whether a store's model is still the one that would be made now."""
    if card.name in SUBJECTS:
        return card.training == describe_subject(card.name)
    return card.name == REALITY or _is_of(card, folder / _folder_of(card.name))


def _is_of(card: ModelCard, folder: Path) -> bool:
    """Return whether a card says of a model what the folder of its weights says."""
    return (
        folder.is_dir()
        and card.training == _card(folder)["training"]
        and card.weights == _weights(folder)
    )


def _card(folder: Path) -> Any:
    return json.loads((folder / "card.json").read_text(encoding="utf-8"))


def _weights(folder: Path) -> str:
    """Return the digest that an encoder's card gives these weights."""
    with (folder / "model.safetensors").open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
