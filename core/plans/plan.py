"""What a plan says: a dataset, groups of models, how they are compared, measured and drawn, and
what was published.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal

from core.encoders.encoder import ModelCard
from core.encoders.requests import Pooling, Precision, split_marks
from core.errors import InputError, UnknownNameError
from core.files.userfile import ROWS
from core.options import LAYERS, SAMPLES, SIZES, TOKENS, WIDTHS, WORDS, Range
from core.settings import expand

HERE = "a checkpoint on this machine"
Reduction = Literal["only", "last", "mean", "median", "max", "min"]


@dataclass(frozen=True)
class PlannedData:
    """A dataset, as in `core.stimuli.addition.Addition`. size: the stimuli that the study had, None
    if no source says. missing: why no place is named, and what to name.
    """

    name: str
    source: str = ""
    size: Annotated[int, Range(1, ROWS)] | None = None
    hub: str = ""
    folder: str = ""
    table: str = ""
    revision: str = ""
    split: str = ""
    image_column: str = ""
    text_column: str = ""
    images_only: bool = False
    texts_only: bool = False
    missing: str = ""


@dataclass(frozen=True)
class PlannedModel:
    """A model by its spec or its name in the store, with the source that names it. gated: whether
    its terms have to be accepted on the hub. name: in the store, if not the model's own.
    parameters, layers (with the embedding of words), width: if the program does not know them.
    default: used until a person names another.
    """

    spec: str
    source: str = ""
    gated: str = ""
    name: str = ""
    parameters: Annotated[int, SIZES] | None = None
    layers: Annotated[int, LAYERS] | None = None
    width: Annotated[int, WIDTHS] | None = None
    default: bool = False


@dataclass(frozen=True)
class Group:
    """Models that belong together, named by `@NAME` in the words of figures. folder: of local
    checkpoints of `architecture`. missing: which models no source names, and what to name instead.
    """

    name: str
    modality: str
    source: str = ""
    family: str = ""
    objective: str = ""
    models: tuple[PlannedModel, ...] = ()
    folder: str = ""
    architecture: str = ""
    missing: str = ""


@dataclass(frozen=True)
class Summaries:
    """Captions in fewer words: a level for each number of `words`. writer: the model's spec.
    instruction: a file next to the plan, {words} in place of the number.
    """

    words: tuple[Annotated[int, WORDS], ...]
    writer: str = ""
    instruction: str = ""
    missing: str = ""
    source: str = ""


@dataclass(frozen=True)
class Coding:
    """Bits per byte of language models; see `platoscope bits-per-byte`."""

    groups: tuple[str, ...]
    text: str = "owt"
    tokens: Annotated[int, TOKENS] = 4_000_000
    source: str = ""


@dataclass(frozen=True)
class Probing:
    """Linear probes of vision models; see `platoscope probe --task`. train, test: samples of a task
    at most.
    """

    groups: tuple[str, ...]
    tasks: tuple[str, ...]
    train: Annotated[int, SAMPLES] = 6_667
    test: Annotated[int, SAMPLES] = 3_333
    source: str = ""


@dataclass(frozen=True)
class Preparation:
    """Options of figures that do not name them; None for the question's own default."""

    q: float | None = None
    metric: str | None = None
    k: int | None = None
    layers: str | None = None


@dataclass(frozen=True)
class Figure:
    """A question in the words of its command, without `--dataset`; `@GROUP`: its models."""

    name: str
    ask: str
    title: str = ""
    source: str = ""


@dataclass(frozen=True)
class Finding:
    """A published finding. value: None if the source gives a direction alone. column: of the
    figure's table; where: the rows, by column; pick: how several rows become one number.
    """

    figure: str
    what: str
    source: str
    value: float | None = None
    column: str = ""
    where: Mapping[str, str] = field(default_factory=dict)
    pick: Reduction = "only"


@dataclass(frozen=True)
class Plan:
    """A study as data. place: its file. levels: caption levels that language models read, the
    dataset's default if none is named.
    """

    name: str
    title: str
    place: Path
    dataset: PlannedData
    groups: tuple[Group, ...]
    source: str = ""
    about: str = ""
    pooling: Pooling = "auto"
    precision: Precision = "auto"
    levels: tuple[str, ...] = ()
    preparation: Preparation = Preparation()
    summaries: Summaries | None = None
    coding: Coding | None = None
    probing: Probing | None = None
    figures: tuple[Figure, ...] = ()
    published: tuple[Finding, ...] = ()

    def group(self, name: str) -> Group:
        groups = {group.name: group for group in self.groups}
        if name not in groups:
            raise UnknownNameError("group", name, groups)
        return groups[name]

    def members(self, only: tuple[str, ...] = ()) -> Iterator[tuple[Group, PlannedModel]]:
        """Yield every model, or every model of the groups in `only`, with its group."""
        for group in [self.group(name) for name in only] or self.groups:
            for model in (*group.models, *checkpoints(group)):
                yield group, model


def checkpoints(group: Group) -> list[PlannedModel]:
    """Return the models in a group's folder, each a file or folder of weights; raise InputError if
    there is none.
    """
    if not group.folder:
        return []
    folder = expand(group.folder)
    places = sorted(folder.glob("[!.]*")) if folder.is_dir() else []
    if not places:
        raise InputError(
            f"group {group.name} has no checkpoint in {folder}; expected a folder with a file or"
            " folder of weights for each model"
        )
    head, models = f"timm:{group.architecture}@" if group.architecture else "hf:", []
    for place in places:
        files = list(place.glob("[!.]*"))  # a folder of one file is that file
        weights = files[0] if len(files) == 1 and files[0].name != "config.json" else place
        models.append(PlannedModel(f"{head}{weights}", HERE, "no", place.name.partition(".")[0]))
    return models


def stored_name(spec: str) -> str:
    """Return the name of a model in the store, with or without `import:`; "" for a spec."""
    return "" if spec.startswith(("timm:", "hf:")) else spec.removeprefix("import:")


def not_stored(spec: str) -> str:
    return (
        f"{stored_name(spec)!r} is no model of the store; import it before, or give"
        " timm:NAME, hf:ID or hf:FOLDER"
    )


def is_of(card: ModelCard, spec: str) -> bool:
    """Return whether a spec names this model of the store, or opens it (at its commit if named)."""
    if name := stored_name(spec):
        return card.name == name
    (place, marks), (own, read) = split_marks(spec), split_marks(card.spec)
    at_commit = place.startswith(f"{own}@") and f"{own}@{card.revision}".startswith(place)
    return card.spec == spec or (at_commit and marks == read)


def put_models(plan: Plan, name: str, place: str) -> Plan:
    """Return the plan with further models in a group, by spec or folder, in place of defaults."""
    group = plan.group(name)
    kept = tuple(one for one in group.models if not one.default)
    if place.startswith(("timm:", "hf:", "import:")):
        models = (*kept, PlannedModel(place, "named by the person who runs it"))
        named = replace(group, models=models, missing="")
    else:
        named = replace(group, models=kept, folder=place, missing="")
    groups = tuple(named if one is group else one for one in plan.groups)
    return replace(plan, groups=groups)
